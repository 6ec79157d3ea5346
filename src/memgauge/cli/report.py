"""`memgauge report`: the numbers of one or more runs, as a table, a page, charts and one JSON document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memgauge.cli.options import Json


def report(
    runs: Annotated[
        list[Path], Parameter(help="Run folders, or single responses.parquet or responses.jsonl files; pooled.")
    ],
    /,
    *,
    out: Annotated[Path | None, Parameter(help="Write the page here: one HTML file that needs nothing else.")] = None,
    charts: Annotated[Path | None, Parameter(help="Write each chart into this folder.")] = None,
    format: Annotated[str, Parameter(help="Formats of --charts, comma-separated: png, svg, pdf.")] = "png,svg,pdf",
    target: Annotated[
        float, Parameter(help="Accuracy whose price is the efficiency [0.6: above chance, as the paper has it].")
    ] = 0.6,
    sizes: Annotated[
        Path | None,
        Parameter(help="memlens: JSON object of system names and model sizes, for retention against size."),
    ] = None,
    subset: Annotated[
        str | None,
        Parameter(
            help="memlens: compare how these questions rank systems with how all do: a file of ids, or `agent` for "
            "the agent_subset*.json of the runs' data."
        ),
    ] = None,
    redraws: Annotated[int, Parameter(help="Redraws of the bootstrap.")] = 4000,
    seed: Annotated[int, Parameter(help="Seed of the bootstrap.")] = 0,
    json: Json = False,
) -> int:
    """Show capacity, efficiency, compression, calibration and forgetting of one or more runs, with intervals.

    Prints a table, or with --json the whole document; writes the page to --out and the charts to --charts. A run that
    is not finished can be looked at. Exit status: 0, or 2 for an input that cannot be used.
    """
    from memgauge.cli.options import names
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.files import write_whole
    from memgauge.report.build import build_report
    from memgauge.report.memlens.inputs import question_ids, read_sizes
    from memgauge.report.terminal import print_report

    formats = names("--format", format)
    if seed < 0:
        raise InputError(f"--seed must not be negative, got {seed}")
    if out is not None and out.is_dir():
        raise InputError(f"--out {out} is a folder; give the name of a file, such as {out / 'report.html'}")
    if charts is not None:
        from memgauge.report.charts.export import check_formats

        check_formats(formats)
    document = build_report(
        runs,
        redraws=redraws,
        seed=seed,
        target=target,
        sizes=None if sizes is None else read_sizes(sizes),
        subset=None if subset is None else question_ids(subset, runs),
    )
    written = []
    if out is not None or charts is not None:
        from memgauge.report.charts import draw

        drawn = draw(document)
        try:
            if out is not None:
                from memgauge.report.content import report_page

                write_whole(out, report_page(document, drawn))
                written.append(f"page: {out}")
            if charts is not None:
                from memgauge.report.charts.export import export_charts

                files = export_charts([block for family in drawn.values() for block in family], charts, formats)
                written.append(f"charts: {len(files)} files in {charts}")
        except OSError as error:
            raise InputError(f"cannot write {error.filename or out or charts}: {error.strerror or error}") from error
    if json:
        print_json(document)
    else:
        print_report(document)
    for line in written:
        print(line, file=sys.stderr if json else sys.stdout)
    return 0
