"""Charts of the task `memlens`: accuracy by length, arms, recall by age, risk against coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.theme import (
    NAMES_ROOM,
    PALETTE,
    ROW_HEIGHT,
    Labels,
    columns_for,
    dashed_lines,
    data,
    ends,
    finish,
    interval_tooltip,
    names_axis,
    panel_width,
    percent_x,
    percent_y,
    thin,
)
from memgauge.report.memlens.scores import ABILITY_NAMES, arms_of, brief
from memgauge.report.page import Block, Chart, Text
from memgauge.report.text import named

MOST_SYSTEMS = 40
POINTS = 2_400
Row = Mapping[str, Any]


def ability_charts(document: Row, labels: Labels) -> Sequence[Block]:
    """Accuracy against length, one panel an ability (MEMLENS, Fig. 2 and Fig. 4a)."""
    import altair as alt

    memlens = document.get("memlens")
    rows = [
        row
        for row in (memlens or {"scores": []})["scores"]
        if row["grouping"] in ("all", "ability") and row["accuracy"]["value"] is not None
    ]
    if not rows:
        return [Text("No question about a conversation was scored, so accuracy cannot be drawn by length.")]
    arm = arms_of(rows)[0]
    rows, note = _few([row for row in rows if row["arm"] == arm])
    order = [f"{key}: {text}" for key, text in ABILITY_NAMES.items()]
    lengths = sorted({row["length"] for row in rows})
    values = [
        {
            "panel": _panel(row["group"]),
            "system": labels[row["system"]],
            "length": brief(row["length"]),
            "n": row["scored"],
            **ends(row["accuracy"]),
        }
        for row in rows
    ]
    present = {value["panel"] for value in values}
    panels = [panel for panel in ("all questions", *order) if panel in present]
    panels += sorted(present - set(panels))
    names, colours, dashes, shapes = labels.style(row["system"] for row in rows)
    columns = min(3, len(panels))
    width = panel_width(max(columns, 2))
    x = alt.X("length:O", title="length (tokens)", sort=[brief(length) for length in lengths]).axis(labelAngle=0)
    base = alt.Chart().encode(x=x, color=alt.Color("system:N").scale(domain=names, range=colours))
    title = "accuracy (%)"
    chart = (
        alt.layer(
            base.mark_rule(strokeWidth=1.5, opacity=0.45).encode(y=percent_y("low", title, [0, 1]), y2="high:Q"),
            *dashed_lines(base.encode(y=percent_y("value", title, [0, 1])), "system", names, dashes),
            base.mark_point(filled=True, size=46, opacity=1).encode(
                y=percent_y("value", title, [0, 1]),
                shape=alt.Shape("system:N").scale(domain=names, range=shapes),
                tooltip=interval_tooltip(
                    alt.Tooltip("system:N"),
                    alt.Tooltip("length:N"),
                    alt.Tooltip("n:Q", title="questions", format=","),
                    value="accuracy",
                ),
            ),
            data=data(),
        )
        .properties(width=width, height=150)
        .facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=columns)
    )
    chart_ = Chart(
        name="memlens-abilities",
        title=f"Accuracy by length of the history{_under(arm)}",
        spec=finish(chart, values, panel=width),
        caption=(
            "Share of the scored questions that are right. Declining is right for answer refusal and wrong elsewhere. "
            "Upright lines are 95 % intervals over questions."
        ),
    )
    return [chart_, *note]


def arm_charts(document: Row, labels: Labels) -> Sequence[Block]:
    """Accuracy of every arm on answerable questions, at the longest length that each system has it at."""
    import altair as alt

    memlens = document.get("memlens")
    rows = [] if memlens is None else _answerable(memlens["scores"])
    arms = arms_of(rows)
    if len(arms) < 2:
        return [Text("Only one arm was run, so there is no ablation to draw.")]
    rows, note = _few(rows)
    last = {(row["system"], row["arm"]): row for row in sorted(rows, key=lambda row: row["length"])}
    values = [
        {
            "system": labels[row["system"]],
            "arm": named(row["arm"]),
            "length": brief(row["length"]),
            **ends(row["accuracy"]),
        }
        for row in last.values()
    ]
    names = labels.style(system for system, _ in last)[0]
    shown = [named(arm) for arm in arms]
    width = panel_width(1, NAMES_ROOM)
    base = alt.Chart().encode(
        y=names_axis(names),
        yOffset=alt.YOffset("arm:N", sort=shown),
        color=alt.Color("arm:N").scale(domain=shown, range=[PALETTE[i % len(PALETTE)] for i in range(len(shown))]),
    )
    chart = alt.layer(
        base.mark_bar(height={"band": 0.8}).encode(
            x=percent_x("value", "accuracy on answerable questions (%)", [0, 1]),
            tooltip=interval_tooltip(
                alt.Tooltip("system:N"), alt.Tooltip("arm:N"), alt.Tooltip("length:N"), value="accuracy"
            ),
        ),
        base.mark_rule(strokeWidth=1.5).encode(
            x=percent_x("low", "accuracy on answerable questions (%)", [0, 1]), x2="high:Q", color=alt.value("#1b1f24")
        ),
        data=data(),
    ).properties(width=width, height=max(ROW_HEIGHT, 14 * len(shown)) * len(names))
    chart_ = Chart(
        name="memlens-arms",
        title="What is shown, and what is answered",
        spec=finish(chart, values, panel=width, axis=NAMES_ROOM),
        caption=(
            "Each arm at the longest history it was run with. Bars of one system need not be of the same questions: "
            "the table pairs them. Lines: 95 % intervals."
        ),
    )
    return [chart_, *note]


def age_charts(document: Row, labels: Labels) -> Sequence[Block]:
    """Recall by age of the oldest needed evidence, one panel a system."""
    import altair as alt

    memlens = document.get("memlens")
    rows = [] if memlens is None else [row for row in memlens["ages"] if row["bins"]]
    if not rows:
        return [Text("No question told how old its evidence was, so recall cannot be drawn by age.")]
    arm = arms_of(rows)[0]
    rows, note = _few([row for row in rows if row["arm"] == arm])
    lengths = sorted({row["length"] for row in rows})
    names = [brief(length) for length in lengths]
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(names))]
    columns = columns_for(len({row["system"] for row in rows}))
    width = panel_width(max(columns, 3))
    titles = labels.within(width)
    blocks: list[Block] = []
    for unit in ("sessions", "days"):
        values = [
            {
                "panel": titles[row["system"]],
                "length": brief(row["length"]),
                "age": part["age_mean"],
                "n": part["n"],
                **ends(part),
            }
            for row in rows
            if row["unit"] == unit
            for part in row["bins"]
            if part["value"] is not None
        ]
        if not values:
            continue
        base = alt.Chart().encode(
            x=alt.X("age:Q", title=f"age of the oldest needed evidence ({unit})").axis(tickCount=5, grid=False),
            color=alt.Color("length:N").scale(domain=names, range=colours),
        )
        title = "recall (%)"
        chart = (
            alt.layer(
                base.mark_rule(strokeWidth=1.5, opacity=0.45).encode(y=percent_y("low", title, [0, 1]), y2="high:Q"),
                base.mark_line(strokeWidth=1.5).encode(y=percent_y("value", title, [0, 1])),
                base.mark_point(filled=True, size=38, opacity=1).encode(
                    y=percent_y("value", title, [0, 1]),
                    tooltip=interval_tooltip(
                        alt.Tooltip("length:N"),
                        alt.Tooltip("age:Q", format=",.3~f"),
                        alt.Tooltip("n:Q", title="questions"),
                        value="recall",
                    ),
                ),
                data=data(),
            )
            .properties(width=width, height=130)
            .facet(
                facet=alt.Facet("panel:N", title=None, sort=titles.style(row["system"] for row in rows)[0]),
                columns=columns,
            )
        )
        blocks.append(
            Chart(
                name=f"memlens-age-{unit}",
                title=f"Recall by age of the evidence, in {unit}{_under(arm)}",
                spec=finish(chart, values, panel=width),
                caption=(
                    "Share of the answerable questions that are right, by the age of the oldest evidence they need; "
                    "bins hold about equally many questions. Upright lines are 95 % intervals."
                ),
            )
        )
    return [*blocks, *note]


def risk_charts(document: Row, labels: Labels) -> Sequence[Block]:
    """Error rate of the surest answers against how many are given, at the longest length."""
    import altair as alt

    memlens = document.get("memlens")
    rows = [] if memlens is None else [row for row in memlens["confidence"] if row["points"]]
    if not rows:
        return [Text("No system gave a confidence, so there is no risk-coverage curve to draw.")]
    arm = arms_of(rows)[0]
    rows, note = _few([row for row in rows if row["arm"] == arm])
    lengths = sorted({row["length"] for row in rows})
    shown = [lengths[index] for index in thin(len(lengths), 4)]
    rows = [row for row in rows if row["length"] in shown]
    values = [
        {
            "panel": f"{brief(row['length'])} tokens",
            "system": labels[row["system"]],
            "coverage": point["coverage"],
            "value": 1 - point["accuracy"],
            "low": None if point["high"] is None else 1 - point["high"],
            "high": None if point["low"] is None else 1 - point["low"],
        }
        for row in sorted(rows, key=lambda row: row["length"])
        for point in (row["points"][i] for i in thin(len(row["points"]), max(2, min(50, POINTS // len(rows)))))
    ]
    names, colours, dashes, _ = labels.style(row["system"] for row in rows)
    base = alt.Chart().encode(
        x=percent_x("coverage", "coverage (%)", [0, 1]),
        y=percent_y("value", "wrong among the answered (%)", [0, 1]),
        color=alt.Color("system:N", legend=alt.Legend(symbolType="stroke", symbolSize=500)).scale(
            domain=names, range=colours
        ),
    )
    width = panel_width(2)
    chart = (
        alt.layer(
            base.mark_line(strokeWidth=2, clip=True).encode(
                strokeDash=alt.StrokeDash("system:N").scale(domain=names, range=dashes)
            ),
            base.mark_point(filled=True, size=22, opacity=0.9).encode(
                tooltip=interval_tooltip(alt.Tooltip("system:N"), alt.Tooltip("coverage:Q", format=".1%"), value="risk")
            ),
            data=data(),
        )
        .properties(width=width, height=200)
        .facet(facet=alt.Facet("panel:N", title=None, sort=[f"{brief(length)} tokens" for length in shown]), columns=2)
    )
    chart_ = Chart(
        name="memlens-risk",
        title=f"Risk against coverage{_under(arm)}",
        spec=finish(chart, values, panel=width),
        caption=(
            "Only the answers of highest confidence are given: how many that is, and how many of those are wrong. A "
            "system that knows what it does not know rises to the right. Intervals are in the tooltips."
        ),
    )
    return [chart_, *note]


def _answerable(scores: Sequence[Row]) -> list[Row]:
    """Return one line a setting: its answerable questions, or all where none is unanswerable."""
    best: dict[tuple[str, str, int], Row] = {}
    for row in scores:
        if row["grouping"] in ("all", "answerable"):
            best[row["system"], row["arm"], row["length"]] = row
    return [row for row in best.values() if row["accuracy"]["value"] is not None]


def _few(rows: Sequence[Row]) -> tuple[list[Row], list[Text]]:
    """Return the rows of at most 40 systems, and say what is left out."""
    systems = list(dict.fromkeys(row["system"] for row in rows))
    if len(systems) <= MOST_SYSTEMS:
        return list(rows), []
    kept = set(systems[:MOST_SYSTEMS])
    text = Text(f"Drawn are the first {MOST_SYSTEMS} of {len(systems):,} systems; the tables hold all of them.")
    return [row for row in rows if row["system"] in kept], [text]


def _panel(group: str) -> str:
    if group == "all":
        return "all questions"
    return f"{group}: {ABILITY_NAMES[group]}" if group in ABILITY_NAMES else named(group)


def _under(arm: str) -> str:
    return "" if arm == "none" else f", arm {named(arm)}"
