"""Rows and verdicts: what a judge is asked about a row, and the row with its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memgauge.grading.conversation import grade_conversation, judged_text
from memgauge.grading.judge.asking import Judged, JudgeItem
from memgauge.responses import ERROR_COLUMNS
from memgauge.system import Answer


def item_of(row: Mapping[str, Any]) -> JudgeItem:
    """Return what a judge is asked about a row."""
    text = judged_text(row["raw_output"] or "", row["grading"] or "strict")
    return JudgeItem(row["key"], row["subtype"], row["question"], row["gold"], text, row["old_answer"])


def with_verdict(row: Mapping[str, Any], judged: Judged, judge: str) -> dict[str, Any]:
    """Return a row with a verdict; one without a clear 0 or 1 has no score."""
    # Why an answer was thought wrong is said of the verdict that it had.
    found = {**row, **dict.fromkeys(ERROR_COLUMNS), "judge": judge, "judge_output": judged.raw}
    if judged.value is None:
        outcome = str(judged.outcome)
        said = judged.error or f"the judge's reply is no verdict: {judged.rule}"
        return {**found, "outcome": outcome, "correct": None, "score": None, "abstain_kind": None, "error": said}
    kind, answer = _first_reading(row)
    # A text that commits to nothing abstains, unless the judge credits it; to decline is right where nothing is known.
    abstained = kind is not None and (judged.value == 0 or row["subtype"] == "AR")
    return {
        **found,
        "outcome": "abstained" if abstained else "answered",
        "abstain_kind": kind if abstained else None,
        "answer": answer,
        "correct": bool(judged.value),
        "score": float(judged.value),
        "error": None,
    }


def _first_reading(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return how the rules read an answer: the kind of abstention, and the answer. A pending row has both still."""
    if row["outcome"] == "pending":
        return row["abstain_kind"], row["answer"]
    read = grade_conversation(
        Answer(raw=row["raw_output"] or "", finish_reason=row["finish_reason"]),
        subtype=row["subtype"],
        question=row["question"],
        reference=row["gold"],
        old_answer=row["old_answer"],
        mode=row["grading"] or "strict",
    )
    return read.abstain_kind, read.answer
