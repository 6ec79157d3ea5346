"""Rows as a run would write them, from memories whose answers are known: no other room is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from memgauge.responses import check_rows, new_row, schema

Row = dict[str, Any]


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """A checked responses table; keys are added where they are missing."""
    keyed = [{**row, "key": row["key"] or f"{number:032x}"} for number, row in enumerate(rows)]
    return check_rows(pl.DataFrame(keyed, schema=schema()), "test rows")


def response(right: bool | None, *, gold: str = "yes", episode: str = "e0", query: str = "q0", **more: Any) -> Row:
    """One row: right, wrong, or None for an abstention."""
    outcome = "abstained" if right is None else "answered"
    values: Row = {
        "run": "r",
        "system": "s",
        "task": "ecc-tokens",
        "split": "max",
        "length": 64,
        "arm": "none",
        "negatives": "uniform",
        "episode": episode,
        "query": query,
        "gold": gold,
        "answer": None if right is None else gold if right else {"yes": "no", "no": "yes"}.get(gold, "something else"),
        "outcome": outcome,
        "abstain_kind": "explicit" if right is None else None,
        "correct": bool(right),
        "score": float(bool(right)),
    }
    values.update(more)
    if values["outcome"] not in ("answered", "abstained"):
        values |= {"correct": None, "score": None, "answer": None, "abstain_kind": None}
    return new_row(**values)


def make_stream(rng: np.random.Generator, split: str, length: int) -> bytes:
    """Uniform symbols, or a few phrases in random order."""
    if split == "max":
        return rng.integers(0, 16, length).astype(np.uint8).tobytes()
    phrases = [rng.integers(0, 16, rng.integers(5, 12)).astype(np.uint8).tobytes() for _ in range(max(2, length // 40))]
    text = b""
    while len(text) < length:
        text += phrases[rng.integers(len(phrases))]
    return text[:length]


def make_questions(rng: np.random.Generator, stream: bytes, count: int) -> list[tuple[bytes, bool]]:
    """Half copied from the stream, half absent."""
    found: list[tuple[bytes, bool]] = []
    while len(found) < count:
        size = int(rng.integers(3, 7))
        start = int(rng.integers(0, len(stream) - size + 1))
        candidate = stream[start : start + size]
        if len(found) % 2:
            while candidate in stream:
                candidate = rng.integers(0, 16, size).astype(np.uint8).tobytes()
        found.append((candidate, not len(found) % 2))
    return found


def window_rows(
    window: int,
    *,
    system: str | None = None,
    split: str = "max",
    length: int = 128,
    episodes: int = 12,
    questions: int = 8,
    seed: int = 0,
    arm: str = "none",
    keys: str = "",
    **more: Any,
) -> list[Row]:
    """What a window of so many symbols really answers, by searching its text.

    It gives a confidence: a found candidate is sure; one that is not found is absent with some chance. Under arm B
    (+1/-4) it declines below the break-even. Its costs are a symbol written at 2 FLOPs and a read that grows with how
    far it has to look.
    """
    rows = []
    for number in range(episodes):
        rng = np.random.default_rng([seed, number, length, split == "max"])
        stream = make_stream(rng, split, length)
        kept = stream[-window:] if window else b""
        for asked, (candidate, gold) in enumerate(make_questions(rng, stream, questions)):
            found = candidate in kept
            share = min(1.0, window / length)
            sure = 1.0 if found else 1 / (2 - share)
            place = stream.rfind(candidate)
            end = place + len(candidate)
            declined = arm == "B" and sure <= 0.8
            rows.append(
                response(
                    None if declined else found == gold,
                    gold="yes" if gold else "no",
                    episode=f"{split}-{length}-{number:03d}",
                    query=f"q{asked:02d}",
                    system=system or f"window:bits={4 * window}",
                    split=split,
                    length=length,
                    arm=arm,
                    query_length=len(candidate),
                    age=float(length - end) if gold else None,
                    age_unit="symbols",
                    confidence=sure,
                    flops_write=2 * length,
                    write_shared=True,
                    flops_read=(kept.rfind(candidate) + 1 if found else window) + 1,
                    state_bits=4 * window,
                    key=f"{keys}{system}{window}-{split}-{length}-{arm}-{seed}-{number}-{asked}",
                    **more,
                )
            )
    return rows
