"""One OpenAI-compatible endpoint: bounded requests, own retries, and a clear word when nothing can work."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from memgauge.errors import InputError, RunStoppedError
from memgauge.systems.models.bodies import Body, ByteBudget
from memgauge.systems.models.faults import Fault, Refused, read_response
from memgauge.systems.models.retrying import Patience, backoff
from memgauge.systems.models.spending import Spending
from memgauge.systems.models.wire import checked_url, connection_fault, without_secret

if TYPE_CHECKING:
    import httpx2
    import openai

T = TypeVar("T")

DEFAULT_KEY_ENV = "OPENAI_API_KEY"
MAX_REPLY = 64 * 2**20
"""Bytes of a reply that are read at most."""
SETUP_TRIES = 2
"""Tries after the first before the run stops, while nothing has ever answered at the address."""
FAILURES_IN_A_ROW = 10
"""Questions that may end without an answer, one after the other, before the run stops."""
POOL = 8
"""Connections that share a pool."""
EMPTY_TRIES = 2
"""Tries after an empty reply before it counts as one."""


class NoAnswerError(Exception):
    """No answer to one question: its row becomes a `model_error` with this text, and a resumed run asks it again."""


class _ReplyTooLargeError(Exception):
    pass


@dataclass(slots=True)
class _Client:
    """A client and how many requests it has in flight."""

    sdk: openai.AsyncOpenAI
    busy: int = 0


@dataclass(slots=True)
class _Open:
    """What belongs to one event loop."""

    loop: asyncio.AbstractEventLoop
    make: Callable[[], openai.AsyncOpenAI]
    room: ByteBudget
    slots: asyncio.Semaphore | None
    clients: list[_Client] = field(default_factory=list)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def client(self) -> Iterator[openai.AsyncOpenAI]:
        """Lend the least busy client; several small pools, since one pool looks at all its connections each time."""
        chosen = min(self.clients, key=lambda client: client.busy, default=None)
        if chosen is None or chosen.busy >= POOL:
            chosen = _Client(self.make())
            self.clients.append(chosen)
        chosen.busy += 1
        try:
            yield chosen.sdk
        finally:
            chosen.busy -= 1


class Endpoint:
    """Asks one endpoint. The key is read from the environment when it is first needed, and is kept nowhere else.

    Parameters
    ----------
    base_url : the address up to and with `/v1`.
    key_env : the environment variable that holds the key; None stands for OPENAI_API_KEY where that is set, and no key
        where it is not.
    patience : how long and how often one question is tried.
    spending : the budgets, which every try is counted against.
    concurrency : requests in flight at most; None leaves that to the caller.
    max_inflight : bytes of requests in memory at most (see `ByteBudget`).
    """

    def __init__(
        self,
        base_url: str,
        *,
        key_env: str | None = None,
        patience: Patience | None = None,
        spending: Spending | None = None,
        concurrency: int | None = None,
        max_inflight: int = 512 * 2**20,
    ) -> None:
        self.base_url = checked_url(base_url)
        if key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", key_env):
            raise InputError(
                "api_key_env is no name of an environment variable: it names the one that holds the key, and does not "
                "hold the key itself"
            )
        self.key_env = key_env
        self.patience = patience or Patience()
        self.spending = spending or Spending()
        self.concurrency = concurrency
        self.max_inflight = max_inflight
        self.answers = 0
        """Replies so far that were answers or refusals."""
        self._failures = 0
        self._stopped: str | None = None
        self._quiet_until = 0.0
        self._secret = b""
        self._opened: _Open | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.where!r})"

    @property
    def where(self) -> str:
        """The address."""
        return self.base_url

    async def ask(
        self,
        path: str,
        *,
        expected: int,
        build: Callable[[], Awaitable[Body]],
        read: Callable[[dict[str, Any]], T | Refused | Fault],
    ) -> tuple[T | Refused, Body]:
        """Send one request, again where that may help, and return what came of it and the request.

        `build` makes the request when there is room for `expected` bytes; `read` reads the JSON of a reply with status
        200. Raises `NoAnswerError` when no answer is to be had for this question, and `RunStoppedError` when none is to
        be had for any (a refused key, a wrong address, an unknown model, a server that is gone, a budget used up).
        """
        opened = self._open()
        self._go_on()
        async with AsyncExitStack() as stack:
            if opened.slots is not None:
                await stack.enter_async_context(opened.slots)
            body = await stack.enter_async_context(opened.room.hold(expected, build))
            return await self._answer(opened, path, body, read), body

    async def aclose(self) -> None:
        """Close the connections of the running event loop. The endpoint may be used again, also in another loop.

        What stopped it is forgotten: by then the key or the server may have been mended.
        """
        opened, self._opened = self._opened, None
        self._stopped, self._failures = None, 0
        if opened is not None and opened.loop is asyncio.get_running_loop():
            for client in opened.clients:
                await client.sdk.close()

    async def _answer(
        self, opened: _Open, path: str, body: Body, read: Callable[[dict[str, Any]], T | Refused | Fault]
    ) -> T | Refused:
        started = time.monotonic()
        ends = started + self.patience.total
        tries = empty = 0
        while True:
            await self._sleep(opened, min(self._quiet_until, ends) - time.monotonic())
            self._go_on()
            self.spending.ask()
            outcome = await self._once(opened, path, body, read, ends)
            tries += 1
            wait = None
            if isinstance(outcome, Fault):
                settled = self._settled(outcome)
                if settled is not None:
                    return settled
                wait = outcome.wait
                limit = SETUP_TRIES if outcome.kind == "setup" and not self.answers else self.patience.retries
                over = tries > limit
            elif isinstance(outcome, Refused) and outcome.again and empty < EMPTY_TRIES:
                empty += 1
                over = tries > self.patience.retries
            else:
                over = True
            delay = backoff(tries - 1, self.patience.base) + (wait or 0.0)
            if over or time.monotonic() + delay >= ends:
                if not isinstance(outcome, Fault):
                    self.answers += 1
                    self._failures = 0
                    return outcome
                asked = f", and it asks to wait {wait:g} s" if wait is not None and not over else ""
                spent = time.monotonic() - started
                self._give_up(f"{outcome.said} ({tries} {'try' if tries == 1 else 'tries'} in {spent:.0f} s{asked})")
            if wait:
                self._quiet_until = max(self._quiet_until, time.monotonic() + wait)
            await self._sleep(opened, delay)

    def _settled(self, fault: Fault) -> Refused | None:
        """Deal with a fault that another try does not mend; None leaves it to another try."""
        if fault.kind == "fatal" or (fault.kind in ("request", "answer_budget") and not self.answers):
            self._stop(f"{fault.said}{self._hint(fault)}")
        if fault.kind == "answer_budget":
            return Refused("too_long", fault.said)
        if fault.kind == "request":
            self._give_up(fault.said)
        return None

    async def _once(
        self,
        opened: _Open,
        path: str,
        body: Body,
        read: Callable[[dict[str, Any]], T | Refused | Fault],
        ends: float,
    ) -> T | Refused | Fault:
        """Send the request once. Whatever happens on the way is a `Fault`."""
        import httpx2
        import openai

        headers = {"Content-Type": "application/json", "Content-Length": str(body.size)}
        deadline = max(0.001, min(self.patience.deadline, ends - time.monotonic()))
        try:
            with opened.client() as sdk:
                async with asyncio.timeout(deadline):
                    response = await sdk.post(
                        path, content=body.pieces(), cast_to=httpx2.Response, options={"headers": headers}
                    )
        except TimeoutError:
            return Fault(f"no answer within {deadline:g} s")
        except openai.APIStatusError as error:
            response = error.response
        except openai.APIConnectionError as error:
            return connection_fault(error, self._secret)
        except _ReplyTooLargeError:
            return Fault(f"its reply is larger than {MAX_REPLY // 2**20} MiB", "request")
        data = without_secret(response.content, self._secret)
        return read_response(response.status_code, response.headers, data, read)

    def _hint(self, fault: Fault) -> str:
        if "HTTP 401" in fault.said or "HTTP 403" in fault.said:
            name = self.key_env or DEFAULT_KEY_ENV
            return f"; put a key that this server takes into the environment variable {name}, or name another variable"
        if fault.kind == "answer_budget":
            return "; lower max_tokens, or serve the model with a longer context"
        if fault.kind == "request":
            return "; no request has been answered yet, so the parameters are most likely not what this server takes"
        return ""

    def _give_up(self, said: str) -> NoReturn:
        """End one question without an answer, or the run where no question gets one."""
        self._go_on()
        self._failures += 1
        if not self.answers:
            self._stop(
                f"{said}; nothing has been answered yet: check that the server runs, and base_url (most end in /v1)"
            )
        if self._failures >= FAILURES_IN_A_ROW:
            self._stop(f"{self._failures} questions in a row got no answer; the last: {said}")
        raise NoAnswerError(f"{self.where}: {said}")

    def _stop(self, said: str) -> NoReturn:
        self._stopped = f"{self.where}: {said}"
        if self._opened is not None:
            self._opened.stop.set()
        raise RunStoppedError(self._stopped)

    def _go_on(self) -> None:
        if self._stopped is not None:
            raise RunStoppedError(self._stopped)

    async def _sleep(self, opened: _Open, seconds: float) -> None:
        """Wait, but not once the run has been stopped."""
        if seconds > 0:
            try:
                await asyncio.wait_for(opened.stop.wait(), seconds)
            except TimeoutError:
                return
            self._go_on()

    def _open(self) -> _Open:
        """Return the client of the running event loop."""
        loop = asyncio.get_running_loop()
        if self._opened is None or self._opened.loop is not loop:
            slots = None if self.concurrency is None else asyncio.Semaphore(self.concurrency)
            self._opened = _Open(loop, self._maker(), ByteBudget(self.max_inflight), slots)
        return self._opened

    def _maker(self) -> Callable[[], openai.AsyncOpenAI]:
        """Return what makes clients; the key is read here, and nowhere else."""
        try:
            import httpx2
            import openai
        except ImportError as error:
            raise RunStoppedError(
                "models behind an endpoint need the openai package: pip install 'memgauge[models]'"
            ) from error
        key = self._key()
        self._secret = key.encode() if key is not None and len(key) >= 4 else b""
        trust = httpx2.create_ssl_context()

        def make() -> openai.AsyncOpenAI:
            return openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=key if key is not None else "none",
                max_retries=0,
                http_client=openai.DefaultAsyncHttpxClient(
                    verify=trust,
                    follow_redirects=False,
                    limits=httpx2.Limits(max_connections=None, max_keepalive_connections=POOL),
                    timeout=httpx2.Timeout(self.patience.deadline, connect=min(15.0, self.patience.deadline)),
                    event_hooks={"response": [_bound_reply]},
                ),
            )

        return make

    def _key(self) -> str | None:
        value = os.environ.get(self.key_env or DEFAULT_KEY_ENV, "").strip()
        if not value:
            if self.key_env is not None:
                raise RunStoppedError(f"the environment variable {self.key_env}, which should hold the key, is not set")
            return None
        if not (value.isascii() and value.isprintable()):
            raise RunStoppedError(
                f"the key in {self.key_env or DEFAULT_KEY_ENV} has characters that no HTTP header can carry"
            )
        return value


async def _bound_reply(response: httpx2.Response) -> None:
    """Let a reply be read up to `MAX_REPLY` bytes."""
    import httpx2

    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    inner: httpx2.AsyncByteStream = stream

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            seen = 0
            async for chunk in inner:
                seen += len(chunk)
                if seen > MAX_REPLY:
                    raise _ReplyTooLargeError
                yield chunk

        async def aclose(self) -> None:
            await inner.aclose()

    response.stream = Bounded()
