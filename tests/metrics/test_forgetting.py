from __future__ import annotations

from itertools import pairwise

import known_rows as known
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.metrics.cells import build_cells
from memgauge.metrics.forgetting import age_edges, forgetting
from memgauge.metrics.inference import Resampler

RESAMPLER = Resampler(200)


def measure(rows, **options):
    (cell,), _ = build_cells(known.frame(rows))
    return forgetting(cell, RESAMPLER, **options)


def decaying(tau, floor=0.0, count=3000, seed=0):
    rng = np.random.default_rng(seed)
    return [
        known.response(
            bool(rng.random() < floor + (1 - floor) * np.exp(-age / tau)),
            query=f"q{n}",
            episode=f"e{n % 50}",
            age=float(age),
            age_unit="symbols",
        )
        for n, age in enumerate(rng.integers(0, 1000, count))
    ]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=60),
    st.sampled_from(["quantile", "log"]),
    st.integers(1, 12),
)
@settings(max_examples=60, deadline=None)
def test_bins_hold_every_positive_once_and_their_means(answers, binning, bins):
    rows = [
        known.response(right, query=f"q{n}", episode=f"e{n % 3}", age=float(age), age_unit="symbols")
        for n, (age, right) in enumerate(answers)
    ]
    found = measure(rows, bins=bins, binning=binning)
    assert len(found["bins"]) <= bins
    assert sum(b["n"] for b in found["bins"]) == found["positives"] == len(answers)
    for previous, following in pairwise(found["bins"]):
        assert previous["age_high"] < following["age_low"]
    for entry in found["bins"]:
        inside = [right for age, right in answers if entry["age_low"] <= age <= entry["age_high"]]
        assert (entry["n"], entry["value"]) == (len(inside), pytest.approx(sum(inside) / len(inside)))
    assert found["recall"]["value"] == pytest.approx(sum(right for _, right in answers) / len(answers))
    assert found["false_alarm"]["value"] is None


def test_quantile_bins_are_equally_full_and_log_bins_equally_wide():
    ages = np.arange(1.0, 1025.0)
    edges = age_edges(ages, 8, "quantile")
    assert np.diff(np.searchsorted(ages, edges[1:], side="right")).tolist() == [128] * 7
    logs = age_edges(ages, 10, "log")
    assert np.diff(np.log2(logs[1:])) == pytest.approx([1.0] * 9)
    assert (logs[0], logs[-1]) == (1.0, 1024.0)
    assert age_edges(np.array([0.0, 0.0]), 4, "log").tolist() == [0.0, 0.0]


def test_false_alarms_stand_beside_recall():
    rows = [known.response(True, query=f"p{n}", episode=f"e{n % 4}", age=5.0) for n in range(8)]
    rows += [known.response(n >= 3, gold="no", query=f"n{n}", episode=f"e{n % 4}") for n in range(7)]
    rows += [known.response(None, gold="no", query="declined", episode="e0")]
    found = measure(rows)
    assert found["recall"]["value"] == 1.0
    assert found["false_alarm"]["value"] == pytest.approx(3 / 8)


def test_the_half_life_of_a_decaying_recall_is_found():
    found = measure(decaying(tau=150.0))
    fit = found["half_life"]
    assert found["half_life_over"] == "bins"
    assert fit["status"] == "ok"
    # 3,000 answers: the standard error of the half-life is about 4 symbols.
    assert fit["half_life"] == pytest.approx(150 * np.log(2), abs=16)
    assert (fit["unit"], found["unit"]) == ("symbols", "symbols")


def test_a_constant_recall_has_no_half_life():
    fit = measure(decaying(tau=1e9, seed=3))["half_life"]
    assert fit["status"] == "not_applicable"
    assert fit["half_life"] is None


def test_graded_scores_are_fitted_row_by_row():
    rng = np.random.default_rng(0)
    rows = [
        known.response(
            True,
            gold="seen",
            score=float(np.clip(0.3 + 0.6 * np.exp(-age / 20) + rng.normal(0, 0.02), 0, 1)),
            query=f"q{n}",
            episode=f"e{n % 6}",
            age=float(age),
            age_unit="seconds",
        )
        for n, age in enumerate(rng.uniform(1, 60, 40))
    ]
    found = measure(rows)
    assert found["half_life_over"] == "rows"
    assert found["half_life"]["half_life"] == pytest.approx(20 * np.log(2), rel=0.3)
    assert measure(rows, half_life=False)["half_life"] is None


def test_few_positives_say_why_there_is_no_fit_and_no_ages_mean_no_entry():
    few = measure([known.response(True, age=3.0)])
    assert few["half_life"] is None
    assert "too few" in few["note"]
    assert measure([known.response(True)]) is None
