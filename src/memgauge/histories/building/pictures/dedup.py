"""No picture twice: by address, by pixels, by look for photographs, by truth for drawn pictures."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from memgauge.histories.building.model import ImageSpec

NEAR_BITS = 6
"""Photographs whose perceptual hashes differ in at most so many of 64 bits are the same picture."""
_TRACKING = ("utm_", "fbclid", "gclid", "mc_", "igshid", "ref_src", "_ga")


def canonical_url(url: str) -> str:
    """Return an address in one spelling: lower-case scheme and host, no default port, fragment or tracking parameter.

    >>> canonical_url("HTTPS://Example.org:443/a/../b.jpg?utm_source=x&size=2#top")
    'https://example.org/b.jpg?size=2'
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:  # no address at all, but still the same text
        return url.strip()
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    default = {"http": 80, "https": 443}.get(scheme)
    place = host if port in (None, default) else f"{host}:{port}"
    query = sorted((k, v) for k, v in parse_qsl(parts.query) if not k.lower().startswith(_TRACKING))
    path: list[str] = []
    for part in parts.path.split("/"):
        if part == "..":
            path = path[:-1]
        elif part not in ("", "."):
            path.append(part)
    return urlunsplit((scheme, place, "/" + "/".join(path), urlencode(query), ""))


def truth_key(spec: ImageSpec) -> tuple[str, str]:
    """Return what makes two drawn pictures the same: kind and truth, whatever the seed of their look."""
    return spec.kind, json.dumps(spec.truth, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Seen:
    """The pictures that were taken so far.

    Perceptual hashes are for photographs only: drawn receipts or chats of different content lie within four bits.

    >>> seen = Seen()
    >>> seen.claim_drawn(ImageSpec("clock", {"hour": 9, "minute": 5}, seed=1))
    True
    >>> seen.claim_drawn(ImageSpec("clock", {"minute": 5, "hour": 9}, seed=2))
    False
    """

    def __init__(self) -> None:
        self._urls: set[str] = set()
        self._pixels: set[str] = set()
        self._looks: list[int] = []
        self._truths: set[tuple[str, str]] = set()

    def repeats(self, url: str, pixels_sha256: str, phash: int) -> str:
        """Say in what a photograph repeats one that was taken: `url`, `pixels`, `look`, or nothing."""
        if url and canonical_url(url) in self._urls:
            return "url"
        if pixels_sha256 in self._pixels:
            return "pixels"
        if any((phash ^ other).bit_count() <= NEAR_BITS for other in self._looks):
            return "look"
        return ""

    def claim(self, url: str, pixels_sha256: str, phash: int) -> None:
        """Remember a photograph."""
        if url:
            self._urls.add(canonical_url(url))
        self._pixels.add(pixels_sha256)
        self._looks.append(phash)

    def claim_drawn(self, spec: ImageSpec) -> bool:
        """Remember a drawn picture; false if one with the same truth was there."""
        key = truth_key(spec)
        if key in self._truths:
            return False
        self._truths.add(key)
        return True
