"""How much a run would ask, send and compute, found out before it asks anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memgauge import drive
from memgauge.episode import Episode
from memgauge.run import Plan
from memgauge.tasks import get_task

FORECAST = (
    "requests",
    "prompt_tokens",
    "answer_tokens",
    "most_answer_tokens",
    "images",
    "image_bytes",
    "request_bytes",
)
"""What `estimate` tells of systems that send requests; None for the others."""


def estimate(plan: Plan) -> list[dict[str, Any]]:
    """Say how much a run would ask, without asking it: one entry per system and cell.

    Everything is estimated from one stream of each cell. A system that has `forecast(episode, arms)` says itself what
    its requests take (see `memgauge.systems.models.forecast`); batched known-answer systems are tried out. What is not
    known without asking is None, and `assumed` says what was taken for granted.
    """
    task = get_task(plan.task)
    found = []
    for cell in plan.source.cells():
        probe = next(iter(cell.episodes(task, plan.style)))
        for subject in plan.subjects:
            entry: dict[str, Any] = {
                "system": subject.name,
                "task": plan.task,
                "split": cell.band,
                "length": cell.length,
                "negatives": cell.negatives,
                "streams": cell.streams,
                "questions": cell.questions * len(plan.arms),
                "stream_tokens": cell.length * cell.streams,
                "question_tokens": sum(len(q.question.candidate) for q in probe.queries)
                * len(plan.arms)
                * cell.streams,
                **dict.fromkeys(FORECAST),
                "flops": None,
                "assumed": [],
            }
            forecast = getattr(subject.system, "forecast", None)
            if callable(forecast):
                foreseen = forecast(probe, plan.arms)
                for name in (*FORECAST, "flops"):
                    value = getattr(foreseen, name)
                    entry[name] = None if value is None else value * cell.streams
                entry["assumed"] = list(foreseen.assumed)
            else:
                flops = _tried_out(subject.system, probe, plan.arms)
                entry["flops"] = None if flops is None else flops * cell.streams
            found.append(entry)
    return found


def _tried_out(system: Any, probe: Episode, arms: Sequence[str]) -> int | None:
    """Return the FLOPs of one stream and all its questions for a batched known-answer system; None for others."""
    if not (hasattr(system, "expected_accuracy") and hasattr(system, "read_batch") and drive.batchable(probe)):
        return None
    answers = system.read_batch(drive.stack([probe], arms[0], bool(getattr(system, "privileged", False))))
    if answers.flops_write is None or answers.flops_read is None:
        return None
    return int(answers.flops_write[0]) + int(answers.flops_read.sum()) * len(arms)
