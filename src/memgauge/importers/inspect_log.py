"""Reading a log of Inspect AI (`.eval` or `.json`) without Inspect: bounded, one sample at a time.

An `.eval` log is a ZIP archive of JSON documents: `header.json` when the evaluation ended, `_journal/start.json` from
its beginning, and `samples/ID_epoch_N.json`. Its members are compressed with Zstandard, which Python 3.11 does not know
in archives, so members are unpacked here; sizes that an archive claims are checked against what comes out.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from memgauge.errors import InputError

FORMAT = 2
"""The version of Inspect's log format that is read."""
MEMBER_LIMIT = 256 << 20
"""Bytes of one sample, or of the header, unpacked. A sample of 1,000 frames takes some MB."""
JSON_LIMIT = 512 << 20
"""Bytes of a `.json` log, which has to be read whole; `inspect log convert` makes an `.eval` of a larger one."""
MEMBERS_LIMIT = 1_000_000
STORED, DEFLATED, ZSTANDARD = 0, 8, 93
_SAMPLE = re.compile(r"samples/(?P<id>.+)_epoch_(?P<epoch>[0-9]{1,9})\.json", re.DOTALL)
_ENCRYPTED = 1


class InspectLog:
    """One log. `header` is its specification and its end; samples are read when they are asked for.

    Raises `InputError` for a file that is no log, is broken, or is larger than the limits above.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file, start = _open(path)
        try:
            self._archive = self._members() if start.startswith(b"PK") else None
            self._samples: dict[tuple[str, int], dict[str, Any]] = {}
            self.header = self._whole(start) if self._archive is None else self._archive_header(self._archive)
            self._check()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> InspectLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def samples(self) -> set[tuple[str, int]]:
        """Id and epoch of every sample in the log."""
        if self._archive is None:
            return set(self._samples)
        names = (_SAMPLE.fullmatch(name) for name in self._archive)
        return {(found["id"], int(found["epoch"])) for found in names if found is not None}

    def sample(self, name: str, epoch: int) -> dict[str, Any]:
        """Read one sample."""
        if self._archive is None:
            return self._samples[name, epoch]
        found = self._json(self._archive[f"samples/{name}_epoch_{epoch}.json"])
        if found.get("id") != name or found.get("epoch") != epoch:
            raise InputError(f"{self.path}: the sample filed as {name!r} is another one; the log is broken")
        return found

    def _check(self) -> None:
        version = self.header.get("version")
        if version != FORMAT:
            raise InputError(
                f"{self.path}: an Inspect log of format {str(version)[:20]!r}; format {FORMAT} is read. `inspect log "
                "convert` writes old logs anew; a newer format needs a newer memgauge"
            )
        if not isinstance(self.header.get("eval"), dict):
            raise InputError(f"{self.path}: JSON, but no Inspect log: it does not say what was evaluated")

    def _whole(self, start: bytes) -> dict[str, Any]:
        """Read a `.json` log, which is one document."""
        if not start.lstrip().startswith(b"{"):
            raise InputError(f"{self.path}: not an Inspect log: neither an .eval archive nor a JSON object")
        size = self.path.stat().st_size
        if size > JSON_LIMIT:
            raise InputError(
                f"{self.path}: a JSON log of {size >> 20} MiB, more than {JSON_LIMIT >> 20}; turn it into an .eval log "
                "with `inspect log convert --to eval`"
            )
        self._file.seek(0)
        log = self._parse(self._file.read(JSON_LIMIT + 1), str(self.path))
        samples = log.pop("samples", None)
        for sample in samples if isinstance(samples, list) else []:
            key = (str(sample.get("id")), sample.get("epoch")) if isinstance(sample, dict) else ("", None)
            if not isinstance(key[1], int) or key in self._samples:
                raise InputError(f"{self.path}: a sample without id and epoch, or twice: {str(key)[:80]}")
            self._samples[key[0], key[1]] = sample
        return log

    def _members(self) -> dict[str, zipfile.ZipInfo]:
        try:
            with zipfile.ZipFile(self._file) as archive:
                members = {info.filename: info for info in archive.infolist()}  # the last of a name counts
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError, struct.error) as error:
            raise InputError(
                f"{self.path}: a broken .eval archive ({error}); was it cut short when it was copied?"
            ) from error
        if len(members) > MEMBERS_LIMIT:
            raise InputError(f"{self.path}: an archive of {len(members)} files; at most {MEMBERS_LIMIT} are read")
        return members

    def _archive_header(self, members: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
        if "header.json" in members:
            return self._json(members["header.json"])
        if "_journal/start.json" in members:
            return {"status": "started", **self._json(members["_journal/start.json"])}
        raise InputError(f"{self.path}: a ZIP archive, but no Inspect log: it holds no header.json")

    def _json(self, member: zipfile.ZipInfo) -> dict[str, Any]:
        where = f"{self.path}: {member.filename[:120]!r}"
        return self._parse(self._unpack(member, where), where)

    def _unpack(self, member: zipfile.ZipInfo, where: str) -> bytes:
        """Return a member unpacked. Nothing more than `MEMBER_LIMIT` is ever unpacked, whatever the archive says."""
        import zstandard

        if member.flag_bits & _ENCRYPTED:
            raise InputError(f"{where} is encrypted")
        if member.file_size > MEMBER_LIMIT or member.compress_size > MEMBER_LIMIT:
            size = max(member.file_size, member.compress_size)
            raise InputError(f"{where} has {size >> 20} MiB unpacked; at most {MEMBER_LIMIT >> 20} are read")
        try:
            self._file.seek(member.header_offset)
            head = self._file.read(30)
            name_size, extra_size = struct.unpack("<26x2H", head)
            self._file.seek(member.header_offset + 30 + name_size + extra_size)
            packed = self._file.read(member.compress_size)
            if member.compress_type == STORED:
                data = packed
            elif member.compress_type == DEFLATED:
                data = zlib.decompressobj(-15).decompress(packed, member.file_size + 1)
            elif member.compress_type == ZSTANDARD:
                reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
                    BytesIO(packed), read_across_frames=True
                )
                data = b"".join(_pieces(reader, member.file_size + 1))
            else:
                raise InputError(f"{where} is packed in a way that is not known ({member.compress_type})")
        except (zlib.error, zstandard.ZstdError, struct.error, OSError, ValueError) as error:
            raise InputError(f"{where} cannot be unpacked ({error}); the log is broken") from error
        if len(data) != member.file_size or zlib.crc32(data) != member.CRC:
            raise InputError(f"{where} is not what the archive says it is; the log is broken or was cut short")
        return data

    def _parse(self, data: bytes, where: str) -> dict[str, Any]:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not readable as JSON: {str(error)[:200]}") from error
        if not isinstance(found, dict):
            raise InputError(f"{where} is not a JSON object")
        return found


def _open(path: Path) -> tuple[BinaryIO, bytes]:
    """Open a file and return its first bytes too."""
    try:
        if not path.is_file():
            raise InputError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
        file = path.open("rb")
        start = file.read(64)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not start:
        file.close()
        raise InputError(f"{path}: an empty file: Inspect writes a log when an evaluation begins")
    return file, start


def _pieces(reader: Any, limit: int) -> Iterator[bytes]:
    """Read up to `limit` bytes."""
    while limit > 0 and (piece := reader.read(min(limit, 1 << 20))):
        limit -= len(piece)
        yield piece


def find_logs(paths: list[Path]) -> list[Path]:
    """Return the logs that files and folders stand for, by name; in a folder those ending in `.eval` or `.json`.

    Raises `InputError` for a folder without any. `eval-set.json` and `logs.json` are Inspect's own lists, no logs.
    """
    found = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        try:
            inside = sorted(
                p
                for p in path.iterdir()
                if p.suffix in (".eval", ".json") and p.name not in ("eval-set.json", "logs.json") and p.is_file()
            )
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        if not inside:
            raise InputError(f"{path}: no Inspect log in this folder (a file that ends in .eval or .json)")
        found += inside
    seen: set[Path] = set()
    for path in found:
        if path.resolve() in seen:
            raise InputError(f"{path} is given twice")
        seen.add(path.resolve())
    return found
