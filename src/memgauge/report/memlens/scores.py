"""Tables of accuracy, outcomes, coverage and abstention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memgauge.report import text as write
from memgauge.report.page import Cell, Table
from memgauge.report.tables.forms import NOTHING, compact, gain, name, number, proportion
from memgauge.report.text import named
from memgauge.responses import OUTCOMES

Row = Mapping[str, Any]
Line = list[str | Cell]

ABILITY_NAMES = {
    "IE": "information extraction",
    "MSR": "multi-session reasoning",
    "TR": "temporal reasoning",
    "KU": "knowledge update",
    "AR": "answer refusal",
}
"""The paper's five abilities."""
GROUPINGS = {"ability": "ability", "subtype": "subtype", "visual_need": "need of pictures", "kind": "kind"}
"""Groupings that have a table, with their names."""


def tokens(length: int | None) -> str | Cell:
    """Return a length as the paper writes it: 32,768 and 32,000 tokens are both `32K`.

    >>> tokens(32768).text, tokens(131072).text, tokens(500).text
    ('32K', '128K', '500')
    """
    if length is None:
        return Cell("all", sort=float(2**63))
    return Cell(brief(length), sort=length, title=f"{length:,} tokens")


def brief(length: int) -> str:
    """Return the same as text."""
    for unit in (1024, 1000):
        if length >= unit and length % unit == 0:
            return f"{length // unit:,}K"
    return f"{length:,}"


def where(row: Row) -> Line:
    """Return the first cells of a line: system, arm and length."""
    return [name(row["system"]), name(row["arm"]), tokens(row["length"])]


WHERE = ["system", "arm", "L"]


def overall_table(document: Row, arm: str) -> Table:
    """One line a system and length: accuracy over everything, its mean over abilities, and by ability."""
    abilities = _groups(document, "ability", arm)
    found = {
        (row["system"], row["length"], row["group"]): row
        for row in document["scores"]
        if row["arm"] == arm and row["grouping"] == "ability"
    }
    lines: list[Line] = []
    for row in document["overall"]:
        if row["arm"] != arm:
            continue
        parts = [found.get((row["system"], row["length"], ability)) for ability in abilities]
        lines.append(
            [
                name(row["system"]),
                tokens(row["length"]),
                number(row["scored"], write.count),
                proportion(row["micro"]),
                proportion(row["macro"]),
                *(_accuracy(part) for part in parts),
            ]
        )
    columns = ["system", "L", "scored", "all questions (%)", "mean of abilities (%)", *(f"{a} (%)" for a in abilities)]
    return compact(Table(columns, lines, caption=_arm(arm), headings=1))


def group_table(document: Row, grouping: str, arm: str) -> Table:
    """One line a system and length, one column a group."""
    groups = _groups(document, grouping, arm)
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in document["scores"]:
        if row["arm"] == arm and row["grouping"] == grouping:
            found.setdefault((row["system"], row["length"]), {})[row["group"]] = row
    lines: list[Line] = [
        [name(system), tokens(length), *(_accuracy(row.get(group)) for group in groups)]
        for (system, length), row in found.items()
    ]
    columns = ["system", "L", *(f"{named(group)} (%)" for group in groups)]
    return compact(Table(columns, lines, caption=_arm(arm), headings=1))


def outcome_table(document: Row, arm: str) -> Table:
    """What became of the questions of every ability, with the accuracy if all errors were wrong, and if all right."""
    lines: list[Line] = [
        [
            name(row["system"]),
            tokens(row["length"]),
            name(row["group"]),
            number(row["n"], write.count),
            *(number(row["outcomes"][outcome], write.count) for outcome in OUTCOMES),
            number(row["accuracy_worst"], write.percent),
            number(row["accuracy_best"], write.percent),
        ]
        for row in document["scores"]
        if row["arm"] == arm and row["grouping"] in ("all", "ability")
    ]
    columns = ["system", "L", "ability", "asked", *(o.replace("_", " ") for o in OUTCOMES), "worst (%)", "best (%)"]
    return compact(Table(columns, lines, caption=_arm(arm), headings=1))


def coverage_table(document: Row, arm: str) -> Table:
    """Coverage and per-answer accuracy on answerable questions, beside abstention and over-refusal."""
    attempts: dict[tuple[str, int], Row] = {}
    for row in document["scores"]:
        # Where no question is unanswerable, all are answerable.
        if row["arm"] == arm and row["grouping"] in ("all", "answerable"):
            attempts[row["system"], row["length"]] = row
    lines: list[Line] = []
    for row in document["abstention"]:
        if row["arm"] != arm:
            continue
        tried = attempts[row["system"], row["length"]] if row["answerable"] else None
        lines.append(
            [
                name(row["system"]),
                tokens(row["length"]),
                number(row["answerable"], write.count),
                proportion(tried["coverage"] if tried else None),
                proportion(tried["accuracy_answered"] if tried else None),
                proportion(tried["accuracy"] if tried else None),
                number(row["unanswerable"], write.count),
                proportion(row["abstention"]),
                proportion(row["over_refusal"]),
                gain(row["discrimination"]),
                proportion(row["no_answer"]),
            ]
        )
    columns = ["system", "L", "answerable", "coverage (%)", "per-answer accuracy (%)", "accuracy (%)", "unanswerable",
               "abstention on them (%)", "over-refusal (%)", "difference (points)", "no answer (%)"]  # fmt: skip
    return compact(Table(columns, lines, caption=_arm(arm), headings=1))


def attempts_table(document: Row, arm: str) -> Table:
    """Coverage and per-answer accuracy of every ability."""
    lines: list[Line] = [
        [
            name(row["system"]),
            tokens(row["length"]),
            name(row["group"]),
            number(row["scored"], write.count),
            proportion(row["coverage"]),
            proportion(row["accuracy_answered"]),
            proportion(row["accuracy"]),
        ]
        for row in document["scores"]
        if row["arm"] == arm and row["grouping"] == "ability" and row["group"] != "AR"
    ]
    columns = ["system", "L", "ability", "scored", "coverage (%)", "per-answer accuracy (%)", "accuracy (%)"]
    return compact(Table(columns, lines, caption=_arm(arm), headings=1))


def arms_of(rows: Sequence[Row]) -> list[str]:
    """Return the arms that occur, `none` first."""
    return sorted({row["arm"] for row in rows}, key=lambda arm: (arm != "none", arm))


def each_arm(rows: Sequence[Row], build: Callable[[str], Table]) -> list[tuple[str, Table]]:
    """Return the table of every arm, the first one first."""
    return [(arm, table) for arm in arms_of(rows) if (table := build(arm)).rows]


def _groups(document: Row, grouping: str, arm: str) -> list[str]:
    rows = [row for row in document["scores"] if row["grouping"] == grouping and row["arm"] == arm]
    order = list(ABILITY_NAMES)

    def place(group: str) -> tuple[int, str]:
        ability = group.partition("_")[0]
        return order.index(ability) if ability in order else len(order), group

    return sorted({row["group"] for row in rows}, key=place)


def _accuracy(row: Row | None) -> Cell:
    if row is None:
        return NOTHING
    cell = proportion(row["accuracy"])
    note = row["accuracy"]["note"]
    said = f"{row['scored']:,} of {row['n']:,} questions scored" + (f"; {note}" if note else "")
    return Cell(cell.text, detail=cell.detail, sort=cell.sort, title=said)


def _arm(arm: str) -> str:
    return "" if arm == "none" else f"arm {named(arm)}"
