"""`memgauge show`: one question of a run, with everything that is known about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from memgauge.cli.options import Json


def show(
    run: Annotated[Path, Parameter(help="A run folder.")],
    question: Annotated[
        str, Parameter(help="EPISODE/QUERY as in the tables (low-1024-0007/q03), or the beginning of a row's key.")
    ],
    /,
    *,
    system: Annotated[str | None, Parameter(help="Only this system's rows.")] = None,
    json: Json = False,
) -> int:
    """Print everything about one question: what was seen and asked, and what each system answered at what cost."""
    from memgauge.cli.output import print_json
    from memgauge.inspection import find_question, seen_by

    groups = find_question(run, question, system)
    seen = [seen_by(run, rows[0]) for rows in groups]
    if json:
        shared = [{**{name: rows[0][name] for name in SHARED}, **more} for rows, more in zip(groups, seen, strict=True)]
        print_json({"questions": [{**about, "rows": rows} for about, rows in zip(shared, groups, strict=True)]})
        return 0
    for rows, more in zip(groups, seen, strict=True):
        _print_question(rows[0], more)
        for row in rows:
            _print_row(row)
    return 0


SHARED = (
    "task",
    "split",
    "subtype",
    "negatives",
    "length",
    "episode",
    "query",
    "query_length",
    "gold",
    "age",
    "age_unit",
)
"""What all rows of a question have in common."""


def _print_question(row: dict[str, Any], seen: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(row['episode'])} / {escape(row['query'])}[/bold]  task {escape(row['task'])}")
    for name in SHARED[1:]:
        if row[name] is not None and name not in ("episode", "query"):
            console.print(f"  {name:<14} {escape(str(row[name]))}")
    for name, value in seen.items():
        console.print(f"  {name:<14} {escape(str(value))}")


def _print_row(row: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"\n[bold]{escape(row['system'])}[/bold]  arm {escape(row['arm'])}  key {row['key']}")
    for name, value in row.items():
        if value is not None and name not in (*SHARED, "system", "arm", "key", "run", "schema_version"):
            console.print(f"  {name:<14} {escape(str(value))}")
