"""The elements of a JSON array in a file of any size, one by one, as bytes: the rest goes on after a broken one.

A parser that streams stops for good at the first thing it cannot hold, such as a number of thousands of digits. Here an
element is cut out by its brackets and handed to `json.loads` alone, so only that element is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from memgauge.errors import InputError

_CHUNK = 1 << 20
# A text is one token; one that the buffer breaks off ends at its end.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:(")|\\?\Z)|[\[\]{},:]', re.DOTALL)
_BLANK = re.compile(rb"[ \t\r\n]*+")


class _Text:
    """A file with what was read and not yet used."""

    def __init__(self, file: IO[bytes], path: Path, limit: int) -> None:
        self.file, self.path, self.limit = file, path, limit
        self.data = bytearray()
        self.ended = False

    def more(self) -> bool:
        """Read on; False at the end of the file."""
        # A text that the buffer breaks off is scanned again: reading ever more keeps that linear.
        got = self.file.read(max(_CHUNK, len(self.data)))
        self.data += got
        self.ended = not got
        if len(self.data) > self.limit + 2 * _CHUNK:
            raise InputError(f"{self.path}: a record is larger than {self.limit >> 20} MiB")
        return bool(got)

    def next_byte(self) -> bytes:
        """Drop blanks and return the byte that follows, empty at the end of the file."""
        while True:
            blank = _BLANK.match(self.data)
            assert blank is not None  # matches nothing too
            del self.data[: blank.end()]
            if self.data or not self.more():
                return bytes(self.data[:1])

    def take(self, size: int) -> bytes:
        """Return the first bytes and drop them."""
        found = bytes(self.data[:size])
        del self.data[:size]
        return found

    def value_end(self) -> int:
        """Return where the value at the front ends: at its closing bracket or quote, else before the next separator.

        The end of the data for one that the file breaks off.
        """
        at = depth = 0
        while True:
            cut = False
            for match in _TOKEN.finditer(self.data, at):
                token = match[0]
                if token[0] == 0x22:
                    if match[1] is None and not self.ended:
                        at, cut = match.start(), True
                        break
                    if depth == 0:
                        return match.end()
                elif token in b"[{":
                    depth += 1
                elif token in b"]}":
                    depth -= 1
                    if depth <= 0:
                        return match.end() if depth == 0 else match.start()
                elif depth == 0:
                    return match.start()
                at = match.end()
            if not self.more() and not cut:
                return len(self.data)


def array_elements(path: Path, limit: int) -> Iterator[bytes]:
    """Yield the elements of a file that is a JSON array, or an object whose `data` is one.

    Raises `InputError` where the file is neither, where it breaks off, and for an element of more than `limit` bytes.
    """
    with path.open("rb") as file:
        text = _Text(file, path, limit)
        text.more()
        if text.data.startswith(b"\xef\xbb\xbf"):
            del text.data[:3]
        start = text.next_byte()
        if start not in (b"[", b"{"):
            raise InputError(f"{path}: neither a JSON list of records nor an object whose 'data' is one")
        number = 0
        if start == b"[" or _enter_data(text):
            text.take(1)
            while (first := text.next_byte()) != b"]" or number:
                if number and first != b"]":
                    if first != b",":
                        raise _broken(path, number, "the list breaks off" if not first else "a comma is missing")
                    text.take(1)
                    first = text.next_byte()
                elif number:
                    break
                element = text.take(text.value_end())
                if not element.strip() or (first in b"[{" and element[-1:] not in b"]}"):
                    raise _broken(path, number, "the list breaks off")
                number += 1
                yield element
        if not number:
            raise InputError(f"{path}: holds no records (a JSON list, or an object whose 'data' is one)")


def _enter_data(text: _Text) -> bool:
    """Go to the list under the key `data` of the object at the front; False where there is none."""
    text.take(1)
    while text.next_byte() == b'"':
        key = text.take(text.value_end())
        if text.next_byte() != b":":
            raise _broken(text.path, 0, "a colon is missing")
        text.take(1)
        first = text.next_byte()
        if key == b'"data"':
            return first == b"["
        text.take(text.value_end())
        if text.next_byte() == b",":
            text.take(1)
    return False


def _broken(path: Path, number: int, said: str) -> InputError:
    return InputError(f"{path}: not JSON after record {number}: {said}")
