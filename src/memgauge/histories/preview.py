"""One history as an HTML page that holds everything: sessions with dates, pictures as thumbnails, and the question.

Records are untrusted: nothing in them is markup, each message keeps its own direction of writing, and the page loads
nothing from elsewhere (`memgauge.report.page`).
"""

from __future__ import annotations

import io
from pathlib import Path

from memgauge.errors import InputError
from memgauge.histories.inspection import find_record
from memgauge.histories.pictures_at import FORMATS, Pictures
from memgauge.histories.records import MARKER, Record, RecordError, RecordTurn
from memgauge.progress import Progress
from memgauge.report.page import Message, Messages, Note, Picture, Section, Text, render_page

THUMBNAIL = 320
"""Pixels of a picture at most, in width and in height."""


def preview_page(path: Path, question: str | None = None, *, split: str | None = None, gold: bool = False) -> str:
    """Return the page of one question.

    Parameters
    ----------
    path : a built or released folder, or a file of records.
    question : its id; by default the first.
    split : such as `32k`; by default the shortest.
    gold : also show the answer, and mark the messages that hold the evidence.

    Raises `InputError` when there is no such question or split. A picture that cannot be shown is named in its place.
    """
    histories, record = find_record(path, question, split)
    evidence = set(record.evidence) if gold else set()
    asked = [Message(f"the question, asked on {record.question_date}", record.question)]
    if gold:
        asked.append(Message("the answer", record.answer, mark="gold"))
    length = f"{len(record.sessions)} sessions, {record.images} pictures"
    sections = [Section("Question", [Messages(asked), Text(_told(record, gold))])]
    shown = 0
    with Progress("pictures", record.images) as bar:
        for place, session in enumerate(record.sessions):
            marked = place in evidence
            told = any(turn.has_answer for turn in session.turns)
            messages = []
            for turn in session.turns:
                mark = "evidence" if marked and (turn.has_answer or not told) else ""
                messages.append(_message(turn, histories.pictures, record.question_id, shown, mark))
                shown += len(turn.images)
                bar.advance(len(turn.images))
            title = f"Session {place + 1}{' (evidence)' if marked else ''}"
            sections.append(Section(title, [Messages(messages, session.date)]))
    if not record.sessions:
        sections.append(Section("Sessions", [Note("The history is empty.")]))
    return render_page(f"History of {record.question_id}", sections, subtitle=length)


def _told(record: Record, gold: bool) -> str:
    if not gold:
        return "Answer and evidence are not shown; `--gold` shows them."
    kind = record.kind or record.subtype
    if not record.evidence:
        return f"Kind `{kind}`. The history holds no evidence."
    places = ", ".join(str(place + 1) for place in record.evidence)
    return f"Kind `{kind}`. The evidence stands in session{'s' if len(record.evidence) > 1 else ''} {places}."


def _message(turn: RecordTurn, pictures: Pictures, record: str, shown: int, mark: str) -> Message:
    """Return one turn; `shown` pictures came before it. Markers become the numbers of their pictures."""
    parts = turn.content.split(MARKER)
    text = parts[0]
    found = []
    for number, (image, rest) in enumerate(zip(turn.images, parts[1:], strict=True), shown + 1):
        caption = f"Picture {number}" + (f": {image.caption}" if image.caption else "")
        try:
            data = thumbnail(pictures.picture(image, record).open())
        except RecordError as error:
            text += f"[picture {number} cannot be shown: {error}]{rest}"
            continue
        found.append(Picture(data, "jpeg", f"picture {number}", caption))
        text += f"[picture {number}]{rest}"
    return Message(turn.role, text, found, mark)


def thumbnail(data: bytes, most: int = THUMBNAIL) -> bytes:
    """Return a picture as JPEG, at most `most` pixels wide and high, transparent parts white.

    Raises `InputError` for bytes that are no picture.
    """
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
            image.draft("RGB", (2 * most, 2 * most))  # of a large photograph, decode no more than is shown
            small = image.convert("RGBA" if image.mode in ("P", "LA", "PA", "RGBA") else "RGB")
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"a picture cannot be decoded: {error}") from error
    small.thumbnail((most, most))
    if small.mode == "RGBA":
        ground = PIL.Image.new("RGBA", small.size, "white")
        ground.alpha_composite(small)
        small = ground.convert("RGB")
    out = io.BytesIO()
    small.save(out, "JPEG", quality=80)
    return out.getvalue()
