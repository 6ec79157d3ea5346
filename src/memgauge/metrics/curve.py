"""Accuracy against FLOPs, as the paper draws it (ECCBench, 4.2 and Figure 5).

The responses of a cell are spent cheapest first; the curve is the running fraction of the WHOLE cell answered
correctly, so a wrong answer costs compute without raising the curve, and the last value is the cell's accuracy. A
response costs its write and its read: one query per stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memgauge.metrics.cells import Cell, Ints
from memgauge.metrics.document import Curve, CurvePoint
from memgauge.metrics.inference import Floats, Intervals, Resampler, ratio_intervals, total_by

POINTS = 100
BAND_REDRAWS = 1000
"""Bands have up to 100 intervals a cell; their quantiles need fewer redraws than a number that is quoted."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The whole curve of a cell: at `flops[i]` (increasing, distinct) it rises to `value[i]`."""

    flops: Ints
    value: Floats
    unpriced: int

    def reach(self, target: float) -> int | None:
        """Return the smallest FLOPs at which the curve is at `target` or above; None: never."""
        reached = np.flatnonzero(self.value >= target - 1e-12)
        return int(self.flops[reached[0]]) if len(reached) else None


def steps(cell: Cell) -> Steps:
    """Return the exact curve of a cell; empty where no scored response has FLOPs."""
    priced = cell.scored & (cell.flops >= 0)
    total = float(cell.weight.sum())
    flops, place = np.unique(cell.flops[priced], return_inverse=True)
    gained = total_by(place, (cell.correct * cell.weight)[priced], len(flops))
    value = np.cumsum(gained) / total if len(flops) else np.empty(0)
    return Steps(flops, value, int((cell.scored & ~priced).sum()))


def bands(cell: Cell, budgets: Ints, resampler: Resampler) -> Intervals:
    """Return the accuracy of a cell at each of `budgets` [K], increasing, with intervals."""
    bins = np.searchsorted(budgets, cell.flops, side="left")  # the first budget that affords the response
    bought = cell.scored & (cell.flops >= 0) & (bins < len(budgets))
    gained = cell.binned(cell.correct, np.minimum(bins, len(budgets) - 1), len(budgets), bought)
    return ratio_intervals(np.cumsum(gained, axis=1), cell.sums(np.ones_like(cell.correct))[:, None], resampler)


def thinned(flops: Ints, counts: Ints | None = None, points: int = POINTS) -> Ints:
    """Return at most `points` of the distinct costs: the first, the last, and evenly by responses between them."""
    if len(flops) <= points:
        return flops
    share = np.cumsum(np.ones(len(flops)) if counts is None else counts).astype(np.float64)
    wanted = np.linspace(share[0], share[-1], points)
    places = np.unique(np.searchsorted(share, wanted - 1e-9).clip(0, len(flops) - 1))
    return np.asarray(flops[places])


def curve_points(budgets: Ints, found: Intervals) -> list[CurvePoint]:
    """Return the points of a curve for the document."""
    points: list[CurvePoint] = []
    for index, flops in enumerate(budgets):
        estimate = found.estimate(index)
        value = estimate["value"]
        if value is not None:
            points.append({"flops": int(flops), "value": value, "low": estimate["low"], "high": estimate["high"]})
    return points


def curve(cell: Cell, budgets: Ints, band: Intervals, *, final: Intervals | None = None) -> Curve:
    """Return the curve of a cell for the document, from the `bands` at `budgets`.

    `final` is the cell's accuracy with its interval: the last point takes it when every response has FLOPs.
    """
    whole = steps(cell)
    scored = int(cell.scored.sum())
    points = curve_points(budgets, band) if len(whole.flops) else []
    if points and final is not None and not whole.unpriced:
        last = final.estimate()
        points[-1]["low"], points[-1]["high"] = last["low"], last["high"]
    note = None
    if not points:
        note = "no scored response has FLOPs" if scored else "no scored question"
    elif whole.unpriced:
        note = f"{whole.unpriced} responses without FLOPs are never bought: the curve ends below the accuracy"
    return {**cell.key, "scored": scored, "unpriced": whole.unpriced, "points": points, "note": note}


def grid(*cells: Cell) -> Ints:
    """Return the costs at which the curves of these cells are drawn: at most 100 of those of all scored responses.

    The same for all of them, so that the curves can be subtracted.
    """
    flops, counts = np.unique(
        np.concatenate([cell.flops[cell.scored & (cell.flops >= 0)] for cell in cells]), return_counts=True
    )
    return thinned(flops, counts.astype(np.int64))
