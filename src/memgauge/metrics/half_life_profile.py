"""The exact least-squares profile of f(t) = a exp(-t / tau) + b over the decay time tau.

For a fixed tau the model is linear in (a, b) and the bounds make a convex polygon, so the best (a, b) has a closed
form: the unconstrained solution where it is feasible, else the best point of the polygon's edges. Gaps are shifted by
the smallest one, t = t_min + u, with amplitude A = a exp(-t_min / tau), so that nothing overflows however late the
first gap is (the "centered time" of the Memory Half Life text).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Bounds = Literal["unit", "nonneg"]
Floats = NDArray[np.float64]

GRID_POINTS = 256
SLACK = 1e-12  # of SST: differences of RSS below this are rounding, not shape
_SECTION_NODES = np.insert(np.linspace(0.0, 1.0, 41), 1, (0.5, 0.5))  # two places for the nodes around the guess
_NODES = len(_SECTION_NODES)
_BLOCK = 1 << 21  # matrix entries held at once
ACTIVE = ("interior", "a=0", "b=0", "a+b=1", "a=1,b=0")
_INTERIOR, _NO_AMPLITUDE, _NO_FLOOR, _FULL_START, _CORNER = range(5)


@dataclass(frozen=True)
class Basis:
    """Sums of the basis e = exp(-u / tau) for each tau; all arrays have shape [G], `e` has shape [G, n]."""

    e: Floats
    mean: Floats  # weighted mean of e
    see: Floats  # weighted sum of squares of e about its mean
    ceiling: Floats  # largest A: exp(-t_min / tau) under "unit", infinity under "nonneg"
    mean_h: Floats  # weighted mean of h = 1 - exp(-t / tau)
    shh: Floats  # weighted sum of h ** 2


@dataclass(frozen=True)
class Profile:
    """The best fit for each tau of a grid; all arrays have shape [G]."""

    tau: Floats
    amplitude: Floats  # A, the decaying part at the smallest gap
    floor: Floats  # b
    rss: Floats
    slope: Floats  # dRSS / dlog tau along the profile
    active: NDArray[np.int64]


@dataclass(frozen=True)
class Optimum:
    """The least-squares fit: the profile's lowest point and where it lies."""

    tau: float
    amplitude: float
    floor: float
    rss: float
    active: str
    edge: str | None  # "lower" or "upper": no better than that end of the tau grid


@dataclass(frozen=True)
class Lines:
    """The best amplitude A and floor b in the basis of each tau, arrays of one shape.

    The RSS from sums loses digits when the fit is nearly perfect; `DecayProblem.profile` takes it from the residuals.
    """

    amplitude: Floats
    floor: Floats
    active: NDArray[np.int64]
    rss: Floats


class DecayProblem:
    """Gaps [n] (finite, not negative, at least two distinct) with scores [n].

    Rows of equal gap may be given as one, with their mean as the score, their number as the weight, and the sum of
    squares about these means as `within`: the fit, RSS and SST are those of the rows.
    """

    def __init__(
        self,
        gaps: Floats,
        scores: Floats,
        bounds: Bounds,
        weights: Floats | None = None,
        within: float = 0.0,
    ) -> None:
        self.gaps = np.asarray(gaps, dtype=np.float64)
        self.scores = np.asarray(scores, dtype=np.float64)
        self.weights = np.ones_like(self.gaps) if weights is None else np.asarray(weights, dtype=np.float64)
        self.bounds = bounds
        self.within = within
        self.shift = float(self.gaps.min())
        self.span = float(self.gaps.max()) - self.shift
        self.u = self.gaps - self.shift
        self.total = float(self.weights.sum())
        self.mean = float(self.weights @ self.scores) / self.total
        self.centred = self.scores - self.mean
        self.sst = float(self.weights @ self.centred**2) + within
        floor = max(self.mean, 0.0) if bounds == "nonneg" else min(max(self.mean, 0.0), 1.0)
        self.constant_rss = self.sst + self.total * (self.mean - floor) ** 2
        self._minus_u = -self.u
        self._moments = np.stack([self.weights, self.weights * self.centred], axis=1)
        self._weighted_gaps = self.weights * self.gaps

    def grid(self, points: int = GRID_POINTS) -> Floats:
        """Return log-spaced decay times from 0.02 min(t_min, span) to 10,000 spans, shape [points]; t_min is
        positive.
        """
        least = self.shift if self.shift > 0 else float(self.gaps[self.gaps > 0].min())
        return np.exp(np.linspace(math.log(0.02 * min(least, self.span)), math.log(1e4 * self.span), points))

    def basis(self, tau: Floats) -> Basis:
        """Return the basis and its sums for each tau, shapes [G, n] and [G]."""
        fall = -np.expm1(-self.u / tau[:, None])
        mean_fall = fall @ self.weights / self.total
        see = ((fall - mean_fall[:, None]) ** 2) @ self.weights
        return basis_sums(tau, mean_fall, see, self.bounds, self.shift, self.total, 1.0 - fall)

    def covariance(self, basis: Basis) -> Floats:
        """Return the weighted sum of (e - mean e)(y - mean y) for each tau, shape [G]."""
        return basis.e @ (self.weights * self.centred)

    def solve(self, basis: Basis, sey: Floats) -> Lines:
        """Return the best line for each tau, given `sey` = sum of (e - mean e)(y - mean y); see `best_lines`."""
        return best_lines(basis, sey, self.bounds, self.mean, self.total, self.sst)

    def profile(self, tau: Floats) -> Profile:
        """Return the best fit for each tau, shape [G]."""
        if len(tau) * len(self.gaps) <= _BLOCK:
            return self._profile_block(tau)
        parts = [self._profile_block(tau[block]) for block in blocks(len(tau), len(self.gaps))]
        names = ("tau", "amplitude", "floor", "rss", "slope", "active")
        return Profile(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def _profile_block(self, tau: Floats) -> Profile:
        # e - 1, exact also where e is so near 1 that it has lost the digits that tell gaps apart.
        fell = np.expm1(self._minus_u / tau[:, None])
        sums = fell @ self._moments
        mean_fall = sums[:, 0] / -self.total
        # The smallest gap has e - 1 = 0, so this difference cannot cancel.
        see = (fell * fell) @ self.weights - self.total * mean_fall * mean_fall
        lines = self.solve(basis_sums(tau, mean_fall, see, self.bounds, self.shift, self.total, fell), sums[:, 1])
        amplitude, floor = lines.amplitude, lines.floor
        residual = (self.scores - (amplitude + floor)[:, None]) - amplitude[:, None] * fell
        rss = (residual * residual) @ self.weights + self.within
        # The bounds on (a, b) do not depend on tau, so the envelope theorem gives the slope with (a, b) held.
        turned = residual @ self._weighted_gaps + (residual * fell) @ self._weighted_gaps
        return Profile(tau, amplitude, floor, rss, -2.0 * amplitude * turned / tau, lines.active)

    def optimum(self, grid: Profile) -> Optimum:
        """Return the lowest point of the profile over the range of `grid` (its grid minima refined); ties to smaller
        tau.
        """
        brackets = self._minima(grid)
        fits = [self._refine(float(grid.tau[i]), float(grid.tau[i + 1])) for i in brackets]
        ends = [_point(grid, 0), _point(grid, len(grid.tau) - 1)]
        best = min([*fits, *ends], key=lambda fit: (fit.rss, fit.tau))
        slack = SLACK * self.sst
        # The upper end first: where both tie, nothing decays at all and the constant (tau without end) is the plainer
        # reading.
        for name, end in (("upper", ends[1]), ("lower", ends[0])):
            if best.rss >= end.rss - slack:
                return Optimum(end.tau, end.amplitude, end.floor, end.rss, end.active, name)
        return best

    def _minima(self, grid: Profile) -> list[int]:
        """Return i such that the profile turns from falling to rising between grid points i and i + 1, at most 16."""
        turns = (grid.slope[:-1] < 0) & (grid.slope[1:] >= 0)
        lower = np.minimum(grid.rss[:-1], grid.rss[1:])
        # Between two grid points the profile can dip by far less than this, since e changes slowly with log tau.
        found = np.flatnonzero(turns & (lower <= grid.rss.min() + 1e-2 * self.sst))
        return [int(i) for i in found[np.argsort(lower[found], kind="stable")][:16]]

    def _refine(self, low: float, high: float) -> Optimum:
        """Return the minimum between two decay times: where the slope turns from falling to rising."""
        (tau,) = _sign_changes(lambda tau: self.profile(tau).slope, [(low, high)], 1e-13)
        return _point(self.profile(np.array([tau])), 0)

    def interval(self, grid: Profile, best: Optimum, threshold: float) -> tuple[float | None, float | None]:
        """Return the outer ends of {tau: RSS(tau) <= threshold}; an end that is open is None."""
        inside = np.flatnonzero(grid.rss <= threshold)
        first = int(inside[0]) if inside.size else len(grid.tau)
        last = int(inside[-1]) if inside.size else -1
        # Brackets from outside to inside. The optimum may lie alone between two grid points.
        lower: tuple[float, float] | None = None
        upper: tuple[float, float] | None = None
        if first > 0:
            at = min(first, int(np.searchsorted(grid.tau, best.tau)))
            lower = float(grid.tau[at - 1]), min(float(grid.tau[at]), best.tau)
        if self.constant_rss > threshold:  # the limit of the profile as tau grows without end
            at = max(last, int(np.searchsorted(grid.tau, best.tau, "right")) - 1)
            if at < len(grid.tau) - 1:
                upper = float(grid.tau[at + 1]), max(float(grid.tau[at]), best.tau)
            else:
                upper = self._beyond(float(grid.tau[-1]), threshold)
        brackets = [bracket for bracket in (lower, upper) if bracket is not None]
        found = iter(_sign_changes(lambda tau: threshold - self.profile(tau).rss, brackets, 1e-7))
        return next(found) if lower else None, next(found) if upper else None

    def _beyond(self, inside: float, threshold: float) -> tuple[float, float] | None:
        """Return the bracket of an upper end beyond the grid, or None when it is out of reach of double precision."""
        for _ in range(4):
            outside = inside * 10
            if float(self.profile(np.array([outside])).rss[0]) > threshold:
                return outside, inside
            inside = outside
        return None


def _point(fits: Profile, i: int) -> Optimum:
    return Optimum(
        float(fits.tau[i]),
        float(fits.amplitude[i]),
        float(fits.floor[i]),
        float(fits.rss[i]),
        ACTIVE[int(fits.active[i])],
        None,
    )


def basis_sums(
    tau: Floats, mean_fall: Floats, see: Floats, bounds: Bounds, shift: float, total: float | Floats, e: Floats
) -> Basis:
    """Return the sums of the basis from the mean of 1 - e and the sum of squares of e about its mean."""
    if bounds == "nonneg":
        return Basis(e, 1.0 - mean_fall, see, np.full_like(tau, np.inf), see, see)
    ceiling = np.exp(-shift / tau)
    mean_h = ceiling * mean_fall - np.expm1(-shift / tau)
    return Basis(e, 1.0 - mean_fall, see, ceiling, mean_h, ceiling**2 * see + total * mean_h**2)


def best_lines(
    basis: Basis, sey: Floats, bounds: Bounds, mean: float | Floats, total: float | Floats, sst: float | Floats
) -> Lines:
    """Return the least-squares lines y = A e + b under the bounds, for each tau.

    `sey` is the sum of (e - mean e)(y - mean y), `mean`, `total` and `sst` are of y: its mean, the sum of weights and
    the sum of squares about the mean. All broadcast, so that many samples of y can be solved at once.
    """
    unit = bounds == "unit"
    ceiling = basis.ceiling
    free = sey / basis.see
    rest = mean - free * basis.mean
    feasible = (free > 0) & (rest >= 0)
    if unit:
        feasible &= free + ceiling * rest <= ceiling
    if feasible.all():
        return Lines(free, rest, np.zeros(feasible.shape, dtype=np.int64), sst - free * sey)

    def excess(amplitude: Floats, floor: Floats) -> Floats:
        offset: Floats = mean - amplitude * basis.mean - floor
        return amplitude * (amplitude * basis.see - 2.0 * sey) + total * offset**2

    amplitude = np.clip((sey + total * basis.mean * mean) / (basis.see + total * basis.mean**2), 0.0, ceiling)
    floor = np.zeros_like(amplitude)
    active = np.full(amplitude.shape, _NO_FLOOR)
    cost = excess(amplitude, floor)
    constant = np.broadcast_to(np.clip(mean, 0.0, 1.0 if unit else np.inf), floor.shape)
    edges = [(_NO_AMPLITUDE, np.zeros_like(floor), constant)]
    if unit:
        drop = np.clip((total * basis.mean_h * (1.0 - mean) + ceiling * sey) / basis.shh, 0.0, 1.0)
        edges.append((_FULL_START, ceiling * drop, 1.0 - drop))
    for code, edge_amplitude, edge_floor in edges:
        edge_cost = excess(edge_amplitude, edge_floor)
        better = edge_cost <= cost
        amplitude = np.where(better, edge_amplitude, amplitude)
        floor = np.where(better, edge_floor, floor)
        active = np.where(better, code, active)
        cost = np.where(better, edge_cost, cost)
    active = np.where((active != _NO_AMPLITUDE) & (floor <= 0) & (amplitude >= ceiling), _CORNER, active)
    active = np.where(amplitude <= 0, _NO_AMPLITUDE, active)
    return Lines(
        np.where(feasible, free, amplitude),
        np.where(feasible, rest, floor),
        np.where(feasible, _INTERIOR, active),
        sst + np.where(feasible, -free * sey, cost),
    )


def _sign_changes(
    function: Callable[[Floats], Floats], brackets: Sequence[tuple[float, float]], tolerance: float
) -> list[float]:
    """Return for each bracket (start, stop) of decay times the first one from start at which the function is positive.

    At the start it is not positive, at the stop it is. Each round cuts the brackets (in log tau) into sections and adds
    a pair of nodes around the guess of an inverse cubic, as far apart as that may err: one call of `function` a round,
    and where the function is smooth, three rounds end below any `tolerance`.
    """
    ends = [(math.log(start), math.log(stop)) for start, stop in brackets]
    guesses = [0.5 * (low + high) for low, high in ends]
    going = list(range(len(ends)))
    for _ in range(60):
        if not going:
            break
        nodes = [_nodes(*ends[k], guesses[k]) for k in going]
        values = function(np.exp(np.concatenate(nodes)))
        left = []
        for place, k in enumerate(going):
            mine = values[place * _NODES : (place + 1) * _NODES]
            positive = mine[1:] > 0
            right = int(positive.argmax()) + 1 if positive.any() else _NODES - 1
            width = abs(ends[k][1] - ends[k][0])
            low, high = float(nodes[place][right - 1]), float(nodes[place][right])
            ends[k], guesses[k] = (low, high), _root(nodes[place], mine, right)
            if tolerance < abs(high - low) < width:
                left.append(k)
        going = left
    return [math.exp(guess) for guess in guesses]


def _nodes(low: float, high: float, guess: float) -> Floats:
    """Return the nodes of a round from `low` to `high`, which may be the smaller one."""
    width = high - low
    nodes: Floats = low + width * _SECTION_NODES
    # An inverse cubic errs by the fourth power of the distance of its nodes; no less than log tau can hold.
    reach = max(2.0 * abs(width) ** 3, 2e-15 * max(abs(guess), 1.0))
    near, far = (low, high) if width > 0 else (high, low)
    nodes[1] = min(max(guess - reach, near), far)
    nodes[2] = min(max(guess + reach, near), far)
    nodes.sort()
    return nodes if width > 0 else nodes[::-1]


def _root(nodes: Floats, values: Floats, right: int) -> float:
    """Return where the function is zero between nodes right - 1 and right.

    By inverse cubic interpolation over four nodes, or the secant where that leaves the two.
    """
    low, high = float(nodes[right - 1]), float(nodes[right])
    start = min(max(right - 2, 0), len(nodes) - 4)
    x, y = nodes[start : start + 4].tolist(), values[start : start + 4].tolist()
    if len(set(y)) == 4:
        guess = 0.0
        for i in range(4):
            term = x[i] - low
            for j in range(4):
                if j != i:
                    term *= y[j] / (y[j] - y[i])
            guess += term
        if min(low, high) < low + guess < max(low, high):
            return float(low + guess)
    below, above = -float(values[right - 1]), float(values[right])
    share = below / (below + above) if below >= 0 and above > 0 else 0.5
    return low + share * (high - low)


def blocks(rows: int, width: int, limit: int = _BLOCK) -> Iterator[slice]:
    """Cut `rows` rows of `width` numbers into slices of at most `limit` numbers.

    >>> list(blocks(5, 10, limit=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    step = max(limit // max(width, 1), 1)
    for start in range(0, rows, step):
        yield slice(start, start + step)
