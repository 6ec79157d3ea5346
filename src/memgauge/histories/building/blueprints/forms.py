"""How values are written: money, counts, lists of things that can be counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from memgauge.histories.building.pictures.entities import NAMES, plural

COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def dollars(cents: int) -> str:
    """Return an amount of integer cents with two decimals.

    >>> dollars(123405)
    '$1,234.05'
    """
    return f"${cents // 100:,}.{cents % 100:02d}"


@cache
def countable() -> tuple[str, ...]:
    """Return the names that have a plural of their own, so that "how many" sounds natural."""
    return tuple(name for name in NAMES if plural(name) != name)


def spread(labels: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Deal labels to anchors (said in questions) and targets (answers), so that no anchor narrows the answers.

    >>> spread(("a", "b", "c", "d"))
    (('a', 'c'), ('b', 'd'))
    """
    return tuple(labels[::2]), tuple(labels[1::2])


def small_numbers(low: int, high: int) -> tuple[str, ...]:
    """Return the numbers low .. high as digits and as words, without the word "one", which is also a pronoun.

    >>> small_numbers(1, 3)
    ('1', '2', 'two', '3', 'three')
    """
    return tuple(form for n in range(low, high + 1) for form in (str(n), COUNTS[n]) if form != "one")


def time_of_day(generator: Random, first: int = 8, last: int = 20) -> str:
    """Draw a time HH:MM of the hours first .. last."""
    return f"{generator.randint(first, last):02d}:{generator.randrange(60):02d}"
