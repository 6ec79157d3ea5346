from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.streams import lz78_rate, lz_rate, match_lengths
from memgauge.streams.entropy import _match_lengths_automaton, _match_lengths_sorted

PAPER_EXAMPLE = [8, 1, 4, 6, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1]


def naive_match_lengths(x: list[int]) -> list[int]:
    """The definition: the longest string from i on that also begins at some j < i (overlap allowed)."""
    found = []
    for i in range(len(x)):
        best = 0
        for j in range(i):
            length = 0
            while i + length < len(x) and x[j + length] == x[i + length]:
                length += 1
            best = max(best, length)
        found.append(best)
    return found


def naive_rate(x: list[int]) -> float:
    lengths = naive_match_lengths(x)
    n = len(x)
    return (n - 1) / sum((lengths[i - 1] + 1) / math.log2(i) for i in range(2, n + 1))


def naive_lz78(x: list[int]) -> float:
    phrases: list[tuple[int, ...]] = []
    phrase: tuple[int, ...] = ()
    for symbol in x:
        phrase = (*phrase, symbol)
        if phrase not in phrases:
            phrases.append(phrase)
            phrase = ()
    return (len(phrases) + bool(phrase)) * math.log2(len(x)) / len(x)


def relabelling_classes(n: int) -> Iterator[list[int]]:
    """All streams of n symbols up to relabelling (restricted growth strings)."""

    def grow(x: list[int]) -> Iterator[list[int]]:
        if len(x) == n:
            yield x
            return
        for symbol in range(max(x) + 2):
            yield from grow([*x, symbol])

    yield from grow([0])


streams = st.integers(1, 6).flatmap(lambda k: st.lists(st.integers(0, k - 1), max_size=60))


@given(streams)
@settings(max_examples=300, deadline=None)
def test_match_lengths_equal_the_definition(x: list[int]) -> None:
    assert match_lengths(np.array(x, np.uint8)).tolist() == naive_match_lengths(x)


@given(streams)
@settings(max_examples=300, deadline=None)
def test_sorted_suffixes_give_the_same_as_the_automaton(x: list[int]) -> None:
    dense = np.unique(np.array(x, np.int64), return_inverse=True)[1].astype(np.int32)
    if len(x):
        assert _match_lengths_sorted(dense).tolist() == naive_match_lengths(x)
        assert _match_lengths_automaton(dense, 6).tolist() == naive_match_lengths(x)


@pytest.mark.parametrize("kind", ["noise", "constant", "periodic", "fibonacci", "copied"])
def test_automaton_and_sorted_suffixes_agree_on_long_streams(kind: str) -> None:
    rng = np.random.default_rng(1)
    x = {
        "noise": lambda: rng.integers(0, 16, 5000),
        "constant": lambda: np.zeros(3000, np.int64),
        "periodic": lambda: np.resize(np.arange(7), 3001),
        "fibonacci": lambda: np.array(
            [int((i + 2) * 0.6180339887498949) - int((i + 1) * 0.6180339887498949) for i in range(4000)]
        ),
        "copied": lambda: np.concatenate([block := rng.integers(0, 16, 1500), block, rng.integers(0, 16, 7), block]),
    }[kind]().astype(np.int32)
    dense = np.unique(x, return_inverse=True)[1].astype(np.int32)
    assert (_match_lengths_automaton(dense, 16) == _match_lengths_sorted(dense)).all()


def test_large_alphabets_and_any_integers() -> None:
    rng = np.random.default_rng(2)
    for k in (17, 300, 100_000):
        x = rng.integers(-k, k, 400) * 1_000_003
        x[200:300] = x[50:150]
        assert match_lengths(x).tolist() == naive_match_lengths(x.tolist())
        assert lz_rate(x) == pytest.approx(naive_rate(x.tolist()), rel=1e-12)
        assert lz78_rate(x) == pytest.approx(naive_lz78(x.tolist()), rel=1e-12)


@given(streams.filter(lambda x: len(x) > 1))
@settings(max_examples=200, deadline=None)
def test_rates_equal_the_formulas(x: list[int]) -> None:
    assert lz_rate(x) == pytest.approx(naive_rate(x), rel=1e-12)
    assert lz78_rate(x) == pytest.approx(naive_lz78(x), rel=1e-12)


def test_rate_of_the_stream_that_the_paper_prints() -> None:
    assert round(lz_rate(PAPER_EXAMPLE), 4) == 0.7502


def test_all_streams_of_eight_symbols() -> None:
    rates = np.array([lz_rate(x) for x in relabelling_classes(8)])
    assert len(rates) == 4140  # the eighth Bell number
    assert (round(rates.min(), 3), round(rates.max(), 2)) == (0.336, 1.92)
    assert np.count_nonzero((rates >= 0.33) & (rates <= 0.99)) == 488
    assert np.count_nonzero((rates >= 0.325) & (rates < 0.995)) == 498  # in the band when rounded as it is printed


def test_rates_do_not_depend_on_names_of_symbols() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 16, 500)
    renamed = rng.permutation(1000)[:16][x]
    assert lz_rate(x) == lz_rate(renamed)
    assert lz78_rate(x) == lz78_rate(renamed)


def test_rate_of_a_constant_stream_has_a_closed_form() -> None:
    for n in (2, 3, 10, 257):
        terms = [(n - i + 2) / math.log2(i) for i in range(2, n + 1)]
        assert lz_rate([5] * n) == pytest.approx((n - 1) / sum(terms), rel=1e-12)


@pytest.mark.parametrize("x", [[], [3]])
def test_fewer_than_two_symbols_have_no_rate(x: list[int]) -> None:
    assert match_lengths(np.array(x, np.uint8)).tolist() == [0] * len(x)
    assert math.isnan(lz_rate(np.array(x, np.uint8)))
    assert math.isnan(lz78_rate(np.array(x, np.uint8)))


def test_wrong_shapes_and_types_are_refused() -> None:
    with pytest.raises(ValueError, match="one-dimensional"):
        lz_rate(np.zeros((2, 3), np.uint8))
    with pytest.raises(ValueError, match="integers"):
        lz_rate([0.5, 1.5])
