"""Forgetting: how recall falls with the age of the evidence, and the half-life of that fall.

Recall counts positives only, so a system that says yes more often recalls more: the false-alarm rate on negatives
stands beside it. Ages are in the unit of the rows; in ECC tasks the age is the number of symbols written after the last
occurrence of the candidate.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from memgauge.metrics.cells import Cell, Flags, Ints
from memgauge.metrics.document import AgeBin, Forgetting
from memgauge.metrics.half_life import fit_half_life
from memgauge.metrics.inference import Floats, Resampler, finite, ratio_intervals, total_by, undefined

BINS = 10
FIT_BINS = 20
LEAST_IN_FIT_BIN = 10
MOST_ROWS = 2000
PERMUTATIONS = 999

Binning = Literal["quantile", "log"]


def forgetting(
    cell: Cell, resampler: Resampler, *, bins: int = BINS, binning: Binning = "quantile", half_life: bool = True
) -> Forgetting | None:
    """Return recall by age for a cell, or None where no evidence has an age.

    `quantile` bins hold about equally many questions; `log` bins are equally wide in log age.
    """
    aged = cell.scored & ~np.isnan(cell.age) & (cell.gold != 0)
    if not aged.any():
        return None
    ages = cell.age
    edges = age_edges(ages[aged], bins, binning)
    place = _place(ages, aged, edges)
    count = len(edges) - 1
    ones = np.ones_like(cell.correct)
    negative = cell.gold == 0
    alarms = (cell.answered & (cell.correct == 0)).astype(np.float64)
    score, asked = (cell.binned(value, place, count, aged) for value in (cell.score, ones))
    intervals = ratio_intervals(
        np.column_stack([score, score.sum(axis=1), cell.sums(alarms, negative)]),
        np.column_stack([asked, asked.sum(axis=1), cell.sums(ones, negative)]),
        resampler,
    )
    found: list[AgeBin] = []
    for index in range(count):
        inside = ages[aged & (place == index)]
        if len(inside):
            found.append(
                {
                    "age_low": float(inside.min()),
                    "age_high": float(inside.max()),
                    "age_mean": float(inside.mean()),
                    "n": len(inside),
                    "value": finite(intervals.value[index]),
                    "low": finite(intervals.low[index]),
                    "high": finite(intervals.high[index]),
                }
            )
    fit, over, note = _fit(cell, aged, resampler.seed) if half_life else (None, None, None)
    return {
        **cell.key,
        "unit": cell.unit,
        "binning": binning,
        "positives": int(aged.sum()),
        "bins": found,
        "recall": intervals.estimate(count),
        "false_alarm": intervals.estimate(count + 1) if negative.any() else undefined("no negatives"),
        "half_life_over": over,
        "half_life": fit,
        "note": note,
    }


def age_edges(ages: Floats, bins: int, binning: Binning) -> Floats:
    """Return the edges of at most `bins` bins: bin i holds edges[i] < age <= edges[i + 1], the first its lower end."""
    least, most = float(ages.min()), float(ages.max())
    if binning == "quantile":
        inner = np.quantile(ages, np.linspace(0, 1, bins + 1)[1:], method="inverted_cdf")
    else:
        start = float(ages[ages > 0].min(initial=max(most, 1.0)))
        inner = np.minimum(np.geomspace(start, max(most, start), bins + 1)[1:], most)
        inner[-1] = most
    return np.concatenate([[least], np.unique(inner)])


def _place(ages: Floats, aged: Flags, edges: Floats) -> Ints:
    """Return the bin of each row; 0 for rows without an age."""
    known = np.where(aged, ages, edges[0])
    return np.searchsorted(edges[1:], known, side="left").clip(0, len(edges) - 2).astype(np.int64)


def _fit(cell: Cell, aged: Flags, seed: int) -> tuple[dict[str, Any] | None, str | None, str | None]:
    """Fit the half-life: over age bins where scores are right or wrong only, else over the rows.

    Right and wrong alone scatter so much about any curve that the fit's R2 would say nothing; the recall of an age bin
    does not.
    """
    rows, unit = aged & (cell.age > 0), cell.unit or "unknown unit"
    ages, scores, events = cell.age[rows], cell.score[rows], cell.episode[rows]
    graded = bool(((scores != 0) & (scores != 1)).any())
    if graded and len(ages) > MOST_ROWS:
        return None, None, f"no half-life: {len(ages)} graded scores are more than {MOST_ROWS}"
    if graded:
        result = fit_half_life(ages, scores, permutations=PERMUTATIONS, seed=seed, t_ref=None, events=events, unit=unit)
        return result.to_dict(), "rows", None
    count = min(FIT_BINS, len(ages) // LEAST_IN_FIT_BIN)
    if count < 1:
        return None, None, f"no half-life: {len(ages)} positives are too few for bins of {LEAST_IN_FIT_BIN}"
    edges = age_edges(ages, count, "quantile")
    place = _place(ages, np.ones(len(ages), np.bool_), edges)
    size = np.bincount(place, minlength=len(edges) - 1)
    full = size > 0
    means, recall = (total_by(place, value, len(size))[full] / size[full] for value in (ages, scores))
    result = fit_half_life(means, recall, permutations=PERMUTATIONS, seed=seed, t_ref=None, unit=unit)
    return result.to_dict(), "bins", None
