"""Time to draw and encode a picture of each kind, on one core, and the size of its file.

Processor time of this process, so that other work on the machine counts less. Usage:

    python benchmarks/bench_pictures.py [--count 30] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

from memgauge.histories.building.pictures import KINDS, draw
from memgauge.histories.building.pictures.examples import example

BOUND = 20.0
"""Milliseconds a picture, drawn and encoded: what the build of 63,000 pictures allows."""


def measure(kind: str, count: int) -> dict[str, float]:
    """Mean and median milliseconds and mean kilobytes over `count` pictures of a kind."""
    specs = [example(kind, seed) for seed in range(count)]
    draw(specs[0])
    times, sizes = [], []
    for spec in specs:
        start = time.process_time()
        picture = draw(spec)
        times.append((time.process_time() - start) * 1000)
        sizes.append(len(picture.data) / 1000)
    return {"mean_ms": statistics.mean(times), "median_ms": statistics.median(times), "kB": statistics.mean(sizes)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    start = time.process_time()
    draw(example("entity", 0))
    first = (time.process_time() - start) * 1000
    rows = {kind: measure(kind, given.count) for kind in KINDS}
    mean = statistics.mean(row["mean_ms"] for row in rows.values())
    slowest = max(rows, key=lambda kind: rows[kind]["median_ms"])
    if given.json:
        print(json.dumps({"first_ms": first, "mean_ms": mean, "slowest": slowest, "kinds": rows}, indent=1))
    else:
        for kind, row in rows.items():
            print(f"{kind:14} {row['mean_ms']:6.1f} ms (median {row['median_ms']:5.1f}) {row['kB']:6.1f} kB")
        print(f"mean over kinds {mean:.1f} ms; first picture with the atlas {first:.0f} ms; slowest {slowest}")
    if rows[slowest]["median_ms"] > BOUND:
        print(f"{slowest} takes more than {BOUND:.0f} ms", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
