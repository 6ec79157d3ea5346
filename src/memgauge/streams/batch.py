"""Maximum-entropy streams with uniform queries, by the hundred thousand: training data for backbones.

Each is the same item that `make_item("max", ...)` gives for its index, so nothing needs to be stored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.streams._kernels import item_state, kernel
from memgauge.streams._membership import fill_codes, smallest_size
from memgauge.streams.generator import fill_uniform, stream_key
from memgauge.streams.item import MIN_LENGTH
from memgauge.streams.queries import LARGEST, fill_uniform_queries, query_key, saturated


class StreamBatch(NamedTuple):
    """Streams with their queries, as arrays."""

    symbols: NDArray[np.uint8]
    """Shape [n, L]."""
    candidates: NDArray[np.uint8]
    """Shape [n, queries, 6]; symbols beyond a candidate's length are 0."""
    lengths: NDArray[np.uint8]
    """Shape [n, queries]: 3 to 6."""
    gold: NDArray[np.bool_]
    """Shape [n, queries]; exactly half of each row, see `positives_of` for odd numbers."""


def max_entropy_batch(seed: int, length: int, start: int, count: int, queries: int) -> StreamBatch:
    """Return streams `start` to `start + count - 1` of the maximum-entropy law, each with verified uniform queries.

    >>> batch = max_entropy_batch(seed=7, length=64, start=100, count=3, queries=4)
    >>> batch.symbols.shape, batch.candidates.shape, batch.gold.sum(axis=1).tolist()
    ((3, 64), (3, 4, 6), [2, 2, 2])

    Raises `InputError` for a length below 6 or a negative number.
    """
    if length < MIN_LENGTH or min(start, count, queries) < 0:
        raise InputError(
            f"a batch needs length >= {MIN_LENGTH} and start, count, queries >= 0; "
            f"got length={length}, start={start}, count={count}, queries={queries}"
        )
    batch = StreamBatch(
        np.empty((count, length), np.uint8),
        np.zeros((count, queries, LARGEST), np.uint8),
        np.empty((count, queries), np.uint8),
        np.empty((count, queries), np.bool_),
    )
    if not _fill(stream_key(seed, "max", length), query_key(seed, "max", length, "uniform"), start, *batch):
        raise saturated(length)
    return batch


@kernel
def _fill(
    streams: np.uint64,
    asked: np.uint64,
    start: int,
    symbols: NDArray[np.uint8],
    candidates: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
    gold: NDArray[np.bool_],
) -> bool:
    """Fill the arrays in place; False if some stream has no negative."""
    queries = lengths.shape[1]
    codes = np.empty(symbols.shape[1], np.uint32)
    trigrams = np.empty(4096, np.bool_)
    state = np.empty(1, np.uint64)
    for b in range(symbols.shape[0]):
        index = start + b
        state[0] = item_state(streams, np.uint64(index))
        fill_uniform(state, symbols[b])
        fill_codes(symbols[b], codes, trigrams)
        smallest = smallest_size(codes)
        if smallest > 6:
            return False
        state[0] = item_state(asked, np.uint64(index))
        positives = (queries + 1 - index % 2) // 2
        fill_uniform_queries(codes, trigrams, smallest, positives, state, candidates[b], lengths[b], gold[b])
    return True
