"""Memories that hold symbols of the stream and look for the candidate among them.

What is found did occur. What is not found may have occurred outside: the answer is no, with confidence 1/(2 - f) where
f is the probability that a positive would have been found (`memgauge.streams.theory`).

Arithmetic of a read: k comparisons for each place where a candidate of k symbols is laid against what is held; there is
no early exit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import Observation, Question
from memgauge.streams import theory
from memgauge.streams.words import CANDIDATE_LENGTHS
from memgauge.system import Answer, BatchAnswers, SymbolBatch, WriteCost
from memgauge.systems.known.common import (
    BoolArray,
    FloatArray,
    IntArray,
    Known,
    checked_batch,
    checked_candidate,
    checked_symbols,
    to_answer,
    to_answers,
)

SEPARATOR = b"\xff"
"""Between pieces that are not neighbours: no symbol, so no candidate matches across it."""


class Held(NamedTuple):
    """What the memories of a batch hold at the end."""

    rows: Sequence[bytes]
    """For each episode, what is searched."""
    symbols: IntArray
    """[E]: how many symbols that is, separators not counted."""
    flops_write: IntArray
    """[E]."""
    state_bits: IntArray
    """[E]."""


class HoldingSystem(Known, ABC):
    """A system whose memories hold symbols."""

    @abstractmethod
    def start(self, seed: int) -> HoldingMemory:
        """Return an empty memory."""

    @abstractmethod
    def hold(self, batch: SymbolBatch) -> Held:
        """Write every stream of the batch."""

    def recall(self, k: int, seen: int, held: int) -> float:
        """Return the probability that a positive of k symbols is found, of `seen` symbols `held` being held."""
        return theory.independent_recall(k, seen, held)

    def places(self, k: int, held: int) -> int:
        """Return at how many places a candidate of k symbols is laid."""
        return max(held - k + 1, 0)

    def read_batch(self, batch: SymbolBatch) -> BatchAnswers:
        """Write each stream and answer its questions: as the memories do, one by one."""
        rows, symbols, flops_write, state_bits = self.hold(checked_batch(batch))
        found = search(rows, batch)
        lengths, seen = batch.candidate_lengths, batch.symbols.shape[1]
        # Confidence and cost depend only on how much is held and on k: one evaluation for each pair.
        width = batch.candidates.shape[2] + 1
        pairs, where = np.unique(symbols[:, None] * width + lengths, return_inverse=True)
        where = where.reshape(lengths.shape)
        if not pairs.size:
            return to_answers(found, found.astype(float), flops_write, lengths.copy(), state_bits, batch.payoff)
        split = [divmod(pair, width) for pair in pairs.tolist()]
        missed = np.array([_missed(self, k, seen, held) for held, k in split])
        cost = np.array([self.read_flops(k, held) for held, k in split], np.int64)
        confidence = np.where(found, 1.0, missed[where])
        return to_answers(found, confidence, flops_write, cost[where], state_bits, batch.payoff)

    def doubts(self, length: int, held: int) -> FloatArray:
        """Return the confidence when nothing is found, k = 3..6, after `length` symbols: [4]."""
        return np.array([_missed(self, k, length, held) for k in CANDIDATE_LENGTHS])

    def read_flops(self, k: int, held: int) -> int:
        """Return the arithmetic of one read."""
        return k * self.places(k, held)


@lru_cache(maxsize=65536)
def _missed(system: HoldingSystem, k: int, seen: int, held: int) -> float:
    return theory.confidence_when_missed(system.recall(k, seen, held))


class HoldingMemory(ABC):
    """The memory of one episode."""

    def __init__(self, system: HoldingSystem) -> None:
        self.system = system
        self.seen = 0
        """Symbols written so far. It serves confidences alone and is not counted as state."""

    def write(self, observation: Observation) -> None:
        """Fold a block of symbols, of any size, into the state."""
        symbols = checked_symbols(observation.symbols)
        self.take(symbols.tobytes())
        self.seen += len(symbols)

    @abstractmethod
    def take(self, symbols: bytes) -> None:
        """Fold symbols into the state; `seen` is still what it was before them."""

    @abstractmethod
    def held(self) -> tuple[bytes, int]:
        """Return what is searched, and how many symbols that is."""

    @abstractmethod
    def cost(self) -> WriteCost:
        """Return the arithmetic of the writes, and the state's size."""

    def read(self, question: Question) -> Answer:
        """Say whether the candidate occurred."""
        candidate = checked_candidate(question)
        k = len(candidate)
        row, held = self.held()
        found = candidate.tobytes() in row
        confidence = 1.0 if found else _missed(self.system, k, self.seen, held)
        return to_answer(found, confidence, self.system.read_flops(k, held), question.payoff)


def search(rows: Sequence[bytes], batch: SymbolBatch) -> BoolArray:
    """Say which candidates occur in their episode's row: [E, Q]."""
    episodes, questions, width = batch.candidates.shape
    data = batch.candidates.tobytes()
    found = []
    at = 0
    for row, lengths in zip(rows, batch.candidate_lengths.tolist(), strict=True):
        for k in lengths:
            found.append(data[at : at + k] in row)
            at += width
    return np.array(found, bool).reshape(episodes, questions)


def byte_rows(symbols: NDArray[np.uint8]) -> list[bytes]:
    """Return the rows of [E, n] as bytes."""
    episodes, width = symbols.shape
    data = symbols.tobytes()
    return [data[e * width : (e + 1) * width] for e in range(episodes)]
