"""Thresholds of the filter from labelled pictures (MEMLENS, C.5, gives one only; the rest is set here)."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from memgauge.errors import InputError
from memgauge.histories.building.pictures.channels import MODELS, Channels, read_channels
from memgauge.histories.building.pictures.filter import CHANNELS, Scorer, Scores, Thresholds, calibrate
from memgauge.histories.building.pictures.photos import RefusedPicture, open_photo
from memgauge.histories.building.pictures.sources import Candidate, folder_source, read_rows
from memgauge.histories.building.room import write_named
from memgauge.progress import Progress


@dataclass(slots=True)
class Labelled:
    """The scores of labelled pictures, and what could not be read."""

    scores: list[Scores] = field(default_factory=list)
    pictures: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def to_dict(self, thresholds: Thresholds) -> dict[str, Any]:
        """Return counts and figures, and how many of the scored pictures would pass."""
        return {
            "pictures": self.pictures,
            "scored": len(self.scores),
            "passed": sum(thresholds.verdict(s) == "pass" for s in self.scores),
            "refused": dict(sorted(self.refused.items())),
            "scores": {name: _figures([getattr(s, name) for s in self.scores]) for name in CHANNELS},
        }


def _figures(values: Sequence[float]) -> dict[str, float | None]:
    names = ("least", "5th percentile", "median", "most")
    if not values:
        return dict.fromkeys(names)
    found = np.quantile(np.array(values, dtype=np.float64), (0, 0.05, 0.5, 1), method="lower")
    return {name: round(float(value), 6) for name, value in zip(names, found, strict=True)}


def calibrate_files(
    positives: Path, negatives: Path | None, scorers: Path | None, *, share: float = 0.05, out: Path | None = None
) -> dict[str, Any]:
    """Score labelled pictures, and set the thresholds of SigLIP and text at the `share` quantile of the positives.

    Parameters
    ----------
    positives, negatives : a folder of pictures (see `sources.folder_source`), or a list of rows with `query` and `file`
        (relative to the list, inside its folder), or with the scores `clip`, `siglip` and `text`.
    scorers : the file of the models (see `channels`); a list of scores needs none.
    out : where to write that file with the new thresholds.

    Raises `InputError` for a share out of 0 to 0.5, fewer than 20 scored positives, and what cannot be read.
    """
    if not 0 < share <= 0.5:
        raise InputError(f"--share takes more than 0 and at most 0.5, not {share}")
    if out is not None and scorers is None:
        raise InputError("--out writes the file of --image-scorers with new thresholds; name that file too")
    channels = read_channels(scorers) if scorers is not None else None
    models: list[Scorer] = []
    good = _scored(positives, channels, models)
    bad = _scored(negatives, channels, models) if negatives is not None else None
    kept = channels.thresholds.clip if channels is not None else Thresholds().clip
    thresholds = calibrate(good.scores, share=share, clip=kept)
    if out is not None and channels is not None:
        _write(out, channels, thresholds)
    return {
        "share": share,
        "thresholds": {name: round(value, 6) for name, value in asdict(thresholds).items()},
        "positives": good.to_dict(thresholds),
        "negatives": bad.to_dict(thresholds) if bad is not None else None,
    }


def _write(out: Path, channels: Channels, thresholds: Thresholds) -> None:
    """Write the models, relative to the file, with the thresholds."""
    folders = {name: getattr(channels, name) for name in MODELS if getattr(channels, name)}
    beside = out.absolute().parent
    document = {name: Path(os.path.relpath(folder, beside)).as_posix() for name, folder in folders.items()}
    write_named(out, json.dumps({**document, "thresholds": asdict(thresholds)}, indent=2) + "\n")


def _scored(path: Path, channels: Channels | None, models: list[Scorer]) -> Labelled:
    """Score what a folder or list holds; `models` are loaded when the first picture needs them."""
    found = Labelled()
    if path.is_file():
        rows = list(read_rows(path, needs=()))
        if rows and set(CHANNELS) <= rows[0].keys():
            for number, row in enumerate(rows, start=1):
                found.scores.append(_given(path, number, row))
            found.pictures = len(rows)
            return found
    labelled = list(_labelled(path))
    if not labelled:
        raise InputError(f"{path}: no labelled pictures")
    if channels is None:
        raise InputError(f"{path}: pictures need models to score them; name them with --image-scorers FILE")
    if channels.missing:
        raise InputError(f"calibration needs all three channels; no model for {', '.join(channels.missing)}")
    if not models:
        models += channels.load()
    with Progress(f"scores of {path.name}", len(labelled)) as bar:
        for query, candidate in labelled:
            found.pictures += 1
            try:
                photo = candidate.open()
                found.scores.append(Scores(**{model.channel: model.score(photo, query) for model in models}))
            except RefusedPicture as refusal:
                found.refused[refusal.reason] += 1
            bar.advance()
    return found


def _labelled(path: Path) -> Iterator[tuple[str, Candidate]]:
    if path.is_file():
        folder = path.absolute().parent
        for row in read_rows(path, needs=("query", "file")):
            file = folder / row["file"]
            yield row["query"], Candidate("folder", str(file), partial(open_photo, file, inside=folder))
        return
    source = folder_source(path)
    for query in sorted(source.queries or ()):
        for candidate in source.find(query):
            yield query, candidate


def _given(path: Path, number: int, row: dict[str, str]) -> Scores:
    try:
        values = {name: float(row[name]) for name in CHANNELS}
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: row {number}: the scores clip, siglip and text are numbers ({error})") from error
    if not all(map(math.isfinite, values.values())):
        raise InputError(f"{path}: row {number}: a score is not finite")
    return Scores(**values)
