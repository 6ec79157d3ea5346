"""What a model sent back through Inspect, as an `Answer` for the grader; shared by the scorer and the importer.

Inspect turns what went wrong into text here and there (a request that was too long comes back as a message of the
assistant that holds the server's complaint). None of that is an answer, nor an abstention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memgauge.system import Answer

FINISH = {"max_tokens": "length", "model_length": "length"}
"""Inspect's stop reasons in the words of the OpenAI protocol, which the grader knows; the others stay."""


@dataclass(frozen=True, slots=True)
class NoReply:
    """Nothing that could be graded: an error, which is a `model_error`."""

    said: str


def read_output(
    output: Mapping[str, Any], *, images: int, least_tokens: int | None, counted: str = "symbols or frames"
) -> Answer | NoReply:
    """Read the JSON form of Inspect's `ModelOutput`.

    Reasoning that was kept apart is put in front of the answer in a closed think block, which the grader passes over:
    it was generated and is charged for. `least_tokens` is how many prompt tokens the request must have taken; a server
    that reports fewer has cut it short; `counted` says what they are. None leaves that unchecked.
    """
    error = output.get("error")
    if error:
        return NoReply(clean(str(error))[:1000])
    choices = output.get("choices")
    if not isinstance(choices, list) or not choices:
        return Answer(refused="empty", raw="the reply has no choices", images_in=images)
    if len(choices) > 1:
        return NoReply(f"{len(choices)} choices came back where one is wanted; leave num_choices out")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return NoReply("its choices are not those of a model output")
    thought, text, refusal = _texts(message.get("content"))
    tokens_in, tokens_out = _usage(output.get("usage"))
    stop = choice.get("stop_reason")
    finish = FINISH.get(stop, clean(stop)[:40]) if isinstance(stop, str) else None
    refused = None
    if stop == "content_filter" or refusal:
        refused = "filtered"
    elif stop == "model_length" and not tokens_out:
        refused = "too_long"  # the text is what the server said, not what the model wrote
    elif not text and not thought and finish != "length":
        refused = "empty"  # Inspect writes a missing content and an empty one alike
    elif least_tokens is not None and tokens_in is not None and tokens_in < least_tokens:
        refused = "too_long"
        text = f"{tokens_in} prompt tokens are reported for {least_tokens} {counted}: the request was cut short"
        thought = ""
    block = f"<think>{thought}</think>" if thought else ""
    return Answer(
        raw=clean(block + text),
        refused=refused,
        finish_reason=None if refused else finish,
        tokens_in=None if refused else tokens_in,
        tokens_out=None if refused else tokens_out,
        images_in=images,
    )


def _texts(content: object) -> tuple[str, str, bool]:
    """Return reasoning, text, and whether the model's own refusal is in it."""
    if isinstance(content, str):
        return "", content, False
    thoughts, texts, refusal = [], [], False
    for part in content if isinstance(content, list) else []:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "reasoning":
            # Redacted reasoning is ciphertext; its summary, where there is one, is what can be read.
            seen = part.get("summary") if part.get("redacted") else part.get("reasoning")
            thoughts.append(seen if isinstance(seen, str) else "")
        elif part.get("type") == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
            refusal = refusal or part.get("refusal") is True
    return "".join(thoughts), "".join(texts), refusal


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return tokens read, cached ones included, and tokens written; None where nothing is reported."""
    if not isinstance(usage, dict):
        return None, None
    names = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    read = sum(_count(usage.get(name)) or 0 for name in names)
    return read or None, _count(usage.get("output_tokens"))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def clean(text: str) -> str:
    """Replace what no UTF-8 file can hold (lone surrogates)."""
    return text.encode("utf-8", "replace").decode()
