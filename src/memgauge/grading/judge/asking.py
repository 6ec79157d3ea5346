"""Ask a judge about many answers: cached, concurrent, patient with replies that say nothing clear.

The judge is handed in: an async callable from messages to text. It raises `JudgeFailedError` (or an OSError or a
TimeoutError) when it cannot answer. A failure is an outcome of its own, never a verdict and never in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memgauge.grading.judge.cache import JudgeCache, cache_key
from memgauge.grading.judge.prompts import Message, Request, judge_request
from memgauge.grading.judge.verdict import parse_verdict
from memgauge.grading.outcomes import Outcome

Judge = Callable[[Sequence[Message]], Awaitable[str]]
"""From chat messages to the judge's text."""


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


async def judge_all(items: Iterable[JudgeItem], asking: Asking, cache: JudgeCache) -> AsyncIterator[Judged]:
    """Yield what became of each item, in the order in which they are done; items are taken lazily.

    Clear verdicts are kept in the cache as they come, so that a run that was stopped goes on where it was. Two items
    of equal content are asked once if one is done before the other begins.
    """
    source = iter(items)
    running: set[asyncio.Task[Judged]] = set()
    try:
        while True:
            while len(running) < asking.concurrency and (item := next(source, None)) is not None:
                request = judge_request(
                    item.task, item.question, item.reference, item.prediction, old_answer=item.old_answer
                )
                key = cache_key(request.content_key, asking.model, asking.parameters)
                kept = cache.get(key)
                if kept is not None:
                    yield Judged(item.id, Outcome.ANSWERED, kept.value, kept.raw, "cache", 0)
                else:
                    running.add(asyncio.ensure_future(_ask(item, request, key, asking, cache)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _ask(item: JudgeItem, request: Request, key: str, asking: Asking, cache: JudgeCache) -> Judged:
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
        verdict = parse_verdict(raw, request.fence)
        rule = verdict.rule
        if verdict.value is not None:
            cache.put(key, verdict.value, raw)
            return Judged(item.id, Outcome.ANSWERED, verdict.value, raw, rule, attempt)
    if error is not None:
        return Judged(item.id, Outcome.JUDGE_ERROR, None, raw, "the judge failed", asking.attempts, error)
    return Judged(item.id, Outcome.UNPARSED, None, raw, rule, asking.attempts)
