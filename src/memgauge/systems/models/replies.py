"""Reading what an OpenAI-compatible server sends back for a chat request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memgauge.systems.models.faults import Fault, Refused, error_reply, quoted


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer."""

    raw: str
    """What it wrote; what it thought, where the server keeps that apart, stands in front in a think block."""
    content_at: int
    """The character of `raw` at which the answer proper begins."""
    finish_reason: str | None
    tokens_in: int | None
    tokens_out: int | None
    tokens: tuple[dict[str, Any], ...] = ()
    """The tokens with their log probabilities, where they were asked for and given."""


def read_chat(body: dict[str, Any]) -> Reply | Refused | Fault:
    """Read the body of a chat completion that came with status 200.

    Reasoning that comes in a field of its own is no answer, but it was generated and is charged for: it is kept in
    front of the answer in a closed think block, which the grader passes over.
    """
    if "choices" not in body:
        return Fault(f"it sent JSON without choices: {quoted(str(body).encode())}", "setup")
    choices = body["choices"]
    if not choices:
        return Refused("empty", "the reply has no choices", again=True)
    choice = choices[0] if isinstance(choices, list) else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Fault(f"its choices are not those of a chat completion: {quoted(str(choices).encode())}", "setup")
    if choice.get("error"):
        return error_reply(200, {}, choice, b"")
    finish = choice.get("finish_reason")
    if finish == "error":
        return Fault("the reply ended with finish_reason error")
    content, thought = _texts(message)
    refusal = message.get("refusal")
    if finish == "content_filter" or (not content and isinstance(refusal, str) and refusal):
        return Refused("filtered", quoted((content or refusal or "finish_reason content_filter").encode()))
    if content is None and not thought and finish != "length":
        return Refused("empty", "the reply has no content", again=True)
    block = f"<think>{thought}</think>" if thought else ""
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        raw=block + (content or ""),
        content_at=len(block),
        finish_reason=finish if isinstance(finish, str) else None,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        tokens=_tokens(choice.get("logprobs")),
    )


def _texts(message: dict[str, Any]) -> tuple[str | None, str]:
    """Return content (None: there is none) and reasoning, from whichever fields the server uses."""
    thoughts = [t for t in (message.get("reasoning_content") or message.get("reasoning"),) if isinstance(t, str)]
    content = message.get("content")
    if isinstance(content, list):  # typed parts
        texts = []
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                texts.append(part["text"])
            elif isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
                thoughts += _leaves(part)
        content = "".join(texts) if texts else None
    return (content if isinstance(content, str) else None), "".join(thoughts)


def _leaves(part: dict[str, Any]) -> list[str]:
    """Return the texts of a part that holds reasoning, as text or as parts of its own."""
    inner = part.get("thinking", part.get("reasoning"))
    if isinstance(inner, str):
        return [inner]
    if isinstance(inner, list):
        return [p["text"] for p in inner if isinstance(p, dict) and isinstance(p.get("text"), str)]
    return []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _tokens(logprobs: object) -> tuple[dict[str, Any], ...]:
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tuple(token for token in content if isinstance(token, dict)) if isinstance(content, list) else ()
