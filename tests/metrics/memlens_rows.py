"""Answers of made-up systems to questions about conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from memgauge.responses import check_rows, new_row, schema

Row = dict[str, Any]

MIX = {
    "IE": (("IE", "essential", 12),),
    "MSR": (("MSR_Arithmetic", "essential", 4), ("MSR_Counting", "supportive", 4), ("MSR_YesNo", "sufficient", 2)),
    "TR": (("TR_DurationComparison", "supportive", 5), ("TR_DateExtraction", "essential", 5)),
    "KU": (("KU", "essential", 6),),
    "AR": (("AR", "sufficient", 6),),
}
"""By ability: subtypes with their need of pictures, and how many questions each."""


def questions(times: int = 1) -> list[tuple[str, str, str, str]]:
    """Return (id, ability, subtype, visual need)."""
    found = []
    for ability, parts in MIX.items():
        for subtype, need, count in parts:
            for number in range(count * times):
                found.append((f"q_{subtype}_{number:04d}", ability, subtype, need))
    return found


def answer(
    system: str, length: int, question: tuple[str, str, str, str], right: bool | None, *, arm: str = "none", **more: Any
) -> Row:
    """One row: right, wrong, or None for an abstention (which is right on the unanswerable)."""
    name, ability, subtype, need = question
    abstained = right is None
    correct = subtype == "AR" if abstained else bool(right)
    values: Row = {
        "key": f"{system}|{arm}|{length}|{name}",
        "run": "r",
        "system": system,
        "task": "memlens",
        "split": ability,
        "subtype": subtype,
        "visual_need": need,
        "length": length,
        "arm": arm,
        "episode": name,
        "query": "q",
        "gold": "NOT_MENTIONED" if subtype == "AR" else "gold",
        "answer": None if abstained else "gold" if correct else "other",
        "outcome": "abstained" if abstained else "answered",
        "abstain_kind": "explicit" if abstained else None,
        "correct": correct,
        "score": float(correct),
        "raw_output": "Insufficient information" if abstained else "gold" if correct else "other",
        "finish_reason": "stop",
        **more,
    }
    if values["outcome"] not in ("answered", "abstained"):
        values |= {"correct": None, "score": None, "answer": None, "abstain_kind": None}
    return new_row(**values)


def system_rows(
    system: str,
    accuracy: Mapping[int, float],
    *,
    times: int = 1,
    arm: str = "none",
    seed: int = 0,
    declines: float = 0.1,
    confident: bool = False,
    only: Sequence[str] = (),
) -> list[Row]:
    """Return the answers of a system with an accuracy a length; its verdicts at neighbouring lengths hang together."""
    asked = [question for question in questions(times) if not only or question[1] in only]
    rng = np.random.default_rng([seed, sum(map(ord, system)), sum(map(ord, arm))])
    base = rng.random(len(asked))
    rows = []
    for place, (length, share) in enumerate(accuracy.items()):
        luck = 0.8 * base + 0.2 * rng.random(len(asked))
        cut = np.quantile(luck, share)
        for number, question in enumerate(asked):
            unanswerable = question[2] == "AR"
            declined = rng.random() < (0.7 if unanswerable else declines)
            right = bool(luck[number] <= cut) and not unanswerable
            more: Row = {}
            if not unanswerable:
                more = {
                    "age": float((number * 7) % 20 + place),
                    "age_unit": "sessions",
                    "age_days": 1.5 * (number % 30),
                }
            if confident and not declined:
                more["confidence"] = float(np.clip(1 - luck[number] + 0.1 * rng.normal(), 0, 1))
            rows.append(
                answer(
                    system, length, question, None if declined else right, arm=arm, tokens_in=length,
                    tokens_out=12 + number % 5, images_in=length // 2000, flops_write=1000 * length,
                    write_shared=False, flops_read=50 * length, seconds_read=0.5, **more,
                )
            )  # fmt: skip
    return rows


def frame(*parts: Sequence[Row]) -> pl.DataFrame:
    """A checked responses table."""
    return check_rows(pl.DataFrame([row for part in parts for row in part], schema=schema()), "test rows")
