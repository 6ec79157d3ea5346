"""The exact store: every symbol, 4 bits each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memgauge.streams.theory import Expected
from memgauge.system import SymbolBatch, WriteCost
from memgauge.systems.known.common import SYMBOL_BITS
from memgauge.systems.known.holding import Held, HoldingMemory, HoldingSystem, byte_rows


@dataclass(frozen=True)
class Exact(HoldingSystem):
    """Keeps the whole stream: always right, with a state of 4L bits (measured). A write stores each symbol: 1 FLOP."""

    kind: ClassVar[str] = "exact"
    description: ClassVar[str] = "keeps the whole stream: always right, 4 bits a symbol"

    def start(self, seed: int) -> ExactMemory:
        """Return an empty memory; the seed is not used."""
        return ExactMemory(self)

    def hold(self, batch: SymbolBatch) -> Held:
        """Keep every symbol of every stream."""
        episodes, length = batch.symbols.shape
        seen = np.full(episodes, length, np.int64)
        return Held(byte_rows(batch.symbols), seen, seen, seen * SYMBOL_BITS)

    def _accuracy(self, length: int) -> Expected:
        return Expected(1.0, exact=True)

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        return 1.0, 1.0


class ExactMemory(HoldingMemory):
    """All symbols so far."""

    def __init__(self, system: Exact) -> None:
        super().__init__(system)
        self._symbols = bytearray()

    def take(self, symbols: bytes) -> None:
        """Keep the symbols."""
        self._symbols += symbols

    def held(self) -> tuple[bytes, int]:
        """Return all symbols."""
        return bytes(self._symbols), self.seen

    def cost(self) -> WriteCost:
        """Return 1 FLOP and 4 bits a symbol."""
        return WriteCost(self.seen, self.seen * SYMBOL_BITS)
