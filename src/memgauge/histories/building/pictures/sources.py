"""Where photographs come from: a folder, a list of addresses, a web search (off unless asked for)."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.pictures.fetching import Fetcher
from memgauge.histories.building.pictures.photos import Photo, RefusedPicture, decode, open_photo

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif")
MOST_ROWS = 1_000_000
_NUMBERS = ("clip", "siglip", "text")
"""Fields of a list that may be numbers: scores that were made elsewhere."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A picture that may show what a query asks for."""

    source: str
    """`folder`, `urls` or `crawl`."""
    name: str
    """File or address, for messages."""
    open: Callable[[], Photo]
    """Reads and decodes it; raises `RefusedPicture`."""
    url: str = ""
    licence: str = ""
    """Empty if unknown: such a picture is never passed on."""
    author: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the photographs of a build come from."""

    kind: str
    """`folder`, `urls` or `crawl`."""
    find: Callable[[str], Iterator[Candidate]]
    """Yields the candidates for a query, in an order that does not depend on the machine."""
    queries: frozenset[str] | None = None
    """What it has something for; None where that is not known before asking."""


def folder_source(folder: Path) -> Source:
    """Open a folder of pictures.

    With an `index.jsonl` its lines say what each file shows: `{"file", "query", "url", "license", "author"}`, the last
    three optional. Without one the pictures stand in a subfolder with the query's name. Nothing outside of the folder
    is read. Raises `InputError` for a missing folder or a broken index.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of pictures")
    index = folder / "index.jsonl"
    if index.is_file():
        rows = _by_query(index, needs=("file", "query"))

        def listed(query: str) -> Iterator[Candidate]:
            for row in rows.get(query, ()):
                path = folder / row["file"]
                yield Candidate("folder", str(path), _opener(path, folder), *_origin(row))

        return Source("folder", listed, frozenset(rows))

    def named(query: str) -> Iterator[Candidate]:
        place = folder / query
        if place.parent != folder or query in ("", ".", ".."):
            raise InputError(f"{query!r}: a query that names a place outside of {folder}")
        if not place.resolve().is_relative_to(folder.resolve()):
            yield Candidate("folder", str(place), _opener(place, folder))  # a link out of it: refused when opened
        elif place.is_dir():
            for path in sorted(place.iterdir()):
                if path.suffix.lower() in SUFFIXES:
                    yield Candidate("folder", str(path), _opener(path, folder))

    return Source("folder", named, frozenset(path.name for path in folder.iterdir() if path.is_dir()))


def url_source(listing: Path, fetcher: Fetcher) -> Source:
    """Open a list of addresses.

    The list is JSON lines or CSV with the fields `url` and `query`, and optionally `license` and `author`. An address
    is fetched when its candidate is opened. Raises `InputError` for a missing or broken list.
    """
    if not listing.is_file():
        raise InputError(f"{listing}: no such list of addresses")
    rows = _by_query(listing, needs=("url", "query"))

    def find(query: str) -> Iterator[Candidate]:
        for row in rows.get(query, ()):
            url, licence, author = _origin(row)
            yield Candidate("urls", url, _fetch(url, fetcher), url, licence, author)

    return Source("urls", find, frozenset(rows))


def folder_candidates(folder: Path, query: str) -> Iterator[Candidate]:
    """Yield the pictures of a folder for a query (see `folder_source`)."""
    yield from folder_source(folder).find(query)


def url_candidates(listing: Path, query: str, fetcher: Fetcher) -> Iterator[Candidate]:
    """Yield the pictures of a list of addresses for a query (see `url_source`)."""
    yield from url_source(listing, fetcher).find(query)


def crawl_candidates(
    query: str, fetcher: Fetcher, *, limit: int = 20, find: Callable[[str, int], Sequence[str]] | None = None
) -> Iterator[Candidate]:
    """Yield pictures of a web image search for a query; needs the package icrawler, unless `find` is given.

    Licences are unknown, so that these pictures may be used but not passed on. Pages' robots rules and a delay for each
    host hold for every picture.
    """
    for url in (find or search)(query, limit):
        yield Candidate("crawl", url, _fetch(url, fetcher), url)


def need_crawler() -> None:
    """Raise `InputError` unless the package of the extra `crawl` is installed."""
    try:
        found = importlib.util.find_spec("icrawler") is not None
    except ValueError:  # a module without a spec
        found = False
    if not found:
        raise InputError("a web search needs the package icrawler: pip install 'memgauge[crawl]'")


def search(query: str, limit: int) -> list[str]:
    """Return addresses of pictures that a web image search finds for a query (icrawler, Bing); downloads none of them.

    Raises `InputError` if icrawler is not installed.
    """
    need_crawler()
    downloader: Any = importlib.import_module("icrawler").ImageDownloader
    crawler: Any = importlib.import_module("icrawler.builtin").BingImageCrawler
    found: list[str] = []

    class Collector(downloader):  # type: ignore[misc]
        """Keeps the addresses; our own fetcher downloads, with its bounds and manners."""

        def download(self, task: dict[str, Any], *args: object, **kwargs: object) -> None:
            with self.lock:
                if len(found) < limit:
                    found.append(task["file_url"])
                    self.fetched_num += 1
                if len(found) >= limit:
                    self.signal.set(reach_max_num=True)  # ends the search, which else reads every page

    with tempfile.TemporaryDirectory() as scratch:
        storage = {"root_dir": scratch}
        crawler(downloader_cls=Collector, storage=storage, log_level=50).crawl(keyword=query, max_num=limit)
    return found


def _opener(path: Path, folder: Path) -> Callable[[], Photo]:
    return lambda: open_photo(path, inside=folder)


def _fetch(url: str, fetcher: Fetcher) -> Callable[[], Photo]:
    def opened() -> Photo:
        try:
            data = fetcher.get(url)
        except InputError as error:
            raise RefusedPicture("fetch", str(error)) from error
        return decode(data, name=url)

    return opened


def _origin(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row.get("url") or "", row.get("license") or "", row.get("author") or ""


def _by_query(path: Path, needs: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    rows: dict[str, list[dict[str, str]]] = {}
    for row in read_rows(path, needs):
        rows.setdefault(row["query"], []).append(row)
    return rows


def read_rows(path: Path, needs: Sequence[str]) -> Iterator[dict[str, str]]:
    """Read JSON lines, or CSV by its suffix; every row has the needed fields, and all values are text."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            lines = (
                csv.DictReader(file)
                if path.suffix.lower() == ".csv"
                else (_parsed(path, n, t) for n, t in _texts(file))
            )
            for number, row in enumerate(lines, start=1):
                if number > MOST_ROWS:
                    raise InputError(f"{path}: more than {MOST_ROWS:,} rows")
                values = {
                    str(key): str(value) if key in _NUMBERS and type(value) in (int, float) else value
                    for key, value in row.items()
                    if value is not None
                }
                if None in row:
                    raise InputError(f"{path}: row {number} has more cells than columns")
                wrong = [key for key, value in values.items() if not isinstance(value, str)]
                lacking = [key for key in needs if not values.get(key)]
                if wrong or lacking:
                    what = f"{wrong[0]!r} is not text" if wrong else f"lacks {lacking[0]!r}"
                    raise InputError(f"{path}: row {number} {what}")
                yield values
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path}: cannot be read as text ({error})") from error


def _texts(file: Iterator[str]) -> Iterator[tuple[int, str]]:
    return ((number, text) for number, text in enumerate(file, start=1) if text.strip())


def _parsed(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: line {number} is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError(f"{path}: line {number} is not an object")
    return row
