"""The tables of a report, for the page and (the first of them) for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memgauge.report import text as write
from memgauge.report.charts.grouping import Group, groups, widest
from memgauge.report.charts.theme import split_name
from memgauge.report.page import Cell, Table
from memgauge.report.text import NONE, plain
from memgauge.responses import OUTCOMES

Row = Mapping[str, Any]
NOTHING = Cell(NONE)
ALL = 10**6


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
        return Cell(NONE, title=estimate["note"] if estimate else None)
    low, high = estimate["low"], estimate["high"]
    detail = "" if low is None or high is None else f"[{form(low)}, {form(high)}]"
    return Cell(form(estimate["value"]), detail=detail, sort=estimate["value"], title=estimate.get("note"))


def number(value: float | None, form: Callable[[float | None], str]) -> Cell:
    """Return a number in its own notation, sorted by its value."""
    return NOTHING if value is None else Cell(form(value), sort=value)


def drop_empty(table: Table) -> Table:
    """Return the table without the columns in which no row has anything."""

    def empty(index: int) -> bool:
        return all((cell.text if isinstance(cell, Cell) else cell) in (NONE, "") for cell in column(index))

    def column(index: int) -> Iterable[str | Cell]:
        return (row[index] for row in table.rows)

    keep = [index for index in range(len(table.columns)) if not table.rows or not empty(index)]
    return Table(
        [table.columns[index] for index in keep],
        [[row[index] for index in keep] for row in table.rows],
        caption=table.caption,
        headings=sum(index < table.headings for index in keep),
        wordy=sum(index >= len(table.columns) - table.wordy for index in keep),
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


def axes_table(document: Row, group: Group, lookup: Lookup, lengths: Sequence[int]) -> Table:
    """The four axes of ECCBench, one line a system and length: capacity, efficiency, compression, calibration."""
    rows: list[list[str | Cell]] = []
    target = write.percent(document["target"], 0)
    protocol = (group.task, group.negatives, group.subtype)
    pooled = {
        row["system"]: row
        for row in widest(document["calibration"])
        if (row["task"], row["negatives"], row["subtype"]) == protocol
    }
    for system in group.systems:
        for length in lengths:
            at = {"length": length, "task": group.task, "negatives": group.negatives, "arm": group.arm,
                  "subtype": group.subtype, "system": system, "split": "low"}  # fmt: skip
            dense, regular = lookup("cells", at, split="max"), lookup("cells", at)
            if dense is None and regular is None:
                continue
            comp = lookup("compression", at)
            arms = pooled.get(system)
            line: list[str | Cell] = [plain(system), number(length, write.count)]
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
    return drop_empty(
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
                "responsive-ness (points)",
                "selectivity gap (points)",
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
            plain(cell["system"]),
            split_name(cell["split"]),
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
    return drop_empty(Table(columns, rows, caption=size(group), headings=2))


def size(group: Group) -> str:
    """Return what the group is, and how much was asked in a cell."""

    def span(name: str) -> str:
        found = sorted({row[name] for row in group.rows})
        return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"

    return f"{group.title}; {span('episodes')} episodes and {span('n')} questions a cell"


def payoff_table(rows: Sequence[Row], caption: str = "") -> Table:
    """The columns of ECCBench, Table 10, and the stream-level check, responsiveness and payoff."""
    lines: list[list[str | Cell]] = []
    for row in rows:
        points = {(told["responses"], told["scoring"]): told["points"] for told in row["payoffs"]}
        arm_a, arm_b = row["arm_a"], row["arm_b"]
        lengths = ", ".join(f"{length:,}" for length in row["lengths"])
        lines.append(
            [
                plain(row["system"]),
                ", ".join(split_name(split) for split in row["splits"]),
                Cell(lengths, sort=max(row["lengths"], default=0)),
                number(row["n"], write.count),
                proportion(row["coverage_a"]),
                proportion(row["coverage_b"]),
                gain(row["responsiveness"]),
                proportion(row["accuracy_answered_a"]),
                proportion(row["accuracy_answered_b"]),
                gain(row["gap"]),
                number(row["fisher_p"], write.p_value),
                number(row["stream_p"], write.p_value),
                level(points.get((arm_a, arm_b))),
                level(points.get((arm_b, arm_b))),
                level(row["payoff_gain"]),
            ]
        )
    columns = ["system", "splits", "L", "n", "coverage A (%)", "coverage B (%)", "responsive-ness", "C/R A (%)",
               "C/R B (%)", "gap (points)", "p (Fisher)", "p (streams)", "B's payoff, told A", "B's payoff, told B",
               "gain when told"]  # fmt: skip
    return drop_empty(Table(columns, lines, caption=caption, headings=2))


def confidence_table(group: Group) -> Table:
    """Brier, ECE and AURC of confidences, and what answering above tau gives."""
    taus = sorted({threshold["tau"] for row in group.rows for threshold in row["thresholds"]})
    lines: list[list[str | Cell]] = []
    for row in sorted(group.rows, key=lambda row: (row["length"], row["split"])):
        found = {threshold["tau"]: threshold for threshold in row["thresholds"]}
        line: list[str | Cell] = [
            plain(row["system"]),
            split_name(row["split"]),
            number(row["length"], write.count),
            number(row["n"], write.count),
            level(row["aurc"]),
            level(row["brier"]),
            level(row["ece"]),
        ]
        for tau in taus:
            line += [proportion(found[tau][name] if tau in found else None) for name in ("coverage", "accuracy")]
        lines.append(line)
    columns = ["system", "split", "L", "answers", "AURC", "Brier", "ECE"]
    for tau in taus:
        columns += [f"R at τ = {tau:.2g} (%)", f"accuracy at τ = {tau:.2g} (%)"]
    return drop_empty(Table(columns, lines, caption=group.title, headings=2))


def forgetting_table(group: Group) -> Table:
    """Half-lives, or why there is none, with the recall and the false alarms that they rest on."""
    lines: list[list[str | Cell]] = []
    for row in sorted(group.rows, key=lambda row: (row["length"], row["split"])):
        fit = row["half_life"] or {}
        lines.append(
            [
                plain(row["system"]),
                split_name(row["split"]),
                number(row["length"], write.count),
                number(row["positives"], write.count),
                proportion(row["recall"]),
                proportion(row["false_alarm"]),
                _half_life(fit, plain(row["unit"] or "")),
                number(fit.get("r2"), write.decimal),
                number(fit.get("p_permutation"), write.p_value),
                "" if fit.get("half_life") is not None else _why_not(row, fit),
            ]
        )
    columns = ["system", "split", "L", "positives", "recall (%)", "false alarms (%)", "half-life", "R²", "p (decay)",
               "why there is none"]  # fmt: skip
    return drop_empty(Table(columns, lines, caption=group.title, headings=2, wordy=1))


def _half_life(fit: Row, unit: str) -> Cell:
    value = fit.get("half_life")
    if value is None:
        return NOTHING
    low, high = fit.get("interval_half_life") or (None, None)
    ends = f"[{0 if low is None else write.count(round(low, 1))}, {'∞' if high is None else write.count(round(high, 1))}]"
    return Cell(f"{write.count(round(value, 1))} {unit}".strip(), detail=ends, sort=value)


_REASONS = {
    "flat_fidelity": "recall does not change with age",
    "no_decay": "recall does not fall with age",
    "unreliable_fit": "the fall is not larger than chance makes it",
}


def _why_not(row: Row, fit: Row) -> str:
    reason = fit.get("reason")
    words = [_REASONS.get(reason, reason.replace("_", " "))] if reason else []
    words += [part for part in (fit.get("detail"), row["note"]) if part]
    return plain("; ".join(dict.fromkeys(words)))


def comparison_table(rows: Sequence[Row], caption: str = "") -> Table:
    """Pairs of systems on the same questions."""
    lines: list[list[str | Cell]] = [
        [
            plain(row["system_a"]),
            plain(row["system_b"]),
            number(row["accuracy_a"], write.percent),
            number(row["accuracy_b"], write.percent),
            gain(row["difference"]),
            Cell(f"{row['mcnemar']['a_only']:,} / {row['mcnemar']['b_only']:,}", sort=row["mcnemar"]["a_only"]),
            number(row["mcnemar"]["p"], write.p_value),
            number(row["p_holm"], write.p_value),
            number(row["p_stream_holm"], write.p_value),
            number(row["n"], write.count),
        ]
        for row in rows
    ]
    columns = ["system A", "system B", "A (%)", "B (%)", "A − B (points)", "right: only A / only B", "p (McNemar)",
               "p (Holm)", "p (streams, Holm)", "n"]  # fmt: skip
    return drop_empty(Table(columns, lines, caption=caption, headings=2))


def outcome_table(document: Row) -> Table:
    """What became of the questions of each system."""
    totals: dict[tuple[str, str, str], dict[str, int]] = {}
    for cell in document["cells"]:
        counts = totals.setdefault((cell["system"], cell["task"], cell["arm"]), dict.fromkeys(OUTCOMES, 0))
        for outcome in OUTCOMES:
            counts[outcome] += cell["outcomes"].get(outcome, 0)
    ordered = sorted(totals.items(), key=lambda item: (item[0][1], item[0][2] != "none", item[0][2]))
    lines: list[list[str | Cell]] = [
        [plain(system), plain(task), plain(arm), number(sum(counts.values()), write.count)]
        + [number(counts[outcome], write.count) for outcome in OUTCOMES]
        for (system, task, arm), counts in ordered
    ]
    names = [outcome.replace("_", " ") for outcome in OUTCOMES]
    return Table(["system", "task", "arm", "questions", *names], lines, headings=3)


def worst_case_table(document: Row) -> Table:
    """Cells with errors: accuracy when all errors count as wrong, and when all count as right."""
    lines: list[list[str | Cell]] = [
        [
            plain(cell["system"]),
            plain(cell["task"]),
            split_name(cell["split"]),
            number(cell["length"], write.count),
            plain(cell["negatives"] or ""),
            plain(cell["arm"]),
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
    return Table(columns, lines, caption="cells with errors", headings=3)


def cost_table(group: Group) -> Table:
    """What writing and reading cost, per question."""
    lines: list[list[str | Cell]] = [
        [
            plain(cell["system"]),
            split_name(cell["split"]),
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
    return drop_empty(Table(columns, lines, caption=group.title, headings=2))


def cells_table(group: Group) -> Table:
    """Every cell with all its accuracies."""
    lines: list[list[str | Cell]] = [
        [
            plain(cell["system"]),
            split_name(cell["split"]),
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
    return drop_empty(Table(columns, lines, caption=group.title, headings=2, wordy=1))


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
                plain(cell["system"]),
                plain(cell["task"]),
                number(cell["length"], write.count),
                proportion(cell["accuracy"]),
                number(value, write.percent),
                Cell(inside),
                f"{exact}: {plain(note)}" if note else exact,
            ]
        )
    columns = ["system", "task", "L", "measured (%)", "closed form (%)", "inside the interval", "the form is"]
    caption = "max-entropy streams, uniform negatives; an interval misses a true value in 1 of 20 cases"
    return Table(columns, lines, caption=caption, headings=2, wordy=1)


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list that came from a file; nothing when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
