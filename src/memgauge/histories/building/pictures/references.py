"""Photographs that a finished folder keeps by reference: fetched again, taken only if they have not changed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memgauge.errors import InputError
from memgauge.histories.building.photographs import LIST
from memgauge.histories.building.pictures.fetching import Fetcher
from memgauge.histories.building.pictures.photos import RefusedPicture, decode
from memgauge.histories.building.store import picture_file, put
from memgauge.progress import Progress

_MOST_LINE = 1 << 16


class Listed(BaseModel):
    """A line of `photographs.jsonl`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    file: str = Field(pattern=r"^[0-9a-f]{2}/[0-9a-f]{64}\.jpg$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    pixels_sha256: str
    width: int
    height: int
    source: str
    url: str
    license: str
    author: str
    by_reference: bool
    scores: dict[str, float | None]


def read_list(folder: Path) -> list[Listed]:
    """Read the photographs of a finished folder. Raises `InputError` that names the line."""
    path = folder / LIST
    rows = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(_MOST_LINE), b""), start=1):
                try:
                    rows.append(Listed.model_validate_json(line))
                except ValidationError as error:
                    fault = error.errors(include_url=False, include_input=False)[0]
                    place = ".".join(map(str, fault["loc"])) or "the line"
                    raise InputError(f"{path}: line {number}: {place}: {fault['msg']}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error}); the folder has no photographs from outside") from error
    return rows


def fetch_references(folder: Path, *, delay: float = 2.0) -> tuple[dict[str, int], list[str]]:
    """Fetch the photographs that `images/` lacks; returns counts by outcome, and a line for each that failed.

    A photograph is taken only if its cleaned bytes have the hash of its name; another version of Pillow may encode
    differently, which counts as changed. Raises `InputError` for a folder without a list of photographs.
    """
    wanted = [row for row in read_list(folder) if row.by_reference]
    counts: Counter[str] = Counter()
    failed: list[str] = []
    fetcher = Fetcher(delay=delay)
    with Progress("photographs", len(wanted)) as bar:
        for row in wanted:
            place = folder / "images" / row.file
            outcome = "there already" if place.is_file() else _fetched(row, place, fetcher, failed)
            counts[outcome] += 1
            bar.advance()
    return dict(sorted(counts.items())), failed


def _fetched(row: Listed, place: Path, fetcher: Fetcher, failed: list[str]) -> str:
    try:
        picture = decode(fetcher.get(row.url), name=row.url).clean()
    except RefusedPicture as refusal:
        failed.append(str(refusal))
        return refusal.reason
    except InputError as error:
        failed.append(str(error))
        return "not fetched"
    if picture_file(picture.data, picture.extension) != row.file:
        failed.append(f"{row.url}: another picture than {row.file}")
        return "changed"
    put(place, picture.data)
    return "fetched"
