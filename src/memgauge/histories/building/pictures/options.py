"""Where a build's photographs come from, as the command line says it, checked before anything is written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, unknown_name
from memgauge.files import file_sha256
from memgauge.histories.building.pictures.album import Gathering
from memgauge.histories.building.pictures.channels import Channels, read_channels
from memgauge.histories.building.pictures.entities import NAMES
from memgauge.histories.building.pictures.fetching import Fetcher
from memgauge.histories.building.pictures.filter import LICENCES, Quality, Selector, licence_id
from memgauge.histories.building.pictures.sources import (
    Source,
    crawl_candidates,
    folder_source,
    need_crawler,
    url_source,
)
from memgauge.histories.building.pictures.watermarks import need_reader, text_reader

FORMS = ("procedural", "folder:DIR", "urls:FILE", "crawl")
MOST_REUSE = 25
"""Histories that may show the same photograph as a decoy."""


@dataclass(frozen=True, slots=True)
class PhotoOptions:
    """A source of photographs and what they must pass."""

    kind: str
    """`folder`, `urls` or `crawl`."""
    path: str = ""
    channels: Channels = field(default_factory=Channels)
    trust: bool = False
    """Take photographs that a missing channel leaves undecided."""
    licence: str = ""
    """Licence of pictures whose source names none."""
    by_reference: bool = False
    """Use pictures without an allowed licence; only their address and hash are exported."""
    reuse: int = MOST_REUSE
    watermarks: bool = False
    """Read the text in photographs, and refuse those with the words of watermarks."""
    delay: float = 2.0
    """Seconds between two requests to one host. It changes no file."""

    def to_dict(self) -> dict[str, Any]:
        """Return what the files follow from: hashes instead of paths."""
        return {
            "source": self.kind,
            "fingerprint": self._fingerprint(),
            "channels": self.channels.to_dict(),
            "trusted": self.trust,
            "license": self.licence,
            "by_reference": self.by_reference,
            "reuse": self.reuse,
            "watermarks": self.watermarks,
        }

    def _fingerprint(self) -> str:
        """Return a hash of the names and sizes of a folder's files, or of a list's bytes."""
        if self.kind == "crawl":
            return ""
        path = Path(self.path)
        if self.kind == "urls":
            return file_sha256(path)
        total = hashlib.sha256()
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            total.update(f"{file.relative_to(path).as_posix()}\0{file.stat().st_size}\0".encode())
        if (path / "index.jsonl").is_file():
            total.update(file_sha256(path / "index.jsonl").encode())
        return total.hexdigest()

    def source(self) -> Source:
        """Open the source. Raises `InputError` when it cannot be read."""
        fetcher = Fetcher(delay=self.delay)
        if self.kind == "folder":
            return folder_source(Path(self.path))
        if self.kind == "urls":
            return url_source(Path(self.path), fetcher)
        need_crawler()
        return Source("crawl", lambda query: crawl_candidates(query, fetcher))

    def gathering(self) -> Gathering:
        """Load the models, and return how candidates become photographs."""
        selector = Selector(
            scorers=self.channels.load(),
            quality=Quality(read_text=text_reader() if self.watermarks else None),
            thresholds=self.channels.thresholds,
            keep_unlicensed=self.by_reference,
            trust=self.trust,
        )
        return Gathering(self.source(), selector, self.licence)

    def strangers(self) -> list[str]:
        """Return what the source has pictures for that is no name of `NAMES`."""
        return sorted((self.source().queries or frozenset()) - set(NAMES)) if self.kind != "crawl" else []


def photo_options(
    spec: str,
    *,
    scorers: str = "",
    trust: bool = False,
    licence: str = "",
    by_reference: bool = False,
    reuse: int = MOST_REUSE,
    watermarks: bool = False,
    delay: float = 2.0,
) -> PhotoOptions | None:
    """Read the options of `build`; None for `procedural`.

    Raises `InputError` for a form that is not known, for a source that holds nothing for any name, for models that are
    not there, and for options with which no photograph could pass.
    """
    if spec == "procedural":
        if scorers or trust or licence or by_reference or watermarks or reuse != MOST_REUSE:
            raise InputError("the options for photographs need --images folder:DIR, urls:FILE or crawl")
        return None
    kind, _, place = spec.partition(":")
    if kind not in ("folder", "urls", "crawl"):
        raise unknown_name("source of pictures", spec, FORMS)
    if (kind == "crawl") == bool(place):
        raise InputError(f"--images {spec!r}: write one of {', '.join(FORMS)}")
    if not 1 <= reuse <= MOST_REUSE:
        raise InputError(f"--image-reuse takes 1 to {MOST_REUSE}, not {reuse}")
    if watermarks:
        need_reader()
    if not 0 <= delay <= 3600:
        raise InputError(f"--image-delay takes 0 to 3600 seconds, not {delay}")
    if licence and licence_id(licence) not in LICENCES:
        raise InputError(
            f"--image-license {licence!r}: pictures under it are not passed on; known: {', '.join(LICENCES)}"
        )
    if kind == "crawl":
        need_crawler()
        if trust:
            raise InputError("--trust-folder is for pictures that a person has looked at, not for --images crawl")
        if licence:
            raise InputError(
                "--image-license: the licences of a web search are unknown; leave it out with --images crawl"
            )
        by_reference = True
    channels = read_channels(Path(scorers).expanduser().absolute()) if scorers else Channels()
    if channels.missing and not trust:
        advice = "" if kind == "crawl" else ", or add --trust-folder if a person has looked at the pictures"
        raise InputError(
            f"--images {kind}: no model for the filter's channel {', '.join(channels.missing)}, so that no photograph "
            f"could pass; name the models with --image-scorers FILE{advice}"
        )
    path = str(Path(place).expanduser().absolute()) if place else ""
    options = PhotoOptions(kind, path, channels, trust, licence_id(licence), by_reference, reuse, watermarks, delay)
    found = options.source().queries
    if found is not None and not found & set(NAMES):
        what = f"it has {', '.join(sorted(found)[:5])}" if found else "it is empty"
        raise InputError(
            f"--images {spec}: no pictures for any of the {len(NAMES)} names ({what}); expected are names such as "
            f"{', '.join(NAMES[:3])} as subfolders or in the field query"
        )
    return options
