"""Every number of the task `memlens` against loops over rows, scipy and statsmodels."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memlens_rows import MIX, answer, frame, questions, system_rows
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from test_summary import check

from memgauge.metrics.inference import Resampler
from memgauge.metrics.memlens.document import Memlens
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.overlap import expected_jaccard
from memgauge.metrics.memlens.ranks import kendall, spearman
from memgauge.metrics.memlens.summary import conversation_numbers
from memgauge.metrics.memlens.table import read_answers
from memgauge.metrics.summary import summarise

LENGTHS = {32768: 0.6, 65536: 0.5, 131072: 0.4}
QUICK = Resampler(200)
ERRORS = ("model_error", "judge_error", "unparsed", "refused_by_server", "pending")


def numbers(rows: pl.DataFrame, **options: Any) -> dict[str, Any]:
    found = conversation_numbers(rows, resampler=QUICK, **options)
    assert found is not None
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == found
    return dict(found)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Five systems at three lengths, two ablations, some errors, and questions that a system was not asked."""
    parts = [
        system_rows(
            f"s{number}", {k: v * (1 - 0.15 * number) for k, v in LENGTHS.items()}, seed=number, confident=number == 0
        )
        for number in range(5)
    ]
    parts.append(system_rows("s0", LENGTHS, arm="text-only", seed=9))
    parts.append(system_rows("s0", {32768: 0.9}, arm="oracle-sessions", only=("IE", "MSR", "TR", "KU")))
    draw = np.random.default_rng(1)
    kept = []
    for part in parts:
        for row in part:
            luck = draw.random()
            if luck < 0.03:
                continue
            if luck < 0.08:
                row |= {"outcome": ERRORS[int(luck * 1000) % 5], "correct": None, "score": None, "abstain_kind": None}
            elif luck < 0.11 and row["subtype"] != "AR":
                row |= {"outcome": "abstained", "abstain_kind": "overflow", "correct": False, "score": 0.0,
                        "finish_reason": "length", "raw_output": "<think>hm"}  # fmt: skip
            kept.append(row)
    return frame(kept)


@pytest.fixture(scope="module")
def found(rows: pl.DataFrame) -> dict[str, Any]:
    subset = {name for number, (name, *_) in enumerate(questions()) if number % 3 == 0}
    return numbers(rows, sizes={f"s{n}": 2.0 ** (5 - n) for n in range(5)}, subset=subset)


def verdicts(rows: pl.DataFrame, system: str, arm: str, length: int, ability: str = "all") -> dict[str, bool]:
    """The scored questions of a setting, by loops."""
    return {
        row["episode"]: row["correct"]
        for row in rows.iter_rows(named=True)
        if (row["system"], row["arm"], row["length"]) == (system, arm, length)
        and row["correct"] is not None
        and ability in ("all", row["split"])
    }


def test_the_document_is_what_the_types_say(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    check(found, Memlens)
    assert all(found[part] for part in found if part not in ("notes",))
    assert summarise(rows, redraws=100)["memlens"] is not None
    assert summarise(rows.with_columns(pl.lit("ecc-tokens").alias("task")), redraws=100)["memlens"] is None


def test_the_order_of_the_rows_does_not_matter(rows: pl.DataFrame) -> None:
    assert numbers(rows.sample(fraction=1, shuffle=True, seed=3)) == numbers(rows)


def test_scores_are_what_loops_over_rows_count(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows.iter_rows(named=True):
        groups = [("all", "all"), ("ability", row["split"]), ("subtype", row["subtype"]),
                  ("visual_need", row["visual_need"])]  # fmt: skip
        if row["subtype"] != "AR":
            groups.append(("answerable", "answerable"))
        for group in groups:
            cells[row["system"], row["arm"], row["length"], *group].append(row)
    seen = set()
    for score in found["scores"]:
        key = tuple(score[name] for name in ("system", "arm", "length", "grouping", "group"))
        seen.add(key)
        own = cells[key]
        scored = [row for row in own if row["correct"] is not None]
        right = sum(row["correct"] for row in scored)
        tried = [row for row in scored if row["outcome"] == "answered"]
        assert (score["n"], score["scored"]) == (len(own), len(scored))
        assert score["outcomes"] == {o: sum(row["outcome"] == o for row in own) for o in score["outcomes"]}
        assert sum(score["outcomes"].values()) == len(own)
        assert score["accuracy_worst"] == pytest.approx(right / len(own))
        assert score["accuracy_best"] == pytest.approx((right + len(own) - len(scored)) / len(own))
        if not scored:
            assert score["accuracy"] == {"value": None, "low": None, "high": None, "note": "no scored question in it"}
            continue
        assert score["accuracy"]["value"] == pytest.approx(right / len(scored))
        low, high = proportion_confint(right, len(scored), method="beta")
        assert score["accuracy"]["low"] == pytest.approx(np.nan_to_num(low, nan=0.0), abs=1e-9)
        assert score["accuracy"]["high"] == pytest.approx(np.nan_to_num(high, nan=1.0), abs=1e-9)
        assert score["coverage"]["value"] == pytest.approx(len(tried) / len(scored))
        if tried:
            assert score["accuracy_answered"]["value"] == pytest.approx(sum(r["correct"] for r in tried) / len(tried))
    # An oracle has no unanswerable question, so there `answerable` would be `all` again.
    assert {key for key in cells if key not in seen} == {("s0", "oracle-sessions", 32768, "answerable", "answerable")}


def test_micro_is_over_questions_and_macro_over_abilities(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    for row in found["overall"]:
        lengths = [row["length"]] if row["length"] else list(LENGTHS)
        own = [verdicts(rows, row["system"], row["arm"], length) for length in lengths]
        flat = [right for part in own for right in part.values()]
        assert row["micro"]["value"] == pytest.approx(np.mean(flat))
        assert row["micro"]["low"] < row["micro"]["value"] < row["micro"]["high"]
        if row["length"]:
            parts = [verdicts(rows, row["system"], row["arm"], row["length"], a) for a in row["abilities"]]
            assert row["macro"]["value"] == pytest.approx(np.mean([np.mean(list(part.values())) for part in parts]))
            assert row["macro"]["low"] < row["macro"]["value"] < row["macro"]["high"]


def test_the_papers_overall_accuracy_is_micro() -> None:
    """Table 13: Qwen3.5-122B at 32K has 74.39, 30.07, 51.55, 49.14 and 88.89 % by ability, and 58.68 % overall."""
    sizes = {"IE": 246, "MSR": 143, "TR": 194, "KU": 116, "AR": 90}
    right = {"IE": 183, "MSR": 43, "TR": 100, "KU": 57, "AR": 80}
    made = [
        answer("qwen", 32000, (f"{ability}{n}", ability, ability, "essential"), n < right[ability])
        for ability, size in sizes.items()
        for n in range(size)
    ]
    document = numbers(frame(made))
    shown = {
        row["group"]: round(100 * row["accuracy"]["value"], 2)
        for row in document["scores"]
        if row["grouping"] == "ability"
    }
    assert shown == {"IE": 74.39, "MSR": 30.07, "TR": 51.55, "KU": 49.14, "AR": 88.89}
    assert round(100 * document["overall"][0]["micro"]["value"], 2) == 58.68
    assert round(100 * document["overall"][0]["macro"]["value"], 2) == 58.81


def test_abstention_and_over_refusal(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    for row in found["abstention"]:
        own = rows.filter(
            (pl.col("system") == row["system"]) & (pl.col("arm") == row["arm"]) & (pl.col("length") == row["length"])
            & pl.col("correct").is_not_null()
        ).to_dicts()  # fmt: skip
        missing = [r for r in own if r["subtype"] == "AR"]
        there = [r for r in own if r["subtype"] != "AR"]
        assert (row["unanswerable"], row["answerable"]) == (len(missing), len(there))
        explicit = np.mean([r["outcome"] == "abstained" and r["abstain_kind"] == "explicit" for r in there])
        assert row["over_refusal"]["value"] == pytest.approx(explicit)
        assert row["no_answer"]["value"] == pytest.approx(np.mean([r["abstain_kind"] == "overflow" for r in own]))
        if missing:
            rate = np.mean([r["correct"] for r in missing])
            assert row["abstention"]["value"] == pytest.approx(rate)
            assert row["discrimination"]["value"] == pytest.approx(rate - explicit)
            assert -1 <= row["discrimination"]["low"] <= row["discrimination"]["value"] <= row["discrimination"]["high"]
        else:
            assert row["abstention"]["note"] == "no unanswerable question was scored"
            assert row["discrimination"]["value"] is None


def transitions(rows: pl.DataFrame, test: dict[str, Any]) -> list[tuple[bool, bool]]:
    first = verdicts(rows, test["system"], test["arm"], test["length_from"], test["ability"])
    second = verdicts(rows, test["system"], test["arm"], test["length_to"], test["ability"])
    return [(first[name], second[name]) for name in first.keys() & second.keys()]


def test_degradation_is_mcnemar_over_one_printed_family(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    part = found["degradation"]
    tests = part["by_ability"]["tests"]
    assert len(tests) == part["by_ability"]["m"] == 6 * 5 * 2  # six series, five abilities, two transitions
    assert part["overall"]["m"] == 6 * 2
    assert {test["arm"] for test in tests} == {"none", "text-only"}  # an oracle shows the same at every length
    for family in part.values():
        assert family["threshold"] == pytest.approx(0.05 / family["m"])
        reject, corrected, *_ = multipletests([test["p"] for test in family["tests"]], 0.05, "bonferroni")
        assert [test["p_bonferroni"] for test in family["tests"]] == pytest.approx(list(corrected))
        assert [test["significant"] for test in family["tests"]] == list(reject)
        assert family["significant"] == sum(reject)
        for test in family["tests"]:
            pairs = transitions(rows, test)
            lost, gained = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
            assert (test["n"], test["lost"], test["gained"]) == (len(pairs), lost, gained)
            expected = reference_mcnemar([[0, lost], [gained, 0]], exact=True).pvalue
            assert test["p"] == pytest.approx(min(1.0, expected))
            assert test["difference"]["value"] == pytest.approx((gained - lost) / len(pairs))
            assert test["accuracy_to"] - test["accuracy_from"] == pytest.approx(test["difference"]["value"])
            assert test["difference"]["low"] <= test["difference"]["value"] <= test["difference"]["high"]
    rises = [test for test in tests if test["gained"] > test["lost"]]
    assert [(t["system"], t["ability"], t["length_to"]) for t in part["increases"]["tests"]] == [
        (t["system"], t["ability"], t["length_to"]) for t in rises
    ]


def test_unpaired_questions_are_counted(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    asked: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for row in rows.iter_rows(named=True):
        asked[row["system"], row["arm"], row["length"], row["split"]].add(row["episode"])
        asked[row["system"], row["arm"], row["length"], "all"].add(row["episode"])
    for family in found["degradation"].values():
        for test in family["tests"]:
            sides = [asked[test["system"], test["arm"], test[k], test["ability"]] for k in ("length_from", "length_to")]
            assert test["unpaired"] == len(sides[0] | sides[1]) - test["n"]


def test_the_papers_only_nominal_increase_does_not_survive() -> None:
    """G.5: nine questions gained, one lost: p = 0.022, and 72 transitions are tested."""
    asked = [(f"q{n}", "MSR", "MSR_Counting", "essential") for n in range(143)]
    made = [answer("s", 65536, q, n == 0) for n, q in enumerate(asked)]
    made += [answer("s", 131072, q, 0 < n < 10) for n, q in enumerate(asked)]
    test = numbers(frame(made))["degradation"]["increases"]["tests"][0]
    assert (test["lost"], test["gained"]) == (1, 9)
    assert test["p"] == pytest.approx(0.0215, abs=1e-4)
    assert min(1.0, 72 * test["p"]) == 1.0


def test_churn_and_flip_back(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    for row in found["churn"]:
        pairs = transitions(rows, {**row, "ability": "all"})
        counts = [
            sum(pair == wanted for pair in pairs)
            for wanted in ((True, True), (False, False), (True, False), (False, True))
        ]
        assert [row[name] for name in ("both_right", "both_wrong", "lost", "gained")] == counts
        assert row["net"] == counts[3] - counts[2]
        assert row["churn"]["value"] == pytest.approx((counts[2] + counts[3]) / len(pairs))
    assert len(found["flip_back"]) == 6
    for row in found["flip_back"]:
        a, b, c = (verdicts(rows, row["system"], row["arm"], length) for length in row["lengths"])
        names = a.keys() & b.keys() & c.keys()
        flipped = [name for name in names if a[name] != b[name]]
        back = [name for name in flipped if c[name] == a[name]]
        assert (row["n"], row["flipped"], row["back"]) == (len(names), len(flipped), len(back))
        assert row["lost"] == sum(a[name] for name in flipped)
        assert row["lost_back"] == sum(a[name] for name in back)
        assert row["gained_back"] == len(back) - row["lost_back"]
        assert row["share"]["value"] == pytest.approx(len(back) / len(flipped))


def test_flip_back_over_four_lengths_takes_all_runs_of_three_together() -> None:
    question = ("q", "IE", "IE", "essential")
    pattern = {32: True, 64: False, 128: True, 256: False}
    flips = numbers(frame([answer("s", k, question, v) for k, v in pattern.items()]))["flip_back"]
    assert [row["lengths"] for row in flips] == [[32, 64, 128], [64, 128, 256], [32, 64, 128, 256]]
    assert [(row["flipped"], row["back"]) for row in flips] == [(1, 1), (1, 1), (2, 2)]
    assert flips[2]["share"]["note"] == "one question: no interval"


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_expected_overlap_is_the_mean_over_hypergeometric_intersections(drawn: tuple[int, int, int]) -> None:
    n, first, second = drawn
    found = expected_jaccard(first, second, n)
    if not first + second:
        assert found is None
        return
    total = Fraction(0)
    for k in range(max(0, first + second - n), min(first, second) + 1):
        ways = Fraction(math.comb(first, k) * math.comb(n - first, second - k), math.comb(n, second))
        total += ways * Fraction(k, first + second - k)
    assert found == pytest.approx(float(total))


def test_expected_overlap_is_what_random_sets_share() -> None:
    rng = np.random.default_rng(0)
    shared = []
    for _ in range(4000):
        a, b = (set(rng.permutation(60)[:size].tolist()) for size in (25, 18))
        shared.append(len(a & b) / len(a | b))
    # Standard error 0.0012; wrong once in 10,000 runs of another seed.
    assert expected_jaccard(25, 18, 60) == pytest.approx(np.mean(shared), abs=0.005)


def test_overlap_against_the_random_baseline(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    assert {row["ability"] for row in found["overlap"]} == {"all", *MIX}
    for row in found["overlap"]:
        pairs = transitions(rows, row)
        first, second = sum(a for a, _ in pairs), sum(b for _, b in pairs)
        both, either = sum(a and b for a, b in pairs), sum(a or b for a, b in pairs)
        assert (row["n"], row["right_from"], row["right_to"], row["both"]) == (len(pairs), first, second, both)
        if either:
            assert row["jaccard"]["value"] == pytest.approx(both / either)
            assert row["ratio"] == pytest.approx(both / either / row["expected"]) if row["expected"] else True
        if row["p"] is None:
            assert row["note"] is not None
        else:
            assert row["p"] == pytest.approx(stats.hypergeom(len(pairs), first, second).sf(both - 1))


def test_retention_is_over_the_questions_of_both_lengths(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    for row in found["retention"]:
        pairs = transitions(rows, row)
        first, second = (np.mean([pair[side] for pair in pairs]) for side in (0, 1))
        assert row["length_from"] == 32768
        assert row["size"] == 2.0 ** (5 - int(row["system"][1]))
        if first:
            assert row["ratio"]["value"] == pytest.approx(second / first)
        else:
            assert row["ratio"]["note"] == "nothing was right at the first length"


def test_retention_against_model_size(found: dict[str, Any]) -> None:
    ratios = {
        row["system"]: row["ratio"]["value"]
        for row in found["retention"]
        if (row["ability"], row["arm"], row["length_to"]) == ("all", "none", 131072)
    }
    row = next(
        r for r in found["correlations"] if (r["of"], r["arm"], r["length"]) == ("retention and size", "none", 131072)
    )
    expected = stats.spearmanr([ratios[f"s{n}"] for n in range(5)], [-n for n in range(5)])
    assert row["n"] == 5
    assert row["rho"] == pytest.approx(expected.statistic)
    lonely = next(r for r in found["correlations"] if (r["of"], r["arm"]) == ("retention and size", "text-only"))
    assert lonely["rho"] is None
    assert lonely["note"] == "fewer than 4 systems (1): no rank correlation"


def test_rank_correlations_over_systems(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    own = [row for row in found["correlations"] if row["of"] == "ability"]
    assert len(own) == 3 * 10  # three lengths, ten pairs of five abilities; other arms have one system
    for row in own:
        sides = [
            [np.mean(list(verdicts(rows, f"s{n}", "none", row["length"], row[side]).values())) for n in range(5)]
            for side in ("a", "b")
        ]
        expected = stats.spearmanr(*sides).statistic
        if np.isnan(expected):
            assert (row["rho"], row["note"]) == (None, "all systems have the same value on one side")
        else:
            assert row["rho"] == pytest.approx(expected)
    assert {row["n"] for row in own} == {5}
    assert len([row for row in found["correlations"] if row["of"] == "subtype"]) == 3 * 28


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=5))
def test_spearman_and_its_exact_p(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    found = spearman(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert (found.rho, found.p) == (None, None)
        assert kendall(first, second) is None
        return
    assert found.rho == pytest.approx(stats.spearmanr(first, second).statistic)
    reference = stats.permutation_test(
        (np.array(first),),
        lambda x: stats.spearmanr(x, second).statistic,
        permutation_type="pairings",
        n_resamples=10**6,
    )
    hits = np.abs(reference.null_distribution) >= abs(found.rho) - 1e-9
    assert found.p == pytest.approx(hits.mean())
    assert kendall(first, second) == pytest.approx(stats.kendalltau(first, second).statistic)


@pytest.mark.parametrize("count", [9, 34])
def test_spearman_of_many_systems_uses_students_t(count: int) -> None:
    rng = np.random.default_rng(count)
    first, second = rng.integers(0, 20, (2, count))
    found, expected = spearman(first.tolist(), second.tolist()), stats.spearmanr(first, second)
    assert (found.rho, found.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    perfect = spearman(list(range(count)), list(range(count)))
    assert perfect.p == pytest.approx(2 / math.factorial(count))
    assert spearman([1, 2, 3], [1, 2, 3]).note == "fewer than 4 systems (3): no rank correlation"


def test_hard_questions(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    hard: dict[int, set[str]] = {}
    table: dict[int, dict[str, list[bool]]] = {}
    for length in LENGTHS:
        asked: dict[str, list[bool]] = defaultdict(list)
        for n in range(5):
            for name, right in verdicts(rows, f"s{n}", "none", length).items():
                asked[name].append(right)
        table[length] = asked
        hard[length] = {name for name, own in asked.items() if sum(own) < 0.2 * len(own)}
    for row in found["hard"]:
        if row["arm"] != "none":
            assert row["note"] == "with 1 system, hard means that none solved it"
            continue
        assert row["note"] is None
        assert set(row["questions"]) == hard[row["length"]]
        assert (row["n"], row["hard"]) == (len(table[row["length"]]), len(hard[row["length"]]))
        assert sum(part["hard"] for part in row["abilities"]) == row["hard"]
        for other in row["elsewhere"]:
            there = [name for name in hard[row["length"]] if name in table[other["length"]]]
            assert other["n"] == len(there)
            assert other["still_hard"] == len(hard[row["length"]] & hard[other["length"]])
            flat = [right for name in there for right in table[other["length"]][name]]
            assert other["accuracy"]["value"] == pytest.approx(np.mean(flat))


def test_ablations_pair_arms_that_differ_in_one_option(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    part = found["ablations"]
    assert part["m"] == len(part["tests"])
    assert {(t["arm"], t["other_arm"], t["length"], t["other_length"]) for t in part["tests"]} == {
        *(("none", "text-only", length, length) for length in LENGTHS),
        *(("none", "oracle-sessions", length, 32768) for length in LENGTHS),
    }
    for test in part["tests"]:
        ability = test["group"] if test["grouping"] == "ability" else "all"
        first = verdicts(rows, "s0", test["arm"], test["length"], ability)
        second = verdicts(rows, "s0", test["other_arm"], test["other_length"], ability)
        names = first.keys() & second.keys()
        if test["grouping"] in ("all", "ability"):
            lost = sum(first[name] and not second[name] for name in names)
            gained = sum(second[name] and not first[name] for name in names)
            assert (test["n"], test["lost"], test["gained"]) == (len(names), lost, gained)
            assert test["p"] == pytest.approx(min(1.0, reference_mcnemar([[0, lost], [gained, 0]], exact=True).pvalue))
            assert test["p_bonferroni"] == pytest.approx(min(1.0, test["p"] * part["m"]))


def test_two_options_more_are_no_ablation() -> None:
    arms = ("none", "text-only", "oracle-facts", "oracle-facts+text-only", "cot")
    made = [row for arm in arms for row in system_rows("s", {32768: 0.5}, arm=arm)]
    pairs = {(t["arm"], t["other_arm"], t["changed"]) for t in numbers(frame(made))["ablations"]["tests"]}
    assert pairs == {
        ("none", "text-only", "text-only"), ("none", "oracle-facts", "oracle-facts"), ("none", "cot", "cot"),
        ("text-only", "oracle-facts+text-only", "oracle-facts"),
        ("oracle-facts", "oracle-facts+text-only", "text-only"),
    }  # fmt: skip


def test_a_subset_ranks_as_the_rest_does(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    chosen = {name for number, (name, *_) in enumerate(questions()) if number % 3 == 0}
    row = next(r for r in found["rankings"] if (r["arm"], r["length"]) == ("none", 65536))
    sides: dict[str, list[float]] = {"subset": [], "rest": [], "full": []}
    for n in range(5):
        own = verdicts(rows, f"s{n}", "none", 65536)
        sides["subset"].append(float(np.mean([v for k, v in own.items() if k in chosen])))
        sides["rest"].append(float(np.mean([v for k, v in own.items() if k not in chosen])))
        sides["full"].append(float(np.mean(list(own.values()))))
    assert [{k: s[k] for k in sides} for s in row["scores"]] == [
        {k: pytest.approx(sides[k][n]) for k in sides} for n in range(5)
    ]
    assert row["spearman"] == pytest.approx(stats.spearmanr(sides["subset"], sides["full"]).statistic)
    assert row["kendall"] == pytest.approx(stats.kendalltau(sides["subset"], sides["full"]).statistic)
    assert row["kendall_rest"] == pytest.approx(stats.kendalltau(sides["subset"], sides["rest"]).statistic)
    assert (row["subset"], row["rest"]) == (len(chosen), len(questions()) - len(chosen))
    absent = numbers(rows, subset={"q_elsewhere"})["rankings"][0]
    assert (absent["n"], absent["note"]) == (0, "no question of the subset was asked")


def test_outputs_that_went_wrong() -> None:
    asked = questions()[:7]
    said = [
        ("<think>" + "so " * 900 + "</think>blue", "stop"),  # long reasoning is no long answer
        ("word " * 501, "stop"),  # long, and the same word again and again
        (" ".join(str(n) for n in range(600)), "length"),  # long and capped
        ("a b " * 30, "stop"),  # repeating
        ("blue", "length"),  # capped
        ("", "stop"),
        (None, None),
    ]
    made = [
        answer("s", 32000, q, True, raw_output=raw, finish_reason=reason)
        for q, (raw, reason) in zip(asked, said, strict=True)
    ]
    made[5] |= {"outcome": "abstained", "abstain_kind": "format", "correct": False, "score": 0.0}
    row = numbers(frame(made))["outputs"][0]
    assert (row["n"], row["outputs"], row["long"], row["repeating"]) == (7, 6, 2, 2)
    assert row["degenerate"]["value"] == pytest.approx(3 / 6)
    assert row["capped"]["value"] == pytest.approx(2 / 6)
    assert row["no_answer"]["value"] == pytest.approx(1 / 6)
    assert row["words"] == pytest.approx(np.median([1, 501, 600, 60, 1, 0]))


def test_costs_are_means_over_the_questions_that_have_them() -> None:
    asked = questions()[:3]
    costs = [(100, 5, 1000, 10), (200, None, 3000, 30), (None, 7, None, 50)]
    made = [
        answer("s", 32000, q, n < 1, tokens_in=a, tokens_out=b, flops_write=c, flops_read=d)
        for n, (q, (a, b, c, d)) in enumerate(zip(asked, costs, strict=True))
    ]
    row = numbers(frame(made))["costs"][0]
    assert row["tokens_in"] == {"mean": 150.0, "n": 2}
    assert row["tokens_out"] == {"mean": 6.0, "n": 2}
    assert row["flops_total"] == {"mean": 2020.0, "n": 2}
    assert row["flops_per_right"] == 4040.0
    assert row["seconds_write"] == {"mean": None, "n": 0}


def test_recall_by_age(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    for row in found["ages"]:
        column = {"sessions": "age", "days": "age_days"}[row["unit"]]
        own = rows.filter(
            (pl.col("system") == row["system"]) & (pl.col("arm") == row["arm"]) & (pl.col("length") == row["length"])
            & pl.col("correct").is_not_null() & (pl.col("subtype") != "AR")
        )  # fmt: skip
        aged = own.filter(pl.col(column).is_not_null())
        assert (row["n"], row["without_age"]) == (aged.height, own.height - aged.height)
        assert sum(part["n"] for part in row["bins"]) == row["n"]
        for part in row["bins"]:
            inside = aged.filter(pl.col(column).is_between(part["age_low"], part["age_high"]))
            assert part["n"] == inside.height
            assert part["value"] == pytest.approx(inside["correct"].mean())
            assert part["age_mean"] == pytest.approx(inside[column].mean())
        assert row["half_life"] is not None or row["note"] is not None


def test_a_known_half_life_is_found_again() -> None:
    """Recall 0.9 exp(-age / 10) over ages of 1 to 40 sessions: a half-life of 6.9, at two lengths."""
    rng = np.random.default_rng(0)
    made = []
    for n in range(800):
        question = (f"q{n:04d}", "IE", "IE", "essential")
        for length in (32000, 64000):
            age = float(rng.integers(1, 41))
            right = bool(rng.random() < 0.9 * math.exp(-age / 10))
            made.append(answer("s", length, question, right, age=age, age_unit="sessions"))
    document = numbers(frame(made))
    pooled = document["half_lives"][0]
    assert (pooled["rows"], pooled["questions"], pooled["unit"]) == (1600, 800, "sessions")
    low, high = pooled["half_life"]["interval_half_life"]
    assert low < 10 * math.log(2) < high < 15
    assert document["ages"][0]["half_life"]["status"] == "ok"


def test_confidence_is_over_all_abilities(rows: pl.DataFrame, found: dict[str, Any]) -> None:
    assert {(row["system"], row["arm"]) for row in found["confidence"]} == {("s0", "none")}
    row = found["confidence"][0]
    own = rows.filter((pl.col("system") == "s0") & (pl.col("arm") == "none") & (pl.col("length") == row["length"]))
    sure = own.filter((pl.col("outcome") == "answered") & pl.col("confidence").is_not_null())
    assert row["n"] == sure.height
    wrong = sure.sort("confidence", descending=True).select(1 - pl.col("correct").cast(pl.Float64)).to_series()
    # The mean error rate over the coverages k / n, which the exact area differs from by less than (1 + log n) / n.
    area = np.mean(np.cumsum(wrong.to_numpy()) / np.arange(1, sure.height + 1))
    assert row["aurc"]["value"] == pytest.approx(area, abs=(1 + math.log(sure.height)) / sure.height)
    assert row["points"][-1]["accuracy"] == pytest.approx(sure["correct"].mean())


# Hostile tables.


def test_one_question_one_system() -> None:
    document = numbers(frame([answer("s", 32000, questions()[0], True)]))
    assert document["overall"][0]["micro"]["value"] == 1.0
    assert document["degradation"]["by_ability"] == {
        "alpha": 0.05,
        "m": 0,
        "threshold": None,
        "significant": 0,
        "tests": [],
    }
    assert document["hard"][0]["note"] == "with 1 system, hard means that none solved it"
    assert document["notes"] == [
        "No rank correlations over systems: they need 4 systems under one arm at one length, and there is 1.",
        "No system was asked at two lengths, so nothing is said about longer histories.",
    ]


def test_nothing_scored() -> None:
    made = [answer("s", length, q, True, outcome=outcome, raw_output=None)
            for length in (32, 64) for q, outcome in zip(questions(), ERRORS * 2, strict=False)]  # fmt: skip
    document = numbers(frame(made))
    assert {row["accuracy"]["value"] for row in document["scores"]} == {None}
    assert {row["accuracy"]["note"] for row in document["scores"]} == {"no scored question in it"}
    assert {row["accuracy_best"] for row in document["scores"]} == {1.0}
    assert document["degradation"]["overall"]["m"] == 0
    assert document["hard"][0]["n"] == 0
    assert document["outputs"][0]["words"] is None


def test_columns_that_say_nothing() -> None:
    made = [answer("s", length, q, True) for length in (32, 64) for q in questions()]
    rows = frame(made).with_columns(
        pl.lit(None).cast(kind).alias(name)
        for name, kind in frame(made).schema.items()
        if name in ("subtype", "visual_need", "kind", "raw_output", "finish_reason", "abstain_kind", "gold", "answer")
    )
    document = numbers(rows)
    assert {row["grouping"] for row in document["scores"]} == {"all", "answerable", "ability"}
    assert document["ages"] == document["half_lives"] == document["confidence"] == []


def test_missing_lengths_and_disjoint_questions() -> None:
    asked = questions()
    made = [answer("a", 32, q, True) for q in asked[:10]] + [answer("a", 64, q, True) for q in asked[10:]]
    made += [answer("b", 128, q, False) for q in asked]
    document = numbers(frame(made))
    assert document["degradation"]["overall"]["m"] == 0
    assert document["churn"] == document["overlap"] == document["retention"] == []
    assert {row["length"] for row in document["overall"] if row["system"] == "b"} == {128}


def test_duplicates_count_once_an_answer_before_an_error() -> None:
    question = questions()[0]
    made = [
        answer("s", 32, question, True, key="b"),
        answer("s", 32, question, False, key="a", outcome="model_error"),
        answer("s", 32, question, False, key="c"),
    ]
    document = numbers(frame(made))
    assert (document["overall"][0]["n"], document["overall"][0]["micro"]["value"]) == (1, 1.0)
    assert "2 rows ask a question again" in document["notes"][0]


def test_several_questions_about_one_history_are_noted() -> None:
    made = [answer("s", 32, questions()[0], True, query=f"q{n}", key=str(n)) for n in range(2)]
    assert "Some histories have several questions" in numbers(frame(made))["notes"][0]


def test_scores_without_a_verdict_are_left_out() -> None:
    made = [answer("s", 32, questions()[0], True, correct=None, score=0.4), answer("s", 32, questions()[1], True)]
    document = numbers(frame(made))
    assert document["overall"][0]["n"] == 1
    assert "1 answers have a score" in document["notes"][0]
    only = numbers(frame(made[:1]))
    assert only["systems"] == only["scores"] == only["hard"] == []


def test_declining_rightly_is_no_answer(rows: pl.DataFrame) -> None:
    """Accuracy of what was answered stays a proportion where abstentions can be right."""
    for cell in summarise(rows, redraws=100)["cells"]:
        value = cell["accuracy_answered"]["value"]
        assert value is None or 0 <= value <= 1
        if cell["split"] == "AR":
            assert value in (None, 0.0)  # whoever answers an unanswerable question is wrong


def test_other_tasks_are_no_conversations(run_rows: pl.DataFrame) -> None:
    assert conversation_numbers(run_rows) is None
    assert read_answers(run_rows.head(0)) is None


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_table_gives_a_document_without_nan(data: st.DataObject) -> None:
    asked = questions()[::6]
    made = []
    for system in data.draw(st.sampled_from([("a",), ("a", "b"), tuple("abcde")])):
        for length in data.draw(st.sampled_from([(32,), (32, 64), (32, 64, 128, 256)])):
            for question in asked:
                state = data.draw(st.sampled_from(["right", "wrong", "declined", "absent", "pending"]))
                if state == "absent":
                    continue
                right = None if state == "declined" else state == "right"
                more = {"outcome": "pending"} if state == "pending" else {}
                made.append(answer(system, length, question, right, age=1.0, age_unit="sessions", **more))
    if not made:
        return
    document = numbers(frame(made), subset={asked[0][0]}, sizes={"a": 1.0})
    check(document, Memlens)
    for part in ("scores", "churn", "overlap"):
        for row in document[part]:
            for value in row.values():
                if isinstance(value, dict) and "low" in value and value["low"] is not None:
                    assert value["low"] <= value["value"] <= value["high"]


# Intervals.


def test_redrawing_kinds_is_the_bootstrap_of_rows() -> None:
    """The same intervals, up to the noise of 4,000 redraws, whether rows or their numbers are redrawn."""
    from memgauge.metrics.inference import combination_interval, ratio_intervals

    rng = np.random.default_rng(0)
    asked = rng.integers(1, 5, 300)
    right = rng.binomial(asked, 0.6)
    rows = ratio_intervals(right, asked, Resampler())
    kinds, counts = np.unique(np.column_stack([right, asked]), axis=0, return_counts=True)
    alike = ratio_intervals(kinds[:, 0], kinds[:, 1], Resampler(), counts=counts)
    assert alike.value[0] == pytest.approx(rows.value[0])
    assert (alike.low[0], alike.high[0]) == pytest.approx((rows.low[0], rows.high[0]), abs=0.005)
    sides = np.column_stack([right, asked - right]).astype(float), np.column_stack([asked, asked]).astype(float)
    whole = combination_interval(*sides, (1.0, -0.5), Resampler(), bounds=(-1, 1))
    few = combination_interval(
        np.column_stack([kinds[:, 0], kinds[:, 1] - kinds[:, 0]]).astype(float),
        np.column_stack([kinds[:, 1], kinds[:, 1]]).astype(float),
        (1.0, -0.5), Resampler(), bounds=(-1, 1), counts=counts,
    )  # fmt: skip
    assert few.value[0] == pytest.approx(whole.value[0])
    assert (few.low[0], few.high[0]) == pytest.approx((whole.low[0], whole.high[0]), abs=0.01)


def test_kinds_of_no_episode_say_nothing() -> None:
    from memgauge.metrics.inference import ratio_intervals

    found = ratio_intervals([1.0, 0.0], [1.0, 1.0], QUICK, counts=[0, 0])
    assert np.isnan(found.value[0])
    one = ratio_intervals([1.0, 0.0], [1.0, 1.0], QUICK, counts=[1, 0])
    assert (one.value[0], one.note[0]) == (1.0, 2)


@pytest.mark.parametrize(("lost", "gained", "n"), [(14, 11, 176), (30, 8, 150), (5, 5, 40)])
def test_the_interval_of_a_change_is_near_walds_where_that_is_sound(lost: int, gained: int, n: int) -> None:
    found = Estimator(Resampler()).difference(lost, gained, n)
    change = (gained - lost) / n
    error = math.sqrt((lost + gained) / n - change**2) / math.sqrt(n)
    assert found["value"] == pytest.approx(change)
    assert found["low"] == pytest.approx(change - 1.96 * error, abs=0.7 * error)
    assert found["high"] == pytest.approx(change + 1.96 * error, abs=0.7 * error)


def test_a_question_that_is_seen_at_several_lengths_is_one_cluster() -> None:
    """Four answers that always agree tell no more than one."""
    estimator = Estimator(Resampler())
    right = np.array([4] * 60 + [0] * 40)
    found = estimator.clustered(right, np.full(100, 4))
    once = estimator.share(60, 100)
    assert found["value"] == once["value"]
    assert found["high"] - found["low"] == pytest.approx(once["high"] - once["low"], rel=0.1)


@pytest.mark.slow
def test_intervals_hold_what_they_promise() -> None:
    """Coverage of the paired difference and of the retention ratio, 1,000 runs each (standard error 0.7 %)."""
    rng = np.random.default_rng(0)
    estimator = Estimator(Resampler(1000))
    held = {"difference": 0, "ratio": 0}
    for _ in range(1000):
        first = rng.random(150) < 0.6
        second = np.where(rng.random(150) < 0.25, rng.random(150) < 0.3, first)
        lost, gained = int((first & ~second).sum()), int((second & ~first).sum())
        found = estimator.difference(lost, gained, 150)
        held["difference"] += found["low"] <= -0.25 * 0.3 <= found["high"]
        ratio = estimator.ratio(first, second)
        held["ratio"] += ratio["low"] <= (0.6 - 0.075) / 0.6 <= ratio["high"]
    assert held["difference"] / 1000 >= 0.93
    assert held["ratio"] / 1000 >= 0.93
