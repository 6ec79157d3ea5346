"""Texts kept on the disk while an evaluation runs, so that whole histories are in memory only while they are asked."""

from __future__ import annotations

import json
import os
import tempfile

from memgauge.errors import InputError


class Spool:
    """A temporary file of lists of texts; it is gone when the program ends, however it ends.

    >>> spool = Spool()
    >>> first, second = spool.keep(["a", "b"]), spool.keep(["c"])
    >>> spool.read(first)
    ['a', 'b']
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="memgauge-")  # noqa: SIM115 - open as long as this object lives
        self._end = 0

    def keep(self, texts: list[str]) -> tuple[int, int]:
        """Write texts and return where they are. Raises `InputError` where the disk is full."""
        data = json.dumps(texts).encode()
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"{tempfile.gettempdir()}: histories cannot be kept there while they are asked about "
                f"({error.strerror}); set TMPDIR to a folder with more room"
            ) from error
        where = self._end, len(data)
        self._end += len(data)
        return where

    def read(self, where: tuple[int, int]) -> list[str]:
        """Return texts; may be called from several threads at once."""
        begin, size = where
        texts: list[str] = json.loads(os.pread(self._file.fileno(), size, begin))
        return texts
