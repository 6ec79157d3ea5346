"""The vocabulary of experience: observations in order, then the queries about them.

What a system under test may see (`Observation`, `Question`) is kept apart from what only the instrument knows
(`Query.gold`, `Query.age`, `Episode.length`): the run loop hands over the former and keeps the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

ObservationKind = Literal["symbols", "text", "frame", "session", "fact"]
SymbolArray = NDArray[np.uint8]
NO_SYMBOLS: SymbolArray = np.empty(0, np.uint8)
NO_SYMBOLS.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Payoff:
    """What a right and a wrong answer earn; declining earns 0 (ECCBench, B.8).

    >>> Payoff("B", right=1, wrong=4).break_even
    Fraction(4, 5)
    """

    name: str
    right: int
    wrong: int
    """Points lost by a wrong answer (a positive number)."""

    @property
    def break_even(self) -> Fraction:
        """Confidence above which answering pays: tau = lambda / (1 + lambda) with lambda = wrong / right."""
        return Fraction(self.wrong, self.right + self.wrong)


ARMS: dict[str, Payoff | None] = {"none": None, "A": Payoff("A", 3, 1), "B": Payoff("B", 1, 4)}
"""The payoff arms of ECCBench, B.8, and `none`: the question without a payoff."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a conversation; its bytes are read when somebody looks."""

    name: str
    """Tells pictures apart and says nothing else: never a path, since folders can give the evidence away."""
    open: Callable[[], bytes]
    """The encoded picture (PNG, JPEG, WebP or GIF), upright. Raises `InputError` where it cannot be had."""
    size: int | None = None
    """Bytes, where they are known without opening it."""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation. Its text holds one `<image>` for each picture, in order."""

    role: Literal["user", "assistant"]
    content: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing to be written: a block of symbols, a text, a frame, a dated session, or a dated fact.

    Text and image are made on demand, so that a long episode costs nothing until somebody looks.
    """

    kind: ObservationKind
    symbols: SymbolArray = field(default_factory=lambda: NO_SYMBOLS)
    """The symbols that it shows, shape [n]; empty where the task has none. Read-only."""
    lanes: SymbolArray = field(default_factory=lambda: NO_SYMBOLS)
    """For frames: the conveyor belt of each symbol, shape [n]; empty elsewhere. Read-only."""
    render_text: Callable[[], str] | None = None
    render_image: Callable[[], bytes] | None = None
    date: str | None = None
    """For sessions and facts: when it was said."""
    turns: Sequence[Turn] = ()
    """For sessions and facts: what was said, in order."""

    @property
    def text(self) -> str:
        """The observation in words; comma-separated integers for a block of symbols."""
        if self.turns and self.render_text is None:
            return "\n".join(f"[{turn.role.capitalize()}]: {turn.content}" for turn in self.turns)
        return self.render_text() if self.render_text is not None else ", ".join(map(str, self.symbols.tolist()))

    @property
    def image(self) -> bytes:
        """The frame as encoded image bytes. Raises `ValueError` for an observation without a picture."""
        if self.render_image is None:
            raise ValueError(f"an observation of kind {self.kind!r} has no picture; read .text or .symbols")
        return self.render_image()


@dataclass(frozen=True, slots=True)
class Question:
    """What a system is asked: did this candidate occur, or a question in words. It carries no gold."""

    candidate: SymbolArray
    """The candidate's symbols, shape [k]; empty where the task asks in words."""
    payoff: Payoff | None = None
    """What a right and a wrong answer earn, when the arm says so."""
    seed: int = 0
    """For systems that draw: the same for the same question, whatever was asked before it."""
    words: str | None = None
    lanes: SymbolArray = field(default_factory=lambda: NO_SYMBOLS)
    """For video: the conveyor belt of each symbol of the candidate, shape [k]; empty elsewhere."""
    clip: Sequence[Observation] = ()
    """For video: the candidate as frames."""
    date: str | None = None
    """For conversations: when it is asked."""
    reasoning: bool = False
    """For conversations: whether the system is asked to reason in writing before it answers."""

    @property
    def text(self) -> str:
        """The question in words; the candidate as comma-separated integers when the task gives none."""
        return self.words if self.words is not None else ", ".join(map(str, self.candidate.tolist()))


@dataclass(frozen=True, slots=True)
class Query:
    """A question with what only the instrument knows."""

    id: str
    """Unique within the episode."""
    question: Question
    gold: str
    """The right answer: `yes` or `no` for ECC tasks."""
    age: float | None = None
    """How long before the question the evidence was written; None where there is none (negatives)."""
    age_unit: str | None = None
    at: int | None = None
    """How many observations have been written when it is asked; None means all of them."""
    negatives: str | None = None
    """How false candidates were drawn: `uniform` or `matched`."""
    subtype: str | None = None
    variant: str | None = None
    kind: str | None = None
    """A finer kind than the subtype, where the data name one."""
    visual_need: str | None = None
    """How much the answer needs a picture, where the data say so."""
    age_days: float | None = None
    """`age` in days, for observations that have dates."""
    old_answer: str | None = None
    """For a knowledge update: the answer that no longer holds, where it is known."""
    grade: Callable[[object], Any] | None = None
    """From what `read` returned to `memgauge.grading.answers.Graded`; None: the rules of yes/no membership."""
    rules: str = ""
    """Names all of `grade` and of how the question is put that may change a row; part of the row's key."""


@dataclass(frozen=True, slots=True)
class Episode:
    """Observations in order, then the queries about them.

    `observations` is any sequence, so that a task can make each one when it is reached. `fingerprint` is a hash of all
    that is observed (not of the queries): rows are keyed by it, so that equal episodes resume wherever they came from.
    """

    id: str
    task: str
    split: str
    """Entropy band or ability."""
    length: int
    """In the units of the task (symbols, frames, sessions, tokens). Never told to a system."""
    observations: Sequence[Observation]
    queries: tuple[Query, ...]
    fingerprint: str
    subtype: str | None = None
