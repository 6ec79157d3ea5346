"""The values of this room: a stream of symbols with the queries about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

ALPHABET = 16
"""Symbols are the integers 0 to 15 (ECCBench, 4.1)."""
SIZES = (3, 4, 5, 6)
"""The lengths of candidates (ECCBench, A.1)."""
MIN_LENGTH = 6
"""A stream must hold the longest candidate."""

Band = Literal["low", "max", "easyhuman"]
Negatives = Literal["uniform", "matched"]


@dataclass(frozen=True, slots=True, eq=False)
class StreamQuery:
    """One membership query: did the candidate occur in the stream as a contiguous subsequence?"""

    query_id: str
    """Unique within the stream: q00, q01, ..."""
    candidate: NDArray[np.uint8]
    """Shape [k], k in 3..6; read-only."""
    gold: bool
    age: int | None
    """Symbols between the end of the candidate's last occurrence and the end of the stream; None where there is none.

    That is L minus the 1-based position at which the last occurrence ends.
    """
    negatives: str
    """How the false candidates of this stream were drawn: `uniform`, `matched`, or `corruption` (EasyHuman)."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamItem:
    """A stream and its queries."""

    stream_id: str
    band: str
    """`low`, `max`, `easyhuman`, or a name of your own for streams made elsewhere."""
    length: int
    symbols: NDArray[np.uint8]
    """Shape [length], each in 0..15; read-only."""
    queries: tuple[StreamQuery, ...]
    lz_rate: float
    """The measured primary Lempel-Ziv rate, bits per symbol."""
    lz78_rate: float
    """The measured secondary rate, bits per symbol."""
    subtype: str | None
    """The structure of an EasyHuman stream, `repeating` or `counting`; None in the other bands."""


def frozen(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the array marked read-only, so that a system under test cannot change what the next one reads."""
    array.flags.writeable = False
    return array
