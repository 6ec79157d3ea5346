"""Exact membership in one stream, compiled: which strings of three to six symbols occur, and which do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memgauge.streams._kernels import below, kernel


@kernel
def fill_codes(x: NDArray[np.uint8], codes: NDArray[np.uint32], trigrams: NDArray[np.bool_]) -> None:
    """Index a stream for `occurs`.

    `codes`, shape [L], packs the six symbols from each position on into 24 bits, the first one highest, with zeros
    beyond the end; `trigrams`, shape [4096], says which packed strings of three symbols occur.
    """
    n = x.shape[0]
    for i in range(n - 5):
        codes[i] = (
            np.uint32(x[i]) << 20
            | np.uint32(x[i + 1]) << 16
            | np.uint32(x[i + 2]) << 12
            | np.uint32(x[i + 3]) << 8
            | np.uint32(x[i + 4]) << 4
            | np.uint32(x[i + 5])
        )
    for i in range(max(n - 5, 0), n):
        code = 0
        for j in range(6):
            code = code << 4 | (int(np.int64(x[i + j])) if i + j < n else 0)
        codes[i] = np.uint32(code)
    for code in range(4096):
        trigrams[code] = False
    for i in range(n - 2):
        trigrams[codes[i] >> 12] = True


@kernel
def code_at(codes: NDArray[np.uint32], i: int, size: int) -> int:
    """Return the packed string of `size` symbols at position i."""
    return int(np.int64(codes[i]) >> 4 * (6 - size))


@kernel
def occurs(codes: NDArray[np.uint32], trigrams: NDArray[np.bool_], code: int, size: int) -> bool:
    """Say whether the string of `size` symbols with this packed code occurs: exact.

    Most strings are ruled out by a trigram of theirs; the others cost one comparison a position.
    """
    for j in range(size - 2):
        if not trigrams[code >> 4 * j & 0xFFF]:
            return False
    if size == 3:
        return True
    wanted, shift = np.uint32(code), np.uint32(4 * (6 - size))
    found = np.uint32(0)
    for i in range(codes.shape[0] - size + 1):  # without a branch, so that it is vectorised
        found |= np.uint32((codes[i] >> shift) == wanted)
    return bool(found != 0)


@kernel
def smallest_size(codes: NDArray[np.uint32]) -> int:
    """Return the smallest candidate length of which some string is absent; one more than the largest if there is none.

    A string is absent wherever one inside it is, so all longer lengths qualify too.
    """
    n = codes.shape[0]
    for size in range(3, 7):
        strings = 1 << 4 * size
        if n - size + 1 < strings:
            return size
        seen = np.zeros(strings, np.bool_)
        distinct = 0
        for i in range(n - size + 1):
            code = code_at(codes, i, size)
            distinct += not seen[code]
            seen[code] = True
        if distinct < strings:
            return size
    return 7


@kernel
def listed_absent(codes: NDArray[np.uint32], size: int, state: NDArray[np.uint64]) -> int:
    """Draw one of the absent strings of a length by listing them; some must be absent."""
    seen = np.zeros(1 << 4 * size, np.bool_)
    absent = seen.shape[0]
    for i in range(codes.shape[0] - size + 1):
        code = code_at(codes, i, size)
        absent -= not seen[code]
        seen[code] = True
    left = below(state, absent)
    code = 0
    while seen[code] or left > 0:
        left -= not seen[code]
        code += 1
    return int(code)


@kernel
def spell(code: int, size: int, out: NDArray[np.uint8]) -> None:
    """Write the symbols of a packed string into `out`."""
    for j in range(size):
        out[j] = code >> 4 * (size - 1 - j) & 15
