"""Matched negatives (an extension): false candidates that a memory of symbols or of pairs cannot tell from true ones.

Each negative is paired with a positive of the same length. It is drawn from the stream's own Markov chain, so that all
its pairs occur in the stream (all its trigrams, from four symbols on), and of several such strings that do not occur
the one whose probability under the stream's pair counts is nearest to the positive's is kept. Where the chain of order
2 has no absent string, one of order 1 is taken, then one of the stream's own symbols, then a uniform one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from memgauge.streams._kernels import below, draw, kernel
from memgauge.streams._membership import listed_absent, spell
from memgauge.streams.item import ALPHABET, SIZES

DRAWS = 48
"""Absent strings drawn for a negative, of which the one nearest to the positive is kept."""
TRIES = 8 * DRAWS
"""Strings drawn in the search for those, at each level of the fallback."""
_DEAD_END = -1


def fill_matched_queries(
    symbols: NDArray[np.uint8],
    codes: NDArray[np.uint32],
    smallest: int,
    positives: int,
    state: NDArray[np.uint64],
    candidates: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
    gold: NDArray[np.bool_],
) -> None:
    """Fill in matched queries: pairs of a positive and a negative of one length, then shuffled."""
    n = len(symbols)
    distinct = [np.unique(codes[: n - size + 1] >> np.uint32(4 * (6 - size))) for size in SIZES]
    _fill_pairs(
        symbols,
        np.concatenate(distinct),
        np.cumsum([0, *(len(strings) for strings in distinct)]),
        *_followers(symbols),
        *_log_probabilities(symbols),
        smallest,
        positives,
        state,
        candidates,
        lengths,
        gold,
    )
    for q in np.flatnonzero(lengths == 0):  # no other law gave an absent string
        lengths[q] = candidates[q, 0]
        spell(listed_absent(codes, int(lengths[q]), state), int(lengths[q]), candidates[q])


def _followers(symbols: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the symbols that follow each symbol and each pair, one after another, and where each group begins.

    Groups 0 to 15 follow one symbol and groups 16 to 271 follow a pair; to draw one member of a group is one step of
    the stream's own chain of order 1 or 2.
    """
    pair = symbols[:-1].astype(np.int64) * ALPHABET + symbols[1:]
    context = np.concatenate([symbols[:-1], ALPHABET + pair[:-1]])
    after = np.concatenate([symbols[1:], symbols[2:]])
    sizes = np.bincount(context, minlength=ALPHABET + ALPHABET**2)
    return after[np.argsort(context, kind="stable")], np.concatenate([[0], np.cumsum(sizes)])


def _log_probabilities(symbols: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log2 of the smoothed symbol and pair probabilities of a stream, shapes [16] and [16, 16]."""
    counts = np.bincount(symbols, minlength=ALPHABET) + 0.5
    pairs = np.full((ALPHABET, ALPHABET), 1 / ALPHABET)
    np.add.at(pairs, (symbols[:-1], symbols[1:]), 1)
    return np.log2(counts / counts.sum()), np.log2(pairs / pairs.sum(axis=1, keepdims=True))


@kernel
def _log_probability(code: int, size: int, first: NDArray[np.float64], pair: NDArray[np.float64]) -> float:
    before = code >> 4 * (size - 1)
    total = first[before]
    for j in range(1, size):
        symbol = code >> 4 * (size - 1 - j) & 15
        total += pair[before, symbol]
        before = symbol
    return float(total)


@kernel
def _holds(strings: NDArray[np.uint32], code: int) -> bool:
    """Say whether a sorted array holds a packed string."""
    low, high = 0, strings.shape[0]
    while low < high:
        middle = (low + high) // 2
        if np.int64(strings[middle]) < code:
            low = middle + 1
        else:
            high = middle
    return bool(low < strings.shape[0] and np.int64(strings[low]) == code)


@kernel
def _propose(
    level: int,
    size: int,
    symbols: NDArray[np.uint8],
    followers: NDArray[np.uint8],
    groups: NDArray[np.int64],
    state: NDArray[np.uint64],
) -> int:
    """Draw a packed string: from the chain of order 2 (level 0) or 1 (1), of own symbols (2), or uniform (3)."""
    if level == 3:
        return int(np.int64(draw(state) >> np.uint64(64 - 4 * size)))
    order = 2 - level
    n = symbols.shape[0]
    at = below(state, n - max(order, 1) + 1)
    code = np.int64(symbols[at])
    for j in range(1, size):
        if order == 0:
            symbol = symbols[below(state, n)]
        elif j < order:
            symbol = symbols[at + j]
        else:
            group = code & 15 if order == 1 else 16 + (code & 255)
            choices = groups[group + 1] - groups[group]
            if choices == 0:  # the stream ends in it, and it occurs nowhere else
                return _DEAD_END
            symbol = followers[groups[group] + below(state, choices)]
        code = code << 4 | np.int64(symbol)
    return int(code)


@kernel
def _fill_pairs(
    symbols: NDArray[np.uint8],
    distinct: NDArray[np.uint32],
    bounds: NDArray[np.int64],
    followers: NDArray[np.uint8],
    groups: NDArray[np.int64],
    first: NDArray[np.float64],
    pair: NDArray[np.float64],
    smallest: int,
    positives: int,
    state: NDArray[np.uint64],
    candidates: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
    gold: NDArray[np.bool_],
) -> None:
    """Draw the pairs, put the positives first and the negatives after them, and shuffle.

    A negative that no level yields is left with length 0 and its size in place of its first symbol.
    """
    queries = lengths.shape[0]
    for number in range(max(positives, queries - positives)):
        size = smallest + below(state, 7 - smallest)
        strings = distinct[bounds[size - 3] : bounds[size - 2]]
        positive = int(np.int64(strings[below(state, strings.shape[0])]))
        target = _log_probability(positive, size, first, pair)
        if number < positives:
            gold[number] = True
            lengths[number] = size
            spell(positive, size, candidates[number])
        if number >= queries - positives:
            continue
        negative = 0
        accepted = 0
        for level in range(1 if size == 3 else 0, 4):  # a chain of order 2 gives three symbols that occur
            nearest = math.inf
            for _ in range(TRIES):
                code = _propose(level, size, symbols, followers, groups, state)
                if code == _DEAD_END or _holds(strings, code):
                    continue
                accepted += 1
                distance = abs(_log_probability(code, size, first, pair) - target)
                if distance < nearest:
                    nearest = distance
                    negative = code
                if accepted == DRAWS:
                    break
            if accepted > 0:
                break
        if accepted > 0:
            lengths[positives + number] = size
            spell(negative, size, candidates[positives + number])
        else:
            candidates[positives + number, 0] = size
    for i in range(queries - 1, 0, -1):
        j = below(state, i + 1)
        gold[i], gold[j] = gold[j], gold[i]
        lengths[i], lengths[j] = lengths[j], lengths[i]
        for s in range(6):
            candidates[i, s], candidates[j, s] = candidates[j, s], candidates[i, s]
