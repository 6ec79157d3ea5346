"""Whether a folder can be written: permission and space, said before any work is done, and when it ends on the way."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memgauge.errors import InputError
from memgauge.files import write_whole


def nearest(path: Path) -> Path:
    """Return the folder itself, or the nearest one above it that is there."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def check_writable(out: Path) -> None:
    """Raise `InputError` where `out` is no folder, or cannot be made or written."""
    above = nearest(out)
    if not above.is_dir():
        what = "a file is in the way" if above == out else f"{above} is a file"
        raise InputError(f"{out}: {what}; choose another folder")
    if not os.access(above, os.W_OK | os.X_OK):
        what = "no permission to write into it" if above == out else f"no permission to write into {above}"
        raise InputError(f"{out}: {what}; choose another folder, or change its permissions")


def check_room(out: Path, need: int, advice: str) -> None:
    """Raise `InputError` with both figures where the disk of `out` has fewer than `need` bytes free."""
    free = shutil.disk_usage(nearest(out)).free
    if need > free:
        raise InputError(f"{out}: about {size(need)} are needed and the disk has {size(free)} free; {advice}")


def write_named(path: Path, text: str) -> None:
    """Write a file that the user named, whole or not at all. Raises `InputError` that says why it cannot be written."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); choose another place") from error


@contextmanager
def disk_faults(out: Path) -> Iterator[None]:
    """Turn what a disk says that is full, was made read-only or fails while files are written into an `InputError`."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.EFBIG):
            raise
        raise InputError(
            f"{out}: cannot be written any more ({error.strerror}); make room or put it right, and the same command "
            "goes on from there"
        ) from error


def size(count: float) -> str:
    """Return a number of bytes as people write it.

    >>> size(1_230_000), size(2.5e9)
    ('1.2 MB', '2.5 GB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
