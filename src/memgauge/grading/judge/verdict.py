r"""Reading a judge's text: three forms of a verdict, of which those that are there must agree.

The forms are an object with `answer_score`, a line `[Score]: 1 point`, and the sentence that an answer "deserves 1
point". Of one form the last counts. Whatever is not a clear 0 or 1 is no verdict: it is never clamped, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from memgauge.grading.think import visible_spans

Value = Literal[0, 1]

_SCORE = re.compile(
    r"(?<![\w])\\?[\"'“”`*]{0,3}answer_score\\?[\"'“”`*]{0,3}\s{0,8}:\s{0,8}[`*]{0,2}(?P<value>\\?\"["
    r"^\"\n]{0,60}\"|'[^'\n]{0,60}'|[^\n,}\]]{0,60})",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"(?:^|\n)[\s>*_#`-]{0,12}\[\s?score\s?\][\s*_`]{0,6}[:=]?[\s*_`]{0,6}(?P<value>[^\n]{0,80})", re.IGNORECASE
)
_SENTENCE = re.compile(
    r"\b(?:deserves?|earns?|receives?|gets?|is awarded)\s{1,4}(?:a (?:score|total) of\s)?[*_`]{0,3}"
    r"(?P<value>-?[\w./]{1,12})[*_`]{0,3}\s{1,4}(?:points?|pts?|marks?)\b",
    re.IGNORECASE,
)
_UNREAL = re.compile(r"\b(?:not|n't|would|could|might|may|should|if)\b", re.IGNORECASE)
_PREFIXED = re.compile(r"\b(?:student|answer|response|prediction|submission|it|model)\b", re.IGNORECASE)
# Before a verdict on the same line: somebody else's words are being repeated.
_QUOTED = re.compile(
    r"\b(?:student|answer|response|prediction|model|text|output|submission|candidate|it|which|instruction"
    r"|injection)\b[^\n]{0,100}\b(?:wr(?:ote|ites|itten)|sa(?:id|ys)|print(?:s|ed)?|contain(?:s|ed|ing)?"
    r"|includ(?:es|ed|ing)|ask(?:s|ed)?|tell(?:s|ing)?|told|claim(?:s|ed)?|quot(?:es|ed|ing)|append(?:s"
    r"|ed)?|embed(?:s|ded)?|plant(?:s|ed)?|inject(?:s|ed)?|reads?|stat(?:es|ed)|output(?:s)?|request(?:s"
    r"|ed)?|tries|tried|attempts?|ends with|emit(?:s|ted)?|instruct(?:s|ed)?|demand(?:s"
    r"|ed)?)\b[^\n]{0,100}$"
    r"|\b(?:for example|e\.g\.|such as|the format|in the form|would be|template|example:|like this"
    r"|if (?:the|it)|quote[ds]?|student's (?:answer|response|text|output|words)\s?:|prediction\s?:"
    r"|ignore (?:the|all|any|previous))\b[^\n]{0,60}$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\s*(?:<|\[|\{|x\b|n\b|\.\.\.|…|0 or 1|1 or 0|0/1\b(?! )|0\|1|\(0 or 1\))", re.IGNORECASE)
_NUMBER = {
    "0": 0,
    "1": 1,
    "0.0": 0,
    "1.0": 1,
    "0.00": 0,
    "1.00": 1,
    "0.": None,
    "1.": None,
    "zero": 0,
    "one": 1,
    "no": 0,
    "a": 1,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge's text says."""

    value: Value | None
    """None where it is no clear 0 or 1: `unparsed`."""
    rule: str
    forms: dict[str, Value | None] = field(default_factory=dict)
    """The last verdict of each form that is there; None for one that is no clear 0 or 1."""


def parse_verdict(raw: str, fence: str | None = None) -> Verdict:
    r"""Read a judge's text.

    Parameters
    ----------
    raw : the text.
    fence : the delimiter that the prompt put around the judged answer (`prompts.Request.fence`); what a judge repeats
        between two of them is data.

    >>> parse_verdict('The count is right.\n[Score]: 1 point\n{"answer_score": 1}').value
    1
    >>> parse_verdict('[Score]: 0 points\n{"answer_score": 1}')
    Verdict(value=None, rule='the forms disagree', forms={'object': 1, 'line': 0})
    """
    spans = visible_spans(raw)
    text = "\n".join(raw[a:b] for a, b in spans)
    if fence and fence in text:
        pieces = text.split(fence)
        text = "\n".join(pieces[::2])
    if not text.strip():
        return Verdict(None, "an unfinished reasoning block" if raw.strip() else "an empty text")
    forms: dict[str, Value | None] = {}
    for name, found in (("object", _objects(text)), ("line", _lines(text)), ("sentence", _sentences(text))):
        if found:
            forms[name] = found[-1]
    if not forms:
        return Verdict(None, "no verdict")
    values = set(forms.values())
    if None in values:
        return Verdict(None, "a verdict that is no clear 0 or 1", forms)
    if len(values) > 1:
        return Verdict(None, "the forms disagree", forms)
    return Verdict(values.pop(), " and ".join(forms), forms)


def _objects(text: str) -> list[Value | None]:
    found: list[Value | None] = []
    for match in _SCORE.finditer(text):
        if _is_quoted(text, match.start()):
            continue
        value = match["value"].strip().strip("\\").strip("`*").strip("\"'").strip("\\").strip()
        if _PLACEHOLDER.match(value) and value not in _NUMBER:
            continue
        # A number that the text breaks off after could have gone on ("1." or "1" of "1e5"); a whole one is read.
        found.append(_clear(value))
    return found


def _lines(text: str) -> list[Value | None]:
    found: list[Value | None] = []
    for match in _LINE.finditer(text):
        if _is_blockquote(text, match.start()):
            continue
        value = match["value"].strip().strip("*_` \"'").rstrip(".!,;")
        if _PLACEHOLDER.match(value) and not re.match(r"[01]/1\b", value):
            continue
        whole = re.fullmatch(
            r"(-?[\w./]{1,12}?)(?:\s?(?:points?|pts?|marks?))?(?:\s?(?:/|out of|of)\s?(?:1"
            r"|one)(?:\s?(?:points?))?)?(?:\s?[(*_,;–—-].{0,60}|\.\s.{0,60})?",
            value,
            re.IGNORECASE,
        )
        share = re.fullmatch(r"([01])/1", whole[1]) if whole else None
        found.append(
            _clear(share[1] if share else whole[1])
            if whole and not re.match(r"\s?[-–]\s?\d", value[len(whole[1]) :])
            else None
        )
    return found


def _sentences(text: str) -> list[Value | None]:
    found: list[Value | None] = []
    for match in _SENTENCE.finditer(text):
        head = re.split(r"[.!?\n]", text[max(0, match.start() - 120) : match.start()])[-1]
        if not _PREFIXED.search(head) or _UNREAL.search(head) or _is_quoted(text, match.start("value")):
            continue
        found.append(_clear(match["value"]))
    return found


def _clear(value: str) -> Value | None:
    word = re.sub(r"\s?(?:points?|pts?)$", "", value.strip().lower()).strip()
    number = _NUMBER.get(word)
    return None if number is None else 1 if number == 1 else 0


def _is_blockquote(text: str, at: int) -> bool:
    line = text[at:].lstrip("\n")[:4].lstrip()
    return line.startswith(">")


def _is_quoted(text: str, at: int) -> bool:
    """Say whether what stands at `at` repeats the words of the answer under test."""
    begin = max(text.rfind("\n", max(0, at - 4000), at) + 1, at - 4000, 0)
    line = text[begin:at]
    if line.lstrip()[:1] == ">":
        return True
    head = line[-240:]
    return bool(_QUOTED.search(head))
