"""Tables about models behind an endpoint: the perception check, swapped markers, kinds of abstention, retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memgauge.report import text as write
from memgauge.report.page import Cell, Table
from memgauge.report.tables.forms import NOTHING, Row, compact, gain, name, number, proportion
from memgauge.report.text import NONE, plain

KINDS = ("explicit", "format", "overflow")


def perception_table(rows: Sequence[Row], caption: str = "") -> Table:
    """Accuracy at L = 8 beside every longer length (ECCBench, Table 6 and B.5)."""
    lines: list[list[str | Cell]] = [
        [
            name(row["system"]),
            name(row["split"]),
            number(row["length"], write.count),
            name(row["arm"]),
            Cell("not run") if row["short_arm"] is None else proportion(row["short"]),
            proportion(row["accuracy"]),
            gain(row["drop"]),
            "; ".join(
                f"{plain(part['variant'])} {write.percent(part['short'])} → {write.percent(part['accuracy'])}"
                for part in row["variants"]
            ),
            plain(row["note"] or ""),
        ]
        for row in sorted(rows, key=lambda row: (row["length"], row["split"], row["arm"]))
    ]
    columns = ["system", "split", "L", "arm", "at L = 8 (%)", "at L (%)", "lost since L = 8 (points)", "by variant (%)",
               "notes"]  # fmt: skip
    return compact(Table(columns, lines, caption=caption, headings=2, wordy=1))


def markers_table(rows: Sequence[Row]) -> Table:
    """Answers at L = 8 against chance: whether the yes and no markers look swapped."""
    lines: list[list[str | Cell]] = [
        [
            name(row["system"]),
            name(row["task"]),
            name(row["negatives"] or ""),
            name(row["arm"]),
            number(row["n"], write.count),
            number(row["accuracy_answered"], write.percent),
            proportion(row["balanced_answered"]),
            number(row["p"], write.p_value),
            Cell("yes" if row["swapped"] else "perhaps" if row["note"] else "no"),
            plain(row["note"] or ""),
        ]
        for row in rows
    ]
    columns = ["system", "task", "negatives", "arm", "answers", "right (%)", "right, balanced (%)", "p (below chance)",
               "markers look swapped", "notes"]  # fmt: skip
    return compact(Table(columns, lines, caption="answers at L = 8, splits pooled", headings=2, wordy=1))


def abstention_table(rows: Sequence[Row]) -> Table:
    """The three ways to abstain, and the ways in which a server refuses, of every cell that has any."""
    lines: list[list[str | Cell]] = [
        [
            name(cell["system"]),
            name(cell["task"]),
            name(cell["split"]),
            number(cell["length"], write.count),
            name(cell["negatives"] or ""),
            name(cell["arm"]),
            number(cell["n"], write.count),
            *(number(cell["abstain_kinds"].get(kind, 0), write.count) for kind in KINDS),
            *(number(cell["refused_kinds"].get(kind, 0), write.count) for kind in ("too_long", "filtered", "empty")),
        ]
        for cell in rows
        if any(cell["abstain_kinds"].values()) or any(cell["refused_kinds"].values())
    ]
    columns = ["system", "task", "split", "L", "negatives", "arm", "questions", "explicit", "format", "overflow",
               "refused: too long", "refused: filtered", "refused: empty"]  # fmt: skip
    return compact(Table(columns, lines, caption="cells with abstentions or refusals", headings=2))


def retrieval_table(rows: Sequence[Row], how: Mapping[str, Row], caption: str = "") -> Table:
    """The accuracies of ECCBench, Table 9, with the hit rate; `how` says how each system retrieves, where known."""
    lines: list[list[str | Cell]] = []
    for row in _ordered(rows):
        shown = how.get(row["system"], {}).get("score_shown")
        lines.append(
            [
                *_where(row),
                name(how.get(row["system"], {}).get("embedder") or NONE),
                NOTHING if shown is None else Cell("yes" if shown else "no"),
                proportion(row["accuracy"]),
                proportion(row["accuracy_yes"]),
                proportion(row["accuracy_no"]),
                proportion(row["hit_rate"]),
                NOTHING if row["direct"] is None else name(row["direct"]),
                proportion(row["accuracy_direct"]),
            ]
        )
    columns = ["system", "split", "L", "arm", "embedder", "score shown", "accuracy (%)", "on yes (%)", "on no (%)",
               "hit rate (%)", "reading all", "accuracy of reading all (%)"]  # fmt: skip
    return compact(Table(columns, lines, caption=caption, headings=2))


def retrieval_costs_table(rows: Sequence[Row], caption: str = "") -> Table:
    """The costs of ECCBench, Table 9."""
    lines: list[list[str | Cell]] = [
        [
            *_where(row),
            NOTHING if row["direct"] is None else name(row["direct"]),
            number(row["flops_answer"], write.flops),
            number(row["flops_direct"], write.flops),
            number(row["saving"], lambda value: f"{write.decimal(value, 1)}×"),
            number(row["flops_index"], write.flops),
            break_even(row),
            number(row["flops_one_query"], write.flops),
        ]
        for row in _ordered(rows)
    ]
    columns = ["system", "split", "L", "arm", "reading all", "per answer", "per answer, reading all", "saving", "index",
               "break-even (questions)", "one query"]  # fmt: skip
    return compact(Table(columns, lines, caption=f"{caption}; costs", headings=2))


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["length"], row["split"], row["arm"]))


def _where(row: Row) -> list[str | Cell]:
    return [name(row["system"]), name(row["split"]), number(row["length"], write.count), name(row["arm"])]


def how_retrieved(document: Row) -> dict[str, Row]:
    """Return what is known of how each system retrieves, by its name."""
    found = {name: facts.get("retrieval") for name, facts in document["systems"].items()}
    return {name: how for name, how in found.items() if isinstance(how, Mapping)}


def break_even(row: Row) -> Cell:
    """Questions until the index has paid for itself; never, where an answer from what was retrieved is no cheaper."""
    if row["break_even"] is None:
        costs = (row["flops_answer"], row["flops_direct"], row["flops_index"])
        return NOTHING if None in costs else Cell("never", sort=float(2**63))
    return Cell(write.decimal(row["break_even"], 1), sort=row["break_even"])
