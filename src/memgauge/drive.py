"""Drive a system through an episode: write the observations, ask the questions, keep what goes wrong to its episode.

Three ways of answering, one meaning: `read` (on a thread that can be left behind when it hangs), `aread` (concurrent)
and `read_batch` (many episodes at once). Whatever a system raises or returns, the run goes on and the row says so.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import ARMS, Episode, Query, Question, SymbolArray
from memgauge.errors import InputError, RunStoppedError
from memgauge.grading.answers import not_a_count
from memgauge.system import BatchAnswers, SymbolBatch, WriteCost
from memgauge.tasks import Blocks, hash_words

Mode = Literal["batch", "read", "aread"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question to ask: a query of the episode under one arm, and the key of its row."""

    query: Query
    arm: str
    """A name of `memgauge.episode.ARMS`, or an ablation of a conversation, which carries no payoff."""
    key: str

    @property
    def question(self) -> Question:
        """What the system is told."""
        payoff = ARMS.get(self.arm)
        return self.query.question if payoff is None else replace(self.query.question, payoff=payoff)


@dataclass(frozen=True, slots=True)
class Asked:
    """What came back for one question: whatever `read` returned, or the error."""

    wanted: Wanted
    returned: object = None
    error: str | None = None
    written: WriteCost = field(default_factory=WriteCost)
    seconds_write: float | None = None
    seconds_read: float | None = None


def _first_memory(system: Any, timeout: float) -> Any:
    """Make one memory, to see how it answers. Raises `InputError` when that fails or takes over `timeout` seconds."""
    made: list[Any] = []
    problem = f"took over {timeout:g} s"

    def work() -> None:
        nonlocal problem
        try:
            made.append(system.start(0))
        except BaseException as error:  # noqa: BLE001 - this thread runs the system alone; the reason is raised below
            problem = f"raised {describe(error)}"

    thread = threading.Thread(target=work, daemon=True, name="memgauge start")
    thread.start()
    thread.join(timeout)
    if not made:
        raise InputError(f"{type(system).__name__}.start {problem}")
    return made[0]


def mode_of(system: Any, timeout: float = 300.0) -> Mode:
    """Say how a system answers. Raises `InputError` for an object that is no memory system."""
    if callable(getattr(system, "read_batch", None)):
        return "batch"
    if not callable(getattr(system, "start", None)):
        raise InputError(
            f"{type(system).__name__} is no memory system: it needs start(seed) -> memory with write and read "
            "(or aread), or read_batch"
        )
    memory = _first_memory(system, timeout)
    if not callable(getattr(memory, "write", None)):
        raise InputError(f"{type(memory).__name__} (made by {type(system).__name__}.start) has no write(observation)")
    if callable(getattr(memory, "aread", None)):
        return "aread"
    if callable(getattr(memory, "read", None)):
        return "read"
    raise InputError(
        f"{type(memory).__name__} (made by {type(system).__name__}.start) has neither read(question) nor "
        "aread(question)"
    )


def describe(error: BaseException) -> str:
    """Return type and text of an exception on one line."""
    text = " ".join(str(error).split()).encode("utf-8", "replace").decode()
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def episode_seed(episode: Episode) -> int:
    """Return the seed that `start` gets for this episode: a function of what is observed alone."""
    return hash_words(episode.fingerprint.encode(), b"episode")


def by_point(wanted: Sequence[Wanted], observations: int) -> list[tuple[int, list[Wanted]]]:
    """Group questions by the number of observations written when they are asked, earliest first."""
    groups: dict[int, list[Wanted]] = {}
    for item in wanted:
        point = observations if item.query.at is None else min(item.query.at, observations)
        groups.setdefault(point, []).append(item)
    return sorted(groups.items())


def fork(memory: Any) -> Any:
    """Copy a memory: its own `fork()` where it has one, else a deep copy."""
    own = getattr(memory, "fork", None)
    return own() if callable(own) else copy.deepcopy(memory)


class MutationCheck:
    """Tells whether reads changed a memory whose system does not declare `reads_mutate`.

    The state is compared by the hash of its pickle (written, never read back) or by the memory's own `fingerprint()`.
    A state that cannot be pickled, or takes over `patience` seconds, is no longer checked: `unchecked` says why.
    """

    def __init__(self, patience: float = 1.0) -> None:
        self.patience = patience
        self.unchecked: str | None = None

    def digest(self, memory: Any) -> bytes | None:
        """Return a hash of the state, or None where it cannot be told."""
        if self.unchecked:
            return None
        started = time.monotonic()
        own = getattr(memory, "fingerprint", None)
        try:
            data = str(own()).encode() if callable(own) else pickle.dumps(memory, protocol=5)
        except Exception as error:  # noqa: BLE001 - pickling runs the user's code; the reason is kept and reported
            self.unchecked = f"its state cannot be compared ({describe(error)})"
            return None
        if time.monotonic() - started > self.patience:
            self.unchecked = f"comparing its state takes over {self.patience:g} s"
        return hashlib.blake2b(data, digest_size=16).digest()


MUTATED = (
    "reads changed the memory, so answers depend on the order of questions; declare reads_mutate = True on the system "
    "(each question then gets a fork of the memory)"
)


def cost_of(memory: Any) -> WriteCost:
    """Ask a memory what its writes have cost; a memory without `cost` says nothing."""
    tell = getattr(memory, "cost", None)
    cost = tell() if callable(tell) else WriteCost()
    if not isinstance(cost, WriteCost):
        raise TypeError(f"cost() returned {type(cost).__name__} instead of memgauge.WriteCost")
    for name in ("flops", "state_bits"):
        problem = not_a_count(f"WriteCost.{name}", getattr(cost, name))
        if problem is not None:
            raise TypeError(problem)
    return cost


@dataclass(slots=True)
class _Watched:
    """What the watching thread knows of the working one."""

    call: str = "start"
    since: float | None = None
    finished: list[Asked] = field(default_factory=list)
    abandoned: bool = False
    stopped: RunStoppedError | None = None


def ask_reading(
    system: Any, episode: Episode, wanted: Sequence[Wanted], *, timeout: float, check: MutationCheck
) -> tuple[list[Asked], RunStoppedError | None]:
    """Write an episode into a fresh memory and ask `wanted` through `read`.

    Works on a thread of its own: a call that takes over `timeout` seconds is left behind, its question and those that
    were to follow become errors that name the call. Where the system says that the run must stop, what was answered
    before comes back with its reason.
    """
    watched = _Watched()
    thread = threading.Thread(
        target=_work, args=(system, episode, wanted, watched, check), daemon=True, name=f"memgauge {episode.id}"
    )
    thread.start()
    while thread.is_alive():
        thread.join(min(0.2, timeout))
        since = watched.since
        if thread.is_alive() and since is not None and time.monotonic() - since > timeout:
            watched.abandoned = True
            problem = f"{watched.call} took over {timeout:g} s and was left behind"
            answered = list(watched.finished)
            return answered + failed(wanted, answered, problem), None
    if watched.stopped is None:
        watched.finished.extend(failed(wanted, watched.finished, f"{watched.call} ended without an answer"))
    return watched.finished, watched.stopped


def failed(wanted: Sequence[Wanted], answered: Sequence[Asked], problem: str) -> list[Asked]:
    """Give every question that has no answer yet the error `problem`."""
    done = {item.wanted.key for item in answered}
    return [Asked(item, error=problem) for item in wanted if item.key not in done]


def _work(system: Any, episode: Episode, wanted: Sequence[Wanted], watched: _Watched, check: MutationCheck) -> None:
    """Write and read one episode; every exception becomes the error of the questions that it keeps from an answer."""

    def timed(call: str, action: Callable[[], Any]) -> tuple[Any, float]:
        watched.call, watched.since = call, time.monotonic()
        started = time.perf_counter()
        result = action()
        seconds = time.perf_counter() - started
        watched.since = None
        return result, seconds

    try:
        memory, _ = timed("start", lambda: system.start(episode_seed(episode)))
        mutates = bool(getattr(system, "reads_mutate", False))
        privileged = bool(getattr(system, "privileged", False))
        written, spent = 0, 0.0
        for point, group in by_point(wanted, len(episode.observations)):
            for index in range(written, point):
                observation = episode.observations[index]
                _, seconds = timed(f"write {index + 1}", lambda o=observation: memory.write(o))  # type: ignore[misc]
                spent += seconds
            written = point
            cost, _ = timed("cost", lambda: cost_of(memory))
            before = None if mutates else timed("fingerprint", lambda: check.digest(memory))[0]
            first = len(watched.finished)
            for item in group:
                extra = {"gold": item.query.gold} if privileged else {}
                try:
                    reader = timed("fork", lambda: fork(memory))[0] if mutates else memory
                    returned, seconds = timed(
                        f"read of {item.query.id}",
                        lambda r=reader, i=item, e=extra: r.read(i.question, **e),  # type: ignore[misc]
                    )
                    result = Asked(item, returned, None, cost, spent, seconds)
                except RunStoppedError:
                    raise
                except BaseException as error:  # noqa: BLE001 - this thread runs the system alone: its failure, its row
                    watched.since = None
                    call = "read" if watched.call.startswith("read") else watched.call
                    result = Asked(item, error=f"{call} raised {describe(error)}", written=cost, seconds_write=spent)
                if watched.abandoned:
                    return
                watched.finished.append(result)
            if before is not None and check.digest(memory) not in (before, None):
                watched.finished[first:] = [replace(a, returned=None, error=MUTATED) for a in watched.finished[first:]]
                watched.finished.extend(failed(wanted, watched.finished, MUTATED))
                return
    except RunStoppedError as error:
        watched.stopped = error
    except BaseException as error:  # noqa: BLE001 - this thread runs the system alone: its failure, the episode's rows
        if not watched.abandoned:
            watched.finished.extend(failed(wanted, watched.finished, f"{watched.call} raised {describe(error)}"))


Work = tuple[Episode, list[Wanted]]
"""An episode and those of its questions that are to be asked."""


def batchable(episode: Episode) -> bool:
    """Say whether an episode can go into a `SymbolBatch`: symbols only, every question asked at the end."""
    return all(q.at is None and len(q.question.candidate) for q in episode.queries) and (
        isinstance(episode.observations, Blocks)
        or all(o.kind in ("symbols", "text") and len(o.symbols) for o in episode.observations)
    )


def whole_stream(episode: Episode) -> SymbolArray:
    """Return all symbols of an episode, shape [length]."""
    if isinstance(episode.observations, Blocks):
        return episode.observations.symbols
    return np.concatenate([observation.symbols for observation in episode.observations])


def stack(episodes: Sequence[Episode], arm: str, privileged: bool) -> SymbolBatch:
    """Stack episodes of equal length and question count into a batch."""
    first = episodes[0]
    widest = max(len(q.question.candidate) for e in episodes for q in e.queries)
    shape = (len(episodes), len(first.queries))
    candidates = np.zeros((*shape, widest), np.uint8)
    lengths = np.zeros(shape, np.int64)
    seeds = np.zeros(shape, np.uint64)
    gold = np.zeros(shape, np.bool_)
    for e, episode in enumerate(episodes):
        for q, query in enumerate(episode.queries):
            candidate = query.question.candidate
            candidates[e, q, : len(candidate)] = candidate
            lengths[e, q] = len(candidate)
            seeds[e, q] = query.question.seed
            gold[e, q] = query.gold == "yes"
    return SymbolBatch(
        symbols=np.stack([whole_stream(e) for e in episodes]),
        candidates=candidates,
        candidate_lengths=lengths,
        episode_seeds=np.array([episode_seed(e) for e in episodes], np.uint64),
        question_seeds=seeds,
        payoff=ARMS.get(arm),
        gold=gold if privileged else None,
    )


def ask_batch(system: Any, batch: SymbolBatch, *, timeout: float) -> BatchAnswers | str:
    """Ask through `read_batch`; what goes wrong (an exception, a hang, a malformed result) comes back as its text."""
    outcome: list[BatchAnswers | RunStoppedError | str] = []

    def work() -> None:
        try:
            answers = system.read_batch(batch)
            outcome.append(malformed(answers, batch.candidate_lengths.shape) or answers)
        except RunStoppedError as error:
            outcome.append(error)
        except BaseException as error:  # noqa: BLE001 - this thread runs the system alone: its failure, its rows
            outcome.append(f"read_batch raised {describe(error)}")

    thread = threading.Thread(target=work, daemon=True, name="memgauge batch")
    thread.start()
    thread.join(timeout)
    if not outcome:
        return f"read_batch took over {timeout:g} s and was left behind"
    if isinstance(outcome[0], RunStoppedError):
        raise outcome[0]
    return outcome[0]


def malformed(answers: object, shape: tuple[int, ...]) -> str | None:
    """Say what is wrong with what `read_batch` returned, or None."""
    if not isinstance(answers, BatchAnswers):
        return f"read_batch returned {type(answers).__name__} instead of memgauge.BatchAnswers"
    wanted: dict[str, tuple[tuple[int, ...], str]] = {
        "value": (shape, "b"),
        "abstain": (shape, "b"),
        "confidence": (shape, "f"),
        "flops_write": (shape[:1], "iu"),
        "flops_read": (shape, "iu"),
        "state_bits": (shape[:1], "iu"),
    }
    for name, (expected, kinds) in wanted.items():
        array: NDArray[Any] | None = getattr(answers, name)
        if array is None and name not in ("value", "abstain"):
            continue
        if not isinstance(array, np.ndarray) or array.shape != expected or array.dtype.kind not in kinds:
            got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            return f"read_batch returned {name} as {got}; it is an array of shape {expected} and kind {kinds!r}"
        if kinds == "iu" and array.size and (array.min() < 0 or array.max() >= 2**63):
            return f"read_batch returned a {name} outside 0 .. 2^63-1"
    if answers.confidence is not None and not ((answers.confidence >= 0) & (answers.confidence <= 1)).all():
        return "read_batch returned a confidence outside [0, 1]"
    return None
