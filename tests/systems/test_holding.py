"""What the holding memories keep, against plain versions of the same rules."""

from __future__ import annotations

import lzma
import math
import zlib
from collections.abc import Callable
from typing import get_args

import brotli
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.episode import Observation
from memgauge.system import SymbolBatch
from memgauge.systems.known.blocks import Blocks
from memgauge.systems.known.codec import _LZMA, Codec, CodecName, compressor, fit, pack
from memgauge.systems.known.common import random_words
from memgauge.systems.known.lz78 import Lz78, prefix_lengths

CODECS = get_args(CodecName)


def streams(length: int, seed: int) -> list[bytes]:
    rng = np.random.default_rng(seed)
    uniform = rng.integers(0, 16, length).astype(np.uint8).tobytes()
    repeating = (uniform[:23] * (length // 23 + 1))[:length]
    noisy = bytes(b if rng.random() < 0.95 else int(rng.integers(0, 16)) for b in repeating)
    return [uniform, repeating, noisy, bytes(length)]


def unpack(packed: bytes, symbols: int) -> bytes:
    codes = np.frombuffer(packed, np.uint8)
    return np.stack([codes >> 4, codes & 15], axis=1).tobytes()[:symbols]


DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "zlib": lambda data: zlib.decompress(data, -15),
    "lzma": lambda data: lzma.decompress(data, format=lzma.FORMAT_RAW, filters=_LZMA),
    "zstd": lambda data: (
        zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS).decompressobj().decompress(data)
    ),
    "brotli": brotli.decompress,
}


@pytest.mark.parametrize("codec", CODECS)
def test_the_compressed_form_holds_what_is_kept(codec: CodecName) -> None:
    for stream in streams(501, 1):
        memory = Codec(700, codec).start(0)
        memory.write(Observation("symbols", np.frombuffer(stream, np.uint8)))
        kept, count = memory.held()
        assert stream.endswith(kept)
        assert count == len(kept)
        code = compressor(codec)(pack(kept))
        assert 8 * len(code) == memory.cost().state_bits <= 700
        assert unpack(DECOMPRESS[codec](code), count) == kept


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("bits", [8, 24, 100, 500, 1500, 10**6])
def test_a_pair_more_would_not_fit(codec: CodecName, bits: int) -> None:
    compress = compressor(codec)
    for stream in streams(600, 2) + streams(77, 3) + streams(1, 4) + [b""]:
        dropped, fed, size = fit(stream, bits, codec)
        assert dropped % 2 == 0 or dropped == len(stream)
        kept = stream[dropped:]
        assert size == (8 * len(compress(pack(kept))) if kept else 0)
        assert size <= bits
        if dropped:
            assert 8 * len(compress(pack(stream[2 * ((dropped + 1) // 2) - 2 :]))) > bits
        assert fed >= len(stream)


def test_a_codec_memory_trims_as_documented() -> None:
    bits = 400
    stream = streams(1000, 5)[2]
    kept, trimmed = b"", 0
    for symbol in stream:  # the rule of the docstring, a symbol at a time
        kept += bytes([symbol])
        waiting = len(kept) - trimmed
        if waiting >= max(64, trimmed // 4 * 2):
            kept = kept[fit(kept, bits, "zlib")[0] :]
            trimmed = len(kept)
    kept = kept[fit(kept, bits, "zlib")[0] :]
    memory = Codec(bits).start(0)
    memory.write(Observation("symbols", np.frombuffer(stream, np.uint8)))
    assert memory.held() == (kept, len(kept))


def test_a_codec_keeps_more_of_what_repeats() -> None:
    kept = []
    for stream in streams(900, 6):
        memory = Codec(512).start(0)
        memory.write(Observation("symbols", np.frombuffer(stream, np.uint8)))
        kept.append(memory.held()[1])
    uniform, repeating, noisy, constant = kept
    assert uniform < 128 < noisy < repeating
    assert repeating == constant == 900


def plain_lz78(stream: list[int], bits: int) -> int:
    """Symbols held: phrases while they fit, the last one perhaps cut short by the end."""
    phrases: set[tuple[int, ...]] = {()}
    held, spent, at = 0, 0, 0
    while at < len(stream):
        spent += math.ceil(math.log2(len(phrases))) + 4
        if spent > bits:
            return held
        phrase: tuple[int, ...] = ()
        while at < len(stream) and phrase in phrases:
            phrase = (*phrase, stream[at])
            at += 1
        phrases.add(phrase)
        held = at
    return held


@given(st.lists(st.integers(0, 3), max_size=200), st.integers(4, 600))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_lz78_prefix(stream: list[int], bits: int) -> None:
    symbols = np.array([stream], np.uint8)
    expected = plain_lz78(stream, bits)
    assert prefix_lengths(symbols, bits).tolist() == [expected]
    memory = Lz78(bits).start(0)
    memory.write(Observation("symbols", symbols[0]))
    assert memory.held() == (bytes(stream[:expected]), expected)


def test_compiled_lz78_is_the_same() -> None:
    rng = np.random.default_rng(8)
    symbols = rng.integers(0, 16, (20, 700)).astype(np.uint8)
    symbols[5:10] = symbols[5:10] % 2
    seeds = np.zeros(20, np.uint64)
    batch = SymbolBatch(
        symbols, np.zeros((20, 0, 3), np.uint8), np.zeros((20, 0), np.int64), seeds, seeds[:, None][:, :0]
    )
    for bits in (4, 50, 900, 5000):
        assert Lz78(bits).hold(batch).symbols.tolist() == prefix_lengths(symbols, bits).tolist()


def test_blocks_are_a_uniform_sample() -> None:
    system = Blocks(bits=4 * 4 * 5, block=4)  # five places
    seeds = np.arange(8000, dtype=np.uint64)
    place = system.draw(seeds, 0, 12)
    kept = np.zeros(12)
    for row in place:
        owner = {p: j for j, p in enumerate(row.tolist()) if p < 5}
        kept[list(owner.values())] += 1
    # 12 shares of 5/12 within 4 standard errors of 0.0055: passes by chance alone in all but one case of 1,300.
    assert np.abs(kept / 8000 - 5 / 12).max() < 0.022


def test_random_words_are_splitmix64() -> None:
    # The published first outputs for the seeds 0 and 1234567.
    assert random_words(np.zeros(1, np.uint64), 0).tolist() == [0xE220A8397B1DCDAF]
    words = random_words(np.array([1234567], np.uint64), np.arange(5, dtype=np.uint64))
    assert words.tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
