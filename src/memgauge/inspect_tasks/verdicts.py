"""Verdicts of a judge in Inspect's logs: what it is asked, and what its words make of an answer.

The scorer and the importer read a judge's words alike, by the code that reads them in `memgauge judge run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memgauge.grading.judge.asking import Judged
from memgauge.grading.judge.prompts import Request, judge_request
from memgauge.grading.judge.verdict import parse_verdict
from memgauge.grading.outcomes import Outcome
from memgauge.verdict_rows import item_of, with_verdict

ATTEMPTS = 3
"""How often a judge is asked about one answer, when its replies are unclear or it fails."""
LONGEST = 1 << 20
"""Characters of a judge's words that are read."""


def request_about(row: Mapping[str, Any]) -> Request:
    """Return what a judge is asked about a row."""
    item = item_of(row)
    return judge_request(item.task, item.question, item.reference, item.prediction, old_answer=item.old_answer)


def judged_row(row: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a row with the verdict that a score tells of; None where no judge was asked.

    Parameters
    ----------
    row : with the columns of an answer that waits for a judge.
    told : `judge`, its name; `judge_output`, its last words; `judge_error`, why there are none.
    """
    judge, raw, error = (_words(told.get(name)) for name in ("judge", "judge_output", "judge_error"))
    if judge is None or (raw is None and error is None):
        return None
    if error is not None or raw is None:
        heard = Judged(row["key"], Outcome.JUDGE_ERROR, None, raw, "the judge failed", ATTEMPTS, error)
    else:
        verdict = parse_verdict(raw, request_about(row).fence)
        outcome = Outcome.UNPARSED if verdict.value is None else Outcome.ANSWERED
        heard = Judged(row["key"], outcome, verdict.value, raw, verdict.rule, ATTEMPTS)
    return with_verdict(row, heard, f"inspect {judge}")


def _words(value: object) -> str | None:
    return value.encode("utf-8", "replace").decode()[:LONGEST] if isinstance(value, str) else None
