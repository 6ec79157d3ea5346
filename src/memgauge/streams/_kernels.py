"""What the compiled loops of this room share: the decorator, a counter-based generator, and a small hash table.

The generator is SplitMix64 (Steele, Lea and Flood, 2014): item `index` of a family starts from the `index`-th output of
the sequence that begins at the family's key, so any item can be made alone and neighbours are unrelated.

numba looks only at the file of a loop itself to tell whether its cached code is stale: after changing a function that
loops of other files call, delete the `__pycache__` folder of this room.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_U11, _U27, _U30, _U31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop, cached on disk; without a writable cache folder it is compiled anew in each process."""
    try:
        compiled: Callable[P, R] = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba finds no place for its cache
        compiled = njit(nogil=True)(function)
    return compiled


@kernel
def mix(state: np.uint64) -> np.uint64:
    """Return SplitMix64's output for a state."""
    z = (state ^ (state >> _U30)) * _MIX_1
    z = (z ^ (z >> _U27)) * _MIX_2
    return z ^ (z >> _U31)


@kernel
def item_state(key: np.uint64, index: np.uint64) -> np.uint64:
    """Return the starting state of item `index` of the family with this key."""
    return mix(key + (index + np.uint64(1)) * _STEP)


def start(key: np.uint64, index: int) -> NDArray[np.uint64]:
    """Return the state of item `index`, as the one-word array that `draw` advances."""
    return np.array([item_state(key, np.uint64(index))], np.uint64)


@kernel
def draw(state: NDArray[np.uint64]) -> np.uint64:
    """Advance the one-word state in place and return 64 random bits."""
    state[0] += _STEP
    return mix(state[0])


@kernel
def below(state: NDArray[np.uint64], bound: int) -> int:
    """Draw an integer in [0, bound); the bias is below bound / 2**64."""
    return int(np.int64(draw(state) % np.uint64(bound)))


@kernel
def unit(state: NDArray[np.uint64]) -> float:
    """Draw a number in [0, 1) with 53 random bits."""
    return np.float64(draw(state) >> _U11) * (1.0 / 9007199254740992.0)


@kernel
def normal(state: NDArray[np.uint64]) -> float:
    """Draw a standard normal number (Box and Muller, 1958; the sine half is not used)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - unit(state)))
    return radius * math.cos(2.0 * math.pi * unit(state))


@kernel
def find_slot(keys: NDArray[np.int64], key: int) -> int:
    """Return the slot of `key` in an open-addressing table, or of the free slot (-1) where it belongs.

    The table's size is a power of two and it is never full.
    """
    mask = keys.shape[0] - 1
    slot = np.int64(mix(np.uint64(key)) & np.uint64(mask))
    while keys[slot] != key and keys[slot] != -1:
        slot = (slot + 1) & mask
    return int(slot)
