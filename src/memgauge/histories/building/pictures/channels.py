"""The filter's models as a build names them: a JSON file with a folder for each, and the thresholds.

{"clip": "models/clip", "siglip": "models/siglip", "blip2": "models/blip2", "encoder": "models/deberta",
 "thresholds": {"clip": 0.3, "siglip": 0.1, "text": 0.45}}

Folders are relative to the file. The channel `text` needs both `blip2` (captions) and `encoder`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.pictures.filter import CHANNELS, Scorer, Thresholds

MODELS = ("clip", "siglip", "blip2", "encoder")
_HEAD = 1 << 20
"""Bytes at either end of a file of weights that its fingerprint reads; small files are read whole."""


@dataclass(frozen=True, slots=True)
class Channels:
    """Which channels of the filter run, from which models, with which thresholds."""

    clip: str = ""
    siglip: str = ""
    blip2: str = ""
    encoder: str = ""
    thresholds: Thresholds = field(default_factory=Thresholds)

    @property
    def running(self) -> tuple[str, ...]:
        """The channels that have their models."""
        there = {"clip": self.clip, "siglip": self.siglip, "text": self.blip2 and self.encoder}
        return tuple(name for name in CHANNELS if there[name])

    @property
    def missing(self) -> tuple[str, ...]:
        """The channels that do not run."""
        return tuple(name for name in CHANNELS if name not in self.running)

    def to_dict(self) -> dict[str, Any]:
        """Return what follows for the files: fingerprints of the models and thresholds, no path."""
        prints = {name: fingerprint(Path(getattr(self, name))) for name in MODELS if getattr(self, name)}
        return {"models": prints, "running": list(self.running), "thresholds": asdict(self.thresholds)}

    def load(self) -> list[Scorer]:
        """Load the models. Raises `InputError` for one that cannot be loaded."""
        from memgauge.histories.building.pictures.scorers import Captioner, CaptionScorer, ClipScorer, SiglipScorer

        scorers: list[Scorer] = []
        if "clip" in self.running:
            scorers.append(ClipScorer(self.clip))
        if "siglip" in self.running:
            scorers.append(SiglipScorer(self.siglip))
        if "text" in self.running:
            scorers.append(CaptionScorer(Captioner(self.blip2), self.encoder))
        return scorers


def read_channels(path: Path) -> Channels:
    """Read the file. Raises `InputError` that names the file and the field for anything unknown or missing."""
    document = read_document(path)
    unknown = [name for name in document if name not in (*MODELS, "thresholds")]
    if unknown:
        raise InputError(f"{path}: unknown field {unknown[0]!r}; known are {', '.join(MODELS)} and thresholds")
    folders = {}
    for name in MODELS:
        folder = document.get(name, "")
        if not isinstance(folder, str):
            raise InputError(f"{path}: {name} is not the name of a folder")
        if folder:
            place = path.parent / Path(folder).expanduser()
            if not (place / "config.json").is_file():
                raise InputError(f"{path}: {name}: {place} holds no model (a folder with config.json is expected)")
            folders[name] = str(place)
    if ("blip2" in folders) != ("encoder" in folders):
        raise InputError(f"{path}: the channel of captions needs both blip2 and encoder")
    return Channels(**folders, thresholds=_thresholds(path, document.get("thresholds", {})))


def read_document(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file. Raises `InputError`."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not isinstance(document, dict):
        raise InputError(f"{path}: expected an object with the folders of the models")
    return document


def _thresholds(path: Path, given: Any) -> Thresholds:
    if not isinstance(given, Mapping):
        raise InputError(f"{path}: thresholds is not an object")
    for name, value in given.items():
        if name not in CHANNELS:
            raise InputError(f"{path}: thresholds.{name}: unknown channel; known are {', '.join(CHANNELS)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(f"{path}: thresholds.{name}: expected a number, got {value!r:.40}")
    return Thresholds(**{name: float(value) for name, value in given.items()})


def fingerprint(folder: Path) -> str:
    """Return a hash of a model's folder: names, sizes and contents; of large files both ends."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        size = path.stat().st_size
        total.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            total.update(file.read(_HEAD))
            if size > _HEAD:
                file.seek(max(_HEAD, size - _HEAD))
                total.update(file.read(_HEAD))
    return total.hexdigest()
