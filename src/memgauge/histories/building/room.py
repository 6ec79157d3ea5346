"""Whether a folder can be written: permission and space, said before any work is done."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from memgauge.errors import InputError


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


def size(count: float) -> str:
    """Return a number of bytes as people write it.

    >>> size(1_230_000), size(2.5e9)
    ('1.2 MB', '2.5 GB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
