"""Tables of what longer histories change: degradation, churn, overlap, retention, and the age of evidence."""

from __future__ import annotations

from collections.abc import Sequence

from memgauge.report import text as write
from memgauge.report.memlens.scores import WHERE, Line, Row, brief, where
from memgauge.report.page import Cell, Table
from memgauge.report.tables.forms import NOTHING, compact, gain, level, name, number, proportion
from memgauge.report.text import plain


def span(row: Row) -> Cell:
    """Return two lengths."""
    return Cell(f"{brief(row['length_from'])} → {brief(row['length_to'])}", sort=row["length_to"])


def transition_table(tests: Sequence[Row], m: int, caption: str = "") -> Table:
    """One line a test."""
    lines: list[Line] = [
        [
            name(row["system"]),
            name(row["arm"]),
            name(row["ability"]),
            span(row),
            number(row["n"], write.count),
            number(row["accuracy_from"], write.percent),
            number(row["accuracy_to"], write.percent),
            gain(row["difference"]),
            number(row["lost"], write.count),
            number(row["gained"], write.count),
            number(row["p"], write.p_value),
            number(row["p_bonferroni"], write.p_value),
            "yes" if row["significant"] else "",
        ]
        for row in tests
    ]
    columns = ["system", "arm", "ability", "lengths", "n", "shorter (%)", "longer (%)", "change (points)", "lost",
               "gained", "p (McNemar)", f"p × {m:,}", "significant"]  # fmt: skip
    return compact(Table(columns, lines, caption=caption, headings=2))


def churn_table(rows: Sequence[Row]) -> Table:
    """How many verdicts change."""
    lines: list[Line] = [
        [
            name(row["system"]),
            name(row["arm"]),
            span(row),
            number(row["n"], write.count),
            number(row["lost"], write.count),
            number(row["gained"], write.count),
            Cell(f"{row['net']:+,}".replace("-", "−"), sort=row["net"]),
            proportion(row["churn"]),
            number(row["both_right"], write.count),
            number(row["both_wrong"], write.count),
        ]
        for row in rows
    ]
    columns = ["system", "arm", "lengths", "n", "lost", "gained", "net", "churn (%)", "right at both",
               "wrong at both"]  # fmt: skip
    return compact(Table(columns, lines, headings=2))


def flip_table(rows: Sequence[Row]) -> Table:
    """How many of the changed verdicts change back."""
    lines: list[Line] = [
        [
            name(row["system"]),
            name(row["arm"]),
            Cell(" → ".join(map(brief, row["lengths"])), sort=len(row["lengths"])),
            number(row["n"], write.count),
            number(row["flipped"], write.count),
            number(row["back"], write.count),
            proportion(row["share"]),
            Cell(f"{row['lost_back']:,} of {row['lost']:,}", sort=row["lost_back"]),
            Cell(f"{row['gained_back']:,} of {row['gained']:,}", sort=row["gained_back"]),
        ]
        for row in rows
    ]
    columns = ["system", "arm", "lengths", "n", "changed", "changed back", "share (%)", "lost, then regained",
               "gained, then lost"]  # fmt: skip
    return compact(Table(columns, lines, headings=2))


def overlap_table(rows: Sequence[Row]) -> Table:
    """Jaccard overlap of the right answers, against chance."""
    lines: list[Line] = [
        [
            name(row["system"]),
            name(row["arm"]),
            name(row["ability"]),
            span(row),
            number(row["n"], write.count),
            Cell(f"{row['right_from']:,} / {row['right_to']:,}", sort=row["right_from"]),
            number(row["both"], write.count),
            level(row["jaccard"]),
            number(row["expected"], write.decimal),
            number(row["ratio"], lambda value: f"{write.decimal(value, 1)}×"),
            number(row["p"], write.p_value),
            plain(row["note"] or ""),
        ]
        for row in rows
    ]
    columns = ["system", "arm", "ability", "lengths", "n", "right: shorter / longer", "both", "Jaccard", "by chance",
               "ratio", "p (hypergeometric)", "notes"]  # fmt: skip
    return compact(Table(columns, lines, headings=2, wordy=1))


def retention_table(rows: Sequence[Row]) -> Table:
    """Accuracy relative to the shortest length."""
    lines: list[Line] = [
        [
            name(row["system"]),
            name(row["arm"]),
            name(row["ability"]),
            span(row),
            number(row["n"], write.count),
            number(row["accuracy_from"], write.percent),
            number(row["accuracy_to"], write.percent),
            level(row["ratio"]) if row["ratio"]["value"] is not None else Cell("–", title=row["ratio"]["note"]),
            number(row["size"], lambda value: f"{value:g}"),
        ]
        for row in rows
    ]
    columns = ["system", "arm", "ability", "lengths", "n", "shortest (%)", "longer (%)", "retention", "size"]
    return compact(Table(columns, lines, headings=2))


def ages_table(rows: Sequence[Row], pooled: Sequence[Row]) -> Table:
    """Half-lives of every length, and of all lengths together."""
    lines: list[Line] = []
    for row in rows:
        lines.append([*where(row), row["unit"], number(row["n"], write.count), *_fit(row)])
    for row in pooled:
        lengths = Cell("all", sort=float(2**63), title=", ".join(map(brief, row["lengths"])))
        lines.append(
            [name(row["system"]), name(row["arm"]), lengths, row["unit"], number(row["rows"], write.count), *_fit(row)]
        )
    columns = [*WHERE, "unit", "answers", "half-life", "R²", "p (decay)", "why there is none, and notes"]
    return compact(Table(columns, lines, headings=2, wordy=1))


_REASONS = {
    "flat_fidelity": "recall does not change with age",
    "no_decay": "recall does not fall with age",
    "unreliable_fit": "the fall is not larger than chance makes it",
}


def _fit(row: Row) -> Line:
    fit = row["half_life"] or {}
    value, reason = fit.get("half_life"), fit.get("reason")
    words = [_REASONS.get(reason, reason.replace("_", " "))] if reason else []
    words += [part for part in (fit.get("detail"), row["note"]) if part]
    shown = NOTHING
    if value is not None:
        low, high = fit.get("interval_half_life") or (None, None)
        ends = f"[{_age(low or 0.0)}, {'∞' if high is None else _age(high)}]"
        shown = Cell(f"{write.count(round(value, 1))} {row['unit']}", detail=ends, sort=value)
    return [
        shown,
        number(fit.get("r2"), write.decimal),
        number(fit.get("p_permutation"), write.p_value),
        plain("; ".join(dict.fromkeys(words))),
    ]


def bins_table(rows: Sequence[Row]) -> Table:
    """Recall of every age bin."""
    lines: list[Line] = [
        [
            *where(row),
            row["unit"],
            Cell(f"{_age(part['age_low'])} – {_age(part['age_high'])}", sort=part["age_mean"]),
            number(part["n"], write.count),
            proportion({**part, "note": None}),
        ]
        for row in rows
        for part in row["bins"]
    ]
    return compact(Table([*WHERE, "unit", "age", "questions", "recall (%)"], lines, headings=2))


def _age(value: float) -> str:
    return write.count(round(value, 1))
