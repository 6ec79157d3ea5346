"""Fetches pictures from the web with manners and bounds: robots rules, a delay for each host, bounded sizes."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from memgauge.errors import InputError
from memgauge.histories.building.pictures.photos import MOST_BYTES

AGENT = "memgauge"
MOST_ROBOTS_BYTES = 500_000
MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
LONGEST_DELAY = 60.0
"""A longer delay that a host's rules ask for is cut to this."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect by itself: the rules of where it leads are looked at first."""

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage
    ) -> None:
        """Leave it to the handler of errors, whatever the address is."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _web(url: str) -> str:
    """Return the scheme and host of a web address; raises `InputError` for any other."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InputError(f"{url}: not a web address ({error})") from error
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise InputError(f"{url}: not a web address (http or https)")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}"


def _joined(url: str, place: str) -> str:
    try:
        return urljoin(url, place)
    except ValueError as error:
        raise InputError(f"{url}: redirected to no web address ({error})") from error


@dataclass(slots=True)
class Fetcher:
    """Fetches over http and https."""

    delay: float = 2.0
    """Seconds between two requests to one host; the host's own rules may ask for more."""
    timeout: float = 20.0
    """Seconds without an answer after which a request is given up."""
    robots: bool = True
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _last: dict[str, float] = field(default_factory=dict, repr=False)
    _rules: dict[str, RobotFileParser] = field(default_factory=dict, repr=False)

    def get(self, url: str) -> bytes:
        """Return what an address holds, at most 32 MiB. The rules hold for every address that it is redirected to.

        Raises `InputError` naming the address: not http(s), forbidden by a host's robots rules, redirected too often,
        not found, too large, or no answer.
        """
        return self._follow(url, MOST_BYTES, rules=self.robots)

    def _follow(self, url: str, most: int, *, rules: bool) -> bytes:
        for _ in range(MOST_REDIRECTS + 1):
            host = _web(url)
            if rules and not self._allowed(host, url):
                raise InputError(f"{url}: the robots rules of the host forbid it")
            found = self._read(host, url, most)
            if isinstance(found, bytes):
                return found
            url = found
        raise InputError(f"{url}: more than {MOST_REDIRECTS} redirects")

    def _allowed(self, host: str, url: str) -> bool:
        rules = self._rules.get(host)
        if rules is None:
            rules = RobotFileParser()
            try:
                # Rules may stand elsewhere; fetching them needs no leave.
                text = self._follow(f"{host}/robots.txt", MOST_ROBOTS_BYTES, rules=False).decode("utf-8", "replace")
                rules.parse(text.splitlines())
            except InputError as error:
                # No rules (4xx) allow all; a host that does not answer is left alone.
                cause = error.__cause__
                missing = isinstance(cause, urllib.error.HTTPError) and 400 <= cause.code < 500
                rules.parse([] if missing else ["User-agent: *", "Disallow: /"])
            self._rules[host] = rules
        return rules.can_fetch(AGENT, url)

    def _pause(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        rules = self._rules.get(host) if self.robots else None
        asked = rules.crawl_delay(AGENT) if rules is not None else None
        return max(self.delay, min(float(asked), LONGEST_DELAY)) if asked is not None else self.delay

    def _read(self, host: str, url: str, most: int) -> bytes | str:
        """Return what one request brings: the bytes, or the address that it is redirected to."""
        last = self._last.get(host)
        wait = 0.0 if last is None else last + self._pause(host) - self.clock()
        if wait > 0:
            self.sleep(wait)
        self._last[host] = self.clock()
        try:
            request = urllib.request.Request(url, headers={"User-Agent": AGENT})
            with urllib.request.build_opener(_Stay).open(request, timeout=self.timeout) as answer:
                data: bytes = answer.read(most + 1)
        except urllib.error.HTTPError as error:
            place = error.headers.get("Location") if error.code in _REDIRECTS else None
            if place:
                return _joined(url, place)
            raise InputError(f"{url}: cannot be fetched ({error})") from error
        except (OSError, HTTPException, ValueError) as error:
            raise InputError(f"{url}: cannot be fetched ({error})") from error
        if len(data) > most:
            raise InputError(f"{url}: more than {most:,} bytes")
        return data
