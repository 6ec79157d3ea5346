"""Where two verdicts on one answer differ: the public evaluator's (theirs) and that of our rules (ours)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memgauge.grading.answers import Graded
from memgauge.grading.judge.prompts import RUBRIC_OF
from memgauge.grading.typed.grade import NO_ANSWER
from memgauge.grading.typed.prepare import answer_span
from memgauge.importers.public import PublicAnswer, PublicVerdict
from memgauge.metrics.agreement import compare_verdicts

REASONS = {
    "other_task": "their rubric was for another kind of question than the question and its reference are",
    "auto_zero": "they gave zero without a judge (over 500 words), and the answer can be read",
    "cut_off": "they judged the last 30 % of a long output, and the answer stands before it",
    "credited_nothing": "they credit an output that commits to nothing: unfinished, over 500 words, or a loop",
    "credited_two": "they credit an output without one committed answer: a range, two candidates, no value",
    "credited_refusal": "they credit an output that declines a question whose answer is there",
    "credited_guess": "they credit an answer as a refusal",
    "credited_other": "they credit another answer than the reference",
    "missed_refusal": "they do not take a refusal for one",
    "rejected_right": "they reject an answer that is the reference",
    "wording": "the answer is said in other words than the reference; rules only give a first reading",
}
"""Why two verdicts differ."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One answer on which the verdicts differ."""

    question_id: str
    system: str
    length: int
    ability: str
    subtype: str
    theirs: int
    ours: int
    decided: bool
    """Whether rules decide; else ours is a first reading."""
    reason: str
    rule: str | None
    committed: str | None
    span: list[int] | None
    """Where the committed answer stands in the raw output, [begin, end)."""
    outcome: str
    reference: str
    task_key: str
    auto_zero: bool
    was_truncated: bool
    is_degenerate: bool
    parsed_words: int | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two verdicts on one answer."""

    system: str
    ability: str
    subtype: str
    theirs: int
    ours: int
    decided: bool


def agreement_of(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Compare theirs (first) with ours (second)."""

    def compared(kept: Iterable[Pair]) -> dict[str, Any]:
        own = list(kept)
        return asdict(compare_verdicts([p.theirs for p in own], [p.ours for p in own]))

    return {
        "overall": compared(pairs),
        "by_ability": {name: compared(p for p in pairs if p.ability == name) for name in _names(pairs, "ability")},
        "by_subtype": {name: compared(p for p in pairs if p.subtype == name) for name in _names(pairs, "subtype")},
        "by_system": {name: compared(p for p in pairs if p.system == name) for name in _names(pairs, "system")},
    }


def _names(pairs: Sequence[Pair], name: str) -> list[str]:
    return sorted({getattr(pair, name) for pair in pairs})


def reason_of(answer: PublicAnswer, graded: Graded, verdict: PublicVerdict) -> str:
    """Say why two verdicts differ: a key of `REASONS`."""
    if verdict.task_key and RUBRIC_OF.get(verdict.task_key) != answer.subtype:
        return "other_task"
    if verdict.score == 0:
        if verdict.auto_zero:
            return "auto_zero"
        if verdict.was_truncated and graded.span is not None and answer.raw is not None:
            tail = answer_span(answer.raw, "official")
            if tail is not None and graded.span[0] < tail[0]:
                return "cut_off"
        return "missed_refusal" if answer.subtype == "AR" else "rejected_right"
    if graded.rule in NO_ANSWER.values():
        return "credited_nothing"
    if answer.subtype == "AR":
        return "credited_guess"
    if graded.abstain_kind == "explicit":
        return "credited_refusal"
    if graded.correct is None:
        return "wording"
    return "credited_two" if graded.abstain_kind is not None else "credited_other"
