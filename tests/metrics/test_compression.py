from __future__ import annotations

import known_rows as known
import numpy as np
import pytest

from memgauge.metrics.cells import build_cells, regular_pairs
from memgauge.metrics.compression import compression, flops_saved, gauge
from memgauge.metrics.curve import grid
from memgauge.metrics.inference import Resampler
from memgauge.metrics.window import KNOTS, window_accuracy, window_sizes

RESAMPLER = Resampler(400)


def measure(rows):
    cells, _ = build_cells(known.frame(rows))
    ((regular, dense),) = regular_pairs(cells)
    budgets = grid(regular, dense)
    sides = [gauge(cell, budgets, RESAMPLER, RESAMPLER) for cell in (regular, dense)]
    return compression(*sides, RESAMPLER)


def both_splits(low, dense=None, **more):
    return known.window_rows(low, split="low", **more) + known.window_rows(
        low if dense is None else dense, split="max", **more
    )


@pytest.mark.parametrize("split", ["low", "max"])
@pytest.mark.parametrize("window", [0, 1, 5, 17, 40, 99, 128])
def test_the_accuracy_of_a_window_follows_from_the_rows(split, window):
    """The formula, on the rows of any system, against windows that really search their text."""
    (any_system,), _ = build_cells(known.frame(known.window_rows(64, split=split, system="any")))
    rows = known.window_rows(window, split=split)
    sizes = np.array([0.0, window]) if window else np.array([0.0])
    measured = sum(row["correct"] for row in rows) / len(rows)
    assert window_accuracy(any_system, sizes)[-1] == pytest.approx(measured)


def test_sizes_hold_every_change_or_are_thinned():
    (small,), _ = build_cells(known.frame(known.window_rows(64, episodes=4)))
    sizes = window_sizes(small)
    needed = {row["age"] + row["query_length"] for row in known.window_rows(64, episodes=4) if row["gold"] == "yes"}
    assert sizes.tolist() == [0.0, *sorted(needed)]
    (large,), _ = build_cells(known.frame(known.window_rows(64, length=400, episodes=60)))
    thinned = window_sizes(large)
    assert len(thinned) <= KNOTS
    assert window_accuracy(large, thinned)[-1] == 1.0


@pytest.mark.parametrize("window", [24, 48, 80])
def test_a_window_gains_on_regular_streams_but_has_no_excess(window):
    found = measure(both_splits(window, episodes=40))
    assert found["comp"]["value"] > 0.05
    assert found["comp"]["low"] > 0
    matched = found["window"]
    assert matched["symbols"] == pytest.approx(window, abs=6)
    assert matched["comp"] == pytest.approx(found["comp"]["value"], abs=0.03)
    assert matched["excess"]["low"] <= 0.0 <= matched["excess"]["high"]


def test_what_a_larger_window_on_regular_streams_gains_is_excess():
    """A made-up system that holds 32 symbols of noise and 64 of regular text."""
    found = measure(both_splits(64, 32, episodes=40, system="s"))
    truth = measure(both_splits(64, 64, episodes=40, system="s"))["comp"]["value"]
    assert found["window"]["symbols"] == pytest.approx(32, abs=4)
    assert found["window"]["excess"]["low"] > 0.03
    assert found["window"]["comp"] + found["window"]["excess"]["value"] == pytest.approx(found["comp"]["value"])
    assert truth < found["comp"]["value"]


def test_a_system_that_is_worse_than_an_empty_window_has_no_match():
    rows = [{**row, "outcome": "abstained", "correct": False, "answer": None} for row in both_splits(32)]
    found = measure(rows)
    assert found["window"]["excess"]["value"] is None
    assert "no window" in found["window"]["note"]


def test_without_ages_there_is_no_window_and_the_rest_stays():
    found = measure([{**row, "age": None} for row in both_splits(32)])
    assert found["window"]["symbols"] is None
    assert "age" in found["window"]["note"]
    assert found["comp"]["value"] is not None


def test_a_perfect_memory_is_at_the_ceiling():
    found = measure(both_splits(128))
    assert found["comp"]["value"] == 0.0
    assert "ceiling" in found["note"]
    assert found["window"]["excess"]["value"] == pytest.approx(0.0)


def test_the_curve_is_the_difference_of_the_two_curves_at_every_budget():
    rows = both_splits(40, length=64)
    found = measure(rows)
    for point in found["curve"]:
        shares = []
        for split in ("low", "max"):
            cell = [row for row in rows if row["split"] == split]
            bought = [row for row in cell if row["flops_write"] + row["flops_read"] <= point["flops"]]
            shares.append(sum(row["correct"] for row in bought) / len(cell))
        assert point["value"] == pytest.approx(shares[0] - shares[1])
    assert found["curve"][-1]["value"] == pytest.approx(found["comp"]["value"])


def test_flops_saved_at_equal_accuracy():
    def rows(split, cost):
        return [
            known.response(
                n < right, split=split, query=f"q{n}", episode=f"{split}{n % 3}", flops_write=cost, flops_read=n
            )
            for n in range(10)
        ]

    right = 8
    regular = rows("low", 100)
    right = 5
    cells, _ = build_cells(known.frame(regular + rows("max", 1000)))
    found = flops_saved(*regular_pairs(cells)[0])
    assert found == {
        "target": 0.5, "flops": 104, "flops_against": 1004, "saved": 900, "ratio": 1004 / 104, "note": None,
    }  # fmt: skip
    none = [{**row, "flops_write": None} for row in regular + rows("max", 1000)]
    cells, _ = build_cells(known.frame(none))
    assert flops_saved(*regular_pairs(cells)[0])["note"]


def test_natural_bands_are_compared_with_a_warning():
    rows = [{**row, "split": {"low": "low", "max": "high"}[row["split"]]} for row in both_splits(32)]
    found = measure(rows)
    assert found["against"] == "high"
    assert "saliency" in found["note"]
