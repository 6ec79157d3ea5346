from __future__ import annotations

from fractions import Fraction

import known_rows as known
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.metrics.accuracy import accuracies
from memgauge.metrics.capacity import capacity, default_budgets
from memgauge.metrics.cells import build_cells
from memgauge.metrics.curve import POINTS, bands, curve, grid, steps, thinned
from memgauge.metrics.efficiency import efficiency
from memgauge.metrics.inference import Resampler

RESAMPLER = Resampler(200)


def rows_of(responses):
    """(right, FLOPs or None) for each question."""
    return [
        known.response(
            right,
            query=f"q{n:03d}",
            episode=f"e{n % 5}",
            flops_write=None if cost is None else cost // 2,
            flops_read=None if cost is None else cost - cost // 2,
        )
        for n, (right, cost) in enumerate(responses)
    ]


def cell_of(responses):
    (cell,), _ = build_cells(known.frame(rows_of(responses)))
    return cell


def draw(cell):
    budgets = grid(cell)
    return curve(cell, budgets, bands(cell, budgets, RESAMPLER), final=accuracies(cell, RESAMPLER).accuracy)


def naive_curve(responses):
    """Spend the responses cheapest first, all of one price together, and count what is right of the whole cell."""
    points, right = [], 0
    priced = sorted((cost, bool(good)) for good, cost in responses if cost is not None)
    for number, (cost, good) in enumerate(priced):
        right += good
        if number + 1 == len(priced) or priced[number + 1][0] > cost:
            points.append((cost, Fraction(right, len(responses))))
    return points


RESPONSES = st.lists(
    st.tuples(st.sampled_from([True, False, None]), st.one_of(st.none(), st.integers(0, 30), st.integers(0, 10**15))),
    min_size=1,
    max_size=60,
)


@given(RESPONSES)
@settings(max_examples=60, deadline=None)
def test_the_curve_is_that_of_a_loop(responses):
    cell = cell_of(responses)
    expected = naive_curve(responses)
    found = steps(cell)
    assert found.flops.tolist() == [cost for cost, _ in expected]
    assert found.value.tolist() == pytest.approx([float(value) for _, value in expected])
    drawn = draw(cell)
    assert [p["flops"] for p in drawn["points"]] == [cost for cost, _ in expected]
    assert [p["value"] for p in drawn["points"]] == pytest.approx([float(value) for _, value in expected])
    assert drawn["unpriced"] == sum(cost is None for _, cost in responses)
    assert bool(drawn["note"]) == (drawn["unpriced"] > 0)


@given(RESPONSES, st.sampled_from([0.25, 0.5, 0.6, 1.0]))
@settings(max_examples=60, deadline=None)
def test_efficiency_is_the_first_point_at_the_target(responses, target):
    cell = cell_of(responses)
    found = efficiency(cell, draw(cell), target)
    reached = [cost for cost, value in naive_curve(responses) if value >= Fraction(target).limit_denominator(1000)]
    assert found["flops"] == (reached[0] if reached else None)
    assert found["never"] == (not reached and any(cost is not None for _, cost in responses))
    if found["flops"] is not None:
        assert found["low"] is None or found["low"] <= found["flops"]
        assert found["high"] is None or found["flops"] <= found["high"]


@given(RESPONSES, st.lists(st.integers(0, 10**15), max_size=4))
@settings(max_examples=40, deadline=None)
def test_capacity_counts_what_the_budget_affords(responses, budgets):
    cell = cell_of(responses)
    found = capacity(cell, budgets, RESAMPLER, accuracy=accuracies(cell, RESAMPLER).accuracy)
    assert found["budgets"][-1]["flops"] is None
    assert found["budgets"][-1]["value"] == pytest.approx(sum(r is True for r, _ in responses) / len(responses))
    if any(cost is not None for _, cost in responses):
        assert [b["flops"] for b in found["budgets"][:-1]] == sorted(set(budgets))
        for budget in found["budgets"][:-1]:
            bought = sum(r is True for r, cost in responses if cost is not None and cost <= budget["flops"])
            assert budget["value"] == pytest.approx(bought / len(responses))
    else:
        assert found["note"]


def test_a_wrong_answer_costs_without_raising_the_curve_and_the_end_is_the_accuracy():
    drawn = draw(cell_of([(True, 10), (False, 20), (True, 30), (None, 40)]))
    assert [(p["flops"], p["value"]) for p in drawn["points"]] == [(10, 0.25), (20, 0.25), (30, 0.5), (40, 0.5)]
    assert drawn["note"] is None


def test_the_last_point_has_the_interval_of_the_accuracy():
    cell = cell_of([(n % 3 > 0, n % 7) for n in range(60)])
    last, whole = draw(cell)["points"][-1], accuracies(cell, RESAMPLER).accuracy.estimate()
    assert {name: last[name] for name in ("value", "low", "high")} == pytest.approx(
        {name: whole[name] for name in ("value", "low", "high")}
    )


def test_long_curves_are_thinned_evenly_by_responses_and_keep_their_ends():
    rng = np.random.default_rng(0)
    costs = np.unique(rng.integers(0, 10**9, 5000))
    kept = thinned(costs)
    assert len(kept) <= POINTS
    assert (kept[0], kept[-1]) == (costs[0], costs[-1])
    assert np.diff(np.searchsorted(costs, kept)).max() <= 2 * len(costs) / POINTS
    cell = cell_of([(bool(rng.random() < 0.7), int(cost)) for cost in costs[:600]])
    exact = dict(zip(steps(cell).flops.tolist(), steps(cell).value.tolist(), strict=True))
    for point in draw(cell)["points"]:
        assert point["value"] == pytest.approx(exact[point["flops"]])


def test_costs_that_only_some_questions_have_never_end_above_the_accuracy():
    drawn = draw(cell_of([(True, 5), (True, None), (False, 6)]))
    assert drawn["points"][-1]["value"] == pytest.approx(1 / 3)
    assert "without FLOPs" in drawn["note"]


def test_default_budgets_separate_the_responses():
    cells = [cell_of([(True, 3_000), (True, 70_000)]), cell_of([(True, 900_000)])]
    assert default_budgets(cells) == [10_000, 100_000]
    assert default_budgets([cell_of([(True, None)])]) == []
    assert default_budgets([cell_of([(True, 5)])]) == []
    many = default_budgets([cell_of([(True, 5), (True, 10**14)])])
    assert len(many) == 5
    assert (many[0], many[-1]) == (10, 10**13)
