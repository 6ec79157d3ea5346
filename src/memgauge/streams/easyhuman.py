"""EasyHuman streams (ECCBench, A.2): a short pattern repeats, one or two deviations break it, queries ask for those.

Two structures. `repeating`: a uniform motif of 3 to 5 symbols fills the stream, and deviations have its length.
`counting`: the motif counts up or down by one between two integers, and deviations have 3 to 5 symbols of their own.

What the paper leaves open: deviations replace symbols of the stream (its length and the pattern's phase stay as they
are) at uniform places that do not overlap; each is uniform among the strings that do not occur in the pattern, and
occurs exactly once in the finished stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.seeding import generator
from memgauge.streams.item import ALPHABET, frozen
from memgauge.streams.queries import QueryArrays, empty_queries, positives_of

Structure = Literal["repeating", "counting"]
MIN_LENGTH = 32
"""Two deviations of five symbols still leave the pattern visible."""
MOTIF_LENGTHS = (3, 5)
MAX_TRIES = 10_000
"""Draws for one part of a stream before an error."""


@dataclass(frozen=True, slots=True, eq=False)
class EasyHumanStream:
    """An EasyHuman stream with what it is made of."""

    symbols: NDArray[np.uint8]
    """Shape [L]."""
    structure: Structure
    motif: tuple[int, ...]
    deviations: tuple[tuple[int, ...], ...]
    """One or two."""
    places: tuple[int, ...]
    """The 0-based position at which each deviation begins."""


def structure_of(index: int) -> Structure:
    """Return the structure of stream `index`: even ones repeat a pattern, odd ones count."""
    return "counting" if index % 2 else "repeating"


def easyhuman_stream(seed: int, length: int, index: int) -> EasyHumanStream:
    """Return EasyHuman stream `index`, a function of (seed, length, index).

    >>> stream = easyhuman_stream(seed=0, length=256, index=1)
    >>> stream.structure, stream.symbols.shape, len(stream.motif) in (3, 4, 5), len(stream.deviations) in (1, 2)
    ('counting', (256,), True, True)

    Raises `InputError` for fewer than 32 symbols.
    """
    if length < MIN_LENGTH:
        raise InputError(f"an EasyHuman stream needs at least {MIN_LENGTH} symbols; got length {length}")
    rng = generator(seed, "streams", "easyhuman", length, index)
    structure = structure_of(index)
    size = int(rng.integers(MOTIF_LENGTHS[0], MOTIF_LENGTHS[1] + 1))
    if structure == "repeating":
        motif = rng.integers(ALPHABET, size=size)
    else:
        low = int(rng.integers(ALPHABET - size + 1))
        motif = np.arange(low, low + size)[:: 1 if rng.random() < 0.5 else -1]
    base = np.resize(motif, length).astype(np.uint8)
    number = int(rng.integers(1, 3))
    if structure == "repeating":
        sizes = [size] * number
    else:
        sizes = rng.integers(MOTIF_LENGTHS[0], MOTIF_LENGTHS[1] + 1, size=number).tolist()
    for _ in range(MAX_TRIES):
        deviations = [rng.integers(ALPHABET, size=k).astype(np.uint8) for k in sizes]
        places = [int(rng.integers(length - k + 1)) for k in sizes]
        if number == 2 and places[0] < places[1] + sizes[1] and places[1] < places[0] + sizes[0]:
            continue
        symbols = base.copy()
        for place, deviation in zip(places, deviations, strict=True):
            symbols[place : place + len(deviation)] = deviation
        if all(_count(base, d) == 0 and _count(symbols, d) == 1 for d in deviations):
            spelt = tuple(tuple(d.tolist()) for d in deviations)
            return EasyHumanStream(frozen(symbols), structure, tuple(motif.tolist()), spelt, tuple(places))
    raise InputError(f"no deviation fitted EasyHuman stream {index} of length {length} within {MAX_TRIES:,} tries")


def easyhuman_queries(stream: EasyHumanStream, queries: int, *, seed: int, index: int) -> QueryArrays:
    """Draw the queries of one EasyHuman stream.

    Positives are drawn with replacement from the deviations. A negative is a deviation with one symbol changed, both
    uniform, redrawn while it occurs in the stream; the deviation is drawn once and kept, so that a candidate's length
    says nothing about the answer. The order is random.
    """
    length = len(stream.symbols)
    rng = generator(seed, "queries", "corruption", "easyhuman", length, index)
    arrays = empty_queries(queries)
    arrays.gold[: positives_of(queries, index)] = True
    rng.shuffle(arrays.gold)
    for q, positive in enumerate(arrays.gold):
        deviation = np.array(stream.deviations[int(rng.integers(len(stream.deviations)))], np.uint8)
        candidate = deviation if positive else _corruption(rng, stream.symbols, deviation)
        arrays.candidates[q, : len(candidate)] = candidate
        arrays.lengths[q] = len(candidate)
    return arrays


def _corruption(
    rng: np.random.Generator, symbols: NDArray[np.uint8], deviation: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Return an absent string that differs from the deviation in one symbol."""
    for _ in range(MAX_TRIES):
        candidate = deviation.copy()
        at = int(rng.integers(len(deviation)))
        candidate[at] = (int(candidate[at]) + int(rng.integers(1, ALPHABET))) % ALPHABET
        if _count(symbols, candidate) == 0:
            return candidate
    raise InputError(f"every string that differs from {deviation.tolist()} in one symbol occurs in the stream")


def _count(symbols: NDArray[np.uint8], candidate: NDArray[np.uint8]) -> int:
    """Count the occurrences of a string, overlapping ones included."""
    windows = np.lib.stride_tricks.sliding_window_view(symbols, len(candidate))
    return int(np.count_nonzero((windows == candidate).all(axis=1)))
