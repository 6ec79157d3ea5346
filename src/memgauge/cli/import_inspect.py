"""`memgauge import-inspect`: turn logs of Inspect AI into a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memgauge.cli.options import Json


def import_inspect(
    logs: Annotated[list[Path], Parameter(help="Inspect logs (.eval or .json), or folders of them.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The run folder to make; it must be empty or new.")],
    label: Annotated[
        str | None, Parameter(help="The name of the system in tables [the model, with the settings that were changed].")
    ] = None,
    price: Annotated[
        str | None,
        Parameter(help="Price answers with a model of `memgauge list models`, or a config.json; else FLOPs are empty."),
    ] = None,
    epoch: Annotated[
        int | None, Parameter(help="The epoch to take, where questions were asked more than once.")
    ] = None,
    partial: Annotated[
        bool, Parameter(negative="", help="Import what there is of an evaluation that failed or left samples out.")
    ] = False,
    check_truncation: Annotated[
        bool, Parameter(help="Count an answer as refused when the server read fewer tokens than it was sent.")
    ] = True,
    data: Annotated[
        Path | None, Parameter(help="For memlens: the folder of histories, if it has moved since [as the log says].")
    ] = None,
    json: Json = False,
) -> int:
    """Read logs of memgauge's own tasks, and write a run for `report` and `compare`.

    The tasks are memgauge/ecc_text, ecc_video, easyhuman and memlens. Every question is made again and compared with
    the log; replies are graded here. Inspect need not be installed.
    """
    from memgauge.errors import InputError
    from memgauge.importers.inspect_rows import Options
    from memgauge.importers.inspect_run import import_inspect as read
    from memgauge.systems.models.pricing import pricer_of

    if label is not None and not label.strip():
        raise InputError("--label is empty: give a name")
    options = Options(label, epoch, partial, check_truncation, pricer_of(price, "paper"), data)
    found = read(logs, options)
    if price is not None and len(found.systems) > 1:
        names = ", ".join(str(system["name"]) for system in found.systems)
        raise InputError(f"--price is the price of one model, and these logs hold {names}: import each by itself")
    found.write(out)
    for line in found.notes:
        print(f"memgauge: note: {line}", file=sys.stderr)
    rows = found.rows
    if json:
        from memgauge.cli.output import print_json

        outcomes = dict(sorted(rows["outcome"].value_counts().iter_rows()))
        names_of = [system["name"] for system in found.systems]
        print_json(
            {"out": str(out), "rows": rows.height, "systems": names_of, "outcomes": outcomes, "notes": found.notes}
        )
    else:
        print(f"{rows.height} rows: {out}\nnext: memgauge report {out} --out {out / 'report.html'}")
    return 0
