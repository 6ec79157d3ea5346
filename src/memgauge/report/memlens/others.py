"""Tables across arms and systems, of outputs, costs and confidence."""

from __future__ import annotations

from collections.abc import Sequence

from memgauge.report import text as write
from memgauge.report.memlens.scores import WHERE, Line, Row, brief, tokens, where
from memgauge.report.page import Cell, Table
from memgauge.report.tables.forms import NOTHING, compact, gain, level, name, number, proportion
from memgauge.report.text import named, plain


def ablation_table(tests: Sequence[Row], m: int, caption: str = "") -> Table:
    """One line a system, length and group: two arms that differ in one option."""
    lines: list[Line] = [
        [
            name(row["system"]),
            Cell(f"{named(row['arm'])} → {named(row['other_arm'])}"),
            tokens(row["length"])
            if row["length"] == row["other_length"]
            else Cell(f"{brief(row['length'])}, {brief(row['other_length'])}", sort=row["length"]),
            name(row["group"]),
            number(row["n"], write.count),
            number(row["accuracy"], write.percent),
            number(row["accuracy_other"], write.percent),
            gain(row["difference"]),
            number(row["lost"], write.count),
            number(row["gained"], write.count),
            number(row["p"], write.p_value),
            number(row["p_bonferroni"], write.p_value),
        ]
        for row in tests
    ]
    columns = ["system", "arms", "L", "questions", "n", "first (%)", "second (%)", "change (points)", "lost", "gained",
               "p (McNemar)", f"p × {m:,}"]  # fmt: skip
    return compact(Table(columns, lines, caption=caption, headings=2))


def correlation_matrix(rows: Sequence[Row], caption: str = "") -> Table:
    """Rank correlations as a matrix; its lower half."""
    names = list(dict.fromkeys([*(row["a"] for row in rows), *(row["b"] for row in rows)]))
    found = {(row["b"], row["a"]): row for row in rows}
    lines: list[Line] = [
        [name(line), *(_rho(found.get((line, column))) for column in names[:-1])] for line in names[1:]
    ]
    return Table(["", *map(named, names[:-1])], lines, caption=caption)


def _rho(row: Row | None) -> Cell:
    if row is None:
        return Cell("")
    if row["rho"] is None:
        return Cell("–", title=row["note"])
    detail = f"p {write.p_value(row['p'])}, n {row['n']}"
    return Cell(write.decimal(row["rho"], 2), detail=detail, sort=row["rho"])


def size_table(rows: Sequence[Row]) -> Table:
    """Retention against model size."""
    lines: list[Line] = [
        [
            name(row["arm"]),
            plain(row["a"]),
            number(row["n"], write.count),
            number(row["rho"], lambda value: write.decimal(value, 2)),
            number(row["p"], write.p_value),
            plain(row["note"] or ""),
        ]
        for row in rows
    ]
    return compact(Table(["arm", "retention", "systems", "ρ with size", "p", "notes"], lines, headings=2, wordy=1))


def hard_table(rows: Sequence[Row]) -> Table:
    """Hard questions of every length by ability, and how they fare at the other lengths."""
    lines: list[Line] = []
    for row in rows:
        abilities = "; ".join(
            f"{named(part['ability'])} {part['hard']:,} of {part['n']:,}" for part in row["abilities"]
        )
        for other in row["elsewhere"]:
            lines.append(
                [
                    tokens(row["length"]),
                    name(row["arm"]),
                    number(row["systems"], write.count),
                    Cell(f"{row['hard']:,} of {row['n']:,}", sort=row["hard"]),
                    tokens(other["length"]),
                    Cell(f"{other['still_hard']:,} of {other['n']:,}", sort=other["still_hard"]),
                    proportion(other["accuracy"]),
                    abilities if other["length"] == row["length"] else "",
                ]
            )
    columns = ["hard at", "arm", "systems", "hard", "seen at", "hard there too", "accuracy there (%)", "by ability"]
    return compact(Table(columns, lines, headings=1, wordy=1))


def ranking_table(rows: Sequence[Row]) -> Table:
    """How far a subset of the questions ranks the systems as all do."""
    lines: list[Line] = [
        [
            tokens(row["length"]),
            name(row["arm"]),
            number(row["n"], write.count),
            number(row["subset"], write.count),
            number(row["rest"], write.count),
            *(
                number(row[key], lambda value: write.decimal(value, 2))
                for key in ("spearman", "kendall", "spearman_rest", "kendall_rest")
            ),
            plain(row["note"] or ""),
        ]
        for row in rows
    ]
    columns = ["L", "arm", "systems", "subset", "rest", "ρ with all", "τ with all", "ρ with the rest",
               "τ with the rest", "notes"]  # fmt: skip
    return compact(Table(columns, lines, headings=1, wordy=1))


def outputs_table(rows: Sequence[Row]) -> Table:
    """Outputs that went wrong before they could be right or wrong."""
    lines: list[Line] = [
        [
            *where(row),
            number(row["outputs"], write.count),
            proportion(row["capped"]),
            proportion(row["degenerate"]),
            number(row["long"], write.count),
            number(row["repeating"], write.count),
            proportion(row["no_answer"]),
            number(row["words"], write.count),
        ]
        for row in rows
    ]
    columns = [*WHERE, "outputs", "capped (%)", "degenerate (%)", "over 500 words", "repeating", "no answer (%)",
               "median words"]  # fmt: skip
    return compact(Table(columns, lines, headings=2))


def cost_table(rows: Sequence[Row]) -> Table:
    """Means per question."""
    forms = {
        "tokens_in": write.count, "tokens_out": write.count, "images_in": write.count, "flops_write": write.flops,
        "flops_read": write.flops, "flops_total": write.flops, "seconds_write": write.seconds,
        "seconds_read": write.seconds,
    }  # fmt: skip
    lines: list[Line] = [
        [
            *where(row),
            number(row["n"], write.count),
            *(
                NOTHING
                if row[key]["mean"] is None
                else Cell(form(row[key]["mean"]), sort=row[key]["mean"], title=f"mean of {row[key]['n']:,}")
                for key, form in forms.items()
            ),
            number(row["flops_per_right"], write.flops),
        ]
        for row in rows
    ]
    columns = [*WHERE, "questions", "tokens in", "tokens out", "pictures", "F write", "F read", "FLOPs", "time write",
               "time read", "FLOPs a right answer"]  # fmt: skip
    return compact(Table(columns, lines, headings=2))


def confidence_table(rows: Sequence[Row]) -> Table:
    """What confidences are worth."""
    lines: list[Line] = [
        [
            *where(row),
            number(row["n"], write.count),
            number(row["missing"], write.count),
            level(row["aurc"]),
            level(row["brier"]),
            level(row["ece"]),
        ]
        for row in rows
    ]
    return compact(Table([*WHERE, "answers", "without", "AURC", "Brier", "ECE"], lines, headings=2))
