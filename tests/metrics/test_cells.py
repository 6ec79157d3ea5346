from __future__ import annotations

import json

import known_rows as known
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.metrics.accuracy import accuracies, accuracy_bounds, describe_cell, table_accuracy
from memgauge.metrics.cells import build_cells, regular_pairs
from memgauge.metrics.confidence import cell_numbers
from memgauge.metrics.inference import Resampler
from memgauge.metrics.summary import summarise
from memgauge.responses import schema

RESAMPLER = Resampler(200)


def one_cell(rows):
    cells, _ = build_cells(known.frame(rows))
    (cell,) = cells
    return cell


def describe(rows):
    cell = one_cell(rows)
    return describe_cell(cell, accuracies(cell, RESAMPLER), **cell_numbers(None))


def test_cells_are_split_by_every_part_of_the_key_and_sorted(run_rows):
    cells, notes = build_cells(run_rows)
    keys = [tuple(str(part) for part in cell.key.values()) for cell in cells]
    assert notes == []
    assert len(cells) == 3 * 2 * 2 * 3
    assert len(set(keys)) == len(keys)
    assert [cell.key["length"] for cell in cells[:6:3]] == [64, 128]
    for cell in cells:
        assert (cell.episodes, len(cell.episode)) == (12, 96)
        assert np.bincount(cell.episode).tolist() == [8] * 12
    assert {cell.key["split"] for pair in regular_pairs(cells) for cell in pair[:1]} == {"low"}
    assert all(a.key | {"split": ""} == b.key | {"split": ""} for a, b in regular_pairs(cells))


def test_equal_episode_names_in_different_cells_stay_apart():
    rows = [known.response(True, split=split, episode="e") for split in ("low", "max") for _ in range(2)]
    cells, _ = build_cells(known.frame(rows))
    assert [cell.episodes for cell in cells] == [1, 1]
    assert cells[0].streams[0] != cells[1].streams[0]
    assert set(cells[0].question).isdisjoint(cells[1].question)


def test_the_same_question_has_the_same_number_for_every_system_and_arm():
    rows = [
        known.response(True, system=system, arm=arm, query=query)
        for system in ("a", "b")
        for arm in ("A", "B")
        for query in ("q0", "q1", "q2")
    ]
    cells, _ = build_cells(known.frame(rows))
    numbers = [cell.question.tolist() for cell in cells]
    assert len(cells) == 4
    assert all(row == numbers[0] for row in numbers)
    assert len(set(numbers[0])) == 3


def test_a_row_that_occurs_twice_counts_once():
    rows = known.frame([known.response(True), known.response(False, query="q1")])
    cells, notes = build_cells(pl.concat([rows, rows]))
    assert len(cells[0].episode) == 2
    assert "2 rows" in notes[0]


def shuffles(rows):
    return [rows.sample(fraction=1, shuffle=True, seed=seed) for seed in range(6)]


@pytest.mark.parametrize("same_key", [True, False])
def test_of_two_rows_of_one_question_an_answer_counts_before_an_error_in_any_order(same_key):
    rows = []
    for n in range(20):
        for outcome, right in (("model_error", False), ("answered", False), ("answered", True)):
            key = f"k{n}" if same_key else f"k{n}-{outcome}-{right}"
            rows.append(
                known.response(right, outcome=outcome, query=f"q{n}", key=key, score=None if right else float(right))
            )
    table = pl.DataFrame(rows, schema=schema())
    found = []
    for order in shuffles(table):
        (cell,), notes = build_cells(order)
        assert (len(cell.episode), int(cell.scored.sum())) == (20, 20)
        assert "40 rows" in notes[0]
        found.append(json.dumps(summarise(order, redraws=100)))
    assert len(set(found)) == 1


def test_a_write_is_shared_by_failed_questions_too():
    """A write of 400 serves four questions, two of which fail with their costs unknown."""
    rows = [
        known.response(False, query=f"q{n}", outcome="model_error" if n < 2 else "answered",
                       flops_write=None if n < 2 else 400, flops_read=None if n < 2 else 10, write_shared=True)
        for n in range(4)
    ]  # fmt: skip
    assert describe(rows)["flops_write_shared"] == 100.0


def test_streams_are_counted_once_whatever_was_asked_about_them():
    rows = [
        known.response(True, system=system, negatives=negatives, arm=arm, episode=f"e{n}")
        for system in "ab" for negatives in ("uniform", "matched") for arm in ("none", "A") for n in range(3)
    ]  # fmt: skip
    assert summarise(known.frame(rows), redraws=100)["episodes"] == 3


def test_a_negative_seed_is_refused(run_rows):
    with pytest.raises(InputError, match="seed must not be negative, got -1"):
        summarise(run_rows, redraws=100, seed=-1)


def test_a_table_of_something_else_is_refused():
    with pytest.raises(InputError, match="column 'key' is missing"):
        build_cells(pl.DataFrame({"system": ["s"]}))


def test_answers_that_are_neither_right_nor_wrong_are_left_out_with_a_note():
    rows = [known.response(True, query="a"), known.response(True, query="b"), known.response(None, query="c")]
    rows[1] = {**rows[1], "correct": None, "score": 0.7}
    cells, notes = build_cells(known.frame(rows))
    assert [len(cell.outcome) for cell in cells] == [2]
    assert len(notes) == 1
    assert notes[0].startswith("1 answers have a score but")
    assert "half-life --responses" in notes[0]


def test_an_empty_table_has_no_cells_and_a_whole_document():
    document = summarise(known.frame([]))
    assert document["cells"] == []
    assert all(document[name] == [] for name in ("curves", "compression", "calibration", "comparisons"))


@given(st.randoms(use_true_random=False))
@settings(max_examples=5, deadline=None)
def test_the_order_of_rows_changes_nothing(random):
    rows = known.window_rows(32, episodes=6) + known.window_rows(32, split="low", episodes=6)
    rows += known.window_rows(64, episodes=6) + known.window_rows(64, episodes=6, arm="B")
    first = summarise(known.frame(rows), redraws=200)
    random.shuffle(rows)
    assert json.dumps(summarise(known.frame(rows), redraws=200)) == json.dumps(first)


@given(
    st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=30),
    st.lists(st.sampled_from(["unparsed", "pending", "judge_error", "model_error", "refused_by_server"]), max_size=10),
)
@settings(max_examples=40, deadline=None)
def test_errors_change_nothing_but_the_counts(answers, errors):
    rows = [
        known.response(right, query=f"q{n}", episode=f"e{n % 4}", gold="yes" if n % 2 else "no")
        for n, right in enumerate(answers)
    ]
    more = [known.response(False, query=f"x{n}", episode=f"e{n % 5}", outcome=e) for n, e in enumerate(errors)]
    clean, dirty = describe(rows), describe(rows + more)
    right, count = answers.count(True), len(answers)
    assert clean["accuracy"]["value"] == pytest.approx(right / count)
    for name in ("accuracy", "balanced_accuracy", "coverage", "accuracy_answered", "accuracy_yes", "accuracy_no"):
        assert dirty[name] == clean[name], name
    assert (dirty["n"], dirty["scored"]) == (count + len(errors), count)
    assert dirty["accuracy_worst"] == pytest.approx(right / (count + len(errors)))
    assert dirty["accuracy_best"] == pytest.approx((right + len(errors)) / (count + len(errors)))
    assert sum(dirty["outcomes"].values()) == dirty["n"]
    assert bool(dirty["notes"]) == bool(errors)


def test_every_outcome_is_counted_by_its_kind():
    rows = [
        known.response(True),
        known.response(None, query="q1", abstain_kind="format"),
        known.response(None, query="q2", abstain_kind="overflow"),
        known.response(None, query="q3"),
        known.response(False, query="q4", outcome="refused_by_server", refused_kind="too_long"),
        known.response(False, query="q5", outcome="unparsed"),
        known.response(False, query="q6", outcome="pending"),
    ]
    found = describe(rows)
    assert found["outcomes"] == {
        "answered": 1, "abstained": 3, "unparsed": 1, "pending": 1, "judge_error": 0, "model_error": 0,
        "refused_by_server": 1,
    }  # fmt: skip
    assert found["abstain_kinds"] == {"explicit": 1, "format": 1, "overflow": 1}
    assert found["refused_kinds"] == {"too_long": 1, "filtered": 0, "empty": 0}
    assert found["accuracy"]["value"] == found["coverage"]["value"] == 0.25
    assert found["accuracy_answered"]["value"] == 1.0


def test_a_cell_of_errors_alone_has_no_numbers_but_bounds():
    found = describe([known.response(False, query=f"q{n}", outcome="model_error") for n in range(3)])
    assert found["accuracy"]["value"] is None
    assert found["accuracy"]["note"]
    assert (found["accuracy_worst"], found["accuracy_best"]) == (0.0, 1.0)


def test_a_cell_of_abstentions_alone():
    found = describe([known.response(None, query=f"q{n}", episode=f"e{n}") for n in range(5)])
    assert found["accuracy"]["value"] == found["coverage"]["value"] == 0.0
    assert found["accuracy_answered"]["value"] is None
    assert found["accuracy"]["high"] == pytest.approx(1 - 0.025 ** (1 / 5))


def test_balanced_accuracy_weights_both_answers_alike_and_needs_both():
    rows = [known.response(True, query=f"y{n}", episode=f"e{n % 3}") for n in range(6)]
    rows += [known.response(n < 1, gold="no", query=f"n{n}", episode=f"e{n % 3}") for n in range(2)]
    found = describe(rows)
    assert found["accuracy"]["value"] == pytest.approx(7 / 8)
    assert found["balanced_accuracy"]["value"] == pytest.approx(0.75)
    assert (found["accuracy_yes"]["value"], found["accuracy_no"]["value"]) == (1.0, 0.5)
    only_yes = describe(rows[:6])
    assert only_yes["balanced_accuracy"]["value"] is None
    assert only_yes["balanced_accuracy"]["note"]


def test_variants_are_pooled_with_equal_weight():
    rows = [known.response(True, variant="spatial", query=f"a{n}", episode=f"e{n % 4}") for n in range(12)]
    rows += [known.response(False, variant="sequential", query=f"b{n}", episode=f"e{n % 4}") for n in range(4)]
    found = describe(rows)
    assert found["variants"] == ["sequential", "spatial"]
    assert found["accuracy"]["value"] == pytest.approx(0.5)
    assert accuracy_bounds(one_cell(rows)) == pytest.approx((0.5, 0.5))
    with_error = [*rows, known.response(False, variant="spatial", query="x", outcome="model_error")]
    assert describe(with_error)["accuracy"] == found["accuracy"]
    assert accuracy_bounds(one_cell(with_error)) == pytest.approx(((0 + 12 / 13) / 2, (0 + 13 / 13) / 2))


def test_scores_between_right_and_wrong_have_a_mean():
    rows = [known.response(True, score=s, query=f"q{n}", episode=f"e{n}") for n, s in enumerate((0.25, 0.5, 1.0))]
    assert describe(rows)["score"]["value"] == pytest.approx(1.75 / 3)
    assert describe([known.response(True)])["score"]["value"] is None


def test_costs_are_means_and_a_shared_write_is_counted_once():
    rows = [
        known.response(
            True,
            query=f"q{n}",
            episode="a" if n < 3 else "b",
            flops_write=300 if n < 3 else 100,
            write_shared=True,
            flops_read=10 + n,
            tokens_out=n,
            state_bits=7,
        )
        for n in range(4)
    ]
    found = describe(rows)
    assert found["flops_write"] == 250.0
    assert found["flops_read"] == 11.5
    assert found["flops_total"] == 261.5
    assert found["flops_write_shared"] == (300 + 100) / 4
    assert found["flops_total_shared"] == 100 + 11.5
    assert (found["tokens_out"], found["state_bits"], found["tokens_in"]) == (1.5, 7.0, None)
    own = describe([{**row, "write_shared": False} for row in rows])
    assert own["flops_write_shared"] is None


def test_flops_beyond_64_bits_are_refused():
    row = known.response(True, flops_write=2**62 + 2**61, flops_read=2**62)
    with pytest.raises(InputError, match="beyond"):
        build_cells(known.frame([row]))


def test_the_accuracy_of_a_table_needs_no_cells(run_rows):
    rows = run_rows.filter(system="window:bits=64", split="max", length=64, arm="none")
    (cell,), _ = build_cells(rows)
    assert (
        table_accuracy(rows.select("episode", "correct"), RESAMPLER).estimate()
        == accuracies(cell, RESAMPLER).accuracy.estimate()
    )
