"""Datasets on disk: two Parquet tables, a manifest and a Croissant description.

A folder is written whole (under another name, then renamed) and holds the same data whenever the same thing is made.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError
from memgauge.progress import Progress
from memgauge.streams.croissant import croissant
from memgauge.streams.generator import LOW_BAND, MAX_TRIES
from memgauge.streams.item import ALPHABET, SIZES, StreamItem
from memgauge.streams.make import LAW, Cell, draw_cell

if TYPE_CHECKING:
    import polars as pl

FORMAT = "memgauge-streams"
SCHEMA_VERSION = 1
TABLES = ("streams.parquet", "queries.parquet")
FILES = (*TABLES, "croissant.json", "manifest.json")
_CHUNK = 2000


def stream_schema() -> dict[str, pl.DataType]:
    """Return the columns of streams.parquet, one row a stream."""
    import polars as pl

    return {
        "stream_id": pl.String(),
        "band": pl.String(),
        "length": pl.Int64(),
        "symbols": pl.List(pl.UInt8()),
        "lz_rate": pl.Float64(),
        "lz78_rate": pl.Float64(),
        "subtype": pl.String(),
    }


def query_schema() -> dict[str, pl.DataType]:
    """Return the columns of queries.parquet, one row a query, in the order of the streams."""
    import polars as pl

    return {
        "stream_id": pl.String(),
        "query_id": pl.String(),
        "candidate": pl.List(pl.UInt8()),
        "gold": pl.Boolean(),
        "age": pl.Int64(),
        "negatives": pl.String(),
    }


def write_cells(folder: Path | str, cells: Sequence[Cell], *, seed: int, force: bool = False) -> dict[str, Any]:
    """Make cells and write them as one dataset; return its manifest.

    Raises `InputError` when the folder exists and is not empty: `force` replaces it, and only if it holds a dataset of
    this kind and nothing else.
    """
    tries: dict[str, int] = {}

    def items() -> Iterator[StreamItem]:
        with Progress("streams", total=sum(cell.count for cell in cells)) as bar:
            for cell in cells:
                for item, tried in draw_cell(cell, seed=seed):
                    tries[item.stream_id] = tried
                    yield item
                    bar.advance()

    made = {"seed": seed, "law": LAW, "cells": [asdict(cell) for cell in cells]}
    return _write(Path(folder), items(), lambda item: tries.pop(item.stream_id), {"made": made}, force=force)


def write_dataset(
    folder: Path | str, items: Iterable[StreamItem], *, parameters: dict[str, Any] | None = None, force: bool = False
) -> dict[str, Any]:
    """Write any items, such as streams of your own, as a dataset; return its manifest.

    `parameters` is anything that JSON can hold and that says how the items were made; it is stored in the manifest.
    Raises `InputError` as `write_cells` does.
    """
    return _write(Path(folder), iter(items), None, {"parameters": parameters or {}}, force=force)


def read_manifest(folder: Path | str) -> dict[str, Any]:
    """Return the manifest of a dataset folder.

    Raises `InputError` when there is none, or it is not one of this format and schema version.
    """
    path = Path(folder) / "manifest.json"
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder")
    if not path.is_file():
        raise InputError(f"{path}: missing; is {folder} a folder made by `memgauge streams make`?")
    if path.stat().st_size > 64 * 2**20:
        raise InputError(f"{path}: over 64 MiB, which no manifest needs")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a JSON document ({error}); make the dataset again") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{path}: not the manifest of a stream dataset (its format is not {FORMAT!r})")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"{path}: schema version {manifest.get('schema_version')!r}; this memgauge reads version {SCHEMA_VERSION}"
        )
    return manifest


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass
class _Summary:
    """What the manifest says of the streams of one band, length and kind of negatives."""

    streams: int = 0
    queries: int = 0
    positives: int = 0
    tries: int = 0
    rates: list[float] = field(default_factory=list)
    likeness: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("trigrams", "pairs", "symbols", "none"), 0))

    def add(self, item: StreamItem, tries: int | None) -> None:
        self.streams += 1
        self.queries += len(item.queries)
        self.positives += sum(query.gold for query in item.queries)
        self.tries += tries or 0
        self.rates.append(item.lz_rate)
        text = item.symbols.tobytes()
        for query in item.queries:
            if query.negatives == "matched" and not query.gold:
                self.likeness[_likeness(text, query.candidate.tobytes())] += 1

    def describe(self, band: str, length: int, negatives: str) -> dict[str, Any]:
        mean = math.fsum(self.rates) / self.streams
        sd = math.sqrt(math.fsum((rate - mean) ** 2 for rate in self.rates) / self.streams)
        row: dict[str, Any] = {"band": band, "length": length, "negatives": negatives}
        row |= {"streams": self.streams, "queries": self.queries, "positives": self.positives}
        row["lz_rate"] = {"mean": mean, "sd": sd, "min": min(self.rates), "max": max(self.rates)}
        if band == "low" and self.tries:
            row |= {"tries": self.tries, "acceptance": self.streams / self.tries}
        if negatives == "matched":
            row["negatives_made_of_own"] = self.likeness
        return row


def _likeness(text: bytes, candidate: bytes) -> str:
    """Say how much of an absent string occurs in the stream: all its trigrams, pairs, or symbols, or none of these."""
    for name, size in (("trigrams", 3), ("pairs", 2), ("symbols", 1)):
        if len(candidate) > size and all(candidate[i : i + size] in text for i in range(len(candidate) - size + 1)):
            return name
    return "none"


def _write(
    folder: Path,
    items: Iterator[StreamItem],
    tries_of: Callable[[StreamItem], int] | None,
    made: dict[str, Any],
    *,
    force: bool,
) -> dict[str, Any]:
    """Write the tables beside the folder, describe them, and put them in its place."""
    folder = folder.expanduser().absolute()
    if folder.is_symlink():
        folder = folder.resolve()
    beside = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial"
    try:
        _check_free(folder, force)
        beside.mkdir(parents=True)
        manifest = _write_files(beside, items, tries_of, made)
        _check_free(folder, force)
        if folder.exists() and any(folder.iterdir()):
            old = beside.with_suffix(".old")
            folder.rename(old)
            beside.rename(folder)
            shutil.rmtree(old)
        else:
            beside.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return manifest


def _check_free(folder: Path, force: bool) -> None:
    """Raise `InputError` unless the folder may be written: absent, empty, or an old dataset that is to be replaced."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: a file is in the way; choose another folder")
    names = {entry.name for entry in folder.iterdir()}
    if not names:
        return
    if not force:
        raise InputError(f"{folder}: exists and is not empty; choose another folder, or --force to replace a dataset")
    if "manifest.json" not in names or not names <= set(FILES):
        raise InputError(f"{folder}: --force replaces a stream dataset and nothing else, and this folder holds more")


def _write_files(
    folder: Path, items: Iterator[StreamItem], tries_of: Callable[[StreamItem], int] | None, made: dict[str, Any]
) -> dict[str, Any]:
    import polars as pl

    from memgauge import __version__

    streams: list[pl.DataFrame] = [pl.DataFrame(schema=stream_schema())]
    queries: list[pl.DataFrame] = [pl.DataFrame(schema=query_schema())]
    summaries: dict[tuple[str, int, str], _Summary] = {}
    while chunk := list(islice(items, _CHUNK)):
        streams.append(_stream_frame(chunk))
        queries.append(_query_frame(chunk))
        for item in chunk:
            law = item.queries[0].negatives if item.queries else "none"
            summary = summaries.setdefault((item.band, item.length, law), _Summary())
            summary.add(item, tries_of(item) if tries_of else None)
    tables = dict(zip(TABLES, (pl.concat(streams), pl.concat(queries)), strict=True))
    if not tables[TABLES[0]].height:
        raise InputError("a dataset needs at least one stream")
    files: dict[str, dict[str, Any]] = {}
    for file, table in tables.items():
        table.write_parquet(folder / file, compression="zstd")
        files[file] = {"sha256": sha256(folder / file), "bytes": (folder / file).stat().st_size, "rows": table.height}
    _write_json(folder / "croissant.json", croissant(__version__, files, made="made" in made))
    files["croissant.json"] = {
        "sha256": sha256(folder / "croissant.json"),
        "bytes": (folder / "croissant.json").stat().st_size,
    }
    manifest: dict[str, Any] = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "memgauge_version": __version__}
    manifest |= made
    manifest["constants"] = {
        "alphabet": ALPHABET,
        "candidate_lengths": list(SIZES),
        "low_band": list(LOW_BAND),
        "max_tries": MAX_TRIES,
    }
    manifest["counts"] = {
        "streams": tables[TABLES[0]].height,
        "queries": tables[TABLES[1]].height,
        "positives": int(tables[TABLES[1]]["gold"].sum()),
    }
    manifest["cells"] = [summary.describe(*key) for key, summary in summaries.items()]
    manifest["files"] = files
    _write_json(folder / "manifest.json", manifest)
    return manifest


def _write_json(path: Path, document: dict[str, Any]) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, allow_nan=False, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def _stream_frame(items: Sequence[StreamItem]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        {
            "stream_id": [item.stream_id for item in items],
            "band": [item.band for item in items],
            "length": [item.length for item in items],
            "symbols": pl.Series([pl.Series(item.symbols) for item in items], dtype=pl.List(pl.UInt8)),
            "lz_rate": [item.lz_rate for item in items],
            "lz78_rate": [item.lz78_rate for item in items],
            "subtype": [item.subtype for item in items],
        },
        schema=stream_schema(),
    )


def _query_frame(items: Sequence[StreamItem]) -> pl.DataFrame:
    import polars as pl

    rows = [(item.stream_id, query) for item in items for query in item.queries]
    return pl.DataFrame(
        {
            "stream_id": [stream_id for stream_id, _ in rows],
            "query_id": [query.query_id for _, query in rows],
            "candidate": [query.candidate.tolist() for _, query in rows],
            "gold": [query.gold for _, query in rows],
            "age": [query.age for _, query in rows],
            "negatives": [query.negatives for _, query in rows],
        },
        schema=query_schema(),
    )
