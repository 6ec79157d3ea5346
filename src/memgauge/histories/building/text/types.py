"""What the writers, the validators and the judges hand to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from memgauge.errors import unknown_name
from memgauge.histories.building.model import Fact, Turn

Role = Literal["user", "assistant"]
Message = Mapping[str, Any]
"""`role` and `content`, as chat APIs take them; `content` is a text or a list of text and image parts."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a session is about: one leaf of the ontology, as noun phrases that fit into a sentence."""

    sub_attribute: str
    """Id of the sub-attribute, such as `retail`; it chooses the advice (`banks.SUB_ATTRIBUTES`)."""
    say: str
    """Noun phrase, such as "the cereal aisle"."""
    alt: str
    """Another noun phrase for it, such as "breakfast shelves"."""
    subtopic: str
    """Narrower noun phrase without an article, such as "bulk bins"."""
    domain: str = ""
    """Noun phrase of the sub-attribute; empty: the bank's own."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Word ranges of turns (inclusive) and how many exchanges a session has."""

    name: str
    user: tuple[int, int]
    assistant: tuple[int, int]
    exchanges: tuple[int, ...]


PROFILES = {
    "compact": Profile("compact", (8, 60), (70, 140), (5, 6, 7)),
    "paper": Profile("paper", (8, 60), (150, 250), (5, 6, 7)),
}
"""`compact` is the default, about 800 tokens a session; `paper` has the assistant turns of MEMLENS, C.4."""


def profile_named(name: str) -> Profile:
    """Return a profile. Raises `InputError` for an unknown name.

    >>> profile_named("compact").assistant
    (70, 140)
    """
    if name not in PROFILES:
        raise unknown_name("text profile", name, PROFILES)
    return PROFILES[name]


@dataclass(frozen=True, slots=True)
class Plan:
    """The skeleton of one session, drawn before any text and in one way for every role."""

    topic: Topic
    profile: Profile
    date: datetime
    exchanges: int
    carriers: Mapping[int, Fact]
    """Exchange index: the fact that its user turn carries."""
    carrier_first: Mapping[int, bool]
    """Exchange index: whether the fact stands before the topical sentence; never in the first exchange."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One turn that a writer proposes."""

    role: Role
    content: str
    facts: tuple[Fact, ...] = ()
    """The facts that this turn carries (user turns only)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a validator says about a draft."""

    ok: bool
    validator: str = ""
    reason: str = ""
    """Short code, counted in reports, such as `too_short`."""
    hint: str = ""
    """What the writer should do otherwise; never holds what only the picture shows."""


PASSED = Verdict(True)


class Scribe(Protocol):
    """Writes the turns of one planned session, one after the other."""

    def turn(self, turns: Sequence[Turn], hints: Sequence[str]) -> str:
        """Return the text of the next turn: user turn for an even number of `turns`, else assistant turn.

        `hints` are those of the rejected attempts at this turn, none at the first.
        """
        ...
