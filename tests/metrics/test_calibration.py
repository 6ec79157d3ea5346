from __future__ import annotations

import known_rows as known
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from memgauge.metrics.calibration import LEAST_DECLINED, calibrations
from memgauge.metrics.cells import build_cells
from memgauge.metrics.inference import Resampler

RESAMPLER = Resampler(400)
ANSWER = st.sampled_from([True, False, None])


def arm_rows(pairs, **more):
    """(answer under A, answer under B) for each question: True, False, None for an abstention."""
    return [
        known.response(answer, arm=arm, query=f"q{n}", episode=f"e{n % 4}", **more)
        for n, pair in enumerate(pairs)
        for arm, answer in zip("AB", pair, strict=True)
    ]


def measure(rows, resampler=RESAMPLER):
    cells, _ = build_cells(known.frame(rows))
    return calibrations(cells, resampler)


@given(st.lists(st.tuples(ANSWER, ANSWER), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_a_line_of_table_10_by_hand(pairs):
    (found,) = measure(arm_rows(pairs))
    count = len(pairs)
    answered = [[pair[arm] is not None for pair in pairs] for arm in (0, 1)]
    right = [[pair[arm] is True for pair in pairs] for arm in (0, 1)]
    coverage = [sum(side) / count for side in answered]
    assert (found["n"], found["unpaired"], found["pooled"]) == (count, 0, "none")
    assert [found["coverage_a"]["value"], found["coverage_b"]["value"]] == pytest.approx(coverage)
    assert found["responsiveness"]["value"] == pytest.approx(coverage[0] - coverage[1])
    for name, arm in (("accuracy_answered_a", 0), ("accuracy_answered_b", 1)):
        expected = sum(right[arm]) / sum(answered[arm]) if any(answered[arm]) else None
        assert found[name]["value"] == (None if expected is None else pytest.approx(expected))
    kept = [pair[0] for pair in pairs if pair[0] is not None and pair[1] is not None]
    declined = [pair[0] for pair in pairs if pair[0] is not None and pair[1] is None]
    assert found["kept"] == {"right": kept.count(True), "wrong": kept.count(False)}
    assert found["declined"] == {"right": declined.count(True), "wrong": declined.count(False)}
    assert found["taken_up"] == sum(pair[0] is None and pair[1] is not None for pair in pairs)
    if len(declined) >= LEAST_DECLINED and kept:
        gap = kept.count(True) / len(kept) - declined.count(True) / len(declined)
        assert found["gap"]["value"] == pytest.approx(gap)
        table = [[kept.count(True), kept.count(False)], [declined.count(True), declined.count(False)]]
        assert found["fisher_p"] == pytest.approx(stats.fisher_exact(table, alternative="greater").pvalue)
    else:
        assert found["gap"]["value"] is found["fisher_p"] is found["stream_p"] is None
        assert found["gap"]["note"]

    def earned(arm, gain, loss):
        return sum(gain if pair[arm] is True else -loss if pair[arm] is False else 0 for pair in pairs) / count

    points = {(p["responses"], p["scoring"]): p["points"]["value"] for p in found["payoffs"]}
    expected = {(name, scoring): earned("AB".index(name), *payoff) for name in "AB" for scoring, payoff in
                (("A", (3, 1)), ("B", (1, 4)))}  # fmt: skip
    assert points == {key: pytest.approx(value, abs=1e-9) for key, value in expected.items()}
    assert found["payoff_gain"]["value"] == pytest.approx(points["B", "B"] - points["A", "B"], abs=1e-9)


def test_the_gap_interval_and_stream_share_redraw_whole_streams():
    rng = np.random.default_rng(0)
    rows = []
    for number in range(30):
        for query in range(16):
            hard = rng.random() < 0.4
            right = rng.random() < (0.5 if hard else 0.9)
            declined = rng.random() < (0.7 if hard else 0.05)
            for arm, answer in (("A", bool(right)), ("B", None if declined else bool(right))):
                rows.append(known.response(answer, arm=arm, query=f"q{query}", episode=f"e{number}"))
    (found,) = measure(rows, Resampler(4000))
    gap = found["gap"]
    assert 0.15 < gap["low"] < gap["value"] < gap["high"] < 0.6
    assert found["stream_p"] == 0.0
    assert found["fisher_p"] < 0.001
    # The plain percentile interval of the paper, redrawn here one stream at a time.
    table = {}
    for row in rows:
        table.setdefault(row["episode"], {}).setdefault(row["query"], {})[row["arm"]] = row
    names = list(table)
    gaps = []
    for _ in range(1000):
        questions = [q for name in rng.choice(names, len(names)) for q in table[name].values()]
        kept = [q["A"]["correct"] for q in questions if q["B"]["outcome"] == "answered"]
        dropped = [q["A"]["correct"] for q in questions if q["B"]["outcome"] == "abstained"]
        gaps.append(np.mean(kept) - np.mean(dropped))
    assert [gap["low"], gap["high"]] == pytest.approx(np.quantile(gaps, [0.025, 0.975]), abs=0.03)


def test_errors_and_questions_of_one_arm_only_are_left_out_and_counted():
    rows = arm_rows([(True, True)] * 6)
    rows[1] = known.response(False, arm="B", query="q0", episode="e0", outcome="model_error")
    rows.append(known.response(True, arm="A", query="extra", episode="e1"))
    (found,) = measure(rows)
    assert (found["n"], found["unpaired"]) == (5, 2)


def test_pooling_as_the_paper_does():
    rows = []
    for length in (8, 16):
        for split in ("low", "max"):
            rows += arm_rows([(True, None), (False, True)] * 4, length=length, split=split)
    found = measure(rows)
    lines = [(f["pooled"], f["splits"], f["lengths"], f["n"], f["episodes"]) for f in found]
    assert lines == [
        ("none", ["low"], [8], 8, 4),
        ("none", ["low"], [16], 8, 4),
        ("none", ["max"], [8], 8, 4),
        ("none", ["max"], [16], 8, 4),
        ("splits", ["low", "max"], [8], 16, 8),
        ("splits", ["low", "max"], [16], 16, 8),
        ("all", ["low", "max"], [8, 16], 32, 16),
    ]


def test_nothing_to_compare_without_two_arms():
    assert measure([known.response(True, arm="A"), known.response(True, arm="none")]) == []


def test_arms_without_a_common_question():
    (found,) = measure([known.response(True, arm="A"), known.response(True, arm="B", query="other")])
    assert (found["n"], found["unpaired"]) == (0, 2)
    assert found["note"]
    assert found["coverage_a"]["value"] is None
