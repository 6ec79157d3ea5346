"""Bloom filters of the stream's grams (Bloom, 1970)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from memgauge.streams import theory
from memgauge.streams.theory import MIN_LENGTH, TRIGRAMS
from memgauge.streams.words import CANDIDATE_LENGTHS, distinct, independent_distinct
from memgauge.systems.known.common import MAX_BITS, FloatArray, IntArray, WordArray, check_range
from memgauge.systems.known.filtering import FilteringSystem

MAX_DESIGN = 2**31


@dataclass(frozen=True)
class Bloom(FilteringSystem):
    """A Bloom filter of all k-grams, k = 3..6. State: `bits`.

    A memory is never told how long its stream will be, so the number of hash functions comes from `design_length`: the
    best for the grams of a max-entropy stream of that length. A longer candidate is tested by its 6-grams.
    """

    kind: ClassVar[str] = "bloom"
    description: ClassVar[str] = "a Bloom filter of all 3- to 6-grams"

    bits: int = field(metadata={"help": "size of the filter"})
    design_length: int = field(default=1024, metadata={"help": "stream length that the hash functions are chosen for"})

    def __post_init__(self) -> None:
        check_range("bits", self.bits, 8, MAX_BITS)
        check_range("design_length", self.design_length, MIN_LENGTH, MAX_DESIGN)

    @property
    def stored(self) -> tuple[int, ...]:
        """All candidate lengths."""
        return CANDIDATE_LENGTHS

    @property
    def cells(self) -> int:
        """The size of the filter."""
        return self.bits

    @property
    def hashes(self) -> int:
        """The number of hash functions."""
        return theory.bloom_hashes(self.bits, _grams(self.design_length))

    def cell(self, codes: WordArray, g: int, hash_number: int) -> IntArray:
        """Return the hashed cell."""
        return self.hashed_cell(codes, g, hash_number)

    def alarm(self, k: int, seen: int) -> float:
        """Return the false-positive rate; for k > 6 that of all its 6-grams together."""
        rate = theory.bloom_rate(self.bits, self.hashes, _grams(seen))
        return theory.independent_false_alarm(k, self.tested(k) or CANDIDATE_LENGTHS[0], seen, rate)

    def alarms(self, length: int) -> FloatArray:
        """Return the false-positive rate, the same for each k."""
        rate = theory.bloom_rate(self.bits, self.hashes, sum(distinct(k, length) for k in CANDIDATE_LENGTHS))
        return np.full(len(CANDIDATE_LENGTHS), rate)

    @property
    def _note(self) -> str:
        return "every stream's filter is taken to be filled as expected"


@dataclass(frozen=True)
class TrigramBloom(FilteringSystem):
    """A Bloom filter of the trigrams; from 4,096 bits on an exact bitmap of them. State: `bits`, at most 4,096.

    A longer candidate passes if all its trigrams do. The number of hash functions comes from `design_length`, as for
    `Bloom`.
    """

    kind: ClassVar[str] = "trigram-bloom"
    description: ClassVar[str] = "a Bloom filter of the trigrams; an exact bitmap from 4,096 bits on"

    bits: int = field(metadata={"help": "size of the filter; at most 4,096 are used"})
    design_length: int = field(default=1024, metadata={"help": "stream length that the hash functions are chosen for"})

    def __post_init__(self) -> None:
        check_range("bits", self.bits, 8, MAX_BITS)
        check_range("design_length", self.design_length, MIN_LENGTH, MAX_DESIGN)

    @property
    def stored(self) -> tuple[int, ...]:
        """Trigrams."""
        return (3,)

    @property
    def cells(self) -> int:
        """The size of the filter or of the bitmap."""
        return min(self.bits, TRIGRAMS)

    @property
    def hashes(self) -> int:
        """The number of hash functions; 1 for the bitmap."""
        if self.bits >= TRIGRAMS:
            return 1
        return theory.bloom_hashes(self.bits, _trigrams(self.design_length))

    def cell(self, codes: WordArray, g: int, hash_number: int) -> IntArray:
        """Return the hashed cell, or the trigram's own in the bitmap."""
        return self.hashed_cell(codes, g, hash_number) if self.bits < TRIGRAMS else codes.astype(np.int64)

    def alarm(self, k: int, seen: int) -> float:
        """Return the false-alarm rate of all its trigrams together, taken as independent."""
        return theory.independent_false_alarm(k, 3, seen, self._rate(_trigrams(seen)))

    def alarms(self, length: int) -> FloatArray:
        """Return the false-alarm rates, a trigram's neighbours taken into account."""
        return theory.false_alarms(3, length, self._rate(distinct(3, length)))

    def _rate(self, grams: float) -> float:
        return theory.bloom_rate(self.bits, self.hashes, grams) if self.bits < TRIGRAMS else 0.0

    @property
    def _note(self) -> str:
        return "contexts of a candidate are taken as different, and every filter as filled as expected"


@lru_cache(maxsize=1024)
def _trigrams(length: int) -> float:
    return independent_distinct(3, length)


@lru_cache(maxsize=1024)
def _grams(length: int) -> float:
    return sum(independent_distinct(k, length) for k in CANDIDATE_LENGTHS)
