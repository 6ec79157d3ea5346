"""Half-lives of responses: the fit of rows, clusters in interval and test, and which rows count."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from memgauge.errors import InputError
from memgauge.metrics import half_life_rows as module
from memgauge.metrics.half_life import fit_half_life
from memgauge.metrics.half_life_profile import DecayProblem
from memgauge.metrics.half_life_responses import fit_responses
from memgauge.metrics.half_life_rows import fit_half_life_rows
from memgauge.metrics.inference import Resampler
from memgauge.responses import conform, new_row

LN2 = np.log(2)


def drawn(
    seed: int, episodes: int, rows: int, tau: float, a: float, b: float, effect: float, single: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right or wrong by age, with an effect of the episode that its rows share."""
    rng = np.random.default_rng(seed)
    shape = (episodes, 1 if single else rows)
    ages = np.broadcast_to(rng.integers(1, 1000, shape), (episodes, rows)).astype(float)
    chance = a * np.exp(-ages / tau) + b + rng.normal(0, effect, (episodes, 1))
    right = rng.random((episodes, rows)) < np.clip(chance, 0, 1)
    return ages.ravel(), right.ravel().astype(float), np.repeat(np.arange(episodes), rows)


def test_the_fit_is_that_of_the_rows() -> None:
    ages, scores, episodes = drawn(1, 30, 20, 150, 0.5, 0.4, 0.1)
    rows = fit_half_life_rows(ages, scores, episodes).fit
    plain = fit_half_life(ages, scores, gate="seed", permutations=0).fit
    assert rows is not None
    assert plain is not None
    assert rows.half_life == pytest.approx(plain.half_life, rel=1e-7)
    assert (rows.a, rows.b) == (pytest.approx(plain.a, rel=1e-6), pytest.approx(plain.b, rel=1e-6))
    assert rows.rss == pytest.approx(plain.rss, rel=1e-9)
    # Single scores of 0 and 1 say nothing about R2; the bins do.
    assert plain.r2 is not None
    assert rows.r2 is not None
    assert plain.r2 < 0.3 < rows.r2


def test_a_redraw_of_every_episode_once_is_the_fit() -> None:
    ages, scores, episodes = drawn(2, 25, 16, 120, 0.5, 0.4, 0.05)
    distinct, place = np.unique(ages, return_inverse=True)
    count = np.bincount(place).astype(float)
    mean = np.bincount(place, scores) / count
    problem = DecayProblem(distinct, mean, "unit", count, float(((scores - mean[place]) ** 2).sum()))
    rows = module._Rows(distinct, place.astype(np.int64), scores, episodes.astype(np.int64))

    class Once(Resampler):
        def weights(self, episodes: int, stratum: str = "") -> Any:
            weights = np.ones((3, episodes), dtype=np.float32)
            weights[1, :2] = [2, 0]
            weights[2, 5:] = 0
            yield weights

    lower, upper = module.redrawn_tau(rows, problem, Once())
    # Against fits of the rows themselves, repeated or left out as the redraw says.
    for k, copies in enumerate((np.ones(25), np.r_[2, 0, np.ones(23)], np.r_[np.ones(5), np.zeros(20)])):
        repeat = copies[episodes].astype(int)
        fit = fit_half_life(np.repeat(ages, repeat), np.repeat(scores, repeat), gate="seed", permutations=0).fit
        assert fit is not None
        want = fit.tau if fit.tau is not None else np.nan
        if np.isfinite(want):
            # Between points of the second grid a parabola stands in for the search.
            assert lower[k] == upper[k] == pytest.approx(want, rel=1e-3)


def test_the_interval_of_episodes_that_agree_is_the_fit() -> None:
    """At a corner of the bounds the profile has a kink, which a coarse grid would miss by a tenth."""
    gaps = np.arange(2.0, 12.0, 0.4)
    scores = 1 - 0.1 * (gaps / 12) ** 3
    found = fit_half_life_rows(np.tile(gaps, 4), np.tile(scores, 4), np.repeat(np.arange(4), len(gaps)), unit="seconds")
    assert found.fit is not None
    assert found.fit.active == "a=1,b=0"
    assert found.fit.interval == pytest.approx((found.fit.half_life, found.fit.half_life), rel=1e-3)


def test_intervals_hold_the_truth_with_episodes_that_differ() -> None:
    """40 seeds at 95 %: fewer than 34 hits happen once in 300 draws, and the seeds are fixed."""
    hits = 0
    for seed in range(40):
        result = fit_half_life_rows(*drawn(seed, 40, 16, 150, 0.5, 0.4, 0.1), permutations=0, redraws=300)
        assert result.fit is not None
        low, high = result.fit.interval
        hits += (low or 0) <= 150 * LN2 <= (high or np.inf)
    assert hits >= 34


@pytest.mark.parametrize("single", [False, True])
def test_flat_recall_is_seldom_significant(single: bool) -> None:
    """60 seeds at 5 %: more than 8 false alarms happen once in 500 draws, and the seeds are fixed.

    With rows shuffled regardless of their episodes, `single` would give far more.
    """
    alarms = 0
    for seed in range(60):
        rows = drawn(seed, 40, 12, 150, 0.0, 0.6, 0.25, single)
        fit = fit_half_life_rows(*rows, permutations=199, redraws=100).fit
        assert fit is not None
        assert fit.p_permutation is not None
        alarms += fit.p_permutation <= 0.05
    assert alarms <= 8


def test_shuffling_within_episodes_is_a_permutation_of_each() -> None:
    ages, scores, episodes = np.tile(np.arange(1.0, 5), 3), np.arange(12.0) / 12, np.repeat(np.arange(3), 4)
    for sizes in ("even", "odd"):
        keep = np.ones(12, dtype=bool) if sizes == "even" else np.arange(12) != 11
        rows = module._Rows(np.arange(1.0, 5), (ages[keep] - 1).astype(np.int64), scores[keep], episodes[keep])
        for block in module._shuffled(rows, rows.score, 50, 0, within=True):
            for one in block:
                for episode in range(3):
                    inside = rows.episode == episode
                    assert sorted(one[inside]) == sorted(rows.score[inside])
        moved = next(module._shuffled(rows, rows.score, 50, 0, within=False))
        assert all(sorted(one) == sorted(rows.score) for one in moved)


def test_whole_episodes_change_places() -> None:
    # Five episodes of one age each: the p of 999 draws against all 120 orders.
    ages = np.repeat([1.0, 5, 12, 30, 60], 6)
    rng = np.random.default_rng(4)
    episodes = np.repeat(np.arange(5), 6)
    scores = np.clip(0.4 * np.exp(-ages / 20) + 0.4 + rng.normal(0, 0.1, 5)[episodes], 0, 1)
    tau = DecayProblem(ages, scores, "unit").grid(128)
    observed = DecayProblem(ages, scores, "unit").profile(tau).rss.min()
    hits = []
    for order in itertools.permutations(range(5)):
        mixed = np.concatenate([scores[episodes == e] for e in order])
        hits.append(DecayProblem(ages, mixed, "unit").profile(tau).rss.min() <= observed * (1 + 1e-9))
    result = fit_half_life_rows(ages, scores, episodes, permutations=4999)
    assert result.extra["permuted"] == "whole_episodes"
    assert result.fit is not None
    # 4,999 draws err by less than 5 standard errors.
    assert result.fit.p_permutation == pytest.approx(np.mean(hits), abs=5 * np.sqrt(0.25 / 4999))


def test_bins_and_document() -> None:
    ages, scores, episodes = drawn(3, 40, 20, 150, 0.5, 0.4, 0.05)
    result = fit_half_life_rows(ages, scores, episodes, unit="tokens")
    document = result.to_dict()
    json.dumps(document, allow_nan=False)
    assert document["status"] == "ok"
    assert document["unit"] == "tokens"
    assert document["half_life_seconds"] is None
    assert document["pair_count"] == 800
    assert document["event_count"] == document["episode_count"] == 40
    bins = document["bins"]
    assert 20 <= len(bins) <= 24
    assert sum(one["rows"] for one in bins) == 800
    for one in bins:
        inside = (ages >= one["age_low"]) & (ages <= one["age_high"])
        assert one["mean"] == pytest.approx(scores[inside].mean())
        assert one["low"] <= one["mean"] <= one["high"]


def test_age_zero_counts() -> None:
    ages = np.tile(np.arange(0.0, 40, 2), 30)
    rng = np.random.default_rng(0)
    scores = (rng.random(ages.size) < 0.6 * np.exp(-ages / 8) + 0.3).astype(float)
    result = fit_half_life_rows(ages, scores, np.repeat(np.arange(30), 20), unit="sessions")
    assert result.status == "ok"
    assert result.half_life == pytest.approx(8 * LN2, rel=0.3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ages": [1, 2, np.nan, 4, 5, 6]}, "non_finite"),
        ({"ages": [1, 2, -3, 4, 5, 6]}, "invalid_gap"),
        ({"scores": [0, 1, 1.5, 0, 1, 1]}, "fidelity_out_of_range"),
        ({"ages": [3.0] * 6}, "single_gap"),
        ({"scores": [1.0] * 6}, "flat_fidelity"),
        ({"ages": [1, 2], "scores": [0, 1], "episodes": [0, 1]}, "insufficient_pairs"),
        ({"ages": [], "scores": [], "episodes": []}, "insufficient_pairs"),
    ],
)
def test_reasons(change: dict[str, Any], reason: str) -> None:
    given = {"ages": [1, 2, 3, 4, 5, 6], "scores": [1, 1, 1, 0, 1, 0], "episodes": [0, 0, 1, 1, 2, 2], **change}
    result = fit_half_life_rows(given["ages"], given["scores"], given["episodes"])
    assert result.reason == reason
    json.dumps(result.to_dict(), allow_nan=False)


def responses(**change: Any) -> pl.DataFrame:
    ages, scores, episodes = drawn(5, 30, 12, 150, 0.5, 0.45, 0.0)
    rows = []
    for k, (age, score, episode) in enumerate(zip(ages, scores, episodes, strict=True)):
        for system in ("a", "b"):
            rows.append(
                new_row(
                    key=f"{system}{k}", run="r", system=system, task="recall", split="low", length=1000, arm="none",
                    episode=f"e{episode}", query=f"q{k}", gold="yes", outcome="answered", correct=bool(score),
                    score=float(score if system == "a" else not score), age=float(age), age_unit="tokens",
                )
            )  # fmt: skip
    rows.append({**rows[0], "key": "n", "gold": "no", "score": 0.0, "correct": False})
    rows.append({**rows[0], "key": "m", "outcome": "model_error", "score": None, "correct": None})
    rows.append({**rows[0], "key": "o", "age": None, "age_unit": None})
    return conform(pl.DataFrame([{**row, **change} for row in rows], infer_schema_length=None), "test")


def test_groups_of_responses() -> None:
    groups = fit_responses(responses(), permutations=99)
    assert [group.key for group in groups] == [
        {"system": "a", "task": "recall", "arm": "none"},
        {"system": "b", "task": "recall", "arm": "none"},
    ]
    assert groups[0].result.status == "ok"
    assert groups[0].result.half_life == pytest.approx(150 * LN2, rel=0.4)
    assert groups[1].result.reason == "no_decay"  # b recalls the old better
    assert groups[0].left_out == {"without_age": 1, "without_score": 1, "never_written": 1}
    assert groups[0].to_dict()["pair_count"] == 360
    json.dumps([group.to_dict() for group in groups], allow_nan=False)
    pooled = fit_responses(responses(), by=["task"], permutations=99)
    assert pooled[0].result.support.pairs == 720  # type: ignore[union-attr]


def test_seconds_have_the_published_reference_window() -> None:
    rows = responses().with_columns(age_unit=pl.lit("seconds"))
    found = fit_responses(rows, permutations=99)[0].result
    assert found.t_ref == 60.0
    assert found.raw == 1.0
    assert fit_responses(rows, permutations=99, t_ref=1000.0)[0].result.t_ref == 1000.0
    assert fit_responses(responses(), permutations=99)[0].result.t_ref is None


def test_scores_of_any_size_under_nonneg() -> None:
    rng = np.random.default_rng(0)
    ages = np.tile(np.arange(1.0, 41.0), 12)
    scores = 9 * np.exp(-ages / 10) - 2 + rng.normal(0, 0.5, ages.size)
    assert scores.min() < 0
    found = fit_half_life_rows(ages, scores, np.repeat(np.arange(12), 40), bounds="nonneg", permutations=99, t_ref=5.0)
    assert found.reason is None
    refused = fit_half_life_rows(ages, scores, np.repeat(np.arange(12), 40), t_ref=5.0)
    assert (refused.reason, refused.t_ref) == ("fidelity_out_of_range", 5.0)


def test_units_and_columns_are_named() -> None:
    rows = responses()
    with pytest.raises(InputError, match="this run has tokens"):
        fit_responses(rows, unit="days")
    with pytest.raises(InputError, match="did you mean"):
        fit_responses(rows, by=["systm"])
    with pytest.raises(InputError, match="no row of this run has an age"):
        fit_responses(responses(age=None, age_unit=None))
    mixed = rows.with_columns(
        pl.when(pl.col("system") == "a").then(pl.lit("days")).otherwise(pl.lit("tokens")).alias("age_unit")
    )
    with pytest.raises(InputError, match="several units"):
        fit_responses(mixed)
    days = fit_responses(mixed, unit="days", permutations=99)
    assert [group.key["system"] for group in days] == ["a"]
    assert days[0].to_dict()["half_life_seconds"] == pytest.approx(days[0].result.half_life * 86400)  # type: ignore[operator]
