"""The report for a terminal: what fits into 100 columns; the page and `--json` have the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from memgauge.report import tables
from memgauge.report import text as write
from memgauge.report.charts import streams_only
from memgauge.report.charts.grouping import Group, by_protocol, groups, widest
from memgauge.report.memlens.terminal import listings
from memgauge.report.text import NONE, named

WIDTH = 100
Row = Mapping[str, Any]
Line = list[str]
Blocks = dict[str, list[Line]]
"""Lines of a table under the heading that they share."""


def print_report(document: Row, file: IO[str] | None = None) -> None:
    """Print accuracy, coverage and compression of each protocol, then costs, payoff arms and warnings.

    Intervals are rounded to whole percents, so that a line holds a system.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH  # a file or a pipe: the same, whoever reads it
    if document.get("memlens") is not None:
        for listing in listings(document["memlens"]):
            _print(console, listing.title, listing.columns, listing.blocks, drop=True)
        document = streams_only(document)
    lookup = tables.Lookup(document)
    shown = tables.main_groups(document)
    for group in shown:
        if tables.has_bands(group):
            _print(console, tables.size(group), _BANDS, _banded(group, lookup))
        else:
            _print(console, tables.size(group), _SPLITS, _split(group))
    # What a question costs hardly depends on how its false candidate was drawn: once a task is enough.
    for group in {group.task: group for group in reversed(shown)}.values():
        _print(console, f"costs a question: {group.title}", _COSTS, _costs(group), drop=True)
    for title, rows in by_protocol(widest(document["calibration"])).items():
        _print(
            console,
            f"payoff arms A (+3/-1) and B (+1/-4): {title}, pooled",
            _PAYOFFS,
            {"": [_payoff(row) for row in rows]},
        )
    for group in groups(document["perception"], tables.ALL)[0]:
        _print(console, f"perception check at L = 8: {group.title}", _PERCEPTION, _by_length(group, _perception))
    how = tables.how_retrieved(document)
    for group in groups(document["retrieval"], tables.ALL)[0]:
        lines = _by_length(group, lambda row: _retrieval(row, how.get(row["system"], {})))
        _print(console, f"retrieval, beside reading all: {group.title}", _RETRIEVAL, lines, drop=True)
    for warning in document["warnings"]:
        console.print(Text(f"warning: {warning}"))
    for note in document["notes"]:
        console.print(Text(f"note: {note}"))
    if not document["cells"] and document.get("memlens") is None:
        console.print("No question was right or wrong: there is nothing to report.")


def _brief(estimate: Row | None, form: Callable[[float | None, int], str] = write.percent) -> str:
    """A number and its interval, in few characters: `72.2 [68,76]`."""
    if estimate is None or estimate["value"] is None:
        return NONE
    low, high = estimate["low"], estimate["high"]
    ends = "" if low is None or high is None else f" [{form(low, 0)},{form(high, 0)}]"
    return f"{form(estimate['value'], 1)}{ends}"


def _each_length(group: Group, lines: Callable[[int], list[Line]]) -> Blocks:
    """One block a length, named by it."""
    return {f"L = {length:,}": lines(length) for length in group.lengths}


def _by_length(group: Group, line: Callable[[Row], Line]) -> Blocks:
    """One line a row, in a block for each length."""
    ordered = sorted(group.rows, key=lambda row: str(row["split"]))
    return _each_length(group, lambda length: [line(row) for row in ordered if row["length"] == length])


_BANDS = ["system", "low (%)", "max: capacity", "Comp (points)", "excess", "R low/max"]


def _banded(group: Group, lookup: tables.Lookup) -> Blocks:
    def line(system: str, length: int) -> Line | None:
        at = {**group.rows[0], "system": system, "length": length, "split": "low"}
        low, dense, comp = lookup("cells", at), lookup("cells", at, split="max"), lookup("compression", at)
        if low is None and dense is None:
            return None
        coverage = [write.percent(cell["coverage"]["value"] if cell else None, 0) for cell in (low, dense)]
        return [
            named(system),
            _brief(low["accuracy"] if low else None),
            _brief(dense["accuracy"] if dense else None),
            _brief(comp["comp"] if comp else None, write.points),
            _brief(comp["window"]["excess"] if comp else None, write.points),
            "/".join(coverage),
        ]

    return _each_length(group, lambda length: [found for name in group.systems if (found := line(name, length))])


_SPLITS = ["system", "split", "accuracy (%)", "R (%)", "C/R (%)", "n"]


def _split(group: Group) -> Blocks:
    def lines(length: int) -> list[Line]:
        cells = sorted((cell for cell in group.rows if cell["length"] == length), key=lambda cell: str(cell["split"]))
        return [
            [
                named(cell["system"]),
                named(cell["split"]),
                _brief(cell["accuracy"]),
                _brief(cell["coverage"]),
                _brief(cell["accuracy_answered"]),
                write.count(cell["n"]),
            ]
            for cell in cells
        ]

    return _each_length(group, lines)


_COSTS = ["system", "split", "F_write", "F_read", "tokens in", "tokens out", "state"]


def _costs(group: Group) -> Blocks:
    # One band is enough here; the page has both.
    chosen = [cell for cell in group.rows if cell["split"] == "max" or not tables.has_bands(group)]

    def line(cell: Row) -> Line:
        amounts = [write.flops(cell["flops_write"]), write.flops(cell["flops_read"])]
        amounts += [write.count(cell["tokens_in"]), write.count(cell["tokens_out"]), write.bits(cell["state_bits"])]
        return [named(cell["system"]), named(cell["split"]), *amounts]

    return _each_length(group, lambda length: [line(cell) for cell in chosen if cell["length"] == length])


_PAYOFFS = ["system", "L", "n", "R A/B (%)", "resp.", "C/R A/B (%)", "gap", "p", "payoff gain"]


def _payoff(row: Row) -> Line:
    def both(name: str) -> str:
        return "/".join(write.percent(row[f"{name}_{arm}"]["value"], 0) for arm in "ab")

    gain = row["payoff_gain"]
    ends = "" if gain["low"] is None else f" [{write.decimal(gain['low'], 2)},{write.decimal(gain['high'], 2)}]"
    return [
        named(row["system"]),
        ",".join(f"{length}" for length in row["lengths"]),
        write.count(row["n"]),
        both("coverage"),
        _brief(row["responsiveness"], write.points),
        both("accuracy_answered"),
        write.points(row["gap"]["value"]),
        write.p_value(row["fisher_p"]),
        f"{write.decimal(gain['value'], 2)}{ends}",
    ]


_PERCEPTION = ["system", "split", "at 8 (%)", "at L (%)", "lost (points)"]


def _perception(row: Row) -> Line:
    return [
        named(row["system"]),
        named(row["split"]),
        "not run" if row["short_arm"] is None else _brief(row["short"]),
        _brief(row["accuracy"]),
        _brief(row["drop"], write.points),
    ]


_RETRIEVAL = ["system", "split", "score", "C (%)", "yes/no (%)", "hits (%)", "answer", "saving",
              "break-even", "one query"]  # fmt: skip


def _retrieval(row: Row, how: Row) -> Line:
    shown = how.get("score_shown")
    return [
        named(row["system"]),
        named(row["split"]),
        NONE if shown is None else "shown" if shown else "hidden",
        write.percent(row["accuracy"]["value"]),
        "/".join(write.percent(row[f"accuracy_{side}"]["value"], 0) for side in ("yes", "no")),
        write.percent(row["hit_rate"]["value"], 0),
        write.flops(row["flops_answer"]),
        NONE if row["saving"] is None else f"{row['saving']:.1f}×",
        tables.break_even(row).text,
        write.flops(row["flops_one_query"]),
    ]


def _print(console: Any, title: str, columns: Sequence[str], blocks: Blocks, *, drop: bool = False) -> None:
    """Print lines under their columns. `drop`: without columns in which nothing stands."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = [line for block in blocks.values() for line in block]
    keep = [i for i in range(len(columns)) if not drop or any(line[i] != NONE for line in lines)]
    if drop and not {columns[i] for i in keep} - {"system", "split"}:
        return  # there is nothing to tell
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for index in keep:
        justify: Any = "left" if columns[index] in ("system", "split") else "right"
        table.add_column(Text(columns[index]), justify=justify, overflow="fold")
    for heading, block in blocks.items():
        if heading:
            table.add_row(Text(heading, style="italic"))
        for line in block:
            table.add_row(*(Text(line[index]) for index in keep))
    console.print(Text(title, style="bold"))
    console.print(table)
