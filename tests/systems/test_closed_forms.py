"""Closed forms against what the systems do on drawn streams.

Each comparison holds when |measured - form| <= 0.005 + 3 standard errors over streams; were the forms exact and the
0.005 away, one comparison in 370 would fail by chance. Seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memgauge.episode import ARMS, Payoff
from memgauge.streams import theory
from memgauge.system import SymbolBatch
from memgauge.systems.known.common import declines
from memgauge.systems.registry import make_system

STREAMS = {8: 1500, 16: 1500, 64: 1200, 256: 800, 1024: 500, 4096: 120}


def cases() -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for length in STREAMS:
        specs = ["exact", "always-yes", "always-no", "always-abstain", "coin", "coin:p=0.1", "oracle:accuracy=0.83"]
        for share in (1, 2, 3):
            specs.append(f"window:bits={length * share}")
            specs.append(f"lz78:bits={length * share}")
            specs.append(f"blocks:bits={max(24, length * share)}")
        specs.append(f"blocks:bits={length * 3},block=17" if length > 32 else f"blocks:bits={8 * length},block=5")
        for bits in (2, 4, 8):
            if length >= 64:
                specs.append(f"bloom:bits={length * bits},design_length={length}")
                specs.append(f"bloom:bits={length * bits}")
                specs.append(f"trigram-bloom:bits={length * bits // 4},design_length={length}")
        specs += ["trigram-bloom:bits=1024", "trigram-bloom:bits=2000", "trigram-bloom:bits=4096"]
        specs += [f"ngram-set:n={n}" for n in (1, 2, 3)]
        found += [(spec, length) for spec in dict.fromkeys(specs)]
    return found


def measure(system: Any, batch: SymbolBatch) -> tuple[float, float]:
    answers = system.read_batch(batch)
    right = ((answers.value == batch.gold) & ~answers.abstain).mean(axis=1)
    return float(right.mean()), float(right.std(ddof=1) / np.sqrt(len(right)))


@pytest.mark.parametrize(("spec", "length"), cases())
def test_accuracy(spec: str, length: int, simulate: Any) -> None:
    system = make_system(spec)
    form = system.expected_accuracy(length)
    assert form.exact or form.note
    measured, error = measure(system, simulate(length, STREAMS[length], 11))
    assert abs(measured - form.value) <= 0.005 + 3 * error, (measured, form, error)


SELECTIVE = [
    ("exact", 256),
    ("window:bits=512", 256),
    ("window:bits=1800", 512),
    ("window:bits=3000", 1024),
    ("blocks:bits=3000", 1024),
    ("lz78:bits=3000", 1024),
    ("bloom:bits=2000,design_length=256", 256),
    ("trigram-bloom:bits=700,design_length=256", 256),
    ("ngram-set:n=1", 16),
    ("ngram-set:n=2", 256),
    ("ngram-set:n=3", 4096),
    ("always-no", 256),
    ("always-abstain", 256),
    ("coin", 256),
    ("oracle:accuracy=0.83", 256),
]
PAYOFFS = [ARMS["A"], ARMS["B"], Payoff("even", 1, 1), Payoff("dear", 1, 9)]


@pytest.mark.parametrize(("spec", "length"), SELECTIVE)
@pytest.mark.parametrize("payoff", PAYOFFS, ids=lambda payoff: payoff.name)
def test_coverage_and_correct_rate(spec: str, length: int, payoff: Payoff, simulate: Any) -> None:
    system = make_system(spec)
    batch = replace(simulate(length, STREAMS.get(length, 800), 12), payoff=payoff)
    answers = system.read_batch(batch)
    covered, correct = system.expected_selective(length, float(payoff.break_even))
    for form, seen in ((covered, ~answers.abstain), (correct, ~answers.abstain & (answers.value == batch.gold))):
        rate = seen.mean(axis=1)
        assert abs(rate.mean() - form) <= 0.005 + 3 * rate.std(ddof=1) / np.sqrt(len(rate))


def test_selective_forms_of_a_window_of_512_bits() -> None:
    # The example: half of the stream's 1,024 symbols would take 2,048 bits; 512 symbols do.
    window = make_system("window:bits=2048")
    covered, correct = window.expected_selective(1024, 0.25)
    assert (covered, round(correct, 3)) == (1.0, 0.757)
    covered, correct = window.expected_selective(1024, 0.8)
    assert covered == correct
    assert round(covered, 3) == 0.257


@pytest.mark.parametrize(
    "spec", ["window:bits=1500", "bloom:bits=900,design_length=128", "ngram-set:n=2", "blocks:bits=900"]
)
def test_confidence_is_the_share_that_is_right(spec: str, simulate: Any) -> None:
    batch = simulate(256 if spec != "window:bits=1500" else 512, 1000, 13)
    answers = make_system(spec).read_batch(batch)
    right = answers.value == batch.gold
    for confidence in np.unique(answers.confidence):
        chosen = answers.confidence == confidence
        # 5 standard errors: some 40 shares are looked at, and the forms of the filters are approximate.
        error = np.sqrt(confidence * (1 - confidence) / chosen.sum())
        assert abs(right[chosen].mean() - confidence) <= 0.01 + 5 * error


def test_a_confidence_at_break_even_abstains() -> None:
    assert declines(0.8, ARMS["B"])
    assert not declines(np.nextafter(0.8, 1), ARMS["B"])
    assert not declines(0.0, None)
    # A payoff that costs nothing when wrong: everything with any chance is answered.
    assert declines(0.0, Payoff("free", 1, 0))


def test_no_form_for_codecs_and_too_short_streams() -> None:
    assert make_system("codec:bits=512").expected_accuracy(256) is None
    assert make_system("codec:bits=512").expected_selective(256, 0.5) is None
    assert make_system("window:bits=512").expected_accuracy(5) is None
    assert make_system("exact").expected_accuracy(6).value == 1


@pytest.mark.parametrize("length", [64, 1024, 4096])
@pytest.mark.parametrize("family", ["window", "blocks", "lz78"])
def test_more_bits_are_never_worse(family: str, length: int) -> None:
    values = [
        make_system(f"{family}:bits={bits}").expected_accuracy(length).value for bits in range(24, 5 * length, 37)
    ]
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] >= (1 if family == "window" else 0.6)


@pytest.mark.parametrize("length", [64, 1024])
def test_bloom_filters_gain_with_bits(length: int) -> None:
    # Rounding the number of hash functions costs a little where it changes.
    for family, least in (("bloom", 1e-3), ("trigram-bloom", 2e-3)):
        values = [
            make_system(f"{family}:bits={bits},design_length={length}").expected_accuracy(length).value
            for bits in range(16, 5 * length, 61)
        ]
        assert (np.diff(values) >= -least).all()


def test_the_ideal_trigram_set_and_trigrams_with_quads(simulate: Any) -> None:
    """Two schemes that are no systems here, built for the test: the forms of `scheme_accuracies`."""
    rng = np.random.default_rng(3)
    length, bits = 1024, 2048
    batch = simulate(length, 300, 14)
    rate = theory.ideal_trigram_rate(length, bits)
    spare = 4096
    quads = theory.distinct(4, length)
    quad_rate = theory.bloom_rate(spare, theory.bloom_hashes(spare, quads), quads)
    right = {"ideal-trigram": [], "tri+quad": []}  # type: ignore[var-annotated]
    for e in range(len(batch.symbols)):
        row = batch.symbols[e].tobytes()
        grams = {g: {row[i : i + g] for i in range(length - g + 1)} for g in (3, 4)}
        noise = {g: {} for g in (3, 4)}  # type: ignore[var-annotated]

        def passes(word: bytes, g: int, error: float) -> bool:
            inside = (word[i : i + g] for i in range(len(word) - g + 1))
            # A false positive belongs to its gram: asked twice, it answers twice alike.
            return all(w in grams[g] or noise[g].setdefault(w, rng.random() < error) for w in inside)  # noqa: B023

        score = {"ideal-trigram": 0, "tri+quad": 0}
        for q, k in enumerate(batch.candidate_lengths[e].tolist()):
            word = batch.candidates[e, q, :k].tobytes()
            gold = bool(batch.gold[e, q])
            score["ideal-trigram"] += passes(word, 3, rate) == gold
            exact = all(word[i : i + 3] in grams[3] for i in range(k - 2))
            score["tri+quad"] += (exact and passes(word, 4, quad_rate)) == gold
        for name, count in score.items():
            right[name].append(count / batch.candidate_lengths.shape[1])
    forms = {
        "ideal-trigram": theory.scheme_accuracies(length, bits)["ideal-trigram"],
        "tri+quad": theory.scheme_accuracies(length, 4096 + spare)["tri+quad"],
    }
    for name, form in forms.items():
        assert abs(np.mean(right[name]) - form) <= 0.005 + 3 * np.std(right[name]) / np.sqrt(len(right[name]))
