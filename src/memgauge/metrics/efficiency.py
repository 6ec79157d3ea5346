"""Efficiency: the smallest FLOPs at which a system reaches a target accuracy (ECCBench, 3).

The default target is the paper's rule for being above chance: 60 % against a chance of 50 % (4.2.1).
"""

from __future__ import annotations

from memgauge.metrics.cells import Cell
from memgauge.metrics.curve import steps
from memgauge.metrics.document import Curve, Efficiency

ABOVE_CHANCE = 0.6


def efficiency(cell: Cell, curve: Curve, target: float = ABOVE_CHANCE) -> Efficiency:
    """Return the smallest budget whose accuracy is at least `target`, from the exact curve of the cell.

    The interval is read off the band of `curve`: from where its upper edge reaches the target to where its lower edge
    does (None: it may never).
    """
    whole = steps(cell)
    reached = whole.reach(target)
    note = None
    if not len(whole.flops):
        note = "no scored response has FLOPs"
    upper = [point["flops"] for point in curve["points"] if point["high"] is not None and point["high"] >= target]
    lower = [point["flops"] for point in curve["points"] if point["low"] is not None and point["low"] >= target]
    low = min(upper, default=None)
    high = min(lower, default=None)
    if reached is not None:  # the points of the curve are thinned, the exact crossing is not
        low = None if low is None else min(low, reached)
        high = None if high is None else max(high, reached)
    return {
        **cell.key,
        "target": target,
        "flops": reached,
        "low": low,
        "high": high,
        "never": reached is None and len(whole.flops) > 0,
        "note": note,
    }
