from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from memgauge.system import SymbolBatch

Simulate = Callable[[int, int, int], SymbolBatch]


@cache
def _simulate(length: int, streams: int, seed: int, queries: int = 16) -> SymbolBatch:
    """Max-entropy streams with uniform negatives, drawn without the project's generator; half positive."""
    rng = np.random.default_rng(seed)
    symbols = rng.integers(0, 16, (streams, length)).astype(np.uint8)
    lengths = rng.integers(3, 7, (streams, queries))
    gold = np.tile(np.arange(queries) < queries // 2, (streams, 1))
    candidates = np.zeros((streams, queries, 6), np.uint8)
    for e in range(streams):
        row = symbols[e].tobytes()
        for q in range(queries):
            k = int(lengths[e, q])
            if gold[e, q]:
                start = int(rng.integers(0, length - k + 1))
                candidates[e, q, :k] = symbols[e, start : start + k]
                continue
            drawn = rng.integers(0, 16, k).astype(np.uint8)
            while drawn.tobytes() in row:
                drawn = rng.integers(0, 16, k).astype(np.uint8)
            candidates[e, q, :k] = drawn
    words = rng.integers(0, 2**63, (streams, queries + 1)).astype(np.uint64)
    return SymbolBatch(symbols, candidates, lengths, words[:, 0], words[:, 1:], gold=gold)


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    return _simulate
