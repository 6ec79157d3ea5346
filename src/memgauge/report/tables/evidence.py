"""Tables of calibration, forgetting and comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from memgauge.report import text as write
from memgauge.report.charts.grouping import Group
from memgauge.report.page import Cell, Table
from memgauge.report.tables.forms import NOTHING, Row, compact, gain, level, name, number, proportion
from memgauge.report.text import plain


def payoff_table(rows: Sequence[Row], caption: str = "") -> Table:
    """The columns of ECCBench, Table 10, and the stream-level check, responsiveness and payoff."""
    lines: list[list[str | Cell]] = []
    for row in rows:
        points = {(told["responses"], told["scoring"]): told["points"] for told in row["payoffs"]}
        arm_a, arm_b = row["arm_a"], row["arm_b"]
        lengths = ", ".join(f"{length:,}" for length in row["lengths"])
        lines.append(
            [
                name(row["system"]),
                ", ".join(write.named(split) for split in row["splits"]),
                Cell(lengths, sort=max(row["lengths"], default=0)),
                number(row["n"], write.count),
                proportion(row["coverage_a"]),
                proportion(row["coverage_b"]),
                gain(row["responsiveness"]),
                *(_declined(row[f"abstained_{arm}"]) for arm in "ab"),
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
    columns = ["system", "splits", "L", "n", "coverage A (%)", "coverage B (%)", "responsive-ness",
               "declined A: explicit / format / overflow", "declined B: explicit / format / overflow", "C/R A (%)",
               "C/R B (%)", "gap (points)", "p (Fisher)", "p (streams)", "B's payoff, told A", "B's payoff, told B",
               "gain when told"]  # fmt: skip
    return compact(Table(columns, lines, caption=caption, headings=2))


def _declined(kinds: Row) -> Cell:
    """The declined questions by the three ways to abstain (ECCBench, B.8)."""
    counts = [kinds.get(kind, 0) for kind in ("explicit", "format", "overflow")]
    return Cell(" / ".join(f"{count:,}" for count in counts), sort=sum(counts))


def confidence_table(group: Group) -> Table:
    """Brier, ECE and AURC of confidences, and what answering above tau gives."""
    taus = sorted({threshold["tau"] for row in group.rows for threshold in row["thresholds"]})
    lines: list[list[str | Cell]] = []
    for row in sorted(group.rows, key=lambda row: (row["length"], row["split"])):
        found = {threshold["tau"]: threshold for threshold in row["thresholds"]}
        line: list[str | Cell] = [
            name(row["system"]),
            name(row["split"]),
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
    return compact(Table(columns, lines, caption=group.title, headings=2))


def forgetting_table(group: Group) -> Table:
    """Half-lives, or why there is none, with the recall and the false alarms that they rest on."""
    lines: list[list[str | Cell]] = []
    for row in sorted(group.rows, key=lambda row: (row["length"], row["split"])):
        fit = row["half_life"] or {}
        lines.append(
            [
                name(row["system"]),
                name(row["split"]),
                number(row["length"], write.count),
                number(row["positives"], write.count),
                proportion(row["recall"]),
                proportion(row["false_alarm"]),
                _half_life(fit, write.named(row["unit"] or "")),
                number(fit.get("r2"), write.decimal),
                number(fit.get("p_permutation"), write.p_value),
                "" if fit.get("half_life") is not None else _why_not(row, fit),
            ]
        )
    columns = ["system", "split", "L", "positives", "recall (%)", "false alarms (%)", "half-life", "R²", "p (decay)",
               "why there is none"]  # fmt: skip
    return compact(Table(columns, lines, caption=group.title, headings=2, wordy=1))


def _half_life(fit: Row, unit: str) -> Cell:
    value = fit.get("half_life")
    if value is None:
        return NOTHING
    low, high = fit.get("interval_half_life") or (None, None)
    ends = (
        f"[{0 if low is None else write.count(round(low, 1))}, {'∞' if high is None else write.count(round(high, 1))}]"
    )
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
            name(row["system_a"]),
            name(row["system_b"]),
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
               "p (Holm, within the cell)", "p (streams, Holm, within the cell)", "n"]  # fmt: skip
    return compact(Table(columns, lines, caption=caption, headings=2))
