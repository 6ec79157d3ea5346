"""How names and numbers are written for people: one notation for the terminal, the page and the charts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

NONE = "–"
"""What stands in the place of a number that does not exist."""

NAME_LIMIT = 80

# C0 and C1 controls (a terminal would obey them), bidirectional overrides (they reorder what follows), lone surrogates
# (no file can hold them) and the line separators.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ud800-\udfff]"
)


def plain(value: object) -> str:
    r"""Return `value` as text that no terminal or page obeys: control characters become visible escapes.

    >>> plain("a\x1b[31mred")
    'a\\x1b[31mred'
    """
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), str(value))


def storable(value: Any) -> Any:
    """Return a JSON value whose strings can all be encoded: lone surrogates become visible escapes."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", lambda found: found.group().encode("unicode_escape").decode(), value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def short(text: str, limit: int) -> str:
    """Return `text`, cut in the middle where it is longer than `limit`, since names differ at both ends.

    >>> short("window:bits=1024,design_length=4096", 16)
    'window:b…th=4096'
    """
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}…{text[len(text) - (limit - head - 1) :]}"


def named(name: object) -> str:
    """Return somebody's name for a system, a task or a split as it can stand in a sentence: plain, and not endless."""
    return short(plain(name), NAME_LIMIT)


def percent(value: float | None, digits: int = 1) -> str:
    """Return a proportion in percent, without the sign: 0.757 is `75.7`."""
    return NONE if value is None else f"{100 * value:.{digits}f}"


def points(value: float | None, digits: int = 1) -> str:
    """Return a difference of two proportions in percentage points, with its sign."""
    if value is None:
        return NONE
    text = f"{100 * value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else text[1:]  # nothing has no sign


def decimal(value: float | None, digits: int = 3) -> str:
    """Return a number with a fixed count of decimals."""
    return NONE if value is None else f"{value:z.{digits}f}".replace("-", "−")


def p_value(value: float | None) -> str:
    """Return a p-value; what is below 0.001 says so."""
    return NONE if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def count(value: float | None) -> str:
    """Return a number of things, with thousands separated; a mean keeps one decimal."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


_SCALES = ((1e18, "EF"), (1e15, "PF"), (1e12, "TF"), (1e9, "GF"), (1e6, "MF"), (1e3, "kF"), (1, "F"))


def flops(value: float | None) -> str:
    """Return operations with three significant digits: 12,345,678 is `12.3 MF` (MF, GF, TF: millions, billions, ...).

    >>> [flops(x) for x in (0, 512, 12_345_678, 999_999)]
    ['0', '512 F', '12.3 MF', '1.00 MF']
    """
    if value is None:
        return NONE
    if value == 0:
        return "0"
    if value < 1000 and float(value).is_integer():
        return f"{value:.0f} F"
    for scale, unit in _SCALES:
        # 999.5 thousand rounds to 1.00 million: the digits that are printed decide about the unit.
        if float(f"{value:.3g}") >= scale:
            return f"{_three(value / scale)} {unit}"
    return f"{value:.3g} F"


def bits(value: float | None) -> str:
    """Return a state size in bits, or in millions and billions of them.

    >>> [bits(x) for x in (16, 4096, 33_554_432)]
    ['16 b', '4,096 b', '33.6 Mb']
    """
    if value is None:
        return NONE
    if value < 100_000:
        return f"{count(value)} b"
    for scale, unit in ((1e12, "Tb"), (1e9, "Gb"), (1e6, "Mb"), (1e3, "kb")):
        if value >= scale:
            return f"{_three(value / scale)} {unit}"
    raise AssertionError(value)


def seconds(value: float | None) -> str:
    """Return a duration in the unit that suits it."""
    if value is None:
        return NONE
    if value >= 120:
        return f"{value / 60:.1f} min"
    if value >= 0.1 or value == 0:
        return f"{value:.2f} s"
    return f"{_three(value * 1e3)} ms" if value >= 1e-4 else f"{_three(value * 1e6)} µs"


def _three(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f}"
