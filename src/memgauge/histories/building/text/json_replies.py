"""Replies in JSON: parsed strictly, with one request for repair, then rejected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memgauge.histories.building.text.bad_replies import bad_kind
from memgauge.histories.building.text.chat import Chat
from memgauge.histories.building.text.prompts import prompt
from memgauge.histories.building.text.types import Message

MAX_REPLY = 20_000
"""Characters of a reply that are read at most."""
_NO_JSON = "it was no JSON"


class BadReplyError(Exception):
    """The model did not give the JSON object that was asked for, twice."""


def ask_json(
    chat: Chat,
    messages: Sequence[Message],
    fields: Mapping[str, type | tuple[type, ...]],
    note: Callable[[str], None] = lambda kind: None,
) -> dict[str, Any]:
    """Ask for a JSON object with exactly these fields; ask once more if the reply is anything else.

    `note` is told what a bad reply was: `refusal`, `repetition`, `prose_for_json`, `wrong_json`.

    Raises `BadReplyError` after the second bad reply, and what the chat raises.
    """
    reply = chat(messages)
    problem = ""
    for attempt in range(2):
        try:
            return parse_object(reply, fields)
        except ValueError as error:
            problem = str(error)
            note(bad_kind(reply[:MAX_REPLY]) or ("prose_for_json" if problem == _NO_JSON else "wrong_json"))
        if attempt == 0:
            form = "{" + ", ".join(f'"{name}": ...' for name in fields) + "}"
            repair = {"role": "user", "content": prompt("repair", problem=problem, form=form)}
            reply = chat([*messages, {"role": "assistant", "content": reply[:MAX_REPLY]}, repair])
    raise BadReplyError(problem)


def parse_object(reply: str, fields: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """Read a JSON object with exactly the given fields, each of its type.

    Raises `ValueError` with a reason for prose around it, other fields, other types, repeated fields, NaN.

    >>> parse_object('{"leaks": true}', {"leaks": bool})
    {'leaks': True}
    """
    if len(reply) > MAX_REPLY:
        raise ValueError(f"it was longer than {MAX_REPLY:,} characters")
    try:
        value = json.loads(reply.strip(), object_pairs_hook=_pairs, parse_constant=_constant)
    except RecursionError as error:
        raise ValueError("it was nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ValueError(_NO_JSON) from error
    if not isinstance(value, dict):
        raise ValueError("it was JSON, but no object")
    if set(value) != set(fields):
        raise ValueError(f"its fields were {', '.join(sorted(map(str, value))) or 'none'}"[:200])
    for name, kind in fields.items():
        # True is an int for Python, but not for whoever asked for a number.
        if not isinstance(value[name], kind) or (isinstance(value[name], bool) and kind is not bool):
            raise ValueError(f"the field {name} had the wrong type")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a field came twice")
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
