"""The section of the report page about wrong answers and why they are wrong (MEMLENS, G.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report import text as write
from memgauge.report.page import Block, Cell, Fold, Table, Text
from memgauge.report.tables.forms import compact, gain, name, number, proportion

Row = Mapping[str, Any]
TITLES = {"all": "all questions", "ability": "ability", "subtype": "subtype"}
SHOWN = 400
"""Lines of a table on the page; the document holds all."""


def wrong_answer_blocks(document: Row) -> list[Block]:
    """Return the section's blocks from the part `wrong_answers` of a report document."""
    blocks: list[Block] = [
        Text(
            "Shares of the labelled wrong answers. The first four labels are near misses: the evidence was found. The "
            "others are total misses. Rules label where the evidence is known and decides, a judge the rest; answers "
            "without a label are left out. `visual`, `reasoning` and `mixed` say what failed."
        )
    ]
    for number_, (grouping, title) in enumerate(TITLES.items()):
        rows = [row for row in document["groups"] if row["grouping"] == grouping]
        if not rows:
            continue
        found = [_cut(labels_table(document, rows, title)), _cut(causes_table(document, rows, title))]
        blocks += found if number_ == 0 else [Fold(f"By {title}", found)]
    shifts = [row for row in document["shifts"] if row["difference"]["value"] is not None]
    if shifts:
        first = [row for row in shifts if row["grouping"] == "all"]
        blocks.append(_cut(shift_table(first, "shift of the shares with the length, points; questions are redrawn")))
        rest = [row for row in shifts if row["grouping"] != "all"]
        if rest:
            blocks.append(Fold("Shift by ability and subtype", [_cut(shift_table(rest, ""))]))
    if document["agreement"]["label"]["n"]:
        blocks.append(agreement_table(document["agreement"]))
    return blocks


def labels_table(document: Row, rows: Sequence[Row], title: str) -> Table:
    """Shares of the seven labels and of near misses, one line a setting and group."""
    lines: list[list[str | Cell]] = [
        [
            *_where(row),
            number(row["wrong"], write.count),
            number(row["labelled"], write.count),
            number(row["by_judge"], write.count),
            proportion(row["near_miss"]),
            *(proportion(row["shares"][label]) for label in document["labels"]),
        ]
        for row in rows
    ]
    columns = ["system", "arm", "L", "group", "wrong", "labelled", "by the judge", "near miss (%)"]
    columns += [f"{_said(label)} (%)" for label in document["labels"]]
    return compact(Table(columns, lines, caption=f"kinds of errors: {title}", headings=4))


def causes_table(document: Row, rows: Sequence[Row], title: str) -> Table:
    """What failed, one line a setting and group."""
    lines: list[list[str | Cell]] = [
        [
            *_where(row),
            number(row["caused"], write.count),
            *(proportion(row["causes"][cause]) for cause in document["causes"]),
        ]
        for row in rows
        if row["caused"]
    ]
    columns = ["system", "arm", "L", "group", "known", *(f"{cause} (%)" for cause in document["causes"])]
    return compact(Table(columns, lines, caption=f"what failed: {title}", headings=4))


def shift_table(rows: Sequence[Row], caption: str) -> Table:
    """Differences of shares between two lengths."""
    lines: list[list[str | Cell]] = [
        [
            name(row["system"]),
            name(row["arm"]),
            name(row["group"]),
            name(_said(row["label"])),
            number(row["length_from"], write.count),
            number(row["length_to"], write.count),
            number(row["share_from"], write.percent),
            number(row["share_to"], write.percent),
            gain(row["difference"]),
        ]
        for row in rows
    ]
    columns = ["system", "arm", "group", "label", "from L", "to L", "share (%)", "share at the longer (%)", "points"]
    return compact(Table(columns, lines, caption=caption, headings=4))


def agreement_table(document: Row) -> Table:
    """Rules against the judge, on the answers that both labelled."""
    lines: list[list[str | Cell]] = []
    for part, title in (("label", "label"), ("group", "near or total miss"), ("cause", "what failed")):
        found = document[part]
        kappa = {"value": found["kappa"], "low": found["kappa_low"], "high": found["kappa_high"]}
        lines.append(
            [
                title,
                number(found["n"], write.count),
                proportion(found["agreement"]),
                _kappa(kappa),
                "; ".join(f"{_said(a)} / {_said(b)}: {n}" for a, b, n in found["differing"][:3]),
            ]
        )
    columns = ["", "n", "agreement (%)", "kappa", "most frequent differences (rules / judge)"]
    return Table(columns, lines, caption="rules against the judge", headings=1, wordy=1)


def _kappa(estimate: Row) -> Cell:
    if estimate["value"] is None:
        return Cell(write.NONE)
    low, high = estimate["low"], estimate["high"]
    detail = "" if low is None else f"[{write.decimal(low)}, {write.decimal(high)}]"
    return Cell(write.decimal(estimate["value"]), detail=detail, sort=estimate["value"])


def _where(row: Row) -> list[str | Cell]:
    group = "" if row["grouping"] == "all" else row["group"]
    return [name(row["system"]), name(row["arm"]), number(row["length"], write.count), name(group)]


def _said(label: str) -> str:
    return label.replace("_", " ")


def _cut(table: Table) -> Table:
    if len(table.rows) <= SHOWN:
        return table
    left = len(table.rows) - SHOWN
    caption = f"{table.caption}; {left:,} more lines are in the document"
    return Table(table.columns, table.rows[:SHOWN], caption=caption, headings=table.headings, wordy=table.wordy)
