"""The half-life of any responses with ages: recall of a backbone, a model or an agent by the age of the evidence.

The curve is the exact least-squares fit to the rows. Rows are right or wrong, and rows of one episode succeed and fail
together, so nothing else is taken from single rows:

- R2 and the score range that the gates judge are those of age bins (at most 24, with equally many rows): single scores
  of 0 and 1 scatter about any curve, bin means do not.
- The interval comes from redrawing whole episodes; a redraw without decay counts as shorter and longer than anything.
- The test shuffles scores within their episode where episodes hold several ages; where each has one, whole episodes
  change places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memgauge.errors import InputError
from memgauge.metrics.half_life import (
    CONFIDENCE,
    LARGEST,
    LN2,
    Gate,
    HalfLifeResult,
    check_options,
    describe_support,
    judge,
    not_applicable,
    profile_fit,
    support_reason,
)
from memgauge.metrics.half_life_permutation import thresholds
from memgauge.metrics.half_life_profile import SLACK, Bounds, DecayProblem, Floats, basis_sums, best_lines, blocks
from memgauge.metrics.inference import Resampler, ratio_intervals
from memgauge.progress import Progress
from memgauge.seeding import generator

BINS = 24
PERMUTATIONS = 999
REDRAWS = 999
_GRID = 128
_BLOCK = 1 << 21

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Rows:
    """Rows sorted by episode: `age` [n] indexes `ages` [K], `episode` [n] counts from 0."""

    ages: Floats
    age: Ints
    score: Floats
    episode: Ints

    @property
    def episodes(self) -> int:
        return int(self.episode[-1]) + 1

    def by_age(self, values: Floats | None = None) -> Floats:
        return np.bincount(self.age, values, minlength=len(self.ages)).astype(np.float64)


def fit_half_life_rows(
    ages: ArrayLike,
    scores: ArrayLike,
    episodes: Sequence[object] | NDArray[Any],
    *,
    bounds: Bounds = "unit",
    gate: Gate = "strict",
    permutations: int = PERMUTATIONS,
    redraws: int = REDRAWS,
    seed: int = 0,
    t_ref: float | None = None,
    unit: str = "tokens",
) -> HalfLifeResult:
    """Fit the decay of `scores` [n] over `ages` [n] (zero or more) of rows that belong to `episodes` [n].

    The result's `extra` holds the age bins with their intervals, R2 over the rows, and how the rows were shuffled.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ages = np.tile(np.arange(1, 65), 40)
    >>> right = rng.random(ages.size) < 0.5 * np.exp(-ages / 20) + 0.45
    >>> result = fit_half_life_rows(ages, right, np.repeat(np.arange(40), 64), unit="tokens")
    >>> result.status, bool(result.fit.interval[0] < 20 * LN2 < result.fit.interval[1])
    ('ok', True)
    """
    check_options(bounds, gate, "profile", permutations, t_ref)
    age, score = np.asarray(ages, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    labels = np.unique(np.asarray(episodes), return_inverse=True)[1].ravel()
    if age.ndim != 1 or age.shape != score.shape or age.shape != labels.shape:
        raise InputError(
            f"ages, scores and episodes must be of one length, got {age.shape}, {score.shape}, {labels.shape}"
        )
    blank = not_applicable("insufficient_pairs", bounds=bounds, gate=gate, t_ref=t_ref, unit=unit)
    least, most = (-SLACK, 1 + SLACK) if bounds == "unit" else (-LARGEST, LARGEST)
    for bad, reason, what in (
        (~np.isfinite(age) | ~np.isfinite(score), "non_finite", "age or score is not finite"),
        ((age < 0) | (age > LARGEST), "invalid_gap", "the age is negative or out of reach"),
        ((score < least) | (score > most), "fidelity_out_of_range", "the score is out of range"),
    ):
        if bad.any():
            detail = f"row {int(bad.argmax()) + 1}: {what}"
            return not_applicable(reason, detail, bounds=bounds, gate=gate, t_ref=t_ref, unit=unit)
    order = np.argsort(labels, kind="stable")
    distinct, place = np.unique(age[order], return_inverse=True)
    rows = _Rows(distinct, place.astype(np.int64), score[order], labels[order].astype(np.int64))
    support = describe_support(age, score, labels.astype(np.int64))
    if not age.size:
        return replace(blank, support=support)
    resampler = Resampler(max(redraws, 100), seed)
    edges, table = _bins(rows, resampler)
    means = np.array([line["mean"] for line in table])
    support = replace(support, score_min=float(means.min()), score_max=float(means.max()))
    extra: dict[str, Any] = {"bins": table, "episode_count": rows.episodes, "permuted": None}
    warnings = ("pairs_not_independent",) if rows.episodes < 5 else ()
    blank = replace(blank, support=support, extra=extra, warnings=warnings)
    refused = support_reason(support)
    if refused:
        verdicts = not_applicable(refused).gates
        return replace(blank, gates=verdicts)
    count = rows.by_age()
    mean = rows.by_age(rows.score) / count
    within = float(((rows.score - mean[rows.age]) ** 2).sum())
    problem = DecayProblem(distinct, mean, bounds, count, within)
    fit = profile_fit(problem, t_ref)
    extra = {**extra, "r2_rows": fit.r2, "r2_over": f"{len(table)} age bins", "interval_method": "redrawn episodes"}
    fit = replace(fit, r2=_binned_r2(fit.value(distinct), mean, count, edges), f_statistic=None, interval=(None, None))
    if fit.tau is not None and rows.episodes > 1:
        redrawn = redrawn_tau(rows, problem, resampler)
        fit = replace(
            fit,
            interval=_ends(redrawn, rows.episodes, 0.5 + CONFIDENCE / 2),
            one_sided=_ends(redrawn, rows.episodes, CONFIDENCE),
        )
    within_episodes = _shuffles_within(rows)
    extra["permuted"] = "rows_within_episodes" if within_episodes else "whole_episodes"
    if permutations:
        fit = replace(fit, p_permutation=_permutation_p(rows, problem, permutations, seed, within_episodes))
    return replace(blank, gates=judge(fit, support), fit=fit, extra=extra)


def _bins(rows: _Rows, resampler: Resampler) -> tuple[Ints, list[dict[str, Any]]]:
    """Return the edges of the age bins among the distinct ages [B + 1], and each bin's mean with its interval."""
    count = rows.by_age()
    share = np.cumsum(count) / count.sum()
    number = np.minimum((share - 0.5 * count / count.sum()) * BINS, BINS - 1).astype(np.int64)
    if len(rows.ages) <= BINS:
        number = np.arange(len(rows.ages))
    starts = np.flatnonzero(np.r_[True, np.diff(number) > 0])
    edges = np.r_[starts, len(rows.ages)].astype(np.int64)
    place = np.searchsorted(edges, rows.age, side="right") - 1
    cell = rows.episode * len(starts) + place
    shape = (rows.episodes, len(starts))
    sums = np.bincount(cell, rows.score, minlength=shape[0] * shape[1]).reshape(shape)
    asked = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    spread = (min(float(rows.score.min()), 0.0), max(float(rows.score.max()), 1.0))
    found = ratio_intervals(sums, asked, resampler, bounds=spread)
    table = []
    for k in range(len(starts)):
        inside = slice(edges[k], edges[k + 1])
        estimate = found.estimate(k)
        table.append(
            {
                "age_low": float(rows.ages[edges[k]]),
                "age_high": float(rows.ages[edges[k + 1] - 1]),
                "age_mean": float(np.average(rows.ages[inside], weights=count[inside])),
                "rows": int(count[inside].sum()),
                "mean": float(sums[:, k].sum() / asked[:, k].sum()),
                "low": estimate["low"],
                "high": estimate["high"],
            }
        )
    return edges, table


def _binned_r2(curve: Floats, mean: Floats, count: Floats, edges: Ints) -> float | None:
    """Return 1 - RSS / SST of bin means about the bin means of the curve, bins weighted by their rows."""
    weight = np.add.reduceat(count, edges[:-1])
    seen = np.add.reduceat(count * mean, edges[:-1]) / weight
    fitted = np.add.reduceat(count * curve, edges[:-1]) / weight
    total = float(weight @ (seen - np.average(seen, weights=weight)) ** 2)
    return 1.0 - float(weight @ (seen - fitted) ** 2) / total if total > 0 else None


def redrawn_tau(rows: _Rows, problem: DecayProblem, resampler: Resampler) -> tuple[Floats, Floats]:
    """Return the decay times fitted to redraws of whole episodes, as they count for the lower and for the upper end.

    A redraw that decays beyond an end of the tau grid is zero or infinity; one without decay is zero for the lower
    end and infinity for the upper one. Redraws with a single age are left out.
    """
    grid = problem.grid(_GRID)
    lower, upper = _redrawn_on(grid, rows, problem, resampler)
    fitted = (lower == upper) & (lower > 0) & np.isfinite(lower)
    if fitted.any():
        # Again on a grid over the times that were found: the first one is too coarse for narrow intervals.
        step = grid[1] / grid[0]
        near = np.geomspace(lower[fitted].min() / step**2, lower[fitted].max() * step**2, _GRID)
        exact, _ = _redrawn_on(near, rows, problem, resampler)
        lower[fitted] = upper[fitted] = exact[fitted]
    return lower, upper


def _redrawn_on(tau: Floats, rows: _Rows, problem: DecayProblem, resampler: Resampler) -> tuple[Floats, Floats]:
    """Return what `redrawn_tau` returns, from the fits on a grid of decay times."""
    fall = -np.expm1(-problem.u / tau[:, None])  # [G, K]
    cell = rows.episode * len(rows.ages) + rows.age
    present, inverse = np.unique(cell, return_inverse=True)
    asked = np.bincount(inverse).astype(np.float64)
    score = np.bincount(inverse, rows.score)
    owner, at = present // len(rows.ages), present % len(rows.ages)
    starts = np.flatnonzero(np.r_[True, np.diff(owner) > 0])
    columns = (asked, score, np.bincount(inverse, rows.score**2))
    plain = np.stack([np.add.reduceat(column, starts) for column in columns], axis=1)  # [E, 3]
    sums = np.empty((rows.episodes, 3 * _GRID))
    for k in range(_GRID):
        here = fall[k, at]
        for part, column in enumerate((asked * here, asked * here**2, score * here)):
            sums[:, part * _GRID + k] = np.add.reduceat(column, starts)
    # The redraws are weighed in double precision: sums of squares are differences of these.
    lower, upper = [], []
    for weights in resampler.weights(rows.episodes):
        draw = weights.astype(np.float64)
        for block in blocks(len(draw), 3 * _GRID + rows.episodes, _BLOCK):
            low, high = _best_tau(draw[block] @ plain, draw[block] @ sums, tau, problem)
            lower.append(low)
            upper.append(high)
    return np.concatenate(lower), np.concatenate(upper)


def _best_tau(plain: Floats, sums: Floats, tau: Floats, problem: DecayProblem) -> tuple[Floats, Floats]:
    count, total, squares = plain[:, :1], plain[:, 1:2], plain[:, 2:3]
    one, two, with_score = np.split(sums, 3, axis=1)
    mean, mean_fall = total / count, one / count
    sst = squares - count * mean**2
    see = two - count * mean_fall**2
    # A tau far below the ages of a redraw tells them not apart: there the constant is all there is.
    apart = see > 1e-12 * two
    usable = apart.any(axis=1)
    sey = -np.where(apart, with_score - count * mean_fall * mean, 0.0)[usable]
    see = np.where(apart, see, 1.0)[usable]
    count, mean, mean_fall, sst = (part[usable] for part in (count, mean, mean_fall, sst))
    basis = basis_sums(tau, mean_fall, see, problem.bounds, problem.shift, count, mean_fall)
    lines = best_lines(basis, sey, problem.bounds, mean, count, sst)
    best = lines.rss.argmin(axis=1)
    rows = np.arange(len(best))
    least = lines.rss[rows, best]
    inner = np.clip(best, 1, len(tau) - 2)
    left, middle, right = (lines.rss[rows, inner + shift] for shift in (-1, 0, 1))
    bend = left - 2 * middle + right
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(bend > 0, np.clip(0.5 * (left - right) / bend, -1, 1), 0.0)
    found = np.exp(np.log(tau[inner]) + shift * np.log(tau[1] / tau[0]))
    slack = SLACK * sst[:, 0]
    ends = lines.rss[:, [0, -1]] - slack[:, None]
    flat = (lines.amplitude[rows, best] <= 0) | (least >= ends.max(axis=1))
    short, long = least >= ends[:, 0], least >= ends[:, 1]
    lower = np.where(flat | short, 0.0, np.where(long, np.inf, found))
    upper = np.where(flat | long, np.inf, np.where(short, 0.0, found))
    return lower, upper


def _ends(redrawn: tuple[Floats, Floats], episodes: int, level: float) -> tuple[float | None, float | None]:
    """Return the percentile ends as half-lives, the levels widened for few episodes as those of Student's t."""
    from scipy.special import ndtr, stdtrit

    lower, upper = np.sort(redrawn[0]), np.sort(redrawn[1])
    if not lower.size:
        return None, None
    reach = stdtrit(episodes - 1, level) * np.sqrt(episodes / (episodes - 1))
    low = float(lower[int(np.floor(ndtr(-reach) * (len(lower) - 1)))])
    high = float(upper[int(np.ceil(ndtr(reach) * (len(upper) - 1)))])
    return (low * LN2 if 0 < low < np.inf else None), (high * LN2 if 0 < high < np.inf else None)


def _shuffles_within(rows: _Rows) -> bool:
    """Return whether at least half of the rows lie in episodes with more than one age."""
    starts = np.flatnonzero(np.r_[True, np.diff(rows.episode) > 0])
    mixed = np.maximum.reduceat(rows.age, starts) > np.minimum.reduceat(rows.age, starts)
    return bool(mixed[rows.episode].mean() >= 0.5)


def _permutation_p(rows: _Rows, problem: DecayProblem, permutations: int, seed: int, within: bool) -> float:
    basis = problem.basis(problem.grid(_GRID))
    limits = thresholds(problem, basis)
    kept = np.isfinite(limits)
    table, limits = basis.e[kept].T, limits[kept]
    centred = rows.score - problem.mean
    hits = 0
    with Progress("permutations", permutations) as bar:
        for drawn in _shuffled(rows, centred, permutations, seed, within):
            by_age = np.stack([rows.by_age(one) for one in drawn])
            hits += int((by_age @ table >= limits).any(axis=1).sum())
            bar.advance(len(drawn))
    return (1 + hits) / (1 + permutations)


def _shuffled(rows: _Rows, values: Floats, permutations: int, seed: int, within: bool) -> Iterator[Floats]:
    """Yield blocks of shuffled values, shape [block, n]."""
    rng = generator(seed, "half-life", "rows")
    sizes = np.bincount(rows.episode)
    even = bool((sizes == sizes[0]).all())
    for block in blocks(permutations, len(values), _BLOCK):
        count = min(block.stop, permutations) - block.start
        if not within:
            ranks = rng.permuted(np.tile(np.arange(rows.episodes), (count, 1)), axis=1)
            yield values[np.argsort(ranks[:, rows.episode], axis=1, kind="stable")]
        elif even:
            table = np.tile(values.reshape(rows.episodes, -1), (count, 1))
            yield rng.permuted(table, axis=1).reshape(count, -1)
        else:
            yield values[np.argsort(rows.episode + rng.random((count, len(values))), axis=1)]
