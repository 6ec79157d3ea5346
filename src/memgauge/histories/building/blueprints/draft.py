"""A blueprint in the making: its two generators, its decks, its key, its facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from random import Random
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.blueprints.people import Person
from memgauge.histories.building.blueprints.wording import Pair, compose, sentence
from memgauge.histories.building.model import Blueprint, Fact, ImageSpec, Role, VisualNeed
from memgauge.histories.building.seeds import dealt, rng


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known of a blueprint before its slots are drawn."""

    builder: str
    mode: str
    slots: int
    """Sessions that it needs; each of its facts carries exactly one picture."""
    contrast: int
    """How many of them hold contrast siblings; the others hold evidence."""
    seed: int
    path: tuple[int | str, ...]
    index: int | None
    """Its number among the questions of its builder; None for decoys and refusals."""
    told: bool = False
    """The text says what the pictures show (multi-session items of the paper's profile only)."""
    deck: str = ""
    """Name of its decks: builder, mode, and size where answers depend on it."""
    card: int | None = None
    """Its number among the questions of the same deck."""


@dataclass(frozen=True, slots=True)
class Near:
    """What a hard negative shares with the question of its history: its person or its thing, never both.

    `thing` is the first part of the question's key. A builder that knows no such thing draws its own.
    """

    person: Person | None = None
    thing: str | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a builder does."""

    write: Callable[[Draft], Blueprint]
    modes: tuple[str, ...] = ("",)
    sizes: tuple[int, ...] = (1,)
    """Numbers of sessions, dealt evenly; empty: those of the build's multi-session items."""
    contrast: int = 0
    any_size: frozenset[str] = frozenset()
    """Modes whose answers do not depend on the size, so that one deck serves all sizes."""


@dataclass(slots=True)
class Draft:
    """The working state of one blueprint. What reaches a text is drawn from `text`, all else from `image`."""

    plan: Plan
    id: str
    dates: tuple[datetime, ...]
    used: Set[tuple[str, ...]]
    cast: tuple[Person, ...]
    near: Near
    salt: int
    text: Random = field(init=False)
    image: Random = field(init=False)
    key: tuple[str, ...] = ()
    said: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.text = rng(self.plan.seed, *self.plan.path, "text")
        self.image = rng(self.plan.seed, *self.plan.path, "image", self.salt)

    def answer(self, deck: str, size: int) -> int:
        """Draw an answer, 0 .. size-1: from the build's deck for a question, freely for a decoy or another salt."""
        if self.plan.card is None or self.salt:
            return self.image.randrange(size)
        return dealt(self.plan.seed, f"{self.plan.deck}:{deck}", self.plan.card, size)

    def take(self, pool: Sequence[Pair]) -> tuple[Pair, Person]:
        """Draw a thing and a person whose key the history does not have yet, and make it the blueprint's key."""
        wanted = [pair for pair in pool if pair.id == self.near.thing]
        for _ in range(400):
            thing = wanted[0] if wanted else self.text.choice(pool)
            person = self.near.person or self.text.choice(self.cast)
            if self.claim(thing.id, person):
                return thing, person
        return self._search(pool)

    def claim(self, thing: str, person: Person) -> bool:
        """Make (thing, person) the blueprint's key unless the history already has it."""
        key = (thing, person.name)
        if key in self.used:
            return False
        self.key = key
        return True

    def _search(self, pool: Sequence[Pair]) -> tuple[Pair, Person]:
        """Take any free key, in random order: chance has not found one."""
        free = [(thing, person) for thing in pool for person in self.cast if (thing.id, person.name) not in self.used]
        if not free:
            raise InputError(f"{self.id}: a cast of {len(self.cast)} people has no key left for {self.plan.builder}")
        thing, person = self.text.choice(free)
        self.claim(thing.id, person)
        return thing, person

    def say(self, name: str, **slots: str) -> str:
        """Compose a sentence of the bank `name`, another one than before where chance allows it."""
        text = sentence(compose(name, self.text, slots))
        for _ in range(8):
            if text not in self.said:
                break
            text = sentence(compose(name, self.text, slots))
        self.said.add(text)
        return text

    def phrase(self, name: str, **slots: str) -> str:
        """Compose a part of a sentence."""
        return compose(name, self.text, slots)

    def about(self, thing: Pair, person: Person, how: str = "owned") -> dict[str, str]:
        """Compose the slots that name a thing and its person: `p`, `f` (first name), `e`, and `pe` for both together.

        `how` is "event" for what one does with somebody, "owned" for what is somebody's.
        """
        whole = self.phrase(how, p=person.name, e=thing.said)
        return {"p": person.name, "f": person.first, "e": thing.said, "pe": whole}

    def picture(self, kind: str, **truth: Any) -> ImageSpec:
        """Specify a picture; how it is drawn comes from the image generator."""
        return ImageSpec(kind, truth, self.image.getrandbits(63))

    def fact(
        self,
        index: int,
        text: str,
        picture: ImageSpec,
        *,
        mentions: Mapping[str, Any] | None = None,
        protected: Sequence[str] = (),
        role: Role = "evidence",
    ) -> Fact:
        """Make the fact of slot `index`."""
        return Fact(f"{self.id}/{index}", self.key, text, (picture,), role, dict(mentions or {}), tuple(protected))

    def finish(
        self,
        question: str,
        answer: str,
        facts: Sequence[Fact],
        *,
        ask: Mapping[str, Any],
        space: Sequence[str] = (),
        floor: Fraction = Fraction(0),
        gold: Mapping[str, Any] | None = None,
        critical: Sequence[int] = (0,),
        by_order: Sequence[int] = (),
    ) -> Blueprint:
        """Put the blueprint together. `critical` are the facts whose picture alone can change the answer by value,
        `by_order` those that matter only because they are (or are not) the last."""
        told = self.plan.told
        need: VisualNeed = "sufficient" if told else "essential"
        return Blueprint(
            id=self.id,
            builder=self.plan.builder,
            mode=self.plan.mode,
            key=self.key,
            question=question,
            answer=answer,
            facts=tuple(facts),
            answer_space=tuple(space),
            floor=Fraction(1) if told else floor,
            visual_need=need,
            gold={**(gold or {}), "critical": list(critical), "critical_by_order": list(by_order)},
            ask=dict(ask),
        )
