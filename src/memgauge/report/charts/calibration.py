"""Charts of calibration: what confidences are worth, and what payoffs change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.grouping import Group, groups, left_out, widest
from memgauge.report.charts.theme import (
    NAMES_ROOM,
    PALETTE,
    Labels,
    accuracy_domain,
    chance_line,
    data,
    ends,
    finish,
    interval_tooltip,
    names_axis,
    panel_width,
    percent_x,
    percent_y,
    split_name,
    thin,
)
from memgauge.report.page import Block, Chart, Text
from memgauge.report.text import named

CURVE_POINTS = 50


def confidence_charts(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
    """Accuracy of the most confident answers against how many are answered (ECCBench, Fig. 8)."""
    rows = [
        {**row, "points": curve["points"]}
        for row in document["confidence"]
        for curve in row["curves"]
        if curve["flops"] is None and curve["points"]
    ]
    if not rows:
        return [Text("No system gave a confidence, so there is no coverage-accuracy curve to draw.")]
    shown, beyond = groups(rows, limit=2)
    return [_confidence_chart(group, labels) for group in shown] + left_out([group.title for group in beyond])


def _confidence_chart(group: Group, labels: Labels) -> Chart:
    import altair as alt

    lengths = [group.lengths[i] for i in thin(len(group.lengths), 4)]
    rows = sorted(
        (row for row in group.rows if row["length"] in lengths), key=lambda row: (row["length"], row["split"])
    )
    values = [
        {
            "panel": f"L = {row['length']:,}, {split_name(row['split'])}",
            "system": labels[row["system"]],
            "coverage": point["coverage"],
            "value": point["accuracy"],
            "low": point["low"],
            "high": point["high"],
        }
        for row in rows
        for point in (row["points"][i] for i in thin(len(row["points"]), min(CURVE_POINTS, 2_400 // len(rows))))
    ]
    names, colours, dashes, _ = labels.style(row["system"] for row in rows)
    domain = accuracy_domain([{"value": value["value"]} for value in values])
    legend = alt.Legend(symbolType="stroke", symbolSize=500)
    base = alt.Chart().encode(
        x=percent_x("coverage", "coverage (%)", [0, 1]),
        y=percent_y("value", "accuracy of the answered (%)", domain),
        color=alt.Color("system:N", legend=legend).scale(domain=names, range=colours),
    )
    columns = 2
    width = panel_width(columns)
    chart = (
        alt.layer(
            *chance_line(group.two_sided, domain),
            base.mark_line(strokeWidth=2, clip=True).encode(
                strokeDash=alt.StrokeDash("system:N").scale(domain=names, range=dashes)
            ),
            # A single threshold is a point, which a line would not show.
            base.mark_point(filled=True, size=22, opacity=0.9).encode(
                tooltip=interval_tooltip(
                    alt.Tooltip("system:N"), alt.Tooltip("coverage:Q", format=".1%"), value="accuracy"
                )
            ),
            data=data(),
        )
        .properties(width=width, height=210)
        .facet(
            facet=alt.Facet("panel:N", title=None, sort=list(dict.fromkeys(v["panel"] for v in values))),
            columns=columns,
        )
    )
    return Chart(
        name=f"coverage-accuracy-{group.slug}",
        title=f"Accuracy against coverage ({group.title})",
        spec=finish(chart, values, panel=width),
        caption=(
            "Answering only the questions of highest confidence: how many are answered, and how many of those are "
            "right. A system that knows what it has forgotten rises to the left. Intervals are in the tooltips."
        ),
    )


def payoff_charts(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
    """Coverage under both payoff arms, and what the answers earn (ECCBench, Figs. 6 and 7)."""
    chosen = widest(document["calibration"])
    if not chosen:
        return [Text("No system was asked under two payoff arms, so responsiveness cannot be drawn.")]
    rows = [{**row, "arm": "none", "length": max(row["lengths"])} for row in chosen]
    shown, beyond = groups(rows, limit=2)
    blocks: list[Block] = []
    for group in shown:
        blocks += [_coverage_chart(group, labels), _payoff_chart(group, labels)]
    return blocks + left_out([group.title for group in beyond])


def _arm_chart(values: list[dict[str, Any]], names: Sequence[str], arms: list[str], x: Any, *, bars: bool) -> Any:
    """Two marks a system, one an arm, with intervals."""
    import altair as alt

    low, middle = x("low"), x("value")
    base = alt.Chart().encode(
        y=names_axis(names),
        yOffset=alt.YOffset("arm:N", sort=arms),
        color=alt.Color("arm:N").scale(domain=arms, range=[PALETTE[5], PALETTE[1]]),
    )
    tooltip = [alt.Tooltip("system:N"), alt.Tooltip("arm:N")]
    form = ".1%" if bars else "+.3f"
    tooltip += [alt.Tooltip(f"{name}:Q", format=form) for name in ("value", "low", "high")]
    mark = base.mark_bar(height={"band": 0.8}) if bars else base.mark_point(filled=True, size=70, opacity=1)
    rules = base.mark_rule(strokeWidth=1.5).encode(x=low, x2="high:Q")
    if bars:
        rules = rules.encode(color=alt.value("#1b1f24"))
    zero = [] if bars else [alt.Chart().mark_rule(color="#8a929c").encode(x=alt.datum(0))]
    layers = [*zero, mark.encode(x=middle, tooltip=tooltip), rules]
    width = panel_width(1, NAMES_ROOM)
    chart = alt.layer(*layers, data=data()).properties(width=width, height=30 * len(names))
    return finish(chart, values, panel=width, axis=NAMES_ROOM)


def _arm_names(group: Group) -> tuple[str, str]:
    first = group.rows[0]
    return f"arm {named(first['arm_a'])}", f"arm {named(first['arm_b'])}"


def _coverage_chart(group: Group, labels: Labels) -> Chart:
    arm_a, arm_b = _arm_names(group)
    values = [
        {"system": labels[row["system"]], "arm": arm, **ends(row[name])}
        for row in group.rows
        for arm, name in ((arm_a, "coverage_a"), (arm_b, "coverage_b"))
        if row[name]["value"] is not None
    ]
    names = labels.style(row["system"] for row in group.rows)[0]
    return Chart(
        name=f"coverage-arms-{group.slug}",
        title=f"Coverage under each payoff arm ({group.title})",
        spec=_arm_chart(
            values, names, [arm_a, arm_b], lambda field: percent_x(field, "coverage (%)", [0, 1]), bars=True
        ),
        caption=(
            "Share of questions answered when a wrong answer costs little (arm A: +3 right, -1 wrong) and when it "
            "costs much (arm B: +1, -4). A responsive system answers less under arm B. Lines: 95 % intervals."
        ),
    )


def _payoff_chart(group: Group, labels: Labels) -> Chart:
    import altair as alt

    arm_a, arm_b = (f"told {name}" for name in _arm_names(group))
    values = [
        {
            "system": labels[row["system"]],
            "arm": arm_a if told["responses"] == row["arm_a"] else arm_b,
            **ends(told["points"]),
        }
        for row in group.rows
        for told in row["payoffs"]
        if told["scoring"] == row["arm_b"] and told["points"]["value"] is not None
    ]
    names = labels.style(row["system"] for row in group.rows)[0]
    return Chart(
        name=f"payoff-arms-{group.slug}",
        title=f"What the answers earn under arm B's payoff ({group.title})",
        spec=_arm_chart(
            values,
            names,
            [arm_a, arm_b],
            lambda field: (
                alt.X(f"{field}:Q", title="points a question, arm B's payoff")
                .scale(zero=False, padding=8)
                .axis(tickCount=7)
            ),
            bars=False,
        ),
        caption=(
            "Responses to both arms, scored by arm B's payoff (+1 right, -4 wrong, 0 declined). Left of 0 the system "
            "would have earned more by declining every question. Lines: 95 % intervals over episodes."
        ),
    )
