"""Learning curves of backbones: validation accuracy by length against the time of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.theme import (
    PALETTE,
    accuracy_domain,
    chance_line,
    columns_for,
    data,
    finish,
    panel_width,
    percent_y,
)
from memgauge.report.page import Chart


def learning_chart(histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> Chart:
    """Draw one panel a training and one line a length.

    `histories` maps a label to its validations, `{step, seconds, tokens, accuracy: {length: value}}` each.
    """
    import altair as alt

    values = [
        {"panel": name, "length": length, "minutes": entry["seconds"] / 60, "value": value}
        for name, history in histories.items()
        for entry in history
        for length, value in entry["accuracy"].items()
    ]
    lengths = sorted({value["length"] for value in values}, key=int)
    columns = columns_for(len(histories))
    width = panel_width(max(columns, 2))
    domain = accuracy_domain(values)
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(lengths))]
    line = (
        alt.Chart()
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=16))
        .encode(
            x=alt.X("minutes:Q", title="minutes of training"),
            y=percent_y("value", "validation accuracy (%)", domain),
            color=alt.Color("length:N", title="L", sort=lengths).scale(domain=lengths, range=colours),
            tooltip=[
                alt.Tooltip("length:N"),
                alt.Tooltip("minutes:Q", format=".1f"),
                alt.Tooltip("value:Q", format=".1%"),
            ],
        )
    )
    chart = (
        alt.layer(*chance_line(True, domain), line, data=data())
        .properties(width=width, height=170)
        .facet(facet=alt.Facet("panel:N", title=None, sort=list(histories)), columns=columns)
        .resolve_scale(x="independent")
    )
    return Chart(
        name="learning-curves",
        title="Validation accuracy during training",
        spec=finish(chart, values, panel=width),
        caption="Accuracy on fresh maximum-entropy streams of each length; lengths open as accuracy grows.",
    )
