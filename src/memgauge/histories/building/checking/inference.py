"""Bounds of the statistical gates: areas under the curve with clustered errors, exact tails, chi-square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memgauge.histories.building.checking.gates import Z

REPLICATES = 400


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its standard error over questions."""

    value: float
    error: float

    @property
    def lower(self) -> float:
        """One-sided 99 % lower bound."""
        return self.value - Z * self.error

    @property
    def upper(self) -> float:
        """One-sided 99 % upper bound."""
        return self.value + Z * self.error


def _weights(groups: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return bootstrap weights of the rows (replicates x rows): whole groups are drawn with replacement."""
    _, index = np.unique(groups, return_inverse=True)
    count = int(index.max()) + 1
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=REPLICATES)
    weights: NDArray[np.int64] = draws[:, index]
    return weights


def mean(values: Sequence[float] | NDArray[np.float64], groups: Sequence[int] | NDArray[np.int64]) -> Estimate:
    """Return the mean of the values and its error when the values of one group go together.

    >>> mean([0.0, 1.0, 0.0, 1.0], [0, 1, 2, 3]).value
    0.5
    """
    numbers, index = np.asarray(values, float), np.unique(np.asarray(groups), return_inverse=True)[1]
    if not numbers.size:
        return Estimate(float("nan"), float("nan"))
    centre = float(numbers.mean())
    count = int(index.max()) + 1
    sums = np.bincount(index, numbers - centre)
    error = np.sqrt((sums**2).sum() * count / max(count - 1, 1)) / numbers.size
    return Estimate(centre, float(error))


def auc(
    scores: Sequence[float] | NDArray[np.float64],
    labels: Sequence[bool] | NDArray[np.bool_],
    groups: Sequence[int] | NDArray[np.int64],
    seed: int = 0,
) -> Estimate:
    """Return the area under the ROC curve, ties counted half, and its bootstrap error over groups.

    NaN when one of the two classes is empty.

    >>> auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True], [0, 1, 2, 3]).value
    0.75
    """
    positive = np.asarray(labels, bool)
    if positive.all() or not positive.any():
        return Estimate(float("nan"), float("nan"))
    rank = np.unique(np.asarray(scores, float), return_inverse=True)[1]
    size = int(rank.max()) + 1

    def area(weights: NDArray[np.int64]) -> float:
        up = np.bincount(rank, weights * positive, minlength=size)
        down = np.bincount(rank, weights * ~positive, minlength=size)
        whole = up.sum() * down.sum()
        return float((up * (np.cumsum(down) - down / 2)).sum() / whole) if whole else float("nan")

    value = area(np.ones(rank.size, np.int64))
    replicates = [area(row) for row in _weights(np.asarray(groups, np.int64), seed)]
    return Estimate(value, float(np.nanstd(replicates, ddof=1)))


def tail(hits: int, chances: Sequence[float]) -> float:
    """Return the probability of at least so many hits when item i is hit with chances[i] (Poisson-binomial, exact).

    >>> round(tail(2, [0.5, 0.5]), 6)
    0.25
    """
    if hits <= 0:
        return 1.0
    exactly = np.zeros(len(chances) + 1)
    exactly[0] = 1.0
    for chance in chances:
        exactly[1:] = exactly[1:] * (1 - chance) + exactly[:-1] * chance
        exactly[0] *= 1 - chance
    return float(min(1.0, exactly[hits:].sum()))


def uniform_p(counts: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """Return the chi-square p-value of counts; neighbours are put together until 5 are expected. NaN for one bin."""
    from scipy.stats import chi2

    bins: list[tuple[float, float]] = []
    got = want = 0.0
    for count, mass in zip(counts, expected, strict=True):
        got, want = got + count, want + mass
        if want >= 5:
            bins.append((got, want))
            got = want = 0.0
    if bins:
        bins[-1] = (bins[-1][0] + got, bins[-1][1] + want)
    if len(bins) < 2:
        return float("nan")
    statistic = sum((count - mass) ** 2 / mass for count, mass in bins)
    return float(chi2.sf(statistic, len(bins) - 1))
