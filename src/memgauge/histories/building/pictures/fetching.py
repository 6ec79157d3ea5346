"""Fetches pictures from the web with manners and bounds: robots rules, a delay for each host, bounded sizes."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from memgauge.errors import InputError
from memgauge.histories.building.pictures.photos import MOST_BYTES

AGENT = "memgauge"
MOST_ROBOTS_BYTES = 500_000


class _WebOnly(urllib.request.HTTPRedirectHandler):
    """Follows redirects to web addresses only."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        _web(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _web(url: str) -> str:
    """Return the scheme and host of a web address; raises `InputError` for any other."""
    parts = urlsplit(url)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise InputError(f"{url}: not a web address (http or https)")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}"


@dataclass(slots=True)
class Fetcher:
    """Fetches over http and https."""

    delay: float = 2.0
    """Seconds between two requests to one host."""
    timeout: float = 20.0
    """Seconds without an answer after which a request is given up."""
    robots: bool = True
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _last: dict[str, float] = field(default_factory=dict, repr=False)
    _rules: dict[str, RobotFileParser] = field(default_factory=dict, repr=False)

    def get(self, url: str) -> bytes:
        """Return what an address holds, at most 32 MiB.

        Raises `InputError` naming the address: not http(s), forbidden by the host's robots rules, not found, too large,
        or no answer.
        """
        host = _web(url)
        if self.robots and not self._allowed(host, url):
            raise InputError(f"{url}: the robots rules of the host forbid it")
        return self._read(host, url, MOST_BYTES)

    def _allowed(self, host: str, url: str) -> bool:
        rules = self._rules.get(host)
        if rules is None:
            rules = RobotFileParser()
            try:
                text = self._read(host, f"{host}/robots.txt", MOST_ROBOTS_BYTES).decode("utf-8", "replace")
                rules.parse(text.splitlines())
            except InputError as error:
                # No rules (4xx) allow all; a host that does not answer is left alone.
                cause = error.__cause__
                missing = isinstance(cause, urllib.error.HTTPError) and 400 <= cause.code < 500
                rules.parse([] if missing else ["User-agent: *", "Disallow: /"])
            self._rules[host] = rules
        return rules.can_fetch(AGENT, url)

    def _read(self, host: str, url: str, most: int) -> bytes:
        wait = self._last.get(host, -self.delay) + self.delay - self.clock()
        if host in self._last and wait > 0:
            self.sleep(wait)
        self._last[host] = self.clock()
        request = urllib.request.Request(url, headers={"User-Agent": AGENT})
        try:
            with urllib.request.build_opener(_WebOnly).open(request, timeout=self.timeout) as answer:
                data: bytes = answer.read(most + 1)
        except (OSError, HTTPException, ValueError) as error:
            raise InputError(f"{url}: cannot be fetched ({error})") from error
        if len(data) > most:
            raise InputError(f"{url}: more than {most:,} bytes")
        return data
