"""What a folder or a file of histories holds: counts, lengths, and references that lead nowhere."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.accounting import Accounting, text_tokens, token_counter
from memgauge.histories.reading import Faults, Histories, Split, open_histories
from memgauge.histories.records import Record, RecordError
from memgauge.progress import Progress

_MOST_MANIFEST = 64 << 20
_NAMED = 10
"""Broken references that are named; all are counted."""


@dataclass(slots=True)
class Range:
    """Least, mean and most of a count."""

    values: list[int] = field(default_factory=list)

    def to_dict(self) -> dict[str, float]:
        """Return the three numbers, 0 without any value."""
        if not self.values:
            return {"least": 0, "mean": 0.0, "most": 0}
        mean = round(sum(self.values) / len(self.values), 3)
        return {"least": min(self.values), "mean": mean, "most": max(self.values)}


def inspect_path(path: Path) -> dict[str, Any]:
    """Return, for each split, counts by ability and subtype, sizes, and broken references, as JSON values.

    Text tokens are counted with the regular expression of the builds, each picture apart. A broken reference is a
    picture that is missing or unreadable, an answer session that the history does not hold, or an unreadable record.

    Raises `InputError` when the path holds no histories.
    """
    histories = open_histories(path)
    found: dict[str, Any] = {"path": path.name}
    if path.is_dir() and (said := _ablation(path / "manifest.json")):
        found["ablation"] = said
    return {**found, "splits": {split.name: _split(histories, split) for split in histories.splits}}


def _ablation(manifest: Path) -> str:
    """Return what `histories ablate` took out of a folder, as its manifest says; empty for other folders."""
    try:
        if manifest.stat().st_size > _MOST_MANIFEST:
            return ""
        config = json.loads(manifest.read_text("utf-8"))["config"]
        return str(config.get("ablation", ""))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""  # a released folder without a manifest, or with another's


def find_record(path: Path, question: str | None = None, length: str | None = None) -> tuple[Histories, Record]:
    """Return one record of a folder or file: by default the first of the shortest split.

    Raises `InputError` when there is no such question or length.
    """
    histories = open_histories(path)
    split = histories.split(length) if length else histories.splits[0]
    for record in histories.records(split, keep=None if question is None else [question]):
        return histories, record
    raise InputError(f"{split.path}: " + (f"no question {question!r}" if question else "holds no record"))


def _split(histories: Histories, split: Split) -> dict[str, Any]:
    subtypes: dict[str, Counter[str]] = defaultdict(Counter)
    sessions, turns, pictures, tokens = Range(), Range(), Range(), Range()
    broken: list[str] = []
    faults = Faults()
    counter, accounting = token_counter("regex"), Accounting()
    with Progress(split.name, None) as bar:
        for record in histories.records(split, faults):
            subtypes[record.ability][record.kind or record.subtype] += 1
            sessions.values.append(len(record.sessions))
            turns.values.append(sum(len(session.turns) for session in record.sessions))
            pictures.values.append(record.images)
            tokens.values.append(
                sum(text_tokens((t.content for t in s.turns), accounting, counter) for s in record.sessions)
            )
            broken += _broken(histories, record)
            bar.advance()
    left_out = [line for line in faults.lines() if faults.left_out]
    return {
        "file": split.path.name,
        "questions": sum(sum(kinds.values()) for kinds in subtypes.values()),
        "abilities": {name: sum(kinds.values()) for name, kinds in sorted(subtypes.items())},
        "subtypes": {name: dict(sorted(kinds.items())) for name, kinds in sorted(subtypes.items())},
        "sessions": sessions.to_dict(),
        "turns": turns.to_dict(),
        "pictures": pictures.to_dict(),
        "tokens": tokens.to_dict(),
        "broken": {"count": len(broken) + faults.left_out, "first": [*left_out, *broken][:_NAMED]},
    }


def _broken(histories: Histories, record: Record) -> list[str]:
    found = []
    names = {session.id for session in record.sessions}
    for name in record.answer_session_ids:
        if name not in names:
            found.append(f"{record.question_id}: the answer session {name} is not in its history")
    for session in record.sessions:
        for turn in session.turns:
            for image in turn.images:
                try:
                    histories.pictures.picture(image, record.question_id)
                except RecordError as error:
                    found.append(str(error))
    return found
