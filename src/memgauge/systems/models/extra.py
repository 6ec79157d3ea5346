"""More fields of a request, which a user gives as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memgauge.errors import InputError

RESERVED = frozenset({"messages", "model", "stream", "n"})
KEYS = frozenset({"api_key", "apikey", "api-key", "authorization", "access_token", "secret"})
MAX_EXTRA = 1_000_000


def extra_fields(text: str | None) -> dict[str, Any]:
    """Read `extra_body`: a JSON object, or the name of a file that holds one."""
    if text is None:
        return {}
    where = "extra_body"
    if not text.lstrip().startswith("{"):
        where = text
        try:
            with Path(text).open("rb") as file:
                data = file.read(MAX_EXTRA + 1)
        except OSError as error:
            raise InputError(f"extra_body {text!r} is neither a JSON object nor a file: {error.strerror}") from error
        if len(data) > MAX_EXTRA:
            raise InputError(f"{text}: larger than {MAX_EXTRA} bytes")
        text = data.decode("utf-8", "replace")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise InputError(f"{where} must be a JSON object")
    keys = sorted(name for name in fields if name.lower() in KEYS)
    if keys:
        raise InputError(
            f"{where} sets {', '.join(keys)}, which would be kept in run.json: give the key by api_key_env"
        )
    taken = RESERVED & fields.keys()
    if taken:
        raise InputError(f"{where} sets {', '.join(sorted(taken))}, which the request sets itself")
    return fields
