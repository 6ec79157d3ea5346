"""Time and memory of the bootstrap of the metrics.

    python benchmarks/bench_metrics.py [--json]

4,000 redraws of 1,000,000 responses in 2,000 episodes, against the obvious loop over redraws, which draws episodes,
collects their questions and averages them. The loop is timed on fewer redraws and scaled.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import polars as pl

from memgauge.metrics.accuracy import table_accuracy
from memgauge.metrics.inference import Resampler

EPISODES, QUESTIONS, REDRAWS, NAIVE = 2_000, 500, 4_000, 20


def responses() -> pl.DataFrame:
    """A million answers whose episodes differ."""
    rng = np.random.default_rng(0)
    episode = np.repeat(np.arange(EPISODES), QUESTIONS)
    right = rng.random(len(episode)) < rng.beta(6, 2, EPISODES)[episode]
    order = rng.permutation(len(episode))
    names = np.array([f"max-1024-{number:06d}" for number in range(EPISODES)], dtype=object)
    return pl.DataFrame({"episode": names[episode[order]].tolist(), "correct": right[order]})


def naive(rows: pl.DataFrame, redraws: int) -> list[float]:
    """The obvious percentile bootstrap: no sums by episode, no studentising."""
    rng = np.random.default_rng(0)
    groups = [group["correct"].to_numpy() for _, group in rows.group_by("episode", maintain_order=True)]
    means = []
    for _ in range(redraws):
        drawn = rng.integers(0, len(groups), len(groups))
        means.append(float(np.concatenate([groups[number] for number in drawn]).mean()))
    return means


def peak() -> float:
    """The most memory that the process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the figures."""
    rows = responses()
    table_accuracy(rows.head(1000), Resampler(100))  # imports and first calls
    before = peak()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = table_accuracy(rows, Resampler(REDRAWS))
        times.append(time.perf_counter() - start)
    after = peak()
    start = time.perf_counter()
    naive(rows, NAIVE)
    slow = (time.perf_counter() - start) * REDRAWS / NAIVE
    figures = {
        "responses": rows.height,
        "episodes": EPISODES,
        "redraws": REDRAWS,
        "seconds": min(times),
        "peak_mib": after,
        "added_mib": after - before,
        "naive_seconds": slow,
        "ratio": slow / min(times),
    }
    if "--json" in sys.argv:
        print(json.dumps(figures, indent=2))
        return
    print(f"{rows.height:,} responses, {EPISODES:,} episodes, {REDRAWS:,} redraws")
    print(f"accuracy {found.value[0]:.4f} [{found.low[0]:.4f}, {found.high[0]:.4f}]")
    print(f"time       {min(times):8.3f} s (best of 3)")
    print(f"peak       {after:8.0f} MiB, of which the bootstrap adds {after - before:.0f} MiB")
    print(f"naive loop {slow:8.1f} s (scaled from {NAIVE} redraws): {slow / min(times):.0f} times slower")


if __name__ == "__main__":
    main()
