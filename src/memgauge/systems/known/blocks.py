"""A reservoir of random blocks: what a uniform sample of the stream remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from memgauge.streams import theory
from memgauge.streams.theory import Expected
from memgauge.streams.words import CANDIDATE_LENGTHS
from memgauge.system import SymbolBatch, WriteCost
from memgauge.systems.known.common import (
    MAX_BITS,
    SYMBOL_BITS,
    IntArray,
    WordArray,
    below,
    check_range,
    random_words,
    seed_words,
)
from memgauge.systems.known.holding import SEPARATOR, Held, HoldingMemory, HoldingSystem, byte_rows


@dataclass(frozen=True)
class Blocks(HoldingSystem):
    """Keeps a uniform sample of the stream's disjoint blocks (reservoir sampling, algorithm R). State: `bits`.

    Block j (from 0) takes place j while places are free; then a number is drawn from 0 .. j, and the block takes that
    place if there is one. The draw of block j depends on the episode's seed and on j alone. It is made when the block
    begins, so its symbols go straight into their place; the last block may be short.

    A write costs 1 FLOP for each symbol stored and 1 for each draw.
    """

    kind: ClassVar[str] = "blocks"
    description: ClassVar[str] = "keeps a uniform sample of the stream's blocks (a reservoir)"

    bits: int = field(metadata={"help": "state in bits, 4 a symbol"})
    block: int = field(default=6, metadata={"help": "symbols a block"})

    def __post_init__(self) -> None:
        check_range("block", self.block, 1, MAX_BITS // SYMBOL_BITS)
        check_range("bits", self.bits, SYMBOL_BITS * self.block, MAX_BITS, f"one block takes {4 * self.block}")

    @property
    def capacity(self) -> int:
        """How many blocks fit."""
        return self.bits // (SYMBOL_BITS * self.block)

    def start(self, seed: int) -> BlocksMemory:
        """Return an empty memory that draws from `seed`."""
        return BlocksMemory(self, seed)

    def draw(self, seeds: WordArray, first: int, count: int) -> IntArray:
        """Return the places of blocks first .. first+count-1 for each seed: [E, count]; `capacity` or more is none."""
        blocks = np.arange(first, first + count, dtype=np.uint64)
        drawn = below(random_words(seeds[:, None], blocks), blocks + np.uint64(1))
        return np.where(blocks < self.capacity, blocks.astype(np.int64), drawn)

    def hold(self, batch: SymbolBatch) -> Held:
        """Sample the blocks of every stream."""
        episodes, length = batch.symbols.shape
        count = -(-length // self.block)
        places = min(self.capacity, count)
        place = self.draw(batch.episode_seeds, 0, count)
        sizes = np.full(count, self.block, np.int64)
        if count:
            sizes[-1] = length - (count - 1) * self.block
        taken = place < places
        # Whoever took a place last still has it.
        owner = np.full((episodes, places + 1), -1, np.int64)
        rows = np.broadcast_to(np.arange(episodes)[:, None], place.shape)
        np.maximum.at(owner, (rows, np.minimum(place, places)), np.broadcast_to(np.arange(count), place.shape))
        owner = owner[:, :places]
        padded = np.full((episodes, count, self.block + 1), SEPARATOR[0], np.uint8)
        spread = np.full((episodes, count * self.block), SEPARATOR[0], np.uint8)
        spread[:, :length] = batch.symbols
        padded[:, :, : self.block] = spread.reshape(episodes, count, self.block)
        kept = np.take_along_axis(padded, owner[:, :, None], axis=1) if count else padded
        stored = (taken * sizes).sum(axis=1) + max(count - self.capacity, 0)
        return Held(
            byte_rows(kept.reshape(episodes, places * (self.block + 1))),
            sizes[owner].sum(axis=1),
            stored,
            np.full(episodes, self.bits, np.int64),
        )

    def recall(self, k: int, seen: int, held: int) -> float:
        """Return the probability that a positive of k symbols lies in a block that is kept, or occurs in one."""
        return theory.blocks_recall(k, seen, self.capacity, self.block)

    def places(self, k: int, held: int) -> int:
        """Return at how many places a candidate is laid: inside blocks only."""
        whole, rest = divmod(held, self.block)
        return whole * max(self.block - k + 1, 0) + max(rest - k + 1, 0)

    def _recalls(self, length: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([self.recall(k, length, 0) for k in CANDIDATE_LENGTHS])

    def _accuracy(self, length: int) -> Expected:
        note = "chance occurrences in other blocks are taken as independent"
        return Expected(theory.holding_accuracy(self._recalls(length)), exact=False, note=note)

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        return theory.holding_selective(self._recalls(length), self.doubts(length, 0), tau)


class BlocksMemory(HoldingMemory):
    """The sampled blocks."""

    def __init__(self, system: Blocks, seed: int) -> None:
        super().__init__(system)
        self._blocks = system
        self._seed = seed
        self._kept: dict[int, bytearray] = {}
        self._place = 0
        self._flops = 0

    def take(self, symbols: bytes) -> None:
        """Store the symbols of blocks that are kept; begin a block wherever one ends."""
        size, capacity = self._blocks.block, self._blocks.capacity
        begun = -(-self.seen // size)
        ahead = -(-(self.seen + len(symbols)) // size) - begun
        places = self._blocks.draw(seed_words(self._seed), begun, ahead)[0].tolist() if ahead else []
        at = 0
        while at < len(symbols):
            inside = (self.seen + at) % size
            if inside == 0:
                self._place = places.pop(0)
                self._flops += begun >= capacity
                begun += 1
                if self._place < capacity:
                    self._kept[self._place] = bytearray()
            piece = symbols[at : at + size - inside]
            if self._place < capacity:
                self._kept[self._place] += piece
                self._flops += len(piece)
            at += len(piece)

    def held(self) -> tuple[bytes, int]:
        """Return the blocks, separated."""
        return SEPARATOR.join(self._kept.values()), sum(map(len, self._kept.values()))

    def cost(self) -> WriteCost:
        """Return 1 FLOP for each symbol stored and each draw, and the bits of the reservoir."""
        return WriteCost(self._flops, self._blocks.bits)
