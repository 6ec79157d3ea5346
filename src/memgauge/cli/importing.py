"""`memgauge import`: turn results made elsewhere into a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from memgauge.cli.options import Json


def import_results(
    file: Annotated[Path, Parameter(help="A .csv, .jsonl or .parquet table of results, one row a question.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The run folder to make; it must be empty or new.")],
    task: Annotated[str, Parameter(help="The task column, where the table has none.")] = "ecc-text",
    split: Annotated[str | None, Parameter(help="The split column (low, max, ...), where the table has none.")] = None,
    template: Annotated[
        Literal["synthetic", "natural"], Parameter(help="How raw_output marks an answer: {2} or {uncertain} abstains.")
    ] = "synthetic",
    json: Json = False,
) -> int:
    """Read a table of results, grade it, and write a run folder that `report` and `compare` take.

    Columns: system, length, episode, query, gold, and one of answer, raw_output, outcome; further columns of responses
    (split, negatives, age, confidence, flops_write, ...) are kept.
    """
    from memgauge.importers import import_table, write_run

    rows = import_table(file, task=task, split=split, template=template)
    write_run(rows, out, file)
    if json:
        from memgauge.cli.output import print_json

        print_json({"out": str(out), "rows": rows.height, "systems": sorted(rows["system"].unique().to_list())})
    else:
        print(f"{rows.height} rows: {out}\nnext: memgauge report {out} --out {out / 'report.html'}")
    return 0
