"""What is known in closed form about recall on max-entropy streams with uniform negatives (ECCBench, 3 and A.1).

The task: L symbols drawn independently and uniformly from 16; a candidate of k symbols, k uniform on 3..6; half of the
candidates are copied from a uniform position, half are uniform among those that do not occur. A state of M bits is all
that is left of the stream when the candidate arrives. This module says how well well-known states do, and how well any
state can do (`converse`). Everything here is arithmetic: no stream is drawn and no system is run.

Two kinds of state cover almost all: one that *holds symbols* is right whenever it says yes, and is described by its
recall of each candidate length; one that *filters* is right whenever it says no, and is described by its false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memgauge.streams.words import (
    ALPHABET,
    CANDIDATE_LENGTHS,
    FloatArray,
    distinct,
    found_in_window,
    grams_pass,
    independent_occurrence,
    lz78_phrases,
    lz78_symbols,
    occurrence,
)

TRIGRAMS = ALPHABET**3
MIN_LENGTH = max(CANDIDATE_LENGTHS)


@dataclass(frozen=True, slots=True)
class Expected:
    """An accuracy that theory gives."""

    value: float
    exact: bool
    """False where the form leaves something out; `note` says what."""
    note: str = ""


def _check(length: int, bits: int = 0) -> None:
    if length < MIN_LENGTH:
        raise ValueError(
            f"a stream of {length} symbols has no candidates of {MIN_LENGTH}: the length must be at least that"
        )
    if bits < 0:
        raise ValueError(f"bits must not be negative, got {bits}")


# States that hold symbols: their recall ------------------------------------------------------------------------------


def independent_recall(k: int, length: int, held: int) -> float:
    """Return f_k of a memory that holds `held` neighbouring symbols of `length`, for any k; 1 where none can be missed.

    A positive is found inside, or by chance elsewhere: f = w/n + (1 - w/n) (1 - (1 - 16^-k)^w).
    """
    positions = length - k + 1
    inside = max(min(held, length) - k + 1, 0)
    if positions <= inside:
        return 1.0
    share = inside / positions
    return share + (1 - share) * independent_occurrence(k, held)


def window_recall(length: int, held: int) -> FloatArray:
    """Return f_k, k = 3..6, of the last (or first) `held` symbols of a stream: shape [4]. Exact."""
    _check(length)
    return np.array([found_in_window(k, length, min(held, length)) for k in CANDIDATE_LENGTHS])


def blocks_recall(k: int, length: int, blocks: int, block: int) -> float:
    """Return f_k of a uniform choice of `blocks` among the stream's disjoint blocks of `block` symbols, for any k.

    The last block may be shorter. Chance occurrences elsewhere are taken as independent.
    """
    positions = length - k + 1
    if positions <= 0:
        return 1.0
    whole, rest = divmod(length, block)
    kept = min(1.0, blocks / (whole + (rest > 0)))
    inside = kept * (whole * max(block - k + 1, 0) + max(rest - k + 1, 0))
    share = inside / positions
    return share + (1 - share) * -math.expm1(inside * math.log1p(-(float(ALPHABET) ** -k)))


def lz78_prefix(length: int, bits: int) -> float:
    """Return the expected number of symbols in the longest prefix whose LZ78 code fits into `bits`."""
    return min(float(length), lz78_symbols(min(lz78_phrases(bits), length)))


def lz78_recall(length: int, bits: int) -> FloatArray:
    """Return f_k, k = 3..6, of that prefix: shape [4]. Its length is taken as one of the two integers at its mean."""
    whole, part = divmod(lz78_prefix(length, bits), 1)
    return (1 - part) * window_recall(length, int(whole)) + part * window_recall(length, int(whole) + 1)


# States that filter: their false alarms ------------------------------------------------------------------------------


def bloom_hashes(bits: int, grams: float) -> int:
    """Return the number of hash functions of a Bloom filter: (M/n) ln 2, rounded, and at least one."""
    return max(1, round(bits / grams * math.log(2)))


def bloom_rate(bits: int, hashes: int, grams: float) -> float:
    """Return the false-positive rate of a Bloom filter that holds `grams` items: (1 - (1 - 1/M)^(hn))^h.

    The inner power is about e^(-hn/M). Exact for one hash function; for more it takes the fill for its mean.
    """
    return float(1 - (1 - 1 / bits) ** (hashes * grams)) ** hashes


def independent_false_alarm(k: int, g: int, length: int, rate: float) -> float:
    """Return FP_k of a set of g-grams with false-positive rate `rate`, taking a candidate's g-grams as independent.

    FP_k = (pi^(k-g+1) - rho_k) / (1 - rho_k) with pi = rho_g + (1 - rho_g) rate. Cheap; off by up to 0.03 for a single
    k where symbols are few (see `false_alarms`). A candidate shorter than g always passes.
    """
    if k < g:
        return 1.0
    absent = independent_occurrence(k, length)
    held = independent_occurrence(g, length)
    passes = (held + (1 - held) * rate) ** (k - g + 1)
    return max(passes - absent, 0.0) / (1 - absent) if absent < 1 else 0.0


def false_alarms(g: int, length: int, rate: float = 0.0, *, independent: bool = False) -> FloatArray:
    """Return FP_k, k = 3..6, of a set of all g-grams (g = 1, 2, 3) with false-positive rate `rate`: shape [4].

    What is left out: how the sets of one stream differ from another's, and how a candidate's contexts repeat. Against
    simulation the accuracy that follows is within 0.002 for L from 8 to 4,096. `independent=True` gives
    `independent_false_alarm`.
    """
    _check(length)
    if independent:
        return np.array([independent_false_alarm(k, g, length, rate) for k in CANDIDATE_LENGTHS])
    alarms = []
    for k in CANDIDATE_LENGTHS:
        absent = occurrence(k, length)
        alarms.append(rate if k == g else max(grams_pass(k, g, length, rate) - absent, 0.0) / (1 - absent))
    return np.array(alarms)


def trigram_quad_false_alarms(length: int, bits: int) -> FloatArray:
    """Return FP_k, k = 3..6, of an exact trigram bitmap and a Bloom filter of 4-grams in the bits beyond its 4,096.

    A candidate passes if all its trigrams are set and all its 4-grams pass. Its trigrams are taken as independent.
    """
    three, four = occurrence(3, length), occurrence(4, length)
    grams = distinct(4, length)
    spare = bits - TRIGRAMS
    rate = bloom_rate(spare, bloom_hashes(spare, grams), grams) if spare > 0 else 1.0
    chance = max(three * three - four, 0.0) * rate  # absent, yet its two trigrams and its hashes are there
    passes = four + chance
    step = passes / three  # of each further 4-gram, given its leading trigram
    five, six = occurrence(5, length), occurrence(6, length)
    alarms = [0.0, chance / (1 - four), (passes * step - five) / (1 - five), (passes * step**2 - six) / (1 - six)]
    positive: FloatArray = np.maximum(np.array(alarms), 0.0)
    return positive


def ideal_trigram_rate(length: int, bits: int) -> float:
    """Return the least false-positive rate of any trigram set of `bits` bits without misses.

    From the random-coding rate of 4,096 independent cells: 4096 [h(rho + (1 - rho) e) - (1 - rho) h(e)] = M.
    """
    held = occurrence(3, length)
    if bits >= TRIGRAMS * _entropy(held):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        needed = TRIGRAMS * (_entropy(held + (1 - held) * rate) - (1 - held) * _entropy(rate))
        low, high = (low, rate) if needed < bits else (rate, high)
    return high


def _entropy(p: float) -> float:
    """Binary entropy in bits."""
    return 0.0 if p <= 0 or p >= 1 else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


# From recall and false alarms to accuracy and coverage ---------------------------------------------------------------


def holding_accuracy(recall: FloatArray) -> float:
    """Return the accuracy of a memory that says yes to what it finds: (1 + mean f) / 2."""
    return 0.5 + float(np.mean(recall)) / 2


def filtering_accuracy(alarms: FloatArray) -> float:
    """Return the accuracy of a memory that says no to what it can refute: 1 - mean FP / 2."""
    return 1 - float(np.mean(alarms)) / 2


def confidence_when_missed(recall: float) -> float:
    """Return P(negative | not found) = 1 / (2 - f), with equally many positives and negatives."""
    return 1 / (2 - recall)


def confidence_when_passed(alarm: float) -> float:
    """Return P(positive | passed) = 1 / (1 + FP), with equally many positives and negatives."""
    return 1 / (1 + alarm)


def holding_selective(recall: FloatArray, confidence: FloatArray, tau: float) -> tuple[float, float]:
    """Return coverage R and correct rate C of a holding memory that answers when its confidence exceeds tau.

    What is found is certain. `confidence` [4] is what it has when nothing is found, for each k: where it exceeds tau,
    R_k = 1 and C_k = (1 + f_k) / 2, else both are f_k / 2 (ECCBench, 3: C counts correct answers among all questions).
    """
    answers = confidence > tau
    covered = np.where(answers, 1.0, recall / 2)
    correct = np.where(answers, (1 + recall) / 2, recall / 2)
    return float(covered.mean()), float(correct.mean())


def filtering_selective(alarms: FloatArray, confidence: FloatArray, tau: float) -> tuple[float, float]:
    """Return coverage R and correct rate C of a filtering memory that answers when its confidence exceeds tau.

    What is refuted is certain. `confidence` [4] is what it has when a candidate passes: where it exceeds tau, R_k = 1
    and C_k = 1 - FP_k / 2, else both are (1 - FP_k) / 2.
    """
    answers = confidence > tau
    covered = np.where(answers, 1.0, (1 - alarms) / 2)
    correct = np.where(answers, 1 - alarms / 2, (1 - alarms) / 2)
    return float(covered.mean()), float(correct.mean())


# The best that is known, and the best that can be --------------------------------------------------------------------


def scheme_accuracies(length: int, bits: int, *, independent: bool = False) -> dict[str, float]:
    """Return the accuracy of every known scheme that fits into `bits` bits, by name.

    The filters are designed for this very length. `independent=True` takes the g-grams of a candidate as independent,
    as published tables do; the default does not. `ideal-trigram` is a limit of coding, not a program.
    """
    _check(length, bits)
    alarms = partial(false_alarms, length=length, independent=independent)
    found = {"exact": 1.0} if bits >= 4 * length else {}
    found |= {"always-no": 0.5, "window": holding_accuracy(window_recall(length, bits // 4))}
    found["lz78"] = holding_accuracy(lz78_recall(length, bits))
    for g in (1, 2, 3):
        if bits >= ALPHABET**g:
            found[f"ngram-set:n={g}"] = filtering_accuracy(alarms(g))
    if bits > 0:
        grams = sum(distinct(k, length) for k in CANDIDATE_LENGTHS)
        found["bloom"] = 1 - bloom_rate(bits, bloom_hashes(bits, grams), grams) / 2
        three = distinct(3, length)
        rate = 0.0 if bits >= TRIGRAMS else bloom_rate(bits, bloom_hashes(bits, three), three)
        found["trigram-bloom"] = filtering_accuracy(alarms(3, rate=rate))
        found["ideal-trigram"] = filtering_accuracy(alarms(3, rate=ideal_trigram_rate(length, bits)))
        found["tri+quad"] = found["trigram-bloom"]
    if bits > TRIGRAMS:
        found["tri+quad"] = filtering_accuracy(trigram_quad_false_alarms(length, bits))
    return found


def best_known_scheme(length: int, bits: int) -> tuple[str, float]:
    """Return the name and the accuracy of the best known scheme within `bits` bits (see `scheme_accuracies`).

    >>> best_known_scheme(1024, 4096)
    ('exact', 1.0)
    """
    return max(scheme_accuracies(length, bits).items(), key=lambda item: item[1])


def converse(length: int, bits: int) -> float:
    """Return an upper bound on the accuracy of any state of `bits` bits (see `converse_curve`)."""
    return float(converse_curve(length, np.array([bits]))[0])


def converse_curve(length: int, bits: NDArray[np.int64]) -> FloatArray:
    """Return an upper bound on the accuracy of any state, averaged over k = 3..6, for each number of bits: shape [n].

    The disjoint blocks of k symbols are independent, so what the state says about them adds up to at most M bits; by
    convexity floor(L/k) D(1 - delta || e') <= M with e' = (1 - rho_k) e + rho_k (1 - delta), where delta and e are the
    rates of missed positives and false alarms and D is the binary divergence in bits; A_k <= 1 - (delta + e) / 2. For
    k = 3 the 4,096 possible trigrams, taken as independent cells, give another bound, and the lower of both counts.
    The first is exact as rho_k -> 0. The second ignores how neighbouring trigrams depend on each other; it is used only
    where such cells carry no more than the stream's own 4L bits (L of about 690 and more).
    """
    _check(length, int(np.min(bits, initial=0)))
    held = [occurrence(k, length) for k in CANDIDATE_LENGTHS]
    bounds = [
        _best_tradeoff(partial(_block_information, rho, length // k), bits)
        for k, rho in zip(CANDIDATE_LENGTHS, held, strict=True)
    ]
    if TRIGRAMS * _entropy(held[0]) <= 4 * length:
        bounds[0] = np.minimum(bounds[0], _best_tradeoff(partial(_cell_information, held[0]), bits))
    curve: FloatArray = np.mean(bounds, axis=0)
    return curve


def _block_information(held: float, blocks: int, missed: FloatArray, alarm: FloatArray) -> FloatArray:
    other = (1 - held) * alarm + held * (1 - missed)
    return blocks * (_divergence_term(1 - missed, other) + _divergence_term(missed, 1 - other))


def _cell_information(held: float, missed: FloatArray, alarm: FloatArray) -> FloatArray:
    said = held * (1 - missed) + (1 - held) * alarm
    return TRIGRAMS * (_entropies(said) - held * _entropies(missed) - (1 - held) * _entropies(alarm))


def _entropies(p: FloatArray) -> FloatArray:
    one = np.ones_like(p)
    return -_divergence_term(p, one) - _divergence_term(1 - p, one)


def _divergence_term(p: FloatArray, q: FloatArray) -> FloatArray:
    """p log2(p/q), which is 0 where p is 0 and infinite where q alone is."""
    term = np.zeros_like(p)
    with np.errstate(divide="ignore"):
        np.divide(p, q, out=term, where=p > 0)
        np.log2(term, out=term, where=p > 0)
    return p * term


def _best_tradeoff(
    information: Callable[[FloatArray, FloatArray], FloatArray], bits: NDArray[np.int64], grid: int = 33
) -> FloatArray:
    """Largest 1 - (delta + e)/2 with information(delta, e) <= bits, which falls with e; shape [n].

    The least delta + e is a convex function of delta: look again, more closely, around the best of a grid.
    """
    budget = bits[:, None]
    low, high = np.zeros(len(bits)), np.ones(len(bits))
    best = np.full(len(bits), 0.5)
    for _ in range(3):
        missed = np.linspace(low, high, grid, axis=1)
        under, over = np.zeros_like(missed), 1 - missed
        free = information(missed, under) <= budget
        for _ in range(40):
            middle = (under + over) / 2
            fits = information(missed, middle) <= budget
            under, over = np.where(fits, under, middle), np.where(fits, middle, over)
        accuracy = 1 - (missed + np.where(free, 0.0, over)) / 2
        top = accuracy.argmax(axis=1)
        rows = np.arange(len(bits))
        best = np.maximum(best, accuracy[rows, top])
        low, high = missed[rows, np.maximum(top - 1, 0)], missed[rows, np.minimum(top + 1, grid - 1)]
    return best
