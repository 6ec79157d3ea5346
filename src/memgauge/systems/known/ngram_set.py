"""The exact set of the stream's n-grams: which symbols, pairs or triples occurred, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from memgauge.streams import theory
from memgauge.streams.words import ALPHABET
from memgauge.systems.known.common import FloatArray, check_range
from memgauge.systems.known.filtering import FilteringSystem


@dataclass(frozen=True)
class NgramSet(FilteringSystem):
    """A bitmap of the n-grams that occurred, n = 1, 2 or 3. State: 16^n bits.

    It recalls no order beyond n symbols; what it scores above chance, an accuracy alone does not tell from recall.
    """

    kind: ClassVar[str] = "ngram-set"
    description: ClassVar[str] = "the exact set of n-grams that occurred (n = 1, 2, 3)"

    n: int = field(metadata={"help": "length of the grams: 1, 2 or 3"})

    def __post_init__(self) -> None:
        check_range("n", self.n, 1, 3)

    @property
    def stored(self) -> tuple[int, ...]:
        """The n-grams."""
        return (self.n,)

    @property
    def cells(self) -> int:
        """One bit for each possible n-gram."""
        return int(ALPHABET**self.n)

    def alarm(self, k: int, seen: int) -> float:
        """Return the false-alarm rate of all its n-grams together, taken as independent."""
        return theory.independent_false_alarm(k, self.n, seen, 0.0)

    def alarms(self, length: int) -> FloatArray:
        """Return the false-alarm rates, an n-gram's neighbours taken into account."""
        return theory.false_alarms(self.n, length)

    @property
    def _note(self) -> str:
        return "contexts of a candidate are taken as different, and streams as alike in what they hold"
