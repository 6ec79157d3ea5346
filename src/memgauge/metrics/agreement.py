"""How far two judges of right and wrong agree: agreement, Cohen's kappa, leniency, rank correlation of systems.

Verdicts are 0 or 1. Pairs of which either side is missing (unparsed, failed) are counted and left out by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
SHORT_WORDS = 3
"""Answers of at most so many words are the ones that judges were found to favour (MEMLENS, format-dependent bias)."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of `n` with its exact (Clopper-Pearson) interval; None without any case."""

    value: float | None
    low: float | None
    high: float | None
    hits: int
    n: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters on the same answers. The second is the one that is trusted more (typed grades, human labels)."""

    n: int
    both_right: int
    both_wrong: int
    first_only: int
    """Right for the first rater alone: false positives of the first, if the second is right."""
    second_only: int
    """Right for the second rater alone: false negatives of the first."""
    agreement: Rate
    kappa: float | None
    """Cohen's kappa; None where chance alone makes both agree always, or without any pair."""
    kappa_low: float | None
    kappa_high: float | None
    false_positives: Rate
    """Share of what the second calls wrong that the first calls right."""
    false_negatives: Rate
    """Share of what the second calls right that the first calls wrong."""

    @property
    def leniency(self) -> float | None:
        """How much higher the first rater's accuracy is than the second's."""
        return (self.first_only - self.second_only) / self.n if self.n else None


def exact_rate(hits: int, n: int, level: float = LEVEL) -> Rate:
    """Return a share with its Clopper-Pearson interval.

    >>> rate = exact_rate(0, 10)
    >>> rate.value, rate.low, round(rate.high, 4)
    (0.0, 0.0, 0.3085)
    """
    if not n:
        return Rate(None, None, None, hits, n)
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return Rate(hits / n, low, high, hits, n)


def compare_verdicts(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> Agreement:
    """Compare two raters' verdicts, arrays [n] of 0 and 1.

    The interval of kappa is the large-sample one of Fleiss, Cohen and Everitt (1969), clipped to [-1, 1]. Where the
    raters never differ its standard error is zero; the lower limit is then what the exact lower limit of the agreement
    comes to.

    Raises `ValueError` for arrays of unequal length and for values other than 0 and 1.

    >>> found = compare_verdicts([1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0])
    >>> found.first_only, round(found.kappa, 4), round(found.agreement.value, 4)
    (1, 0.6667, 0.8333)
    """
    a, b = _verdicts(first), _verdicts(second)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} verdicts on one side and {b.size} on the other")
    n = int(a.size)
    both, first_only, second_only = int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum())
    neither = n - both - first_only - second_only
    kappa, low, high = _kappa(np.array([[neither, second_only], [first_only, both]], dtype=np.int64), level)
    return Agreement(
        n,
        both,
        neither,
        first_only,
        second_only,
        exact_rate(both + neither, n, level),
        kappa,
        low,
        high,
        exact_rate(first_only, first_only + neither, level),
        exact_rate(second_only, second_only + both, level),
    )


def _verdicts(values: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.ndim != 1 or not np.isin(array, (0, 1)).all():
        raise ValueError("verdicts are a flat sequence of 0 and 1")
    return array.astype(bool)


def _kappa(counts: NDArray[np.int64], level: float) -> tuple[float | None, float | None, float | None]:
    """Return Cohen's kappa of a square table of counts, and its interval."""
    n = int(counts.sum())
    if not n:
        return None, None, None
    table = counts / n
    rows, columns = table.sum(1), table.sum(0)
    same = np.diag(table)
    observed, expected = float(same.sum()), float(rows @ columns)
    if expected >= 1.0:
        return None, None, None
    kappa = (observed - expected) / (1 - expected)
    agree = float((same * (1 - (rows + columns) * (1 - kappa)) ** 2).sum())
    apart = (table - np.diag(same)) * (columns[:, None] + rows[None, :]) ** 2
    differ = float(apart.sum()) * (1 - kappa) ** 2
    variance = (agree + differ - (kappa - expected * (1 - kappa)) ** 2) / ((1 - expected) ** 2 * n)
    if int(np.trace(counts)) == n:
        least = exact_rate(n, n, level).low
        assert least is not None
        return kappa, max(-1.0, (least - expected) / (1 - expected)), 1.0
    if variance < 1e-15:
        return kappa, None, None  # too few pairs to say how far it could be off
    from scipy.special import ndtri

    reach = float(ndtri(0.5 + level / 2)) * math.sqrt(variance)
    return kappa, max(-1.0, kappa - reach), min(1.0, kappa + reach)


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """Two raters who choose among several labels."""

    n: int
    agreement: Rate
    kappa: float | None
    """Cohen's kappa; None where chance alone makes both agree always, or without any pair."""
    kappa_low: float | None
    kappa_high: float | None
    differing: tuple[tuple[str, str, int], ...]
    """First rater's label, second rater's label, how often; the most frequent first."""


def compare_labels(first: Sequence[str], second: Sequence[str], level: float = LEVEL) -> LabelAgreement:
    """Compare two raters' labels [n]; intervals as `compare_verdicts` gives them.

    >>> found = compare_labels(["a", "b", "c", "a"], ["a", "b", "b", "a"])
    >>> found.agreement.value, round(found.kappa, 4), found.differing
    (0.75, 0.6, (('c', 'b', 1),))
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} labels on one side and {len(second)} on the other")
    names = sorted({*first, *second})
    place = {name: index for index, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for a, b in zip(first, second, strict=True):
        counts[place[a], place[b]] += 1
    kappa, low, high = _kappa(counts, level)
    differing = [(names[i], names[j], int(counts[i, j])) for i, j in zip(*np.nonzero(counts), strict=True) if i != j]
    differing.sort(key=lambda row: (-row[2], row[:2]))
    return LabelAgreement(
        len(first), exact_rate(int(np.trace(counts)), len(first), level), kappa, low, high, tuple(differing)
    )


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, ties sharing their mean rank; None below three pairs or without spread.

    >>> rank_correlation([0.1, 0.4, 0.3, 0.9], [0.2, 0.5, 0.6, 0.7])
    0.8
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values on one side and {len(second)} on the other")
    if len(first) < 3:
        return None
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale else None


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class FormatBias:
    """Whether the first rater is more lenient to short answers than to longer ones."""

    short: Agreement
    long: Agreement
    p: float | None
    """One-sided Fisher p that false positives are more frequent among short answers; None without any wrong answer."""


def format_bias(first: Sequence[int], second: Sequence[int], words: Sequence[int]) -> FormatBias:
    """Compare the leniency to answers of at most `SHORT_WORDS` words with that to longer ones (MEMLENS, judging).

    `words` [n] are the lengths of the judged answers.
    """
    from memgauge.metrics.exact import fisher_greater

    is_short = [count <= SHORT_WORDS for count in words]
    halves = []
    for wanted in (True, False):
        kept = [i for i, value in enumerate(is_short) if value is wanted]
        halves.append(compare_verdicts([first[i] for i in kept], [second[i] for i in kept]))
    short, long = halves
    wrong = short.false_positives.n and long.false_positives.n
    p = fisher_greater(short.first_only, short.both_wrong, long.first_only, long.both_wrong) if wrong else None
    return FormatBias(short, long, p)


def corrected_accuracy(right_short: int, right_long: int, n: int, bias: FormatBias) -> float | None:
    """Return an accuracy freed of the extra leniency to short answers (MEMLENS, format-dependent bias correction).

    Of the short answers that the rater calls right, the share that is false on the labelled sample is taken off; the
    share that is false among longer answers stays, so that only the difference between the two forms is corrected.

    Parameters
    ----------
    right_short, right_long : answers that the rater calls right, of each form, in the run to be corrected.
    n : all scored answers of the run.
    bias : from a labelled sample of the same rater.

    None where the sample has no answer of a form that the rater calls right, or without any answer.
    """
    shares = [
        half.first_only / called if (called := half.first_only + half.both_right) else None
        for half in (bias.short, bias.long)
    ]
    if not n or shares[0] is None or shares[1] is None:
        return None
    return (right_short * (1 - max(0.0, shares[0] - shares[1])) + right_long) / n


def by_system(
    first: Mapping[str, Sequence[int]], second: Mapping[str, Sequence[int]]
) -> dict[str, tuple[float, float]]:
    """Return each system's two accuracies, for the systems with verdicts on both sides."""
    return {
        name: (float(np.mean(first[name])), float(np.mean(second[name])))
        for name in sorted(first.keys() & second.keys())
        if len(first[name]) and len(second[name])
    }
