"""Membership queries about a stream: exactly half positive, every negative checked to be absent.

Two laws of negatives. `uniform` is the paper's (ECCBench, A.1): a negative is a uniform string, redrawn while it occurs
in the stream. Such negatives can be told apart by a memory that keeps only which symbols, or which pairs of symbols,
have occurred. `matched` is an extension that closes this shortcut: a negative is made of the stream's own pairs and
resembles a positive of the same length.

In both, a candidate's length is drawn before anything else and kept when a negative is rejected, so that length says
nothing about the answer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memgauge.errors import InputError, unknown_name
from memgauge.seeding import word
from memgauge.streams._kernels import below, draw, kernel, start
from memgauge.streams._membership import code_at, fill_codes, listed_absent, occurs, smallest_size, spell
from memgauge.streams.item import ALPHABET, MIN_LENGTH, SIZES, Negatives, StreamQuery, frozen
from memgauge.streams.matched import fill_matched_queries

LARGEST = SIZES[-1]
UNIFORM_TRIES = 1000
"""Uniform negatives rejected before the absent strings are listed and one of them is drawn."""


class QueryArrays(NamedTuple):
    """The queries of one stream as arrays."""

    candidates: NDArray[np.uint8]
    """Shape [queries, 6]; symbols beyond a candidate's length are 0."""
    lengths: NDArray[np.uint8]
    """Shape [queries]."""
    gold: NDArray[np.bool_]
    """Shape [queries]."""


def age(symbols: NDArray[np.uint8], candidate: NDArray[np.uint8]) -> int | None:
    """Return how long before the end of the stream the candidate last ended, or None where it does not occur.

    >>> age(np.array([1, 2, 3, 1, 2, 3, 9], np.uint8), np.array([1, 2, 3], np.uint8))
    1
    """
    at = symbols.tobytes().rfind(candidate.tobytes())
    return None if at < 0 else len(symbols) - (at + len(candidate))


def positives_of(queries: int, index: int) -> int:
    """Return how many of a stream's queries are positive: half; of an odd number the larger half where `index` is even.

    >>> positives_of(16, 3), positives_of(15, 0), positives_of(15, 1)
    (8, 8, 7)
    """
    return (queries + 1 - index % 2) // 2


def draw_queries(
    symbols: ArrayLike,
    queries: int,
    *,
    seed: int,
    index: int = 0,
    negatives: Negatives = "uniform",
    family: str = "own",
) -> QueryArrays:
    """Draw the queries of one stream, which may be your own.

    Parameters
    ----------
    symbols : integers in 0..15, shape [L], L >= 6.
    queries : how many; the order of positives and negatives is random.
    seed, family, index : the queries are a function of these, of `negatives` and of the stream.
    negatives : `uniform` or `matched`.

    A positive of `uniform` is copied from a uniform position of the stream, with replacement; a positive of `matched`
    is uniform over the distinct strings of its length, since a memory that answers exactly need not know how often each
    occurs. How a matched negative is drawn is said in `memgauge.streams.matched`.

    In streams of more than 4,097 symbols all 4,096 strings of three symbols may occur; lengths of which no absent
    string is left are then not asked about, neither as positives nor as negatives.

    Raises `InputError` for a stream that is too short, holds other symbols, or contains every string of six symbols,
    and for arguments out of range.
    """
    if negatives not in get_args(Negatives):
        raise unknown_name("kind of negatives", negatives, get_args(Negatives))
    if min(queries, seed, index) < 0:
        raise InputError(f"queries, seed and index must not be negative; got {queries}, {seed}, {index}")
    stream = np.ascontiguousarray(symbols)
    if stream.ndim != 1 or stream.shape[0] < MIN_LENGTH:
        raise InputError(f"queries need a stream of at least {MIN_LENGTH} symbols; got shape {stream.shape}")
    if stream.dtype.kind not in "iu" or stream.min() < 0 or stream.max() >= ALPHABET:
        raise InputError(f"queries need a stream of integers from 0 to {ALPHABET - 1}")
    stream = stream.astype(np.uint8)
    state = start(query_key(seed, family, len(stream), negatives), index)
    arrays = empty_queries(queries)
    positives = positives_of(queries, index)
    codes, trigrams = np.empty(len(stream), np.uint32), np.empty(4096, np.bool_)
    fill_codes(stream, codes, trigrams)
    smallest = smallest_size(codes)
    if smallest > LARGEST:
        raise saturated(len(stream))
    if negatives == "uniform":
        fill_uniform_queries(codes, trigrams, smallest, positives, state, *arrays)
    else:
        fill_matched_queries(stream, codes, smallest, positives, state, *arrays)
    return arrays


def to_queries(symbols: NDArray[np.uint8], arrays: QueryArrays, negatives: str) -> tuple[StreamQuery, ...]:
    """Return the queries as values, with ids and ages."""
    text = symbols.tobytes()
    found = []
    for number, (size, gold) in enumerate(zip(arrays.lengths.tolist(), arrays.gold.tolist(), strict=True)):
        candidate = frozen(arrays.candidates[number, :size].copy())
        when = len(text) - size - text.rfind(candidate.tobytes()) if gold else None
        found.append(StreamQuery(f"q{number:02d}", candidate, gold, when, negatives))
    return tuple(found)


@lru_cache(1024)
def query_key(seed: int, family: str, length: int, negatives: str) -> np.uint64:
    """Return the key of the family of queries about the streams of one band and length."""
    return np.uint64(word(seed, "queries", negatives, family, length))


def empty_queries(queries: int) -> QueryArrays:
    """Return arrays to be filled."""
    return QueryArrays(np.zeros((queries, LARGEST), np.uint8), np.zeros(queries, np.uint8), np.zeros(queries, np.bool_))


def saturated(length: int) -> InputError:
    """Build the error for a stream without any negative."""
    return InputError(
        f"the stream of {length:,} symbols contains every string of {LARGEST} symbols: no negative exists"
    )


@kernel
def _uniform_absent(
    codes: NDArray[np.uint32], trigrams: NDArray[np.bool_], size: int, state: NDArray[np.uint64]
) -> int:
    """Draw a uniform absent string: by rejection, which is given up for a list where almost all strings occur."""
    for _ in range(UNIFORM_TRIES):
        code = int(np.int64(draw(state) >> np.uint64(64 - 4 * size)))
        if not occurs(codes, trigrams, code, size):
            return code
    return listed_absent(codes, size, state)


@kernel
def fill_uniform_queries(
    codes: NDArray[np.uint32],
    trigrams: NDArray[np.bool_],
    smallest: int,
    positives: int,
    state: NDArray[np.uint64],
    candidates: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
    gold: NDArray[np.bool_],
) -> None:
    """Fill in the paper's queries; each arrangement of the positives is equally likely (selection sampling)."""
    queries = lengths.shape[0]
    for q in range(queries):
        positive = below(state, queries - q) < positives
        positives -= int(positive)
        size = smallest + below(state, 7 - smallest)
        if positive:
            code = code_at(codes, below(state, codes.shape[0] - size + 1), size)
        else:
            code = _uniform_absent(codes, trigrams, size, state)
        gold[q] = positive
        lengths[q] = size
        spell(code, size, candidates[q])
