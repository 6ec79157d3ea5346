"""Capacity: accuracy on incompressible input at a FLOPs budget (ECCBench, 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memgauge.metrics.cells import DENSE, Cell
from memgauge.metrics.curve import bands, steps
from memgauge.metrics.document import Budget, Capacity
from memgauge.metrics.inference import Intervals, Resampler, finite

DEFAULT_BUDGETS = 5


def capacity(
    cell: Cell, budgets: Sequence[int], resampler: Resampler, *, accuracy: Intervals | None = None
) -> Capacity:
    """Return the accuracy of a cell at each budget, and without limit.

    A response dearer than the budget is not bought and counts as not answered correctly. `accuracy` is the cell's:
    the capacity without limit, whether FLOPs are known or not.
    """
    found: list[Budget] = []
    note = None
    whole = steps(cell)
    if not len(whole.flops):
        note = "no scored response has FLOPs: only the accuracy without limit is known"
    elif len(budgets):
        limits = np.unique(np.asarray(budgets, dtype=np.int64))
        intervals = bands(cell, limits, resampler)
        for index, limit in enumerate(limits.tolist()):
            estimate = intervals.estimate(index)
            found.append({"flops": limit, "value": estimate["value"], "low": estimate["low"], "high": estimate["high"]})
    if accuracy is not None:
        found.append(
            {
                "flops": None,
                "value": finite(accuracy.value[0]),
                "low": finite(accuracy.low[0]),
                "high": finite(accuracy.high[0]),
            }
        )
    return {**cell.key, "budgets": found, "note": note}


def is_dense(cell: Cell) -> bool:
    """Say whether the cell's input is incompressible (split `max`), or the denser band of natural input (`high`)."""
    return cell.key["split"] in DENSE


def default_budgets(cells: Sequence[Cell], count: int = DEFAULT_BUDGETS) -> list[int]:
    """Return up to `count` budgets for cells that are to be compared: powers of ten that separate their responses.

    A budget below the cheapest response or above the dearest says nothing; if more than `count` powers are left, they
    are taken evenly.
    """
    flops = np.concatenate([cell.flops[cell.scored & (cell.flops >= 0)] for cell in cells]) if cells else np.empty(0)
    if not len(flops):
        return []
    least, most = int(flops.min()), int(flops.max())
    powers = [10**power for power in range(19) if least <= 10**power < most]
    if len(powers) <= count:
        return powers
    return [powers[place] for place in np.linspace(0, len(powers) - 1, count).round().astype(int)]
