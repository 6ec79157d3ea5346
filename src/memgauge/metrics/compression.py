"""Compression: accuracy gained on regular input over incompressible input of the same length (ECCBench, 3, eq. 2).

Comp(L, F) is drawn as a curve over the budget and given at the largest one. Extensions: FLOPs saved at equal accuracy
(which the paper names and does not measure), and the excess over a matched window (`window`).
"""

from __future__ import annotations

from memgauge.metrics.accuracy import accuracy, balanced_accuracy
from memgauge.metrics.cells import Cell
from memgauge.metrics.curve import bands, curve_points, grid, steps
from memgauge.metrics.document import Compression, FlopsSaved
from memgauge.metrics.inference import Intervals, Resampler, difference_of_independent
from memgauge.metrics.window import matched_window

CEILING = 0.95


def compression(
    regular: Cell, dense: Cell, resampler: Resampler, band_resampler: Resampler | None = None
) -> Compression:
    """Return the compression of a system from its cells on regular and on incompressible streams.

    The streams of the two cells are different ones, so the interval of the difference joins two independent intervals.
    `band_resampler` draws the bands of the curve (default: as many redraws as for the numbers).
    """
    sides = [accuracy(cell, resampler) for cell in (regular, dense)]
    balanced = [balanced_accuracy(cell, resampler) for cell in (regular, dense)]
    budgets = grid(regular, dense)
    points = []
    if len(budgets):
        redraw = band_resampler or resampler
        found = difference_of_independent(*(bands(cell, budgets, redraw) for cell in (regular, dense)))
        points = curve_points(budgets, found)
    return {
        **regular.key,
        "against": dense.key["split"],
        "comp": difference_of_independent(*sides).estimate(),
        "comp_balanced": difference_of_independent(*balanced).estimate(),
        "curve": points,
        "flops_saved": flops_saved(regular, dense),
        "window": matched_window(regular, dense, resampler),
        "note": _note(dense, sides),
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


def _note(dense: Cell, sides: list[Intervals]) -> str | None:
    """Say what the reader must know before quoting the number."""
    notes = []
    if sides[1].value[0] > CEILING:
        notes.append("near the ceiling on incompressible input: there is little left to gain (ECCBench, 4.4)")
    if dense.key["split"] == "high":
        notes.append("natural input: the gain may be compression, saliency or another mix of answers (ECCBench, 4.1)")
    return "; ".join(notes) or None
