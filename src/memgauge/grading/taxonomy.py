"""Why a wrong answer is wrong: seven labels in two groups, and what failed, read by rule where the evidence is known.

MEMLENS (G.4, Figures 16 and 17) sorts wrong answers into near misses, where the evidence was found, and total misses,
where it was not, under seven labels, three of which it describes. The other four are defined here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Literal

from memgauge.grading.typed.dates import find_dates
from memgauge.grading.typed.numbers import find_numbers

Group = Literal["near-miss", "total-miss"]
Cause = Literal["visual", "reasoning", "mixed"]
CAUSES: tuple[Cause, ...] = ("visual", "reasoning", "mixed")


class Label(StrEnum):
    """The seven labels."""

    GROUNDING_FAILURE = "grounding_failure"
    COMPUTATION_SLIP = "computation_slip"
    INCOMPLETE_EVIDENCE = "incomplete_evidence"
    OUTDATED_VALUE = "outdated_value"
    WRONG_EVIDENCE = "wrong_evidence"
    UNSUPPORTED_ANSWER = "unsupported_answer"
    NO_COMMITMENT = "no_commitment"


DEFINITIONS: dict[Label, str] = {
    Label.GROUNDING_FAILURE: "The right session or picture was found, but the detail in it was misread.",
    Label.COMPUTATION_SLIP: "Every value that is needed is there and right, but what was made of them (a sum, a count, "
    "a difference, an order, a comparison) is wrong.",
    Label.INCOMPLETE_EVIDENCE: "Some of the needed sessions were found and used, others were left out.",
    Label.OUTDATED_VALUE: "The answer held at an earlier time, and was replaced later in the conversation.",
    Label.WRONG_EVIDENCE: "The answer is what the conversation says or shows about something else.",
    Label.UNSUPPORTED_ANSWER: "Nothing in the conversation supports the answer, and nothing of the evidence is in it.",
    Label.NO_COMMITMENT: "It declines although the answer is there, or does not commit to an answer.",
}
"""What each label means, as it is told to a judge. The first four are near misses."""

NEAR_MISSES = frozenset(list(Label)[:4])


def group_of(label: str) -> Group:
    """Return the group of a label.

    >>> group_of("outdated_value"), group_of("no_commitment")
    ('near-miss', 'total-miss')
    """
    return "near-miss" if Label(label) in NEAR_MISSES else "total-miss"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about the answer to a question; values are texts as people write them ("$12.50", "2024/03/01")."""

    operands: tuple[str, ...] = ()
    """What the answer is made of, one value a needed fact."""
    computed: bool = False
    """The answer is no operand itself: it is added up, counted or compared."""
    slips: tuple[str, ...] = ()
    """Answers that the right operands give by a wrong operation."""
    partial: tuple[str, ...] = ()
    """Answers that come from some of the operands."""
    outdated: tuple[str, ...] = ()
    """Values that held before the right one."""
    beside: tuple[str, ...] = ()
    """Other values that the same evidence states or shows."""
    rivals: tuple[str, ...] = ()
    """What the answer would be from a session that belongs to the question and is not meant."""
    elsewhere: tuple[str, ...] = ()
    """Values that other sessions state or show."""
    fewest: int | None = None
    """For a count: the right one."""
    most: int | None = None
    """For a count: how many facts could count."""
    open: bool = False
    """Nobody can guess the answer: a value that also stands elsewhere was taken from there."""
    shown: bool | None = None
    """Whether the needed evidence is in pictures; None where that is not known."""
    texts: tuple[str, ...] = field(default=(), repr=False)
    """The evidence in words, for a judge."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What the rules say of a wrong answer; `label` is None where they do not decide."""

    label: Label | None
    rule: str
    cause: Cause | None = None


def label_by_rules(
    answer: str | None,
    trace: str,
    *,
    subtype: str,
    reference: str,
    evidence: Evidence | None,
    old_answer: str | None = None,
    abstained: bool = False,
) -> Labelled:
    """Say why a wrong answer is wrong, where rules can tell.

    Parameters
    ----------
    answer : what the output commits to, as graded; None where it commits to nothing.
    trace : the whole output, reasoning included: what it names was found.
    subtype, reference : of the question.
    evidence : what is known about the answer; None for data without a gold sidecar.
    old_answer : for a knowledge update, the value that no longer holds, when known.
    abstained : the output declines, or commits to nothing.

    >>> known = Evidence(operands=("$3.00", "$4.50", "$2.00"), computed=True, partial=("$7.50",), open=True)
    >>> asked = {"subtype": "MSR_Arithmetic", "reference": "$9.50", "evidence": known}
    >>> label_by_rules("$7.50", "$3.00 and $4.50 make $7.50.", **asked).label.value
    'incomplete_evidence'
    >>> label_by_rules("$9.00", "3 + 4.5 + 2 = $9.00", **asked).label.value
    'computation_slip'
    """
    found, rule = _label(answer, trace, subtype, reference, evidence, old_answer, abstained)
    return Labelled(found, rule, None if found is None else cause_of(found, subtype, evidence))


def _label(
    answer: str | None,
    trace: str,
    subtype: str,
    reference: str,
    known: Evidence | None,
    old_answer: str | None,
    abstained: bool,
) -> tuple[Label | None, str]:
    if abstained:
        return Label.NO_COMMITMENT, "no answer is committed to"
    said = read_values(answer if answer else trace)
    if subtype == "AR":
        if known is not None and known.open and said.holds_any(known.elsewhere):
            return Label.WRONG_EVIDENCE, "the answer stands in another session"
        return Label.UNSUPPORTED_ANSWER, "the conversation does not hold an answer"
    if said.holds_any((*(known.outdated if known else ()), *((old_answer,) if old_answer else ()))):
        return Label.OUTDATED_VALUE, "the answer held before"
    if known is None:
        return None, "the evidence is not known"
    whole = read_values(trace)
    named = [whole.holds(value) for value in known.operands]
    if known.computed and (said.holds_any(known.slips) or (named and all(named))):
        return Label.COMPUTATION_SLIP, "every operand is named, or the right ones were combined otherwise"
    if said.holds_any(known.partial):
        return Label.INCOMPLETE_EVIDENCE, "the answer follows from some of the operands"
    if said.holds_any(known.beside):
        return Label.GROUNDING_FAILURE, "the answer stands beside the right one in the evidence"
    if said.holds_any(known.rivals):
        return Label.WRONG_EVIDENCE, "the answer is that of a session that is not meant"
    if known.computed and any(named):
        return Label.INCOMPLETE_EVIDENCE, "some of the operands are named"
    if known.open and said.holds_any(known.elsewhere):
        return Label.WRONG_EVIDENCE, "the answer stands in another session"
    if not known.computed and said.near(reference):
        return Label.GROUNDING_FAILURE, "one character differs from the right answer"
    if whole.holds_any(value for value in known.beside if len(value) > 2):
        return Label.GROUNDING_FAILURE, "the output names what stands beside the answer in the evidence"
    counted = _count(said, known)
    if counted is not None:
        return counted
    if known.open:
        return Label.UNSUPPORTED_ANSWER, "the answer stands nowhere in the conversation"
    return None, "the answer could be a guess"


def _count(said: Values, known: Evidence) -> tuple[Label, str] | None:
    """A count that says nothing else: its likeliest cause."""
    if known.fewest is None or known.most is None or len(said.numbers) != 1:
        return None
    (number,) = said.numbers
    if number < known.fewest:
        return Label.INCOMPLETE_EVIDENCE, "the count is too low"
    if number <= known.most:
        return Label.GROUNDING_FAILURE, "the count is too high, but not above what could count"
    return Label.UNSUPPORTED_ANSWER, "the count is above what could count"


def cause_of(label: Label, subtype: str, evidence: Evidence | None) -> Cause | None:
    """Say whether seeing failed, reasoning, or one of the two that cannot be told apart (MEMLENS, Figure 4b).

    `visual`: a picture was not found or misread. `reasoning`: text, arithmetic, order or time. `mixed`: pictures had to
    be found, and their contents combined or dated. None where it is not known whether the evidence is in pictures.
    """
    if label is Label.COMPUTATION_SLIP:
        return "reasoning"
    if subtype == "AR":
        return "reasoning"  # there is nothing to be seen
    if evidence is None or evidence.shown is None:
        return None
    if not evidence.shown:
        return "reasoning"
    if label is Label.GROUNDING_FAILURE:
        return "visual"
    if label in (Label.OUTDATED_VALUE, Label.INCOMPLETE_EVIDENCE):
        return "mixed"
    return "mixed" if evidence.computed or subtype.startswith(("MSR", "TR")) else "visual"


def subset_sums(values: list[Fraction], most: int = 10) -> set[Fraction]:
    """Return the sums of every proper, non-empty part of at most `most` values.

    >>> sorted(map(int, subset_sums([Fraction(1), Fraction(2), Fraction(4)])))
    [1, 2, 3, 4, 5, 6]
    """
    kept = values[:most]
    return {sum(part, Fraction()) for size in range(1, len(kept)) for part in combinations(kept, size)}


_TIME = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?![\d:])(?:\s?([ap])\.?m\b)?")
_WORD = re.compile(r"[^\W_]+(?:[.'][^\W_]+)*")
MAX_CHARS = 100_000
"""Of a longer text the end is read."""


@dataclass(frozen=True, slots=True)
class Values:
    """What a text names: its words, numbers, full dates and times of day."""

    words: str
    """Lower case, one blank between and around words."""
    numbers: frozenset[Fraction]
    dates: frozenset[date]
    times: frozenset[int]
    """Minutes."""

    def holds(self, value: str) -> bool:
        """Say whether the text names a value: as a date, a time, a number, or word for word."""
        other = _known(value)
        if other.dates:
            return bool(other.dates & self.dates)
        if other.times:
            return bool(other.times & self.times)
        if other.numbers and not re.search(r"[^\W\d_]{3}", value):
            return bool(other.numbers & self.numbers)
        return bool(other.words.strip()) and other.words in self.words

    def holds_any(self, values: Iterable[str]) -> bool:
        """Say whether the text names one of them."""
        return any(self.holds(value) for value in values)

    def near(self, reference: str) -> bool:
        """Say whether the text is the reference but for one character, of at least three."""
        a, b = self.words.replace(" ", ""), _known(reference).words.replace(" ", "")
        if len(b) < 3 or a == b or not any(c.isdigit() for c in b):
            return False
        if len(a) == len(b):
            return sum(x != y for x, y in zip(a, b, strict=True)) == 1
        short, long = sorted((a, b), key=len)
        return len(long) - len(short) == 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


@lru_cache(maxsize=65536)
def _known(value: str) -> Values:
    return read_values(value)


def read_values(text: str) -> Values:
    """Read what a text names.

    >>> found = read_values("It was $12.50, on 3 May 2024 at 14:05.")
    >>> found.holds("12.5"), found.holds("2024/05/03"), found.holds("14:05"), found.holds("50")
    (True, True, True, False)
    """
    low = text[-MAX_CHARS:].lower()
    days = frozenset(day for found in find_dates(low) if len(found.days) == 1 for day in found.days)
    times = frozenset(
        (int(m[1]) % 12 + (12 if m[3] == "p" else 0) if m[3] else int(m[1])) * 60 + int(m[2])
        for m in _TIME.finditer(low)
    )
    numbers = frozenset(value for found in find_numbers(low) for value in found.values)
    return Values(f" {' '.join(_WORD.findall(low))} ", numbers, days, times)
