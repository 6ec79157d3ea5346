"""Charts of the memory half-life: observations with the fitted curve and its interval, and models side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memgauge.metrics.half_life import HalfLifeResult
from memgauge.metrics.half_life_profile import DecayProblem
from memgauge.report.charts.theme import PALETTE, Labels, data, finish, names_axis, thin
from memgauge.report.page import Chart

CURVE_POINTS = 80
BAND_CURVES = 40
MOST_POINTS = 2000
WIDTH = 820


def pairs_chart(
    result: HalfLifeResult, gaps: ArrayLike, scores: ArrayLike, *, floor: float | None = None, name: str = "half-life"
) -> Chart:
    """Return the chart of observations (gap, fidelity), the fitted curve and the band of curves within the interval."""
    import altair as alt

    x, y = np.asarray(gaps, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    shown = thin(len(x), MOST_POINTS)
    rows: list[dict[str, Any]] = [{"kind": "pair", "gap": float(x[i]), "value": float(y[i])} for i in shown]
    rows += _curve(result, x) + _band(result, x, y)
    if floor is not None:
        rows.append({"kind": "floor", "value": floor})
    fit = result.fit
    if fit is not None and fit.half_life is not None and fit.half_life <= x.max():
        rows.append({"kind": "half", "gap": fit.half_life})
    unit = "s" if result.unit == "seconds" else result.unit
    horizontal = alt.X("gap:Q", title=f"gap ({unit})").scale(domain=[0, float(x.max()) * 1.04], nice=False)
    vertical = alt.Y("value:Q", title="fidelity" if result.unit == "seconds" else "score").scale(domain=_domain(rows))
    base = alt.Chart().encode(x=horizontal)

    def only(kind: str) -> Any:
        return base.transform_filter(f"datum.kind == '{kind}'")

    colour = PALETTE[0] if result.status == "ok" else PALETTE[-1]
    chart = alt.layer(
        only("band")
        .mark_area(color=colour, opacity=0.15)
        .encode(y=alt.Y("low:Q").scale(domain=_domain(rows)), y2="high:Q"),
        alt.Chart()
        .transform_filter("datum.kind == 'floor'")
        .mark_rule(strokeDash=[2, 3], color="#8a929c")
        .encode(y=vertical),
        only("half").mark_rule(strokeDash=[6, 3], color=colour),
        only("curve")
        .mark_line(color=colour, strokeWidth=2, strokeDash=[1, 0] if result.status == "ok" else [4, 3])
        .encode(y=vertical),
        only("pair")
        .mark_point(filled=True, color=PALETTE[1], size=45, opacity=0.9)
        .encode(
            y=vertical,
            tooltip=[alt.Tooltip("gap:Q", format=",.4~f"), alt.Tooltip("value:Q", title="fidelity", format=".4f")],
        ),
        data=data(),
    ).properties(width=WIDTH, height=300)
    return Chart(name, finish(chart, rows), _caption(result, floor))


def _caption(result: HalfLifeResult, floor: float | None) -> str:
    parts = ["Each point is an observation."]
    if result.fit is None or result.fit.tau is None:
        parts.append("No decaying curve fits better than a constant.")
    else:
        line = "line" if result.status == "ok" else "broken line (refused by the gate)"
        parts.append(
            f"The {line} is the least-squares curve; the band holds the curves of all decay times in the interval."
        )
        parts.append("The upright broken line stands at the half-life, where it lies among the gaps.")
    if floor is not None:
        parts.append("The dotted line is what unrelated views of this video score.")
    return " ".join(parts)


def _domain(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    values = [row[name] for row in rows for name in ("value", "low", "high") if row.get(name) is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = 0.05 * max(high - low, 0.05)
    return [max(low - room, 0.0) if low >= 0 else low - room, min(high + room, 1.0) if high <= 1 else high + room]


def _curve(result: HalfLifeResult, gaps: NDArray[np.float64]) -> list[dict[str, Any]]:
    fit = result.fit
    if fit is None or (fit.tau is not None and fit.a is None):
        return []
    ages = np.linspace(float(gaps.min()), float(gaps.max()), CURVE_POINTS)
    return [
        {"kind": "curve", "gap": float(age), "value": float(v)} for age, v in zip(ages, fit.value(ages), strict=True)
    ]


def _band(result: HalfLifeResult, gaps: NDArray[np.float64], scores: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the envelope of the best curves for the decay times in the interval, open ends up to the grid's."""
    fit = result.fit
    if fit is None or fit.tau is None or result.method != "profile":
        return []
    problem = DecayProblem(gaps, scores, result.bounds)
    grid = problem.grid()
    ends = [end / np.log(2) if end is not None else grid[-place] for place, end in enumerate(fit.interval)]
    lines = problem.profile(np.geomspace(max(ends[0], grid[0] * 1e-3), ends[1], BAND_CURVES))
    ages = np.linspace(float(gaps.min()), float(gaps.max()), CURVE_POINTS)
    curves = lines.amplitude[:, None] * np.exp(-(ages - gaps.min()) / lines.tau[:, None]) + lines.floor[:, None]
    return [
        {"kind": "band", "gap": float(age), "low": float(low), "high": float(high)}
        for age, low, high in zip(ages, curves.min(axis=0), curves.max(axis=0), strict=True)
    ]


def bins_chart(result: HalfLifeResult, name: str) -> Chart:
    """Return the chart of age bins with their intervals and the curve fitted to the rows."""
    import altair as alt

    bins = result.extra["bins"]
    rows: list[dict[str, Any]] = [
        {"kind": "bin", "age": b["age_mean"], "value": b["mean"], "low": b["low"], "high": b["high"], "rows": b["rows"]}
        for b in bins
    ]
    first, last = bins[0]["age_low"], bins[-1]["age_high"]
    rows += [{**row, "age": row["gap"]} for row in _curve(result, np.array([first, last]))]
    base = alt.Chart().encode(x=alt.X("age:Q", title=f"age ({result.unit})").scale(domain=[0, last * 1.04], nice=False))
    domain = _domain(rows)
    colour = PALETTE[0] if result.status == "ok" else PALETTE[-1]
    points = base.transform_filter("datum.kind == 'bin'")
    chart = alt.layer(
        points.mark_rule(color=PALETTE[1], opacity=0.6).encode(y=alt.Y("low:Q").scale(domain=domain), y2="high:Q"),
        points.mark_point(filled=True, color=PALETTE[1], size=45, opacity=1).encode(
            y=alt.Y("value:Q", title="score").scale(domain=domain),
            tooltip=["age:Q", "rows:Q", alt.Tooltip("value:Q", title="score", format=".4f")],
        ),
        base.transform_filter("datum.kind == 'curve'")
        .mark_line(color=colour, strokeWidth=2, strokeDash=[1, 0] if result.status == "ok" else [4, 3])
        .encode(y=alt.Y("value:Q", title="score").scale(domain=domain)),
        data=data(),
    ).properties(width=WIDTH, height=300)
    caption = (
        "Points are age bins with 95 % intervals over episodes; the line is the least-squares curve of the rows"
        f"{'' if result.status == 'ok' else ', broken because the gate refuses it'}."
    )
    return Chart(name, finish(chart, rows), caption)


def models_chart(models: Sequence[Mapping[str, Any]], metric: str, title: str) -> Chart | None:
    """Return the means of a metric with their intervals, one line a model; None when no model has one."""
    import altair as alt

    labels = Labels([model["model"] for model in models])
    rows = [
        {"system": labels[model["model"]], **{key: model[metric][key] for key in ("value", "low", "high", "n")}}
        for model in models
        if model[metric]["value"] is not None
    ]
    if not rows:
        return None
    base = alt.Chart(data()).encode(y=names_axis([row["system"] for row in rows]))
    across = alt.X("value:Q", title=title).scale(domain=[0, 1])
    chart = alt.layer(
        base.mark_rule(color=PALETTE[0], strokeWidth=2).encode(
            x=alt.X("low:Q", title=title).scale(domain=[0, 1]), x2="high:Q"
        ),
        base.mark_point(filled=True, color=PALETTE[0], size=70, opacity=1).encode(
            x=across,
            tooltip=[
                "system:N",
                alt.Tooltip("value:Q", format=".3f"),
                alt.Tooltip("low:Q", format=".3f"),
                alt.Tooltip("high:Q", format=".3f"),
                "n:Q",
            ],
        ),
    ).properties(width=640, height=max(24 * len(rows), 40))
    return Chart(f"models-{metric}", finish(chart, rows), f"Mean {title} with its 95 % interval over videos.")
