"""What the stages of the construction pipeline hand to each other.

Order of the stages: timeline -> blueprint (facts with pictures, question, answer) -> session -> history -> export.
Text is drawn first, then the answer, then the picture, each from a generator of its own, so that text and answer are
independent by construction (see `Streams`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal

Role = Literal["evidence", "contrast", "decoy"]
VisualNeed = Literal["essential", "supportive", "sufficient"]

TYPES: dict[str, str] = {
    "ie": "information_extraction",
    "msr": "multi_session_reasoning",
    "tr": "temporal_reasoning",
    "ku": "knowledge_update",
    "ar": "answer_refusal",
}
"""Prefix of a builder's name: `question_type` of the released records."""

BUILDERS: dict[str, str] = {
    "ie_disambiguation": "entity",
    "ie_alignment": "entity",
    "ie_counting": "entity",
    "ie_spatial": "entity",
    "ie_arithmetic": "entity",
    "ie_chat": "previnfo",
    "ie_app": "previnfo",
    "ie_photo": "previnfo",
    "msr_arithmetic": "arithmetic",
    "msr_counting": "counting",
    "msr_entity": "entity_resolution",
    "tr_duration": "duration_comparison",
    "tr_order": "order_ranking",
    "tr_date_b": "temporal_info_extraction",
    "tr_date_c": "temporal_info_extraction",
    "tr_date_d": "temporal_info_extraction",
    "ku_update": "knowledge_update",
}
"""The 17 answerable builders and the subtype that other tools call them by. Answer refusal (`ar`) takes any of them and
removes its evidence."""

REFUSAL_GOLD = "NOT_MENTIONED"


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """A picture to be drawn: `truth` says everything that it shows, `seed` only how (place, theme, font, tilt)."""

    kind: str
    """A name of `pictures.KINDS`."""
    truth: Mapping[str, Any]
    """JSON values; the fields of each kind stand in `pictures.kinds`. Money in integer cents, dates as YYYY-MM-DD."""
    seed: int


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement of a user with its pictures: what a session carries."""

    id: str
    """Unique in a history: the blueprint's id and its index."""
    key: tuple[str, ...]
    """(event, person) or (kind, object, owner); a question is answered by exactly one key of a history."""
    text: str
    """One or two sentences of the user for the date of its session, with one `<image>` for each picture."""
    images: tuple[ImageSpec, ...]
    role: Role
    mentions: Mapping[str, Any] = field(default_factory=dict)
    """Values that the text states, for the solver; JSON values."""
    protected: tuple[str, ...] = ()
    """What no other text of the session may say (names, aliases, the answer in open answer spaces)."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A question with its answer and all of its facts, complete; as a decoy only its facts are used."""

    id: str
    builder: str
    mode: str
    """Variant within the builder, such as `yes_no`, or an empty string."""
    key: tuple[str, ...]
    question: str
    answer: str
    facts: tuple[Fact, ...]
    """In chain order; facts[i] stands in the i-th of the slots that the blueprint was built for."""
    answer_space: tuple[str, ...]
    """Every possible answer where they are at most 200, else empty."""
    floor: Fraction
    """Share right of the best guess from the text alone; 0 for open answer spaces."""
    visual_need: VisualNeed
    gold: Mapping[str, Any] = field(default_factory=dict)
    """Structured truth of the answer (tuple of sessions, cents, date), JSON values, for the sidecar."""
    ask: Mapping[str, Any] = field(default_factory=dict)
    """What the question asks, structured (object, relation, names), JSON values: all that the solver needs of it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `facts` are the ids of the facts it carries (never exported)."""

    role: Literal["user", "assistant"]
    content: str
    images: tuple[ImageSpec, ...] = ()
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """Turns of one day. `slot` is its place in the history's timeline; a filler has no pictures."""

    id: str
    slot: int
    date: datetime
    turns: tuple[Turn, ...]
    kind: Literal["picture", "filler"]


@dataclass(frozen=True, slots=True)
class History:
    """A question with its sessions at the largest length, and which of them each length holds."""

    question_id: str
    blueprint: Blueprint
    question: str
    answer: str
    question_date: datetime
    sessions: tuple[Session, ...]
    """By slot; all lengths are nested in it."""
    members: Mapping[str, tuple[str, ...]]
    """Length name (`32k`): ids of its sessions, by slot."""
    cut: Mapping[str, tuple[str, int]]
    """Length name: the filler that is cut there, and how many of its turns remain."""
    evidence: tuple[str, ...]
    """Ids of the sessions that hold evidence; empty for answer refusal."""
    contrast: tuple[str, ...]
