"""What the known-answer systems share: how a confidence becomes an abstention, random words, symbols as numbers.

Both paths (question by question, and batched) go through the functions below, so that they answer alike to the last
bit. Arithmetic is counted in integer operations (a comparison, a table access, a hash evaluation), each as 1 FLOP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import Payoff, Question
from memgauge.errors import InputError
from memgauge.streams.theory import MIN_LENGTH, Expected
from memgauge.streams.words import ALPHABET
from memgauge.system import Answer, BatchAnswers, SymbolBatch
from memgauge.systems.spec import format_spec

SYMBOL_BITS = 4
MAX_BITS = 2**31
"""The largest state that a known-answer system is made with: 256 MiB."""

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
WordArray = NDArray[np.uint64]


class Known(ABC):
    """A memory system whose accuracy is known: base of the frozen dataclasses beside this file."""

    kind: ClassVar[str]
    """The registered name."""
    version: ClassVar[int] = 1
    """Raised whenever an answer, a confidence or a cost may change."""
    description: ClassVar[str]

    @property
    def name(self) -> str:
        """The canonical spec: parameters sorted, defaults left out."""
        given = {}
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if field.default is MISSING or value != field.default:
                given[field.name] = value
        return format_spec(self.kind, given)

    def expected_accuracy(self, length: int) -> Expected | None:
        """Return the accuracy on max-entropy streams of `length` symbols with uniform negatives and no payoff.

        None where theory gives none, and for streams shorter than the longest candidate.
        """
        return self._accuracy(length) if length >= MIN_LENGTH else None

    def expected_selective(self, length: int, tau: float) -> tuple[float, float] | None:
        """Return coverage R and correct rate C there when answers must exceed the confidence `tau`; None likewise."""
        return self._selective(length, tau) if length >= MIN_LENGTH else None

    @abstractmethod
    def _accuracy(self, length: int) -> Expected | None:
        """`expected_accuracy` for a length that is long enough."""

    @abstractmethod
    def _selective(self, length: int, tau: float) -> tuple[float, float] | None:
        """`expected_selective` for a length that is long enough."""


def check_range(name: str, value: float, low: float, high: float, why: str = "") -> None:
    """Raise `InputError` unless low <= value <= high (which also refuses NaN)."""
    if not low <= value <= high:
        raise InputError(f"{name} must lie in {low} .. {high}{f' ({why})' if why else ''}, got {value}")


def checked_symbols(symbols: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the symbols, or raise `InputError` if one of them is not in 0 .. 15."""
    if symbols.size and int(symbols.max()) >= ALPHABET:
        raise InputError(f"symbol {int(symbols.max())} is out of range: known-answer systems read symbols 0 .. 15")
    return symbols


def checked_candidate(question: Question) -> NDArray[np.uint8]:
    """Return the candidate's symbols, or raise `InputError` if there is none."""
    if not len(question.candidate):
        raise InputError("the question has no candidate: known-answer systems answer about symbols only")
    return checked_symbols(question.candidate)


def checked_batch(batch: SymbolBatch) -> SymbolBatch:
    """Return the batch, or raise `InputError` if a symbol is out of range or a candidate is empty."""
    checked_symbols(batch.symbols)
    checked_symbols(batch.candidates)
    lengths = batch.candidate_lengths
    if lengths.size and not 1 <= int(lengths.min()) <= int(lengths.max()) <= batch.candidates.shape[2]:
        raise InputError(f"candidate lengths must lie in 1 .. {batch.candidates.shape[2]}")
    return batch


def declines(confidence: Any, payoff: Payoff | None) -> Any:
    """Say where to abstain: under a payoff, unless the confidence is strictly above its break-even. Any shape."""
    return confidence <= (-1.0 if payoff is None else float(payoff.break_even))


def to_answer(value: bool, confidence: float | None, flops_read: int, payoff: Payoff | None) -> Answer:
    """Build the answer to one question; a withheld one keeps the confidence of its guess."""
    withheld = confidence is not None and bool(declines(confidence, payoff))
    return Answer(None if withheld else value, confidence, flops_read)


def to_answers(
    value: BoolArray,
    confidence: FloatArray | None,
    flops_write: IntArray,
    flops_read: IntArray,
    state_bits: IntArray,
    payoff: Payoff | None,
) -> BatchAnswers:
    """Build the answers to a batch, as `to_answer` does for one question."""
    abstain = np.zeros(value.shape, bool) if confidence is None else declines(confidence, payoff)
    return BatchAnswers(value, abstain, confidence, flops_write, flops_read, state_bits)


_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def random_words(keys: WordArray, counter: WordArray | int) -> WordArray:
    """Return one 64-bit word for each key and counter: SplitMix64's output, so any draw can be made alone.

    Shapes broadcast; the result has at least one axis.
    """
    # Arrays wrap around silently, scalars would warn.
    state: WordArray = keys + (np.atleast_1d(np.asarray(counter, np.uint64)) + np.uint64(1)) * _STEP
    state ^= state >> np.uint64(30)
    state *= _MIX[0]
    state ^= state >> np.uint64(27)
    state *= _MIX[1]
    state ^= state >> np.uint64(31)
    return state


def below(words: WordArray, bound: WordArray | int) -> IntArray:
    """Map words to 0 .. bound-1, bound at most 2**32, from their upper halves; the bias is below bound / 2**32."""
    scaled: WordArray = ((words >> np.uint64(32)) * np.asarray(bound, np.uint64)) >> np.uint64(32)
    return scaled.astype(np.int64)


def unit(words: WordArray) -> FloatArray:
    """Map words to [0, 1) with 53 bits."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def seed_words(seed: int) -> WordArray:
    """Return a seed as an array of one word."""
    return np.array([seed % 2**64], np.uint64)


def gram_codes(symbols: NDArray[np.uint8], g: int) -> WordArray:
    """Return the code of every g-gram along the last axis: [..., n] becomes [..., n-g+1] (empty if n < g)."""
    count = max(symbols.shape[-1] - g + 1, 0)
    codes = np.zeros((*symbols.shape[:-1], count), np.uint32)
    for j in range(g):
        codes = (codes << np.uint32(4)) | symbols[..., j : j + count]
    return codes.astype(np.uint64)
