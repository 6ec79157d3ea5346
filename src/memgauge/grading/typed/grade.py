"""Grade one answer by rule: the outcome, the rule that decided, and the text on which it decided."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from memgauge.errors import unknown_name
from memgauge.grading.outcomes import AbstainKind, Outcome, RefusedKind
from memgauge.grading.subtypes import BY_RULE, SUBTYPES
from memgauge.grading.typed.abstention import read_refusal
from memgauge.grading.typed.choice import read_choice
from memgauge.grading.typed.dates import read_date
from memgauge.grading.typed.free import read_free
from memgauge.grading.typed.order import read_order
from memgauge.grading.typed.prepare import Mode, Prepared, Span, prepare
from memgauge.grading.typed.quantity import read_quantity
from memgauge.grading.typed.reading import Reading
from memgauge.grading.typed.yesno import read_yes_no

_MODES = get_args(Mode)
_SHORT = 200
"""Characters up to which an answer may be kept with its grade."""
NO_ANSWER = {
    "unfinished": "an unfinished reasoning block commits to nothing",
    "too_long": "more than 500 words commit to nothing",
    "degenerate": "degenerate repetition commits to nothing",
}
"""The rules by which a whole output commits to nothing, by its status."""


@dataclass(frozen=True, slots=True)
class TypedGrade:
    """What became of one answer, and why."""

    subtype: str
    outcome: Outcome
    correct: bool | None
    """None where there is nothing to score: an empty or filtered output."""
    rule: str
    """Which rule decided."""
    mode: Mode
    committed: str | None = None
    """The final committed answer, as it stands in the raw text."""
    span: Span | None = None
    """Its characters in the raw text, [begin, end)."""
    abstain_kind: AbstainKind | None = None
    refused_kind: RefusedKind | None = None
    by_rule: bool = True
    """False where this is only a first reading, and a judge decides."""
    sure: bool = True
    """False where the words of this one answer need a judge (see `Reading.sure`)."""


def grade_typed(
    prediction: str,
    *,
    subtype: str,
    question: str,
    reference: str,
    old_answer: str | None = None,
    mode: Mode = "strict",
    finish_reason: str | None = None,
) -> TypedGrade:
    """Grade an answer to a MEMLENS question by rule (MEMLENS, deterministic typed-accuracy audit, Table 12).

    Parameters
    ----------
    prediction : the model's raw text.
    subtype : one of `SUBTYPES`, as `infer_subtype` gives it.
    question, reference : the record's texts.
    old_answer : for a knowledge update, the value that no longer holds, when known.
    mode : `strict`, or `official` (the paper's pipeline; see `prepare`).
    finish_reason : what the server said; `content_filter` is an outcome of its own.

    Raises `InputError` for an unknown subtype or mode.

    >>> said = "**2.** Wait, so the answer is 3."
    >>> grade = grade_typed(said, subtype="MSR_Counting", question="How many?", reference="3")
    >>> grade.correct, grade.rule, grade.committed, grade.span
    (True, 'explicit answer', '3', (30, 31))
    """
    if subtype not in SUBTYPES:
        raise unknown_name("subtype", subtype, SUBTYPES)
    if mode not in _MODES:
        raise unknown_name("mode", mode, _MODES)
    # Systems and lengths share questions, and short answers come again and again.
    grade = _grade_short if len(prediction) <= _SHORT else _grade
    return grade(prediction, subtype, question, reference, old_answer, mode, finish_reason)


def _grade(
    prediction: str,
    subtype: str,
    question: str,
    reference: str,
    old_answer: str | None,
    mode: Mode,
    finish_reason: str | None,
) -> TypedGrade:
    by_rule = subtype in BY_RULE
    prepared = prepare(prediction, mode, finish_reason)
    if prepared.status in ("empty", "filtered"):
        kind = RefusedKind(prepared.status)
        return TypedGrade(
            subtype, Outcome.REFUSED_BY_SERVER, None, f"{kind} output", mode, refused_kind=kind, by_rule=by_rule
        )
    if prepared.status != "ok":
        kind_ = (
            AbstainKind.OVERFLOW
            if prepared.status == "unfinished" and finish_reason == "length"
            else AbstainKind.FORMAT
        )
        return TypedGrade(
            subtype, Outcome.ABSTAINED, False, NO_ANSWER[prepared.status], mode, abstain_kind=kind_, by_rule=by_rule
        )
    reading = _read(prepared, subtype, question, reference, old_answer)
    span = None if reading.span is None else prepared.raw_span(*_trimmed(prepared.text, reading.span))
    return TypedGrade(
        subtype,
        _outcome(reading),
        reading.correct,
        reading.rule,
        mode,
        None if span is None else prediction[span[0] : span[1]],
        span,
        _kind(reading),
        by_rule=by_rule,
        sure=reading.sure,
    )


_grade_short = lru_cache(2**15)(_grade)


def _outcome(reading: Reading) -> Outcome:
    return Outcome.ANSWERED if reading.state == "committed" else Outcome.ABSTAINED


def _kind(reading: Reading) -> AbstainKind | None:
    if reading.state == "committed":
        return None
    return AbstainKind.EXPLICIT if reading.state == "refused" else AbstainKind.FORMAT


def _read(prepared: Prepared, subtype: str, question: str, reference: str, old_answer: str | None) -> Reading:
    if subtype == "AR":
        return read_refusal(prepared, question)
    if subtype in ("MSR_Counting", "MSR_Arithmetic"):
        reading = read_quantity(prepared, question, reference, counting=subtype == "MSR_Counting")
    elif subtype == "MSR_YesNo":
        reading = read_yes_no(prepared, question, reference)
    elif subtype == "TR_OrderRanking":
        reading = read_order(prepared, question, reference)
    elif subtype == "TR_DurationComparison":
        reading = read_choice(prepared, question, reference)
    elif subtype == "TR_DateExtraction":
        reading = read_date(prepared, question, reference)
    else:
        return read_free(prepared, question, reference, old_answer)
    # A reference of another form (a duration for a date question) is compared as text.
    return read_free(prepared, question, reference, old_answer) if reading.state == "unreadable" else reading


def _trimmed(text: str, span: Span) -> Span:
    begin, end = span
    while begin < end and text[begin] in " \n\t,;:\"'(":
        begin += 1
    while end > begin and text[end - 1] in " \n\t,;:\"'":
        end -= 1
    return begin, end
