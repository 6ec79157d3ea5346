"""A check as one HTML page: every gate with its figures, the counts of the build, and how its text was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memgauge.histories.building.checking.gates import ENOUGH, Gate
from memgauge.histories.building.checking.run import Report
from memgauge.histories.building.checking.variety import MEANING
from memgauge.report.page import Block, Bullets, Cell, Fold, Note, Section, Table, Terms, Text, render_page
from memgauge.report.text import NONE, count, decimal, percent

VERDICTS = {
    "holds": "passed",
    "fails": "failed",
    "warns": "warning",
    "too few": "too few",
    "shown": "shown",
    "not checked": "not run",
}
_MEANINGS = (
    ("passed", "The rule holds, or the bound of the figure stays within the limit."),
    ("failed", "The rule is broken, or the one-sided 99 % bound of the figure is beyond the limit."),
    ("warning", "The figure is beyond a limit that does not decide."),
    ("too few", f"There are fewer than {ENOUGH} evidence sessions: the figure is shown, and decides nothing."),
    ("shown", "A figure without a limit."),
    ("not run", "The gate could not be checked; the page says why."),
)


def check_page(report: Report, *, strict: bool = False) -> str:
    """Return the page of a check; it loads nothing from elsewhere."""
    failed = report.failed(strict=strict)
    structural = [gate for gate in report.gates if gate.kind == "structural"]
    figures = [gate for gate in report.gates if gate.kind != "structural"]
    sections = [
        Section("Verdict", _verdict(report, failed)),
        Section("Structural gates", [_structural(structural)], "structural"),
    ]
    if figures:
        sections.append(Section("Leak gates", list(_leaks(figures)), "leaks"))
    if report.text:
        sections.append(Section("Variety of the text", [Text(MEANING), _variety(report.text)], "text"))
    sections += [
        Section("Questions and lengths", list(_counts(report.build))),
        Section("Writing", list(_writing(report.build))),
    ]
    config = report.build.get("config", {})
    sections.append(Section("Options of the build", [Terms([(name, _said(value)) for name, value in config.items()])]))
    lead = "No gate fails." if not failed else f"{len(failed)} of {len(report.gates)} gates fail."
    subtitle = f"{report.questions:,} questions, {report.evidence_sessions:,} evidence sessions"
    return render_page(f"Check of {report.path.name}", sections, lead=lead, subtitle=subtitle)


def _verdict(report: Report, failed: list[Gate]) -> list[Block]:
    blocks: list[Block] = []
    for gate in report.gates:
        if gate in failed or gate.verdict in ("warns", "not checked"):
            name = f"`{gate.name}`: {VERDICTS[gate.verdict]}."
            why = f" {'Why' if gate.verdict == 'not checked' else 'What to do'}: {gate.advice}." if gate.advice else ""
            must = f" Must hold: {gate.what}." if gate.what else ""
            more = int(gate.measured or 0) - len(gate.problems) if gate.kind == "structural" else 0
            blocks.append(Note(name + must + why) if gate in failed else Text(name + must + why))
            if gate.problems:
                blocks.append(Bullets([*gate.problems, *([f"and {more:,} more"] if more > 0 else [])]))
    verdicts = [gate.verdict for gate in report.gates]
    said = [f"{verdicts.count(kind)} {word}" for kind, word in VERDICTS.items() if kind in verdicts]
    return [
        Text(f"Of {len(verdicts)} gates: {', '.join(said)}."),
        *blocks,
        Fold("What the verdicts mean", [Terms(_MEANINGS)]),
    ]


def _structural(gates: list[Gate]) -> Table:
    rows = [[g.name, VERDICTS[g.verdict], f"{g.n:,} {g.unit}", count(g.measured), g.what] for g in gates]
    columns = ["gate", "verdict", "looked at", "problems", "what must hold"]
    return Table(columns, rows, "They hold on a folder of any size.", headings=2, wordy=1)


def _leaks(gates: list[Gate]) -> Iterator[Block]:
    rows: list[list[str | Cell]] = [
        [
            gate.name,
            VERDICTS[gate.verdict],
            _figure(gate.measured),
            _figure(gate.bound),
            _figure(gate.threshold),
            Cell(f"{gate.n:,}", gate.unit, sort=gate.n),
            gate.what,
        ]
        for gate in gates
    ]
    columns = ["gate", "verdict", "figure", "bound", "limit", "n", "what it measures"]
    caption = "A leak gate fails only when its bound is beyond its limit."
    yield Table(columns, rows, caption, headings=2, wordy=1)
    for gate in gates:
        if gate.details and gate.name != "distinct_2":
            details = [[name, _said(value)] for name, value in gate.to_dict()["details"].items()]
            yield Fold(f"More about `{gate.name}`", [Table(["figure", "value"], details, wordy=1)])


def _variety(text: Mapping[str, Any]) -> Table:
    rows: list[list[str | Cell]] = []
    for name, about in text.items():
        one, fixed = about["distinct_2_of_a_history"], about["distinct_2_of_100000_words"]
        words = [
            Cell(f"{said['mean']:.1f}", f"{said['least']} to {said['most']}")
            for said in about["words_of_a_turn"].values()
        ]
        of_one = Cell(decimal(one["mean"]), f"{one['least']:.3f} to {one['most']:.3f}")
        sizes = [count(about["histories"]), count(about["words"]), decimal(about["distinct_2"])]
        rows.append([name, *sizes, of_one, NONE if fixed is None else decimal(fixed), *words])
    columns = ["length", "histories", "words", "distinct-2 of all", "of one history", "of 100,000 words"]
    caption = "Sampled histories. Under a mean: least and most."
    return Table([*columns, "words of a user's turn", "words of an assistant's turn"], rows, caption)


def _counts(build: Mapping[str, Any]) -> Iterator[Block]:
    if "ablation" in build:
        yield Note(f"In this copy {build['ablation'].get('said', 'pictures were taken out')}.")
    counts = build.get("counts", {})
    for name, title in (("types", "type"), ("subtypes", "subtype"), ("lines", "line of the quota")):
        if isinstance(counts.get(name), Mapping):
            yield Table([title, "questions"], [[kind, count(n)] for kind, n in counts[name].items()])
    short = build.get("short") or {}
    if short:
        yield Note(
            "The quota was not filled; missing: " + ", ".join(f"{n} of {name}" for name, n in short.items()) + "."
        )
    rows = [
        [
            name,
            count(f["questions"]),
            count(f["budget"]),
            Cell(percent(f["fill"]["mean"], 2), f"{percent(f['fill']['least'], 2)} to {percent(f['fill']['most'], 2)}"),
            decimal(f["sessions"], 1),
            decimal(f["fillers"], 1),
            decimal(f["pictures"]["mean"], 1),
            decimal(f["text_per_picture"], 1),
            count(f["record_bytes"]),
        ]
        for name, f in build.get("lengths", {}).items()
    ]
    columns = [
        "length",
        "questions",
        "budget",
        "used (%)",
        "sessions",
        "fillers",
        "pictures",
        "text per picture",
        "bytes",
    ]
    yield Table(columns, rows, "Means over the questions. Tokens that are used: text and pictures together.")


def _writing(build: Mapping[str, Any]) -> Iterator[Block]:
    stages = build.get("funnel", {}).get("stages", [])
    yield Table(["stage", "candidates left"], [[name, count(n)] for name, n in stages])
    reasons = build.get("funnel", {}).get("reasons", {})
    if reasons:
        yield Table(["why candidates were rejected", "n"], [[name, count(n)] for name, n in reasons.items()])
    attempts = build.get("attempts", {})
    turns = sum(attempts.get("turns", {}).values())
    yield Text(
        f"{turns:,} attempts at turns"
        + "".join(f", {n:,} by the {role}" for role, n in attempts.get("turns", {}).items())
        + ". Sessions: "
        + (", ".join(f"{n:,} {name}" for name, n in attempts.get("sessions", {}).items()) or "none")
        + "."
    )
    rejected = attempts.get("rejected", {})
    rows = [[name, count(n), percent(n / turns if turns else None, 2)] for name, n in rejected.items()]
    if rows:
        yield Table(["validator", "attempts rejected", "of all attempts (%)"], rows)
    else:
        yield Text("No validator rejected an attempt.")
    for name in sorted(attempts.keys() - {"turns", "sessions", "rejected"}):
        if attempts[name]:
            rows = [[what, count(n)] for what, n in attempts[name].items()]
            yield Fold(f"Counts of `{name}`", [Table([name, "n"], rows)])


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _figure(value: float | None) -> str:
    return NONE if value is None or value != value else decimal(value, 4)
