"""How often words occur in a uniform stream: the probabilities that `memgauge.streams.theory` is built from.

Symbols are independent and uniform on 16. A word's chance to occur depends on how it overlaps with itself, so the exact
forms run its matching automaton; the `independent_` ones leave overlaps out, and are right to five digits.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

ALPHABET = 16
CANDIDATE_LENGTHS = (3, 4, 5, 6)

FloatArray = NDArray[np.float64]


def independent_occurrence(k: int, length: int) -> float:
    """Return rho_k as if positions were independent: 1 - (1 - 16^-k)^(L-k+1), for any k and L >= 0.

    Nearly exact (a candidate's overlaps with itself are left out), and cheap: confidences are computed with it.
    """
    return -math.expm1(max(length - k + 1, 0) * math.log1p(-(float(ALPHABET) ** -k)))


def independent_distinct(k: int, length: int) -> float:
    """Return N_k likewise: 16^k rho_k different words of k symbols are expected to occur."""
    return float(ALPHABET) ** k * independent_occurrence(k, length)


@cache
def _words(k: int) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """All words of k symbols by how they overlap with themselves: weights [C], automata [C, k, k], tails [C, k].

    Words with the same borders (beginnings that are also ends) occur alike, so one stands for all (Guibas and Odlyzko,
    1981). State s of its automaton means that the last s symbols read are its first s; a full match leaves. Entry
    `tails[c, s]` is the state after reading the word from its symbol s on: the longest border that fits there.
    """
    words: list[list[int]] = [[0]]
    for _ in range(k - 1):  # up to renaming of symbols
        words = [[*w, a] for w in words for a in range(max(w) + 2)]

    def longest(read: list[int], word: list[int]) -> int:
        return next(s for s in range(min(len(read), k), -1, -1) if s == 0 or read[-s:] == word[:s])

    weights: dict[tuple[int, ...], float] = {}
    automata: dict[tuple[int, ...], FloatArray] = {}
    for word in words:
        tails = (0, *(longest(word[s:], word) for s in range(1, k)))
        used = set(word)
        weights[tails] = weights.get(tails, 0.0) + math.perm(ALPHABET, len(used)) / float(ALPHABET) ** k
        if tails in automata:
            continue
        automata[tails] = np.zeros((k, k))
        for state in range(k):
            automata[tails][state, 0] += (ALPHABET - len(used)) / ALPHABET
            for symbol in used:
                reached = longest([*word[:state], symbol], word)
                if reached < k:
                    automata[tails][state, reached] += 1 / ALPHABET
    return np.array(list(weights.values())), np.stack(list(automata.values())), np.array(list(weights))


@lru_cache(maxsize=4096)
def _avoidance(k: int, length: int) -> FloatArray:
    """Probability that `length` fresh symbols do not complete a word, from each state; shape [C, k]."""
    result: FloatArray = np.linalg.matrix_power(_words(k)[1], length).sum(-1)
    return result


def occurrence(k: int, length: int) -> float:
    """Return rho_k, the probability that a uniform word of k symbols (3..6) occurs in a uniform stream. Exact.

    >>> round(occurrence(3, 4096), 4)
    0.632
    """
    return float(_words(k)[0] @ (1 - _avoidance(k, max(length, 0))[:, 0]))


def distinct(k: int, length: int) -> float:
    """Return N_k, the expected number of distinct words of k symbols (3..6) in a uniform stream. Exact."""
    return float(ALPHABET) ** k * occurrence(k, length)


def found_in_window(k: int, length: int, held: int) -> float:
    """Return the probability that a copied word of k symbols (3..6) is in the last `held`, its place uniform. Exact.

    It lies inside, or before (then it is independent of what is held), or across the edge: then its tail opens what is
    held, and the automaton goes on from there.
    """
    weights, _, tails = _words(k)
    found = float(max(held - k + 1, 0)) + max(length - held - k + 1, 0) * occurrence(k, held)
    for outside in range(max(1, k - held), min(k - 1, length - held) + 1):
        avoided = _avoidance(k, held - (k - outside))
        found += 1 - float(weights @ avoided[np.arange(len(weights)), tails[:, outside]])
    return found / (length - k + 1)


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


@lru_cache(maxsize=4096)
def grams_pass(k: int, g: int, length: int, rate: float) -> float:
    """Return the probability that every g-gram of a uniform word of k > g symbols passes a set with this error `rate`.

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
    shared = max(1, round(places / ALPHABET ** (g - 2)))
    table = _log_factorials(shared)
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
