"""Agreement statistics against statsmodels and scipy; verdict files; the commands."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
from scipy.stats import binomtest, spearmanr
from statsmodels.stats.inter_rater import cohens_kappa

from memgauge.cli.judge import agree, import_labels, sample
from memgauge.errors import InputError
from memgauge.grading.judge.files import labels_csv, read_verdicts, stratified_sample
from memgauge.metrics.agreement import (
    compare_labels,
    compare_verdicts,
    corrected_accuracy,
    exact_rate,
    format_bias,
    rank_correlation,
)
from memgauge.metrics.verdicts import Verdicts, agreement_document, read_families


@pytest.mark.parametrize("seed", range(5))
def test_kappa_and_its_interval_are_those_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 60)
    rater = np.where(rng.random(60) < 0.8, truth, 1 - truth)
    found = compare_verdicts(rater, truth)
    table = np.array([[((rater == i) & (truth == j)).sum() for j in (0, 1)] for i in (0, 1)])
    other = cohens_kappa(table)
    assert math.isclose(found.kappa, other.kappa, abs_tol=1e-12)
    assert math.isclose(found.kappa_low, max(-1, other.kappa_low), abs_tol=1e-9)
    assert math.isclose(found.kappa_high, min(1, other.kappa_upp), abs_tol=1e-9)
    assert found.first_only == table[1, 0]
    assert found.second_only == table[0, 1]
    assert math.isclose(found.leniency, rater.mean() - truth.mean(), abs_tol=1e-12)


def test_the_edges_of_kappa():
    assert compare_verdicts([], []).kappa is None
    assert compare_verdicts([1, 1], [1, 1]).kappa is None
    same = compare_verdicts([1, 0] * 20, [1, 0] * 20)
    assert (same.kappa, same.kappa_high) == (1.0, 1.0)
    assert 0.7 < same.kappa_low < 1.0
    with pytest.raises(ValueError, match="0 and 1"):
        compare_verdicts([2], [1])
    with pytest.raises(ValueError, match="on the other"):
        compare_verdicts([1], [1, 0])


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 7), (7, 7), (1, 200)])
def test_exact_rates_are_those_of_scipy(hits, n):
    found, other = exact_rate(hits, n), binomtest(hits, n).proportion_ci(method="exact")
    assert math.isclose(found.low, other.low, abs_tol=1e-9)
    assert math.isclose(found.high, other.high, abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_rank_correlation_is_scipys(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, 12), rng.integers(0, 6, 12)
    assert math.isclose(rank_correlation(list(a), list(b)), spearmanr(a, b).statistic, abs_tol=1e-12)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1, 2], [1, 2]) is None


def test_leniency_to_short_answers():
    judge = [1] * 10 + [1] * 10
    truth = [1] * 6 + [0] * 4 + [1] * 9 + [0]
    bias = format_bias(judge, truth, [2] * 10 + [9] * 10)
    assert (bias.short.first_only, bias.long.first_only) == (4, 1)
    # 20 short and 20 long answers called right of 100: the excess of 0.4 - 0.1 is taken off the short ones.
    assert math.isclose(corrected_accuracy(20, 20, 100, bias), (20 * 0.7 + 20) / 100)


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.csv", "question_id,judge_score,task_key\nq1,1,KU\nq2,0,IE\nq3,,IE\n"),
        (
            "v.jsonl",
            '{"question_id": "q1", "verdict": 1, "subtype": "KU"}\n\n'
            '{"id": "q2", "label": false, "task": "IE"}\n'
            '{"id": "q3", "verdict": "unparsed", "task": "IE"}\n',
        ),
        (
            "v.json",
            '[{"question_id": "q1", "judge_score": 1.0, "task_key": "KU"},'
            '{"question_id": "q2", "judge_score": 0, "task_key": "IE"},'
            '{"question_id": "q3", "judge_score": null, "task_key": "IE"}]',
        ),
    ],
)
def test_files_of_verdicts(tmp_path, name, text):
    rows = read_verdicts(write(tmp_path / name, text))
    assert [(row.id, row.value, row.task) for row in rows] == [("q1", 1, "KU"), ("q2", 0, "IE"), ("q3", None, "IE")]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("v.csv", "question_id,judge_score\nq1,2\n", "line 2: '2' is no verdict"),
        ("v.csv", "question_id,judge_score\nq1,1\nq1,0\n", "line 3: question 'q1' is there already"),
        ("v.csv", "question,judge_score\nq1,1\n", "no field for the question"),
        ("v.csv", "question_id,text\nq1,1\n", "no field for the verdict"),
        ("v.csv", "question_id,label\n", "holds no verdicts"),
        ("v.jsonl", '{"id": "q1", "label": 1}\n{"id": ', "line 2 is not JSON"),
        ("v.json", '{"data": 3}', "neither a list"),
    ],
)
def test_bad_files_are_named(tmp_path, name, text, says):
    with pytest.raises(InputError, match=says):
        read_verdicts(write(tmp_path / name, text))


def test_agree_pairs_by_system_and_question(tmp_path, capsys):
    lines = ["question_id,system,task_key,verdict,prediction"]
    lines += [
        f"q{i},s{i % 3},{'KU' if i % 2 else 'IE'},{int(i % 4 != 0)},{'tea' if i % 5 else 'a cup of green tea'}"
        for i in range(30)
    ]
    judge = write(tmp_path / "judge.csv", "\n".join(lines) + "\n")
    labels = [{"question_id": f"q{i}", "system": f"s{i % 3}", "label": int(i % 5 != 0)} for i in range(25)]
    human = write(tmp_path / "human.jsonl", "\n".join(map(json.dumps, labels)))
    agree(judge, human, json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["pairs"], found["only_first"], found["only_second"]) == (25, 5, 0)
    assert found["overall"]["first_only"] == sum(i % 4 != 0 and i % 5 == 0 for i in range(25))
    assert set(found["by_ability"]) == {"IE", "KU"}
    assert set(found["by_system"]) == {"s0", "s1", "s2"}
    assert found["format_bias"]["n"] == 25
    agree(judge, human)
    assert "25 answers are in both files" in capsys.readouterr().out


def test_sample_label_and_import(tmp_path, capsys):
    rows = [
        {"question_id": f"q{i}", "task": "KU" if i < 30 else "AR", "verdict": i % 2, "prediction": "=1+1"}
        for i in range(40)
    ]
    verdicts = write(tmp_path / "v.jsonl", "\n".join(map(json.dumps, rows)))
    out = tmp_path / "labels.csv"
    sample(verdicts, out=out, n=8, by="task,value", seed=3)
    with out.open(newline="") as file:
        drawn = list(csv.DictReader(file))
    assert len(drawn) == 8
    assert {row["task"] for row in drawn} == {"KU", "AR"}
    assert all(row["prediction"] == "'=1+1" and row["label"] == "" for row in drawn)
    assert "verdict" not in drawn[0]
    with pytest.raises(InputError, match="is there already"):
        sample(verdicts, out=out)
    with pytest.raises(InputError, match="empty everywhere"):
        import_labels(out, out=tmp_path / "l.jsonl")
    for row in drawn[:5]:
        row["label"] = "1"
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, drawn[0])
        writer.writeheader()
        writer.writerows(drawn)
    import_labels(out, out=tmp_path / "l.jsonl", verdicts=verdicts)
    assert len(read_verdicts(tmp_path / "l.jsonl")) == 5
    capsys.readouterr()
    agree(verdicts, tmp_path / "l.jsonl", json=True)
    assert json.loads(capsys.readouterr().out)["overall"]["n"] == 5


def test_a_sample_is_repeatable_and_in_proportion(tmp_path):
    lines = "".join(f"q{i},{'a' if i < 75 else 'b'},1\n" for i in range(100))
    rows = read_verdicts(write(tmp_path / "v.csv", "question_id,task,verdict\n" + lines))
    drawn = stratified_sample(rows, 20, ("task",), 1)
    assert [sum(row.task == task for row in drawn) for task in "ab"] == [15, 5]
    assert drawn == stratified_sample(rows, 20, ("task",), 1)
    assert drawn != stratified_sample(rows, 20, ("task",), 2)
    assert len(stratified_sample(rows, 500, ("task",), 1)) == 100
    assert labels_csv(drawn).count("\r\n") == 21


@pytest.mark.parametrize("seed", range(3))
def test_kappa_of_several_labels_is_that_of_statsmodels(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 80)
    rater = np.where(rng.random(80) < 0.7, truth, rng.integers(0, 4, 80))
    found = compare_labels([f"l{i}" for i in rater], [f"l{i}" for i in truth])
    table = np.array([[((rater == i) & (truth == j)).sum() for j in range(4)] for i in range(4)])
    other = cohens_kappa(table)
    assert math.isclose(found.kappa, other.kappa, abs_tol=1e-12)
    assert math.isclose(found.kappa_low, other.kappa_low, abs_tol=1e-9)
    assert math.isclose(found.kappa_high, other.kappa_upp, abs_tol=1e-9)
    assert sum(n for _, _, n in found.differing) == (rater != truth).sum()
    assert compare_labels([], []).kappa is None


def judged(question, system, first, second, words=9):
    return Verdicts(question, system, "KU", first, second, words)


def test_a_judge_that_favours_a_family_is_found_out():
    """Right answers are right for all; of the wrong ones, those of one family are credited half of the time."""
    pairs = []
    for i in range(200):
        pairs += [judged(f"q{i}", name, int(i % 2), int(i % 2)) for name in ("gpt-a", "gpt-b")]
        pairs.append(judged(f"q{i}", "Qwen-7B", int(i % 4 != 0), int(i % 2)))
    found = agreement_document(pairs, families={"qwen": ["qwen*"], "gpt": ["gpt-*"]})
    qwen, gpt = found["families"]
    assert qwen["systems"] == ["Qwen-7B"]
    # A quarter of Qwen's answers is credited wrongly, and none of the others.
    assert math.isclose(qwen["gap"]["value"], 0.25, abs_tol=1e-9)
    assert qwen["gap"]["low"] > 0.15
    assert qwen["gap"]["high"] < 0.35
    assert math.isclose(gpt["gap"]["value"], -0.25, abs_tol=1e-9)
    assert found["mean_accuracy_delta"] == pytest.approx(0.25 / 3)


def test_accuracies_are_corrected_for_the_form():
    """A rater that credits 4 of 10 wrong short answers and no wrong long one."""
    pairs = [judged(f"s{i}", "a", int(i < 6 or i < 10), int(i < 6), words=2) for i in range(10)]
    pairs += [judged(f"l{i}", "a", int(i < 5), int(i < 5), words=20) for i in range(10)]
    rated = [*pairs, *(judged(f"x{i}", "a", 1, None, words=1) for i in range(10))]
    form = agreement_document(pairs, rated=rated)["format_bias"]
    assert (form["short"]["first_only"], form["long"]["first_only"]) == (4, 0)
    corrected = form["corrected"]["a"]
    assert (corrected["n"], corrected["accuracy"]) == (30, pytest.approx(25 / 30))
    assert corrected["corrected"] == pytest.approx((20 * 0.6 + 5) / 30)


def test_families_are_read():
    assert read_families(["a=x*, y", "b=z"], InputError) == {"a": ("x*", "y"), "b": ("z",)}
    for bad in (["a"], ["=x"], ["a=x,"], ["a=x", "a=y"]):
        with pytest.raises(InputError):
            read_families(bad, InputError)
