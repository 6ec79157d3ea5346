"""Charts of compression, of calibration, of forgetting, and of what became of the questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.grouping import Group, groups, left_out, widest
from memgauge.report.charts.theme import (
    LOW,
    MAX,
    NAMES_ROOM,
    PALETTE,
    Labels,
    accuracy_domain,
    chance_line,
    columns_for,
    dashed_lines,
    data,
    finish,
    interval_tooltip,
    panel_width,
    percent_x,
    percent_y,
    split_name,
    split_scale,
    thin,
)
from memgauge.report.page import Block, Chart, Text
from memgauge.report.text import plain
from memgauge.responses import OUTCOMES

ROW_HEIGHT = 24
CURVE_POINTS = 50
FIT_POINTS = 30
COMP = ("compression", "excess over the matched window")
OUTCOME_COLOURS = ("#9ecae1", "#bdbdbd", "#e69f00", "#cc79a7", "#d55e00", "#4d4d4d")


def _ends(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: estimate[name] for name in ("value", "low", "high")}


def _names_axis(names: Sequence[str]) -> Any:
    """A y channel of systems' names, in the report's order."""
    import altair as alt

    return alt.Y("system:N", title=None, sort=list(names)).axis(ticks=False, domain=False, grid=True)


def compression_charts(document: Mapping[str, Any], labels: Labels) -> list[Block]:
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
                    values.append({**place, **_ends(estimate)})
    names = labels.style(row["system"] for row in group.rows)[0]
    kinds = [kind for kind in COMP if any(value["kind"] == kind for value in values)]
    base = alt.Chart().encode(
        y=_names_axis(names),
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
        .facet(facet=alt.Facet("panel:N", title=None, sort=list(dict.fromkeys(v["panel"] for v in values))), columns=columns)
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


def confidence_charts(document: Mapping[str, Any], labels: Labels) -> list[Block]:
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
        .facet(facet=alt.Facet("panel:N", title=None, sort=list(dict.fromkeys(v["panel"] for v in values))), columns=columns)
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


def payoff_charts(document: Mapping[str, Any], labels: Labels) -> list[Block]:
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
        y=_names_axis(names),
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
    return f"arm {plain(first['arm_a'])}", f"arm {plain(first['arm_b'])}"


def _coverage_chart(group: Group, labels: Labels) -> Chart:
    arm_a, arm_b = _arm_names(group)
    values = [
        {"system": labels[row["system"]], "arm": arm, **_ends(row[name])}
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
        {"system": labels[row["system"]], "arm": arm_a if told["responses"] == row["arm_a"] else arm_b, **_ends(told["points"])}
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
            lambda field: alt.X(f"{field}:Q", title="points a question, arm B's payoff")
            .scale(zero=False, padding=8)
            .axis(tickCount=7),
            bars=False,
        ),
        caption=(
            "Responses to both arms, scored by arm B's payoff (+1 right, -4 wrong, 0 declined). Left of 0 the system "
            "would have earned more by declining every question. Lines: 95 % intervals over episodes."
        ),
    )


def forgetting_charts(document: Mapping[str, Any], labels: Labels) -> list[Block]:
    """Recall by age of the evidence, with the fitted exponential where there is one."""
    rows = [row for row in document["forgetting"] if any(bin_["value"] is not None for bin_ in row["bins"])]
    if not rows:
        return [Text("No question told how old its evidence was, so recall cannot be drawn by age.")]
    shown, beyond = groups(rows, limit=2)
    names = [group.title for group in beyond]
    blocks: list[Block] = []
    for group in shown:
        names += [f"{group.title}, L = {length:,}" for length in group.lengths[:-1]]
        blocks.append(_forgetting_chart(group, labels))
    return blocks + left_out(names)


def _forgetting_chart(group: Group, labels: Labels) -> Chart:
    import altair as alt

    length = group.lengths[-1]
    rows = [row for row in group.rows if row["length"] == length]
    unit = plain(rows[0]["unit"] or "")
    bins = {id(row): [bin_ for bin_ in row["bins"] if bin_["value"] is not None] for row in rows}
    ages = [bin_["age_mean"] for row in rows for bin_ in bins[id(row)]]
    least = min((age for age in ages if age > 0), default=1.0)
    far = max(ages) > 30 * least  # evidence of very different age: powers of ten apart
    values: list[dict[str, Any]] = []
    for row in rows:
        place = {"panel": labels[row["system"]], "split": split_name(row["split"])}
        own = bins[id(row)]
        values += [
            {**place, "kind": "bin", "age": max(b["age_mean"], least if far else 0), "n": b["n"], **_ends(b)} for b in own
        ]
        values += [{**place, "kind": "fit", **point} for point in _fitted(row["half_life"], own, least if far else None)]
    names, colours, dashes = split_scale(row["split"] for row in rows)
    order = labels.style(row["system"] for row in rows)[0]
    x = alt.X("age:Q", title=f"age ({unit})" if unit else "age")
    if far:
        x = x.scale(type="log", domain=[least / 1.3, max(ages) * 1.3], nice=False)
    else:
        x = x.scale(domain=[0, max(ages) * 1.05 or 1], nice=False)
    x = x.axis(format="~s", tickCount=4, grid=False, labelOverlap=True)
    base = alt.Chart().encode(x=x, color=alt.Color("split:N").scale(domain=names, range=colours))
    points = base.transform_filter("datum.kind == 'bin'")
    title, domain = "recall (%)", [0, 1]
    fitted = [(name, dash) for name, dash in zip(names, dashes, strict=True) if _has_fit(values, name)]
    lines = base.transform_filter("datum.kind == 'fit'").encode(y=percent_y("value", title, domain))
    columns = columns_for(len(order))
    width = panel_width(max(columns, 3))
    chart = (
        alt.layer(
            points.mark_rule(strokeWidth=1.5, opacity=0.5).encode(y=percent_y("low", title, domain), y2="high:Q"),
            points.mark_point(filled=True, size=38, opacity=1).encode(
                y=percent_y("value", title, domain),
                shape=alt.Shape("split:N").scale(domain=names, range=[_SPLIT_SHAPES[i % len(_SPLIT_SHAPES)] for i in range(len(names))]),
                tooltip=interval_tooltip(
                    alt.Tooltip("split:N"), alt.Tooltip("age:Q", format=",.3~f"), alt.Tooltip("n:Q"), value="recall"
                ),
            ),
            *dashed_lines(lines, "split", [name for name, _ in fitted], [dash for _, dash in fitted]),
            data=data(),
        )
        .properties(width=width, height=120)
        .facet(facet=alt.Facet("panel:N", title=None, sort=order), columns=columns)
    )
    return Chart(
        name=f"forgetting-{group.slug}-L{length}",
        title=f"Forgetting: recall by age, L = {length:,} ({group.title})",
        spec=finish(chart, values, panel=width),
        caption=(
            "Share of the candidates that did occur which the system recalls, by how long before the question they "
            f"last occurred{' (a logarithmic axis)' if far else ''}; upright lines are 95 % intervals over episodes. A "
            "curve is the fitted exponential; there is none where the evidence does not support a half-life (the table "
            "says why)."
        ),
    )


_SPLIT_SHAPES = ("circle", "square", "diamond", "cross", "triangle-up")


def _has_fit(values: Sequence[Mapping[str, Any]], split: str) -> bool:
    return any(value["kind"] == "fit" and value["split"] == split for value in values)


def _fitted(
    fit: Mapping[str, Any] | None, bins: Sequence[Mapping[str, Any]], least: float | None
) -> list[dict[str, float]]:
    """Points of a exp(-t / tau) + b over the ages that were observed; nothing when the fit was refused.

    Evenly spaced, or, given `least`, evenly spaced on a logarithmic axis that starts there.
    """
    if not fit or not bins or fit.get("half_life") is None:
        return []
    a, b, tau = fit.get("a"), fit.get("b"), fit.get("tau")
    if a is None or b is None or not tau:
        return []
    first, last = bins[0]["age_low"], bins[-1]["age_high"]
    shares = [i / (FIT_POINTS - 1) for i in range(FIT_POINTS)]
    if least is None:
        ages = [first + (last - first) * share for share in shares]
    else:
        first = max(first, least)
        ages = [first * (last / first) ** share for share in shares]
    return [{"age": age, "value": a * math.exp(-age / tau) + b} for age in ages]


def outcome_charts(document: Mapping[str, Any], labels: Labels) -> list[Block]:
    """What became of every question: one bar a system."""
    import altair as alt

    totals: dict[tuple[str, str, str], int] = {}
    for cell in sorted(document["cells"], key=lambda cell: cell["arm"] != "none"):
        panel = plain(cell["task"]) + (f", arm {plain(cell['arm'])}" if cell["arm"] != "none" else "")
        for outcome in OUTCOMES:
            key = (panel, cell["system"], outcome)
            totals[key] = totals.get(key, 0) + cell["outcomes"].get(outcome, 0)
    if not any(totals.values()):
        return [Text("No question was asked.")]
    panels = list(dict.fromkeys(panel for panel, _, _ in totals))[:6]
    values = [
        {"panel": panel, "system": labels[system], "outcome": outcome.replace("_", " "), "n": n, "order": OUTCOMES.index(outcome)}
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
            y=_names_axis(names),
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
