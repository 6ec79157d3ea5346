"""The empirical Lempel-Ziv rate of a stream, in bits per symbol, by two estimators.

The primary one, `lz_rate`, is the increasing-window match-length estimator of Kontoyiannis, Algoet, Suhov and Wyner
(1998). It defines the entropy bands of ECCBench (A.1). The secondary one, `lz78_rate`, counts the phrases of Lempel-Ziv
1978 parsing; it is reported and never used for banding.

Both are biased on short streams, so they compare streams of one length and not streams of different lengths.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memgauge.streams._kernels import find_slot, kernel

DENSE_ALPHABET = 16
"""Up to this many distinct symbols the automaton keeps a full row of transitions for each state."""


def match_lengths(symbols: ArrayLike) -> NDArray[np.int32]:
    """Return how far the stream from each position on repeats what came before, shape [n].

    Entry i (0-based) is the largest l such that symbols[i:i+l] equals symbols[j:j+l] for some j < i; the earlier copy
    may overlap position i. Computed in O(n) by a suffix automaton. `symbols` is any one-dimensional array of integers;
    any number of distinct symbols is allowed.

    >>> match_lengths([3, 5, 3, 5, 3, 9]).tolist()
    [0, 0, 3, 2, 1, 0]
    """
    dense, alphabet = _dense(symbols)
    if alphabet <= DENSE_ALPHABET:
        return _match_lengths_automaton(dense, max(alphabet, 1))
    return _match_lengths_sorted(dense)


def lz_rate(symbols: ArrayLike) -> float:
    """Return the primary Lempel-Ziv rate in bits per symbol.

    With 1-based positions, h = [ 1/(n-1) * sum_{i=2}^{n} Lambda_i / log2(i) ]^-1, where Lambda_i is one more than the
    match length at i: the length of the shortest string from i on that did not begin earlier. Position 1 has no past
    and is left out; Lambda_i is not clipped at the end of the stream. A rate needs at least two symbols: for fewer the
    result is NaN.

    The example is the low-entropy stream printed in ECCBench, A.1:

    >>> round(lz_rate([8, 1, 4, 6, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1]), 4)
    0.7502
    """
    return rate_of_match_lengths(match_lengths(symbols))


def rate_of_match_lengths(lengths: NDArray[np.int32]) -> float:
    """Return the primary rate of a stream whose match lengths are known; NaN for fewer than two."""
    n = lengths.shape[0]
    if n < 2:
        return math.nan
    return float((n - 1) / np.sum((lengths[1:] + 1) / np.log2(np.arange(2, n + 1))))


def lz78_rate(symbols: ArrayLike) -> float:
    """Return the secondary rate, c * log2(n) / n bits per symbol, with c phrases of Lempel-Ziv 1978 parsing.

    The trailing incomplete phrase counts. NaN for fewer than two symbols, as for `lz_rate`.

    >>> lz78_rate([0, 0, 0, 0, 0, 0, 0, 0])  # 0 | 00 | 000 | 00
    1.5
    """
    dense, alphabet = _dense(symbols)
    n = dense.shape[0]
    if n < 2:
        return math.nan
    return float(_lz78_phrases(dense, alphabet) * math.log2(n) / n)


def _dense(symbols: ArrayLike) -> tuple[NDArray[np.int32], int]:
    """Map symbols to 0..k-1 where needed, and return them with a bound on how many there are."""
    array = np.asarray(symbols)
    if array.ndim != 1:
        raise ValueError(f"a stream is one-dimensional; got an array of shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.int32), 0
    if array.dtype.kind not in "iub":
        raise ValueError(f"symbols must be integers; got an array of {array.dtype}")
    if array.dtype == np.uint8:
        top = int(array.max())
        if top < DENSE_ALPHABET:
            return np.ascontiguousarray(array, np.int32), top + 1
    distinct, dense = np.unique(array, return_inverse=True)
    return np.ascontiguousarray(dense, np.int32), int(distinct.shape[0])


def _match_lengths_automaton(x: NDArray[np.int32], alphabet: int) -> NDArray[np.int32]:
    """Match lengths of a stream of few distinct symbols: time O(n), memory O(n * alphabet)."""
    states = 2 * x.shape[0] + 2
    # Made here and not in the loop: numpy asks the system for huge pages, which keeps long streams near linear.
    following = np.zeros((states, alphabet), np.int32)
    return _grow_automaton(x, following, np.zeros(states, np.int32), np.zeros(states, np.int32))


@kernel
def _grow_automaton(
    x: NDArray[np.int32], following: NDArray[np.int32], link: NDArray[np.int32], longest: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Grow the suffix automaton (Blumer et al., 1985) symbol by symbol and read the match lengths off it.

    State 0 is the empty string; no transition leads to it, so 0 also means "no transition". After symbol t - 1 the
    suffix link of the newest state is the longest suffix x[i:t] that occurred before. Its beginning i never moves back,
    so the match at each position ends just before the first t whose i lies beyond it.
    """
    n = x.shape[0]
    lengths = np.empty(n, np.int32)
    begin = 0
    link[0] = -1
    last = 0
    size = 1
    for t in range(1, n + 1):
        symbol = x[t - 1]
        new = size
        size += 1
        longest[new] = t
        state = last
        while state != -1 and following[state, symbol] == 0:
            following[state, symbol] = new
            state = link[state]
        if state != -1:
            old = following[state, symbol]
            if longest[state] + 1 == longest[old]:
                link[new] = old
            else:
                clone = size
                size += 1
                longest[clone] = longest[state] + 1
                for s in range(following.shape[1]):
                    following[clone, s] = following[old, s]
                link[clone] = link[old]
                while state != -1 and following[state, symbol] == old:
                    following[state, symbol] = clone
                    state = link[state]
                link[old] = clone
                link[new] = clone
        last = new
        while begin < t - longest[link[new]]:
            lengths[begin] = t - 1 - begin
            begin += 1
    for i in range(begin, n):
        lengths[i] = n - i
    return lengths


def _match_lengths_sorted(x: NDArray[np.int32]) -> NDArray[np.int32]:
    """Match lengths of a stream of any alphabet from its sorted suffixes: memory O(n), time O(n log^2 n) at most.

    An automaton would need a transition row as wide as the alphabet for each of its 2n states.
    """
    n = x.shape[0]
    rank = x.astype(np.int64)
    step = 1
    while True:  # prefix doubling (Manber and Myers, 1993): ranks by the first 2 * step symbols
        second = np.zeros(n, np.int64)
        second[: n - step] = rank[step:] + 1
        key = rank * (n + 1) + second
        order = np.argsort(key)
        new_rank = np.zeros(n, np.int64)
        new_rank[order[1:]] = np.cumsum(np.diff(key[order]) != 0)
        rank = new_rank
        step *= 2
        if step >= n or rank[order[-1]] == n - 1:
            return _previous_factors(x, order)


@kernel
def _previous_factors(x: NDArray[np.int32], order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Longest previous factors from the suffix array (Crochemore and Ilie, 2008).

    Suffixes are struck off the sorted list from the last position to the first: what is left beside suffix i then
    begins before i, and its neighbours share the longest prefix with it.
    """
    n = x.shape[0]
    place = np.empty(n, np.int64)
    for r in range(n):
        place[order[r]] = r
    common = np.zeros(n + 1, np.int32)  # common[r]: prefix shared by the suffixes of rank r - 1 and r (Kasai, 2001)
    h = 0
    for i in range(n):
        if place[i] > 0:
            j = order[place[i] - 1]
            while i + h < n and j + h < n and x[i + h] == x[j + h]:
                h += 1
            common[place[i]] = h
            h = max(h - 1, 0)
        else:
            h = 0
    before = np.arange(-1, n)
    after = np.arange(1, n + 2)
    lengths = np.empty(n, np.int32)
    for i in range(n - 1, -1, -1):
        r = place[i]
        lengths[i] = max(common[r], common[after[r]])
        common[after[r]] = min(common[r], common[after[r]])
        after[before[r]] = after[r]  # the first in the list has before -1, which writes the unused last entry
        before[after[r]] = before[r]
    return lengths


@kernel
def _lz78_phrases(x: NDArray[np.int32], alphabet: int) -> int:
    """Count the phrases of Lempel-Ziv 1978 parsing with a hash table of (phrase, next symbol) pairs."""
    n = x.shape[0]
    size = 4
    while size < 2 * n + 2:
        size *= 2
    keys = np.full(size, -1, np.int64)
    child = np.zeros(size, np.int64)
    phrases = 0
    node = 0
    for i in range(n):
        key = node * alphabet + x[i]
        slot = find_slot(keys, key)
        if keys[slot] == key:
            node = child[slot]
        else:
            phrases += 1
            keys[slot] = key
            child[slot] = phrases
            node = 0
    return phrases + (node != 0)
