"""Windows of a stream, and the clip that the best of them make (ECCBench, B.7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import SymbolArray

Span = tuple[int, int]
"""Begin and end (exclusive) in symbols or frames."""
MANY = 128
"""From this length on three windows are retrieved."""


def windows_of(length: int, window: int = 16, stride: int = 4) -> list[Span]:
    """Return the windows of a stream: one at every `stride` that lies wholly inside, or the whole of a shorter stream.

    Where the last of them ends before the stream does, one more is put at the end: nothing that was seen is out of
    reach. At the paper's lengths none is needed, and the count is floor((L - 16) / 4) + 1.

    >>> windows_of(24)
    [(0, 16), (4, 20), (8, 24)]
    >>> windows_of(10), windows_of(18)
    ([(0, 10)], [(0, 16), (2, 18)])
    """
    spans = [(start, min(start + window, length)) for start in range(0, max(length - window, 0) + 1, stride)]
    if spans[-1][1] < length:
        spans.append((length - window, length))
    return spans


def merged(spans: Sequence[Span]) -> list[Span]:
    """Join windows that overlap or touch; the result is in the order of the stream.

    >>> merged([(40, 56), (4, 20), (16, 32)])
    [(4, 32), (40, 56)]
    """
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def best(vectors: NDArray[np.float32], query: NDArray[np.float32], count: int) -> list[tuple[int, float]]:
    """Return index and cosine of the `count` vectors nearest to `query`, best first; the earlier one wins a tie.

    `vectors` has shape [n, d]; all are of unit length (or zero).
    """
    scores = vectors @ query
    order = np.argsort(-scores, kind="stable")[:count]
    return [(int(i), float(scores[i])) for i in order]


def holds(
    spans: Sequence[Span],
    symbols: SymbolArray,
    lanes: SymbolArray,
    candidate: SymbolArray,
    candidate_lanes: SymbolArray,
) -> bool:
    """Say whether the candidate occurs wholly inside one of the spans: the retriever's hit.

    Symbols must be the same and, where the stream has lanes, the lanes as well.
    """
    size = len(candidate)
    for start, end in spans:
        if not 0 < size <= end - start:
            continue
        same = (np.lib.stride_tricks.sliding_window_view(symbols[start:end], size) == candidate).all(axis=1)
        if len(lanes):
            view = np.lib.stride_tricks.sliding_window_view(lanes[start:end], size)
            same &= (view == candidate_lanes).all(axis=1)
        if same.any():
            return True
    return False
