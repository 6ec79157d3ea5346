"""Reading a user's own stream of symbols from a file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError

MAX_BYTES = 64 * 2**20
MAX_SYMBOLS = 4_000_000
_SEPARATORS = re.compile(r"[\s,;]+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def read_symbols(file: Path | str, *, raw: bool = False) -> NDArray[np.int64]:
    """Return the symbols of a file, numbered, shape [n].

    A text file holds integers or any other tokens between blanks, commas or semicolons, perhaps in square brackets;
    equal tokens (and equal integers) are equal symbols. With `raw` each byte is a symbol. The name `-` means standard
    input.

    Raises `InputError` for a file that cannot be read or is too large.
    """
    data = _read(file)
    if raw:
        symbols = np.frombuffer(data, np.uint8).astype(np.int64)
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: not UTF-8 text (byte {error.start}); use --bytes for raw bytes") from None
        text = text.strip()
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1]
        tokens = [token for token in _SEPARATORS.split(text) if token]
        numbers: dict[str, int] = {}
        symbols = np.array([numbers.setdefault(_plain(token), len(numbers)) for token in tokens], np.int64)
    if len(symbols) > MAX_SYMBOLS:
        raise InputError(
            f"{file}: {len(symbols):,} symbols; at most {MAX_SYMBOLS:,} are measured, so give a part of it"
        )
    return symbols


def _plain(token: str) -> str:
    """Return an integer in its plain spelling (07 is 7), and any other token as it is."""
    return str(int(token)) if _INTEGER.fullmatch(token) else token


def _read(file: Path | str) -> bytes:
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as handle:
                data = handle.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{file}: more than {MAX_BYTES // 2**20} MiB; give a part of it")
    return data
