"""`memgauge compare`: two runs, paired by question."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from memgauge.cli.options import Json

if TYPE_CHECKING:
    from memgauge.metrics.document import Comparison, Estimate


def compare(
    run_a: Annotated[Path, Parameter(help="A run folder, or a responses file.")],
    run_b: Annotated[Path, Parameter(help="Another, or the same one (then name both systems).")],
    /,
    *,
    system_a: Annotated[str | None, Parameter(help="The system of the first run.")] = None,
    system_b: Annotated[str | None, Parameter(help="The system of the second run.")] = None,
    redraws: Annotated[int, Parameter(help="Redraws of the bootstrap over streams.")] = 4000,
    seed: Annotated[int, Parameter(help="Of the redraws.")] = 0,
    json: Json = False,
) -> int:
    """Compare systems of two runs on the questions that both were asked.

    By default the systems of equal name are compared, or the only one of each run. The difference is the accuracy of
    the first minus that of the second, with a 95 % interval from redraws of whole streams. Two tests stand beside it:
    McNemar's exact test takes questions as independent, the sign-flip test takes streams as independent and is the one
    to trust where the questions of a stream succeed and fail together. Both are corrected by Holm over all cells that
    are printed. Runs on different data are refused.
    """
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.metrics.compare import compare_runs, match_systems, same_data
    from memgauge.metrics.inference import Resampler
    from memgauge.report.build import read_record
    from memgauge.responses import load_responses

    if redraws < 100:
        raise InputError(f"--redraws must be at least 100, got {redraws}")
    if seed < 0:
        raise InputError(f"--seed must not be negative, got {seed}")
    if run_a.resolve() == run_b.resolve() and (system_a is None or system_b is None or system_a == system_b):
        raise InputError("both runs are the same one: name two of its systems with --system-a and --system-b")
    rows_a, rows_b = load_responses(run_a), load_responses(run_b)
    # The table of a run folder, named itself, is still of that run.
    records = [read_record(run.parent if run.stem == "responses" else run) for run in (run_a, run_b)]
    note = None if run_a.resolve() == run_b.resolve() else same_data(*records, run_a=str(run_a), run_b=str(run_b))
    systems = match_systems(
        sorted(rows_a["system"].unique()), sorted(rows_b["system"].unique()), system_a=system_a, system_b=system_b
    )
    found = compare_runs(
        rows_a, rows_b, systems, resampler=Resampler(redraws, seed), run_a=str(run_a), run_b=str(run_b)
    )
    if note is not None:
        found["notes"].append(note)
    if json:
        print_json(found)
        return 0
    for note in found["notes"]:
        print(f"memgauge: note: {note}", file=sys.stderr)
    _print_tables(found["comparisons"], found["overall"])
    return 0


def _print_tables(comparisons: list[Comparison], overall: list[Comparison]) -> None:
    """Print one table for each pair of systems, its last rows over the cells of one task, negatives and arm."""
    from memgauge.cli.output import print_table
    from memgauge.metrics.compare import ALIKE
    from memgauge.report.text import p_value, percent, plain

    columns = ("cell", "n", "A %", "B %", "A - B, points", "only A, B", "McNemar", "streams")
    keys: list[Mapping[str, object]] = [{**item} for item in comparisons]
    varying = [name for name in PARTS if len({key[name] for key in keys}) > 1]
    common = [name for name in PARTS if name not in varying]
    for names in dict.fromkeys((item["system_a"], item["system_b"]) for item in overall):
        rows = []
        wholes = [item for item in overall if (item["system_a"], item["system_b"]) == names]
        for item in [c for c in comparisons if (c["system_a"], c["system_b"]) == names] + wholes:
            test = item["mcnemar"]
            rows.append(
                [
                    f"all {_name(item, [part for part in varying if part in ALIKE])}".strip()
                    if item in wholes
                    else _name(item, varying) or "the cell",
                    f"{item['n']:,}",
                    percent(item["accuracy_a"]),
                    percent(item["accuracy_b"]),
                    _difference(item["difference"]),
                    f"{test['a_only']:,}, {test['b_only']:,}",
                    p_value(item["p_holm"]),
                    p_value(item["p_stream_holm"]),
                ]
            )
        where = _name(comparisons[0], common)
        print_table(f"A = {plain(names[0])}, B = {plain(names[1])}{f' ({where})' if where else ''}", columns, rows)
        unpaired = sum(whole["unpaired"] for whole in wholes)
        if unpaired:
            print(f"{unpaired:,} questions were scored for one side only and are left out.")
    print(
        "McNemar and streams: p-values corrected by Holm over all that is printed: "
        f"m = {len(comparisons)} cells; m = {len(overall)} for the rows `all`. "
        "McNemar takes questions as independent, the sign-flip test of streams does not."
    )


PARTS = ("task", "split", "subtype", "length", "negatives", "arm")


def _name(item: Comparison, parts: Sequence[str]) -> str:
    """Name a cell by these parts of its key."""
    from memgauge.report.text import plain

    values: Mapping[str, object] = item
    shown = {"length": "L={}", "arm": "arm {}"}
    return " ".join(shown.get(name, "{}").format(plain(values[name])) for name in parts if values[name] is not None)


def _difference(estimate: Estimate) -> str:
    """Write `value [low, high]` in percentage points."""
    from memgauge.report.text import points

    low, high = estimate["low"], estimate["high"]
    middle = points(estimate["value"])
    return middle if low is None or high is None else f"{middle} [{points(low)}, {points(high)}]"
