"""The people of a history: a small cast who come up again and again, as in one person's life."""

from __future__ import annotations

from dataclasses import dataclass

from memgauge.histories.building.blueprints.wording import names
from memgauge.histories.building.seeds import rng

CAST = 12
"""People of a history."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody the user knows."""

    first: str
    last: str

    @property
    def name(self) -> str:
        """Both names; questions use this."""
        return f"{self.first} {self.last}"


def draw_cast(seed: int, question: str, size: int = CAST) -> tuple[Person, ...]:
    """Return the people of a history; neither a first nor a last name occurs twice in it.

    >>> people = draw_cast(1, "q_1")
    >>> len(people), len({person.first for person in people})
    (12, 12)
    """
    generator = rng(seed, question, "cast")
    first, last = names()
    return tuple(map(Person, generator.sample(first, size), generator.sample(last, size)))
