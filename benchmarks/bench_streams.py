"""Speed of the streams room, against naive versions measured in the same run.

    python benchmarks/bench_streams.py [--json] [--quick]

Times are processor times on one core, the best of several repetitions, so that other work on the machine matters less.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from memgauge.streams import Band, Negatives, StreamItem, make_cell, match_lengths, max_entropy_batch

LENGTH, QUERIES = 1024, 32
SIZES = (16_384, 32_768, 65_536, 131_072)
KEPT = {
    "streams_per_second": 150_000.0,
    "ratio_to_plain_python": 40.0,
    "match_lengths_65536_ms": 10.0,
}
"""What the project promises on one idle core; the last is an upper bound."""


def best(call: Callable[[], object], repetitions: int) -> float:
    """Return the least of several processor times, in seconds; the first call, which may compile, is not timed."""
    call()
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def plain_python(count: int) -> list[tuple[bytes, list[tuple[bytes, bool]]]]:
    """Make the same kind of items without any library: negatives are verified with `bytes.find`."""
    rng = random.Random(0)
    made = []
    for _ in range(count):
        stream = bytes(rng.choices(range(16), k=LENGTH))
        golds = [True] * (QUERIES // 2) + [False] * (QUERIES // 2)
        rng.shuffle(golds)
        queries = []
        for gold in golds:
            size = rng.randint(3, 6)
            if gold:
                at = rng.randrange(LENGTH - size + 1)
                candidate = stream[at : at + size]
            else:
                candidate = bytes(rng.choices(range(16), k=size))
                while stream.find(candidate) >= 0:
                    candidate = bytes(rng.choices(range(16), k=size))
            queries.append((candidate, gold))
        made.append((stream, queries))
    return made


def quadratic_match_lengths(x: bytes) -> list[int]:
    """Find each match by growing it and searching the past with `bytes.find`."""
    lengths, length = [], 0
    for i in range(len(x)):
        length = max(length - 1, 0)
        while i + length < len(x) and x.find(x[i : i + length + 1], 0, i + length) >= 0:
            length += 1
        lengths.append(length)
    return lengths


def cell(band: Band, negatives: Negatives, count: int) -> list[StreamItem]:
    """Make streams of 4,096 symbols with 16 queries each."""
    return list(make_cell(band, 4096, count, seed=0, negatives=negatives))


def measure(quick: bool) -> dict[str, Any]:
    """Return all figures."""
    repetitions, batch, few = (3, 2_000, 50) if quick else (7, 20_000, 200)
    fast = batch / best(lambda: max_entropy_batch(0, LENGTH, 0, batch, QUERIES), repetitions)
    plain = few / best(lambda: plain_python(few), 3)
    rng = np.random.default_rng(0)
    noise = {n: rng.integers(0, 16, n).astype(np.uint8) for n in SIZES}
    periodic = {n: np.resize(np.arange(5, dtype=np.uint8), n) for n in SIZES}
    times = {
        kind: {n: best(partial(match_lengths, x), repetitions) for n, x in streams.items()}
        for kind, streams in (("noise", noise), ("periodic", periodic))
    }
    small = noise[SIZES[0]][:4096]
    naive = best(lambda: quadratic_match_lengths(small.tobytes()), 1)
    ours = best(lambda: match_lengths(small), repetitions)
    assert quadratic_match_lengths(small.tobytes()) == match_lengths(small).tolist()
    cells = {}
    made: tuple[tuple[Band, Negatives], ...] = (("low", "uniform"), ("low", "matched"), ("max", "matched"))
    for band, negatives in made:
        count = 20 if quick else 200
        seconds = best(partial(cell, band, negatives, count), 1)
        cells[f"{band} {negatives}, {count} streams of 4096, 16 queries"] = seconds
    return {
        "streams_per_second": fast,
        "plain_python_streams_per_second": plain,
        "ratio_to_plain_python": fast / plain,
        "match_lengths_ms": {kind: {str(n): t * 1e3 for n, t in row.items()} for kind, row in times.items()},
        "match_lengths_65536_ms": max(row[65_536] for row in times.values()) * 1e3,
        "match_lengths_ratio_to_quadratic_at_4096": naive / ours,
        "cell_seconds": cells,
        "promised": KEPT,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    arguments = parser.parse_args()
    found = measure(arguments.quick)
    if arguments.json:
        print(json.dumps(found, indent=2, allow_nan=False))
        return
    print(f"max-entropy streams of {LENGTH} symbols with {QUERIES} verified queries")
    print(f"  here            {found['streams_per_second']:>10,.0f} a second (promised: {150_000:,})")
    print(f"  plain Python    {found['plain_python_streams_per_second']:>10,.0f} a second")
    print(f"  ratio           {found['ratio_to_plain_python']:>10,.0f}          (promised: 40)")
    print("match lengths")
    for kind, row in found["match_lengths_ms"].items():
        for n, ms in row.items():
            print(f"  {kind:<10}{int(n):>8,} symbols {ms:>8.2f} ms {ms / int(n) * 1e6:>7.1f} ns a symbol")
    print("  promised: 10 ms at 65,536")
    print(f"  ratio to a quadratic search at 4,096: {found['match_lengths_ratio_to_quadratic_at_4096']:,.0f}")
    for name, seconds in found["cell_seconds"].items():
        print(f"{name}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
