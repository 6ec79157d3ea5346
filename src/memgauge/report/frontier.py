"""Which systems lead: accuracy of the answered questions against coverage, under budgets of FLOPs (ECCBench, Fig. 8).

At each coverage the frontier is the highest accuracy among the systems that a budget admits; a system leads where it
has that accuracy. A system costs the mean of write and read over a cell's responses, one query a stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgauge.report.charts.theme import (
    Labels,
    accuracy_domain,
    chance_line,
    data,
    finish,
    panel_width,
    percent_x,
    percent_y,
    split_name,
)
from memgauge.report.page import Chart

COVERAGES: NDArray[np.float64] = np.linspace(0.05, 1.0, 20)


def accuracy_at(points: Sequence[Mapping[str, Any]], coverage: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the accuracy of the answered at each coverage, linear between the curve's points.

    Below its least coverage a curve keeps its first accuracy; beyond its largest it has none (NaN).
    """
    order = sorted(points, key=lambda point: point["coverage"])
    x = np.array([point["coverage"] for point in order])
    y = np.array([point["accuracy"] for point in order])
    found: NDArray[np.float64] = np.interp(coverage, x, y)
    found[coverage > x[-1] + 1e-12] = np.nan
    return found


def frontiers(document: Mapping[str, Any], budgets: Sequence[int]) -> list[dict[str, Any]]:
    """Return one panel for each budget, length and split of a report document: the frontier and who leads it.

    A panel is `{task, negatives, arm, split, length, budget, coverage, accuracy, systems}`; a system is `{system,
    flops, accuracy, half, leads, curve}`: accuracy over all questions, accuracy at half coverage, and the share of the
    coverages at which it leads. Systems without confidences or FLOPs are left out, and so are those over the budget.
    """
    costs = {_key(cell): _cost(cell) for cell in document["cells"]}
    panels: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in document["confidence"]:
        curve = next((c["points"] for c in row["curves"] if c["flops"] is None), None)
        flops = costs.get(_key(row))
        if not curve or flops is None:
            continue
        values = accuracy_at(curve, COVERAGES)
        entry = {"system": row["system"], "flops": flops, "values": values}
        place = tuple(row.get(name) for name in ("task", "negatives", "arm", "subtype", "length", "split"))
        panels.setdefault(place, []).append(entry)
    found = []
    for place in sorted(panels, key=lambda key: [str(part) for part in key[:4]] + [f"{key[4] or 0:012d}", str(key[5])]):
        for budget in sorted(budgets, reverse=True):
            admitted = [entry for entry in panels[place] if entry["flops"] <= budget]
            found.append({**_panel(place, budget), **_frontier(admitted)})
    return found


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("system", "task", "negatives", "arm", "subtype", "length", "split"))


def _cost(cell: Mapping[str, Any]) -> float | None:
    """Return the mean FLOPs of a response: its write and its read."""
    value = cell["flops_total"]
    return None if value is None else float(value)


def _panel(place: tuple[Any, ...], budget: int) -> dict[str, Any]:
    task, negatives, arm, subtype, length, split = place
    where = {"task": task, "negatives": negatives, "arm": arm, "subtype": subtype}
    return {**where, "length": length, "split": split, "budget": budget, "coverage": COVERAGES.tolist()}


def _frontier(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not entries:
        return {"accuracy": [None] * len(COVERAGES), "systems": []}
    values = np.array([entry["values"] for entry in entries])
    best = np.where(np.isnan(values).all(0), np.nan, np.nanmax(np.nan_to_num(values, nan=-1.0), axis=0))
    half = int(np.argmin(abs(COVERAGES - 0.5)))
    systems = [
        {
            "system": entry["system"],
            "flops": entry["flops"],
            "accuracy": _number(row[-1]),
            "half": _number(row[half]),
            "leads": float((row >= best - 1e-12)[~np.isnan(best)].mean()),
            "curve": [_number(value) for value in row],
        }
        for entry, row in zip(entries, values, strict=True)
    ]
    systems.sort(key=lambda one: (-one["leads"], one["flops"]))
    return {"accuracy": [_number(value) for value in best], "systems": systems}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def frontier_charts(panels: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Draw one chart for each length and budget: every admitted system's curve, and the frontier in black."""
    groups: dict[tuple[str, str | None, int, int], list[Mapping[str, Any]]] = {}
    for panel in panels:
        if panel["systems"]:
            key = (panel["task"], panel["negatives"], panel["length"], panel["budget"])
            groups.setdefault(key, []).append(panel)
    return [_chart(*key, panels=group) for key, group in groups.items()]


def _chart(task: str, negatives: str | None, length: int, budget: int, panels: Sequence[Mapping[str, Any]]) -> Chart:
    import altair as alt

    labels = Labels([one["system"] for panel in panels for one in panel["systems"]])
    values = []
    for panel in panels:
        curves = [(labels[one["system"]], one["curve"]) for one in panel["systems"]]
        for name, curve in [*curves, ("frontier", panel["accuracy"])]:
            values += [
                {"panel": split_name(panel["split"]), "system": name, "coverage": x, "value": y}
                for x, y in zip(panel["coverage"], curve, strict=True)
                if y is not None
            ]
    names, colours, dashes, _ = labels.style(labels.systems)
    domain = accuracy_domain(values)
    width = panel_width(2)
    line = (
        alt.Chart()
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=percent_x("coverage", "coverage (%)", [0, 1]),
            y=percent_y("value", "accuracy of the answered (%)", domain),
            color=alt.Color("system:N", legend=alt.Legend(symbolType="stroke", symbolSize=500)).scale(
                domain=[*names, "frontier"], range=[*colours, "#000000"]
            ),
            strokeDash=alt.StrokeDash("system:N").scale(domain=[*names, "frontier"], range=[*dashes, [1, 3]]),
            tooltip=[
                alt.Tooltip("system:N"),
                alt.Tooltip("coverage:Q", format=".0%"),
                alt.Tooltip("value:Q", format=".1%"),
            ],
        )
    )
    chart = (
        alt.layer(*chance_line(task.startswith("ecc-"), domain), line, data=data())
        .properties(width=width, height=230)
        .facet(facet=alt.Facet("panel:N", title=None), columns=2)
    )
    shown = f"{budget // 1_000_000:,}"
    return Chart(
        name=f"frontier-{task}-{negatives}-L{length}-{budget // 1_000_000}",
        title=f"Accuracy against coverage, L = {length:,}, at most {shown} MFLOPs",
        spec=finish(chart, values, panel=width),
        caption="Accuracy of the answered questions when only the most confident are answered; dotted: the frontier.",
    )
