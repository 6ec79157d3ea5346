from __future__ import annotations

import json
from itertools import pairwise

import known_rows as known
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from memgauge.metrics.cells import build_cells
from memgauge.metrics.confidence import BINS, POINTS, aurc, confidence
from memgauge.metrics.inference import Resampler

RESAMPLER = Resampler(300)
ANSWERS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.6, 0.8, 0.81, 0.95, 1.0]), st.booleans()), min_size=1, max_size=40
)


def rows_of(answers, **more):
    return [
        known.response(right, confidence=sure, query=f"q{n:03d}", episode=f"e{n % 4}", **more)
        for n, (sure, right) in enumerate(answers)
    ]


def measure(rows, **options):
    (cell,), _ = build_cells(known.frame(rows))
    return confidence(cell, RESAMPLER, **options)


def risk(coverage, answers):
    """Expected error rate when the surest share is answered, ties broken at random."""
    left, wrong, taken = coverage * len(answers), 0.0, 0.0
    for sure in sorted({a for a, _ in answers}, reverse=True):
        group = [not right for a, right in answers if a == sure]
        part = min(len(group), left)
        wrong, taken, left = wrong + part * sum(group) / len(group), taken + part, left - part
    return wrong / taken


@given(ANSWERS)
@settings(max_examples=25, deadline=None)
def test_aurc_is_the_integral_of_the_risk(answers):
    edges = np.cumsum([sum(a == s for a, _ in answers) for s in sorted({a for a, _ in answers}, reverse=True)])
    ends = [0.0, *(edges / len(answers))]
    expected = sum(integrate.quad(risk, low + 1e-12, high, args=(answers,))[0] for low, high in pairwise(ends))
    sure, wrong = np.array([a for a, _ in answers]), np.array([float(not right) for _, right in answers])
    assert aurc(sure, wrong) == pytest.approx(expected, abs=1e-7)
    assert aurc(sure, wrong, np.full(len(sure), 2.5)) == pytest.approx(expected, abs=1e-7)
    found = measure(rows_of(answers))
    assert found["aurc"]["value"] == pytest.approx(expected, abs=1e-7)
    if found["aurc"]["low"] is not None:
        assert 0 <= found["aurc"]["low"] <= found["aurc"]["value"] <= found["aurc"]["high"]


@given(st.lists(st.booleans(), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_aurc_is_near_the_mean_over_ranks(rights):
    """The other definition in use: the mean error rate over the coverages k/n."""
    count = len(rights)
    wrong = np.array([float(not right) for right in rights])
    ranks = (np.cumsum(wrong) / np.arange(1, count + 1)).mean()
    assert abs(aurc(-np.arange(count, dtype=float), wrong) - ranks) <= (1 + np.log(count)) / count


@given(ANSWERS, st.integers(0, 5), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_curve_answers_whole_groups_of_equal_confidence(answers, abstained, random):
    rows = rows_of(answers) + [
        known.response(None, confidence=0.3, query=f"a{n}", episode=f"e{n % 4}") for n in range(abstained)
    ]
    found = measure(rows)
    expected = []
    for sure in sorted({a for a, _ in answers}, reverse=True):
        given_ = [right for a, right in answers if a >= sure]
        expected.append((sure, len(given_) / len(rows), sum(given_) / len(given_)))
    points = found["curves"][0]["points"]
    assert [p["threshold"] for p in points] == [e[0] for e in expected]
    assert [p["coverage"] for p in points] == pytest.approx([e[1] for e in expected])
    assert [p["accuracy"] for p in points] == pytest.approx([e[2] for e in expected])
    assert (found["n"], found["missing"], found["abstained"]) == (len(answers), 0, abstained)
    # The order of equal confidences, and of everything else, is of no consequence.
    random.shuffle(rows)
    again = measure(rows)
    assert json.dumps(again) == json.dumps(found)


@given(ANSWERS)
@settings(max_examples=30, deadline=None)
def test_thresholds_brier_and_calibration_error_by_hand(answers):
    found = measure(rows_of(answers))
    count = len(answers)
    assert [(t["wrong_cost"], t["tau"]) for t in found["thresholds"]] == [(pytest.approx(1 / 3), 0.25), (4.0, 0.8)]
    for entry in found["thresholds"]:
        above = [right for sure, right in answers if sure > entry["tau"]]
        assert entry["coverage"]["value"] == pytest.approx(len(above) / count)
        accuracy = entry["accuracy"]["value"]
        assert accuracy == (pytest.approx(sum(above) / len(above)) if above else None)
        earned = sum(above) - entry["wrong_cost"] * (len(above) - sum(above))
        assert entry["points"]["value"] == pytest.approx(earned / count, abs=1e-9)
    assert found["brier"]["value"] == pytest.approx(np.mean([(s - r) ** 2 for s, r in answers]), abs=1e-9)
    total = 0.0
    for index in range(BINS):
        low, high = index / BINS, (index + 1) / BINS
        inside = [(s, r) for s, r in answers if (low < s or index == 0) and s <= high + 1e-12]
        inside = [(s, r) for s, r in inside if s > low + 1e-12 or index == 0]
        assert found["bins"][index]["n"] == len(inside)
        if inside:
            sure, right = np.mean([s for s, _ in inside]), np.mean([r for _, r in inside])
            assert found["bins"][index]["confidence"] == pytest.approx(sure)
            assert found["bins"][index]["accuracy"] == pytest.approx(right)
            total += len(inside) / count * abs(sure - right)
    assert found["ece"]["value"] == pytest.approx(total, abs=1e-9)


def test_budgets_decline_what_is_dearer():
    answers = [(0.9, True), (0.8, False), (0.7, True), (0.6, True)]
    rows = [{**row, "flops_write": 0, "flops_read": 10 * (n + 1)} for n, row in enumerate(rows_of(answers))]
    found = measure(rows, budgets=(25, 5, 100))
    assert [curve["flops"] for curve in found["curves"]] == [None, 5, 25, 100]
    assert found["curves"][1]["points"] == []
    assert [(p["coverage"], p["accuracy"]) for p in found["curves"][2]["points"]] == [(0.25, 1.0), (0.5, 0.5)]
    assert found["curves"][3]["points"] == found["curves"][0]["points"]


def test_answers_without_a_confidence_are_left_out_and_counted():
    rows = [*rows_of([(0.9, True), (0.8, False)]), known.response(True, query="x")]
    found = measure(rows)
    assert (found["n"], found["missing"]) == (2, 1)
    assert found["curves"][0]["points"][-1]["coverage"] == 1.0
    assert found["note"]
    assert measure([known.response(True)]) is None
    assert measure([known.response(None, confidence=0.9)]) is None


def test_many_confidences_are_thinned():
    rng = np.random.default_rng(0)
    found = measure(rows_of([(float(c), bool(rng.random() < c)) for c in rng.random(2000)]))
    points = found["curves"][0]["points"]
    assert POINTS // 2 < len(points) <= POINTS
    assert points[-1]["coverage"] == 1.0
    assert all(a["coverage"] < b["coverage"] for a, b in pairwise(points))
    # A calibrated system whose confidence is uniform: the risk at coverage c is c/2, so AURC is 1/4.
    assert found["ece"]["value"] < 0.05
    assert found["aurc"]["low"] < 0.25 < found["aurc"]["high"]
    assert found["ece"]["low"] <= found["ece"]["value"] <= found["ece"]["high"]
