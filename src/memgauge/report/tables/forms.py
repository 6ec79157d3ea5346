"""What all tables share: how an estimate stands in a cell, and which rows stand in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memgauge.report import text as write
from memgauge.report.charts.grouping import Group, groups
from memgauge.report.page import Cell, Table
from memgauge.report.text import NONE

Row = Mapping[str, Any]
NOTHING = Cell(NONE)
ALL = 10**6
COORDINATES = ("task", "split", "splits", "L", "negatives", "arm")
"""Columns that say where a number is from."""


def name(value: object) -> str | Cell:
    """Return a name; of a very long one both ends, and the whole when the pointer rests on it."""
    whole = write.plain(value)
    return whole if len(whole) <= write.NAME_LIMIT else Cell(write.named(value), title=whole)


def proportion(estimate: Row | None) -> Cell:
    """Return a proportion in percent with its interval under it."""
    return _estimate(estimate, write.percent)


def gain(estimate: Row | None) -> Cell:
    """Return a difference in percentage points with its interval under it."""
    return _estimate(estimate, write.points)


def level(estimate: Row | None) -> Cell:
    """Return a number with three decimals and its interval under it."""
    return _estimate(estimate, write.decimal)


def _estimate(estimate: Row | None, form: Callable[[float | None], str]) -> Cell:
    if estimate is None or estimate["value"] is None:
        return Cell(NONE, title=estimate.get("note") if estimate else None)
    low, high = estimate["low"], estimate["high"]
    detail = "" if low is None or high is None else f"[{form(low)}, {form(high)}]"
    return Cell(form(estimate["value"]), detail=detail, sort=estimate["value"])


def number(value: float | None, form: Callable[[float | None], str]) -> Cell:
    """Return a number in its own notation, sorted by its value."""
    return NOTHING if value is None else Cell(form(value), sort=value)


def compact(table: Table) -> Table:
    """Return the table without empty columns; what is the same in all rows of a coordinate moves into the caption."""

    def text(cell: str | Cell) -> str:
        return cell.text if isinstance(cell, Cell) else cell

    kept, shared = [], []
    for index, name in enumerate(table.columns):
        found = {text(row[index]) for row in table.rows}
        if found and found <= {NONE, ""}:
            continue
        if name in COORDINATES and len(found) == 1 and len(table.rows) > 1:
            shared.append(f"{name} {found.pop()}" if name != "L" else f"L = {found.pop()}")
        else:
            kept.append(index)
    return Table(
        [table.columns[index] for index in kept],
        [[row[index] for index in kept] for row in table.rows],
        caption="; ".join(part for part in (table.caption, ", ".join(shared)) if part),
        headings=sum(index < table.headings for index in kept),
        wordy=sum(index >= len(table.columns) - table.wordy for index in kept),
    )


class Lookup:
    """Finds the entries of a document's lists by what they are about."""

    def __init__(self, document: Row) -> None:
        self._found = {
            part: {_key(row): row for row in document[part]}
            for part in ("cells", "efficiency", "compression", "confidence")
        }

    def __call__(self, part: str, row: Row, **changes: Any) -> Row | None:
        """Return the entry of `part` for the cell of `row`, with some of its coordinates changed."""
        return self._found[part].get(_key({**row, **changes}))


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("system", "task", "split", "subtype", "length", "arm", "negatives"))


def main_groups(document: Row) -> list[Group]:
    """Return the groups of cells that tables show, the paper's protocol first; payoff arms have their own table."""
    return groups(document["cells"], ALL)[0]


def has_bands(group: Group) -> bool:
    """Whether the group has streams of both entropy bands, so that capacity and compression can be told."""
    return {"low", "max"} <= {row["split"] for row in group.rows}
