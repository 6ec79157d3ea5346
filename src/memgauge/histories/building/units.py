"""A finished candidate on the disk, and the records that follow from it.

One file a candidate, written whole: a line with what the selection needs, and a line with everything. It is compressed,
and kept only while the folder is being built.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from memgauge.errors import InputError
from memgauge.histories.building.photographs import Wanted
from memgauge.histories.building.store import put

Body = Mapping[str, Any]
ENDPOINT = "endpoint"
"""The stage at which candidates fail whose writer got no answer. That says nothing about them, so that the next run
of the command makes them again."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the selection needs to know of a candidate."""

    question_id: str
    line: str
    """Name of its line of the quota."""
    index: int
    revision: int
    rejected: str
    """Stage and reason, such as `assembly: decoys`; empty when it may be used."""
    question: str
    names: tuple[str, ...]
    """Names in the question, which are masked when questions are compared."""
    evidence_files: tuple[str, ...]
    """Pictures of its evidence."""
    other_files: tuple[str, ...]
    """All its other pictures."""
    attempts: Mapping[str, Mapping[str, int]]
    """Attempts of the writer (`AttemptLog.as_dict`)."""
    photographs: tuple[Wanted, ...] = ()
    """Its pictures that shall be photographs; they are in no list of files."""
    said: str = ""
    """What the endpoint of a writer said that did not answer; it stands in no exported file."""

    def to_json(self) -> str:
        """Return one line."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        fields["photographs"] = [[w.mark, w.name, w.own] for w in self.photographs]
        return json.dumps(fields, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Header:
        """Read what `to_json` wrote."""
        fields = json.loads(line)
        for name in ("names", "evidence_files", "other_files"):
            fields[name] = tuple(fields[name])
        fields["photographs"] = tuple(Wanted(*row) for row in fields.get("photographs", ()))
        return cls(**fields)


def rejected_header(
    named: tuple[str, str, int, int],
    reason: str,
    attempts: Mapping[str, Mapping[str, int]] | None = None,
    said: str = "",
) -> Header:
    """Return the header of a candidate that cannot be used; `named` is its id, line, index and revision."""
    return Header(*named, reason, "", (), (), (), attempts or {}, said=said)


def unit_path(folder: Path, question_id: str, revision: int) -> Path:
    """Return the file of a candidate."""
    return folder / (question_id + (f".r{revision}" if revision else "") + ".zst")


def write_unit(folder: Path, header: Header, body: Body | None) -> None:
    """Write a candidate, whole or not at all."""
    text = header.to_json() + "\n" + json.dumps(body, ensure_ascii=False, allow_nan=False) + "\n"
    put(unit_path(folder, header.question_id, header.revision), zstandard.compress(text.encode(), 3))


def drop_unanswered(folder: Path) -> int:
    """Remove the candidates that failed at an endpoint; returns how many."""
    failed = [path for path in sorted(folder.glob("*.zst")) if read_header(path).rejected.startswith(f"{ENDPOINT}:")]
    for path in failed:
        path.unlink()
    return len(failed)


def read_header(path: Path) -> Header:
    """Read the first line only."""
    return Header.from_json(next(_lines(path)))


def read_body(path: Path) -> Body:
    """Read the whole candidate. Raises `InputError` for one that was rejected."""
    lines = _lines(path)
    next(lines)
    body = json.loads(next(lines))
    if not isinstance(body, dict):
        raise InputError(f"{path.name} is a rejected candidate")
    return body


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
            yield from io.TextIOWrapper(reader, "utf-8", newline="\n")
    except (OSError, zstandard.ZstdError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); remove it, and the same command makes it again") from error


def record(body: Body, length: str) -> dict[str, Any]:
    """Return the public record of a candidate at one length, fields in the order of the released files."""
    member = body["members"][length]
    cut, keep = member["cut"] or (None, 0)
    sessions = [body["sessions"][place] for place in member["sessions"]]
    turns = [
        [_turn(turn) for turn in (s["turns"][: 2 * keep] if s["session_id"] == cut else s["turns"])] for s in sessions
    ]
    inside = {s["session_id"] for s in sessions}
    return {
        "question_id": body["question_id"],
        "question_type": body["question_type"],
        "question": body["question"],
        "answer": body["answer"],
        "question_date": body["question_date"],
        "haystack_dates": [s["date"] for s in sessions],
        "haystack_session_ids": [s["session_id"] for s in sessions],
        "haystack_sessions": turns,
        "answer_session_ids": [name for name in body["answer_session_ids"] if name in inside],
    }


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    images = [{"file": file, "image_url": "", "blip_caption": caption} for file, caption in turn["images"]]
    return {"role": turn["role"], "content": turn["content"], "images": images, "has_answer": turn["has_answer"]}
