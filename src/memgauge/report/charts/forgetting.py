"""The chart of recall by age."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from memgauge.report.charts.grouping import Group, groups, left_out
from memgauge.report.charts.theme import (
    Labels,
    columns_for,
    dashed_lines,
    data,
    ends,
    finish,
    interval_tooltip,
    panel_width,
    percent_y,
    split_name,
    split_scale,
)
from memgauge.report.page import Block, Chart, Text
from memgauge.report.text import named

FIT_POINTS = 30


def forgetting_charts(document: Mapping[str, Any], labels: Labels) -> Sequence[Block]:
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
    unit = named(rows[0]["unit"] or "")
    bins = {id(row): [bin_ for bin_ in row["bins"] if bin_["value"] is not None] for row in rows}
    ages = [bin_["age_mean"] for row in rows for bin_ in bins[id(row)]]
    least = min((age for age in ages if age > 0), default=1.0)
    far = max(ages) > 30 * least  # evidence of very different age: powers of ten apart
    columns = columns_for(len({row["system"] for row in rows}))
    width = panel_width(max(columns, 3))
    titles = labels.within(width)
    values: list[dict[str, Any]] = []
    for row in rows:
        place = {"panel": titles[row["system"]], "split": split_name(row["split"])}
        own = bins[id(row)]
        values += [
            {**place, "kind": "bin", "age": max(b["age_mean"], least if far else 0), "n": b["n"], **ends(b)}
            for b in own
        ]
        values += [
            {**place, "kind": "fit", **point} for point in _fitted(row["half_life"], own, least if far else None)
        ]
    names, colours, dashes = split_scale(row["split"] for row in rows)
    order = titles.style(row["system"] for row in rows)[0]
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
    chart = (
        alt.layer(
            points.mark_rule(strokeWidth=1.5, opacity=0.5).encode(y=percent_y("low", title, domain), y2="high:Q"),
            points.mark_point(filled=True, size=38, opacity=1).encode(
                y=percent_y("value", title, domain),
                shape=alt.Shape("split:N").scale(
                    domain=names, range=[_SPLIT_SHAPES[i % len(_SPLIT_SHAPES)] for i in range(len(names))]
                ),
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
