"""Compression: accuracy gained on regular input over incompressible input of the same length (ECCBench, 3, eq. 2).

Comp(L, F) is drawn as a curve over the budget and given at the largest one. Extensions: FLOPs saved at equal accuracy
(which the paper names and does not measure), and the excess over a matched window (`window`).
"""

from __future__ import annotations

from dataclasses import dataclass

from memgauge.metrics.accuracy import Accuracies, accuracies
from memgauge.metrics.cells import Cell, Ints
from memgauge.metrics.curve import bands, curve_points, steps
from memgauge.metrics.document import Compression, FlopsSaved
from memgauge.metrics.inference import Intervals, Resampler, difference_of_independent
from memgauge.metrics.window import matched_window

CEILING = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A cell with its numbers; `band` is its curve at `budgets`, which the two sides of a comparison share."""

    cell: Cell
    found: Accuracies
    budgets: Ints
    band: Intervals


def gauge(cell: Cell, budgets: Ints, resampler: Resampler, band_resampler: Resampler) -> Side:
    """Return a cell with its accuracies and its curve; the band of the curve has its own redraws."""
    return Side(cell, accuracies(cell, resampler), budgets, bands(cell, budgets, band_resampler))


def compression(regular: Side, dense: Side, resampler: Resampler) -> Compression:
    """Return the compression of a system from its cells on regular and on incompressible streams.

    The streams of the two cells are different ones, so the interval of the difference joins two independent intervals.
    """
    points = curve_points(regular.budgets, difference_of_independent(regular.band, dense.band))
    priced = all(len(steps(side.cell).flops) for side in (regular, dense))
    return {
        **regular.cell.key,
        "against": dense.cell.key["split"],
        "comp": difference_of_independent(regular.found.accuracy, dense.found.accuracy).estimate(),
        "comp_balanced": difference_of_independent(regular.found.balanced, dense.found.balanced).estimate(),
        "curve": points if priced else [],
        "flops_saved": flops_saved(regular.cell, dense.cell),
        "window": matched_window(regular.cell, dense.cell, resampler, dense.found.accuracy),
        "note": _note(dense),
    }


def flops_saved(regular: Cell, dense: Cell) -> FlopsSaved:
    """Return the FLOPs saved on regular input when reaching the highest accuracy that both curves reach."""
    sides = (steps(regular), steps(dense))
    blank: FlopsSaved = {
        "target": None, "flops": None, "flops_against": None, "saved": None, "ratio": None, "note": None,
    }  # fmt: skip
    if not all(len(side.flops) for side in sides):
        return {**blank, "note": "no scored response has FLOPs in one of the two splits"}
    target = min(float(side.value[-1]) for side in sides)
    flops, against = (side.reach(target) for side in sides)
    if target <= 0 or flops is None or against is None:
        return {**blank, "note": "one of the two splits has no right answer"}
    return {
        "target": target,
        "flops": flops,
        "flops_against": against,
        "saved": against - flops,
        "ratio": against / flops if flops else None,
        "note": None,
    }


def _note(dense: Side) -> str | None:
    """Say what the reader must know before quoting the number."""
    notes = []
    if dense.found.accuracy.value[0] > CEILING:
        notes.append("near the ceiling on incompressible input: there is little left to gain (ECCBench, 4.4)")
    if dense.cell.key["split"] == "high":
        notes.append("natural input: the gain may be compression, saliency or another mix of answers (ECCBench, 4.1)")
    return "; ".join(notes) or None
