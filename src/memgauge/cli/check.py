"""`memgauge check`: the instrument's own test."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from memgauge.cli.options import Json


def check(
    *,
    quick: Annotated[bool, Parameter(negative="", help="Fewer streams and simulations (a few seconds).")] = False,
    seed: Annotated[int, Parameter(help="Streams and simulations follow from it.")] = 0,
    json: Json = False,
) -> int:
    """Measure memories whose numbers are known, count what intervals cover, and recompute the papers' tables.

    Exit status: 0 when all holds, 1 when something does not.
    """
    from memgauge.check import run_checks
    from memgauge.cli.output import print_json, print_table
    from memgauge.progress import Progress

    lines = []
    with Progress("checks", total=None) as bar:
        for line in run_checks(quick=quick, seed=seed):
            lines.append(line)
            bar.advance()
    failed = [line for line in lines if line.holds is False]
    if json:
        print_json({"holds": not failed, "checked": len(lines), "lines": [asdict(line) for line in lines]})
        return 1 if failed else 0
    words = {True: "holds", False: "DOES NOT HOLD", None: "shown"}
    for test, title in (
        ("table", "Tables of ECCBench"),
        ("known answer", "Known answers (maximum-entropy streams, uniform negatives; ~ marks an approximate form)"),
        ("interval", "What 95 % intervals cover (simulated)"),
    ):
        rows = [[line.what, line.expected, line.measured, words[line.holds]] for line in lines if line.test == test]
        print_table(title, ("what", "expected", "measured", ""), rows, left=4)
    print(f"{len(lines) - len(failed)} of {len(lines)} lines hold" if failed else f"all {len(lines)} lines hold")
    return 1 if failed else 0
