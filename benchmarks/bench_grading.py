"""Typed grading by rule: seconds for 100,000 answers on one core.

    python benchmarks/bench_grading.py [--count N] [--json]

The answers are the labelled ones of the tests (tests/data/answers.jsonl, kind `memlens_score`), each behind another
first sentence, so that no answer is seen twice. Time is that of the processor.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from memgauge.grading.subtypes import infer_subtype
from memgauge.grading.typed.grade import grade_typed

CASES = Path(__file__).parents[1] / "tests" / "data" / "answers.jsonl"


def labelled() -> list[dict[str, Any]]:
    """Return what the labelled cases give to the grader."""
    rows = (json.loads(line) for line in CASES.read_text().splitlines())
    return [row["input"] for row in rows if row["kind"] == "memlens_score"]


def main() -> None:
    """Grade, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    cases = labelled()
    answers = [
        (case, f"I have looked at part {i}.\n\n{case['prediction']}")
        for i in range(given.count)
        for case in [cases[i % len(cases)]]
    ]
    began = time.process_time()
    for case, text in answers:
        subtype = infer_subtype(case["question_type"], case["question"], case["reference"], case["question_subtype"])
        grade_typed(
            text,
            subtype=subtype,
            question=case["question"],
            reference=case["reference"],
            old_answer=case.get("old_answer"),
        )
    seconds = time.process_time() - began
    characters = sum(len(text) for _, text in answers) / len(answers)
    if given.json:
        print(json.dumps({"answers": len(answers), "mean_characters": characters, "cpu_seconds": seconds}, indent=2))
        return
    rate = len(answers) / seconds
    print(f"{len(answers):,} answers of {characters:.0f} characters: {seconds:.2f} s, {rate:,.0f} a second")


if __name__ == "__main__":
    main()
