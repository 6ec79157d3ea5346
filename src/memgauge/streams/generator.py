"""The two stream laws of ECCBench, A.1: maximum entropy, and low entropy by rejection.

The paper publishes the form of its low-entropy generator and not its parameters. Those below reproduce every figure it
states: mean rate 0.67, standard deviation 0.16, range [0.33, 0.99], pooled over its ten lengths. Each stream is a
function of (seed, length, index).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.seeding import word
from memgauge.streams._kernels import below, draw, kernel, normal, start, unit
from memgauge.streams.entropy import lz_rate
from memgauge.streams.item import ALPHABET, frozen

LOW_BAND = (0.33, 0.99)
"""The low-entropy band in bits per symbol, by the primary Lempel-Ziv rate of the finished stream (ECCBench, A.1)."""
MAX_TRIES = 100_000
"""Rule sets tried for one low-entropy stream before an error."""

CALIBRATION: dict[int, tuple[float, float, float]] = {
    8: (0.10, 0.10, 1.0),
    16: (0.05, 0.05, 0.25),
    32: (0.37, 0.12, 0.25),
    64: (0.50, 0.12, 0.25),
    128: (0.61, 0.12, 0.25),
    256: (0.65, 0.12, 0.25),
    512: (0.67, 0.12, 0.25),
    1024: (0.68, 0.12, 0.25),
    2048: (0.69, 0.12, 0.25),
    4096: (0.69, 0.12, 0.25),
}
"""Stream length -> mean and standard deviation of a rule set's entropy in bits, chance that a symbol leads to itself.

The estimator is biased on short streams, so the rule sets must be more regular there to reach the same measured rate.
"""

ACTIVE = (4, 8)
"""Active symbols: fewest and most, uniform. Each has a rule for itself alone as context."""
EXTRA_CONTEXTS = (3, 10)
"""Longer contexts: fewest and most, uniform."""
CONTEXT_LENGTHS = (2, 8)
"""Their lengths, uniform."""
SUCCESSOR_SHARES = (0.10, 0.45, 0.30, 0.15)
"""Probability that a context specifies 1, 2, 3 or 4 next symbols; all are active ones."""
LEFTOVER_LOG10 = (-4.0, -2.3)
"""log10 of the probability that is left to the other symbols, uniform."""
ENTROPY_LIMITS = (0.03, 2.0)
"""A rule set's entropy in bits is normal, truncated to these."""
ENTROPY_SPREAD = 0.35
"""Standard deviation of the log of a context's entropy around that of its rule set."""
_MAX_RULES = ACTIVE[1] + EXTRA_CONTEXTS[1]
_SUCCESSOR_BOUNDS = tuple(sum(SUCCESSOR_SHARES[:i]) for i in (1, 2, 3))
_ALL_ONES = np.int64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """A variable-order n-gram process: the longest context that ends the stream so far gives the next symbol's law.

    Where no context matches, the next symbol is uniform over the alphabet.
    """

    contexts: tuple[tuple[int, ...], ...]
    """One to eight symbols each, oldest first; longest contexts first."""
    probabilities: NDArray[np.float64]
    """Shape [contexts, 16]: up to four specified successors, the rest of the mass spread evenly over the others."""


@dataclass(frozen=True, slots=True, eq=False)
class LowEntropyStream:
    """A low-entropy stream with what made it."""

    symbols: NDArray[np.uint8]
    lz_rate: float
    tries: int
    """Rule sets drawn until a stream fell inside the band; its inverse estimates the acceptance rate."""
    rules: RuleSet


@cache
def calibration(length: int) -> tuple[float, float, float]:
    """Return the parameters of a length: `CALIBRATION`, linear in log2(length) between its rows, constant beyond them.

    >>> calibration(1024), calibration(1_000_000)
    ((0.68, 0.12, 0.25), (0.69, 0.12, 0.25))
    """
    at = np.log2(list(CALIBRATION))
    mean, sd, self_top = (
        float(np.interp(math.log2(length), at, row)) for row in zip(*CALIBRATION.values(), strict=True)
    )
    return mean, sd, self_top


def max_entropy_stream(seed: int, length: int, index: int) -> NDArray[np.uint8]:
    """Return stream `index` of the maximum-entropy law: independent uniform symbols, shape [length]."""
    symbols = np.empty(length, np.uint8)
    fill_uniform(start(stream_key(seed, "max", length), index), symbols)
    return frozen(symbols)


def low_entropy_stream(seed: int, length: int, index: int, *, max_tries: int = MAX_TRIES) -> LowEntropyStream:
    """Return stream `index` of the low-entropy law: the first of successive rule sets' streams with a rate in the band.

    Raises `InputError` when none of `max_tries` streams is in the band.
    """
    mean, sd, self_top = calibration(length)
    state = start(stream_key(seed, "low", length), index)
    lengths, codes = np.empty(_MAX_RULES, np.int64), np.empty(_MAX_RULES, np.int64)
    law = np.empty((_MAX_RULES, ALPHABET))
    symbols = np.empty(length, np.uint8)
    for attempt in range(1, max_tries + 1):
        count = _draw_rules(state, mean, sd, self_top, lengths, codes, law)
        order = np.argsort(-lengths[:count], kind="stable")
        _run_rules(state, lengths[order], codes[order], np.cumsum(law[order], axis=1), symbols)
        rate = lz_rate(symbols)
        if LOW_BAND[0] <= rate <= LOW_BAND[1]:
            contexts = tuple(_spell(int(codes[i]), int(lengths[i])) for i in order)
            return LowEntropyStream(frozen(symbols), rate, attempt, RuleSet(contexts, law[order]))
    raise InputError(
        f"no low-entropy stream of length {length} (seed {seed}, index {index}) had a Lempel-Ziv rate in "
        f"[{LOW_BAND[0]}, {LOW_BAND[1]}] within {max_tries:,} tries; choose another length or seed"
    )


@lru_cache(1024)
def stream_key(seed: int, band: str, length: int) -> np.uint64:
    """Return the key of the family of streams of one band and length."""
    return np.uint64(word(seed, "streams", band, length))


def _spell(code: int, length: int) -> tuple[int, ...]:
    """Return the symbols of a packed context, oldest first."""
    return tuple(code >> 4 * (length - 1 - j) & 15 for j in range(length))


@kernel
def fill_uniform(state: NDArray[np.uint64], out: NDArray[np.uint8]) -> None:
    """Fill `out` with uniform symbols in place, sixteen from each 64-bit draw."""
    n = out.shape[0]
    whole = n - n % 16
    for i in range(0, whole, 16):
        bits = draw(state)
        for j in range(16):
            out[i + j] = np.uint8(bits >> np.uint64(4 * j)) & np.uint8(15)
    if whole < n:
        bits = draw(state)
        for j in range(n - whole):
            out[whole + j] = np.uint8(bits >> np.uint64(4 * j)) & np.uint8(15)


@kernel
def _shuffle(state: NDArray[np.uint64], values: NDArray[np.int64]) -> None:
    for i in range(values.shape[0] - 1, 0, -1):
        j = below(state, i + 1)
        values[i], values[j] = values[j], values[i]


@kernel
def _successor_entropy(top: float, count: int, leftover: float) -> float:
    """Entropy in bits of a law with `count` specified successors: `top`, the others halving, and the even leftover."""
    entropy = -top * math.log2(top) + leftover * math.log2((ALPHABET - count) / leftover)
    rest = 1.0 - leftover - top
    for j in range(1, count):
        share = rest * 0.5**j / (1.0 - 0.5 ** (count - 1))
        if share > 0.0:
            entropy -= share * math.log2(share)
    return entropy


@kernel
def _draw_law(
    state: NDArray[np.uint64],
    active: NDArray[np.int64],
    rule_entropy: float,
    own_symbol: int,
    self_top: float,
    law: NDArray[np.float64],
    tops: NDArray[np.int64],
) -> int:
    """Draw one context's next-symbol law into `law` and its specified successors into `tops`; return how many.

    `active` is shuffled in place: its first symbols are the successors.
    """
    u = unit(state)
    count = 1
    for bound in _SUCCESSOR_BOUNDS:
        count += u >= bound
    leftover = 10.0 ** (LEFTOVER_LOG10[0] + (LEFTOVER_LOG10[1] - LEFTOVER_LOG10[0]) * unit(state))
    target = rule_entropy * math.exp(ENTROPY_SPREAD * normal(state))
    _shuffle(state, active)
    if active[0] == own_symbol and unit(state) >= self_top:  # few symbols lead to themselves: no constant runs
        active[0], active[1] = active[1], active[0]
    top = 1.0 - leftover
    if count > 1:
        target = min(target, math.log2(count))
        low, high = 1.0 / count, 1.0 - leftover
        for _ in range(30):  # the entropy falls as the top probability grows
            top = 0.5 * (low + high)
            if _successor_entropy(top, count, leftover) > target:
                low = top
            else:
                high = top
    for symbol in range(ALPHABET):
        law[symbol] = leftover / (ALPHABET - count)
    rest = 1.0 - leftover - top
    for j in range(count):
        tops[j] = active[j]
        law[active[j]] = rest * 0.5**j / (1.0 - 0.5 ** (count - 1)) if j > 0 else top
    return int(count)


@kernel
def _longest_context(history: int, written: int, lengths: NDArray[np.int64], codes: NDArray[np.int64], n: int) -> int:
    """Return the rule whose context is the longest suffix of the history, or -1."""
    best = -1
    for r in range(n):
        size = lengths[r]
        if (
            size <= written
            and (best < 0 or size > lengths[best])
            and history & (_ALL_ONES >> (32 - 4 * size)) == codes[r]
        ):
            best = r
    return best


@kernel
def _draw_rules(
    state: NDArray[np.uint64],
    mean: float,
    sd: float,
    self_top: float,
    lengths: NDArray[np.int64],
    codes: NDArray[np.int64],
    law: NDArray[np.float64],
) -> int:
    """Draw a rule set into the arrays (packed contexts, full laws) and return the number of rules."""
    rule_entropy = -1.0
    while not ENTROPY_LIMITS[0] <= rule_entropy <= ENTROPY_LIMITS[1]:
        rule_entropy = mean + sd * normal(state)
    symbols = np.empty(ALPHABET, np.int64)
    for symbol in range(ALPHABET):
        symbols[symbol] = symbol
    _shuffle(state, symbols)
    singles = ACTIVE[0] + below(state, ACTIVE[1] - ACTIVE[0] + 1)
    active = symbols[:singles]
    tops = np.empty((_MAX_RULES, len(SUCCESSOR_SHARES)), np.int64)
    counts = np.empty(_MAX_RULES, np.int64)
    for r in range(singles):
        lengths[r] = 1
        codes[r] = active[r]
    rules = singles
    for r in range(singles + EXTRA_CONTEXTS[0] + below(state, EXTRA_CONTEXTS[1] - EXTRA_CONTEXTS[0] + 1)):
        at, own = r, -1
        if r < singles:
            own = codes[r]
        else:
            size = CONTEXT_LENGTHS[0] + below(state, CONTEXT_LENGTHS[1] - CONTEXT_LENGTHS[0] + 1)
            path = active[below(state, singles)]
            for written in range(1, size):  # walk the rules so far, so that the new context can be reached
                rule = _longest_context(path, written, lengths, codes, rules)
                u = unit(state)
                choice = 0
                while choice < counts[rule] - 1 and u >= law[rule, tops[rule, choice]]:
                    u -= law[rule, tops[rule, choice]]
                    choice += 1
                path = path << 4 | tops[rule, choice]
            at = rules
            for known in range(rules):  # a context that is drawn twice gets its law anew
                if lengths[known] == size and codes[known] == path:
                    at = known
            lengths[at] = size
            codes[at] = path
            rules = max(rules, at + 1)
        counts[at] = _draw_law(state, active, rule_entropy, own, self_top, law[at], tops[at])
    return int(rules)


@kernel
def _run_rules(
    state: NDArray[np.uint64],
    lengths: NDArray[np.int64],
    codes: NDArray[np.int64],
    cumulative: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> None:
    """Write a stream of the process into `out`; rules come longest context first."""
    rules = lengths.shape[0]
    history = np.int64(0)
    for t in range(out.shape[0]):
        u = unit(state)
        rule = 0
        while rule < rules and (lengths[rule] > t or history & (_ALL_ONES >> (32 - 4 * lengths[rule])) != codes[rule]):
            rule += 1
        symbol = 0
        if rule == rules:
            symbol = int(u * ALPHABET)
        else:
            while symbol < ALPHABET - 1 and cumulative[rule, symbol] <= u:
                symbol += 1
        out[t] = symbol
        history = (history << 4 | symbol) & _ALL_ONES
