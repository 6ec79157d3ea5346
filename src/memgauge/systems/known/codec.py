"""A real compressor as a memory: the newest symbols whose compressed form fits."""

from __future__ import annotations

import lzma
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from memgauge.episode import Observation
from memgauge.system import SymbolBatch, WriteCost
from memgauge.systems.known.common import MAX_BITS, check_range
from memgauge.systems.known.holding import Held, HoldingMemory, HoldingSystem

CodecName = Literal["zlib", "lzma", "zstd", "brotli"]
LEAST_SLACK = 64
"""Symbols that wait at least between two trims."""

_LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 16, "lc": 0, "lp": 0, "pb": 0}]


@dataclass(frozen=True)
class Codec(HoldingSystem):
    """Keeps the newest symbols whose compressed form, without a container, fits into `bits`.

    Two symbols go into a byte, the earlier one in its upper half, paired by their place in the stream; symbols are
    dropped by the pair, oldest first. How many pairs go is found by galloping and bisection over the number dropped,
    as if dropping more never lengthened the code: what is kept always fits, and with one more pair it would not.

    Compressing after every symbol would change little and cost much. New symbols wait uncompressed beside the rest
    until as many wait as half of what is kept, and at least 64; then the memory is trimmed. These times depend on the
    stream alone, not on the blocks it comes in. A read, and the state's size, see the memory as if trimmed just now.

    State: 8 times the bytes of the compressed form (measured), 0 when nothing is kept. A write costs 1 FLOP for each
    symbol that is handed to the compressor, every attempt counted; a read 1 for each symbol decompressed, and the
    comparisons. The confidence takes the stream for a max-entropy one: where it is not, that is approximate.
    """

    kind: ClassVar[str] = "codec"
    description: ClassVar[str] = "keeps the newest symbols whose compressed form fits (zlib, lzma, zstd, brotli)"

    bits: int = field(metadata={"help": "largest compressed size in bits"})
    codec: CodecName = field(default="zlib", metadata={"help": "zlib, lzma, zstd or brotli, without containers"})

    def __post_init__(self) -> None:
        check_range("bits", self.bits, 8, MAX_BITS, "compressors count in bytes")

    def start(self, seed: int) -> CodecMemory:
        """Return an empty memory; the seed is not used."""
        return CodecMemory(self)

    def hold(self, batch: SymbolBatch) -> Held:
        """Write every stream into a memory of its own: compressors take one stream at a time."""
        rows, symbols, flops, bits = [], [], [], []
        for row in batch.symbols:
            memory = CodecMemory(self)
            memory.write(Observation("symbols", row))
            held, size = memory.held()
            cost = memory.cost()
            rows.append(held)
            symbols.append(size)
            flops.append(cost.flops)
            bits.append(cost.state_bits)
        return Held(rows, *(np.array(column, np.int64) for column in (symbols, flops, bits)))

    def read_flops(self, k: int, held: int) -> int:
        """Return the symbols decompressed and the comparisons."""
        return held + k * self.places(k, held)

    def _accuracy(self, length: int) -> None:
        return None

    def _selective(self, length: int, tau: float) -> None:
        return None


class CodecMemory(HoldingMemory):
    """The symbols that fitted when it was last trimmed, and those that came since."""

    def __init__(self, system: Codec) -> None:
        super().__init__(system)
        self._codec, self._bits = system.codec, system.bits
        self._symbols = b""
        self._trimmed = 0
        self._fed = 0

    def take(self, symbols: bytes) -> None:
        """Add symbols, and trim whenever enough have come since the last time."""
        at = 0
        while at < len(symbols):
            # An even number, so that what is kept always begins with a whole pair.
            room = self._trimmed + max(LEAST_SLACK, self._trimmed // 4 * 2) - len(self._symbols)
            self._symbols += symbols[at : at + room]
            at += room
            if at <= len(symbols):
                dropped, fed, _ = fit(self._symbols, self._bits, self._codec)
                self._symbols = self._symbols[dropped:]
                self._trimmed = len(self._symbols)
                self._fed += fed

    def held(self) -> tuple[bytes, int]:
        """Return the symbols that fit now."""
        kept = self._symbols[fit(self._symbols, self._bits, self._codec)[0] :]
        return kept, len(kept)

    def cost(self) -> WriteCost:
        """Return 1 FLOP for each symbol handed to the compressor, and the compressed size."""
        _, fed, bits = fit(self._symbols, self._bits, self._codec)
        return WriteCost(self._fed + fed, bits)


@lru_cache(maxsize=16)
def fit(symbols: bytes, bits: int, codec: CodecName) -> tuple[int, int, int]:
    """Return how many of the oldest symbols must go, how many were compressed to find out, and the size that is left.

    Remembered for a few arguments, since a memory is asked many questions between two writes.
    """
    packed = pack(symbols)
    pairs = len(packed)
    compress = compressor(codec)
    sizes: dict[int, int] = {pairs: 0}  # nothing kept needs nothing
    fed = 0

    def fits(dropped: int) -> bool:
        nonlocal fed
        if dropped not in sizes:
            sizes[dropped] = 8 * len(compress(packed[dropped:]))
            fed += len(symbols) - 2 * dropped
        return sizes[dropped] <= bits

    if fits(0):
        return 0, fed, sizes[0]
    # The first guess drops in proportion; then steps of 1, 2, 4, ... until one side fits and the other does not.
    low, high, step = 0, pairs, 1
    guess = min(pairs, math.ceil(pairs * (1 - bits / sizes[0])))
    while 0 < guess < pairs:
        if fits(guess):
            high, guess = guess, guess - step
            if low > 0:
                break
        else:
            low, guess = guess, guess + step
            if high < pairs:
                break
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return min(2 * high, len(symbols)), fed, sizes[high]


def pack(symbols: bytes) -> bytes:
    """Put two symbols into a byte, the earlier one in the upper half; a missing last one is 0."""
    codes = np.frombuffer(symbols + b"\0" * (len(symbols) % 2), np.uint8)
    return bytes((codes[0::2] << 4) | codes[1::2])


def compressor(codec: CodecName) -> Callable[[bytes], bytes]:
    """Return the function that compresses, as hard as is still quick for a few hundred bytes."""
    return _COMPRESSORS[codec]


def _zlib(data: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return deflate.compress(data) + deflate.flush()


def _lzma(data: bytes) -> bytes:
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=_LZMA)


@lru_cache(maxsize=1)
def _zstd_compressor() -> Callable[[bytes], bytes]:
    import zstandard

    parameters = zstandard.ZstdCompressionParameters.from_level(
        12,
        format=zstandard.FORMAT_ZSTD1_MAGICLESS,
        write_content_size=False,
        write_checksum=False,
        write_dict_id=False,
    )
    compress: Callable[[bytes], bytes] = zstandard.ZstdCompressor(compression_params=parameters).compress
    return compress


def _zstd(data: bytes) -> bytes:
    return _zstd_compressor()(data)


def _brotli(data: bytes) -> bytes:
    import brotli

    compressed: bytes = brotli.compress(data, quality=9, lgwin=16)
    return compressed


_COMPRESSORS: dict[CodecName, Callable[[bytes], bytes]] = {
    "zlib": _zlib,
    "lzma": _lzma,
    "zstd": _zstd,
    "brotli": _brotli,
}
