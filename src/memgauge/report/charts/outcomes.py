"""The chart of what became of the questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.theme import (
    NAMES_ROOM,
    ROW_HEIGHT,
    Labels,
    data,
    finish,
    names_axis,
    panel_width,
    percent_x,
)
from memgauge.report.page import Block, Chart, Text
from memgauge.report.text import named
from memgauge.responses import OUTCOMES

OUTCOME_COLOURS = ("#9ecae1", "#bdbdbd", "#e69f00", "#cc79a7", "#d55e00", "#4d4d4d", "#f0e442")


def outcome_charts(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
    """What became of every question: one bar a system."""
    import altair as alt

    totals: dict[tuple[str, str, str], int] = {}
    for cell in sorted(document["cells"], key=lambda cell: cell["arm"] != "none"):
        panel = (f"arm {named(cell['arm'])}: " if cell["arm"] != "none" else "") + named(cell["task"])
        for outcome in OUTCOMES:
            key = (panel, cell["system"], outcome)
            totals[key] = totals.get(key, 0) + cell["outcomes"].get(outcome, 0)
    if not any(totals.values()):
        return [Text("No question was asked.")]
    panels = list(dict.fromkeys(panel for panel, _, _ in totals))[:6]
    values = [
        {
            "panel": panel,
            "system": labels[system],
            "outcome": outcome.replace("_", " "),
            "n": n,
            "order": OUTCOMES.index(outcome),
        }
        for (panel, system, outcome), n in totals.items()
        if n and panel in panels
    ]
    names = labels.style(system for _, system, _ in totals)[0]
    columns = min(2, len(panels))
    width = panel_width(columns, NAMES_ROOM)
    scale = alt.Scale(domain=[name.replace("_", " ") for name in OUTCOMES], range=list(OUTCOME_COLOURS))
    chart = (
        alt.Chart(data())
        .mark_bar()
        .encode(
            y=names_axis(names),
            x=percent_x("n", "share of the questions (%)").stack("normalize").scale(domain=[0, 1]),
            color=alt.Color("outcome:N", legend=alt.Legend(symbolType="square")).scale(scale),
            order="order:Q",
            tooltip=["system:N", "outcome:N", alt.Tooltip("n:Q", title="questions", format=",")],
        )
        .properties(width=width, height=ROW_HEIGHT * len(names))
        .facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=columns)
    )
    return [
        Chart(
            name="outcomes",
            title="What became of the questions",
            spec=finish(chart, values, panel=width, axis=NAMES_ROOM),
            caption=(
                "Only answered and abstained questions count as right or wrong. The others are errors of the system, "
                "the parser, the judge or the server: they lower nobody's accuracy, and are shown here instead."
            ),
        )
    ]
