"""What reviewers see, and the files in which it goes to them and comes back."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.review import DECISIONS, REASONS, Decision, Reviews
from memgauge.histories.building.units import Body

COLUMNS = (
    "item_id",
    "round",
    "checksum",
    "question",
    "answer",
    "evidence_text",
    "image_files",
    "decision",
    "reason",
    "edit_question",
    "edit_answer",
    "note",
)
_MOST_BYTES = 64 << 20
_MOST_QUESTION = 1000


@dataclass(frozen=True, slots=True)
class Item:
    """One item as a round shows it."""

    item_id: str
    round: int
    question: str
    answer: str
    text: str
    files: tuple[str, ...]
    checksum: str


def item_of(body: Body, round_: int, question: str = "") -> Item:
    """Return a candidate as round `round_` shows it; `question` is the reviewers' wording, if they changed it."""
    needed = {*body["answer_session_ids"], *body["meta"]["contrast_session_ids"]}
    sessions = [s for s in body["sessions"] if s["session_id"] in needed]
    facts = [
        fact
        for session in body["meta"]["sessions"]
        for fact in session["facts"]
        if session["session_id"] in needed and fact["role"] != "decoy"
    ]
    if round_ == 1:
        text = "\n".join(f"- ({fact['role']}) {fact['text']}" for fact in facts)
        files = [picture["file"] for fact in facts for picture in fact["pictures"]]
    else:
        text = "\n\n".join(_session(session) for session in sessions)
        files = [file for s in sessions for turn in s["turns"] for file, _ in turn["images"]]
    if round_ == 3:
        text = _assembled(body) + "\n\n" + text
    shown = question or body["question"]
    content = json.dumps([shown, body["answer"], text, files], ensure_ascii=False)
    checksum = hashlib.sha256(content.encode()).hexdigest()[:16]
    return Item(body["question_id"], round_, shown, body["answer"], text, tuple(dict.fromkeys(files)), checksum)


def _session(session: Mapping[str, Any]) -> str:
    turns = (f"{turn['role']}: {turn['content']}" for turn in session["turns"])
    return "\n".join([f"=== {session['date']} ===", *turns])


def _assembled(body: Body) -> str:
    lines = [f"Asked on {body['question_date']}. Floor of the text alone: {body['meta']['floor']}."]
    for name, figures in body["meta"]["lengths"].items():
        lines.append(
            f"{name}: {figures['sessions']} sessions ({figures['fillers']} text-only), {figures['pictures']} pictures, "
            f"{figures['tokens']} tokens"
        )
    return "\n".join(lines)


def to_csv(items: Iterable[Item]) -> str:
    """Return the table that a reviewer fills in: decision, reason, edit_question, note."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for i in items:
        cells = [i.item_id, str(i.round), i.checksum, i.question, i.answer, i.text, " ".join(i.files)]
        writer.writerow([*map(_cell, cells), "", "", "", "", ""])
    return out.getvalue()


def _cell(text: str) -> str:
    """Keep spreadsheets from taking a text for a formula."""
    return "'" + text if text[:1] in "=+-@\t\r" else text


def read_decisions(path: Path) -> list[dict[str, str]]:
    """Read a table that came back. Raises `InputError` for a file without the columns."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES >> 20} MB; this is no table of decisions")
        rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    wanted = {"item_id", "round", "checksum", "decision"}
    if rows and not wanted <= set(rows[0]):
        raise InputError(f"{path}: the columns {', '.join(sorted(wanted - set(rows[0])))} are missing")
    if not rows:
        raise InputError(f"{path}: no rows")
    return [{name: (value or "").strip() for name, value in row.items() if isinstance(name, str)} for row in rows]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import took in and what it refused."""

    taken: int
    undecided: int
    refused: tuple[str, ...]
    """One sentence a row."""


def import_decisions(
    rows: Sequence[Mapping[str, str]], reviewer: str, reviews: Reviews, items: Mapping[str, Item]
) -> Imported:
    """Take in the rows of one reviewer.

    `items` are the items that wait, as the round of each shows them. Refused are rows about other items or rounds, rows
    whose checksum no longer fits, a second decision of a reviewer, unknown decisions and reasons, and edits that the
    checks do not pass.
    """
    taken = undecided = 0
    refused = []
    for number, row in enumerate(rows, 2):
        if not row.get("decision"):
            undecided += 1
            continue
        problem = _problem(row, reviewer, reviews, items)
        if problem:
            refused.append(f"row {number}, {row['item_id'] or '(no item)'}: {problem}")
            continue
        reviews.add(
            Decision(
                item_id=row["item_id"],
                round=int(row["round"]),
                reviewer=reviewer,
                checksum=row["checksum"],
                decision=row["decision"],
                reason=row.get("reason", ""),
                note=row.get("note", "")[:_MOST_QUESTION],
                edit_question=row.get("edit_question", ""),
            )
        )
        taken += 1
    return Imported(taken, undecided, tuple(refused))


def _problem(row: Mapping[str, str], reviewer: str, reviews: Reviews, items: Mapping[str, Item]) -> str:
    item, state = items.get(row["item_id"]), reviews.states[row["item_id"]]
    if item is None:
        return "no item of that id waits for a decision"
    if row["round"] != str(state.round):
        return f"it is a decision of round {row['round']}, and the item waits for round {state.round}"
    if any(d.reviewer == reviewer for d in state.open):
        return f"{reviewer} has decided on it already"
    if row["checksum"] != item.checksum:
        return "the item has changed since it was exported; export it again"
    if row["decision"] not in DECISIONS:
        return f"the decision is {', '.join(DECISIONS)}, not {row['decision']!r}"
    reason, edit = row.get("reason", ""), row.get("edit_question", "")
    if row["decision"] == "accept":
        return "an accepted item takes no edit; decide revise" if edit else ""
    if reason not in REASONS:
        return f"the reason is one of {', '.join(REASONS)}, not {reason!r}"
    if row.get("edit_answer", "") not in ("", item.answer):
        return "the answer follows from the pictures and cannot be edited; reject the item instead"
    return edit_problem(edit, item) if edit else ""


def edit_problem(question: str, item: Item) -> str:
    """Return what is wrong with a reviewer's wording of a question, or an empty string."""
    if len(question) > _MOST_QUESTION or "\n" in question:
        return f"the edited question must be one line of at most {_MOST_QUESTION} characters"
    if "<image>" in question:
        return "a question holds no <image>"
    if "?" not in question:
        return "the edited question asks nothing"
    answer = item.answer.casefold()
    if len(answer) > 2 and answer in question.casefold() and answer not in item.question.casefold():
        return "the edited question says its answer"
    return ""
