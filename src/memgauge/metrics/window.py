"""The plain window that does as well on incompressible input, and what it gains on regular input (extension).

A memory that keeps the last W symbols compresses nothing, and yet its accuracy rises on regular streams, since they
repeat themselves inside the window. So Comp > 0 alone does not show compression; the excess over the matched window
does. A window says yes exactly when the candidate's last occurrence lies wholly inside it, age <= W - query_length, and
never errs on negatives: its accuracy on the very same questions follows from the rows, for every W at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memgauge.metrics.cells import Cell, Flags
from memgauge.metrics.document import Window
from memgauge.metrics.inference import Floats, Intervals, Resampler, finite, percentile_interval, undefined

KNOTS = 128
"""Window sizes at which accuracies are exact; between them they are linear."""

TIE = 1e-6
"""Accuracies closer than this are the same: redraws are summed in single precision."""


def reach(cell: Cell) -> Floats:
    """Return the smallest window [n] that answers each positive question; NaN where it is unknown or negative."""
    return np.where(cell.gold == 1, cell.age + cell.query_length, np.nan)


def window_sizes(*cells: Cell) -> Floats:
    """Return the sizes to look at: 0 and at most 127 of those at which an answer changes."""
    needed = np.concatenate([reach(cell)[cell.scored & (cell.gold == 1)] for cell in cells])
    sizes, counts = np.unique(needed, return_counts=True)
    if len(sizes) >= KNOTS:
        share = np.cumsum(counts)
        wanted = np.linspace(share[0], share[-1], KNOTS - 1)
        sizes = sizes[np.unique(np.searchsorted(share, wanted - 1e-9).clip(0, len(sizes) - 1))]
    return np.concatenate([[0.0], sizes])


def window_columns(cell: Cell, sizes: Floats) -> Floats:
    """Return what every window gets right in each episode: shape [episodes, sizes]."""
    needed = reach(cell)
    seen = cell.scored & (needed <= sizes[-1])  # no window here answers the others
    bins = np.searchsorted(sizes, np.where(seen, needed, 0.0), side="left")
    found = cell.binned(np.ones_like(cell.correct), bins, len(sizes), seen)
    rejected = cell.sums(np.ones_like(cell.correct), cell.gold == 0)
    return np.asarray(rejected[:, None] + np.cumsum(found, axis=1))


def window_accuracy(cell: Cell, sizes: Floats) -> Floats:
    """Return the accuracy of a window of each size on the scored questions of the cell."""
    return np.asarray(window_columns(cell, sizes).sum(axis=0) / cell.weight.sum())


def matched_window(regular: Cell, dense: Cell, resampler: Resampler, accuracy: Intervals) -> Window:
    """Return the window matched to the system's accuracy on `dense`, its compression, and the system's excess.

    `accuracy` is the system's on `dense`: where its interval lies below the accuracy of an empty window (which says no
    to everything), no window does so badly, and there is no match. The window is matched anew in every redraw of the
    streams. Where several sizes match, the middle of them is taken; below the empty window, the empty one.
    """
    reason = _unknown(regular) or _unknown(dense)
    if not reason and accuracy.high[0] < window_accuracy(dense, np.zeros(1))[0]:
        reason = "no window does so badly: the system declines, or errs on negatives"
    if reason:
        return {"symbols": None, "comp": None, "excess": undefined(reason), "note": reason}
    sizes = window_sizes(regular, dense)
    sides = []
    for cell, stratum in ((regular, ""), (dense, "dense")):
        columns = np.column_stack(
            [window_columns(cell, sizes), cell.sums(cell.correct), cell.sums(np.ones_like(cell.correct))]
        )
        asked = columns[:, -1] > 0
        sides.append((columns[asked], resampler.sums(columns[asked], stratum)))
    (low_columns, low_sums), (max_columns, max_sums) = sides
    value, comp, symbols = _excess(low_columns.sum(axis=0)[None], max_columns.sum(axis=0)[None], sizes)
    redrawn = _excess(low_sums, max_sums, sizes)[0]
    found = percentile_interval(float(value[0]), redrawn, min(len(low_columns), len(max_columns))).estimate()
    if found["low"] is not None and found["low"] == found["high"]:
        found["note"] = "every redraw agrees: the interval says nothing about streams that were not seen"
    return {"symbols": finite(symbols[0]), "comp": finite(comp[0]), "excess": found, "note": None}


def _unknown(cell: Cell) -> str | None:
    """Say why the windows of a cell cannot be computed, or None."""
    if not cell.scored.any():
        return "no scored question"
    if not (cell.gold[cell.scored] >= 0).all():
        return "questions are not answered by yes or no"
    if np.isnan(reach(cell)[cell.scored & (cell.gold == 1)]).any():
        return "the age or the length of a positive candidate is not recorded"
    return None


def _excess(low_sums: Floats, max_sums: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return excess, compression and size of the matched window for sums [B, sizes + 2]."""
    (low_window, low_system), (max_window, max_system) = (
        (sums[:, :-2] / sums[:, -1:], sums[:, -2] / sums[:, -1]) for sums in (low_sums, max_sums)
    )
    rows = np.arange(len(max_system))
    last = len(sizes) - 1
    first = (max_window < max_system[:, None] - TIE).sum(axis=1)  # the smallest size that does as well
    final = (max_window <= max_system[:, None] + TIE).sum(axis=1) - 1  # the largest that does no better
    upper, lower = np.clip(first, 0, last), np.clip(final, 0, last)
    between: Flags = (final < first) & (first <= last) & (final >= 0)
    step = max_window[rows, upper] - max_window[rows, lower]
    part = np.where(between, (max_system - max_window[rows, lower]) / np.where(step > 0, step, 1.0), 0.5)

    def at(values: NDArray[np.float64]) -> Floats:
        return np.asarray(values[rows, lower] * (1 - part) + values[rows, upper] * part)

    comp = at(low_window) - at(max_window)
    return (low_system - max_system) - comp, comp, at(np.broadcast_to(sizes, max_window.shape))
