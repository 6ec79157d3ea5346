"""Small trained checkpoints that come with the package; finding them needs no torch."""

from __future__ import annotations

from pathlib import Path

from memgauge.errors import unknown_name

_HERE = Path(__file__).with_name("checkpoints")


def shipped_checkpoints() -> dict[str, Path]:
    """Return name and folder of every checkpoint that ships, sorted by name."""
    return {folder.name: folder for folder in sorted(_HERE.iterdir())} if _HERE.is_dir() else {}


def shipped_folder(name: str) -> Path:
    """Return the folder of a checkpoint that ships. Raises `InputError` for another name, with the nearest ones."""
    found = shipped_checkpoints()
    if name not in found:
        raise unknown_name("checkpoint that ships", name, found)
    return found[name]
