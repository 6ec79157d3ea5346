"""A built folder, opened for checking: where its lines begin, and one question at a time with all of its lengths."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memgauge.errors import InputError
from memgauge.histories.ablations import without_markers
from memgauge.histories.building.accounting import Accounting, Length, from_manifest
from memgauge.histories.building.checking.schema import Meta, MetaFact, MetaSession, Record, Turn, described
from memgauge.histories.building.config import FORMAT
from memgauge.histories.building.model import Fact, ImageSpec
from memgauge.histories.reading import MAX_RECORD
from memgauge.progress import Progress

_ID = re.compile(rb'\{\s*"question_id"\s*:\s*"([^"\\]{1,200})"')
_MOST_MANIFEST = 64 << 20


@dataclass(frozen=True, slots=True)
class Lines:
    """A JSONL file of questions: its hash, and where each question's line begins."""

    path: Path
    sha256: str
    order: tuple[str, ...]
    """Question ids in the order of the file, repeats included."""
    offsets: Mapping[str, int]
    faults: tuple[str, ...]
    """Lines that name no question."""

    def read(self, question_id: str) -> bytes:
        """Return the line of a question."""
        with self.path.open("rb") as file:
            file.seek(self.offsets[question_id])
            return file.readline(MAX_RECORD)


@dataclass(frozen=True)
class Item:
    """One question: its sidecar, and its record at every length, shortest first."""

    meta: Meta
    records: Mapping[str, Record]

    @property
    def id(self) -> str:
        """The question's id."""
        return self.meta.question_id

    @cached_property
    def longest(self) -> Record:
        """The record of the longest history."""
        return list(self.records.values())[-1]

    @cached_property
    def by_session(self) -> Mapping[str, MetaSession]:
        """Session id: what the sidecar says of it."""
        return {session.session_id: session for session in self.meta.sessions}

    @cached_property
    def own_facts(self) -> tuple[MetaFact, ...]:
        """Facts of the question's own blueprint, evidence and contrast, by slot."""
        facts = [fact for session in self.meta.sessions for fact in session.facts]
        return tuple(fact for fact in facts if fact.role != "decoy")


def sessions_of(record: Record) -> Iterator[tuple[str, list[Turn]]]:
    """Yield id and turns of each session; lists of unequal length end with the shorter one."""
    return zip(record.haystack_session_ids, record.haystack_sessions, strict=False)


def fact_of(fact: MetaFact) -> Fact:
    """Return a fact as the builders' own functions take it."""
    return Fact(
        fact.id,
        tuple(fact.key),
        fact.text,
        tuple(ImageSpec(p.kind, p.truth, p.seed) for p in fact.pictures),
        fact.role,
        fact.mentions,
        tuple(fact.protected),
    )


class Folder:
    """The files of a finished build."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = _manifest(path)
        config = self.manifest["config"]
        self.config: Mapping[str, Any] = config
        self.accounting: Accounting = from_manifest(self.manifest["accounting"])
        lengths = [self.accounting.length(name) for name in config["lengths"]]
        self.lengths: tuple[Length, ...] = tuple(sorted(lengths, key=lambda length: length.budget))
        self.images = path / "images"
        ablation = str(config.get("ablation", ""))
        self.dropped = ablation.removeprefix("drop-images:")
        """Which pictures `ablate` took out: `evidence`, `all`, or an empty text for a folder as it was built."""
        if ablation and self.dropped not in ("evidence", "all"):
            raise InputError(f"{path / 'manifest.json'}: config.ablation {ablation!r:.60} is none that memgauge makes")
        size = sum((path / name).stat().st_size for name in self.tables if (path / name).is_file())
        with Progress("reading (MB)", size // 1_000_000) as bar:
            self.meta = _index(path / "meta.jsonl", bar)
            self.splits = {length.name: _index(path / f"dataset_{length.name}.jsonl", bar) for length in self.lengths}

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the JSONL files."""
        return ("meta.jsonl", *(f"dataset_{length.name}.jsonl" for length in self.lengths))

    @property
    def procedural(self) -> bool:
        """Whether the procedural writer wrote the sessions."""
        return bool(self.config["writer"] == "procedural")

    def _as_said(self, meta: Meta) -> Meta:
        """Return the sidecar with the texts of facts as they stand in turns whose pictures `ablate` took out."""
        if not self.dropped:
            return meta
        sessions = []
        for session in meta.sessions:
            facts = [
                f if self.shows(f.role) else f.model_copy(update={"text": without_markers(f.text)})
                for f in session.facts
            ]
            sessions.append(session.model_copy(update={"facts": facts}))
        return meta.model_copy(update={"sessions": sessions})

    def shows(self, role: str) -> bool:
        """Whether the pictures of facts of a role are still there."""
        return not self.dropped or (self.dropped == "evidence" and role != "evidence")

    def record(self, question_id: str, length: str) -> Record:
        """Return a record that is known to be well formed."""
        return Record.model_validate_json(self.splits[length].read(question_id))

    def item(self, question_id: str) -> tuple[Item | None, list[str]]:
        """Return a question with all of its records, or None and why its lines cannot be read."""
        problems: list[str] = []
        meta: Meta | None = None
        records: dict[str, Record] = {}
        try:
            meta = self._as_said(Meta.model_validate_json(self.meta.read(question_id)))
        except ValidationError as error:
            problems.append(f"{question_id}: meta.jsonl, {described(error)}")
        for name, lines in self.splits.items():
            if question_id not in lines.offsets:
                problems.append(f"{question_id}: dataset_{name}.jsonl does not hold it")
                continue
            try:
                records[name] = Record.model_validate_json(lines.read(question_id))
            except ValidationError as error:
                problems.append(f"{question_id}: dataset_{name}.jsonl, {described(error)}")
        if meta is None or problems:
            return None, problems
        return Item(meta, records), []


def _manifest(path: Path) -> dict[str, Any]:
    """Read the manifest as far as the check needs it. Raises `InputError`."""
    if not path.is_dir():
        raise InputError(f"{path}: no such folder; make one with `memgauge histories build --out {path}`")
    file = path / "manifest.json"
    try:
        if file.stat().st_size > _MOST_MANIFEST:
            raise InputError(f"{file}: too large; memgauge did not write that")
        manifest = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file}: cannot be read ({error}); check looks at folders that `memgauge histories build` has finished"
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{file}: not the manifest of a build of histories")
    config = manifest.get("config")
    if not isinstance(config, dict):
        raise InputError(f"{file}: lacks config")
    lengths = config.get("lengths")
    if not isinstance(lengths, list) or not lengths or not all(isinstance(name, str) for name in lengths):
        raise InputError(f"{file}: config.lengths names no lengths")
    for name in ("accounting", "counts", "files", "pictures", "subset"):
        if not isinstance(manifest.get(name), dict):
            raise InputError(f"{file}: lacks {name}")
    for name in ("seed", "writer", "captions", "text_profile"):
        if name not in config:
            raise InputError(f"{file}: config lacks {name}")
    return manifest


def _index(path: Path, bar: Progress) -> Lines:
    """Read a file once: its hash, and the place of each question. Raises `InputError` when it cannot be read."""
    total = hashlib.sha256()
    order: list[str] = []
    offsets: dict[str, int] = {}
    faults: list[str] = []
    place = number = done = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_RECORD):
                number += 1
                total.update(line)
                if len(line) == MAX_RECORD:
                    raise InputError(f"{path}: line {number} is longer than {MAX_RECORD >> 20} MiB")
                name = _question_id(line)
                if name is None:
                    faults.append(f"{path.name}, line {number}: no object with a question_id")
                else:
                    order.append(name)
                    offsets.setdefault(name, place)
                place += len(line)
                bar.advance(place // 1_000_000 - done)
                done = place // 1_000_000
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    return Lines(path, total.hexdigest(), tuple(order), offsets, tuple(faults))


def _question_id(line: bytes) -> str | None:
    found = _ID.match(line)
    if found is not None:
        return found[1].decode("utf-8", "replace")
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    name = entry.get("question_id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None
