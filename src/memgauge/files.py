"""Files are written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memgauge.errors import InputError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that readers see the old content or the new one, never a part (temporary file, then rename)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def whole_folder(folder: Path, *, kind: str, replace: bool | None = None) -> Iterator[Path]:
    """Fill a folder so that it appears whole or not at all: yields one beside it, which takes its place at the end.

    Raises `InputError` when `folder` is there and not empty. `replace` removes it then, and only if its manifest.json
    says that its `format` is `kind`; None is for a command that has no --force.
    """
    folder = folder.expanduser().absolute()
    if folder.is_symlink():
        folder = folder.resolve()
    _check_free(folder, kind, replace)
    beside = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial"
    try:
        beside.mkdir(parents=True)
        yield beside
        _check_free(folder, kind, replace)
        if folder.exists() and any(folder.iterdir()):
            old = beside.with_suffix(".old")
            folder.rename(old)
            beside.rename(folder)
            shutil.rmtree(old)
        else:
            beside.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _check_free(folder: Path, kind: str, replace: bool | None) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: a file is in the way; choose another folder")
    if not any(folder.iterdir()):
        return
    if not replace:
        advice = (
            "choose another folder" if replace is None else "choose another folder, or --force to replace a dataset"
        )
        raise InputError(f"{folder}: exists and is not empty; {advice}")
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("format") != kind:
        raise InputError(f"{folder}: --force replaces a dataset of the format {kind!r}, and this folder holds none")
