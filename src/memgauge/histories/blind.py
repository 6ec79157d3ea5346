"""Histories as a system under test may see them: what was said, and what is asked. Nothing here tells the answer.

Besides `answer`, `answer_session_ids` and `has_answer`, the names in some files give things away: LongMemEval's ids end
in `_abs` where nothing answers a question and its session ids begin with `answer`, released pictures lie in
`needle_images`, and a type says `answer_refusal`. None of these is handed on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memgauge.episode import Observation, Question
from memgauge.histories.episodes import record_episode
from memgauge.histories.reading import Faults, open_histories
from memgauge.histories.records import RecordError


@dataclass(frozen=True, slots=True)
class BlindHistory:
    """A conversation and the question about it, without its answer."""

    id: str
    """`blind_id` of the question's id."""
    sessions: tuple[Observation, ...]
    question: Question


def blind_id(question_id: str) -> str:
    """Return the name under which a system knows a question.

    >>> blind_id("q_4106e113")
    'h_dfdc0e14c145'
    """
    return f"h_{hashlib.blake2b(question_id.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def read_blind(
    path: Path, length: str | None = None, *, images: Path | None = None, faults: Faults | None = None
) -> Iterator[BlindHistory]:
    """Yield the histories of one length without gold, one at a time.

    Parameters
    ----------
    path : a folder or file of histories (`memgauge.histories.reading.open_histories`).
    length : the split, such as `32k`; the shortest by default.
    images : the image folder, where it does not lie beside the data.
    faults : where faulty records go; by default the first raises `InputError`.
    """
    histories = open_histories(path, length=length if path.is_file() else None, images=images)
    split = histories.splits[0] if length is None else histories.split(length)
    faults = faults if faults is not None else Faults(strict=True)
    for record in histories.records(split, faults):
        try:
            episode = record_episode(record, histories.pictures, split.length)
        except RecordError as error:
            faults.add(error)
            continue
        yield BlindHistory(blind_id(record.question_id), tuple(episode.observations), episode.queries[0].question)
