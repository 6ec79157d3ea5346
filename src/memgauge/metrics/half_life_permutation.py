"""Permutation test of the decay fit: how often does a random order of the scores fit at least as well?

For a fixed tau the least RSS depends on the order of the scores only through s = sum of (e - mean e)(y - mean y), and
it never rises with s: it is a minimum of functions linear in s whose slopes -2 A are not positive. So "this order
reaches the observed minimum at some tau" is "s(tau) is at least a threshold at some tau", and a permutation costs one
matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memgauge.metrics.half_life_profile import SLACK, Basis, DecayProblem, Floats, blocks
from memgauge.seeding import generator

ALL_ORDERS = 8  # up to this many units, every order is counted
MINIMUM_EVENTS = 5  # fewer events have too few orders to test with
_TIES = 1e-9  # relative: fits this close count as ties


def permutation_p(
    problem: DecayProblem, *, permutations: int = 9999, seed: int = 0, events: NDArray[np.int64] | None = None
) -> float | None:
    """Return the share of orders whose least RSS over the tau grid is at most the observed one (same grid, ties
    included).

    Units are the pairs, or whole events (`events`: event number of each pair) when there are at least five of them: the
    events are then laid end to end over the gaps in a random order, each keeping its inner order. With at most eight
    units all orders are counted; else `permutations` random ones, and p = (1 + hits) / (1 + permutations). None when
    there would be nothing to draw (`permutations` = 0).
    """
    # Unit weights only: rows of equal age are permuted as rows.
    n = len(problem.gaps)
    order = np.arange(n)
    if events is not None and len(np.unique(events)) >= MINIMUM_EVENTS:
        order = np.argsort(events, kind="stable")
        labels = np.unique(events[order], return_inverse=True)[1]
    else:
        labels = np.arange(n)
    units = int(labels.max()) + 1
    exact = units <= ALL_ORDERS
    if not exact and permutations == 0:
        return None
    count = math.factorial(units) if exact else permutations
    basis = problem.basis(problem.grid())
    limits = thresholds(problem, basis)
    kept = np.isfinite(limits)
    rows, limits = basis.e[kept][:, order], limits[kept]
    scores = problem.centred[order]
    rng = generator(seed, "half-life", "permutation")
    hits = 0
    for ranks in _orders(units, count, exact, rng, max(n, len(limits))):
        drawn = scores[ranks if units == n else np.argsort(ranks[:, labels], axis=1, kind="stable")]
        hits += int((drawn @ rows.T >= limits).any(axis=1).sum())
    return hits / count if exact else (1 + hits) / (1 + count)


def thresholds(problem: DecayProblem, basis: Basis) -> Floats:
    """Return for each tau the least s at which the fit is as good as the observed minimum; infinity when none is,
    shape [G].
    """
    observed = float(problem.solve(basis, problem.covariance(basis)).rss.min())
    limit = observed * (1 + _TIES) + SLACK * problem.sst
    high = np.sqrt(basis.see * problem.sst) * (1 + 1e-9)  # no order has a larger s
    low = -high
    never = problem.solve(basis, high).rss > limit
    for _ in range(60):
        middle = 0.5 * (low + high)
        reached = problem.solve(basis, middle).rss <= limit
        high = np.where(reached, middle, high)
        low = np.where(reached, low, middle)
    return np.where(never, np.inf, high)


def _orders(units: int, count: int, exact: bool, rng: np.random.Generator, width: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of orders of `units` units, shape [block, units]."""
    if exact:
        table = _all_orders(units)
        for block in blocks(count, width):
            yield table[block]
        return
    for block in blocks(count, width):
        size = min(block.stop, count) - block.start
        yield rng.permuted(np.tile(np.arange(units), (size, 1)), axis=1)


def _all_orders(units: int) -> NDArray[np.int64]:
    """Return all orders of `units` things, shape [units!, units]."""
    table = np.zeros((1, 1), dtype=np.int64)
    for new in range(1, units):
        inserted = [np.insert(table, place, new, axis=1) for place in range(new + 1)]
        table = np.concatenate(inserted)
    return table
