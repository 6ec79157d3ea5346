"""Ask a judge about many answers: cached, concurrent, patient with replies that say nothing clear.

The judge is handed in: an async callable from messages to text. It raises `JudgeFailedError` (or an OSError or a
TimeoutError) when it cannot answer. A failure is an outcome of its own, never a verdict and never in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from memgauge.grading.judge.cache import JudgeCache, key_maker
from memgauge.grading.judge.prompts import Message, Request, judge_request
from memgauge.grading.judge.verdict import parse_verdict
from memgauge.grading.outcomes import Outcome

Judge = Callable[[Sequence[Message]], Awaitable[str]]
"""From chat messages to the judge's text."""

Item = TypeVar("Item")
Value = TypeVar("Value")


class JudgeFailedError(Exception):
    """Raised by a judge that cannot answer: a refused request, an error page, a budget that is used up."""


@dataclass(frozen=True, slots=True)
class JudgeItem:
    """One answer to be judged; `id` comes back with the verdict."""

    id: str
    task: str
    question: str
    reference: str
    prediction: str
    old_answer: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one item."""

    id: str
    outcome: Outcome
    """`answered` with a verdict; `unparsed` or `judge_error` without one."""
    value: int | None
    raw: str | None
    """The judge's last text."""
    rule: str
    attempts: int
    """How often the judge was asked; 0 where the cache knew."""
    error: str | None = None

    @property
    def cached(self) -> bool:
        """Whether the cache knew."""
        return self.attempts == 0


@dataclass(frozen=True, slots=True)
class Asking:
    """A judge and how it is asked."""

    judge: Judge
    model: str
    """The judge model's id, part of the cache key."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Sampling settings, part of the cache key."""
    concurrency: int = 8
    attempts: int = 3
    """How often an item is asked, when replies are unclear or fail."""
    wait_s: float = 1.0
    """Before the second attempt after a failure; doubled each time. An unclear reply is asked again at once."""

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.attempts < 1:
            raise ValueError("concurrency and attempts must be at least 1")


@dataclass(frozen=True, slots=True)
class Read(Generic[Value]):
    """What a reader found in a judge's text."""

    value: Value | None
    """None where the text says nothing clear."""
    rule: str


@dataclass(frozen=True, slots=True)
class Heard(Generic[Item, Value]):
    """What became of one request."""

    item: Item
    value: Value | None
    raw: str | None
    rule: str
    attempts: int
    error: str | None = None


class Store(Protocol[Value]):
    """Keeps clear replies by key."""

    def find(self, key: str) -> tuple[Value, str] | None:
        """Return the value and the text it was read from, or None."""
        ...

    def keep(self, key: str, value: Value, raw: str) -> None:
        """Keep a clear reply."""
        ...


async def ask_all(
    items: Iterable[tuple[Item, Request]],
    read: Callable[[str, Request], Read[Value]],
    asking: Asking,
    store: Store[Value],
) -> AsyncGenerator[Heard[Item, Value], None]:
    """Ask a judge each request; yield what became of it, in the order in which they are done.

    Items are taken lazily. What `read` finds clear is kept in the store as it comes, so that a run that was stopped
    goes on where it was. Two requests of equal content are asked once if one is done before the other begins.
    """
    source = iter(items)
    make_key = key_maker(asking.model, asking.parameters)
    running: set[asyncio.Task[Heard[Item, Value]]] = set()
    try:
        while True:
            while len(running) < asking.concurrency and (taken := next(source, None)) is not None:
                item, request = taken
                key = make_key(request.content_key)
                kept = store.find(key)
                if kept is not None:
                    yield Heard(item, kept[0], kept[1], "cache", 0)
                else:
                    running.add(asyncio.ensure_future(_ask(item, request, key, read, asking, store)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _ask(
    item: Item,
    request: Request,
    key: str,
    read: Callable[[str, Request], Read[Value]],
    asking: Asking,
    store: Store[Value],
) -> Heard[Item, Value]:
    raw = error = None
    rule = "no reply"
    wait = asking.wait_s
    for attempt in range(1, asking.attempts + 1):
        try:
            raw = await asking.judge(request.messages)
        except (JudgeFailedError, OSError, TimeoutError) as failure:
            error = f"{type(failure).__name__}: {failure}"[:500]
            if attempt < asking.attempts and wait > 0:
                await asyncio.sleep(wait)
                wait *= 2
            continue
        error = None
        found = read(raw, request)
        rule = found.rule
        if found.value is not None:
            store.keep(key, found.value, raw)
            return Heard(item, found.value, raw, rule, attempt)
    if error is not None:
        return Heard(item, None, raw, "the judge failed", asking.attempts, error)
    return Heard(item, None, raw, rule, asking.attempts)


async def judge_all(items: Iterable[JudgeItem], asking: Asking, cache: JudgeCache) -> AsyncGenerator[Judged, None]:
    """Yield the verdict on each item, as `ask_all` yields it: clear ones are kept, the others have an outcome."""
    requests = ((item, _request(item)) for item in items)
    heard = ask_all(requests, _verdict, asking, cache)
    try:
        async for one in heard:
            if one.value is not None:
                outcome = Outcome.ANSWERED
            else:
                outcome = Outcome.UNPARSED if one.error is None else Outcome.JUDGE_ERROR
            yield Judged(one.item.id, outcome, one.value, one.raw, one.rule, one.attempts, one.error)
    finally:
        await heard.aclose()


def _request(item: JudgeItem) -> Request:
    return judge_request(item.task, item.question, item.reference, item.prediction, old_answer=item.old_answer)


def _verdict(raw: str, request: Request) -> Read[int]:
    verdict = parse_verdict(raw, request.fence)
    return Read(verdict.value, verdict.rule)
