"""Records as episodes: dated sessions to be written, then one question, graded by the rules of conversations."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from memgauge.episode import NO_SYMBOLS, Episode, Observation, Picture, Query, Question, Turn
from memgauge.grading.conversation import VERSION, grade_conversation
from memgauge.grading.typed.prepare import Mode
from memgauge.histories.ablations import Ablation
from memgauge.histories.pictures_at import Pictures
from memgauge.histories.records import Record, RecordError, RecordSession, parse_date
from memgauge.prompts.memlens import prompt_version
from memgauge.tasks import hash_words

TASK = "memlens"
QUERY = "q"
"""Each history has one question."""


def record_episode(
    record: Record, pictures: Pictures, length: int, *, ablation: Ablation | None = None, mode: Mode = "strict"
) -> Episode:
    """Show a record as an episode.

    The age of a question's evidence is that of the oldest session it needs: sessions shown after it, and days before
    the question; empty where the evidence is not known or there is none.

    Raises `RecordError` for a picture that cannot be shown, and for an oracle without known evidence.
    """
    ablation = ablation or Ablation()
    if ablation.oracle is not None and not record.evidence:
        raise RecordError(
            "no_evidence", record.question_id, "no session is marked as evidence, so no oracle can show it"
        )
    shown = _shown(record, ablation)
    observations = _observations(record, shown, pictures, ablation)
    fingerprint = _fingerprint(observations)
    question = Question(
        NO_SYMBOLS,
        seed=hash_words(fingerprint.encode(), record.question_id.encode("utf-8", "replace")),
        words=record.question,
        date=record.question_date,
        reasoning=ablation.cot,
    )
    grade = partial(
        grade_conversation,
        subtype=record.subtype,
        question=record.question,
        reference=record.answer,
        old_answer=record.old_answer,
        mode=mode,
    )
    sessions, days = _age(record, shown, ablation)
    query = Query(
        id=QUERY,
        question=question,
        gold=record.answer,
        age=sessions,
        age_unit=None if sessions is None else "sessions",
        age_days=days,
        subtype=record.subtype,
        kind=record.kind,
        visual_need=record.visual_need,
        old_answer=record.old_answer,
        grade=grade,
        # Oracles show the same at every length; a row belongs to one length all the same.
        rules=f"{TASK} {length} {record.subtype} {mode} {VERSION} {prompt_version()}",
    )
    return Episode(
        id=record.question_id,
        task=TASK,
        split=record.ability,
        length=length,
        observations=observations,
        queries=(query,),
        fingerprint=fingerprint,
        subtype=record.subtype,
    )


def _shown(record: Record, ablation: Ablation) -> list[int]:
    """Return the places of the sessions that are shown, whole or in part."""
    if ablation.no_context:
        return []
    return list(record.evidence) if ablation.oracle is not None else list(range(len(record.sessions)))


def _observations(
    record: Record, shown: Sequence[int], pictures: Pictures, ablation: Ablation
) -> tuple[Observation, ...]:
    found = []
    count = 0
    for place in shown:
        session = record.sessions[place]
        if ablation.oracle == "facts":
            session = _facts(session)
        turns = []
        for turn in session.turns:
            handles: tuple[Picture, ...] = ()
            if ablation.shows_pictures:
                handles = tuple(pictures.picture(image, record.question_id) for image in turn.images)
            turns.append(Turn(turn.role, ablation.content(turn, count), handles))
            count += len(handles)
        found.append(Observation("fact" if ablation.oracle == "facts" else "session", date=session.date, turns=turns))
    return tuple(found)


def _facts(session: RecordSession) -> RecordSession:
    """Keep the turns that carry evidence; of a session whose turns are not marked, what the user says."""
    marked = tuple(turn for turn in session.turns if turn.has_answer)
    return replace(session, turns=marked or tuple(turn for turn in session.turns if turn.role == "user"))


def _age(record: Record, shown: Sequence[int], ablation: Ablation) -> tuple[float | None, float | None]:
    """Return the age of the oldest needed evidence in sessions that are shown, and in days."""
    if ablation.no_context or not record.evidence:
        return None, None
    oldest = record.evidence[0]
    sessions = None if ablation.oracle == "facts" else float(len(shown) - 1 - shown.index(oldest))
    asked = parse_date(record.question_date)
    dates = [parse_date(record.sessions[place].date) for place in record.evidence]
    known = [date for date in dates if date is not None]
    if asked is None or len(known) < len(dates) or min(known) > asked:
        return sessions, None
    return sessions, (asked - min(known)).total_seconds() / 86400


def _fingerprint(observations: Sequence[Observation]) -> str:
    """Hash all that is observed; a picture by its name and size, so that none has to be read for it."""
    whole = hashlib.blake2b(TASK.encode(), digest_size=16)
    for observation in observations:
        whole.update(f"\x1e{observation.kind}\x1f{observation.date}".encode("utf-8", "replace"))
        for turn in observation.turns:
            whole.update(f"\x1d{turn.role}\x1f{turn.content}".encode("utf-8", "replace"))
            for picture in turn.pictures:
                whole.update(f"\x1c{picture.name}\x1f{picture.size}".encode())
    return whole.hexdigest()
