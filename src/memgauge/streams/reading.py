"""Reading a dataset folder, and everything that can be wrong with one.

One set of checks serves both: `validate` lists all problems, and `read_dataset` refuses a folder at its first one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.streams.dataset import TABLES, query_schema, read_manifest, sha256, stream_schema
from memgauge.streams.entropy import lz78_rate, lz_rate
from memgauge.streams.generator import LOW_BAND
from memgauge.streams.item import ALPHABET, MIN_LENGTH, SIZES, StreamItem, StreamQuery, frozen

if TYPE_CHECKING:
    import polars as pl

MAX_PROBLEMS = 1000
"""Problems listed before `validate` gives up."""
_NULLABLE = {"subtype", "age"}
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Tables:
    """The two tables of a folder."""

    streams: pl.DataFrame
    queries: pl.DataFrame


def read_dataset(
    folder: Path | str, lengths: Collection[int] | None = None, bands: Collection[str] | None = None
) -> Iterator[StreamItem]:
    """Return the streams of a dataset folder in its order, optionally only those of some lengths and bands.

    The folder's files are checked against its manifest at once, and each stream when it is reached: nothing is yielded
    that `validate` would object to, except that the measured rates are taken as they stand.

    Raises `InputError` naming the file and the stream.
    """
    tables, problems = load(folder)
    if problems or tables is None:
        more = f" (and {len(problems) - 1} more; see `memgauge streams validate`)" if len(problems) > 1 else ""
        raise InputError(f"{folder}: {problems[0]}{more}")
    return _checked(folder, tables, lengths, bands)


def _checked(
    folder: Path | str, tables: Tables, lengths: Collection[int] | None, bands: Collection[str] | None
) -> Iterator[StreamItem]:
    for item in items_of(tables, lengths, bands):
        for problem in item_problems(item):
            raise InputError(f"{folder}: {problem}")
        yield item


def validate(folder: Path | str) -> list[str]:
    """Return all problems of a dataset folder, each as a sentence that names the file or stream; empty if it is sound.

    Checked are: the manifest; that the files are there, whole, of the right columns and as the manifest's hashes say;
    identifiers; symbols; that positives occur and negatives do not; ages; that each stream is asked both classes; and
    the measured rates.

    Raises `InputError` when there is no folder, or its manifest is missing or unreadable.
    """
    tables, problems = load(folder)
    if tables is None:
        return problems
    found = (problem for item in items_of(tables) for problem in (*item_problems(item), *rate_problems(item)))
    problems += islice(found, MAX_PROBLEMS)
    if len(problems) >= MAX_PROBLEMS:
        problems = [*problems[:MAX_PROBLEMS], f"more than {MAX_PROBLEMS:,} problems: the others are not listed"]
    return problems


def load(folder: Path | str) -> tuple[Tables | None, list[str]]:
    """Read the tables; return them (None if they cannot be used) with the problems of the files."""
    manifest = read_manifest(folder)
    files = manifest.get("files")
    problems: list[str] = []
    frames: list[pl.DataFrame] = []
    for name, schema in zip(TABLES, (stream_schema(), query_schema()), strict=True):
        about: Any = files.get(name) if isinstance(files, dict) else None
        if problem := _file_problem(Path(folder) / name, about):  # not read: a damaged table can end the process
            problems.append(problem)
            continue
        frame = _read_table(Path(folder) / name, schema)
        if isinstance(frame, str):
            problems.append(frame)
            continue
        frames.append(frame)
        if about["rows"] != frame.height:
            problems.append(f"{name}: {frame.height} rows; the manifest says {about['rows']}")
    about = files.get("croissant.json") if isinstance(files, dict) else None
    if about is not None and (problem := _file_problem(Path(folder) / "croissant.json", about)):
        problems.append(problem)
    if len(frames) < len(TABLES):
        return None, problems
    tables = Tables(*frames)
    problems += _id_problems(tables)
    return tables, problems


def _file_problem(path: Path, about: Any) -> str | None:
    """Say what is wrong with a file, given the manifest's entry."""
    if not path.is_file():
        return f"{path.name}: missing; copy the folder again, or make it again"
    if not isinstance(about, dict) or "sha256" not in about or (path.suffix == ".parquet" and "rows" not in about):
        return f"manifest.json: says nothing about {path.name}"
    try:
        if sha256(path) == about["sha256"]:
            return None
    except OSError as error:
        return f"{path.name}: cannot be read ({error.strerror})"
    return f"{path.name}: its SHA-256 is not the manifest's: truncated or changed since it was made"


def _read_table(path: Path, schema: dict[str, pl.DataType]) -> pl.DataFrame | str:
    """Read one table, or say what is wrong with it."""
    import polars as pl

    try:
        frame = pl.read_parquet(path, use_pyarrow=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        return f"{path.name}: not a readable Parquet file ({str(error).splitlines()[0]})"
    for column, kind in schema.items():
        if column not in frame.columns:
            return f"{path.name}: no column {column!r}"
        if frame.schema[column] != kind:
            return f"{path.name}: column {column!r} is {frame.schema[column]}, not {kind}"
        if column not in _NULLABLE and frame[column].null_count():
            return f"{path.name}: column {column!r} has empty cells"
        if isinstance(kind, pl.List) and frame[column].explode().null_count() > (frame[column].list.len() == 0).sum():
            return f"{path.name}: column {column!r} has empty symbols"
    return frame.select(schema.keys())


def _id_problems(tables: Tables) -> list[str]:
    """Check what links the tables: identifiers that occur twice, or in one table only."""
    ids = tables.streams["stream_id"]
    twice = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    unknown = tables.queries["stream_id"].unique(maintain_order=True)
    unknown = unknown.filter(~unknown.is_in(ids.implode()))
    unasked = ids.filter(~ids.is_in(tables.queries["stream_id"].implode()))
    return [
        *(f"streams.parquet: stream {name!r} occurs more than once" for name in twice),
        *(f"queries.parquet: asks about stream {name!r}, which streams.parquet does not hold" for name in unknown),
        *(f"queries.parquet: no query about stream {name!r}" for name in unasked),
    ]


def items_of(
    tables: Tables, lengths: Collection[int] | None = None, bands: Collection[str] | None = None
) -> Iterator[StreamItem]:
    """Yield the rows as items, unchecked."""
    import polars as pl

    streams = tables.streams
    if lengths is not None:
        streams = streams.filter(pl.col("length").is_in(list(lengths)))
    if bands is not None:
        streams = streams.filter(pl.col("band").is_in(list(bands)))
    streams = streams.unique("stream_id", keep="first", maintain_order=True)
    numbered = streams.select("stream_id").with_row_index("stream")
    queries = tables.queries.join(numbered, on="stream_id", how="inner", maintain_order="left")
    queries = queries.sort("stream", maintain_order=True)
    symbols, candidates = _rows(streams["symbols"]), _rows(queries["candidate"])
    counts = np.bincount(queries["stream"].to_numpy(), minlength=streams.height)
    asked = zip(
        queries["query_id"].to_list(),
        candidates,
        queries["gold"].to_list(),
        queries["age"].to_list(),
        queries["negatives"].to_list(),
        strict=True,
    )
    for row, stream, count in zip(streams.drop("symbols").iter_rows(named=True), symbols, counts, strict=True):
        yield StreamItem(
            symbols=stream, queries=tuple(StreamQuery(*query) for query in islice(asked, int(count))), **row
        )


def _rows(column: pl.Series) -> list[NDArray[np.uint8]]:
    """Return the lists of a column as read-only views of one array."""
    ends = np.cumsum(column.list.len().to_numpy())
    values = frozen(column.explode().drop_nulls().to_numpy().copy())
    return np.split(values, ends[:-1]) if len(ends) else []


def item_problems(item: StreamItem) -> Iterator[str]:
    """Yield what is wrong with a stream and its queries."""
    where = f"stream {item.stream_id!r}"
    if len(item.symbols) != item.length:
        yield f"{where} holds {len(item.symbols)} symbols; its length is given as {item.length}"
    if item.length < MIN_LENGTH:
        yield f"{where} is shorter than {MIN_LENGTH} symbols"
    if len(item.symbols) and int(item.symbols.max()) >= ALPHABET:
        at = int(np.argmax(item.symbols >= ALPHABET))
        yield f"{where} holds symbol {item.symbols[at]} at position {at + 1}; symbols are 0 to {ALPHABET - 1}"
    if item.band == "easyhuman" and item.subtype not in ("repeating", "counting"):
        yield f"{where}: an EasyHuman stream's subtype is repeating or counting, not {item.subtype!r}"
    for name, times in Counter(query.query_id for query in item.queries).items():
        if times > 1:
            yield f"{where}: query {name!r} occurs {times} times"
    text = item.symbols.tobytes()
    for query in item.queries:
        yield from _query_problems(f"{where}, query {query.query_id!r}", text, query)
    if item.queries and len({query.gold for query in item.queries}) < 2:
        only = "positive" if item.queries[0].gold else "negative"
        yield f"{where}: all its {len(item.queries)} queries are {only}; both classes must be asked"


def _query_problems(where: str, text: bytes, query: StreamQuery) -> Iterator[str]:
    if len(query.candidate) not in SIZES:
        yield f"{where}: the candidate has {len(query.candidate)} symbols, not {SIZES[0]} to {SIZES[-1]}"
        return
    if int(query.candidate.max()) >= ALPHABET:
        yield f"{where}: the candidate holds symbol {query.candidate.max()}; symbols are 0 to {ALPHABET - 1}"
    at = text.rfind(query.candidate.tobytes())
    if query.gold and at < 0:
        yield f"{where} is marked positive and does not occur in the stream"
    elif not query.gold and at >= 0:
        yield f"{where} is marked negative and occurs in the stream at position {at + 1}"
    age = len(text) - at - len(query.candidate) if at >= 0 else None
    if query.gold and at >= 0 and query.age != age:
        yield f"{where}: its age is given as {query.age}; the candidate last ended {age} symbols before the end"
    if not query.gold and query.age is not None:
        yield f"{where} is negative and has an age of {query.age}"


def rate_problems(item: StreamItem) -> Iterator[str]:
    """Yield what is wrong with the measured rates of a stream."""
    rates: dict[str, tuple[float, Any]] = {"lz_rate": (item.lz_rate, lz_rate), "lz78_rate": (item.lz78_rate, lz78_rate)}
    for name, (given, measure) in rates.items():
        measured = measure(item.symbols)
        if not math.isclose(given, measured, rel_tol=_TOLERANCE):
            yield f"stream {item.stream_id!r}: its {name} is given as {given}; measured {measured}"
    if item.band == "low" and not LOW_BAND[0] <= item.lz_rate <= LOW_BAND[1]:
        yield f"stream {item.stream_id!r}: its rate {item.lz_rate:.4f} is outside the low band {list(LOW_BAND)}"
