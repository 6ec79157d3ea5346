"""Exact tests of counts, and corrections for families of tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memgauge.seeding import generator

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class McNemarTest:
    """Two-sided p of the exact test and of its mid-p form."""

    p: float
    p_mid: float


def mcnemar(first_only: int, second_only: int) -> McNemarTest:
    """Test whether two systems are right equally often, from the questions that only one of them got right.

    Given their number, each is a fair coin: the exact binomial test. The mid-p form counts half of what is as likely as
    the observed split; it is less conservative. Questions are taken as independent.

    >>> test = mcnemar(10, 2)
    >>> round(test.p, 6), round(test.p_mid, 6)
    (0.038574, 0.022461)
    """
    total, least = first_only + second_only, min(first_only, second_only)
    if total == 0:
        return McNemarTest(1.0, 1.0)
    steps = np.arange(1, total + 1, dtype=np.float64)
    mass = _masses(np.log((total - steps + 1) / steps))
    tail = float(mass[: least + 1].sum())
    return McNemarTest(min(1.0, 2 * tail), min(1.0, 2 * tail - float(mass[least])))


def fisher_greater(right: int, wrong: int, other_right: int, other_wrong: int) -> float:
    """Return the one-sided p that the first group is right more often than the other: Fisher's exact test.

    The chance of a split at least this lopsided when right and wrong answers fall into the two groups at random.

    >>> round(fisher_greater(8, 2, 1, 5), 6)
    0.024476
    """
    drawn, good = right + wrong, right + other_right
    values, mass = hypergeometric(drawn, good, drawn + other_right + other_wrong)
    return min(1.0, float(mass[right - int(values[0]) :].sum()))


def hypergeometric(drawn: int, good: int, total: int) -> tuple[Floats, Floats]:
    """Return how many of `good` things out of `total` can be among `drawn` ones, and how likely each number is.

    >>> values, mass = hypergeometric(2, 2, 4)
    >>> values.tolist(), mass.round(4).tolist()
    ([0.0, 1.0, 2.0], [0.1667, 0.6667, 0.1667])
    """
    bad = total - good
    least, most = max(0, drawn - bad), min(drawn, good)
    steps = np.arange(least + 1, most + 1, dtype=np.float64)
    # Ratio of the mass at k to that at k - 1.
    ratios = np.log(good - steps + 1) + np.log(drawn - steps + 1) - np.log(steps) - np.log(bad - drawn + steps)
    return np.arange(least, most + 1, dtype=np.float64), _masses(ratios)


def _masses(log_ratios: Floats) -> Floats:
    """Return a distribution from the logarithms of the ratios of its neighbours."""
    logs = np.concatenate([[0.0], np.cumsum(log_ratios)])
    mass = np.exp(logs - logs.max())
    return np.asarray(mass / mass.sum())


def sign_flip(differences: Floats, draws: int = 4000, seed: int = 0) -> Floats:
    """Return the two-sided p that paired differences are centred at zero, for each column of [episodes, K].

    Under the null hypothesis that the two systems could be exchanged, a whole episode's difference is as likely to have
    the other sign, however its questions hang together. With few episodes all signs are tried; else `draws` random
    ones, and p = (1 + hits) / (1 + draws).
    """
    moving = differences[(differences != 0).any(axis=1)]
    count, size = moving.shape
    if not count:
        return np.ones(size)
    observed = np.abs(moving.sum(axis=0))
    limit = observed - 1e-9 * np.abs(moving).sum(axis=0)
    if 2**count <= draws:
        signs = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
        return np.asarray((np.abs(signs @ moving) >= limit).mean(axis=0))
    rng = generator(seed, "sign-flip", count)
    hits = np.zeros(size)
    rows = max(1, 2_000_000 // count)
    for start in range(0, draws, rows):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (min(rows, draws - start), count), dtype=np.int8)
        hits += (np.abs(signs @ moving) >= limit).sum(axis=0)
    return np.asarray((1 + hits) / (1 + draws))


def holm(p: Sequence[float], size: int | None = None) -> list[float]:
    """Return p-values corrected for the whole family by Holm's step-down method.

    `size` is that of the family where it is larger than `p`: the tests that are not shown are then taken to be no more
    certain than those that are, which makes no corrected value smaller than it would be with all of them known.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    >>> holm([0.01, 0.03], size=4)
    [0.04, 0.09]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = (max(len(values), size or 0) - np.arange(len(values))) * values[order]
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in corrected]
