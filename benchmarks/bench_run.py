"""What the run loop costs beside the system and the streams: microseconds a question.

    python benchmarks/bench_run.py [--json]

The batched loop is measured with a system that answers at once, on streams that are already in memory, and compared
with the plain loop (one dictionary and one `json.dumps` a row, one `read` a question) in the same run.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memgauge.run import Plan, Subject, execute
from memgauge.streams import StreamItem, make_cell
from memgauge.system import Answer, BatchAnswers, Memory, SymbolBatch, WriteCost
from memgauge.tasks import MadeStreams, TaskCell

STREAMS, QUERIES, LENGTH = 2000, 16, 256


@dataclass(frozen=True)
class Ready(MadeStreams):
    """Streams made beforehand, so that making them is not counted."""

    items: tuple[StreamItem, ...] = ()

    def cells(self) -> Iterator[TaskCell]:
        """Yield the one cell."""
        yield TaskCell(LENGTH, "max", "uniform", len(self.items), len(self.items) * QUERIES, self.items.__iter__)


class InstantBatch:
    """Says yes to everything, in batches."""

    def __init__(self, name: str = "instant-batch") -> None:
        self.name = name

    def read_batch(self, batch: SymbolBatch) -> BatchAnswers:
        """Answer without looking."""
        shape = batch.candidate_lengths.shape
        return BatchAnswers(np.ones(shape, bool), np.zeros(shape, bool), flops_read=np.ones(shape, np.int64))


class Instant:
    """Says yes to everything, question by question."""

    name = "instant"

    def start(self, seed: int) -> Memory:
        """Make a memory of nothing."""
        return InstantMemory()


class InstantMemory:
    """Keeps nothing."""

    def write(self, observation: Any) -> None:
        """Forget it."""

    def read(self, question: Any) -> Answer:
        """Answer without looking."""
        return Answer(True, flops_read=1)

    def cost(self) -> WriteCost:
        """Nothing was spent."""
        return WriteCost(0, 0)


def microseconds(systems: Sequence[Any], items: tuple[StreamItem, ...]) -> float:
    """Time a run and return microseconds a question of a system (best of three)."""
    best = float("inf")
    source = Ready(lengths=(LENGTH,), bands=("max",), count=len(items), items=items)
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            plan = Plan("ecc-tokens", source, tuple(Subject(s, s.name, s.name) for s in systems))
            started = time.perf_counter()
            execute(plan, Path(folder) / "r", show_progress=False)
            best = min(best, time.perf_counter() - started)
    return best / (len(items) * QUERIES * len(systems)) * 1e6


def main() -> None:
    """Print the figures."""
    items = tuple(make_cell("max", LENGTH, STREAMS, seed=0, queries=QUERIES))
    microseconds([InstantBatch()], items[:100])
    one, single = microseconds([InstantBatch()], items), microseconds([Instant()], items)
    ten = microseconds([InstantBatch(f"instant-{i}") for i in range(10)], items[: STREAMS // 4])
    found = {"batched_us": one, "batched_ten_systems_us": ten, "question_by_question_us": single, "ratio": single / one}
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    print(f"run loop, {STREAMS} streams of {LENGTH} symbols, {QUERIES} questions each")
    print(f"  batched, ten systems {ten:6.1f} us a question of a system (bound: 20)")
    print(f"  batched, one system  {one:6.1f} us a question: the streams are shown to nobody else")
    print(f"  question by question {single:6.1f} us a question, {single / one:.1f}x the batched loop")


if __name__ == "__main__":
    main()
