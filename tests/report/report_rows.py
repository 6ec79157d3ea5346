"""Responses made by hand: whole tables, run folders, and the answers of simple systems."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from memgauge.responses import new_row, schema, write_parquet


def make_rows(
    system: str = "exact",
    *,
    accuracy: float = 0.8,
    episodes: int = 4,
    queries: int = 4,
    lengths: Sequence[int] = (64, 128),
    splits: Sequence[str] = ("low", "max"),
    arms: Sequence[str] = ("none",),
    negatives: str = "uniform",
    task: str = "ecc-tokens",
    run: str = "run-1",
    version: str = "1",
    change: Callable[[dict[str, Any], int], dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Rows of a system that is right with some probability; `change` edits each row, given its number."""
    draw = np.random.default_rng(sum(map(ord, system)))
    rows: list[dict[str, Any]] = []
    for arm in arms:
        for length in lengths:
            for split in splits:
                for e in range(episodes):
                    for q in range(queries):
                        positive = q % 2 == 0
                        right = bool(draw.random() < accuracy)
                        said = positive == right
                        row = new_row(
                            key=f"{system}|{version}|{task}|{arm}|{length}|{split}|{negatives}|{e}|{q}",
                            run=run, system=system, task=task, split=split, negatives=negatives, length=length,
                            episode=f"{split}-{length}-{e}", query=f"q{q}", query_length=3, arm=arm,
                            gold="yes" if positive else "no", answer="yes" if said else "no", outcome="answered",
                            correct=right, score=float(right), confidence=0.5 + 0.4 * float(draw.random()),
                            age=float(1 + e * queries + q) if positive else None,
                            age_unit="symbols" if positive else None, flops_write=1000 * length, write_shared=True,
                            flops_read=10 * length + q, state_bits=256, state_bytes=32, seconds_read=0.001,
                        )  # fmt: skip
                        rows.append(change(row, len(rows)) if change else row)
    return rows


def frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema())


def make_run(folder: Path, *tables: Sequence[dict[str, Any]], **record: Any) -> Path:
    """A run folder with a finished table and a run.json; `record` changes entries of the latter."""
    folder.mkdir(parents=True)
    rows = [row for table in tables for row in table]
    write_parquet(frame(rows), folder / "responses.parquet")
    entry = {
        "schema_version": 1,
        "run": folder.name,
        "created": "2025-11-29T10:00:00+00:00",
        "versions": {"memgauge": "0.1.0"},
        "commands": [["memgauge", "run", "ecc-tokens"]],
        "tasks": ["ecc-tokens"],
        "data": {"identity": {"made": True, "seed": 0}, "seed": 0},
        "systems": [{"name": n, "spec": n, "fingerprint": f"{n} v1"} for n in dict.fromkeys(r["system"] for r in rows)],
        "arms": ["none"],
        "finished": True,
        "notes": [],
        **record,
    }
    (folder / "run.json").write_text(json.dumps(entry))
    return folder
