"""The sliding window: the newest symbols, 4 bits each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from memgauge.streams import theory
from memgauge.streams.theory import Expected
from memgauge.system import SymbolBatch, WriteCost
from memgauge.systems.known.common import MAX_BITS, SYMBOL_BITS, check_range
from memgauge.systems.known.holding import Held, HoldingMemory, HoldingSystem, byte_rows


@dataclass(frozen=True)
class Window(HoldingSystem):
    """Keeps the newest bits/4 symbols. State: `bits`. A write stores each symbol: 1 FLOP."""

    kind: ClassVar[str] = "window"
    description: ClassVar[str] = "keeps the newest bits/4 symbols"

    bits: int = field(metadata={"help": "state in bits, 4 a symbol"})

    def __post_init__(self) -> None:
        check_range("bits", self.bits, SYMBOL_BITS, MAX_BITS, "one symbol takes 4")

    @property
    def size(self) -> int:
        """How many symbols fit."""
        return self.bits // SYMBOL_BITS

    def start(self, seed: int) -> WindowMemory:
        """Return an empty memory; the seed is not used."""
        return WindowMemory(self)

    def hold(self, batch: SymbolBatch) -> Held:
        """Keep the newest symbols of every stream."""
        episodes, length = batch.symbols.shape
        held = min(self.size, length)
        every = np.ones(episodes, np.int64)
        return Held(byte_rows(batch.symbols[:, length - held :]), every * held, every * length, every * self.bits)

    def _accuracy(self, length: int) -> Expected:
        return Expected(theory.holding_accuracy(theory.window_recall(length, self.size)), exact=True)

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        return theory.holding_selective(theory.window_recall(length, self.size), self.doubts(length, self.size), tau)


class WindowMemory(HoldingMemory):
    """The newest symbols."""

    def __init__(self, system: Window) -> None:
        super().__init__(system)
        self._size, self._bits = system.size, system.bits
        self._symbols = b""

    def take(self, symbols: bytes) -> None:
        """Keep the symbols, drop the oldest."""
        self._symbols = (self._symbols + symbols)[-self._size :]

    def held(self) -> tuple[bytes, int]:
        """Return the window."""
        return self._symbols, len(self._symbols)

    def cost(self) -> WriteCost:
        """Return 1 FLOP a symbol written, and the bits of the window."""
        return WriteCost(self.seen, self._bits)
