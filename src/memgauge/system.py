"""The system under test: two operations, write and read, and what they cost.

A memory system is any object with `name` and `start`, whose memories have `write` and one of `read` and `aread`; or one
with `name` and `read_batch`, which answers many episodes at once. The run loop (`memgauge.run`) drives all three.

The shortest system of your own:

>>> class LastSymbols:
...     name = "last-symbols"
...     def start(self, seed):
...         return LastSymbolsMemory()
>>> class LastSymbolsMemory:
...     def __init__(self):
...         self.kept = b""
...     def write(self, observation):
...         self.kept = (self.kept + observation.symbols.tobytes())[-256:]
...     def read(self, question):
...         return Answer(question.candidate.tobytes() in self.kept)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import Observation, Payoff, SymbolArray


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from a read, and what the read cost.

    Give either `value` (True for yes, False for no, a string for tasks that are answered in words, None for an
    abstention) or `raw`, a model's own text, which the task's grader then reads.
    """

    value: bool | str | None = None
    confidence: float | None = None
    """Probability that `value` is right, in [0, 1]; None when the system has no such number."""
    flops_read: int | None = None
    raw: str | None = None
    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    images_in: int | None = None
    t_ans: float | None = None
    """Answer tokens up to the point of commitment (ECCBench, B.3)."""
    flops_write: int | None = None
    """For systems that read the whole stream again for each question: that question's own write (see `rereads`)."""
    evidence: tuple[str, ...] = ()
    retrieved: tuple[str, ...] = ()
    prompt_hash: str | None = None
    refused: str | None = None
    """`too_long`, `filtered` or `empty`, when a server declined to take or to answer the question; `raw` is then what
    the server said."""
    rereads: bool = False
    """Whether the whole stream was read again for this question, so that no write is shared."""
    price: Callable[[Fraction], int] | None = None
    """For a text: FLOPs of the read when it commits after so many answer tokens, which the grader finds out."""
    confidence_at: Callable[[int], float | None] | None = None
    """For a text: the confidence, given the character of `raw` at which the deciding marker opens."""


@dataclass(frozen=True, slots=True)
class WriteCost:
    """What a memory has spent on writing so far, and how large its state is now."""

    flops: int | None = None
    state_bits: int | None = None


class Memory(Protocol):
    """A fresh memory of one episode.

    Beside `write` it has `read(question) -> Answer` or `async aread(question) -> Answer`, and it may have
    `cost() -> WriteCost`. A read that changes the memory must be declared by `reads_mutate = True` on the system: the
    loop then forks the memory (`copy.deepcopy`, or its own `fork()`) before each question.
    """

    def write(self, observation: Observation) -> None:
        """Fold the next observation into the state."""
        ...


class MemorySystem(Protocol):
    """Something that can be gauged: makes a fresh, empty memory for each episode.

    A system may have `notes()`, lines for the reader of the run, and raise `memgauge.errors.RunStoppedError` when no
    question can be answered any more. One that answers through `aread` may also declare `reads_mutate = False`, so that
    each answer is written down at once, `bounds_calls = True`, when it limits its own waiting, and `concurrency`; its
    memories may have `async settle()` (see `memgauge.drive_async`), and itself `async aclose()`. `facts(kind,
    lengths, frame)` returns what `run.json` keeps for the report (a JSON object), `forecast(episode, arms)` what asking
    would take (see `memgauge.systems.models.forecast`).
    """

    @property
    def name(self) -> str:
        """The name in every table, with the parameters that matter."""
        ...

    def start(self, seed: int) -> Memory:
        """Return an empty memory. `seed` is the episode's own: draw from it alone, and runs can be repeated."""
        ...


@dataclass(frozen=True, slots=True)
class SymbolBatch:
    """Episodes of equal length with equally many questions, all asked at the end.

    Shapes: E episodes of L symbols, Q questions each, candidates of at most K symbols.
    """

    symbols: SymbolArray
    """[E, L] uint8."""
    candidates: SymbolArray
    """[E, Q, K] uint8, padded with zeros behind `candidate_lengths`."""
    candidate_lengths: NDArray[np.int64]
    """[E, Q]."""
    episode_seeds: NDArray[np.uint64]
    """[E]: what `start` would have been given."""
    question_seeds: NDArray[np.uint64]
    """[E, Q]: `Question.seed` of each question."""
    payoff: Payoff | None = None
    gold: NDArray[np.bool_] | None = None
    """[E, Q], only for systems that declare `privileged = True`."""


@dataclass(frozen=True, slots=True)
class BatchAnswers:
    """Answers to a `SymbolBatch`: the arrays of `Answer` and `WriteCost`."""

    value: NDArray[np.bool_]
    """[E, Q]: yes or no; the best guess where `abstain` is set."""
    abstain: NDArray[np.bool_]
    """[E, Q]."""
    confidence: NDArray[np.float64] | None = None
    """[E, Q]: probability that `value` is right."""
    flops_write: NDArray[np.int64] | None = None
    """[E]."""
    flops_read: NDArray[np.int64] | None = None
    """[E, Q]."""
    state_bits: NDArray[np.int64] | None = None
    """[E]."""


@runtime_checkable
class BatchSystem(Protocol):
    """A system that answers many episodes at once: backbones, vectorised baselines."""

    @property
    def name(self) -> str:
        """The name in every table, with the parameters that matter."""
        ...

    def read_batch(self, batch: SymbolBatch) -> BatchAnswers:
        """Write each stream into a fresh memory and answer its questions from the final state."""
        ...
