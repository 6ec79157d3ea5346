"""The LZ78 store: the prefix of the stream whose LZ78 code fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from memgauge.streams import theory
from memgauge.streams.theory import Expected
from memgauge.system import SymbolBatch, WriteCost
from memgauge.systems.known.common import MAX_BITS, SYMBOL_BITS, IntArray, check_range
from memgauge.systems.known.holding import Held, HoldingMemory, HoldingSystem


@dataclass(frozen=True)
class Lz78(HoldingSystem):
    """Keeps the longest prefix whose LZ78 code fits into `bits` (Ziv and Lempel, 1978). State: `bits`.

    Phrase j costs ceil(log2 j) bits for the phrase that it extends and 4 for its last symbol. A phrase is begun only if
    it fits whole; where one does not, the memory is full for good. A phrase that the stream's end cuts short is held.

    A write costs 1 FLOP, a table access, for each symbol taken in.
    """

    kind: ClassVar[str] = "lz78"
    description: ClassVar[str] = "keeps the longest prefix whose LZ78 code fits"

    bits: int = field(metadata={"help": "state in bits; phrase j takes ceil(log2 j) + 4"})

    def __post_init__(self) -> None:
        check_range("bits", self.bits, SYMBOL_BITS, MAX_BITS, "the first phrase takes 4")

    def start(self, seed: int) -> Lz78Memory:
        """Return an empty memory; the seed is not used."""
        return Lz78Memory(self)

    def hold(self, batch: SymbolBatch) -> Held:
        """Keep the prefix of every stream that fits."""
        prefixes = _kernel()(np.ascontiguousarray(batch.symbols), self.bits)
        data, length = batch.symbols.tobytes(), batch.symbols.shape[1]
        rows = [data[e * length : e * length + held] for e, held in enumerate(prefixes.tolist())]
        return Held(rows, prefixes, prefixes, np.full(len(rows), self.bits, np.int64))

    def _accuracy(self, length: int) -> Expected:
        value = theory.holding_accuracy(theory.lz78_recall(length, self.bits))
        return Expected(value, exact=False, note="every stream's prefix is taken to have the expected length")

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        doubts = self.doubts(length, round(theory.lz78_prefix(length, self.bits)))
        return theory.holding_selective(theory.lz78_recall(length, self.bits), doubts, tau)


class Lz78Memory(HoldingMemory):
    """The prefix, and the tree of its phrases."""

    def __init__(self, system: Lz78) -> None:
        super().__init__(system)
        self._bits = self._left = system.bits
        self._children: dict[tuple[int, int], int] = {}
        self._node = 0
        self._open = False
        self._prefix = bytearray()

    def take(self, symbols: bytes) -> None:
        """Take symbols in until a phrase no longer fits."""
        children = self._children
        for symbol in symbols:
            if not self._open:
                # A phrase is paid for when it begins; one too many empties the purse for good.
                self._left -= len(children).bit_length() + SYMBOL_BITS
                self._open = self._left >= 0
                if not self._open:
                    self._left = -1
                    return
            self._prefix.append(symbol)
            step = (self._node, symbol)
            if step in children:
                self._node = children[step]
            else:
                children[step] = len(children) + 1
                self._node, self._open = 0, False

    def held(self) -> tuple[bytes, int]:
        """Return the prefix."""
        return bytes(self._prefix), len(self._prefix)

    def cost(self) -> WriteCost:
        """Return 1 FLOP a symbol taken in, and the bits that were allowed."""
        return WriteCost(len(self._prefix), self._bits)


@lru_cache(maxsize=1)
def _kernel() -> Callable[[NDArray[np.uint8], int], IntArray]:
    from memgauge.streams._kernels import kernel  # compiles: wanted only here

    return kernel(prefix_lengths)


def prefix_lengths(symbols: NDArray[np.uint8], bits: int) -> IntArray:
    """Return how many symbols of each row of [E, L] the memory takes in: the loop of `Lz78Memory`, to be compiled."""
    episodes, length = symbols.shape
    result = np.zeros(episodes, np.int64)
    children = np.zeros((length + 1, 16), np.int32)
    for e in range(episodes):
        phrases, node, left, width, at = 0, 0, bits, 0, 0
        begun = False
        while at < length:
            if not begun:
                while (1 << width) <= phrases:
                    width += 1
                left -= width + 4
                if left < 0:
                    break
                begun = True
            symbol = symbols[e, at]
            at += 1
            if children[node, symbol] > 0:
                node = children[node, symbol]
            else:
                phrases += 1
                children[node, symbol] = phrases
                node, begun = 0, False
        result[e] = at
        children[: phrases + 1] = 0
    return result
