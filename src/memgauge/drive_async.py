"""Drive a system that answers asynchronously through many episodes at once."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memgauge.drive import (
    MUTATED,
    Asked,
    MutationCheck,
    Wanted,
    Work,
    by_point,
    cost_of,
    describe,
    episode_seed,
    failed,
    fork,
)
from memgauge.episode import Episode
from memgauge.errors import RunStoppedError
from memgauge.system import WriteCost

_Item = tuple[Episode, list[Asked]]
"""Answers about one episode."""


@dataclass(slots=True)
class _Asking:
    """One episode on its way through `aread`."""

    system: Any
    episode: Episode
    wanted: Sequence[Wanted]
    timeout: float | None
    check: MutationCheck
    slots: asyncio.Semaphore
    deliver: Callable[[list[Asked]], None]
    call: str = "start"
    finished: list[Asked] = field(default_factory=list)
    stopped: RunStoppedError | None = None

    @property
    def at_once(self) -> bool:
        """Whether each answer is handed over as it comes: where the system declares that its reads change nothing."""
        return getattr(self.system, "reads_mutate", None) is False

    def hand(self, answers: Sequence[Asked]) -> None:
        """Take answers as finished; hand them over now, or with the others at the end."""
        self.finished += answers
        if self.at_once and answers:
            self.deliver(list(answers))

    async def run(self) -> None:
        """Write and read the episode, and hand over one `Asked` a question. Raises `RunStoppedError` after that."""
        problem = None
        try:
            problem = await self._write_and_read()
        except RunStoppedError as error:
            self.stopped = error
        except TimeoutError:
            problem = f"{self.call} took over {self.timeout:g} s"
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - told by the episode's rows
            _let_cancel(error)
            problem = f"{self.call} raised {describe(error)}"
        if problem is not None:
            self.hand(failed(self.wanted, self.finished, problem))
        if not self.at_once:
            self.deliver(self.finished)
        if self.stopped is not None:
            raise self.stopped

    async def _write_and_read(self) -> str | None:
        """Do the work; returns what is wrong with the whole episode, if anything is."""
        mutates = bool(getattr(self.system, "reads_mutate", False))
        memory = self.system.start(episode_seed(self.episode))
        written, spent = 0, 0.0
        for point, group in by_point(self.wanted, len(self.episode.observations)):
            for index in range(written, point):
                self.call = f"write {index + 1}"
                started = time.perf_counter()
                pending = memory.write(self.episode.observations[index])
                if asyncio.iscoroutine(pending):
                    await _bounded(pending, self.timeout)
                spent += time.perf_counter() - started
            written = point
            settle = getattr(memory, "settle", None)
            if callable(settle):
                self.call = "settle"
                started = time.perf_counter()
                await _bounded(settle(), self.timeout)
                spent += time.perf_counter() - started
            self.call = "cost"
            cost = cost_of(memory)
            before = None if mutates else self.check.digest(memory)
            first = len(self.finished)
            await asyncio.gather(*(self._ask(fork(memory) if mutates else memory, i, cost, spent) for i in group))
            if before is not None and self.check.digest(memory) not in (before, None):
                changed = [replace(a, returned=None, error=MUTATED) for a in self.finished[first:]]
                del self.finished[first:]
                self.hand(changed)
                return MUTATED
            if self.stopped is not None:
                return None
        return None

    async def _ask(self, memory: Any, item: Wanted, cost: WriteCost, spent: float) -> None:
        """Ask one question when its turn comes."""
        async with self.slots:
            started = time.perf_counter()
            try:
                returned = await _bounded(memory.aread(item.question), self.timeout)
                asked = Asked(item, returned, None, cost, spent, time.perf_counter() - started)
            except RunStoppedError as error:
                self.stopped = self.stopped or error
                return
            except TimeoutError:
                asked = Asked(item, error=f"read of {item.query.id} took over {self.timeout:g} s", written=cost)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - told by its row
                _let_cancel(error)
                asked = Asked(item, error=f"read raised {describe(error)}", written=cost, seconds_write=spent)
        self.hand([asked])


async def _bounded(call: Awaitable[Any], timeout: float | None) -> Any:
    """Wait for a call of the system, at most `timeout` seconds. `SystemExit`, which would end the loop, is an error."""

    async def contained() -> Any:
        try:
            return await call
        except SystemExit as error:
            raise RuntimeError(f"the system called sys.exit: {describe(error)}") from error

    return await asyncio.wait_for(contained(), timeout)


def _let_cancel(error: BaseException) -> None:
    """Raise a cancellation that comes from the loop itself (Ctrl-C); one that the system raised is its own failure."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error


def drive_async(
    system: Any, work: Iterator[Work], *, timeout: float, concurrency: int, check: MutationCheck
) -> Iterator[tuple[Episode, list[Asked]]]:
    """Ask many episodes concurrently; yields answers as they come, never more than `concurrency` in flight.

    The answers of an episode come together, or one by one from a system that declares `reads_mutate = False`. A system
    that declares `bounds_calls = True` sees to it that none of its calls lasts for ever, and `timeout` does not apply.
    A memory may have `async settle()`, which is called when all that precedes a question has been written, and counts
    as writing. `async aclose()` of the system is called at the end. When the system raises `RunStoppedError`, nothing
    new is asked, what is in flight is yielded, and the exception follows.
    """

    def drive() -> Iterator[_Item]:
        return _drive(system, work, timeout=timeout, concurrency=concurrency, check=check)

    # In a notebook a loop runs in this thread already, and no second one can.
    return drive() if asyncio._get_running_loop() is None else _in_a_thread(drive)


def _in_a_thread(make: Callable[[], Iterator[_Item]]) -> Iterator[_Item]:
    """Iterate in a thread of its own; what it raises is raised here."""
    ready: queue.SimpleQueue[tuple[_Item | None, BaseException | None]] = queue.SimpleQueue()

    def produce() -> None:
        try:
            for item in make():
                ready.put((item, None))
        except BaseException as error:  # noqa: BLE001 - it is raised by the reader
            ready.put((None, error))
        else:
            ready.put((None, None))

    threading.Thread(target=produce, daemon=True, name="memgauge loop").start()
    while True:
        item, error = ready.get()
        if error is not None:
            raise error
        if item is None:
            return
        yield item


def _drive(
    system: Any, work: Iterator[Work], *, timeout: float, concurrency: int, check: MutationCheck
) -> Iterator[_Item]:
    """Do the work of `drive_async` on an event loop of this thread."""
    loop = asyncio.new_event_loop()
    limit = None if getattr(system, "bounds_calls", False) else timeout
    stream = _concurrently(system, work, timeout=limit, concurrency=concurrency, check=check)
    try:
        while True:
            try:
                yield loop.run_until_complete(anext(stream))
            except StopAsyncIteration:
                break
    finally:
        loop.run_until_complete(_wind_up(system, stream))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def _wind_up(system: Any, stream: AsyncGenerator[tuple[Episode, list[Asked]], None]) -> None:
    """Cancel what still runs (after Ctrl-C, the step of the stream itself), and close the system."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await stream.aclose()
    close = getattr(system, "aclose", None)
    if callable(close):
        await close()


async def _concurrently(
    system: Any, work: Iterator[Work], *, timeout: float | None, concurrency: int, check: MutationCheck
) -> AsyncGenerator[tuple[Episode, list[Asked]], None]:
    slots = asyncio.Semaphore(concurrency)
    # Answers, and after an episode's last one its task.
    ready: asyncio.Queue[tuple[Episode, list[Asked]] | asyncio.Task[None]] = asyncio.Queue()
    running: set[asyncio.Task[None]] = set()
    more = True
    stopped: RunStoppedError | None = None

    def start(episode: Episode, wanted: list[Wanted]) -> None:
        def deliver(asked: list[Asked]) -> None:
            ready.put_nowait((episode, asked))

        asking = _Asking(system, episode, wanted, timeout, check, slots, deliver)
        task = asyncio.ensure_future(asking.run())
        task.add_done_callback(ready.put_nowait)
        running.add(task)

    try:
        while True:
            while more and stopped is None and len(running) < concurrency:
                try:
                    start(*next(work))
                except StopIteration:
                    more = False
            if not running:
                break
            item = await ready.get()
            if not isinstance(item, asyncio.Task):
                yield item
                continue
            running.discard(item)
            try:
                item.result()
            except RunStoppedError as error:
                stopped = stopped or error
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    if stopped is not None:
        raise stopped
