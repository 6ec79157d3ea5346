"""Charts of how much is recalled: accuracy against FLOPs, against state bits, and against length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.grouping import Group, Row, groups, left_out
from memgauge.report.charts.theme import (
    Labels,
    accuracy_domain,
    chance_line,
    columns_for,
    dashed_lines,
    data,
    finish,
    interval_tooltip,
    panel_width,
    percent_y,
    split_name,
    split_scale,
    thin,
)
from memgauge.report.page import Block, Chart, Text
from memgauge.report.text import percent

CURVE_ROWS = 1_200
LENGTHS_DRAWN = 3
BOUNDS = ("best known scheme", "converse bound")
BOUND_STEPS = 40
BOUNDED_TASKS = ("ecc-text", "ecc-tokens")
"""The bounds are of streams of 16 symbols; a frame of video holds other things, and more of them."""


def flops_curves(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
    """Accuracy against FLOPs, one panel a system, one chart a length (ECCBench, Fig. 3)."""
    rows = [curve for curve in document["curves"] if curve["points"]]
    if not rows:
        return [Text("No system counted its arithmetic, so there is no accuracy-against-FLOPs curve to draw.")]
    shown, beyond = groups(rows, limit=2)
    blocks: list[Block] = []
    names = [group.title for group in beyond]
    for number, group in enumerate(shown):
        # The first group is the paper's protocol; of the others the longest streams say most.
        lengths = [group.lengths[i] for i in thin(len(group.lengths), LENGTHS_DRAWN if number == 0 else 1)]
        names += [f"{group.title}, L = {length:,}" for length in group.lengths if length not in lengths]
        blocks += [_flops_curve(group, length, labels) for length in lengths]
    return blocks + left_out(names)


def _flops_curve(group: Group, length: int, labels: Labels) -> Chart:
    import altair as alt

    curves = [row for row in group.rows if row["length"] == length]
    last = max(point["flops"] for curve in curves for point in curve["points"])
    finals: dict[str, list[str]] = {}
    for curve in curves:
        end = percent(curve["points"][-1]["value"], 0)
        finals.setdefault(curve["system"], []).append(f"{split_name(curve['split']).split()[0]} {end}")
    columns = columns_for(len(finals))
    width = panel_width(max(columns, 3))
    titles = labels.within(width)
    panels = {system: f"{titles[system]}\n{', '.join(ends)} %" for system, ends in finals.items()}
    values = [
        {
            "panel": panels[curve["system"]],
            "split": split_name(curve["split"]),
            "order": order,
            "flops": max(1, point["flops"]),
            **{name: point[name] for name in ("value", "low", "high")},
        }
        for curve in curves
        for order, point in enumerate(_steps(curve["points"], last, max(2, CURVE_ROWS // len(curves) - 2)))
    ]
    names, colours, dashes = split_scale(curve["split"] for curve in curves)
    first = min(value["flops"] for value in values)
    x = alt.X("flops:Q", title="FLOPs (write + read)").scale(type="log", domain=[first / 1.5, max(last, 1) * 1.5])
    x = x.axis(format="~s", tickCount=4, labelOverlap=True, grid=False)
    colour = alt.Color("split:N", legend=alt.Legend(symbolType="stroke", symbolSize=500))
    base = alt.Chart().encode(x=x, color=colour.scale(domain=names, range=colours), order="order:Q")
    title = "correct (%)"
    band = base.mark_area(opacity=0.18, interpolate="step-after").encode(y=percent_y("low", title, [0, 1]), y2="high:Q")
    line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
        y=percent_y("value", title, [0, 1]),
        strokeDash=alt.StrokeDash("split:N").scale(domain=names, range=dashes),
        tooltip=interval_tooltip(
            alt.Tooltip("split:N"), alt.Tooltip("flops:Q", title="FLOPs", format=".3s"), value="correct"
        ),
    )
    header = alt.Header(labelExpr="split(datum.value, '\\n')", labelLineHeight=14)
    order = [panels[system] for system in labels.systems if system in panels]
    chart = (
        alt.layer(*chance_line(group.two_sided, [0, 1]), band, line, data=data())
        .properties(width=width, height=130)
        .facet(facet=alt.Facet("panel:N", title=None, sort=order, header=header), columns=columns)
    )
    caption = (
        "Share of all questions answered correctly as responses are spent cheapest first, over the whole cell; bands "
        "are 95 % intervals over episodes. The final accuracies stand under each name. Compression is the gap by which "
        "the low-entropy line lies above the max-entropy line."
    )
    if any(point["flops"] == 0 for curve in curves for point in curve["points"]):
        caption += " Arithmetic of 0 is drawn at 1 FLOP."
    return Chart(
        name=f"accuracy-flops-{group.slug}-L{length}",
        title=f"Accuracy against FLOPs, L = {length:,} ({group.title})",
        spec=finish(chart, values, panel=width),
        caption=caption,
    )


def _steps(points: list[Row], last: int, limit: int) -> list[Row]:
    """Return the corners of a step curve: up from zero at its first response, level from its last one on."""
    start = {**points[0], "value": 0.0, "low": 0.0, "high": 0.0}
    return [start, *(points[i] for i in thin(len(points), limit)), {**points[-1], "flops": last}]


def state_charts(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
    """Accuracy against the size of the state, with what is known of any state of that size."""
    rows = [
        cell for cell in document["cells"] if cell["state_bits"] is not None and cell["accuracy"]["value"] is not None
    ]
    if not rows:
        return [Text("No system told the size of its state, so accuracy cannot be drawn against bits.")]
    shown, beyond = groups(rows, limit=2)
    return [_state_chart(group, labels) for group in shown] + left_out([group.title for group in beyond])


def _state_chart(group: Group, labels: Labels) -> Chart:
    import altair as alt

    lengths = [group.lengths[i] for i in thin(len(group.lengths), 4)]
    cells = [cell for cell in group.rows if cell["length"] in lengths]
    floor = max(1.0, min((cell["state_bits"] for cell in cells if cell["state_bits"] > 0), default=4) / 4)
    top = max([4 * length for length in lengths] + [cell["state_bits"] for cell in cells])
    values: list[dict[str, Any]] = [
        {
            "panel": _state_panel(cell["length"], cell["split"]),
            "kind": "system",
            "system": labels[cell["system"]],
            "bits": max(cell["state_bits"], floor),
            "state": cell["state_bits"],
            **{name: cell["accuracy"][name] for name in ("value", "low", "high")},
        }
        for cell in cells
    ]
    splits = sorted({cell["split"] for cell in cells}, key=lambda split: (split != "max", split))
    drawn = {value["panel"] for value in values}
    order = [panel for split in splits for length in lengths if (panel := _state_panel(length, split)) in drawn]
    domain = accuracy_domain(values)
    bounded = group.task in BOUNDED_TASKS and group.negatives == "uniform" and "max" in splits
    if bounded:
        values += [row for length in lengths for row in _bounds(length, floor, top)]
    names, colours, _, shapes = labels.style(cell["system"] for cell in cells)
    x = alt.X("bits:Q", title="state (bits)").scale(type="log", domain=[floor / 1.3, top * 1.3], nice=False)
    x = x.axis(format="~s", tickCount=5, labelOverlap=True, grid=False)
    y_title = "accuracy (%)"
    colour = alt.Color("system:N").scale(domain=names, range=colours)
    systems = alt.Chart().transform_filter("datum.kind == 'system'").encode(x=x, color=colour)
    rule = systems.mark_rule(strokeWidth=1.5, opacity=0.55).encode(y=percent_y("low", y_title, domain), y2="high:Q")
    point = systems.mark_point(filled=True, size=70, opacity=1).encode(
        y=percent_y("value", y_title, domain),
        shape=alt.Shape("system:N").scale(domain=names, range=shapes),
        tooltip=interval_tooltip(
            alt.Tooltip("system:N"), alt.Tooltip("state:Q", title="state (bits)", format=",.0f"), value="accuracy"
        ),
    )
    lines = []
    if bounded:
        legend = alt.Legend(symbolType="stroke", symbolSize=500, orient="bottom")
        dash = alt.StrokeDash("kind:N", legend=legend)
        lines = [
            alt.Chart()
            .transform_filter("datum.kind != 'system'")
            .mark_line(color="#3b4148", strokeWidth=1.5, clip=True)
            .encode(
                x=x,
                y=percent_y("value", y_title, domain),
                strokeDash=dash.scale(domain=list(BOUNDS), range=[[1, 0], [5, 4]]),
                tooltip=[alt.Tooltip("kind:N", title="line"), alt.Tooltip("scheme:N")],
            )
        ]
    columns = 3
    width = panel_width(columns)
    chart = (
        alt.layer(*chance_line(group.two_sided, domain), *lines, rule, point, data=data())
        .properties(width=width, height=190)
        .facet(facet=alt.Facet("panel:N", title=None, sort=order), columns=min(columns, len(lengths)))
    )
    caption = "Accuracy against the bits of state at the time of the question, with 95 % intervals over episodes."
    if any(cell["state_bits"] == 0 for cell in cells):
        caption += " A state of 0 bits is drawn at the left edge."
    if bounded:
        caption += (
            " Solid line: the best known scheme of that size, in closed form; dashed: the converse, which no state of "
            "that size can pass. Both are averages over max-entropy streams with uniform negatives and are drawn only "
            "there. A system above the dashed line is there by chance, or knows more than its state holds (an oracle)."
        )
    return Chart(
        name=f"accuracy-state-{group.slug}",
        title=f"Accuracy against state size ({group.title})",
        spec=finish(chart, values, panel=width),
        caption=caption,
    )


def _state_panel(length: int, split: str) -> str:
    return f"L = {length:,}, {split_name(split)}"


def _bounds(length: int, low: float, high: float) -> list[dict[str, Any]]:
    """The two lines of the panel of one length; nothing for a length that theory does not cover."""
    import numpy as np

    from memgauge.streams.theory import MIN_LENGTH, best_known_scheme, converse_curve

    if length < MIN_LENGTH:
        return []
    full = 4 * length  # the whole stream: both lines are at 1 from here on
    low = min(low, full)
    sizes = sorted({round(low * (full / low) ** (index / BOUND_STEPS)) for index in range(BOUND_STEPS + 1)})
    sizes.append(max(full, round(high)))
    rows = []
    for bits, limit in zip(sizes, converse_curve(length, np.array(sizes)).tolist(), strict=True):
        name, accuracy = best_known_scheme(length, bits)
        common = {"panel": _state_panel(length, "max"), "bits": max(bits, 1)}
        rows.append({**common, "kind": BOUNDS[0], "scheme": name, "value": accuracy})
        rows.append({**common, "kind": BOUNDS[1], "scheme": "any state", "value": limit})
    return rows


def capacity_charts(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
    """Accuracy on incompressible input against length, without a limit on FLOPs (ECCBench, Sec. 3)."""
    rows: list[Row] = []
    for row in document["capacity"]:
        last = row["budgets"][-1] if row["budgets"] else None
        if last is not None and last["flops"] is None and last["value"] is not None:
            rows.append({**row, **{name: last[name] for name in ("value", "low", "high")}})
    shown, beyond = groups(rows, limit=4)
    long = [group for group in shown if len(group.lengths) > 1]
    if not long:
        return [Text("Capacity against length needs incompressible streams of at least two lengths.")]
    return [_capacity_chart(long, labels), *left_out([group.title for group in beyond])]


def _capacity_chart(shown: list[Group], labels: Labels) -> Chart:
    import altair as alt

    values = [
        {
            "panel": group.title,
            "system": labels[row["system"]],
            **{name: row[name] for name in ("length", "value", "low", "high")},
        }
        for group in shown
        for row in group.rows
    ]
    names, colours, dashes, shapes = labels.style(row["system"] for group in shown for row in group.rows)
    lengths = sorted({value["length"] for value in values})
    x = alt.X("length:Q", title="stream length L").scale(
        type="log", base=2, domain=[lengths[0] / 1.15, lengths[-1] * 1.15], nice=False
    )
    x = x.axis(values=lengths, format="d", labelOverlap=True, grid=False)
    domain, title = accuracy_domain(values), "accuracy, max entropy (%)"
    base = alt.Chart().encode(x=x, color=alt.Color("system:N").scale(domain=names, range=colours))
    y = percent_y("value", title, domain)
    columns = min(2, len(shown))
    width = panel_width(2)
    chart = (
        alt.layer(
            *chance_line(all(group.two_sided for group in shown), domain),
            base.mark_rule(strokeWidth=1.5, opacity=0.5).encode(y=percent_y("low", title, domain), y2="high:Q"),
            *dashed_lines(base.encode(y=y), "system", names, dashes),
            base.mark_point(filled=True, size=60, opacity=1).encode(
                y=y,
                shape=alt.Shape("system:N").scale(domain=names, range=shapes),
                tooltip=interval_tooltip(
                    alt.Tooltip("system:N"), alt.Tooltip("length:Q", title="L", format=","), value="accuracy"
                ),
            ),
            data=data(),
        )
        .properties(width=width, height=250)
        .facet(facet=alt.Facet("panel:N", title=None, sort=[group.title for group in shown]), columns=columns)
    )
    return Chart(
        name="capacity-length",
        title="Capacity against length",
        spec=finish(chart, values, panel=width),
        caption=(
            "Accuracy on incompressible (max-entropy) streams with no limit on FLOPs, with 95 % intervals over "
            "episodes. A memory of fixed size falls towards chance as streams grow."
        ),
    )
