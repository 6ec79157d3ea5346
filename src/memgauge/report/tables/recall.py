"""Tables of accuracy, costs and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memgauge.report import text as write
from memgauge.report.charts.grouping import Group, widest
from memgauge.report.page import Cell, Table
from memgauge.report.tables.forms import NOTHING, Lookup, Row, compact, gain, level, name, number, proportion
from memgauge.report.text import NONE, plain
from memgauge.responses import OUTCOMES


def axes_table(document: Row, group: Group, lookup: Lookup, lengths: Sequence[int]) -> Table:
    """The four axes of ECCBench, one line a system and length: capacity, efficiency, compression, calibration."""
    rows: list[list[str | Cell]] = []
    target = write.percent(document["target"], 0)
    protocol = (group.task, group.negatives, group.subtype)
    # Of this length alone, so that all numbers of a line are of the same streams; its splits are pooled.
    calibrated = [
        row
        for row in document["calibration"]
        if (row["task"], row["negatives"], row["subtype"]) == protocol and len(row["lengths"]) == 1
    ]
    arms_at = {(row["system"], row["lengths"][0]): row for row in widest(calibrated, of=("lengths",))}
    for system in group.systems:
        for length in lengths:
            at = {"length": length, "task": group.task, "negatives": group.negatives, "arm": group.arm,
                  "subtype": group.subtype, "system": system, "split": "low"}  # fmt: skip
            dense, regular = lookup("cells", at, split="max"), lookup("cells", at)
            if dense is None and regular is None:
                continue
            comp = lookup("compression", at)
            arms = arms_at.get((system, length))
            line: list[str | Cell] = [name(system), number(length, write.count)]
            line.append(proportion(dense["accuracy"] if dense else None))
            line += [_price(lookup("efficiency", at, split=split)) for split in ("max", "low")]
            line.append(gain(comp["comp"] if comp else None))
            line.append(gain(comp["window"]["excess"] if comp else None))
            line.append(proportion(dense["coverage"] if dense else None))
            line.append(proportion(dense["accuracy_answered"] if dense else None))
            line.append(level(dense["aurc"] if dense else None))
            line.append(gain(arms["responsiveness"] if arms else None))
            line.append(gain(arms["gap"] if arms else None))
            rows.append(line)
    return compact(
        Table(
            [
                "system",
                "L",
                "capacity: accuracy, max (%)",
                f"efficiency: FLOPs to {target} %, max",
                f"FLOPs to {target} %, low",
                "compression (points)",
                "excess over window",
                "coverage R, max (%)",
                "C/R, max (%)",
                "AURC, max",
                "responsive-ness, splits pooled (points)",
                "selectivity gap, splits pooled (points)",
            ],
            rows,
            caption=f"{group.title}; 95 % intervals over episodes under each number",
        )
    )


def _price(found: Row | None) -> Cell:
    """FLOPs to reach the target, or never."""
    if found is None:
        return NOTHING
    if found["never"]:
        return Cell("never", sort=float(2**63))
    if found["flops"] is None:
        return Cell(NONE, title=found["note"])
    low, high = (NONE if found[end] is None else write.flops(found[end]) for end in ("low", "high"))
    same = found["low"] == found["flops"] == found["high"]
    return Cell(
        write.flops(found["flops"]),
        detail="" if same else f"[{low}, {'never' if high == NONE else high}]",
        sort=found["flops"],
        title=found["note"],
    )


def recall_table(group: Group) -> Table:
    """Accuracy, coverage and costs of every cell, where there is no pair of entropy bands to compare."""
    ordered = sorted(group.rows, key=lambda cell: (cell["length"], cell["split"]))
    rows: list[list[str | Cell]] = [
        [
            name(cell["system"]),
            name(cell["split"]),
            number(cell["length"], write.count),
            proportion(cell["accuracy"]),
            proportion(cell["coverage"]),
            proportion(cell["accuracy_answered"]),
            level(cell["score"]),
            number(cell["flops_write"], write.flops),
            number(cell["flops_read"], write.flops),
            number(cell["tokens_in"], write.count),
            number(cell["state_bits"], write.bits),
        ]
        for cell in ordered
    ]
    columns = ["system", "split", "L", "acc. (%)", "R (%)", "C/R (%)", "score", "F_write", "F_read", "tokens", "state"]
    return compact(Table(columns, rows, caption=size(group), headings=2))


def size(group: Group) -> str:
    """Return what the group is, and how much was asked in a cell."""

    def span(name: str, noun: str) -> str:
        found = sorted({row[name] for row in group.rows})
        numbers = f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"
        return f"{numbers} {noun}{'' if found == [1] else 's'}"

    return f"{group.title}; {span('episodes', 'episode')} and {span('n', 'question')} a cell"


def capacity_table(group: Group) -> Table:
    """Accuracy on incompressible streams when no response may cost more than a budget."""
    budgets = sorted(
        {budget["flops"] for row in group.rows for budget in row["budgets"] if budget["flops"] is not None}
    )
    lines: list[list[str | Cell]] = []
    for row in sorted(group.rows, key=lambda row: row["length"]):
        found = {budget["flops"]: budget for budget in row["budgets"]}
        line: list[str | Cell] = [name(row["system"]), name(row["split"]), number(row["length"], write.count)]
        line += [proportion(found.get(budget)) for budget in (*budgets, None)]
        lines.append(line)
    columns = ["system", "split", "L", *(f"at most {write.flops(budget)} (%)" for budget in budgets), "no limit (%)"]
    return compact(Table(columns, lines, caption=group.title, headings=2))


def compression_table(group: Group) -> Table:
    """Compression with the matched window, and the FLOPs saved at equal accuracy (extensions)."""
    lines: list[list[str | Cell]] = []
    for row in sorted(group.rows, key=lambda row: (row["length"], row["split"])):
        saved, window = row["flops_saved"], row["window"]
        lines.append(
            [
                name(row["system"]),
                name(row["split"]),
                number(row["length"], write.count),
                gain(row["comp"]),
                gain(row["comp_balanced"]),
                gain(window["excess"]),
                number(window["symbols"], lambda symbols: write.count(None if symbols is None else round(symbols))),
                number(window["comp"], write.points),
                number(saved["target"], write.percent),
                number(saved["flops_against"], write.flops),
                number(saved["flops"], write.flops),
                number(saved["ratio"], lambda ratio: write.decimal(ratio, 2)),
                "; ".join(write.named(note) for note in dict.fromkeys((row["note"], window["note"])) if note),
            ]
        )
    columns = ["system", "split", "L", "Comp (points)", "Comp, balanced", "excess", "window W (symbols)",
               "Comp of the window", "equal accuracy (%)", "FLOPs, max", "FLOPs, regular", "FLOPs ratio",
               "notes"]  # fmt: skip
    return compact(Table(columns, lines, caption=group.title, headings=2, wordy=1))


def outcome_table(document: Row) -> Table:
    """What became of the questions of each system."""
    totals: dict[tuple[str, str, str], dict[str, int]] = {}
    for cell in document["cells"]:
        counts = totals.setdefault((cell["system"], cell["task"], cell["arm"]), dict.fromkeys(OUTCOMES, 0))
        for outcome in OUTCOMES:
            counts[outcome] += cell["outcomes"].get(outcome, 0)
    ordered = sorted(totals.items(), key=lambda item: (item[0][1], item[0][2] != "none", item[0][2]))
    lines: list[list[str | Cell]] = [
        [
            name(system),
            name(task),
            name(arm),
            number(sum(counts.values()), write.count),
            *(number(counts[outcome], write.count) for outcome in OUTCOMES),
        ]
        for (system, task, arm), counts in ordered
    ]
    names = [outcome.replace("_", " ") for outcome in OUTCOMES]
    return compact(Table(["system", "task", "arm", "questions", *names], lines, headings=3))


def worst_case_table(document: Row) -> Table:
    """Cells with errors: accuracy when all errors count as wrong, and when all count as right."""
    lines: list[list[str | Cell]] = [
        [
            name(cell["system"]),
            name(cell["task"]),
            name(cell["split"]),
            number(cell["length"], write.count),
            name(cell["negatives"] or ""),
            name(cell["arm"]),
            number(cell["n"] - cell["scored"], write.count),
            number(cell["n"], write.count),
            proportion(cell["accuracy"]),
            number(cell["accuracy_worst"], write.percent),
            number(cell["accuracy_best"], write.percent),
        ]
        for cell in document["cells"]
        if cell["scored"] < cell["n"]
    ]
    columns = ["system", "task", "split", "L", "negatives", "arm", "errors", "questions", "accuracy (%)",
               "all errors wrong (%)", "all errors right (%)"]  # fmt: skip
    return compact(Table(columns, lines, caption="cells with errors", headings=3))


def cost_table(group: Group) -> Table:
    """What writing and reading cost, per question."""
    lines: list[list[str | Cell]] = [
        [
            name(cell["system"]),
            name(cell["split"]),
            number(cell["length"], write.count),
            number(cell["flops_write"], write.flops),
            number(cell["flops_read"], write.flops),
            number(cell["flops_total"], write.flops),
            number(cell["flops_write_shared"], write.flops),
            number(cell["flops_total_shared"], write.flops),
            number(cell["tokens_in"], write.count),
            number(cell["tokens_out"], write.count),
            number(cell["images_in"], write.count),
            number(cell["t_ans"], write.count),
            number(cell["seconds_write"], write.seconds),
            number(cell["seconds_read"], write.seconds),
            number(cell["state_bits"], write.bits),
        ]
        for cell in sorted(group.rows, key=lambda cell: (cell["length"], cell["split"]))
    ]
    columns = ["system", "split", "L", "F write", "F read", "F total", "F write, shared", "F total, shared",
               "tokens in", "tokens out", "images in", "T_ans", "time to write", "time to read", "state"]  # fmt: skip
    return compact(Table(columns, lines, caption=group.title, headings=2))


def cells_table(group: Group) -> Table:
    """Every cell with all its accuracies."""
    lines: list[list[str | Cell]] = [
        [
            name(cell["system"]),
            name(cell["split"]),
            number(cell["length"], write.count),
            number(cell["n"], write.count),
            number(cell["episodes"], write.count),
            proportion(cell["accuracy"]),
            proportion(cell["balanced_accuracy"]),
            proportion(cell["accuracy_yes"]),
            proportion(cell["accuracy_no"]),
            proportion(cell["coverage"]),
            proportion(cell["accuracy_answered"]),
            level(cell["score"]),
            plain("; ".join(cell["notes"])),
        ]
        for cell in sorted(group.rows, key=lambda cell: (cell["length"], cell["split"]))
    ]
    columns = ["system", "split", "L", "n", "episodes", "accuracy (%)", "balanced (%)", "on yes (%)", "on no (%)",
               "coverage R (%)", "C/R (%)", "score", "notes"]  # fmt: skip
    return compact(Table(columns, lines, caption=group.title, headings=2, wordy=1))


def known_answer_table(document: Row) -> Table:
    """Systems whose accuracy theory gives (max entropy, uniform negatives), beside what was measured."""
    expected: dict[tuple[str, int], Row] = {}
    for run in document["runs"]:
        for system in dicts(run.get("systems")):
            forms = system.get("expected") or (system.get("known_answer") or {}).get("expected")
            for length, form in forms.items() if isinstance(forms, dict) else ():
                if isinstance(form, dict) and isinstance(form.get("value"), (int, float)) and str(length).isdigit():
                    expected[str(system.get("name")), int(length)] = form
    lines: list[list[str | Cell]] = []
    for cell in document["cells"]:
        form_of_cell = expected.get((cell["system"], cell["length"]))
        protocol = (cell["split"], cell["negatives"], cell["arm"])
        if form_of_cell is None or protocol != ("max", "uniform", "none") or cell["accuracy"]["value"] is None:
            continue
        low, high = cell["accuracy"]["low"], cell["accuracy"]["high"]
        value = form_of_cell["value"]
        inside = NONE if low is None or high is None else "yes" if low - 1e-9 <= value <= high + 1e-9 else "no"
        exact = "exact" if form_of_cell.get("exact") else "approximate"
        note = form_of_cell.get("note")
        lines.append(
            [
                name(cell["system"]),
                name(cell["task"]),
                number(cell["length"], write.count),
                proportion(cell["accuracy"]),
                number(value, write.percent),
                Cell(inside),
                f"{exact}: {plain(note)}" if note else exact,
            ]
        )
    columns = ["system", "task", "L", "measured (%)", "closed form (%)", "inside the interval", "the form is"]
    caption = "max-entropy streams, uniform negatives; an interval misses a true value in 1 of 20 cases"
    return compact(Table(columns, lines, caption=caption, headings=2, wordy=1))


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list that came from a file; nothing when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
