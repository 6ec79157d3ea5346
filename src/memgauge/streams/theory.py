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
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ALPHABET = 16
CANDIDATE_LENGTHS = (3, 4, 5, 6)
TRIGRAMS = ALPHABET**3
MIN_LENGTH = max(CANDIDATE_LENGTHS)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expected:
    """An accuracy that theory gives."""

    value: float
    exact: bool
    """False where the form leaves something out; `note` says what."""
    note: str = ""


def _check(length: int, bits: int = 0) -> None:
    if length < MIN_LENGTH:
        raise ValueError(f"a stream of {length} symbols has no candidates of {MIN_LENGTH}: the length must be at least that")
    if bits < 0:
        raise ValueError(f"bits must not be negative, got {bits}")


# How many candidates occur -------------------------------------------------------------------------------------------


def independent_occurrence(k: int, length: int) -> float:
    """Return rho_k as if positions were independent: 1 - (1 - 16^-k)^(L-k+1), for any k and L >= 0.

    Nearly exact (a candidate's overlaps with itself are left out), and cheap: confidences are computed with it.
    """
    return -math.expm1(max(length - k + 1, 0) * math.log1p(-(float(ALPHABET) ** -k)))


@lru_cache(maxsize=None)
def _words(k: int) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """All words of k symbols up to renaming: weight [C], matching automaton [C, k, k], and state after a tail [C, k].

    State s means that the last s symbols read are the word's first s; a full match leaves the automaton. Entry
    `tails[c, s]` is the state after reading the word from its symbol s on.
    """
    words: list[list[int]] = [[0]]
    for _ in range(k - 1):
        words = [[*w, a] for w in words for a in range(max(w) + 2)]
    weights = np.array([math.perm(ALPHABET, max(w) + 1) for w in words]) / float(ALPHABET) ** k
    automata = np.zeros((len(words), k, k))
    tails = np.zeros((len(words), k), np.int64)

    def longest(read: list[int], word: list[int]) -> int:
        return next(s for s in range(min(len(read), k), -1, -1) if s == 0 or read[-s:] == word[:s])

    for c, word in enumerate(words):
        used = set(word)
        for state in range(k):
            for symbol in used:
                reached = longest([*word[:state], symbol], word)
                if reached < k:
                    automata[c, state, reached] += 1 / ALPHABET
            automata[c, state, 0] += (ALPHABET - len(used)) / ALPHABET
            tails[c, state] = longest(word[state:], word) if state else 0
    return weights, automata, tails


@lru_cache(maxsize=4096)
def _avoidance(k: int, length: int) -> FloatArray:
    """Probability that `length` fresh symbols do not complete a word, from each state; shape [C, k]."""
    result: FloatArray = np.linalg.matrix_power(_words(k)[1], length).sum(-1)
    return result


def occurrence(k: int, length: int) -> float:
    """Return rho_k, the probability that a uniform word of k symbols (3..6) occurs in a uniform stream. Exact.

    >>> round(occurrence(3, 4096), 4)
    0.6318
    """
    return float(_words(k)[0] @ (1 - _avoidance(k, max(length, 0))[:, 0]))


def distinct(k: int, length: int) -> float:
    """Return N_k, the expected number of distinct words of k symbols (3..6) in a uniform stream. Exact."""
    return float(ALPHABET) ** k * occurrence(k, length)


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
    """Return f_k, k = 3..6, of the last (or first) `held` symbols of a stream: shape [4]. Exact.

    A positive lies inside the window, or before it (then its word is independent of the window), or across its edge
    (then its tail opens the window, and the automaton goes on from there).
    """
    _check(length)
    held = min(held, length)
    recall = []
    for k in CANDIDATE_LENGTHS:
        weights, _, tails = _words(k)
        found = float(max(held - k + 1, 0)) + max(length - held - k + 1, 0) * occurrence(k, held)
        for outside in range(max(1, k - held), min(k - 1, length - held) + 1):
            avoided = _avoidance(k, held - (k - outside))
            found += 1 - float(weights @ avoided[np.arange(len(weights)), tails[:, outside]])
        recall.append(found / (length - k + 1))
    return np.array(recall)


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


def lz78_phrases(bits: int) -> int:
    """Return how many LZ78 phrases fit: phrase j costs ceil(log2 j) bits for its parent and 4 for its symbol."""
    phrases, spent, width = 0, 0, 0
    while True:
        # Phrases 2^(width-1)+1 .. 2^width name their parent with `width` bits.
        group = 1 if width == 0 else 1 << (width - 1)
        taken = min(group, (bits - spent) // (width + 4))
        phrases += taken
        if taken < group:
            return phrases
        spent += group * (width + 4)
        width += 1


@lru_cache(maxsize=1024)
def lz78_symbols(phrases: int) -> float:
    """Return the expected number of symbols in the first `phrases` LZ78 phrases of a uniform stream.

    The phrases form a digital search tree of independent uniform strings: of the strings that reach a node the first
    stays there, and the others go on to its 16 children, uniformly. The counts that reach a node at each depth follow.
    """
    pmf = np.zeros(phrases + 1)
    pmf[phrases] = 1.0
    nodes, symbols = 1.0, 0.0
    while phrases > 0:
        pmf = _thinned(pmf)
        nodes *= ALPHABET
        symbols += nodes * float(pmf @ np.arange(len(pmf)))
        pmf = np.concatenate([[pmf[0] + pmf[1]], pmf[2:]]) if len(pmf) > 1 else pmf  # the first to come stays
        if nodes * float(pmf[1:].sum()) < 1e-9:
            break
    return symbols


def _thinned(pmf: FloatArray) -> FloatArray:
    """Distribution of Binomial(N, 1/16) for N distributed as `pmf`; what is rarer than 1e-15 is dropped."""
    counts = np.flatnonzero(pmf > 1e-15)
    top = int(counts[-1]) if len(counts) else 0
    wide = min(top, int(top / ALPHABET + 12 * math.sqrt(top / ALPHABET) + 40))
    thinned: FloatArray = pmf[counts] @ _binomial(counts, np.arange(wide + 1), 1 / ALPHABET)
    return thinned


def _log_factorials(top: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, top + 1)))])


def _binomial(n: NDArray[np.int64], j: NDArray[np.int64], p: float) -> FloatArray:
    """Probability of j successes in n trials, shape [len(n), len(j)]."""
    table = _log_factorials(int(n.max()))
    n, j = n[:, None], j[None, :]
    logs = table[n] - table[np.minimum(j, n)] - table[np.maximum(n - j, 0)]
    pmf: FloatArray = np.where(j <= n, np.exp(logs + j * math.log(p) + (n - j) * math.log1p(-p)), 0.0)
    return pmf


def lz78_prefix(length: int, bits: int) -> int:
    """Return the expected number of symbols, rounded, in the longest prefix whose LZ78 code fits into `bits`."""
    return min(length, round(lz78_symbols(min(lz78_phrases(bits), length))))


# States that filter: their false alarms ------------------------------------------------------------------------------


def bloom_hashes(bits: int, grams: float) -> int:
    """Return the number of hash functions of a Bloom filter: (M/n) ln 2, rounded, and at least one."""
    return max(1, round(bits / grams * math.log(2)))


def bloom_rate(bits: int, hashes: int, grams: float) -> float:
    """Return the false-positive rate of a Bloom filter that holds `grams` items: (1 - e^(-hn/M))^h."""
    return (1 - math.exp(-hashes * grams / bits)) ** hashes


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


@lru_cache(maxsize=4096)
def _passes(k: int, g: int, length: int, rate: float) -> float:
    """Probability that every g-gram of a uniform word of k symbols is in the set (k > g).

    A word is a walk over contexts of g-1 symbols. A frequent context has many g-grams on both its sides, so its g-grams
    are not independent: the walk goes over the contexts' counts (binomial), and a step from a context seen u times
    to one seen v times exists unless u and v distinct choices among the B places of what they share do not meet.
    """
    if g == 1:
        draw = np.diag(np.arange(ALPHABET + 1) / ALPHABET) + np.diag(1 - np.arange(ALPHABET) / ALPHABET, 1)
        seen = np.linalg.matrix_power(draw, length)[0]  # how many different symbols occur
        return float(seen @ (np.arange(ALPHABET + 1) / ALPHABET) ** k)
    places = length - g + 1
    mean = places / ALPHABET ** (g - 1)
    spread = 10 * math.sqrt(mean) + 20
    counts = np.arange(max(0, int(mean - spread)), min(places, int(mean + spread)) + 1)
    weights = _binomial(np.array([places]), counts, ALPHABET ** -(g - 1.0))[0]
    shared = round(places / ALPHABET ** (g - 2))
    table = _log_factorials(max(shared, 1))
    u, v = counts[:, None], counts[None, :]
    fits = u + v <= shared
    logs = table[np.clip(shared - u, 0, None)] + table[np.clip(shared - v, 0, None)]
    logs = logs - table[shared] - table[np.clip(shared - u - v, 0, None)]
    missing = np.where(fits, np.exp(np.where(fits, logs, 0.0)), 0.0)
    missing[(u == 0) | (v == 0)] = 1.0
    step = (1 - missing * (1 - rate)) * weights
    walk = np.ones(len(counts))
    for _ in range(k - g + 1):
        walk = step @ walk
    return float(weights @ walk)


def false_alarms(g: int, length: int, rate: float = 0.0) -> FloatArray:
    """Return FP_k, k = 3..6, of a set of all g-grams (g = 1, 2, 3) with false-positive rate `rate`: shape [4].

    What is left out: how the sets of one stream differ from another's, and how a candidate's contexts repeat. Against
    simulation the accuracy that follows is within 0.002 for L from 8 to 4,096.
    """
    _check(length)
    alarms = []
    for k in CANDIDATE_LENGTHS:
        absent = occurrence(k, length)
        alarms.append(rate if k == g else max(_passes(k, g, length, rate) - absent, 0.0) / (1 - absent))
    return np.array(alarms)


def independent_false_alarms(g: int, length: int, rate: float = 0.0) -> FloatArray:
    """Return `independent_false_alarm` for k = 3..6: shape [4]."""
    return np.array([independent_false_alarm(k, g, length, rate) for k in CANDIDATE_LENGTHS])


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
    return np.maximum(np.array(alarms), 0.0)


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
    alarms: Callable[..., FloatArray] = independent_false_alarms if independent else false_alarms
    found = {"always-no": 0.5, "window": holding_accuracy(window_recall(length, bits // 4))}
    if bits >= 4 * length:
        found["exact"] = 1.0
    found["lz78"] = holding_accuracy(window_recall(length, lz78_prefix(length, bits)))
    for g in (1, 2, 3):
        if bits >= ALPHABET**g:
            found[f"ngram-set:n={g}"] = filtering_accuracy(alarms(g, length))
    if bits > 0:
        grams = sum(distinct(k, length) for k in CANDIDATE_LENGTHS)
        found["bloom"] = 1 - bloom_rate(bits, bloom_hashes(bits, grams), grams) / 2
        three = distinct(3, length)
        rate = 0.0 if bits >= TRIGRAMS else bloom_rate(bits, bloom_hashes(bits, three), three)
        found["trigram-bloom"] = filtering_accuracy(alarms(3, length, rate))
        found["ideal-trigram"] = filtering_accuracy(alarms(3, length, ideal_trigram_rate(length, bits)))
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
    """Return an upper bound on the accuracy of any state of `bits` bits, averaged over k = 3..6.

    The disjoint blocks of k symbols are independent, so what the state says about them adds up to at most M bits; by
    convexity floor(L/k) D(1 - delta || e') <= M with e' = (1 - rho_k) e + rho_k (1 - delta), where delta and e are the
    rates of missed positives and false alarms and D is the binary divergence in bits; A_k <= 1 - (delta + e) / 2. For
    k = 3 the 4,096 possible trigrams, taken as independent cells, give another bound, and the lower of both counts.
    The first is exact as rho_k -> 0. The second ignores how neighbouring trigrams depend on each other; it is used only
    where such cells carry no more than the stream's own 4L bits (L of about 690 and more).
    """
    _check(length, bits)
    bounds = [_block_bound(k, length, bits) for k in CANDIDATE_LENGTHS]
    held = occurrence(3, length)
    if TRIGRAMS * _entropy(held) <= 4 * length:
        bounds[0] = min(bounds[0], _cell_bound(held, bits))
    return float(np.mean(bounds))


def _block_bound(k: int, length: int, bits: int) -> float:
    held, blocks = occurrence(k, length), length // k

    def information(missed: FloatArray, alarm: FloatArray) -> FloatArray:
        other = (1 - held) * alarm + held * (1 - missed)
        return blocks * (_terms(1 - missed, other) + _terms(missed, 1 - other))

    return _best_tradeoff(information, bits)


def _cell_bound(held: float, bits: int) -> float:
    def information(missed: FloatArray, alarm: FloatArray) -> FloatArray:
        said = held * (1 - missed) + (1 - held) * alarm
        noise = held * (_terms(missed, 1.0) + _terms(1 - missed, 1.0))
        noise = noise + (1 - held) * (_terms(alarm, 1.0) + _terms(1 - alarm, 1.0))
        return TRIGRAMS * (noise - _terms(said, 1.0) - _terms(1 - said, 1.0))

    return _best_tradeoff(information, bits)


def _terms(p: FloatArray, q: FloatArray | float) -> FloatArray:
    """p log2(p/q), and 0 where p is 0."""
    positive = p > 0
    safe = np.where(positive, p, 1.0)
    with np.errstate(divide="ignore"):
        ratio: FloatArray = np.where(positive, safe * np.log2(safe / np.where(positive, q, 1.0)), 0.0)
    return ratio


def _best_tradeoff(information: Callable[[FloatArray, FloatArray], FloatArray], bits: int) -> float:
    """Largest 1 - (delta + e)/2 with information(delta, e) <= bits; the information falls with e, and is convex."""
    low, high = 0.0, 1.0
    best = 0.5
    for _ in range(3):  # the sum is convex in delta: look closer around the best of a grid
        missed = np.linspace(low, high, 65)
        under, over = np.zeros_like(missed), 1 - missed
        under_fits = information(missed, under) <= bits
        for _ in range(50):
            middle = (under + over) / 2
            fits = information(missed, middle) <= bits
            under, over = np.where(fits, under, middle), np.where(fits, middle, over)
        accuracy = 1 - (missed + np.where(under_fits, 0.0, over)) / 2
        top = int(accuracy.argmax())
        best = max(best, float(accuracy[top]))
        low, high = float(missed[max(top - 1, 0)]), float(missed[min(top + 1, 64)])
    return best
