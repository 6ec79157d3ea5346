from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import known_rows as known
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.metrics.cells import build_cells
from memgauge.metrics.compare import MOST_SYSTEMS, compare_cells, compare_runs, family_pairs, match_systems, same_data
from memgauge.metrics.exact import holm, mcnemar
from memgauge.metrics.inference import Resampler
from memgauge.metrics.summary import summarise
from memgauge.responses import write_parquet

RESAMPLER = Resampler(300)
ANSWER = st.sampled_from([True, False, None, "error", "absent"])


def side(answers, system):
    rows = []
    for number, answer in enumerate(answers):
        if answer == "absent":
            continue
        more = {"outcome": "model_error"} if answer == "error" else {}
        right = False if answer == "error" else answer
        rows.append(known.response(right, system=system, query=f"q{number}", episode=f"e{number % 5}", **more))
    return rows


@given(st.lists(st.tuples(ANSWER, ANSWER), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_a_comparison_by_hand(pairs):
    rows = side([a for a, _ in pairs], "a") + side([b for _, b in pairs], "b")
    if {row["system"] for row in rows} != {"a", "b"}:
        return
    cells, _ = build_cells(known.frame(rows))
    (found,) = compare_cells(cells, [(0, 1)], "given pair", RESAMPLER)
    both = [(a is True, b is True) for a, b in pairs if not {a, b} & {"error", "absent"}]
    asked = sum(not (a == "absent" and b == "absent") for a, b in pairs)
    assert (found["n"], found["unpaired"]) == (len(both), asked - len(both))
    a_only, b_only = both.count((True, False)), both.count((False, True))
    assert (found["mcnemar"]["a_only"], found["mcnemar"]["b_only"]) == (a_only, b_only)
    if a_only + b_only:
        assert found["mcnemar"]["p"] == pytest.approx(stats.binomtest(a_only, a_only + b_only).pvalue)
    if both:
        assert found["difference"]["value"] == pytest.approx((a_only - b_only) / len(both), abs=1e-12)
        assert found["accuracy_a"] == pytest.approx(sum(a for a, _ in both) / len(both))
        assert 0 < found["p_stream"] <= 1
    else:
        assert found["note"]
        assert found["difference"]["value"] is found["p_stream"] is None


def test_streams_that_go_one_way_together_are_not_counted_as_many_questions():
    """Six streams of 50 questions, five of which A wins whole: McNemar is sure, the streams are not."""
    rows = []
    for number in range(6):
        for query in range(50):
            good = number > 0
            rows += [
                known.response(good, system="a", episode=f"e{number}", query=f"q{query}"),
                known.response(not good, system="b", episode=f"e{number}", query=f"q{query}"),
            ]
    cells, _ = build_cells(known.frame(rows))
    (found,) = compare_cells(cells, [(0, 1)], "given pair", RESAMPLER)
    assert found["mcnemar"]["p"] < 1e-20
    assert found["p_stream"] == pytest.approx(14 / 64)  # five or six alike out of 2**6 signs, on either side
    assert found["difference"]["low"] < 0 < found["difference"]["high"]


def test_all_pairs_up_to_twelve_systems_then_against_the_best():
    def rows(count):
        rng = np.random.default_rng(0)
        return [
            known.response(bool(rng.random() < 0.4 + 0.04 * s), system=f"s{s:02d}", query=f"q{q}", episode=f"e{q % 6}")
            for s in range(count)
            for q in range(60)
        ]

    few = summarise(known.frame(rows(MOST_SYSTEMS)), redraws=200)["comparisons"]
    assert len(few) == 66
    assert {(c["m"], c["family"], c["pairs"]) for c in few} == {(66, "cell", "all pairs")}
    assert [c["p_holm"] for c in few] == pytest.approx(holm([c["mcnemar"]["p"] for c in few]))
    assert [c["p_stream_holm"] for c in few] == pytest.approx(holm([c["p_stream"] for c in few]))
    many = summarise(known.frame(rows(MOST_SYSTEMS + 1)), redraws=200)
    best = max(many["cells"], key=lambda cell: cell["accuracy"]["value"])["system"]
    assert {c["system_a"] for c in many["comparisons"]} == {best}
    assert {(c["m"], c["family"], c["pairs"]) for c in many["comparisons"]} == {(78, "cell", "against the best")}
    # The data chose the best, so the correction is over all pairs that it could have chosen.
    assert [c["p_holm"] for c in many["comparisons"]] == pytest.approx(
        holm([c["mcnemar"]["p"] for c in many["comparisons"]], size=78)
    )
    cells, _ = build_cells(known.frame(rows(2)))
    assert family_pairs(cells) == ([(0, 1)], "all pairs")


def test_variants_count_alike_in_a_comparison():
    rows = []
    for number in range(24):
        variant = "spatial" if number < 18 else "sequential"
        rows.append(known.response(variant == "spatial", system="a", query=f"q{number}", variant=variant))
        rows.append(known.response(False, system="b", query=f"q{number}", variant=variant))
    cells, _ = build_cells(known.frame(rows))
    (found,) = compare_cells(cells, [(0, 1)], "given pair", RESAMPLER)
    assert found["difference"]["value"] == pytest.approx(0.5)


def test_runs_are_paired_by_question_and_cells_of_one_run_only_are_said():
    first = known.frame(known.window_rows(32) + known.window_rows(32, length=64))
    second = known.frame(known.window_rows(48) + known.window_rows(48, split="low"))
    found = compare_runs(first, second, [("window:bits=128", "window:bits=192")], resampler=RESAMPLER)
    (only,) = found["comparisons"]
    assert (only["length"], only["split"], only["n"], only["unpaired"]) == (128, "max", 96, 0)
    assert "192 rows" in found["notes"][0]
    assert found["overall"][0]["difference"]["value"] == only["difference"]["value"]
    assert only["mcnemar"]["a_only"] == 0
    assert only["difference"]["value"] == pytest.approx(only["accuracy_a"] - only["accuracy_b"])


def test_the_best_of_many_equal_systems_is_seldom_called_better():
    """13 systems of equal skill, 200 tables: a false alarm in any may not be more frequent than 5 %.

    With a true rate of 5 %, 19 or more of 200 have a chance of 0.7 %; corrected over 12 pairs there were 60.
    """
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(200):
        right = rng.random((13, 320)) < 0.7
        best = int(right.mean(axis=1).argmax())
        p = [
            mcnemar(int((right[best] & ~row).sum()), int((row & ~right[best]).sum())).p
            for place, row in enumerate(right)
            if place != best
        ]
        alarms += min(holm(p, size=78)) <= 0.05
    assert alarms < 19


def test_one_name_for_different_questions_is_refused():
    rows = known.window_rows(32, system="a", episodes=2) + known.window_rows(64, system="b", episodes=2)
    last = dict(rows[-1])
    changed = {"age": (last["age"] or 0) + 1, "query_length": last["query_length"] + 1}
    changed["gold"] = {"yes": "no", "no": "yes"}[last["gold"]]
    rows[-2]["age"] = 5.0
    rows[len(rows) // 2 - 2]["age"] = None  # what one side does not tell cannot disagree
    for name, value in changed.items():
        if name == "age":
            rows[len(rows) // 2 - 1]["age"] = 4.0
        table = known.frame([*rows[:-1], {**last, name: value}])
        with pytest.raises(InputError, match=f"query '{last['query']}' of episode '{last['episode']}'"):
            compare_runs(table, table, [("a", "b")], resampler=RESAMPLER)
        with pytest.raises(InputError, match="is not the same question for 'a' and 'b'"):
            summarise(table, redraws=100)
        rows[len(rows) // 2 - 1]["age"] = last["age"]


def test_right_answers_in_words_are_compared_too():
    rows = [known.response(True, system=s, gold=f"{g}", task="t") for s, g in (("a", "red"), ("b", "blue"))]
    with pytest.raises(InputError, match="the right answer differs"):
        summarise(known.frame(rows), redraws=100)


def test_runs_on_other_data_are_refused():
    made = {"data": {"identity": {"made": True, "seed": 0, "queries": 16}}}
    other = {"data": {"identity": {"made": True, "seed": 1, "queries": 16}}}
    folders = [{"data": {"identity": {"made": False, "manifest_sha256": letter}}} for letter in "ab"]
    imported = {"data": {"identity": {"made": False, "imported": True}}}
    assert same_data(made, made) is same_data(imported, imported) is None
    assert "does not say what its data is" in same_data(made, {"folder": "x"})
    for first, second, said in (
        (made, other, "seed 0 in A, 1 in B"),
        (made, folders[0], "A is of streams made from a seed, B of the streams of a folder"),
        (folders[0], folders[1], "manifest_sha256 a in A, b in B"),
        (imported, folders[1], "A is of imported answers"),
    ):
        with pytest.raises(InputError, match=said):
            same_data(first, second)


def test_the_overall_lines_keep_arms_and_kinds_of_negatives_apart():
    def rows(window):
        made = [row for arm in ("none", "A") for row in known.window_rows(window, arm=arm)]
        made += known.window_rows(window, length=64)
        return known.frame([{**row, "negatives": kind, "key": None} for kind in ("uniform", "matched") for row in made])

    found = compare_runs(rows(32), rows(64), [("window:bits=128", "window:bits=256")], resampler=RESAMPLER)
    assert {(c["arm"], c["negatives"], c["n"], c["length"]) for c in found["overall"]} == {
        ("none", "uniform", 192, None), ("none", "matched", 192, None), ("A", "uniform", 96, 128),
        ("A", "matched", 96, 128),
    }  # fmt: skip
    assert {(c["family"], c["m"]) for c in found["comparisons"]} == {("printed", 6)}
    assert {(c["family"], c["m"]) for c in found["overall"]} == {("printed", 4)}


def test_the_overall_line_takes_all_splits_and_lengths():
    a = known.window_rows(32) + known.window_rows(32, split="low") + known.window_rows(32, length=64)
    b = known.window_rows(64) + known.window_rows(64, split="low") + known.window_rows(64, length=64)
    pair = ("window:bits=128", "window:bits=256")
    found = compare_runs(known.frame(a), known.frame(b), [pair], resampler=RESAMPLER)
    (whole,) = found["overall"]
    assert len(found["comparisons"]) == 3
    assert whole["n"] == sum(c["n"] for c in found["comparisons"]) == 288
    assert whole["episodes"] == 36
    assert (whole["length"], whole["arm"], whole["split"]) == (None, "none", None)
    weights = [c["n"] for c in found["comparisons"]]
    values = [c["difference"]["value"] for c in found["comparisons"]]
    assert whole["difference"]["value"] == pytest.approx(np.average(values, weights=weights))


def test_a_run_compared_with_itself_has_no_difference():
    rows = known.frame(known.window_rows(32))
    found = compare_runs(rows, rows, [("window:bits=128", "window:bits=128")], resampler=RESAMPLER)
    (only,) = found["comparisons"]
    assert (only["n"], only["difference"]["value"], only["mcnemar"]["p"]) == (96, 0.0, 1.0)


def test_which_systems_are_compared():
    assert match_systems(["a", "b"], ["b", "c"]) == [("b", "b")]
    assert match_systems(["a"], ["b"]) == [("a", "b")]
    assert match_systems(["a", "b"], ["c", "d"], system_a="a", system_b="d") == [("a", "d")]
    assert match_systems(["a", "b"], ["c"], system_a="b") == [("b", "c")]
    assert match_systems(["a", "b"], ["a", "b"], system_a="b") == [("b", "b")]
    with pytest.raises(InputError, match="share no system"):
        match_systems(["a", "b"], ["c", "d"])
    with pytest.raises(InputError, match="unknown system 'windw'"):
        match_systems(["window"], ["window"], system_a="windw")
    with pytest.raises(InputError, match="no cell of questions in common"):
        compare_runs(
            known.frame(known.window_rows(32)),
            known.frame(known.window_rows(32, length=64)),
            [("window:bits=128", "window:bits=128")],
            resampler=RESAMPLER,
        )


@pytest.fixture
def two_runs(tmp_path):
    folders = []
    for name, window in (("one", 32), ("two", 64)):
        folder = tmp_path / name
        folder.mkdir()
        write_parquet(known.frame(known.window_rows(window, system="mine")), folder / "responses.parquet")
        folders.append(str(folder))
    both = pl.concat([known.frame(known.window_rows(w)) for w in (32, 64)])
    both = both.with_columns(pl.col("system") + pl.col("key"))[:0].vstack(both)
    write_parquet(both, tmp_path / "both.parquet")
    return [*folders, str(tmp_path / "both.parquet")]


def test_the_command_prints_one_document(two_runs):
    """Through the real command: standard output is JSON and nothing else."""
    command = [sys.executable, "-m", "memgauge", "compare", *two_runs[:2], "--json", "--redraws", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (only,) = found["comparisons"]
    assert (only["system_a"], only["system_b"], only["n"], only["m"]) == ("mine", "mine", 96, 1)
    assert only["difference"]["value"] < 0
    assert found["run_a"] == two_runs[0]


def test_the_command_prints_a_table(two_runs, capsys):
    systems = ["--system-a", "window:bits=128", "--system-b", "window:bits=256"]
    assert run(["compare", two_runs[2], two_runs[2], *systems, "--redraws", "200"]) == 0
    out = capsys.readouterr().out
    assert "A = window:bits=128, B = window:bits=256 (ecc-tokens max L=128 uniform arm none)" in out.replace("\n", "")
    assert "over all that is printed: m = 1 cells" in out.replace("\n", " ")


def test_the_command_refuses_what_cannot_be_compared(two_runs, capsys):
    assert run(["compare", two_runs[2], two_runs[2]]) == 2
    assert "name two of its systems" in capsys.readouterr().err
    assert run(["compare", two_runs[0], two_runs[0] + "x"]) == 2
    assert "no such file" in capsys.readouterr().err
    assert run(["compare", *two_runs[:2], "--redraws", "5"]) == 2
    assert "--redraws" in capsys.readouterr().err
    assert run(["compare", *two_runs[:2], "--seed", "-1"]) == 2
    assert "--seed" in capsys.readouterr().err
    for folder, seed in zip(two_runs[:2], (0, 1), strict=True):
        record = {"data": {"identity": {"made": True, "seed": seed, "queries": 16}}}
        (Path(folder) / "run.json").write_text(json.dumps(record))
    for end in ("", "/responses.parquet"):
        assert run(["compare", *(folder + end for folder in two_runs[:2])]) == 2
        assert "different data: seed 0 in" in capsys.readouterr().err
