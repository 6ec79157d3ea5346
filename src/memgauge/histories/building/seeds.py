"""Randomness of the construction pipeline: every item can be made alone from (seed, path), with the standard library.

Histories use a hashed path (unlike the rest of memgauge, which draws from `numpy.random.SeedSequence`), because their
generators are many, short, and draw from lists rather than arrays.
"""

from __future__ import annotations

import hashlib
import random


def digest(seed: int, *path: int | str) -> bytes:
    """Return the 32 bytes of sha256("seed|a|b|..."), the same on every machine and under every hash seed.

    Raises `ValueError` for a label that holds the separator.
    """
    for part in path:
        if isinstance(part, str) and "|" in part:
            raise ValueError(f"a label of a seed path cannot hold '|', got {part!r}")
    return hashlib.sha256("|".join(str(part) for part in (seed, *path)).encode()).digest()


def rng(seed: int, *path: int | str) -> random.Random:
    """Return a fresh generator for the item that `path` names under `seed`.

    >>> rng(0, "q_1", "text").randrange(1000) == rng(0, "q_1", "text").randrange(1000)
    True
    """
    return random.Random(int.from_bytes(digest(seed, *path)[:8], "big"))


def dealt(seed: int, deck: str, index: int, size: int) -> int:
    """Return card `index` of an endless row of shuffled decks with the values 0 .. size-1.

    Each run of `size` cards that begins at a multiple of `size` holds every value once, so that among the first n
    cards no value occurs more than ceil(n / size) times, and any card can be turned up alone.

    >>> sorted(dealt(7, "corner", i, 4) for i in range(4))
    [0, 1, 2, 3]
    """
    block, place = divmod(index, size)
    cards = list(range(size))
    rng(seed, "deck", deck, size, block).shuffle(cards)
    return cards[place]


def question_id(seed: int, builder: str, index: int) -> str:
    """Return the id of a question: `q_` and ten hexadecimal digits that say nothing about its kind."""
    return "q_" + digest(seed, builder, index).hex()[:10]


def session_id(seed: int, question: str, slot: int) -> str:
    """Return the id of a session: `s_` and twelve hexadecimal digits that say nothing about its role."""
    return "s_" + digest(seed, question, slot).hex()[:12]
