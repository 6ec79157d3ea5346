"""The closed forms: printed tables, independent oracles, and the bound that no scheme passes."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from memgauge.streams import theory, words
from memgauge.streams.words import CANDIDATE_LENGTHS

COLUMNS = ("window", "bloom", "trigram-bloom", "tri+quad", "ideal-trigram")
PRINTED = {
    (1024, 512): (0.565, 0.500, 0.651, 0.651, 0.781),
    (1024, 1024): (0.630, 0.510, 0.805, 0.805, 0.893),
    (1024, 2048): (0.757, 0.572, 0.907, 0.907, 0.972),
    (1024, 4096): (1.000, 0.690, 0.994, 0.994, 0.994),
    (4096, 1024): (0.538, 0.500, 0.542, 0.542, 0.696),
    (4096, 4096): (0.647, 0.514, 0.904, 0.904, 0.904),
    (4096, 8192): (0.776, 0.583, 0.904, 0.952, 0.904),
    (4096, 16384): (1.000, 0.703, 0.904, 0.986, 0.904),
}
LZ78 = {
    (1024, 512): 0.550,
    (1024, 1024): 0.603,
    (1024, 2048): 0.707,
    (1024, 4096): 0.916,
    (4096, 1024): 0.531,
    (4096, 4096): 0.622,
    (4096, 8192): 0.739,
    (4096, 16384): 0.941,
}
ROUNDING = 0.00051


@pytest.mark.parametrize("cell", PRINTED)
def test_table_of_schemes(cell: tuple[int, int]) -> None:
    found = theory.scheme_accuracies(*cell, independent=True)
    for column, printed in zip(COLUMNS, PRINTED[cell], strict=True):
        assert abs(found[column] - printed) <= ROUNDING, column
    # The table's LZ78 prefixes were parsed from drawn streams; the form has the exact mean.
    assert abs(found["lz78"] - LZ78[cell]) <= 0.0025
    refined = theory.scheme_accuracies(*cell)
    assert all(abs(refined[name] - found[name]) < 0.004 for name in found)


@pytest.mark.parametrize(("length", "printed"), [(64, 0.994), (256, 0.891), (512, 0.700), (1024, 0.533)])
def test_table_of_bigram_sets(length: int, printed: float) -> None:
    alarms = theory.false_alarms(2, length, independent=True)
    assert abs(theory.filtering_accuracy(alarms) - printed) <= ROUNDING


BLOCKS_ONLY = {(1024, 512): 0.918, (1024, 1024): 0.988, (4096, 1024): 0.863, (4096, 4096): 0.994, (4096, 8192): 1.0}
BEST_AND_CONVERSE = {
    (1024, 256): (0.674, 0.778),
    (1024, 512): (0.781, 0.871),
    (1024, 1024): (0.893, 0.948),
    (1024, 2048): (0.972, 0.987),
    (4096, 1024): (0.696, 0.812),
    (4096, 2048): (0.809, 0.915),
    (4096, 4096): (0.904, 0.994),
    (4096, 8192): (0.952, 1.0),
}


@pytest.mark.parametrize("cell", BLOCKS_ONLY)
def test_table_of_block_bounds(cell: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theory, "_cell_information", lambda held, missed, alarm: np.zeros_like(alarm))
    assert abs(theory.converse(*cell) - BLOCKS_ONLY[cell]) <= ROUNDING


@pytest.mark.parametrize("cell", BEST_AND_CONVERSE)
def test_table_of_best_schemes_and_converse(cell: tuple[int, int]) -> None:
    best, bound = BEST_AND_CONVERSE[cell]
    assert abs(max(theory.scheme_accuracies(*cell, independent=True).values()) - best) <= ROUNDING
    assert abs(theory.converse(*cell) - bound) <= ROUNDING


def plain_bound(length: int, bits: int) -> float:
    """The definition on a coarse grid of miss rates, a number at a time."""

    def term(p: float, q: float) -> float:
        return 0.0 if p == 0 else math.inf if q == 0 else p * math.log2(p / q)

    def best(information: object, top: float = 0.5) -> float:
        values = []
        for missed in np.linspace(0, 1, 201).tolist():
            low, high = 0.0, 1 - missed
            if information(missed, 0.0) <= bits:  # type: ignore[operator]
                high = 0.0
            for _ in range(45):
                middle = (low + high) / 2
                low, high = (low, middle) if information(missed, middle) <= bits else (middle, high)  # type: ignore[operator]
            values.append(1 - (missed + high) / 2)
        return max(top, *values)

    def entropy(p: float) -> float:
        return -term(p, 1.0) - term(1 - p, 1.0)

    bounds = []
    for k in CANDIDATE_LENGTHS:
        rho = words.occurrence(k, length)

        def blocks(d: float, e: float, k: int = k, rho: float = rho) -> float:
            other = (1 - rho) * e + rho * (1 - d)
            return length // k * (term(1 - d, other) + term(d, 1 - other))

        def cells(d: float, e: float, rho: float = rho) -> float:
            return 4096 * (entropy(rho * (1 - d) + (1 - rho) * e) - rho * entropy(d) - (1 - rho) * entropy(e))

        bounds.append(best(blocks))
        if k == 3 and 4096 * entropy(rho) <= 4 * length:
            bounds[0] = min(bounds[0], best(cells))
    return sum(bounds) / 4


@pytest.mark.parametrize("cell", [(8, 3), (64, 30), (1024, 100), (1024, 700), (4096, 3000)])
def test_converse_against_its_definition(cell: tuple[int, int]) -> None:
    plain = plain_bound(*cell)
    # The coarse grid misses the maximum by a little, never exceeds it.
    assert plain - 1e-9 <= theory.converse(*cell) <= plain + 2e-4


@pytest.mark.parametrize("length", [6, 8, 16, 64, 256, 690, 1024, 4096, 16384])
def test_no_scheme_passes_the_converse_and_both_grow(length: int) -> None:
    bits = np.unique(np.concatenate([[0, 1, 16, 256, 4095, 4096, 4097], np.geomspace(4, 4.2 * length, 18).astype(int)]))
    bound = theory.converse_curve(length, bits)
    best = np.array([theory.best_known_scheme(length, int(b))[1] for b in bits])
    assert (best <= bound + 1e-9).all()
    assert (np.diff(best) >= -1e-9).all()
    assert (np.diff(bound) >= -1e-7).all()
    assert (best[0], bound[0]) == (0.5, pytest.approx(0.5, abs=1e-7))
    assert (best[-1], bound[-1]) == (1.0, 1.0)
    assert theory.converse(length, int(bits[5])) == pytest.approx(bound[5], abs=1e-12)


def avoiding(word: tuple[int, ...], longest: int) -> list[int]:
    """How many strings of each length avoid the word: Guibas and Odlyzko (1981), by its autocorrelation."""
    k = len(word)
    correlation = [int(word[shift:] == word[: k - shift]) for shift in range(k)]
    # A(z) = c(z) / ((1 - 16 z) c(z) + z^k), as a power series in integers.
    below = [0] * (k + 1)
    for shift, c in enumerate(correlation):
        below[shift] += c
        below[shift + 1] -= 16 * c
    below[k] += 1
    series: list[int] = []
    for n in range(longest + 1):
        value = correlation[n] if n < k else 0
        series.append(value - sum(below[j] * series[n - j] for j in range(1, min(k, n) + 1)))
    return series


@pytest.mark.parametrize("k", [3, 4])
def test_occurrence_against_autocorrelations(k: int) -> None:
    longest = 40
    kinds: Counter[tuple[bool, ...]] = Counter()
    examples = {}
    for word in product(range(16), repeat=k):
        kind = tuple(word[s:] == word[: k - s] for s in range(1, k))
        kinds[kind] += 1
        examples[kind] = word
    tables = {kind: avoiding(word, longest) for kind, word in examples.items()}
    for n in (1, 2, 3, 4, 7, 12, 40):
        absent = sum(Fraction(count * tables[kind][n], 16 ** (k + n)) for kind, count in kinds.items())
        assert words.occurrence(k, n) == pytest.approx(float(1 - absent), rel=1e-9, abs=1e-15)
        assert words.independent_occurrence(k, n) == pytest.approx(words.occurrence(k, n), rel=1e-2, abs=1e-15)
    assert words.distinct(k, k) == pytest.approx(1)


@pytest.mark.parametrize(("length", "held"), [(8, 3), (8, 7), (9, 2), (12, 5), (30, 20)])
def test_window_recall_against_draws(length: int, held: int) -> None:
    # Over 16 symbols chance hits are rare, so the straddling terms are seen best where the window is short.
    rng = np.random.default_rng(length * 100 + held)
    draws = 150_000
    symbols = rng.integers(0, 16, (draws, length)).astype(np.uint8)
    for k in (3, 4):
        start = rng.integers(0, length - k + 1, draws)
        word = np.take_along_axis(symbols, start[:, None] + np.arange(k), axis=1)
        found = np.zeros(draws, bool)
        for place in range(length - held, length - k + 1):
            found |= (symbols[:, place : place + k] == word).all(axis=1)
        form = theory.window_recall(length, held)[k - 3]
        # 4 standard errors; 10 comparisons: by chance one fails in 1,500 runs.
        assert abs(found.mean() - form) <= 4 * math.sqrt(form * (1 - form) / draws) + 1e-12
    assert theory.window_recall(length, length).tolist() == [1.0] * 4
    assert theory.window_recall(length, 0).tolist() == [0.0] * 4


def test_lz78_phrases_and_symbols() -> None:
    for bits in [*range(0, 400, 7), 5000]:
        spent, j = 0, 0
        while (cost := math.ceil(math.log2(j + 1)) + 4) + spent <= bits:
            spent, j = spent + cost, j + 1
        assert words.lz78_phrases(bits) == j
    assert words.lz78_symbols(0) == 0
    assert words.lz78_symbols(1) == 1
    assert words.lz78_symbols(2) == pytest.approx(2 + 1 / 16)
    rng = np.random.default_rng(4)
    for phrases in (12, 150):
        counts = []
        for _ in range(400):
            known, phrase, read = {()}, (), 0
            while len(known) <= phrases:
                phrase = (*phrase, int(rng.integers(0, 16)))
                read += 1
                if phrase not in known:
                    known.add(phrase)
                    phrase = ()
            counts.append(read)
        # 4 standard errors: passes by chance alone in all but one case of 16,000.
        assert abs(np.mean(counts) - words.lz78_symbols(phrases)) <= 4 * np.std(counts) / 20


def test_ideal_trigram_rate_spends_its_bits() -> None:
    rho = words.occurrence(3, 1024)
    rate = theory.ideal_trigram_rate(1024, 1500)

    def entropy(p: float) -> float:
        return -p * math.log2(p) - (1 - p) * math.log2(1 - p)

    assert 4096 * (entropy(rho + (1 - rho) * rate) - (1 - rho) * entropy(rate)) == pytest.approx(1500)
    assert theory.ideal_trigram_rate(1024, 4096) == 0


def test_what_cannot_be_asked() -> None:
    for call in (lambda: theory.converse(5, 10), lambda: theory.converse(64, -1), lambda: theory.window_recall(4, 2)):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("k", range(1, 12))
def test_forms_for_confidences_take_any_candidate_length(k: int) -> None:
    for length in (0, 1, 5, 100, 10**6):
        for held in (0, 3, 50, 10**6):
            assert 0 <= theory.independent_recall(k, length, held) <= 1
        for g in (1, 2, 3):
            assert 0 <= theory.independent_false_alarm(k, g, length, 0.3) <= 1
        assert 0 <= theory.blocks_recall(k, length, 3, 6) <= 1
