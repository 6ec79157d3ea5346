from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from memgauge.errors import InputError
from memgauge.streams import age, draw_queries, low_entropy_stream, make_item, max_entropy_batch, max_entropy_stream
from memgauge.streams._membership import fill_codes, occurs, smallest_size
from memgauge.streams.queries import positives_of


def occurs_naively(x: list[int], candidate: list[int]) -> bool:
    return any(x[i : i + len(candidate)] == candidate for i in range(len(x) - len(candidate) + 1))


def candidates_of(arrays) -> list[tuple[list[int], bool]]:
    rows = zip(arrays.candidates, arrays.lengths, arrays.gold, strict=True)
    return [(row[:size].tolist(), bool(gold)) for row, size, gold in rows]


def index_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    codes, trigrams = np.empty(len(x), np.uint32), np.empty(4096, np.bool_)
    fill_codes(x, codes, trigrams)
    return codes, trigrams


def de_bruijn(n: int, k: int = 16) -> list[int]:
    """A cyclic sequence in which every string of n symbols occurs once (Fredricksen, Kessler and Maiorana)."""
    word, out = [0] * (k * n), []

    def extend(t: int, p: int) -> None:
        if t > n:
            if n % p == 0:
                out.extend(word[1 : p + 1])
            return
        word[t] = word[t - p]
        extend(t + 1, p)
        for symbol in range(word[t - p] + 1, k):
            word[t] = symbol
            extend(t + 1, t)

    extend(1, 1)
    return out


@given(st.lists(st.integers(0, 15), min_size=6, max_size=80), st.data())
@settings(max_examples=200, deadline=None)
def test_membership_is_exact(x: list[int], data) -> None:
    codes, trigrams = index_of(np.array(x, np.uint8))
    size = data.draw(st.integers(3, 6))
    start = data.draw(st.integers(0, len(x) - size))
    candidate = x[start : start + size]
    if data.draw(st.booleans()):
        candidate[data.draw(st.integers(0, size - 1))] = data.draw(st.integers(0, 15))
    code = int("".join(f"{symbol:x}" for symbol in candidate), 16)
    assert occurs(codes, trigrams, code, size) == occurs_naively(x, candidate)


@given(
    st.integers(1, 16).flatmap(lambda k: st.lists(st.integers(0, k - 1), min_size=6, max_size=120)),
    st.integers(0, 20),
    st.sampled_from(["uniform", "matched"]),
    st.integers(0, 5),
)
@settings(max_examples=300, deadline=None)
def test_positives_occur_and_negatives_do_not(x: list[int], queries: int, negatives, index: int) -> None:
    arrays = draw_queries(x, queries, seed=1, index=index, negatives=negatives)
    asked = candidates_of(arrays)
    assert sum(gold for _, gold in asked) == positives_of(queries, index)
    for candidate, gold in asked:
        assert 3 <= len(candidate) <= 6
        assert occurs_naively(x, candidate) == gold


def test_half_of_an_odd_number() -> None:
    counts = [draw_queries(max_entropy_stream(1, 64, i), 15, seed=1, index=i).gold.sum() for i in range(10)]
    assert counts == [8, 7] * 5


@pytest.mark.parametrize("band", ["low", "max"])
def test_length_says_nothing_about_the_answer_of_uniform_queries(band: str) -> None:
    # L = 4096 is where redrawing the length with a rejected negative would show most. Level 1e-4.
    make = max_entropy_stream if band == "max" else lambda *a: low_entropy_stream(*a).symbols
    table = np.zeros((2, 7), int)
    for i in range(300):
        arrays = draw_queries(make(2, 4096, i), 32, seed=2, index=i, family=band)
        np.add.at(table, (arrays.gold.astype(int), arrays.lengths), 1)
    assert (table[:, 3:] > 0).all()
    assert stats.chi2_contingency(table[:, 3:]).pvalue > 1e-4
    assert stats.chisquare(table[:, 3:].sum(axis=0)).pvalue > 1e-4


def test_lengths_of_matched_queries_are_the_same_in_both_classes() -> None:
    for i in range(50):
        arrays = draw_queries(low_entropy_stream(2, 256, i).symbols, 16, seed=2, index=i, negatives="matched")
        assert sorted(arrays.lengths[arrays.gold]) == sorted(arrays.lengths[~arrays.gold])


def test_order_of_answers_is_random() -> None:
    gold = max_entropy_batch(5, 64, 0, 20_000, 4).gold
    arrangements = np.bincount(gold.astype(int) @ (1, 2, 4, 8), minlength=16)
    arrangements = arrangements[arrangements > 0]
    assert len(arrangements) == 6  # of 4 answers, 2 are yes
    assert stats.chisquare(arrangements).pvalue > 1e-4
    matched = np.array(
        [draw_queries(max_entropy_stream(1, 32, i), 4, seed=9, index=i, negatives="matched").gold for i in range(3000)]
    )
    arrangements = np.bincount(matched.astype(int) @ (1, 2, 4, 8), minlength=16)
    assert stats.chisquare(arrangements[arrangements > 0]).pvalue > 1e-4


def test_positives_come_from_uniform_positions() -> None:
    # Strings of six symbols almost never repeat in noise, so their age gives the position. Level 1e-4.
    ages = []
    for i in range(2000):
        ages += [q.age for q in make_item("max", 64, i, seed=4).queries if q.gold and len(q.candidate) == 6]
    assert stats.chisquare(np.bincount(ages, minlength=59)).pvalue > 1e-4


def test_uniform_negatives_are_uniform() -> None:
    batch = max_entropy_batch(6, 16, 0, 20_000, 4)
    chosen = ~batch.gold & (batch.lengths == 5)
    symbols = batch.candidates[chosen][:, :5]
    for place in range(5):  # five tests at level 1e-4; strings that occur are 12 of a million
        assert stats.chisquare(np.bincount(symbols[:, place], minlength=16)).pvalue > 1e-4


def test_saturated_trigrams_are_not_asked_about() -> None:
    cycle = de_bruijn(3)
    stream = np.array(cycle + cycle[:2], np.uint8)
    assert smallest_size(index_of(stream)[0]) == 4
    for negatives in ("uniform", "matched"):
        arrays = draw_queries(stream, 64, seed=1, negatives=negatives)
        assert set(arrays.lengths.tolist()) == {4, 5, 6}
        assert arrays.gold.sum() == 32
    assert smallest_size(index_of(stream[:-1])[0]) == 3


def test_rare_absent_strings_are_found_and_equally_likely() -> None:
    cycle = de_bruijn(3)
    stream = np.array(cycle[:-1], np.uint8)  # three strings are left out
    present = {bytes(stream[i : i + 3]) for i in range(len(stream) - 2)}
    assert len(present) == 4093
    found: dict[bytes, int] = {}
    for i in range(40):
        arrays = draw_queries(stream, 64, seed=1, index=i)
        for candidate, gold in candidates_of(arrays):
            if len(candidate) == 3 and not gold:
                found[bytes(candidate)] = found.get(bytes(candidate), 0) + 1
    assert len(found) == 3
    assert not present & set(found)
    assert stats.chisquare(list(found.values())).pvalue > 1e-4


def test_constant_stream_has_queries_of_both_kinds() -> None:
    for negatives in ("uniform", "matched"):
        asked = candidates_of(draw_queries([3] * 40, 16, seed=1, negatives=negatives))
        assert sum(gold for _, gold in asked) == 8
        assert all((set(candidate) == {3}) == gold for candidate, gold in asked)


def accuracy_of_gram_set(items, size: int) -> float:
    """Accuracy of a memory that keeps which strings of `size` symbols occur and says yes when all of them do."""
    right = []
    for item in items:
        text = item.symbols.tobytes()
        for query in item.queries:
            c = query.candidate.tobytes()
            right.append(all(c[i : i + size] in text for i in range(len(c) - size + 1)) == query.gold)
    return float(np.mean(right))


@pytest.mark.parametrize("band", ["low", "max"])
@pytest.mark.parametrize("length", [64, 256, 1024])
def test_matched_negatives_defeat_symbol_and_pair_sets(band, length: int) -> None:
    items = [make_item(band, length, i, seed=5, negatives="matched") for i in range(60)]
    assert accuracy_of_gram_set(items, 1) == pytest.approx(0.5, abs=0.005)
    assert accuracy_of_gram_set(items, 2) == pytest.approx(0.5, abs=0.01)
    # From four symbols on all trigrams occur: only candidates of three symbols, a quarter, tell.
    assert accuracy_of_gram_set(items, 3) == pytest.approx(0.625, abs=0.05)


def test_matched_negatives_resemble_positives() -> None:
    # A memory of pair counts that may choose its threshold after the fact gains little.
    scores, gold = [], []
    for i in range(100):
        item = make_item("low", 1024, i, seed=5, negatives="matched")
        pairs = np.full((16, 16), 1 / 16)
        np.add.at(pairs, (item.symbols[:-1], item.symbols[1:]), 1)
        cost = np.log2(pairs / pairs.sum(axis=1, keepdims=True))
        counts = np.log2((np.bincount(item.symbols, minlength=16) + 0.5) / (1024 + 8))
        for query in item.queries:
            c = query.candidate
            scores.append(counts[c[0]] + cost[c[:-1], c[1:]].sum())
            gold.append(query.gold)
    order = np.argsort(scores)
    sorted_gold = np.array(gold)[order]
    right = np.concatenate([[0], np.cumsum(np.where(sorted_gold, -1, 1))]) + sorted_gold.sum()
    assert max(right.max(), len(gold) - right.min()) / len(gold) < 0.60


def test_uniform_negatives_leak_as_documented() -> None:
    # 80 streams; standard errors: about 0.01 (symbols), 0.001 (pairs). Four of them.
    items = [make_item("low", 1024, i, seed=6) for i in range(80)]
    assert accuracy_of_gram_set(items, 1) == pytest.approx(0.934, abs=0.05)
    assert accuracy_of_gram_set(items, 2) == pytest.approx(0.999, abs=0.005)


@given(st.lists(st.integers(0, 2), min_size=3, max_size=30), st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_age_counts_from_the_end_of_the_last_occurrence(x: list[int], candidate: list[int]) -> None:
    ends = [i + len(candidate) for i in range(len(x)) if x[i : i + len(candidate)] == candidate]
    expected = len(x) - max(ends) if ends else None
    assert age(np.array(x, np.uint8), np.array(candidate, np.uint8)) == expected


def test_queries_about_streams_that_cannot_be_asked_about() -> None:
    with pytest.raises(InputError, match="at least 6 symbols"):
        draw_queries([1, 2, 3, 4, 5], 16, seed=0)
    with pytest.raises(InputError, match="0 to 15"):
        draw_queries([1, 2, 3, 4, 5, 16], 16, seed=0)
    with pytest.raises(InputError, match="0 to 15"):
        draw_queries([0.5] * 10, 16, seed=0)
    with pytest.raises(InputError, match="kind of negatives"):
        draw_queries([1] * 10, 16, seed=0, negatives="hard")  # type: ignore[arg-type]


def test_batch_is_the_same_items() -> None:
    batch = max_entropy_batch(9, 200, 5, 7, 15)
    for row in range(7):
        item = make_item("max", 200, 5 + row, seed=9, queries=15)
        assert (item.symbols == batch.symbols[row]).all()
        for number, query in enumerate(item.queries):
            size = batch.lengths[row, number]
            assert query.candidate.tolist() == batch.candidates[row, number, :size].tolist()
            assert not batch.candidates[row, number, size:].any()
            assert query.gold == batch.gold[row, number]


def test_batches_join_up() -> None:
    whole = max_entropy_batch(1, 64, 0, 10, 8)
    parts = [max_entropy_batch(1, 64, 0, 4, 8), max_entropy_batch(1, 64, 4, 6, 8)]
    for array, *pieces in zip(whole, *parts, strict=True):
        assert (array == np.concatenate(pieces)).all()


@pytest.mark.parametrize("arguments", [(1, 5, 0, 1, 4), (1, 64, -1, 1, 4), (1, 64, 0, -1, 4), (1, 64, 0, 1, -4)])
def test_batch_refuses_impossible_numbers(arguments) -> None:
    with pytest.raises(InputError, match="a batch needs"):
        max_entropy_batch(*arguments)
