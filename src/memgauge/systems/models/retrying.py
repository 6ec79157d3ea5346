"""When to try again: exponential backoff with full jitter, and what Retry-After says."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 60.0
"""Seconds between two tries, at most, where the server names no time."""


def backoff(attempt: int, base: float) -> float:
    """Return the seconds to wait before try `attempt` + 1 (counted from 0): uniform in [0, min(60, base 2^attempt)].

    Full jitter, so that requests which failed together do not come back together.
    """
    return random.random() * min(LONGEST_WAIT, base * 2.0 ** min(attempt, 32))


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks to wait (a number, or an HTTP date), or None.

    >>> retry_after({"retry-after": "2.5"})
    2.5
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, now=70)
    30.0
    """
    text = headers.get("retry-after-ms")
    milliseconds = _seconds(text)
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _seconds(text)
    if seconds is not None:
        return seconds
    try:
        date = parsedate_to_datetime(text)
        stamp = (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, stamp - (time.time() if now is None else now))


def _seconds(text: str | None) -> float | None:
    """Read a non-negative decimal number."""
    if text is None:
        return None
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often a question is tried."""

    deadline: float = 600.0
    """Seconds for one try."""
    total: float = 1800.0
    """Seconds for one question, waits and all tries together."""
    retries: int = 8
    """Tries after the first."""
    base: float = 0.5
    """Seconds of the first backoff; it doubles from try to try."""
