"""Typed grading by rule: seconds for 100,000 answers on one core.

    python benchmarks/bench_grading.py [--count N] [--json]

The answers are the labelled ones of the tests (tests/data/answers.jsonl, kind `memlens_score`) in turn. "as they come":
graded as a run grades them, which keeps the grades of short answers, and here meets the same ones again and again.
"read anew": no grade is kept. "longer": each behind another sentence with a number in it, so that none comes twice.
Time is that of the processor.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memgauge.grading.subtypes import infer_subtype
from memgauge.grading.typed import grade

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
    figures = []
    for name, lead in (("as they come", ""), ("read anew", ""), ("longer", "I have looked at part {}.\n\n")):
        answers = [(case, lead.format(i) + case["prediction"]) for i, case in enumerate(in_turn(given.count))]
        seconds = graded(answers, anew=name == "read anew")
        characters = sum(len(text) for _, text in answers) / len(answers)
        figures.append({"answers": name, "n": len(answers), "mean_characters": characters, "cpu_seconds": seconds})
        if not given.json:
            rate = len(answers) / seconds
            print(f"{name}: {len(answers):,} of {characters:.0f} characters: {seconds:.2f} s, {rate:,.0f} a second")
    if given.json:
        print(json.dumps(figures, indent=2))


def in_turn(count: int) -> Iterable[dict[str, Any]]:
    """Yield the labelled cases again and again."""
    return itertools.islice(itertools.cycle(labelled()), count)


def graded(answers: list[tuple[dict[str, Any], str]], *, anew: bool) -> float:
    """Grade all answers; return the seconds."""
    began = time.process_time()
    for case, text in answers:
        subtype = infer_subtype(case["question_type"], case["question"], case["reference"], case["question_subtype"])
        question, reference, old = case["question"], case["reference"], case.get("old_answer")
        if anew:
            grade._grade(text, subtype, question, reference, old, "strict", None)
        else:
            grade.grade_typed(text, subtype=subtype, question=question, reference=reference, old_answer=old)
    return time.process_time() - began


if __name__ == "__main__":
    main()
