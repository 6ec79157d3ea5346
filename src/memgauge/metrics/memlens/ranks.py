"""Rank correlations over systems: Spearman's with its p-value, and Kendall's tau-b."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from memgauge.metrics.agreement import rank_correlation
from memgauge.metrics.inference import Floats

LEAST = 4
"""Fewer systems have no rank correlation worth a number: with three, one order in six is perfect."""
EXACT = 8
"""Up to so many systems every order is tried."""
TOO_FEW = f"fewer than {LEAST} systems"
NO_SPREAD = "all systems have the same value on one side"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Spearman's correlation of n systems; `note` says why a part is None."""

    n: int
    rho: float | None
    p: float | None
    note: str | None


def spearman(first: Sequence[float], second: Sequence[float]) -> Ranked:
    """Return Spearman's correlation over systems; refused below four, and where one side has no spread.

    The two-sided p-value is exact over all orders up to eight systems, else by Student's t with n - 2 degrees of
    freedom, at least 2 / n!.

    >>> spearman([1, 2, 3, 4], [1, 2, 3, 4])
    Ranked(n=4, rho=1.0, p=0.08333333333333333, note=None)
    """
    n = len(first)
    if n < LEAST:
        return Ranked(n, None, None, f"{TOO_FEW} ({n}): no rank correlation")
    rho = rank_correlation(first, second)
    if rho is None:
        return Ranked(n, None, None, NO_SPREAD)
    if n <= EXACT:
        return Ranked(n, rho, _exact_p(first, second), None)
    from scipy.special import stdtr

    spread = 1 - rho * rho
    p = 2 * float(stdtr(n - 2, -abs(rho) * math.sqrt((n - 2) / spread))) if spread > 1e-15 else 0.0
    return Ranked(n, rho, max(p, 2 / math.factorial(n)), None)


def _exact_p(first: Sequence[float], second: Sequence[float]) -> float:
    a, b = _centred(first), _centred(second)
    sums = a[_orders(len(a))] @ b
    return float((np.abs(sums) >= abs(float(a @ b)) - 1e-9).mean())


@lru_cache(maxsize=EXACT)
def _orders(n: int) -> NDArray[np.int64]:
    """Return every order of n things, [n!, n]."""
    return np.array(list(permutations(range(n))), dtype=np.int64)


def _centred(values: Sequence[float]) -> Floats:
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return np.asarray(ranks - ranks.mean())


def kendall(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None below four systems, or where one side has no spread.

    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3])
    0.6666666666666666
    """
    if len(first) < LEAST:
        return None
    signs = [np.sign(np.subtract.outer(np.asarray(side), np.asarray(side))) for side in (first, second)]
    scale = math.sqrt(float((signs[0] ** 2).sum()) * float((signs[1] ** 2).sum()))
    return float((signs[0] * signs[1]).sum()) / scale if scale else None
