"""Memory half-life: the exponential decay of a score with the age of what is remembered.

f(t) = a exp(-t / tau) + b, half-life = tau ln 2, raw = clamp(half-life / t_ref, 0, 1) (Memory Half Life, equations 1
to 3). The fit is exact least squares (see `half_life_profile`); two gates judge it. `seed` makes the published
support checks: at least five pairs, more than one gap, a score range of 0.02, R2 of 0.3. `strict`, an extension and
the default, also asks that the data can carry the number: three distinct gaps, a permutation test, a half-life no
shorter than the smallest gap, and an interval with an upper end. What a gate refuses is `not_applicable`, with the
reason by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memgauge.errors import InputError, unknown_name
from memgauge.metrics.half_life_permutation import MINIMUM_EVENTS, permutation_p
from memgauge.metrics.half_life_profile import SLACK, Bounds, DecayProblem, Floats, Optimum, Profile
from memgauge.metrics.half_life_result import DecayFit, Gate, HalfLifeResult, Method, Support, Verdict
from memgauge.metrics.half_life_swept import swept_fit

MINIMUM_PAIRS = 5
MINIMUM_DISTINCT_GAPS = 3
MINIMUM_RANGE = 0.02
MINIMUM_R2 = 0.3
SIGNIFICANCE = 0.05
CONFIDENCE = 0.95
LN2 = math.log(2.0)
T_REF = 60.0  # seconds
LARGEST = 1e100  # of an age or a score: squares stay within double precision

__all__ = [
    "Bounds", "DecayFit", "Gate", "HalfLifeResult", "Method", "Support", "Verdict", "describe_support", "fit_half_life",
    "not_applicable",
]  # fmt: skip


def fit_half_life(
    ages: ArrayLike,
    scores: ArrayLike,
    *,
    bounds: Bounds = "unit",
    gate: Gate = "strict",
    permutations: int = 9999,
    seed: int = 0,
    t_ref: float | None = T_REF,
    method: Method = "profile",
    events: ArrayLike | None = None,
    unit: str = "seconds",
    names: Sequence[str] | None = None,
) -> HalfLifeResult:
    """Fit the decay of `scores` [n] over `ages` [n] and judge it by both gates.

    Parameters
    ----------
    ages, scores
        One observation each: the age in `unit` (positive) and the score.
    bounds
        "unit": a, b >= 0 and a + b <= 1, since a fidelity cannot exceed 1; "nonneg": a, b >= 0 for other scores.
    gate
        Whose verdict `status`, `half_life`, `tau` and `raw` follow. "strict" needs `method="profile"`.
    permutations
        Random orders for the test when there are more than eight observations; 0 leaves the test out, and the strict
        gate then refuses (`significance_not_tested`).
    t_ref
        The reference window of `raw`, in `unit`; None leaves `raw` out.
    method
        "profile": exact least squares. "swept": the public log-linear sweep, biased, for comparison only.
    events
        The event (sweep of the camera, episode) of each observation, if known; with five or more, whole events are
        permuted.
    names
        What to call each observation in messages (default "pair 1", "pair 2", ...).

    Examples
    --------
    >>> gaps = np.arange(1.0, 60.0, 5.0)
    >>> result = fit_half_life(gaps, 0.6 * np.exp(-gaps / 20.0) + 0.3)
    >>> result.status, round(result.half_life, 6), round(result.raw, 6)
    ('ok', 13.862944, 0.231049)
    >>> fit_half_life(gaps, np.linspace(0.3, 0.7, 12)).reason
    'no_decay'
    """
    check_options(bounds, gate, method, permutations, t_ref)
    gaps, values = np.asarray(ages, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if gaps.ndim != 1 or gaps.shape != values.shape:
        raise InputError(f"ages and scores must be two lists of one length, got shapes {gaps.shape} and {values.shape}")
    groups = None if events is None else np.unique(np.asarray(events), return_inverse=True)[1].astype(np.int64)
    if groups is not None and groups.shape != gaps.shape:
        raise InputError(f"events must name one event an observation: got {groups.size} for {gaps.size}")
    blank = HalfLifeResult(gate, {}, method, bounds, t_ref, unit)
    fault = _row_fault(gaps, values, bounds, names)
    if fault:
        return replace(blank, gates=_both(fault[0]), detail=fault[1])
    support = describe_support(gaps, values, groups)
    blank = replace(blank, support=support, warnings=_warnings(support))
    reason = support_reason(support)
    if reason:
        return replace(blank, gates=_both(reason), support=support if support.pairs else None)
    problem = DecayProblem(gaps, values, bounds)
    if method == "swept":
        return _swept_result(blank, problem)
    fit = profile_fit(problem, t_ref)
    p = permutation_p(problem, permutations=permutations, seed=seed, events=groups)
    fit = replace(fit, p_permutation=p)
    return replace(blank, gates=judge(fit, support), fit=fit)


def check_options(bounds: str, gate: str, method: str, permutations: int, t_ref: float | None) -> None:
    """Raise InputError for an option that no fit can use."""
    for kind, name, known in (
        ("bounds", bounds, ("unit", "nonneg")),
        ("gate", gate, ("strict", "seed")),
        ("method", method, ("profile", "swept")),
    ):
        if name not in known:
            raise unknown_name(kind, name, known)
    if method == "swept" and gate == "strict":
        raise InputError("the swept method has no interval and no test: choose the gate 'seed' with it")
    if permutations < 0 or 0 < permutations < 19:
        raise InputError(f"permutations must be 0 or at least 19 (fewer cannot reach p = 0.05), got {permutations}")
    if t_ref is not None and not (math.isfinite(t_ref) and t_ref > 0):
        raise InputError(f"t_ref must be a positive number, got {t_ref}")


def not_applicable(
    reason: str,
    detail: str | None = None,
    *,
    bounds: Bounds = "unit",
    gate: Gate = "strict",
    method: Method = "profile",
    t_ref: float | None = T_REF,
    unit: str = "seconds",
) -> HalfLifeResult:
    """Return the result of a measurement that ended before the fit (no poses, never returned, ...)."""
    return HalfLifeResult(gate, _both(reason), method, bounds, t_ref, unit, detail)


def describe_support(gaps: Floats, values: Floats, groups: NDArray[np.int64] | None = None) -> Support:
    """Return the counts and ranges of finite observations, arrays [n]."""
    if not gaps.size:
        return Support(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, None if groups is None else 0)
    return Support(
        int(gaps.size),
        int(np.unique(gaps).size),
        float(gaps.min()),
        float(gaps.max()),
        float(values.min()),
        float(values.max()),
        float(values.mean()),
        None if groups is None else int(np.unique(groups).size),
    )


def support_reason(support: Support) -> str | None:
    """Return why there is too little to fit, or None."""
    if support.pairs < MINIMUM_PAIRS:
        return "insufficient_pairs"
    if support.distinct_gaps < 2:
        return "single_gap"
    if support.score_max - support.score_min < MINIMUM_RANGE - SLACK:
        return "flat_fidelity"
    return None


def profile_fit(problem: DecayProblem, t_ref: float | None) -> DecayFit:
    """Return the exact least-squares fit with its profile interval; the permutation p is left out."""
    grid = problem.profile(problem.grid())
    best = problem.optimum(grid)
    n = len(problem.gaps)
    decays = best.edge is None and best.amplitude > 0
    interval: tuple[float | None, float | None] = (None, None)
    one_sided = interval
    if decays:
        interval = _interval(problem, grid, best, 0.5 + CONFIDENCE / 2)
        if interval[1] is None or best.tau * LN2 < problem.shift:
            one_sided = _interval(problem, grid, best, CONFIDENCE)
    tau = best.tau if decays else None
    half_life = _scaled(tau)
    return DecayFit(
        tau=tau,
        half_life=half_life,
        raw=raw_score(half_life, t_ref),
        a=_at_zero(best.amplitude, problem.shift, best.tau),
        b=best.floor,
        at_smallest_gap=best.amplitude + best.floor,
        rss=best.rss,
        r2=_r2(best.rss, problem.sst),
        f_statistic=_finite(0.5 * (problem.sst - best.rss) * (n - 3), best.rss),
        p_permutation=None,
        interval=interval,
        one_sided=one_sided,
        active=best.active,
        edge=best.edge,
    )


def _interval(problem: DecayProblem, grid: Profile, best: Optimum, level: float) -> tuple[float | None, float | None]:
    """Return the half-lives whose RSS is at most RSSmin (1 + t**2 / (n - 3)), t being Student's quantile at `level`.

    F(1, n - 3) at 95 % is the square of t at 97.5 %.
    """
    from scipy.special import stdtrit

    degrees = len(problem.gaps) - 3
    low, high = problem.interval(grid, best, best.rss * (1.0 + float(stdtrit(degrees, level)) ** 2 / degrees))
    return _scaled(low), _scaled(high)


def judge(fit: DecayFit, support: Support) -> dict[str, Verdict]:
    """Return the verdicts of both gates on a fit with its permutation p, the reasons in the published order."""
    seed = _seed_reason(fit)
    strict = seed or _strict_reason(fit, support)
    return {"seed": Verdict(seed), "strict": Verdict(strict)}


def _seed_reason(fit: DecayFit) -> str | None:
    if fit.tau is None or not math.isfinite(fit.tau) or fit.tau <= 0:
        return "no_decay"
    if fit.r2 is None or fit.r2 < MINIMUM_R2:
        return "unreliable_fit"
    return None


def _strict_reason(fit: DecayFit, support: Support) -> str | None:
    if support.distinct_gaps < MINIMUM_DISTINCT_GAPS:
        return "unidentified_decay"
    if fit.p_permutation is None:
        return "significance_not_tested"
    if fit.p_permutation > SIGNIFICANCE:
        return "not_significant"
    if fit.half_life is not None and fit.half_life < support.gap_min:
        return "resolution_limited"
    if fit.interval[1] is None:
        return "unbounded_interval"
    return None


def _swept_result(blank: HalfLifeResult, problem: DecayProblem) -> HalfLifeResult:
    found = swept_fit(problem.gaps, problem.scores)
    strict = Verdict("method_without_interval")
    if found is None:
        return replace(blank, gates={"seed": Verdict("no_decay"), "strict": strict})
    half_life = found.tau * LN2
    fit = DecayFit(
        tau=found.tau,
        half_life=half_life,
        raw=raw_score(half_life, blank.t_ref),
        a=found.a if math.isfinite(found.a) else None,
        b=found.b,
        at_smallest_gap=found.a * math.exp(-problem.shift / found.tau) + found.b if math.isfinite(found.a) else found.b,
        rss=found.rss,
        r2=_r2(found.rss, problem.sst),
        f_statistic=None,
        p_permutation=None,
    )
    return replace(blank, gates={"seed": Verdict(_seed_reason(fit)), "strict": strict}, fit=fit)


def _row_fault(gaps: Floats, values: Floats, bounds: Bounds, names: Sequence[str] | None) -> tuple[str, str] | None:
    """Return the reason and the text for the first observation that no fit can use."""
    out = (values < -SLACK) | (values > 1 + SLACK) if bounds == "unit" else np.abs(values) > LARGEST
    allowed = "0 to 1 (bounds 'nonneg' take any score)" if bounds == "unit" else f"{-LARGEST:g} to {LARGEST:g}"
    for bad, reason, text in (
        (~np.isfinite(gaps), "non_finite", "the gap is {gap}"),
        (~np.isfinite(values), "non_finite", "the fidelity is {value}"),
        (gaps <= 0, "invalid_gap", "the gap {gap} is not positive"),
        # Squares and quotients of such numbers leave the range of double precision.
        ((gaps > LARGEST) | (gaps < 1 / LARGEST), "invalid_gap", "the gap {gap} is out of reach"),
        (out, "fidelity_out_of_range", f"the fidelity {{value}} lies outside {allowed}"),
    ):
        if bad.any():
            i = int(bad.argmax())
            name = names[i] if names is not None else f"pair {i + 1}"
            return reason, f"{name}: {text.format(gap=float(gaps[i]), value=float(values[i]))}"
    return None


def _warnings(support: Support) -> tuple[str, ...]:
    few = support.events is not None and support.events < MINIMUM_EVENTS
    return ("pairs_not_independent",) if few else ()


def _both(reason: str) -> dict[str, Verdict]:
    return {"seed": Verdict(reason), "strict": Verdict(reason)}


def raw_score(half_life: float | None, t_ref: float | None) -> float | None:
    """Return clamp(half_life / t_ref, 0, 1), or None when either is missing."""
    return None if half_life is None or t_ref is None else min(max(half_life / t_ref, 0.0), 1.0)


def _scaled(tau: float | None) -> float | None:
    return None if tau is None else tau * LN2


def _at_zero(amplitude: float, shift: float, tau: float) -> float | None:
    """Return a = A exp(t_min / tau), or None where it overflows."""
    if amplitude <= 0:
        return 0.0
    grown = amplitude * math.exp(min(shift / tau, 700.0))
    return grown if shift / tau < 700 and math.isfinite(grown) else None


def _r2(rss: float, sst: float) -> float | None:
    ratio = _finite(rss, sst)
    return None if ratio is None else 1.0 - ratio


def _finite(above: float, below: float) -> float | None:
    """Return above / below, or None where that is not a finite number."""
    if below <= 0 or not math.isfinite(above):
        return None
    ratio = above / below
    return ratio if math.isfinite(ratio) else None
