"""The chart of compression, and of what a plain window does not explain of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.grouping import Group, groups, left_out
from memgauge.report.charts.theme import (
    LOW,
    MAX,
    NAMES_ROOM,
    ROW_HEIGHT,
    Labels,
    data,
    ends,
    finish,
    interval_tooltip,
    names_axis,
    panel_width,
    percent_x,
    split_name,
    thin,
)
from memgauge.report.page import Block, Chart, Text

COMP = ("compression", "excess over the matched window")


def compression_charts(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
    """Comp(L, F) at the largest budget, and its excess over a window of equal capacity (extension)."""
    rows = [row for row in document["compression"] if row["comp"]["value"] is not None]
    if not rows:
        return [Text("Compression needs streams of both entropy bands at the same length.")]
    shown, beyond = groups(rows, limit=2)
    return [_compression_chart(group, labels) for group in shown] + left_out([group.title for group in beyond])


def _compression_chart(group: Group, labels: Labels) -> Chart:
    import altair as alt

    def panel(row: Mapping[str, Any]) -> str:
        several = len({(other["split"], other["against"]) for other in group.rows}) > 1
        bands = f", {split_name(row['split'])} against {split_name(row['against'])}" if several else ""
        return f"L = {row['length']:,}{bands}"

    lengths = [group.lengths[i] for i in thin(len(group.lengths), 6)]
    values = []
    for row in sorted(group.rows, key=lambda row: (row["length"], row["split"])):
        if row["length"] in lengths:
            for kind, estimate in zip(COMP, (row["comp"], row["window"]["excess"]), strict=True):
                if estimate["value"] is not None:
                    place = {"panel": panel(row), "system": labels[row["system"]], "kind": kind}
                    values.append({**place, **ends(estimate)})
    names = labels.style(row["system"] for row in group.rows)[0]
    kinds = [kind for kind in COMP if any(value["kind"] == kind for value in values)]
    base = alt.Chart().encode(
        y=names_axis(names),
        yOffset=alt.YOffset("kind:N", sort=kinds),
        color=alt.Color("kind:N").scale(domain=kinds, range=[LOW, MAX][: len(kinds)]),
    )
    title = "accuracy gained (points)"
    columns = 3
    width = panel_width(columns, NAMES_ROOM)
    chart = (
        alt.layer(
            alt.Chart().mark_rule(color="#8a929c").encode(x=alt.datum(0)),
            base.mark_rule(strokeWidth=2).encode(x=percent_x("low", title), x2="high:Q"),
            base.mark_point(filled=True, size=60, opacity=1).encode(
                x=percent_x("value", title),
                shape=alt.Shape("kind:N").scale(domain=kinds, range=["circle", "diamond"][: len(kinds)]),
                tooltip=interval_tooltip(alt.Tooltip("system:N"), alt.Tooltip("kind:N"), value="gain", signed=True),
            ),
            data=data(),
        )
        .properties(width=width, height=ROW_HEIGHT * len(names))
        .facet(
            facet=alt.Facet("panel:N", title=None, sort=list(dict.fromkeys(v["panel"] for v in values))),
            columns=columns,
        )
    )
    return Chart(
        name=f"compression-{group.slug}",
        title=f"Compression ({group.title})",
        spec=finish(chart, values, panel=width, axis=NAMES_ROOM),
        caption=(
            "Circles: accuracy on regular streams minus accuracy on incompressible streams of the same length, at the "
            "largest FLOPs budget. Diamonds (extension): the part of it that a plain window of equal accuracy on "
            "incompressible streams does not show. Lines are 95 % intervals over episodes."
        ),
    )
