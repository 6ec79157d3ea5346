"""All randomness flows from one seed: any item can be made alone from (seed, path of labels and indices)."""

from __future__ import annotations

import hashlib

import numpy as np


def sequence(seed: int, *path: int | str) -> np.random.SeedSequence:
    """Return the seed sequence of the item that `path` names under `seed`.

    Labels are hashed to 32-bit words, so that `sequence(0, "low", 1024, 7)` is the same on every machine and
    different from every other path.
    """
    key: list[int] = []
    for part in path:
        if isinstance(part, str):
            key.append(int.from_bytes(hashlib.blake2b(part.encode(), digest_size=4).digest(), "big"))
        else:
            if part < 0:
                raise ValueError(f"a seed path takes non-negative integers, got {part}")
            key.append(int(part))
    return np.random.SeedSequence(entropy=seed, spawn_key=tuple(key))


def generator(seed: int, *path: int | str) -> np.random.Generator:
    """Return a fresh PCG64 generator for the item that `path` names under `seed`."""
    return np.random.Generator(np.random.PCG64(sequence(seed, *path)))


def word(seed: int, *path: int | str) -> int:
    """Return one 64-bit word for the item that `path` names (the start of a counter-based generator)."""
    return int(sequence(seed, *path).generate_state(1, np.uint64)[0])
