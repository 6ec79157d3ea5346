"""What lies behind one row of a run on histories: the question, its sessions, and the evidence in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.reading import Faults, open_histories
from memgauge.histories.records import Record


def describe_question(data: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked and where the answer stands; `data` is that of `run.json`.

    Raises `InputError` where the histories have moved or changed.
    """
    if "folder" not in data:
        raise InputError("the run does not say where its histories are")
    folder = Path(data["folder"])
    names: Sequence[str] = data.get("splits") or ()
    length = names[0] if folder.is_file() and len(names) == 1 else None
    histories = open_histories(folder, length=length)
    for split in histories.splits:
        if split.length == row["length"]:
            for record in histories.records(split, Faults(), keep={row["episode"]}):
                return _described(record)
    raise InputError(f"{folder} has no question {row['episode']} at length {row['length']} any more")


def _described(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = {
        "question_date": record.question_date,
        "sessions": len(record.sessions),
        "pictures": record.images,
    }
    for place in record.evidence:
        session = record.sessions[place]
        marked = [turn for turn in session.turns if turn.has_answer] or session.turns
        lines = [f"[{turn.role.capitalize()}]: {turn.content}" for turn in marked]
        files = [image.file for turn in marked for image in turn.images]
        shown = f"\npictures: {', '.join(files)}" if files else ""
        found[f"session {place + 1}"] = f"({session.date})\n" + "\n".join(lines) + shown
    return found
