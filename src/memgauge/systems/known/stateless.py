"""Systems without a state: fixed answers, chance, and an oracle that is right as often as it says.

They do no arithmetic, keep no bits, and answer on any task whose answers are yes and no.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from memgauge.episode import Observation, Question
from memgauge.errors import InputError
from memgauge.streams.theory import Expected
from memgauge.system import Answer, BatchAnswers, SymbolBatch, WriteCost
from memgauge.systems.known.common import (
    BoolArray,
    FloatArray,
    Known,
    WordArray,
    check_range,
    random_words,
    seed_words,
    to_answer,
    to_answers,
    unit,
)


class StatelessSystem(Known, ABC):
    """A system that answers without a memory."""

    abstains: ClassVar[bool] = False
    """Whether it always abstains."""

    @property
    def confidence(self) -> float | None:
        """The probability that an answer is right, where it has one."""
        return None

    @abstractmethod
    def decide(self, seeds: WordArray, gold: BoolArray | None) -> BoolArray:
        """Return yes or no for each question's seed; `gold` is there for privileged systems only."""

    def start(self, seed: int) -> StatelessMemory:
        """Return a memory that keeps nothing; answers draw from the questions' seeds."""
        return StatelessMemory(self)

    def read_batch(self, batch: SymbolBatch) -> BatchAnswers:
        """Answer every question of the batch."""
        value = self.decide(batch.question_seeds, batch.gold)
        confidence = None if self.confidence is None else np.full(value.shape, self.confidence)
        nothing = np.zeros(len(value), np.int64)
        answers = to_answers(value, confidence, nothing, np.zeros(value.shape, np.int64), nothing, batch.payoff)
        if self.abstains:
            answers.abstain[:] = True
        return answers

    @property
    @abstractmethod
    def _share(self) -> float:
        """The expected accuracy on balanced questions."""

    def _accuracy(self, length: int) -> Expected:
        return Expected(self._share, exact=True, note="on any stream with as many positives as negatives")

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        if self.abstains or (self.confidence is not None and self.confidence <= tau):
            return 0.0, 0.0
        return 1.0, self._share


class StatelessMemory:
    """A memory that keeps nothing."""

    def __init__(self, system: StatelessSystem) -> None:
        self.system = system

    def write(self, observation: Observation) -> None:
        """Forget the observation."""

    def read(self, question: Question, gold: str | None = None) -> Answer:
        """Answer the question; `gold` (`yes` or `no`) is given to privileged systems only."""
        if gold not in (None, "yes", "no"):
            raise InputError(f"{self.system.name} answers yes and no only, the right answer here is {gold!r}")
        told = None if gold is None else np.array([gold == "yes"])
        value = bool(self.system.decide(seed_words(question.seed), told)[0])
        if self.system.abstains:
            return Answer(None, self.system.confidence, 0)
        return to_answer(value, self.system.confidence, 0, question.payoff)

    def cost(self) -> WriteCost:
        """Return nothing spent, nothing kept."""
        return WriteCost(0, 0)


@dataclass(frozen=True)
class AlwaysYes(StatelessSystem):
    """Says yes."""

    kind: ClassVar[str] = "always-yes"
    description: ClassVar[str] = "says yes to everything"

    def decide(self, seeds: WordArray, gold: BoolArray | None) -> BoolArray:
        """Return yes."""
        return np.ones(seeds.shape, bool)

    @property
    def _share(self) -> float:
        return 0.5


@dataclass(frozen=True)
class AlwaysNo(StatelessSystem):
    """Says no."""

    kind: ClassVar[str] = "always-no"
    description: ClassVar[str] = "says no to everything"

    def decide(self, seeds: WordArray, gold: BoolArray | None) -> BoolArray:
        """Return no."""
        return np.zeros(seeds.shape, bool)

    @property
    def _share(self) -> float:
        return 0.5


@dataclass(frozen=True)
class AlwaysAbstain(StatelessSystem):
    """Never answers, payoff or not; that counts as wrong (about a conversation without the answer, as right)."""

    kind: ClassVar[str] = "always-abstain"
    description: ClassVar[str] = "never answers"
    abstains: ClassVar[bool] = True
    conversations: ClassVar[bool] = True
    """It reads sessions too: to decline needs no symbols."""

    def decide(self, seeds: WordArray, gold: BoolArray | None) -> BoolArray:
        """Return no, which is withheld."""
        return np.zeros(seeds.shape, bool)

    @property
    def _share(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Coin(StatelessSystem):
    """Says yes with probability `p`, drawn from the question's seed. Its confidence is 1/2, whatever p is."""

    kind: ClassVar[str] = "coin"
    description: ClassVar[str] = "says yes with probability p"

    p: float = field(default=0.5, metadata={"help": "probability of yes"})

    def __post_init__(self) -> None:
        check_range("p", self.p, 0, 1)

    @property
    def confidence(self) -> float:
        """One half."""
        return 0.5

    def decide(self, seeds: WordArray, gold: BoolArray | None) -> BoolArray:
        """Return yes with probability p."""
        return _draw(seeds, b"coin") < self.p

    @property
    def _share(self) -> float:
        return 0.5


@dataclass(frozen=True)
class Oracle(StatelessSystem):
    """Is told the right answer and gives it with probability `accuracy`, else the other one.

    Privileged: no memory system. It serves to test what is computed from responses.
    """

    kind: ClassVar[str] = "oracle"
    description: ClassVar[str] = "PRIVILEGED: is told the right answer, and gives it with a known probability"
    privileged: ClassVar[bool] = True

    accuracy: float = field(default=0.9, metadata={"help": "probability of the right answer"})

    def __post_init__(self) -> None:
        check_range("accuracy", self.accuracy, 0, 1)

    @property
    def confidence(self) -> float:
        """Its accuracy."""
        return self.accuracy

    def decide(self, seeds: WordArray, gold: BoolArray | None) -> BoolArray:
        """Return the right answer with the given probability."""
        if gold is None:
            raise InputError("the oracle is privileged: it must be told the right answer (gold)")
        return gold ^ (_draw(seeds, b"oracle") >= self.accuracy)

    @property
    def _share(self) -> float:
        return self.accuracy


def _draw(seeds: WordArray, label: bytes) -> FloatArray:
    """Return a number in [0, 1) for each seed, different for each label."""
    return unit(random_words(seeds, int.from_bytes(label, "big")))
