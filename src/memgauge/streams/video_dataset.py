"""Datasets of synthetic videos on disk: two Parquet tables, the pictures, a manifest and a Croissant description.

With `png` or `jpeg` the folder holds each distinct frame once, in `frames/`, and the tables list the frames of every
video and candidate in order. With `mp4` every video and candidate is a file of its own, in `videos/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from memgauge.errors import InputError, unknown_name
from memgauge.files import whole_folder
from memgauge.progress import Progress
from memgauge.streams.dataset import sha256
from memgauge.streams.item import frozen
from memgauge.streams.make import LAW as STREAM_LAW
from memgauge.streams.make import Cell, make_cell
from memgauge.streams.video import LAW, VARIANTS, LaneLaw, VideoItem, VideoQuery, make_video, verify_video
from memgauge.streams.video_croissant import croissant
from memgauge.streams.video_frames import DESIGN, LANES, LETTERS, SIZE, Frames, check_style, frame_bytes
from memgauge.streams.video_mp4 import FRAMES_PER_SECOND, clip_mp4

if TYPE_CHECKING:
    import polars as pl

FORMAT = "memgauge-videos"
SCHEMA_VERSION = 1
TABLES = ("videos.parquet", "queries.parquet")
MAX_MANIFEST = 64 * 2**20
VideoFormat = Literal["png", "jpeg", "mp4"]


def video_schema() -> dict[str, pl.DataType]:
    """Return the columns of videos.parquet, one row a video."""
    import polars as pl

    return {
        "video_id": pl.String(),
        "band": pl.String(),
        "length": pl.Int64(),
        "symbols": pl.List(pl.UInt8()),
        "lanes": pl.List(pl.UInt8()),
        "lane_law": pl.String(),
        "subtype": pl.String(),
        "files": pl.List(pl.String()),
    }


def query_schema() -> dict[str, pl.DataType]:
    """Return the columns of queries.parquet, one row a query, in the order of the videos."""
    import polars as pl

    return {
        "video_id": pl.String(),
        "query_id": pl.String(),
        "variant": pl.String(),
        "candidate": pl.List(pl.UInt8()),
        "lanes": pl.List(pl.UInt8()),
        "gold": pl.Boolean(),
        "age": pl.Int64(),
        "negatives": pl.String(),
        "files": pl.List(pl.String()),
    }


def write_video_cells(
    folder: Path | str,
    cells: Sequence[Cell],
    *,
    seed: int,
    lane_law: LaneLaw = "fixed",
    video_format: VideoFormat = "png",
    size: int = SIZE,
    force: bool = False,
) -> dict[str, Any]:
    """Make cells of streams, show them as videos and write them as one dataset; return its manifest.

    The videos are those that a run on the same cells and seed shows. Raises `InputError` as `write_videos` does.
    """
    made = {"seed": seed, "stream_law": STREAM_LAW, "video_law": LAW, "cells": [asdict(cell) for cell in cells]}

    def videos() -> Iterator[VideoItem]:
        with Progress("videos", total=sum(cell.count for cell in cells)) as bar:
            for cell in cells:
                made_of = make_cell(
                    cell.band, cell.length, cell.count, seed=seed, queries=cell.queries, negatives=cell.negatives
                )
                for item in made_of:
                    yield make_video(item, lane_law=lane_law)
                    bar.advance()

    return _write_folder(folder, videos(), video_format, size, {"made": made}, force)


def write_videos(
    folder: Path | str,
    videos: Iterable[VideoItem],
    *,
    video_format: VideoFormat = "png",
    size: int = SIZE,
    force: bool = False,
    parameters: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write any videos, such as those of your own streams, as a dataset; return its manifest.

    `parameters` is anything that JSON can hold and that says how they were made. Raises `InputError` for an unknown
    format, a size out of range, names that cannot name files, and a folder that is not empty (`force` replaces a
    dataset of this kind).
    """
    return _write_folder(folder, videos, video_format, size, {"parameters": parameters or {}}, force)


def _write_folder(
    folder: Path | str,
    videos: Iterable[VideoItem],
    video_format: VideoFormat,
    size: int,
    origin: dict[str, Any],
    force: bool,
) -> dict[str, Any]:
    if video_format not in get_args(VideoFormat):
        raise unknown_name("video format", video_format, get_args(VideoFormat))
    check_style("png" if video_format == "mp4" else video_format, size)
    with whole_folder(Path(folder), kind=FORMAT, replace=force) as beside:
        return _write(beside, videos, video_format, size, origin)


def _write(
    folder: Path, videos: Iterable[VideoItem], video_format: VideoFormat, size: int, origin: dict[str, Any]
) -> dict[str, Any]:
    import polars as pl

    from memgauge import __version__

    shown: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    cells: dict[tuple[str, int, str, str], dict[str, Any]] = {}
    pictures: set[str] = set()

    def show(video_id: str, part: str, symbols: Any, lanes: Any) -> list[str]:
        if video_format == "mp4":
            files = [f"videos/{_file_name(video_id)}/{_file_name(part)}.mp4"]
            if files[0] in pictures:
                raise InputError(f"two videos or queries are called {video_id}/{part}")
            _put(folder / files[0], clip_mp4(Frames(symbols, lanes, size=size)))
        else:
            files = [frame_file(s, n, video_format) for s, n in zip(symbols.tolist(), lanes.tolist(), strict=True)]
            for file, symbol, lane in zip(files, symbols.tolist(), lanes.tolist(), strict=True):
                if file not in pictures:
                    _put(folder / file, frame_bytes(symbol, lane, video_format, size))
                    pictures.add(file)
        pictures.update(files)
        return files

    for video in videos:
        shown.append(
            {
                **{key: getattr(video, key) for key in ("video_id", "band", "length", "lane_law", "subtype")},
                "symbols": video.symbols.tolist(),
                "lanes": video.lanes.tolist(),
                "files": show(video.video_id, "main", video.symbols, video.lanes),
            }
        )
        for query in video.queries:
            asked.append(
                {
                    "video_id": video.video_id,
                    **{key: getattr(query, key) for key in ("query_id", "variant", "gold", "age", "negatives")},
                    "candidate": query.candidate.tolist(),
                    "lanes": query.lanes.tolist(),
                    "files": show(video.video_id, query.query_id, query.candidate, query.lanes),
                }
            )
        _count(cells, video)
    if not shown:
        raise InputError("a dataset needs at least one video")
    files: dict[str, dict[str, Any]] = {}
    for file, rows, schema in zip(TABLES, (shown, asked), (video_schema(), query_schema()), strict=True):
        pl.DataFrame(rows, schema=schema).write_parquet(folder / file, compression="zstd")
        files[file] = {**_about(folder / file), "rows": len(rows)}
    _put(folder / "croissant.json", _json(croissant(__version__, files, video_format, made="made" in origin)))
    manifest = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "memgauge_version": __version__,
        **origin,
        "video": {
            "format": video_format,
            "width": size,
            "height": size,
            "frames_per_second": FRAMES_PER_SECOND,
            "letters": LETTERS,
            "lanes": LANES,
            "design": DESIGN,
        },
        "counts": {"videos": len(shown), "queries": len(asked), "positives": sum(row["gold"] for row in asked)},
        "cells": list(cells.values()),
        "files": {**files, **{file: _about(folder / file) for file in ("croissant.json", *sorted(pictures))}},
    }
    _put(folder / "manifest.json", _json(manifest))
    return manifest


def frame_file(symbol: int, lane: int, image_format: str) -> str:
    """Return where a folder keeps a frame: by its letter and belt.

    >>> frame_file(4, 2, "jpeg")
    'frames/H3.jpg'
    """
    return f"frames/{LETTERS[symbol]}{lane + 1}.{'jpg' if image_format == 'jpeg' else image_format}"


def _file_name(text: str) -> str:
    """Return an identifier that is safe as the name of a file, or raise `InputError`."""
    if not re.fullmatch(r"\w[\w.-]{0,99}", text, re.ASCII):
        raise InputError(f"{text!r} cannot name a file: use up to 100 letters, digits, '.', '-' and '_'")
    return text


def _count(cells: dict[tuple[str, int, str, str], dict[str, Any]], video: VideoItem) -> None:
    law = video.queries[0].negatives if video.queries else "none"
    cell = cells.setdefault(
        (video.band, video.length, law, video.lane_law),
        {"band": video.band, "length": video.length, "negatives": law, "lane_law": video.lane_law, "videos": 0}
        | {variant: {"queries": 0, "positives": 0} for variant in VARIANTS},
    )
    cell["videos"] += 1
    for query in video.queries:
        cell[query.variant]["queries"] += 1
        cell[query.variant]["positives"] += query.gold


def _about(path: Path) -> dict[str, Any]:
    return {"sha256": sha256(path), "bytes": path.stat().st_size}


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def read_video_manifest(folder: Path | str) -> dict[str, Any]:
    """Return the manifest of a video dataset; raises `InputError` where there is none that can be read."""
    path = Path(folder) / "manifest.json"
    if not path.is_file():
        raise InputError(f"{path}: missing; is {folder} a folder made by `memgauge video make`?")
    if path.stat().st_size > MAX_MANIFEST:
        raise InputError(f"{path}: over {MAX_MANIFEST >> 20} MiB, which no manifest needs")
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a JSON document ({error}); make the dataset again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{path}: not the manifest of a video dataset (its format is not {FORMAT!r})")
    if manifest.get("schema_version") != SCHEMA_VERSION or not isinstance(manifest.get("files"), dict):
        raise InputError(f"{path}: not of schema version {SCHEMA_VERSION}, which this memgauge reads")
    return manifest


def is_video_dataset(folder: Path | str) -> bool:
    """Say whether a folder holds videos (its manifest says so); False for anything else."""
    path = Path(folder) / "manifest.json"
    if not path.is_file() or path.stat().st_size > MAX_MANIFEST:
        return False
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("format") == FORMAT


def read_videos(
    folder: Path | str, lengths: Collection[int] | None = None, bands: Collection[str] | None = None
) -> Iterator[VideoItem]:
    """Yield the videos of a dataset folder in its order, optionally only those of some lengths and bands.

    The tables are checked against the manifest and every video by `verify_video`; the pictures are not looked at, as
    frames follow from letters and belts (`check_pictures` looks at them). Raises `InputError` naming file and video.
    """
    videos, queries = _tables(folder)
    about: dict[str, list[VideoQuery]] = {}
    for row in queries.iter_rows(named=True):
        if row["variant"] not in VARIANTS:
            raise InputError(f"{folder}: {row['video_id']}, {row['query_id']}: no variant is called {row['variant']!r}")
        query = VideoQuery(
            candidate=_bytes(row.pop("candidate")),
            lanes=_bytes(row.pop("lanes")),
            **{key: row[key] for key in ("query_id", "variant", "gold", "age", "negatives")},
        )
        about.setdefault(row["video_id"], []).append(query)
    seen: set[str] = set()
    for row in videos.iter_rows(named=True):
        name = row["video_id"]
        if name in seen:
            raise InputError(f"{folder}: two videos are called {name}")
        seen.add(name)
        if row["lane_law"] not in get_args(LaneLaw):
            raise InputError(f"{folder}: {name}: no lane law is called {row['lane_law']!r}")
        if (lengths is not None and row["length"] not in lengths) or (bands is not None and row["band"] not in bands):
            continue
        video = VideoItem(
            symbols=_bytes(row["symbols"]),
            lanes=_bytes(row["lanes"]),
            queries=tuple(about.get(name, ())),
            **{key: row[key] for key in ("video_id", "band", "length", "lane_law", "subtype")},
        )
        try:
            verify_video(video)
        except InputError as error:
            raise InputError(f"{folder}: {error}") from None
        yield video
    if unknown := about.keys() - seen:
        raise InputError(f"{folder}: queries.parquet asks about {min(unknown)!r}, which videos.parquet does not hold")


def _bytes(values: list[int]) -> Any:
    return frozen(np.array(values, np.uint8))


def _tables(folder: Path | str) -> tuple[pl.DataFrame, pl.DataFrame]:
    import polars as pl

    files = read_video_manifest(folder)["files"]
    tables = []
    for name, schema in zip(TABLES, (video_schema(), query_schema()), strict=True):
        path = Path(folder) / name
        problem = _problem(path, files.get(name))
        if problem is not None:
            raise InputError(f"{path}: {problem}")
        try:
            table = pl.read_parquet(path)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"{path}: not a readable Parquet file ({error})") from error
        if dict(table.schema) != schema:
            raise InputError(f"{path}: its columns are not those of schema version {SCHEMA_VERSION}")
        required = [column for column in schema if column not in ("subtype", "age")]
        if any(table[column].null_count() for column in required) or any(
            table[column].explode().null_count() for column in ("symbols", "candidate", "lanes") if column in schema
        ):
            raise InputError(f"{path}: a cell is empty that must not be")
        tables.append(table)
    return tables[0], tables[1]


def check_pictures(folder: Path | str) -> list[str]:
    """Return what is wrong with the files that the manifest lists: missing, changed, or outside the folder."""
    problems = []
    for name, about in read_video_manifest(folder)["files"].items():
        path = Path(folder) / name
        if not path.resolve().is_relative_to(Path(folder).resolve()):
            problems.append(f"{name}: leads out of the folder")
        elif (problem := _problem(path, about)) is not None:
            problems.append(f"{name}: {problem}")
    return problems


def _problem(path: Path, about: object) -> str | None:
    """Say what is wrong with a file, given what the manifest says of it, or None."""
    if not isinstance(about, dict) or "sha256" not in about:
        return "the manifest says nothing about it"
    if not path.is_file():
        return "missing; copy the folder again, or make it again"
    return None if sha256(path) == about["sha256"] else "its SHA-256 is not the manifest's: changed since it was made"
