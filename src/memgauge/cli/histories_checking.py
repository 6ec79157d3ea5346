"""A check for people: two tables, then what failed, where, and what to do."""

from __future__ import annotations

import math

from memgauge.histories.building.checking.gates import Gate
from memgauge.histories.building.checking.run import Report
from memgauge.histories.building.checking.variety import MEANING


def print_report(report: Report, *, strict: bool = False) -> None:
    """Print every gate with its figures; each gate that fails with its first problems and advice."""
    from memgauge.cli.output import print_table

    if "ablation" in report.build:
        print(f"{report.path}: made by `memgauge histories ablate`: {report.build['ablation'].get('said', '')}")
    structural = [gate for gate in report.gates if gate.kind == "structural"]
    print_table(
        f"{report.path}: structural gates",
        ("gate", "verdict", "n", "problems"),
        [(g.name, g.verdict, f"{g.n:,} {g.unit}", _figure(g.measured)) for g in structural],
        left=2,
    )
    figures = [gate for gate in report.gates if gate.kind != "structural"]
    print_table(
        f"statistical gates ({report.evidence_sessions:,} evidence sessions)",
        ("gate", "verdict", "measured", "bound", "limit", "n"),
        [(g.name, g.verdict, _figure(g.measured), _figure(g.bound), _figure(g.threshold), f"{g.n:,}") for g in figures],
        left=2,
    )
    _print_text(report)
    failed = report.failed(strict=strict)
    for gate in report.gates:
        if gate in failed or gate.verdict in ("warns", "not checked"):
            _print_problem(gate)
    if any(gate.verdict == "too few" for gate in figures):
        print("too few: leak gates decide from 300 evidence sessions on; the figures are shown all the same")
    print(f"{len(failed)} of {len(report.gates)} gates fail" if failed else "no gate fails")


def _print_text(report: Report) -> None:
    from memgauge.cli.output import print_table

    if not report.text:
        return
    rows = []
    for name, text in report.text.items():
        one, fixed = text["distinct_2_of_a_history"], text["distinct_2_of_100000_words"]
        of_all, of_one = f"{text['distinct_2']:.3f}", f"{one['mean']:.3f}"
        of_fixed = "too few" if fixed is None else f"{fixed:.3f}"
        rows.append([name, f"{text['histories']:,}", f"{text['words']:,}", of_all, of_one, of_fixed])
    columns = ("length", "histories", "words", "distinct-2", "a history", "100k words")
    print_table("variety of the text", columns, rows)
    print(MEANING)
    longest = list(report.text.values())[-1]["words_of_a_turn"]
    said = (f"{role} {about['mean']:.1f} ({about['least']} to {about['most']})" for role, about in longest.items())
    print(f"words of a turn, mean (least to most): {', '.join(said)}")


def _print_problem(gate: Gate) -> None:
    print(f"\n{gate.name}: {gate.verdict}")
    if gate.what:
        print(f"  must hold: {gate.what}")
    for problem in gate.problems:
        print(f"  {problem}")
    more = int(gate.measured or 0) - len(gate.problems) if gate.kind == "structural" else 0
    if more > 0:
        print(f"  and {more:,} more")
    if gate.advice:
        print(f"  what to do: {gate.advice}" if gate.verdict != "not checked" else f"  why: {gate.advice}")


def _figure(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:.4f}"
