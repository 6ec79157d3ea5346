"""Read histories as a stream: the released splits (JSON array, Parquet), built folders (JSON lines), LongMemEval files.

At most one record is in memory at a time, whatever the size of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.json_array import array_elements
from memgauge.histories.pictures_at import Pictures
from memgauge.histories.records import NOTES, FaultKind, Record, RecordError, id_of, parse_record

MAX_RECORD = 256 << 20
"""Bytes of one record; more means that the file is not what it says."""
MAX_SIDECAR = 1 << 30
_NAMED = re.compile(r"(?:dataset|memory|longmemeval)_(\w+?)(?:_cleaned)?\.(jsonl|parquet|json)")
_LENGTH = re.compile(r"(\d{1,6})([km]?)", re.IGNORECASE)
_FORMS = ("jsonl", "parquet", "json")
"""Of several files of one split, the one that is read."""
_SIDECAR = ("builder", "refusal", "subtype", "visual_need", "old_answer")
_WORDS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Split:
    """One file of histories of about the same length."""

    name: str
    """Such as `32k`."""
    length: int
    """Tokens: 32k is 32,768."""
    path: Path


@dataclass(slots=True)
class Faults:
    """What was wrong with records: counted by kind, with the first few named. `strict` stops at the first."""

    strict: bool = False
    counts: dict[FaultKind, int] = field(default_factory=dict)
    named: dict[FaultKind, list[str]] = field(default_factory=dict)
    _seen: set[tuple[FaultKind, str]] = field(default_factory=set)

    def add(self, error: RecordError) -> None:
        """Keep a fault. Raises it where the reader is strict."""
        if self.strict:
            raise InputError(f"{error} (without --strict the record would be left out)") from error
        self._count(error.kind, error.record, str(error))

    def note(self, kind: FaultKind, said: str) -> None:
        """Keep something that was mended; never stops."""
        self._count(kind, said, said)

    def _count(self, kind: FaultKind, record: str, said: str) -> None:
        if (kind, record) in self._seen:  # the same file read again
            return
        self._seen.add((kind, record))
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.named.setdefault(kind, [])
        if len(self.named[kind]) < 5:
            self.named[kind].append(said)

    @property
    def left_out(self) -> int:
        """Records that could not be used."""
        return sum(count for kind, count in self.counts.items() if kind not in NOTES)

    def lines(self) -> list[str]:
        """Say what was wrong, one line a kind."""
        found = []
        for kind, count in sorted(self.counts.items()):
            what = "noted" if kind in NOTES else "left out"
            more = f"; and {count - len(self.named[kind])} more" if count > len(self.named[kind]) else ""
            found.append(f"{count} {'record' if count == 1 else 'records'} {what} ({kind.replace('_', ' ')}): "
                         f"{'; '.join(self.named[kind])}{more}")  # fmt: skip
        return found


@dataclass(frozen=True, slots=True)
class Histories:
    """A dataset of histories: its splits, its pictures, and what its sidecar knows."""

    path: Path
    splits: tuple[Split, ...]
    pictures: Pictures
    sidecar: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """From `meta.jsonl`: question id to builder, refusal, subtype, visual_need, old_answer."""

    def split(self, name: str) -> Split:
        """Return the split called `name` (`32k`, or a number of tokens). Raises `InputError` that lists them."""
        for split in self.splits:
            if name.strip().lower() in (split.name, str(split.length)):
                return split
        known = ", ".join(split.name for split in self.splits)
        raise InputError(f"{self.path} has no histories of length {name!r}; it has {known}")

    def records(
        self, split: Split, faults: Faults | None = None, *, keep: Collection[str] | None = None
    ) -> Iterator[Record]:
        """Yield the records of a split in the order of the file; `keep` names those that are wanted.

        Faulty records go to `faults` (by default the first one raises `InputError`).
        """
        faults = faults if faults is not None else Faults(strict=True)
        seen: set[str] = set()
        for number, raw in enumerate(raw_records(split.path, faults), 1):
            where = f"{split.path.name}, record {number}"
            name = id_of(raw)
            if keep is not None and name is not None and name not in keep:
                continue
            try:
                record = parse_record(raw, where, None if name is None else self.sidecar.get(name))
                if record.question_id in seen:
                    raise RecordError(
                        "duplicate_id", f"{where} ({record.question_id})", "its question_id occurs before"
                    )
            except RecordError as error:
                faults.add(error)
                continue
            seen.add(record.question_id)
            for kind, said in record.notes:
                faults.note(kind, said)
            yield record


def open_histories(path: Path, *, length: str | None = None, images: Path | None = None) -> Histories:
    """Find the splits, the pictures and the sidecar of a folder, or of one file.

    Parameters
    ----------
    path : a folder with `dataset_32k.jsonl`, `.parquet` or `.json` (or `memory_32k...`, or LongMemEval's files), or one
        such file.
    length : what to call the length of one file whose name does not say it, such as `128k`. By default its first record
        is measured, and the next power of two that holds it is taken.
    images : the image folder; by default `images` or `release_images` beside the splits, else their own folder.

    Raises `InputError`.
    """
    path = path.expanduser()
    if path.is_dir():
        folder, splits = path, _splits_of(path)
    elif path.is_file():
        folder, splits = path.parent, [_split_of(path, length)]
    else:
        raise InputError(f"{path}: no such file or folder; make one with `memgauge histories build --out {path}`")
    if images is None:
        images = next((folder / name for name in ("images", "release_images") if (folder / name).is_dir()), folder)
    elif not images.is_dir():
        raise InputError(f"{images}: no such folder of images")
    return Histories(path, tuple(splits), Pictures(images), read_sidecar(folder / "meta.jsonl"))


def _splits_of(folder: Path) -> list[Split]:
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        match = _NAMED.fullmatch(path.name)
        if match is not None and path.is_file():
            found.setdefault(match[1].lower(), {}).setdefault(match[2], path)
    splits = [_split_of(next(files[form] for form in _FORMS if form in files), None) for files in found.values()]
    if not splits:
        raise InputError(f"{folder}: holds no dataset_32k.jsonl, .parquet or .json (or memory_32k...)")
    return sorted(splits, key=lambda split: (split.length, split.name))


def _split_of(path: Path, length: str | None) -> Split:
    match = _NAMED.fullmatch(path.name)
    named = match[1].lower() if match is not None else path.stem
    if length is not None:
        return Split(length.strip().lower(), tokens_of(length), path)
    if _LENGTH.fullmatch(named):
        return Split(named, tokens_of(named), path)
    return Split(named, _measured(path), path)


def tokens_of(length: str) -> int:
    """Read a length: 32k is 32,768 tokens, 1m is 1,048,576.

    >>> tokens_of("32k"), tokens_of("131072")
    (32768, 131072)
    """
    match = _LENGTH.fullmatch(length.strip())
    if match is None or not int(match[1]):
        raise InputError(f"{length!r} is no length; write 32k, 256k or a number of tokens")
    return int(match[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[match[2].lower()]


def _measured(path: Path) -> int:
    """Return the power of two that holds the first record's words and signs, at least 1,024."""
    for raw in raw_records(path, Faults()):
        try:
            record = parse_record(raw, path.name)
        except RecordError:
            continue
        size = sum(len(_WORDS.findall(turn.content)) for session in record.sessions for turn in session.turns)
        return 1 << max(10, (size - 1).bit_length())
    raise InputError(f"{path}: holds no record that can be read; give --length to say how long its histories are")


def read_sidecar(path: Path) -> dict[str, dict[str, Any]]:
    """Read the gold side of a built folder, as far as runs need it; empty where there is none."""
    if not path.is_file():
        return {}
    if path.stat().st_size > MAX_SIDECAR:
        raise InputError(f"{path}: larger than {MAX_SIDECAR >> 20} MiB; memgauge did not write that")
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(_lines(path), 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON: {error}") from error
        if not isinstance(entry, dict) or not isinstance(entry.get("question_id"), str):
            raise InputError(f"{path}, line {number}: no object with a question_id")
        found[entry["question_id"]] = {name: entry[name] for name in _SIDECAR if entry.get(name) is not None}
        gold = entry.get("gold")
        chain = gold.get("chain") if isinstance(gold, dict) else None
        if isinstance(chain, list) and len(chain) > 1 and isinstance(chain[-2], str):
            # Of a knowledge update: the values in order, the last of which holds.
            found[entry["question_id"]].setdefault("old_answer", chain[-2])
    return found


def count_of(split: Split) -> int | None:
    """Return how many records a split holds where that is quickly told (Parquet), else None."""
    if split.path.suffix != ".parquet":
        return None
    return int(_parquet(split.path).metadata.num_rows)


def raw_records(path: Path, faults: Faults, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the raw records of a file one by one. Raises `InputError` where the file as a whole cannot be read."""
    try:
        if path.suffix == ".parquet":
            yield from _parquet_records(path, columns)
        elif path.suffix in (".jsonl", ".ndjson"):
            yield from _line_records(path, faults)
        else:
            yield from _array_records(path, faults)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _line_records(path: Path, faults: Faults) -> Iterator[Any]:
    for number, line in enumerate(_lines(path), 1):
        try:
            yield _loads(line)
        except (ValueError, RecursionError) as error:
            faults.add(_no_json(line, f"{path.name}, line {number}", error))


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while line := file.readline(MAX_RECORD):
            if len(line) == MAX_RECORD:
                raise InputError(f"{path}: a line is longer than {MAX_RECORD >> 20} MiB; this is no file of histories")
            if line.strip():
                yield line


def _array_records(path: Path, faults: Faults) -> Iterator[Any]:
    """Read a JSON array, or an object whose `data` is one."""
    for number, element in enumerate(array_elements(path, MAX_RECORD), 1):
        try:
            yield _loads(element)
        except (ValueError, RecursionError) as error:
            faults.add(_no_json(element, f"{path.name}, record {number}", error))


def _loads(data: bytes) -> Any:
    return json.loads(data, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _no_json(data: bytes, where: str, error: Exception) -> RecordError:
    """Return the fault of a record that is no JSON; its id is named where it can be made out."""
    match = _ID.search(data)
    name = f" ({match[1].decode()})" if match is not None else ""
    if isinstance(error, UnicodeDecodeError):
        said = f"not UTF-8: byte {error.object[error.start]:#04x} at byte {error.start}"
    elif isinstance(error, RecursionError):
        said = "nested too deeply"
    else:
        said = str(error).partition(";")[0]
    return RecordError("not_an_object", where + name, f"not JSON: {said}" if "UTF-8" not in said else said)


_ID = re.compile(rb'"question_id"\s*:\s*"([\w.:-]{1,100})"', re.ASCII)


def _parquet(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InputError("Parquet files of histories need pyarrow: pip install 'memgauge[histories]'") from error
    try:
        # Without a buffer ahead, a file with a single row group is still read piece by piece.
        return pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file: {error}") from error


def _parquet_records(path: Path, columns: list[str] | None) -> Iterator[Any]:
    import pyarrow

    file = _parquet(path)
    if "question_id" not in file.schema_arrow.names:
        raise InputError(f"{path}: a table without the column question_id is no file of histories")
    wanted = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
    try:
        for batch in file.iter_batches(batch_size=1 if columns is None else 256, columns=wanted, use_threads=False):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: the Parquet file is broken: {error}") from error
    finally:
        file.close()
