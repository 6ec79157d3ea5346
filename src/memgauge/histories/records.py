"""One question with its conversation history: the record of MEMLENS, of built folders and of LongMemEval, checked.

Records are untrusted. What cannot be used is a `RecordError` that names the record and the kind of fault; small things
(control characters) are mended and noted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memgauge.errors import InputError
from memgauge.grading.subtypes import infer_subtype

MARKER = "<image>"
"""Stands in a turn's text for a picture; the first marker is the first picture."""
_MAX_SESSIONS = 20_000
_MAX_PICTURES = 1_000
_ASSISTANT = re.compile(r"\b(?:assistant|ai|bot|chatbot|gpt|chatgpt|model|agent)\b", re.IGNORECASE)
_USER = re.compile(r"\b(?:user|human|person)\b", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_CONTROL_BYTES = bytes(code for code in (*range(32), 127) if code not in (9, 10, 13))
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DATE = re.compile(
    r"\s*(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})(?:\s*\(\w{1,12}\)|\s+[A-Za-z]{3,9})?"
    r"(?:[T\s]+(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d{1,9})?)?)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?\s*"
)

FaultKind = Literal[
    "not_an_object",
    "missing_field",
    "wrong_field",
    "unequal_lists",
    "duplicate_id",
    "unknown_type",
    "unsafe_path",
    "image_absent",
    "image_unreadable",
    "image_too_large",
    "control_characters",
    "direction_marks",
    "no_evidence",
    "not_in_data",
]
"""`control_characters` and `direction_marks` are notes; `no_evidence` is a question that an oracle cannot show, and
`not_in_data` one of a subset that the file does not hold; the others leave the record out."""
NOTES: tuple[FaultKind, ...] = ("control_characters", "direction_marks")


class RecordError(InputError):
    """A record that cannot be used; the text names it."""

    def __init__(self, kind: FaultKind, record: str, said: str) -> None:
        super().__init__(f"{record}: {said}")
        self.kind = kind
        self.record = record


@dataclass(frozen=True, slots=True)
class ImageRef:
    """A picture of a turn: where it is, and what a captioning model said of it."""

    file: str
    """Relative to the image folder; untrusted (see `pictures_at.Pictures`)."""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class RecordTurn:
    """One message; `content` holds exactly one `<image>` for each of `images`, in order."""

    role: Literal["user", "assistant"]
    content: str
    images: tuple[ImageRef, ...] = ()
    has_answer: bool = False
    """Gold: the turn carries a fact that the answer needs."""


@dataclass(frozen=True, slots=True)
class RecordSession:
    """The turns of one day."""

    id: str
    """Gold: names of some files give the evidence away."""
    date: str
    turns: tuple[RecordTurn, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A question, its right answer, and the conversation history before it."""

    question_id: str
    question_type: str
    """As the file has it; gold, since it tells unanswerable questions apart."""
    question: str
    answer: str
    question_date: str
    sessions: tuple[RecordSession, ...]
    answer_session_ids: tuple[str, ...] = ()
    subtype: str = "IE"
    """One of `memgauge.grading.SUBTYPES`, inferred."""
    kind: str | None = None
    """A finer kind, where the file or its sidecar names one."""
    old_answer: str | None = None
    visual_need: str | None = None
    notes: tuple[tuple[FaultKind, str], ...] = ()
    """What was mended."""

    @property
    def ability(self) -> str:
        """IE, MSR, TR, KU or AR."""
        return self.subtype.partition("_")[0]

    @property
    def images(self) -> int:
        """Number of pictures."""
        return sum(len(turn.images) for session in self.sessions for turn in session.turns)

    @property
    def evidence(self) -> tuple[int, ...]:
        """Places of the sessions that hold needed evidence: those with a marked turn, else those that are named."""
        marked = tuple(i for i, s in enumerate(self.sessions) if any(turn.has_answer for turn in s.turns))
        named = set(self.answer_session_ids)
        return marked or tuple(i for i, session in enumerate(self.sessions) if session.id in named)


def parse_record(raw: object, where: str, sidecar: Mapping[str, Any] | None = None) -> Record:
    """Check one raw record and return it.

    Parameters
    ----------
    raw : what JSON or Parquet gave.
    where : names the record's place in its file, for errors.
    sidecar : more about the question, from `meta.jsonl` of a built folder.

    Raises `RecordError`.

    >>> record = parse_record({
    ...     "question_id": "q_1", "question_type": "multi-session", "question": "How many cats?", "answer": 2,
    ...     "question_date": "2024/05/31 (Fri) 07:58", "haystack_dates": ["2024/05/01 (Wed) 10:00"],
    ...     "haystack_sessions": [[{"role": "Human", "content": "Two cats", "images": [{"file": "a.png"}]}]],
    ... }, "record 1")
    >>> record.subtype, record.sessions[0].turns[0].content
    ('MSR_Counting', 'Two cats\\n<image>')
    """
    if not isinstance(raw, Mapping):
        raise RecordError("not_an_object", where, f"a record is an object, this is {type(raw).__name__}")
    reader = _Reader(where)
    question_id = reader.name(raw.get("question_id"), "question_id")
    reader.where = f"{where} ({question_id})"
    question_type = reader.text(raw, "question_type")
    question = reader.text(raw, "question")
    answer = reader.answer(raw.get("answer"))
    date = reader.text(raw, "question_date")
    sessions = reader.sessions(raw)
    side = sidecar or {}
    named = _words(raw.get("question_subtype")) or _words(side.get("subtype"))
    try:
        subtype = subtype_of(question_id, question_type, question, answer, named)
    except InputError as error:
        raise RecordError("unknown_type", reader.where, str(error)) from error
    return Record(
        question_id=question_id,
        question_type=question_type,
        question=question,
        answer=answer,
        question_date=date,
        sessions=sessions,
        answer_session_ids=reader.names(raw.get("answer_session_ids")),
        subtype=subtype,
        kind=kind_of(side, named),
        old_answer=_words(raw.get("old_answer")) or _words(side.get("old_answer")) or None,
        visual_need=_words(side.get("visual_need")) or None,
        notes=tuple(reader.notes.items()),
    )


def id_of(raw: object) -> str | None:
    """Return the id of a raw record, where it has one; numbers occur.

    >>> id_of({"question_id": 7}), id_of([])
    ('7', None)
    """
    value = _number_as_text(raw.get("question_id")) if isinstance(raw, Mapping) else None
    return value if isinstance(value, str) else None


def _number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def subtype_of(question_id: str, question_type: str, question: str, answer: str, named: str) -> str:
    """Return the subtype (`infer_subtype`); LongMemEval marks what cannot be answered by the end of the id."""
    return "AR" if question_id.endswith("_abs") else infer_subtype(question_type, question, answer, named)


def kind_of(sidecar: Mapping[str, Any], named: str) -> str | None:
    """Return the finer kind of a question: its builder, else the subtype that its file names."""
    if sidecar.get("refusal") is True:  # made of another builder's question, whose name would mislead
        return "answer_refusal"
    return _words(sidecar.get("builder")) or named or None


def _words(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


class _Reader:
    """Reads the fields of one record; `where` names it, `notes` keeps what was mended."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.notes: dict[FaultKind, str] = {}

    def fail(self, kind: FaultKind, said: str) -> RecordError:
        return RecordError(kind, self.where, said)

    def clean(self, text: str, field: str) -> str:
        """Take control characters out; text that runs from right to left stays as it is."""
        if text.isascii():
            # Nearly all text: forty times faster than the expressions below.
            data = text.encode()
            if len(data.translate(None, _CONTROL_BYTES)) == len(data):
                return text
        if _CONTROL.search(text):
            self.notes.setdefault("control_characters", f"{self.where}: {field} holds control characters; taken out")
            text = _CONTROL.sub(lambda match: "\ufffd" if match[0] >= "\ud800" else "", text)
        if _DIRECTION.search(text):
            self.notes.setdefault(
                "direction_marks", f"{self.where}: {field} holds characters that turn the direction of text; kept"
            )
        return text

    def name(self, value: object, field: str) -> str:
        """Read an id: a printable text on one line."""
        value = _number_as_text(value)
        if value is None or value == "":
            raise self.fail("missing_field", f"{field} is missing")
        if not isinstance(value, str) or len(value) > 300 or not value.isprintable() or not value.strip():
            raise self.fail("wrong_field", f"{field} {value!r:.80} is no name: a printable text of at most 300 letters")
        return value

    def names(self, value: object) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.fail("wrong_field", "answer_session_ids is no list")
        return tuple(self.name(item, "answer_session_ids") for item in value)

    def text(self, raw: Mapping[str, Any], field: str) -> str:
        value = raw.get(field)
        if value is None:
            raise self.fail("missing_field", f"{field} is missing")
        if not isinstance(value, str) or not value.strip():
            raise self.fail("wrong_field", f"{field} is {value!r:.60}; it is a text")
        return self.clean(value, field)

    def answer(self, value: object) -> str:
        """Read the reference; numbers occur in some files."""
        if value is None:
            raise self.fail("missing_field", "answer is missing")
        usable = isinstance(value, str | int | float) and not isinstance(value, bool)
        if not usable or (isinstance(value, float) and not math.isfinite(value)) or not str(value).strip():
            raise self.fail("wrong_field", f"answer is {value!r:.60}; it is a text or a number")
        return self.clean(str(value), "answer")

    def sessions(self, raw: Mapping[str, Any]) -> tuple[RecordSession, ...]:
        """Read sessions: lists of turns whose dates stand in a list beside them, or objects with a date."""
        given = self.listed(raw.get("haystack_sessions"), "haystack_sessions")
        if len(given) > _MAX_SESSIONS:
            raise self.fail("wrong_field", f"{len(given)} sessions; at most {_MAX_SESSIONS} are read")
        inside = bool(given) and all(isinstance(session, Mapping) for session in given)
        own = [session.get("date") for session in given] if inside else None
        dates = self.listed(own if own is not None and all(own) else raw.get("haystack_dates"), "haystack_dates")
        if len(dates) != len(given):
            raise self.fail("unequal_lists", f"{len(given)} sessions but {len(dates)} dates")
        ids = raw.get("haystack_session_ids")
        names = [f"session_{i}" for i in range(len(given))] if ids is None else self.listed(ids, "haystack_session_ids")
        if len(names) != len(given):
            raise self.fail("unequal_lists", f"{len(given)} sessions but {len(names)} session ids")
        found = []
        for number, (session, date, name) in enumerate(zip(given, dates, names, strict=True), 1):
            turns = session.get("session", session.get("turns")) if isinstance(session, Mapping) else session
            if not isinstance(date, str) or not date.strip():
                raise self.fail("wrong_field", f"the date of session {number} is {date!r:.40}; it is a text")
            found.append(
                RecordSession(
                    self.name(name, f"the id of session {number}"),
                    self.clean(date, "haystack_dates"),
                    tuple(self.turn(turn, number) for turn in self.listed(turns, f"session {number}")),
                )
            )
        return tuple(found)

    def listed(self, value: object, field: str) -> list[Any]:
        """Read a list; Parquet files may hold it as JSON text."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise self.fail("wrong_field", f"{field} is a text that is not JSON: {error}") from error
        if value is None:
            raise self.fail("missing_field", f"{field} is missing")
        if not isinstance(value, list | tuple):
            raise self.fail("wrong_field", f"{field} is {type(value).__name__}, not a list")
        return list(value)

    def turn(self, raw: object, session: int) -> RecordTurn:
        if not isinstance(raw, Mapping):
            raise self.fail("wrong_field", f"session {session}: a turn is {type(raw).__name__}, not an object")
        content = raw.get("content")
        if content is None:
            raise self.fail("missing_field", f"session {session}: a turn has no content")
        if not isinstance(content, str):
            raise self.fail("wrong_field", f"session {session}: content is {type(content).__name__}, not a text")
        images = self.images(raw.get("images"), session)
        marked = raw.get("has_answer")
        if marked is not None and not isinstance(marked, bool):
            raise self.fail("wrong_field", f"session {session}: has_answer is {marked!r:.40}; it is true or false")
        return RecordTurn(
            self.role(raw.get("role"), session),
            placed(self.clean(content, f"session {session}"), len(images)),
            images,
            bool(marked),
        )

    def role(self, value: object, session: int) -> Literal["user", "assistant"]:
        """Read who speaks; other spellings occur ("AI Assistant", "human")."""
        if value is None:
            raise self.fail("missing_field", f"session {session}: a turn has no role")
        text = value if isinstance(value, str) else ""
        if _ASSISTANT.search(text):
            return "assistant"
        if _USER.search(text):
            return "user"
        raise self.fail("wrong_field", f"session {session}: role {value!r:.40} is neither user nor assistant")

    def images(self, value: object, session: int) -> tuple[ImageRef, ...]:
        if value is None:
            return ()
        items = self.listed(value, f"session {session}: images")
        if len(items) > _MAX_PICTURES:
            raise self.fail("wrong_field", f"session {session}: {len(items)} pictures in one turn")
        found = []
        for item in items:
            file = item.get("file") if isinstance(item, Mapping) else item
            if not isinstance(file, str) or not file:
                raise self.fail("wrong_field", f"session {session}: a picture has no file name")
            caption = item.get("blip_caption", item.get("caption")) if isinstance(item, Mapping) else None
            found.append(ImageRef(file, self.clean(caption, "a caption") if isinstance(caption, str) else ""))
        return tuple(found)


def placed(content: str, pictures: int) -> str:
    r"""Return the text with one marker a picture: surplus markers go, and what has none follows the text.

    >>> placed("a <image> b <image>", 1), placed("a", 2)
    ('a <image> b ', 'a\n<image>\n<image>')
    """
    parts = content.split(MARKER)
    there = len(parts) - 1
    if there > pictures:
        return MARKER.join(parts[: pictures + 1]) + "".join(parts[pictures + 1 :])
    return content + f"\n{MARKER}" * (pictures - there)


def parse_date(text: str) -> datetime | None:
    """Read the date of a session or question, to the minute; None where it has another form.

    >>> parse_date("2024/05/31 (Fri) 07:58"), parse_date("2024-05-31"), parse_date("May")
    (datetime.datetime(2024, 5, 31, 7, 58), datetime.datetime(2024, 5, 31, 0, 0), None)
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        return datetime(*(int(part or 0) for part in match.groups()))  # type: ignore[arg-type]
    except ValueError:
        return None
