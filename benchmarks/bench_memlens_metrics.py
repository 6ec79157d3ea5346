"""Time of all numbers of the task `memlens`.

    python benchmarks/bench_memlens_metrics.py [--json] [--questions N]

34 systems at 4 lengths on N questions each (7,353 by default: a million answers), against the obvious loops over rows
in Python, which are timed on fewer questions and scaled.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl

from memgauge.metrics.inference import Resampler
from memgauge.metrics.memlens import summary
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.summary import conversation_numbers
from memgauge.metrics.memlens.table import read_answers
from memgauge.responses import schema

SYSTEMS, LENGTHS, QUESTIONS, NAIVE = 34, (32768, 65536, 131072, 262144), 7_353, 200
SUBTYPES = ("IE", "MSR_Arithmetic", "MSR_Counting", "MSR_YesNo", "TR_DurationComparison", "TR_OrderRanking",
            "TR_DateExtraction", "KU", "AR")  # fmt: skip


def responses(questions: int) -> pl.DataFrame:
    """Answers whose accuracy falls with length and differs between systems and questions."""
    rng = np.random.default_rng(0)
    settings = SYSTEMS * len(LENGTHS)
    count = settings * questions
    question = np.tile(np.arange(questions), settings)
    system = np.repeat(np.arange(SYSTEMS), len(LENGTHS) * questions)
    place = np.tile(np.repeat(np.arange(len(LENGTHS)), questions), SYSTEMS)
    ease = rng.random(questions)
    right = rng.random(count) < np.clip(ease[question] * (1.1 - system / SYSTEMS) - 0.08 * place, 0.02, 0.98)
    declined = rng.random(count) < 0.1
    subtype = np.array(SUBTYPES, dtype=object)[question % len(SUBTYPES)]
    unanswerable = subtype == "AR"
    correct = np.where(declined, unanswerable, right & ~unanswerable)
    age = np.where(unanswerable, np.nan, (question * 7) % (14 * 2**place))
    frame = pl.DataFrame(
        {
            "key": np.arange(count).astype(str),
            "system": [f"system-{number:02d}" for number in system],
            "split": [name.partition("_")[0] for name in subtype],
            "subtype": subtype.tolist(),
            "visual_need": np.array(["essential", "supportive", "sufficient"], dtype=object)[question % 3].tolist(),
            "length": np.array(LENGTHS)[place],
            "episode": [f"q_{number:06d}" for number in question],
            "outcome": np.where(declined, "abstained", "answered").tolist(),
            "abstain_kind": [("explicit" if one else None) for one in declined],
            "correct": correct,
            "score": correct.astype(np.float64),
            "age": pl.Series(age).fill_nan(None),
            "age_days": pl.Series(age * 2.5).fill_nan(None),
            "tokens_in": np.array(LENGTHS)[place],
            "tokens_out": rng.integers(4, 60, count),
            "raw_output": np.where(declined, "Insufficient information", "The answer is a blue bicycle.").tolist(),
        }
    )
    constants = {"run": "r", "task": "memlens", "arm": "none", "query": "q", "schema_version": 1}
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in constants.items())
    return frame.select(
        pl.col(name).cast(kind) if name in frame.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema().items()
    )


def naive(rows: pl.DataFrame) -> dict[str, Any]:
    """A few of the numbers, as loops over rows: accuracy by group, transitions, flip-back, hard questions."""
    groups: dict[tuple[str, int, str, str], list[int]] = defaultdict(lambda: [0, 0])
    verdicts: dict[tuple[str, str], dict[int, bool]] = defaultdict(dict)
    solved: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows.iter_rows(named=True):
        for group in ("all", row["split"], row["subtype"], row["visual_need"]):
            cell = groups[row["system"], row["length"], group, ""]
            cell[0] += row["correct"]
            cell[1] += 1
        verdicts[row["system"], row["episode"]][row["length"]] = row["correct"]
        one = solved[row["length"], row["episode"]]
        one[0] += row["correct"]
        one[1] += 1
    flips: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for (system, _), own in verdicts.items():
        for a, b, c in zip(LENGTHS[:-1], LENGTHS[1:], (*LENGTHS[2:], None), strict=True):
            flips[system, a][0] += own[a] and not own[b]
            flips[system, a][1] += own[b] and not own[a]
            if c is not None:
                flips[system, a][2] += own[a] != own[b] and own[c] == own[a]
    return {
        "groups": len(groups),
        "flips": len(flips),
        "hard": sum(right < 0.2 * asked for right, asked in solved.values()),
    }


def parts(rows: pl.DataFrame) -> dict[str, float]:
    """Seconds of each metric."""
    start = time.perf_counter()
    answers = read_answers(rows)
    assert answers is not None
    found = {"reading": time.perf_counter() - start}
    estimator = Estimator(Resampler())
    for name in ("overall", "scores", "abstentions", "degradation", "churn", "flip_back", "overlaps", "correlations",
                 "hard_questions", "ablations", "outputs", "costs", "recall_by_age", "half_lives"):  # fmt: skip
        metric = getattr(summary, name)
        start = time.perf_counter()
        metric(answers, *(() if name in ("correlations", "costs") else (estimator,)))
        found[name] = time.perf_counter() - start
    return found


def main() -> None:
    """Print the figures."""
    given = sys.argv[1:]
    questions = int(given[given.index("--questions") + 1]) if "--questions" in given else QUESTIONS
    conversation_numbers(responses(20), resampler=Resampler(100))  # imports and first calls
    rows = responses(questions)
    start, busy = time.perf_counter(), time.process_time()
    conversation_numbers(rows, resampler=Resampler())
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    small = responses(NAIVE)
    start = time.perf_counter()
    naive(small)
    slow = (time.perf_counter() - start) * rows.height / small.height
    own = parts(rows)
    figures = {
        "responses": rows.height,
        "settings": SYSTEMS * len(LENGTHS),
        "seconds": seconds,
        "cpu_seconds": busy,
        "naive_seconds_of_four": slow,
        "seconds_of_the_same_four": sum(own[name] for name in ("scores", "degradation", "flip_back", "hard_questions")),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "parts": own,
    }
    if "--json" in given:
        print(json.dumps(figures, indent=2))
        return
    print(f"{rows.height:,} responses of {SYSTEMS} systems at {len(LENGTHS)} lengths")
    print(f"all numbers {seconds:8.2f} s ({busy:.2f} s of processor time); peak {figures['peak_mib']:,.0f} MiB")
    for name, part in own.items():
        print(f"  {name:16s} {part:8.2f} s")
    same = figures["seconds_of_the_same_four"]
    print(f"naive loops {slow:8.2f} s for four of them, without tests and intervals (scaled from {NAIVE} questions);")
    print(f"the same four take {same:.2f} s here, with tests and intervals")


if __name__ == "__main__":
    main()
