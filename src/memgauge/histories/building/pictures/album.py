"""The photographs of a build: gathered once, name by name, before any question is made.

Files of photographs go to `images/` under the hash of their bytes, as drawn pictures do. What is known of them stands
in `.build/photographs/`, one file a name, so that a build that was stopped goes on with the next name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.pictures.dedup import canonical_url
from memgauge.histories.building.pictures.entities import NAMES
from memgauge.histories.building.pictures.filter import Kept, Scores, Selector, licence_id
from memgauge.histories.building.pictures.sources import Candidate, Source
from memgauge.histories.building.store import put, put_picture
from memgauge.progress import Progress

MOST_LOOKED_AT = 200
"""Candidates of one name that are opened; further ones are counted as `not looked at`."""
MOST_KEPT = 60
"""Photographs of one name that are kept, those that fit best."""


@dataclass(frozen=True, slots=True)
class Photograph:
    """A photograph that a build may show."""

    name: str
    """The entity that it shows."""
    file: str
    """Relative to `images/`."""
    width: int
    height: int
    source: str
    """`folder`, `urls` or `crawl`."""
    url: str
    """In one spelling, without tracking parameters; empty if unknown."""
    licence: str
    """In one spelling; empty if unknown."""
    author: str
    pixels_sha256: str
    phash: str
    """16 hexadecimal digits."""
    scores: Mapping[str, float | None]
    by_reference: bool
    """Only its address and hash are exported."""


@dataclass(frozen=True, slots=True)
class Album:
    """All photographs of a build by name, and what became of the candidates."""

    photographs: Mapping[str, tuple[Photograph, ...]]
    counts: Mapping[str, int]
    """Outcome: number of candidates; those that begin with `note:` are remarks on top of that."""

    @property
    def kept(self) -> int:
        """Number of photographs."""
        return sum(map(len, self.photographs.values()))

    @property
    def candidates(self) -> int:
        """Number of candidates that the source named."""
        return sum(count for reason, count in self.counts.items() if not reason.startswith("note:"))


@dataclass(frozen=True, slots=True)
class Gathering:
    """How candidates become photographs."""

    source: Source
    selector: Selector
    licence: str = ""
    """Of candidates whose source names none."""
    names: Sequence[str] = field(default=NAMES)


def gather(images: Path, work: Path, how: Gathering) -> Album:
    """Look at the candidates of every name, in order; names that are done are not looked at again.

    No photograph is kept twice, under whatever name. Raises `InputError` when a source or model cannot be used at all.
    """
    folder = _folder(work)
    with Progress("photographs of names", len(how.names)) as bar:
        for name in how.names:
            path = folder / f"{name}.json"
            if path.exists():
                for photograph in _read(path)[0]:
                    how.selector.seen.claim(photograph.url, photograph.pixels_sha256, int(photograph.phash, 16))
            else:
                _gather_name(images, path, name, how)
            bar.advance()
    return read_album(work, how.names)


def _gather_name(images: Path, path: Path, name: str, how: Gathering) -> None:
    how.selector.counts.clear()
    candidates = _licensed(how.source.find(name), how.licence)
    kept = how.selector.gather(islice(candidates, MOST_LOOKED_AT), name, MOST_KEPT)
    left = sum(1 for _ in candidates)
    rows = [_photograph(name, k, put_picture(images, k.picture.data, k.picture.extension)) for k in kept]
    counts = Counter(how.selector.counts)
    if left:
        counts["not looked at"] += left
    content = {"photographs": [asdict(row) for row in rows], "counts": dict(sorted(counts.items()))}
    put(path, json.dumps(content, ensure_ascii=False, allow_nan=False).encode())


def _licensed(candidates: Iterator[Candidate], licence: str) -> Iterator[Candidate]:
    for c in candidates:
        yield c if c.licence or not licence else Candidate(c.source, c.name, c.open, c.url, licence, c.author)


def _photograph(name: str, kept: Kept, file: str) -> Photograph:
    candidate, scores = kept.candidate, kept.scores
    return Photograph(
        name=name,
        file=file,
        width=kept.picture.width,
        height=kept.picture.height,
        source=candidate.source,
        url=canonical_url(candidate.url) if candidate.url else "",
        licence=licence_id(candidate.licence),
        author=candidate.author,
        pixels_sha256=kept.pixels_sha256,
        phash=f"{kept.phash:016x}",
        scores={channel: _rounded(getattr(scores, channel)) for channel in Scores.__slots__},
        by_reference=not kept.redistributable,
    )


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def read_album(work: Path, names: Sequence[str] = NAMES) -> Album:
    """Return what was gathered. Raises `InputError` when a file is missing or broken."""
    photographs: dict[str, tuple[Photograph, ...]] = {}
    counts: Counter[str] = Counter()
    for name in names:
        rows, some = _read(_folder(work) / f"{name}.json")
        photographs[name] = rows
        counts.update(some)
    return Album(photographs, dict(sorted(counts.items())))


def gathered(work: Path, names: Sequence[str] = NAMES) -> bool:
    """Whether a build uses photographs and has looked at all of their candidates."""
    return all((_folder(work) / f"{name}.json").is_file() for name in names)


def _folder(work: Path) -> Path:
    return work / "photographs"


def _read(path: Path) -> tuple[tuple[Photograph, ...], dict[str, int]]:
    try:
        content: Any = json.loads(path.read_text("utf-8"))
        return tuple(Photograph(**row) for row in content["photographs"]), content["counts"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}); remove it, and the same command gathers its photographs again"
        ) from error
