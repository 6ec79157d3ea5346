"""The half-life fit against published vectors, optimality conditions and the plain permutation test."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f as f_distribution

from memgauge.errors import InputError
from memgauge.metrics.half_life import fit_half_life
from memgauge.metrics.half_life_permutation import permutation_p
from memgauge.metrics.half_life_profile import DecayProblem
from memgauge.metrics.half_life_swept import swept_fit

CASES = json.loads((Path(__file__).parent.parent / "data" / "half_life.json").read_text())
FIT = [(case, bounds) for case in CASES["fit"] for bounds in case["expected"]]
LN2 = math.log(2)


def numbers(values: list[Any]) -> np.ndarray:
    return np.array([float(v) for v in values])


@pytest.mark.parametrize(("case", "bounds"), FIT, ids=[f"{case['id']}-{bounds}" for case, bounds in FIT])
def test_published_fits(case: dict[str, Any], bounds: Any) -> None:
    want = case["expected"][bounds]
    result = fit_half_life(case["gaps"], case["fidelities"], bounds=bounds, gate="seed")
    fit = result.fit
    assert fit is not None
    assert fit.half_life is not None
    assert fit.tau is not None
    exact = want["rss"] == 0.0
    assert fit.half_life == pytest.approx(want["half_life"], rel=1e-9 if exact else 1e-7)
    assert fit.tau == pytest.approx(want["tau"], rel=1e-9 if exact else 1e-7)
    assert fit.r2 == pytest.approx(want["r2"], abs=1e-9)
    assert fit.a == pytest.approx(want["a"], rel=1e-7)
    assert fit.b == pytest.approx(want["b"], rel=1e-7, abs=1e-12)
    assert fit.at_smallest_gap == pytest.approx(want["f_at_min_gap"], rel=1e-9)
    assert fit.raw == pytest.approx(want["raw_60"], rel=1e-7)
    assert fit.active == want["active"]
    if "half_life_ci95" in want:
        assert fit.interval == pytest.approx(want["half_life_ci95"], rel=1e-6)
        assert fit.f_statistic == pytest.approx(want["F2"], rel=1e-6)
    if "permutation_p_exact" in want:
        assert fit.p_permutation == pytest.approx(want["permutation_p_exact"], abs=0.002)
    assert (result.status, result.half_life) == ("ok", fit.half_life)
    if case["strict_status"] == "ok":
        strict = fit_half_life(case["gaps"], case["fidelities"], bounds=bounds)
        assert (strict.status, strict.half_life, strict.raw) == ("ok", fit.half_life, fit.raw)


@pytest.mark.parametrize("case", CASES["not_applicable"], ids=[case["id"] for case in CASES["not_applicable"]])
def test_published_refusals(case: dict[str, Any]) -> None:
    strict_only = "STRICTER THAN SEED" in case["note"]
    gaps, scores = numbers(case["gaps"]), numbers(case["fidelities"])
    result = fit_half_life(gaps, scores, gate="strict" if strict_only else "seed")
    assert (result.status, result.reason) == ("not_applicable", case["reason"])
    assert (result.half_life, result.tau, result.raw) == (None, None, None)
    assert result.gates["strict"].reason == case["reason"]
    assert result.gates["seed"].reason == (None if strict_only else case["reason"])
    json.dumps(result.to_dict(), allow_nan=False)
    for bounds, want in case.get("info", {}).items():
        fit = fit_half_life(gaps, scores, bounds=bounds).fit
        assert fit is not None
        if "half_life" in want and want.get("half_life_ci95", [0])[0] is not None:
            assert fit.half_life == pytest.approx(want["half_life"], rel=1e-7)
            assert fit.interval == pytest.approx(want["half_life_ci95"], rel=1e-6)
        if "permutation_p_exact" in want:
            assert fit.p_permutation == pytest.approx(want["permutation_p_exact"], abs=0.002)


@pytest.mark.parametrize("case", [c for c in CASES["fit"] + CASES["not_applicable"] if "swept_offset_r2" in c])
def test_swept_reproduces_the_public_numbers(case: dict[str, Any]) -> None:
    gaps, scores = numbers(case["gaps"]), numbers(case["fidelities"])
    found = swept_fit(gaps, scores)
    if case["swept_offset_loglinear_half_life"] is None:
        assert found is None
        return
    assert found is not None
    assert found.tau * LN2 == pytest.approx(case["swept_offset_loglinear_half_life"], rel=1e-9)
    assert 1 - found.rss / ((scores - scores.mean()) ** 2).sum() == pytest.approx(case["swept_offset_r2"], abs=1e-9)


observations = st.integers(5, 9).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0.05, 90), min_size=n, max_size=n),
        st.lists(st.floats(0, 1), min_size=n, max_size=n),
    )
)


def usable(gaps: np.ndarray, scores: np.ndarray) -> bool:
    return np.ptp(gaps) > 1e-3 * gaps.max() and np.ptp(scores) > 0.02


@settings(max_examples=150, deadline=None)
@given(observations, st.sampled_from(["unit", "nonneg"]))
def test_each_point_of_the_profile_is_the_constrained_optimum(data: Any, bounds: Any) -> None:
    """A point x of a polygon minimises a convex function exactly when no direction into the polygon goes down."""
    gaps, scores = map(np.array, data)
    if not usable(gaps, scores):
        return
    problem = DecayProblem(gaps, scores, bounds)
    # From tau = a tenth of the gaps on, a exp(-gap / tau) is computable without the shift.
    tau = np.geomspace(gaps.min() / 10, 1e3 * gaps.max(), 40)
    fits = problem.profile(tau)
    for i, t in enumerate(tau):
        design = np.stack([np.exp(-gaps / t), np.ones_like(gaps)], axis=1)
        x = np.array([fits.amplitude[i] * math.exp(gaps.min() / t), fits.floor[i]])
        residual = scores - design @ x
        assert residual @ residual == pytest.approx(fits.rss[i], rel=1e-6, abs=1e-12)
        gradient = -2 * design.T @ residual
        scale = 1e-8 * (1 + np.abs(x).max())
        assert (x >= -1e-12).all()
        if bounds == "unit":
            assert x.sum() <= 1 + 1e-9
            assert all(gradient @ (np.array(v) - x) >= -scale for v in ((0, 0), (1, 0), (0, 1)))
        else:
            assert (gradient >= -scale).all()
            assert abs(gradient @ x) <= scale


@settings(max_examples=100, deadline=None)
@given(observations, st.sampled_from(["unit", "nonneg"]))
def test_no_decay_time_fits_better(data: Any, bounds: Any) -> None:
    gaps, scores = map(np.array, data)
    if not usable(gaps, scores):
        return
    problem = DecayProblem(gaps, scores, bounds)
    grid = problem.profile(problem.grid())
    best = problem.optimum(grid)
    dense = problem.profile(problem.grid(20_001)).rss.min()
    assert best.rss <= dense + 2e-12 * problem.sst
    if best.edge is None:
        threshold = best.rss * 1.5 + 1e-9
        for end, inward in zip(problem.interval(grid, best, threshold), (1.001, 0.999), strict=True):
            if end is not None:
                assert problem.profile(np.array([end])).rss[0] == pytest.approx(threshold, rel=1e-6)
                assert (end < best.tau) == (inward > 1)


@settings(max_examples=20, deadline=None)
@given(observations.filter(lambda d: len(d[0]) <= 6), st.sampled_from(["unit", "nonneg"]), st.booleans())
def test_permutation_p_equals_fitting_every_order(data: Any, bounds: Any, tied: bool) -> None:
    gaps, scores = map(np.array, data)
    if tied:
        gaps = np.ceil(gaps / 30)
    if not usable(gaps, scores):
        return
    problem = DecayProblem(gaps, scores, bounds)
    tau = problem.grid()
    limit = problem.profile(tau).rss.min() * (1 + 1e-9) + 1e-12 * problem.sst
    orders = [np.array(order) for order in itertools.permutations(range(len(gaps)))]
    hits = [DecayProblem(gaps, scores[order], bounds).profile(tau).rss.min() <= limit for order in orders]
    assert permutation_p(problem) == pytest.approx(np.mean(hits), abs=1e-12)


def test_random_orders_agree_with_all_orders() -> None:
    rng = np.random.default_rng(3)
    gaps = np.linspace(2, 50, 9)
    scores = np.clip(0.2 * np.exp(-gaps / 15) + 0.5 + rng.normal(0, 0.06, 9), 0, 1)
    eight = DecayProblem(gaps[:8], scores[:8], "unit")
    exact = permutation_p(eight)
    # The nine-pair draw has its own exact p; here only that the draws are reproducible and near p in repeated seeds.
    nine = DecayProblem(gaps, scores, "unit")
    drawn = [permutation_p(nine, permutations=4999, seed=s) for s in (0, 0, 1)]
    assert drawn[0] == drawn[1]
    assert exact is not None
    assert drawn[0] is not None
    assert drawn[2] is not None
    # Two draws of 4,999 differ by more than 5 standard errors once in 1.7 million.
    error = math.sqrt(2 * max(drawn[0], 0.001) / 4999)
    assert abs(drawn[0] - drawn[2]) < 5 * error
    assert permutation_p(nine, permutations=0) is None


def test_events_are_permuted_whole() -> None:
    # Five events of two pairs: 120 orders, against fitting each of them.
    rng = np.random.default_rng(5)
    events = np.repeat(np.arange(5), 2)
    gaps = rng.uniform(1, 60, 10)
    scores = np.clip(0.5 * np.exp(-gaps / 20) + 0.3 + rng.normal(0, 0.08, 10), 0, 1)
    problem = DecayProblem(gaps, scores, "unit")
    tau = problem.grid()
    limit = problem.profile(tau).rss.min() * (1 + 1e-9) + 1e-12 * problem.sst
    hits = []
    for order in itertools.permutations(range(5)):
        drawn = np.concatenate([scores[events == event] for event in order])
        hits.append(DecayProblem(gaps, drawn, "unit").profile(tau).rss.min() <= limit)
    result = fit_half_life(gaps, scores, events=events)
    assert result.fit is not None
    assert result.fit.p_permutation == pytest.approx(np.mean(hits))
    assert result.warnings == ()
    few = fit_half_life(gaps, scores, events=events // 2)
    assert few.warnings == ("pairs_not_independent",)
    assert few.to_dict()["event_count"] == 3


def test_interval_threshold_is_the_f_quantile() -> None:
    case = CASES["fit"][2]
    gaps, scores = numbers(case["gaps"]), numbers(case["fidelities"])
    fit = fit_half_life(gaps, scores).fit
    assert fit is not None
    n = len(gaps)
    limit = fit.rss * (1 + f_distribution.ppf(0.95, 1, n - 3) / (n - 3))
    ends = np.array([end / LN2 for end in fit.interval if end is not None])
    assert DecayProblem(gaps, scores, "unit").profile(ends).rss == pytest.approx([limit, limit], rel=1e-9)


def test_weights_count_as_repeated_rows() -> None:
    gaps, scores, counts = np.array([1.0, 5, 12, 30]), np.array([0.9, 0.7, 0.55, 0.5]), np.array([3, 1, 4, 2])
    tau = np.geomspace(0.1, 1e3, 50)
    weighted = DecayProblem(gaps, scores, "unit", counts).profile(tau)
    repeated = DecayProblem(np.repeat(gaps, counts), np.repeat(scores, counts), "unit").profile(tau)
    for name in ("amplitude", "floor", "rss", "slope"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("gaps", "scores", "reason", "place"),
    [
        ([1, 2, 3, 4, math.nan, 6], [0.9] * 6, "non_finite", "pair 5"),
        ([1, 2, 3, 4, 5, 6], [0.9, 0.8, math.inf, 0.7, 0.7, 0.6], "non_finite", "pair 3"),
        ([1, 2, 0, 4, 5, 6], [0.9, 0.8, 0.7, 0.6, 0.6, 0.6], "invalid_gap", "pair 3"),
        ([1, 2, -3, 4, 5, 6], [0.9, 0.8, 0.7, 0.6, 0.6, 0.6], "invalid_gap", "pair 3"),
        ([1, 2, 3, 4, 5, 6], [1.2, 0.8, 0.7, 0.6, 0.6, 0.6], "fidelity_out_of_range", "pair 1"),
        ([1, 2, 3, 4, 5, 1e200], [0.9, 0.8, 0.7, 0.6, 0.6, 0.6], "invalid_gap", "pair 6"),
        ([1, 2, 3, 4, 5, 1e-200], [0.9, 0.8, 0.7, 0.6, 0.6, 0.6], "invalid_gap", "pair 6"),
        ([], [], "insufficient_pairs", None),
        ([1, 2, 3, 4, 5, 6], [0.7, 0.71, 0.7, 0.705, 0.7, 0.7], "flat_fidelity", None),
    ],
)
def test_reasons_before_the_fit(gaps: list[float], scores: list[float], reason: str, place: str | None) -> None:
    result = fit_half_life(gaps, scores)
    assert result.gates["seed"].reason == result.gates["strict"].reason == reason
    assert (result.detail or "").startswith(place or "")
    json.dumps(result.to_dict(), allow_nan=False)


def test_range_checks_have_rounding_slack() -> None:
    gaps = np.array([1.0, 5, 10, 20, 40, 55])
    # 0.72 - 0.70 is a little less than 0.02 in double precision.
    scores = np.array([0.72, 0.715, 0.712, 0.708, 0.703, 0.70])
    assert scores.max() - scores.min() != 0.02
    assert fit_half_life(gaps, scores).reason is None
    above = np.array([1 + 1e-13, 0.8, 0.7, 0.6, 0.55, 0.52])
    assert fit_half_life(gaps, above).reason != "fidelity_out_of_range"


def test_open_upper_end_gives_a_lower_bound() -> None:
    # A weak decay over few pairs: the permutation test sees it, the interval still holds the constant.
    gaps = np.linspace(1, 55, 6)
    scores = 0.4 * np.exp(-gaps / 60) + 0.3 + np.random.default_rng(5).normal(0, 0.06, 6)
    result = fit_half_life(gaps, scores)
    assert result.reason == "unbounded_interval"
    assert result.gates["seed"].reason is None
    document = result.to_dict()
    assert document["half_life_seconds"] is None
    assert document["interval_half_life_seconds"] == [None, None]
    assert 0 <= document["half_life_lower_bound_seconds"] < document["fit"]["half_life_seconds"]
    assert document["half_life_upper_bound_seconds"] is None
    assert document["beyond_largest_gap"] is True


def test_half_life_below_the_smallest_gap_gives_an_upper_bound() -> None:
    gaps = np.array([2.0, 2.5, 3.0, 5.0, 10, 20, 30, 40])
    scores = 0.7 * np.exp(-gaps / 1.2) + 0.25
    result = fit_half_life(gaps, scores)
    assert result.reason == "resolution_limited"
    document = result.to_dict()
    assert document["half_life_upper_bound_seconds"] == pytest.approx(1.2 * LN2, rel=1e-6)  # no noise
    assert document["half_life_lower_bound_seconds"] is None
    assert document["below_smallest_gap"] is True


def test_extreme_numbers_give_no_nan() -> None:
    with np.errstate(all="raise", under="ignore"):
        for scale in (1e-90, 1e-9, 1e9, 1e90):
            gaps = np.arange(1.0, 60, 5) * scale
            result = fit_half_life(gaps, 0.6 * np.exp(-gaps / (20 * scale)) + 0.3)
            assert result.half_life == pytest.approx(20 * scale * LN2, rel=1e-9)
            json.dumps(result.to_dict(), allow_nan=False)
    assert fit_half_life([1, 2, 3, 4, 5], [1e200, 5, 4, 3, 2], bounds="nonneg").reason == "fidelity_out_of_range"
    big = fit_half_life(np.arange(1.0, 9), 1e90 * np.exp(-np.arange(1.0, 9)), bounds="nonneg", gate="seed")
    assert big.half_life == pytest.approx(LN2, rel=1e-9)
    json.dumps(big.to_dict(), allow_nan=False)


def test_a_that_overflows_is_left_out() -> None:
    gaps = np.linspace(5000, 5030, 12)
    scores = 0.5 * np.exp(-(gaps - 5000) / 5) + 0.3
    result = fit_half_life(gaps, scores, bounds="nonneg", gate="seed")
    assert result.half_life == pytest.approx(5 * LN2, rel=1e-9)
    assert result.to_dict()["a"] is None
    json.dumps(result.to_dict(), allow_nan=False)


def test_raw_is_clamped_and_optional() -> None:
    gaps = np.arange(1.0, 60, 5)
    scores = 0.6 * np.exp(-gaps / 20) + 0.3
    assert fit_half_life(gaps, scores, t_ref=5).raw == 1.0
    assert fit_half_life(gaps, scores, t_ref=None).raw is None
    assert fit_half_life(gaps, scores, t_ref=600).raw == pytest.approx(20 * LN2 / 600)


def test_times_in_days_are_also_given_in_seconds() -> None:
    gaps = np.arange(1.0, 60, 5)
    document = fit_half_life(gaps, 0.6 * np.exp(-gaps / 20) + 0.3, unit="days", t_ref=None).to_dict()
    assert document["half_life_seconds"] == pytest.approx(20 * LN2 * 86400)
    tokens = fit_half_life(gaps, 0.6 * np.exp(-gaps / 20) + 0.3, unit="tokens", t_ref=None).to_dict()
    assert (tokens["half_life_seconds"], tokens["half_life"]) == (None, pytest.approx(20 * LN2))


@pytest.mark.parametrize(
    "options",
    [
        {"bounds": "free"},
        {"gate": "loose"},
        {"method": "swept"},
        {"permutations": 5},
        {"t_ref": 0},
        {"t_ref": math.nan},
    ],
)
def test_options_that_no_fit_can_use(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        fit_half_life([1, 2, 3, 4, 5], [0.9, 0.8, 0.7, 0.6, 0.5], **options)


def test_without_a_test_the_strict_gate_refuses() -> None:
    gaps = np.arange(1.0, 60, 5)
    result = fit_half_life(gaps, 0.6 * np.exp(-gaps / 20) + 0.3, permutations=0)
    assert result.reason == "significance_not_tested"
    assert result.gates["seed"].reason is None


def test_curve_values_and_time_to_a_level() -> None:
    gaps = np.arange(1.0, 60, 5)
    fit = fit_half_life(gaps, 0.6 * np.exp(-gaps / 20) + 0.3).fit
    assert fit is not None
    assert fit.value([0, 20]) == pytest.approx([0.9, 0.6 / math.e + 0.3])
    assert fit.time_to(0.6) == pytest.approx(20 * LN2)
    assert fit.time_to(0.2) is None
    assert fit.time_to(0.95) is None
