"""The six validators of a turn (MEMLENS, C.4: evidence session construction)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from memgauge.histories.building.pictures.entities import CLASSES, class_of
from memgauge.histories.building.text.types import PASSED, Draft, Verdict
from memgauge.histories.building.text.validators.context import MARKER, Context, protected_forms
from memgauge.histories.building.text.validators.normal import occurrences
from memgauge.histories.building.text.validators.spaces import word_forms

if TYPE_CHECKING:
    from memgauge.histories.building.text.judges import Judge

NEAR = 25
"""Words between a picture and the words that point at it, at most."""
LISTED = 5
"""A protected name may stand in a list of at least so many members of its class, each equally often."""
LONGEST_REPEAT = 6
"""6-grams that a turn may share with earlier turns of its session: a sentence of twelve words has seven."""

_SENTENCE = re.compile(r"[.!?][\"'”’)]*(?:\s+|$)")
_ANCHOR = re.compile(
    r"\b(?:this|that|these|those|here|it|them|such|the|my|our|his|her|their|its|your|i|we|as|like)\b", re.IGNORECASE
)
_RESIDUE = ("{", "}", "[", "]", "<|", "as an ai", "language model")
_LABELS = ("user:", "assistant:", "system:")


class Validator(Protocol):
    """One check of a draft."""

    name: str

    def check(self, draft: Draft, context: Context) -> Verdict:
        """Pass the draft, or reject it with a reason and a hint for the next attempt."""
        ...


class LengthCheck:
    """1: the words of a turn lie in the range of the profile for its role."""

    name = "length"

    def check(self, draft: Draft, context: Context) -> Verdict:
        """See `Validator`."""
        low, high = context.profile.user if draft.role == "user" else context.profile.assistant
        length = context.scan(draft.content).length
        if length < low:
            return Verdict(False, self.name, "too_short", f"Write longer: {low} to {high} words, not {length}.")
        if length > high:
            return Verdict(False, self.name, "too_long", f"Write shorter: {low} to {high} words, not {length}.")
        return PASSED


class PhotoCheck:
    """2: exactly the pictures of the turn's facts are marked, each near the words that point at it."""

    name = "photo"

    def check(self, draft: Draft, context: Context) -> Verdict:
        """See `Validator`."""
        marked = draft.content.count(MARKER)
        wanted = sum(len(fact.images) for fact in draft.facts) if draft.role == "user" else 0
        if marked != wanted:
            use = " ".join(fact.text for fact in draft.facts)
            hint = f'Use this, word for word: "{use}"' if wanted else f"Do not write {MARKER}."
            return Verdict(False, self.name, "wrong_number_of_pictures", hint)
        if not wanted:
            return PASSED
        subjects = {word for fact in draft.facts for part in fact.key for word in part.lower().split()}
        for sentence in _SENTENCE.split(draft.content):
            tokens = sentence.split()
            for index, token in enumerate(tokens):
                if MARKER in token:
                    near = [t for t in tokens[max(0, index - NEAR) : index + NEAR + 1] if MARKER not in t]
                    if not _ANCHOR.search(" ".join(near)) and not any(t.strip(",;:").lower() in subjects for t in near):
                        hint = f'Put {MARKER} next to the words it belongs to, as in: "{draft.facts[0].text}"'
                        return Verdict(False, self.name, "picture_far_from_its_words", hint)
        return PASSED


class NgramCheck:
    """3: no protected string and no value of a small answer space, beyond what the facts themselves say."""

    name = "ngram"

    def check(self, draft: Draft, context: Context) -> Verdict:
        """See `Validator`."""
        scanned = context.scan(draft.content)
        hits = context.named.found(scanned.tokens, scanned.known)
        if not hits:
            return PASSED
        allowed = context.allowed(draft.facts)
        beyond = [form for form, count in hits.items() if count > allowed[form]]
        if beyond:
            banned = ", ".join(f'"{" ".join(form)}"' for form in beyond[:5])
            return Verdict(False, self.name, "banned_words", f"Do not use these words: {banned}.")
        unlisted = self._unlisted(draft, scanned.tokens)
        if unlisted:
            hint = f'Do not name "{unlisted}" outside of a list of at least {LISTED} things of its kind.'
            return Verdict(False, self.name, "name_outside_a_list", hint)
        return PASSED

    def _unlisted(self, draft: Draft, tokens: list[str]) -> str | None:
        """Return a protected name that a fact gives away: named, and not among enough others equally often."""
        for fact in draft.facts:
            for name in fact.protected:
                said = sum(occurrences(form, tokens) for form in protected_forms(name))
                if not said or name not in _CLASS_MEMBERS:
                    continue
                others = [
                    sum(occurrences(form, tokens) for form in word_forms(member)) for member in CLASSES[class_of(name)]
                ]
                counts = Counter(count for count in others if count)
                if len(counts) > 1 or sum(counts.values()) < LISTED:
                    return name
        return None


_CLASS_MEMBERS = frozenset(name for members in CLASSES.values() for name in members)


class SemanticCheck:
    """4: the text alone does not say what only the picture should say (`Judge.leaks`)."""

    name = "semantic"

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def check(self, draft: Draft, context: Context) -> Verdict:
        """See `Validator`."""
        return self.judge.leaks(draft.content, draft.facts, context) if context.facts else PASSED


class AmbiguityCheck:
    """5: the text does not narrow down what its picture is meant to tell (`Judge.disambiguates`).

    The paper asks this of two of its types. Here every turn that carries a fact is asked, whatever its type or role, so
    that no kind of session is filtered more than another.
    """

    name = "ambiguity"

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def check(self, draft: Draft, context: Context) -> Verdict:
        """See `Validator`."""
        return self.judge.disambiguates(draft.content, draft.facts, context) if draft.facts else PASSED


class EndingCheck:
    """6: the turn is complete, its quotes and brackets close, nothing of a template is left, and it does not loop."""

    name = "ending"

    def check(self, draft: Draft, context: Context) -> Verdict:
        """See `Validator`."""
        text = draft.content.rstrip()
        bare = text.rstrip("\"'”’)")
        if not bare or bare[-1] not in ".?!":
            return self._no("no_end_mark", "End with a complete sentence.")
        if not _balanced(text):
            return self._no("unbalanced", "Close every quotation mark and bracket.")
        low = text.lower()
        if any(map(low.__contains__, _RESIDUE)) or _labelled(low):
            return self._no(
                "template_residue", "Write plain sentences: no placeholders, no labels, no words about yourself."
            )
        if draft.role == "assistant":
            if bare[-1] != "?":
                return self._no("no_question", "End with a question.")
            if text.count(". ") < 3 and len(_SENTENCE.findall(text)) < 3:
                return self._no("too_few_sentences", "Write at least three sentences, the last of them a question.")
        tokens = context.scan(draft.content).tokens
        grams = context.grams_of(draft.content)
        if len(tokens) - 5 - len(grams) > 1:
            return self._no("repetition", "Do not repeat yourself.")
        if len(context.grams & grams) > LONGEST_REPEAT:
            return self._no("repeats_earlier_turn", "Do not repeat what was said before.")
        return PASSED

    def _no(self, reason: str, hint: str) -> Verdict:
        return Verdict(False, self.name, reason, hint)


def _labelled(low: str) -> bool:
    return ":" in low and any(line.lstrip().startswith(_LABELS) for line in low.split("\n"))


def _balanced(text: str) -> bool:
    return (
        text.count('"') % 2 == 0
        and text.count("(") == text.count(")")
        and text.count("[") == text.count("]")
        and text.count("“") == text.count("”")
    )


def chain(judge: Judge | None = None) -> tuple[Validator, ...]:
    """Return the six validators in order; without a judge, the one that works by rule."""
    if judge is None:
        from memgauge.histories.building.text.judges import RuleJudge

        judge = RuleJudge()
    return (LengthCheck(), PhotoCheck(), NgramCheck(), SemanticCheck(judge), AmbiguityCheck(judge), EndingCheck())
