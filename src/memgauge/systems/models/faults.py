"""What a server's reply means when it is no answer: a refusal, something to try again, or a reason to stop the run.

An outage never becomes an answer or an abstention. What a server says in words is read by patterns that were taken from
vLLM, SGLang, llama.cpp, Ollama and the large APIs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from memgauge.systems.models.retrying import retry_after

T = TypeVar("T")

FaultKind = Literal["transient", "setup", "request", "answer_budget", "fatal"]
"""`transient`: try again. `setup`: most likely a wrong address; try again, but not for long before the first answer.
`request`: this request cannot be answered. `answer_budget`: it leaves no room for the answer. `fatal`: nothing can."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A reply that is no answer."""

    said: str
    kind: FaultKind = "transient"
    wait: float | None = None
    """Seconds that the server asks to wait."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The server declined to take the question or to return an answer."""

    kind: Literal["too_long", "filtered", "empty"]
    said: str
    again: bool = False
    """Whether a second try may bring an answer."""


_ANSWER_BUDGET = re.compile(
    r"max_(?:completion_|new_|output_)?tokens\W{0,3}.{0,60}(?:too large|exceed|at most|supports|greater|must be)"
    r"|in the completion\b|max_tokens.{0,80}(?:context|reduce)",
    re.IGNORECASE | re.DOTALL,
)
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|window|size|limit)|exceed_context|max_model_len|string_above_max_length"
    r"|maximum (?:model|context|prompt|input|sequence|allowed) (?:length|size)|max(?:imum)? (?:input|prompt) tokens"
    r"|(?:prompt|input|request|message|sequence)s? (?:\([^)]{0,60}\) )?(?:is |are |was )?(?:too long|longer than)"
    r"|too many (?:input |prompt )?tokens|token count.{0,40}exceed|exceeds?.{0,60}(?:token limit|number of tokens)"
    r"|(?:entity|payload|request(?: body)?|body) (?:is )?too large",
    re.IGNORECASE | re.DOTALL,
)
_TOO_MANY_IMAGES = re.compile(
    r"at most \d+ (?:image|video|multi-?modal)|too many (?:images|videos|frames|pictures)"
    r"|(?:max(?:imum)?|limit)\W.{0,40}(?:images|videos)|(?:images|videos).{0,60}(?:limit|maximum|at most|exceed)",
    re.IGNORECASE | re.DOTALL,
)
_FILTERED = re.compile(
    r"content[ _-]?(?:filter|management|policy|moderation)|responsible_?ai|moderation|safety|flagged"
    r"|data_inspection_failed|sensitive content|prohibited content",
    re.IGNORECASE,
)
_UNKNOWN_MODEL = re.compile(
    r"model_not_(?:found|available)|unknown model|invalid model|no such model"
    r"|model.{0,200}(?:not exist|not found|doesn't exist|not available|not loaded|not supported|no access)",
    re.IGNORECASE | re.DOTALL,
)
_QUOTA = re.compile(
    r"insufficient_quota|billing|exceeded your current quota|insufficient (?:balance|credit|funds)", re.I
)
_NOT_SUPPORTED = re.compile(r"not support|unsupported|not implemented|mmproj", re.IGNORECASE)
_MAY_BE_REFUSED = frozenset({200, 400, 403, 413, 414, 422, 431, 451, 500, 501})
"""Statuses whose text may say that this question is refused; the others say something about the server."""
MAX_SAID = 300


def read_response(
    status: int, headers: Mapping[str, str], data: bytes, read: Callable[[dict[str, Any]], T | Refused | Fault]
) -> T | Refused | Fault:
    """Read a reply; `read` takes the JSON object of one that succeeded."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    if not 200 <= status < 300:
        return error_reply(status, headers, body, data)
    if not isinstance(body, dict):
        looks = "HTML" if data[:200].lstrip()[:1] == b"<" else "something else"
        return Fault(f"it sent {looks} instead of a JSON object: {quoted(data)}", "setup")
    if body.get("error") or body.get("object") == "error":
        return error_reply(status, headers, body, data)
    return read(body)


def error_reply(status: int, headers: Mapping[str, str], body: object, data: bytes) -> Refused | Fault:
    """Say what an error reply means; `body` is its JSON, or None where it is none."""
    said, names, code = _words_of(body, data)
    if 200 <= status < 300:
        # Some servers send their errors with status 200 and the real status inside.
        status = code if code is not None and 400 <= code < 600 else status
        said = f"status 200 with an error inside: {said}"
    else:
        said = f"HTTP {status}: {said}"
    words = f"{said} {names}"
    if status in _MAY_BE_REFUSED:
        if _ANSWER_BUDGET.search(words):
            return Fault(said, "answer_budget")
        if _TOO_MANY_IMAGES.search(words) or _TOO_LONG.search(words) or status == 413:
            return Refused("too_long", said)
        if status != 500 and _FILTERED.search(words):
            return Refused("filtered", said)
    return Fault(said, _kind(status, words), retry_after(headers))


def _kind(status: int, words: str) -> FaultKind:
    if status in (401, 402, 403, 407) or _QUOTA.search(words):
        return "fatal"
    if status in (404, 405, 410):
        return "fatal" if _UNKNOWN_MODEL.search(words) else "setup"
    if 300 <= status < 400:
        return "setup"
    if status >= 500 and _NOT_SUPPORTED.search(words):
        return "request"
    if status < 300 or status in (408, 409, 421, 425, 429) or status >= 500:
        return "transient"
    return "request"


def _words_of(body: object, data: bytes) -> tuple[str, str, int | None]:
    """Return what an error body says, its code and type as text, and its code as a number."""
    error = body
    if isinstance(error, dict) and error.get("error"):
        error = error["error"]
    if not isinstance(error, dict):
        return (quoted(error.encode()) if isinstance(error, str) else quoted(data)), "", None
    message = error.get("message") or error.get("detail") or error.get("msg")
    code = error.get("code", error.get("status"))
    names = " ".join(str(error.get(name)) for name in ("code", "type", "param") if error.get(name) is not None)
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        number = int(code)
    return (quoted(message.encode("utf-8", "replace")) if isinstance(message, str) else quoted(data)), names, number


def quoted(data: bytes) -> str:
    """Return the beginning of a text on one line, as it can stand in an error."""
    text = " ".join(data[: 4 * MAX_SAID].decode("utf-8", "replace").split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    if not text:
        return "(nothing)"
    return text if len(text) <= MAX_SAID else text[: MAX_SAID - 3] + "..."
