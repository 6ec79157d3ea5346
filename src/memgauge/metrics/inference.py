"""Intervals over episodes: the questions of one stream succeed and fail together, so streams are what is redrawn.

The workhorse is a studentised bootstrap of a ratio of sums (accuracy, coverage, C/R, a mean payoff, a paired
difference) on the logit scale of its range. Its quantiles are never taken narrower than Student's t, whose degrees of
freedom fall with the kurtosis of the episodes' contributions: with few episodes, or few that differ, the bootstrap
alone is too sure of itself. docs/metrics.md has the simulation that chose this, and how to repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memgauge.metrics.document import Estimate
from memgauge.seeding import generator

LEVEL = 0.95
REDRAWS = 4000
BLOCK = 2_000_000  # weights drawn at a time: 16 MB each for the episodes, their places and their counts
KEPT = 16_000_000  # weights that are kept for the next metric: 64 MB
# A product of up to so many multiplications is done by the calling thread; beyond it BLAS starts others, and on a busy
# machine waiting for them costs far more than they save. Wide products are worth it.
_PRODUCT = 250_000
_NARROW = 8192
_WIDEST = 2.0
"""A bootstrap quantile is taken at most so many times Student's."""
_CACHED = 2  # sets of weights that a resampler keeps

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

NOTES = (
    None,
    "all episodes agree: exact bound over episodes",
    "one episode: no interval",
    "no scored question in it, or in one of its groups",
    "too few redraws are defined: no interval",
)
AGREE, ONE, EMPTY, UNDEFINED = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Intervals:
    """Values with their intervals, arrays [K]; NaN where undefined, `note` indexes `NOTES`."""

    value: Floats
    low: Floats
    high: Floats
    note: NDArray[np.int64]

    def pick(self, index: int) -> Intervals:
        """Return one of them alone."""
        return Intervals(*(getattr(self, name)[index : index + 1] for name in ("value", "low", "high", "note")))

    def estimate(self, index: int = 0) -> Estimate:
        """Return one of them for the document."""
        return {
            "value": finite(self.value[index]),
            "low": finite(self.low[index]),
            "high": finite(self.high[index]),
            "note": NOTES[self.note[index]],
        }


def finite(number: float | np.floating | None) -> float | None:
    """Return a float, or None for what JSON cannot hold."""
    return float(number) if number is not None and np.isfinite(number) else None


def total_by(codes: NDArray[np.integer[Any]], values: NDArray[Any], size: int) -> Floats:
    """Return the sum of `values` [n] for each code 0 .. size - 1."""
    return np.bincount(codes, values, minlength=size).astype(np.float64)


def undefined(note: str) -> Estimate:
    """Return the estimate of what does not exist, with the reason."""
    return {"value": None, "low": None, "high": None, "note": note}


class Resampler:
    """Redraws of episodes with replacement, as multinomial weights; the same for the same seed, count and stratum.

    Cells with equally many episodes share their weights. Independent sets of episodes need different strata.
    """

    def __init__(self, redraws: int = REDRAWS, seed: int = 0) -> None:
        if redraws < 100:
            raise ValueError(f"a bootstrap interval needs at least 100 redraws, got {redraws}")
        self.redraws, self.seed = redraws, seed
        self._kept: dict[tuple[str, int], list[Singles]] = {}

    def weights(self, episodes: int, stratum: str = "") -> Iterator[Singles]:
        """Yield blocks [b, episodes] of weights, `redraws` rows in all, in bounded memory."""
        found = self._kept.get((stratum, episodes))
        if found is not None:
            yield from found
            return
        rng = generator(self.seed, "bootstrap", stratum, episodes)
        rows = max(1, BLOCK // max(1, episodes))
        keep: list[Singles] | None = [] if self.redraws * episodes <= KEPT else None
        for start in range(0, self.redraws, rows):
            count = min(rows, self.redraws - start)
            drawn = rng.integers(0, episodes, (count, episodes))
            drawn += np.arange(0, count * episodes, episodes)[:, None]
            block = np.bincount(drawn.ravel(), minlength=count * episodes).reshape(count, episodes).astype(np.float32)
            if keep is not None:
                keep.append(block)
            yield block
        if keep is not None:
            while len(self._kept) >= _CACHED:
                self._kept.pop(next(iter(self._kept)))
            self._kept[stratum, episodes] = keep

    def kinds(self, counts: NDArray[np.int64], stratum: str = "") -> Floats:
        """Return how often each kind of episode is drawn, [redraws, kinds], where `counts` [kinds] are alike."""
        total = int(counts.sum())
        rng = generator(self.seed, "bootstrap kinds", stratum, total)
        return rng.multinomial(total, counts / total, self.redraws).astype(np.float64)

    def sums(self, columns: Floats, stratum: str = "", counts: NDArray[np.int64] | None = None) -> Floats:
        """Return the sums of `columns` [episodes, K] over each redraw, shape [redraws, K].

        With `counts` [episodes], each row stands for so many episodes that are alike. Added up in single precision:
        exact for whole numbers up to 16 million; centre what should not cancel.
        """
        if counts is not None:
            return np.asarray(self.kinds(counts, stratum) @ columns)
        size = max(1, columns.size)
        step = _PRODUCT // size if size <= _NARROW else BLOCK
        single = columns.astype(np.float32)
        parts = [
            block[start : start + step] @ single
            for block in self.weights(len(columns), stratum)
            for start in range(0, len(block), step)
        ]
        return np.concatenate(parts).astype(np.float64)


def ratio_intervals(
    numerators: ArrayLike,
    denominators: ArrayLike,
    resampler: Resampler,
    *,
    stratum: str = "",
    bounds: tuple[ArrayLike, ArrayLike] = (0.0, 1.0),
    counts: ArrayLike | None = None,
) -> Intervals:
    """Return K ratios of sums over episodes, each with its interval.

    Parameters
    ----------
    numerators
        [E] or [E, K]: each episode's sum of what is averaged, e.g. its number of right answers.
    denominators
        [E], [E, 1] (shared) or [E, K]: each episode's number of questions. Episodes without any are left out.
    bounds
        The range in which a single question's value lies, numbers or [K]: (0, 1) for proportions, (-1, 1) for paired
        differences.
    counts
        [E]: so many episodes are like this row; one each by default. Redrawing kinds of episodes is the same bootstrap,
        and takes no longer for more episodes.

    Examples
    --------
    >>> right = np.tile([16.0, 14.0, 15.0, 13.0], 10)
    >>> accuracy = ratio_intervals(right, np.full(40, 16.0), Resampler())
    >>> float(accuracy.value[0]), bool(0.88 < accuracy.low[0] < accuracy.high[0] < 0.93)
    (0.90625, True)
    """
    den = _columns(denominators)
    kept, alike = _kept(den, counts)
    num, den = _columns(numerators)[kept], den[kept]
    size, shared = num.shape[1], den.shape[1]
    if not len(den):
        return _empty(size)
    least, width = _range(bounds)
    num = (num - least * den) / width
    clusters = _add(den > 0, alike)
    total = _add(den, alike)
    value = _divide(_add(num, alike), total)
    # What each episode adds to the error of the ratio. Redraws are taken of these, so that nothing cancels.
    moved = np.where(den > 0, num - value * den, 0.0)
    redrawn = spread = np.empty((0, size))
    if clusters.max() > 1:
        sums = resampler.sums(np.hstack([moved, moved * moved, moved * den, den, den * den]), stratum, alike)
        top, square, cross = (sums[:, i * size : (i + 1) * size] for i in range(3))
        bottom, bottoms = sums[:, 3 * size : 3 * size + shared], sums[:, 3 * size + shared :]
        shift = _divide(top, bottom)
        spread = _divide(square - 2 * shift * cross + shift * shift * bottoms, bottom * bottom)
        redrawn = value + shift
    influence = _divide(moved, total)
    return _studentised(value, influence, clusters, redrawn, spread, bounds, alike)


def combination_interval(
    numerators: Floats,
    denominators: Floats,
    coefficients: Sequence[float],
    resampler: Resampler,
    *,
    stratum: str = "",
    bounds: tuple[float, float] = (0.0, 1.0),
    counts: ArrayLike | None = None,
) -> Intervals:
    """Return sum_k coefficients[k] * ratio[k] with its interval: the ratios come from the same episodes.

    `numerators` and `denominators` are [E, K], `counts` [E] as in `ratio_intervals`. Balanced accuracy is (1/2, 1/2)
    over the two classes; the difference of two systems on the same streams, each with its own number of questions a
    stream, is (1, -1) with bounds (-1, 1). Redraws in which a ratio has no question are left
    out.
    """
    kept, alike = _kept(denominators, counts)
    num, den = numerators[kept], denominators[kept]
    if not len(den) or not (den > 0).any(axis=0).all():
        return _empty(1)
    least, width = _range(bounds)
    factors = np.asarray(coefficients, dtype=np.float64) / width
    clusters = _add(den > 0, alike).min(keepdims=True)
    total = _add(den, alike)
    ratio = _add(num, alike) / total
    moved = num - ratio * den
    value = np.atleast_1d(ratio @ factors - least / width)
    columns = np.hstack([moved, den])
    pairs = list(combinations_with_replacement(range(columns.shape[1]), 2))
    products = np.column_stack([columns[:, i] * columns[:, j] for i, j in pairs])
    sums = resampler.sums(np.hstack([columns, products]), stratum, alike)
    size = len(factors)
    top, bottom, second = sums[:, :size], sums[:, size : 2 * size], sums[:, 2 * size :]
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = top / bottom
        # The delta method: the slope of the combination in each sum, then the quadratic form of second moments.
        slopes = np.hstack([factors / bottom, -factors * shifts / bottom])
        spread = np.zeros(len(sums))
        for at, (i, j) in enumerate(pairs):
            spread += (1.0 if i == j else 2.0) * slopes[:, i] * slopes[:, j] * second[:, at]
        redrawn = value + (shifts @ factors)[:, None]
    return _studentised(value, (moved / total) @ factors[:, None], clusters, redrawn, spread[:, None], bounds, alike)


def difference_of_independent(first: Intervals, second: Intervals) -> Intervals:
    """Return first - second for two sets of different episodes, by Newcombe's hybrid (MOVER) of their intervals.

    Each side keeps its own asymmetry and its exact bound where all its episodes agree (Zou and Donner 2008).
    """
    value = first.value - second.value
    low = value - np.hypot(first.value - first.low, second.high - second.value)
    high = value + np.hypot(first.high - first.value, second.value - second.low)
    return Intervals(value, low, high, np.maximum(first.note, second.note))


def percentile_interval(value: float, redrawn: Floats, episodes: int, *, centred: bool = False) -> Intervals:
    """Return the percentile interval of any statistic from its redraws [B], widened for few episodes.

    The levels are those of Student's t with the small-sample factor (Hesterberg's expanded percentile). `centred` moves
    the redraws so that their mean is the value: for statistics that are biased upwards under redrawing. Use
    `ratio_intervals` for anything that is a ratio of sums.
    """
    known = redrawn[np.isfinite(redrawn)]
    blank = np.array([np.nan])
    if not np.isfinite(value):
        return _empty(1)
    if episodes < 2 or 2 * len(known) < len(redrawn) or not len(known):
        note = ONE if episodes < 2 else UNDEFINED
        return Intervals(np.array([float(value)]), blank, blank, np.array([note]))
    from scipy.special import ndtr, stdtrit

    if centred:
        known = known + (value - known.mean())
    reach = stdtrit(episodes - 1, (1 + LEVEL) / 2) * np.sqrt(episodes / (episodes - 1))
    low, high = np.quantile(known, [ndtr(-reach), ndtr(reach)])
    return Intervals(
        np.array([float(value)]), np.array([min(low, value)]), np.array([max(high, value)]), np.zeros(1, np.int64)
    )


def _studentised(
    value: Floats,
    influence: Floats,
    clusters: NDArray[np.int64],
    redrawn: Floats,
    spread: Floats,
    bounds: tuple[ArrayLike, ArrayLike],
    alike: NDArray[np.int64] | None = None,
) -> Intervals:
    """Finish the interval of K statistics that lie in [0, 1]; `bounds` is what they are scaled back to.

    value [K], influence [E, K] of each episode on it, clusters [K] or [1], redrawn [B, K] and spread [B, K]: the value
    and its variance (without the small-sample factor) in each redraw; alike [E]: episodes that a row stands for.
    """
    from scipy.special import expit, logit, stdtrit

    count = np.broadcast_to(clusters, value.shape).astype(np.float64)
    square = _add(influence**2, alike)
    agree = square <= 1e-24
    note = np.where(np.isnan(value), EMPTY, np.where(count < 2, ONE, np.where(agree, AGREE, 0)))
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    # All agree: with more than 1 - LEVEL on each side, a share theta of all episodes is like these (Clopper-Pearson),
    # and the others may be anything.
    theta = ((1 - LEVEL) / 2) ** (1 / np.maximum(count, 1))
    exact = note == AGREE
    low[exact], high[exact] = (theta * value)[exact], (theta * value + 1 - theta)[exact]
    usual = note == 0
    if usual.any():
        value_, count_, square_ = value[usual], count[usual], square[usual]
        factor = count_ / (count_ - 1)
        kurtosis = count_ * _add(influence[:, usual] ** 4, alike) / square_**2
        freedom = np.minimum(count_ - 1, 2 * count_ / np.maximum(kurtosis - 1, 1e-9))
        floor = stdtrit(freedom, (1 + LEVEL) / 2)
        centre = logit(value_)
        error = np.sqrt(square_ * factor) / (value_ * (1 - value_))
        # In place where it can be: these arrays are the largest of all.
        redrawn, spread = redrawn[:, usual], spread[:, usual]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = redrawn * (1 - redrawn)
            pivots = (logit(redrawn) - centre) * room / np.sqrt(spread * factor)
        # Redraws that agree in everything have no error of their own; what is left of it is round-off.
        pivots[~((spread > 1e-8 * square_) & (room > 1e-7))] = np.nan
        below, above = _tails(pivots)
        # Where one or two episodes differ, redraws with next to no error of their own have pivots that go anywhere.
        widest = _WIDEST * floor
        low[usual] = expit(centre - np.fmin(np.fmax(above, floor), widest) * error)
        high[usual] = expit(centre - np.fmax(np.fmin(below, -floor), -widest) * error)
    # Round-off must not put a value of 0 or 1 outside its own interval.
    low, high = np.minimum(low, value), np.maximum(high, value)
    least, width = _range(bounds)
    value, low, high = (least + width * part for part in (value, low, high))
    return Intervals(value, low, high, note)


def _tails(pivots: Floats) -> tuple[Floats, Floats]:
    """Return the two outer quantiles of each column, leaving out NaN; NaN for a column without a number."""
    pivots.sort(axis=0)  # NaN goes last
    count = np.isfinite(pivots).sum(axis=0)
    columns = np.arange(pivots.shape[1])

    def quantile(level: float) -> Floats:
        place = level * np.maximum(count - 1, 0)
        index = np.floor(place).astype(np.int64)
        part = place - index
        upper = np.minimum(index + 1, np.maximum(count - 1, 0))
        return np.asarray(pivots[index, columns] * (1 - part) + pivots[upper, columns] * part)

    return quantile((1 - LEVEL) / 2), quantile((1 + LEVEL) / 2)


def simulate_coverage(
    episodes: int,
    accuracy: float,
    *,
    questions: int = 16,
    correlation: float = 0.2,
    simulations: int = 2000,
    redraws: int = 1000,
    seed: int = 0,
) -> float:
    """Return the share of simulated runs whose 95 % interval of accuracy holds the true accuracy.

    Each simulated episode has its own chance of a right answer, drawn from the beta distribution with mean `accuracy`
    and intra-class correlation `correlation` (0: questions are independent); its right answers out of `questions` are
    binomial. Deterministic by seed; the standard error is sqrt(share * (1 - share) / simulations).
    """
    rng = generator(seed, "coverage", episodes, round(accuracy * 1_000_000), questions)
    resampler, asked = Resampler(redraws, seed), np.full(episodes, float(questions))
    held = 0
    for start in range(0, simulations, 500):
        shape = (episodes, min(500, simulations - start))
        chance = np.full(shape, accuracy)
        if correlation > 0:
            strength = 1 / correlation - 1
            chance = rng.beta(accuracy * strength, (1 - accuracy) * strength, shape)
        right = rng.binomial(questions, chance).astype(np.float64)
        # One set of weights for all simulations: only the noise of the quantiles is shared.
        found = ratio_intervals(right, asked, resampler)
        held += int(((found.low <= accuracy) & (accuracy <= found.high)).sum())
    return held / simulations


def _kept(den: Floats, counts: ArrayLike | None) -> tuple[NDArray[np.bool_], NDArray[np.int64] | None]:
    """Return which rows count, and how many episodes each of these stands for (None: one)."""
    kept = np.asarray((den > 0).any(axis=1))
    if counts is None:
        return kept, None
    alike = np.asarray(counts, dtype=np.int64)
    kept &= alike > 0
    return kept, alike[kept]


def _add(values: NDArray[Any], alike: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the sums of [E, K] over episodes, [K]."""
    return np.asarray(values.sum(axis=0) if alike is None else alike @ values)


def _range(bounds: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats]:
    """Return the lower end and the width of a range of values, numbers or [K]."""
    least, most = (np.asarray(end, dtype=np.float64) for end in bounds)
    return least, np.asarray(most - least)


def _divide(top: Floats, bottom: Floats) -> Floats:
    """Return the quotient, NaN where there is nothing to divide by."""
    bottom = np.broadcast_to(bottom, top.shape)
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def _columns(values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


def _empty(size: int) -> Intervals:
    blank = np.full(size, np.nan)
    return Intervals(blank, blank, blank, np.full(size, EMPTY, np.int64))
