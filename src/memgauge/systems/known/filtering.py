"""Memories that keep a set of the stream's g-grams, exactly or in a Bloom filter.

A candidate one of whose g-grams is not in the set did not occur. One that passes may still be absent: the answer is
yes, with confidence 1/(1 + FP) where FP is the probability that an absent candidate passes (`memgauge.streams.theory`).
A candidate shorter than every stored gram cannot be refuted: it always passes.

Arithmetic: a write costs `hashes` FLOPs for each g-gram it completes, a read `hashes` for each g-gram it tests, and it
tests them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import Observation, Question
from memgauge.streams import theory
from memgauge.streams.theory import Expected
from memgauge.streams.words import CANDIDATE_LENGTHS
from memgauge.system import Answer, BatchAnswers, SymbolBatch, WriteCost
from memgauge.systems.known.common import (
    BoolArray,
    FloatArray,
    IntArray,
    Known,
    WordArray,
    below,
    checked_batch,
    checked_candidate,
    checked_symbols,
    gram_codes,
    random_words,
    to_answer,
    to_answers,
)

CHUNK = 2**18
"""About how many array elements the batched path works on at a time, so that they stay in the cache."""


class FilteringSystem(Known, ABC):
    """A system whose memories filter."""

    @property
    @abstractmethod
    def stored(self) -> tuple[int, ...]:
        """The lengths of the g-grams in the set, ascending."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """The size of the state in bits."""

    @property
    def hashes(self) -> int:
        """How many cells a gram sets; 1 where the gram's own code is its cell."""
        return 1

    def cell(self, codes: WordArray, g: int, hash_number: int) -> IntArray:
        """Return the cell of each g-gram: its code, unless the system hashes."""
        return codes.astype(np.int64)

    def hashed_cell(self, codes: WordArray, g: int, hash_number: int) -> IntArray:
        """Return the cell of each g-gram under a hash function that depends on nothing else."""
        return below(random_words(codes, (g << 32) + hash_number), self.cells)

    @abstractmethod
    def alarm(self, k: int, seen: int) -> float:
        """Return, for confidences, the probability that an absent candidate passes after `seen` symbols; any k."""

    @abstractmethod
    def alarms(self, length: int) -> FloatArray:
        """Return that probability as exactly as it is known, for k = 3..6: [4]."""

    def tested(self, k: int) -> int:
        """Return the g-grams that a candidate of k symbols is tested by: the longest that it holds; 0 for none."""
        return max((g for g in self.stored if g <= k), default=0)

    def read_flops(self, k: int) -> int:
        """Return the arithmetic of one read."""
        g = self.tested(k)
        return self.hashes * (k - g + 1) if g else 0

    def start(self, seed: int) -> FilterMemory:
        """Return an empty memory; the hash functions are fixed, so the seed is not used."""
        return FilterMemory(self)

    def read_batch(self, batch: SymbolBatch) -> BatchAnswers:
        """Write each stream and answer its questions: as the memories do, one by one."""
        checked_batch(batch)
        episodes, length = batch.symbols.shape
        size = max(1, CHUNK // max(self.cells, length, 1))
        passed = np.ones(batch.candidate_lengths.shape, bool)
        for first in range(0, episodes, size):
            part = slice(first, first + size)
            self._fill_passed(batch.symbols[part], batch.candidates[part], batch.candidate_lengths[part], passed[part])
        width = batch.candidates.shape[2]
        believed = np.array([_passed(self, k, length) for k in range(width + 1)])
        reading = np.array([self.read_flops(k) for k in range(width + 1)], np.int64)
        writing = self.hashes * sum(max(length - g + 1, 0) for g in self.stored)
        lengths = batch.candidate_lengths
        return to_answers(
            passed,
            np.where(passed, believed[lengths], 1.0),
            np.full(episodes, writing, np.int64),
            reading[lengths],
            np.full(episodes, self.cells, np.int64),
            batch.payoff,
        )

    def _fill_passed(
        self, symbols: NDArray[np.uint8], candidates: NDArray[np.uint8], lengths: IntArray, passed: BoolArray
    ) -> None:
        """Mark in `passed` [e, Q] the candidates [e, Q, K] that a g-gram refutes."""
        members = np.zeros(len(symbols) * self.cells, bool)
        base = np.arange(len(symbols), dtype=np.int64)[:, None] * self.cells
        for g in self.stored:
            codes = gram_codes(symbols, g)
            for number in range(self.hashes):
                members[self.cell(codes, g, number) + base] = True
        tested = np.array([self.tested(k) for k in range(candidates.shape[2] + 1)])[lengths]
        for g in self.stored:
            codes = gram_codes(candidates, g)
            for place in range(codes.shape[2]):
                there = (tested == g) & (place + g <= lengths)
                for number in range(self.hashes):
                    passed &= members[self.cell(codes[:, :, place], g, number) + base] | ~there

    def _accuracy(self, length: int) -> Expected:
        return Expected(theory.filtering_accuracy(self.alarms(length)), exact=False, note=self._note)

    @property
    @abstractmethod
    def _note(self) -> str:
        """What the closed form leaves out."""

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        believed = np.array([_passed(self, k, length) for k in CANDIDATE_LENGTHS])
        return theory.filtering_selective(self.alarms(length), believed, tau)


@lru_cache(maxsize=65536)
def _passed(system: FilteringSystem, k: int, seen: int) -> float:
    return theory.confidence_when_passed(system.alarm(k, seen))


class FilterMemory:
    """The set of one episode, and the symbols that the next gram begins with."""

    def __init__(self, system: FilteringSystem) -> None:
        self.system = system
        self.seen = 0
        """Symbols written so far. It serves confidences alone and is not counted as state."""
        self._members = np.zeros(system.cells, bool)
        self._tail = np.empty(0, np.uint8)
        self._flops = 0

    def write(self, observation: Observation) -> None:
        """Fold a block of symbols, of any size, into the set."""
        symbols = checked_symbols(observation.symbols)
        known = len(self._tail)
        joined = np.concatenate([self._tail, symbols])
        for g in self.system.stored:
            codes = gram_codes(joined[max(known - g + 1, 0) :], g)
            for number in range(self.system.hashes):
                self._members[self.system.cell(codes, g, number)] = True
            self._flops += self.system.hashes * len(codes)
        self._tail = joined[max(len(joined) - self.system.stored[-1] + 1, 0) :].copy()
        self.seen += len(symbols)

    def read(self, question: Question) -> Answer:
        """Say whether the candidate passes."""
        candidate = checked_candidate(question)
        k, system = len(candidate), self.system
        g = system.tested(k)
        passed = True
        if g:
            codes = gram_codes(candidate, g)
            passed = all(bool(self._members[system.cell(codes, g, n)].all()) for n in range(system.hashes))
        confidence = _passed(system, k, self.seen) if passed else 1.0
        return to_answer(passed, confidence, system.read_flops(k), question.payoff)

    def cost(self) -> WriteCost:
        """Return `hashes` FLOPs for each gram, and the size of the set."""
        return WriteCost(self._flops, self.system.cells)
