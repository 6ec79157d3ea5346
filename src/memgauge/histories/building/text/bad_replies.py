"""Replies of a model that are no text of a person at all: refusals, loops, words about the task."""

from __future__ import annotations

import re
from collections.abc import Callable

from memgauge.histories.building.text.types import PASSED, Draft, Verdict
from memgauge.histories.building.text.validators.context import Context

_REFUSAL = re.compile(
    r"\W*(?:i(?:['’]m| am)(?: (?:very|really|so|truly))? (?:sorry|afraid|unable|not able)|sorry|i apologi[sz]e"
    r"|unfortunately,|i (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline)\b|as an ai\b)",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:can['’]?t|cannot|can not|unable|not able|won['’]?t|will not|decline)\b.{0,40}"
    r"\b(?:help|assist|comply|provide|write|create|generate|fulfil|continue|do that|with that|this request|engage)\b",
    re.IGNORECASE | re.DOTALL,
)
_SHORT = 60
"""Words: a refusal is short. A longer text that begins with regret is some person's message."""
_REPEATED = 8
"""So often does a looping reply say the same four words."""


def bad_kind(text: str) -> str:
    """Return why a reply is of no use whatever was asked, or an empty string.

    >>> bad_kind("I'm sorry, but I can't help with that."), bad_kind("so it goes on and " * 20), bad_kind("Is it late?")
    ('refusal', 'repetition', '')
    """
    words = text.split()
    if not words:
        return "empty"
    if len(words) <= _SHORT and _REFUSAL.match(text) and _TASK.search(text):
        return "refusal"
    seen: dict[tuple[str, ...], int] = {}
    for index in range(len(words) - 3):
        gram = tuple(words[index : index + 4])
        seen[gram] = seen.get(gram, 0) + 1
        if seen[gram] >= _REPEATED:
            return "repetition"
    return ""


class ReplyCheck:
    """Before the six: a model's reply is a text at all. It stands in front of the chain where a model writes.

    `note` is told the kind of each reply that is none.
    """

    name = "reply"

    def __init__(self, note: Callable[[str], None] = lambda kind: None) -> None:
        self.note = note

    def check(self, draft: Draft, context: Context) -> Verdict:
        """See `Validator`."""
        kind = bad_kind(draft.content)
        if kind and kind != "empty":  # an empty reply was counted where it arrived
            self.note(kind)
        return Verdict(False, self.name, kind, _HINTS[kind]) if kind else PASSED


_HINTS = {
    "empty": "Write the message.",
    "refusal": "Nothing here is harmful: write the message of an ordinary conversation.",
    "repetition": "Do not repeat yourself.",
}
