"""One OpenAI-compatible endpoint, asked one request at a time: what it does wrong has a name, and an end.

A request that fails for a passing reason (429, 5xx, a time-out, a broken connection) is tried again a few times. An
endpoint at which nothing can work (refused connections, a refused key, an unknown model, a web page) stops the build at
its first requests; one that goes down later makes candidates fail, and after a few in a row is not asked again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError, MemgaugeError
from memgauge.histories.building.text.chat import ChatFailedError, NoReplyError
from memgauge.histories.building.text.types import Message
from memgauge.systems.models.faults import Fault, Refused, read_response
from memgauge.systems.models.replies import Reply, read_chat
from memgauge.systems.models.retrying import LONGEST_WAIT, backoff
from memgauge.systems.models.wire import checked_url, connection_fault, without_secret

if TYPE_CHECKING:
    import httpx2
    import openai

DEFAULT_KEY_ENV = "OPENAI_API_KEY"
TRIES = 6
"""At one request, where another try may help."""
SETUP_TRIES = 3
"""While nothing has ever answered at the address."""
EMPTY_TRIES = 2
"""After an empty reply."""
BASE = 0.5
"""Seconds of the first backoff; it doubles from try to try."""
GIVEN_UP = 3
"""Requests in a row, each with all its tries, after which the endpoint is not asked again."""
MAX_REPLY = 16 << 20
"""Bytes of a reply that are read at most."""

Note = Callable[[str], None]
"""Counts a fault by its kind."""


class EndpointStoppedError(MemgaugeError):
    """Nothing can work at this endpoint: a refused key, an unknown model, a wrong address, a server that is gone."""


class _ReplyTooLargeError(Exception):
    pass


def silent(kind: str) -> None:
    """Count nothing."""


class Endpoint:
    """Asks one endpoint. The key is read from the environment and kept nowhere else.

    Parameters
    ----------
    base_url : the address up to and with `/v1`.
    key_env : the environment variable that holds the key. Where the default one is not set no key is sent, since
        servers on one's own machine ask for none.
    timeout_s : seconds for one try.
    spend : called before each try, also those that fail; a budget raises there.

    Raises `InputError` for an address that is none, for a key that is missing or cannot be sent, and when the package
    `openai` is missing.
    """

    def __init__(
        self, base_url: str, *, key_env: str, timeout_s: float, spend: Callable[[], None] = lambda: None
    ) -> None:
        self.base_url = checked_url(base_url)
        self.timeout_s, self.key_env, self._spend = timeout_s, key_env, spend
        if find_spec("openai") is None:
            raise InputError("the model writer needs the package openai: pip install 'memgauge[models]'")
        key = os.environ.get(key_env, "").strip()
        if not key and key_env != DEFAULT_KEY_ENV:
            raise InputError(f"the environment variable {key_env}, which should hold the key, is not set")
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"the key in {key_env} has characters that no HTTP header can carry")
        self._secret = key.encode("utf-8", "replace") if len(key) >= 4 else b""
        self._client: openai.OpenAI = _client(self.base_url, key or "none", timeout_s, lambda: self._ends)
        self._ends = 0.0
        self._failures = 0
        self._last: NoReplyError | None = None
        self.answers = 0
        """Replies so far that were answers or refusals."""

    def ask(self, request: Mapping[str, Any], note: Note = silent) -> Reply:
        """Return the reply to a chat request; `note` is told the kind of every fault on the way.

        Raises `ChatFailedError` for a request that the server declines or answers with nothing, `NoReplyError` when no
        answer is to be had after all tries, and `EndpointStoppedError` when none is to be had for any request.
        """
        if self._failures >= GIVEN_UP and self._last is not None:
            raise NoReplyError(str(self._last), self._last.kind)
        tries = empty = 0
        while True:
            self._spend()
            outcome = self._once(request)
            tries += 1
            if isinstance(outcome, Reply):
                self._answered()
                return outcome
            kind = kind_of(outcome)
            note(kind)
            if isinstance(outcome, Refused):
                self._answered()
                if outcome.again and empty < EMPTY_TRIES:
                    empty += 1
                    continue
                raise ChatFailedError(outcome.said, outcome.kind)
            self._settle(outcome, kind)
            limit = SETUP_TRIES if outcome.kind == "setup" and not self.answers else TRIES
            wait = outcome.wait or 0.0
            if tries >= limit or wait > LONGEST_WAIT:
                self._give_up(outcome, kind, tries)
            time.sleep(wait + backoff(tries - 1, BASE))

    def _answered(self) -> None:
        self.answers += 1
        self._failures = 0

    def _settle(self, fault: Fault, kind: str) -> None:
        """Deal with a fault that another try does not mend."""
        if fault.kind == "fatal" or (fault.kind in ("request", "answer_budget") and not self.answers):
            raise EndpointStoppedError(f"{self.base_url}: {fault.said}{self._hint(fault)}")
        if fault.kind in ("request", "answer_budget"):
            raise ChatFailedError(fault.said, kind)

    def _give_up(self, fault: Fault, kind: str, tries: int) -> None:
        said = f"{self.base_url}: {fault.said} ({tries} tries)"
        if fault.kind == "setup" and not self.answers:
            raise EndpointStoppedError(
                f"{said}; nothing has answered there: check that the server runs, and base_url (most end in /v1)"
            )
        self._failures += 1
        self._last = NoReplyError(said, kind)
        raise self._last

    def _hint(self, fault: Fault) -> str:
        if "HTTP 401" in fault.said or "HTTP 403" in fault.said:
            return f"; put a key that this server takes into {self.key_env}, or name another variable by api_key_env="
        if fault.kind == "answer_budget":
            return "; lower max_tokens, or serve the model with a longer context"
        if fault.kind == "request":
            return "; no request has been answered yet, so the parameters are most likely not what this server takes"
        return ""

    def _once(self, request: Mapping[str, Any]) -> Reply | Refused | Fault:
        """Send the request once. Whatever happens on the way is a `Fault`."""
        import httpx2
        import openai

        self._ends = time.monotonic() + self.timeout_s
        try:
            response = self._client.post("/chat/completions", body=dict(request), cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            response = error.response
        except openai.APITimeoutError:
            return Fault(f"no answer within {self.timeout_s:g} s")
        except openai.APIConnectionError as error:
            return connection_fault(error, self._secret)
        except _ReplyTooLargeError:
            return Fault(f"its reply is larger than {MAX_REPLY >> 20} MiB", "request")
        data = without_secret(response.content, self._secret)
        return read_response(response.status_code, response.headers, data, read_chat)


def _client(base_url: str, key: str, timeout_s: float, ends: Callable[[], float]) -> openai.OpenAI:
    import httpx2
    import openai

    return openai.OpenAI(
        base_url=base_url,
        api_key=key,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False,
            timeout=httpx2.Timeout(timeout_s, connect=min(15.0, timeout_s)),
            event_hooks={"response": [lambda response: _bound_reply(response, ends)]},
        ),
    )


def _bound_reply(response: httpx2.Response, ends: Callable[[], float]) -> None:
    """Let a reply be read up to `MAX_REPLY` bytes and the deadline: a server may send a little at a time for ever."""
    import httpx2

    stream = response.stream
    assert isinstance(stream, httpx2.SyncByteStream)
    inner: httpx2.SyncByteStream = stream

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Any:
            seen = 0
            for chunk in inner:
                seen += len(chunk)
                if seen > MAX_REPLY:
                    raise _ReplyTooLargeError
                if time.monotonic() > ends():
                    raise httpx2.ReadTimeout("the reply was not whole in time", request=response.request)
                yield chunk

        def close(self) -> None:
            inner.close()

    response.stream = Bounded()


def kind_of(outcome: Fault | Refused) -> str:
    """Return the short name under which a fault is counted.

    >>> kind_of(Fault("HTTP 429: slow down")), kind_of(Fault("no answer within 3 s")), kind_of(Refused("empty", ""))
    ('http_429', 'timeout', 'empty')
    """
    if isinstance(outcome, Refused):
        return outcome.kind
    said = outcome.said
    if said.startswith("HTTP "):
        return f"http_{said[5:8]}"
    for start, kind in (
        ("no answer within", "timeout"),
        ("cannot connect", "connection"),
        ("the connection broke", "connection"),
        ("it sent HTML", "html"),
        ("it sent", "no_chat_completion"),
        ("its choices", "no_chat_completion"),
        ("status 200 with an error", "error_inside"),
    ):
        if said.startswith(start):
            return kind
    return "other"


def request_of(model: str, parameters: Mapping[str, Any], messages: Sequence[Message]) -> dict[str, Any]:
    """Return the body of a chat request."""
    return {"model": model, "messages": [dict(message) for message in messages], **parameters}
