"""Files of a build: written whole by rename, pictures under the hash of their bytes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

TEMPORARY = ".part-"
"""Start of the names of files that are being written; what a killed build leaves of them is removed by the next."""


def put(path: Path, data: bytes) -> None:
    """Write a file so that it appears whole or not at all.

    Unlike `files.write_whole` it does not wait for the disk: a killed process loses nothing by that, and a build writes
    tens of thousands of files.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.parent / f"{TEMPORARY}{os.getpid()}-{path.name}"
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def picture_file(data: bytes, extension: str) -> str:
    """Return the name of a picture relative to `images/`: two digits of its hash, then the hash.

    >>> picture_file(b"", "png")[:12]
    'e3/e3b0c4429'
    """
    name = hashlib.sha256(data).hexdigest()
    return f"{name[:2]}/{name}.{extension}"


def put_picture(images: Path, data: bytes, extension: str) -> str:
    """Store a picture unless it is there, and return its name relative to `images`."""
    file = picture_file(data, extension)
    path = images / file
    if not path.exists():
        put(path, data)
    return file


def sweep(folder: Path) -> int:
    """Remove what killed builds left half-written; returns the number of files."""
    left = [path for path in folder.rglob(TEMPORARY + "*") if path.is_file()]
    for path in left:
        path.unlink(missing_ok=True)
    return len(left)
