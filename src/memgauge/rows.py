"""From what came back to rows: the key of a row, one row, and whole batches of rows."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memgauge.drive import Asked, Wanted, describe
from memgauge.episode import Episode, Query
from memgauge.errors import InputError
from memgauge.grading.answers import Graded, grade_membership
from memgauge.responses import INT64_MAX, SCHEMA_VERSION, new_row, schema
from memgauge.system import Answer, BatchAnswers


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks whom: what is the same on every row of a system in a run."""

    run: str
    system: str
    """The value of the `system` column."""
    fingerprint: str
    """Changes whenever the system does: specification, version, source."""


def wanted_of(episode: Episode, asker: Asker, arms: Sequence[str]) -> list[Wanted]:
    """Return every question of the episode under every arm, with the key of its row.

    The key is the hash of all that determines the row: what was observed, what is asked and when, the arm, the system
    and its version. It does not depend on the run, the order, or what else is asked.
    """
    # Short messages of fixed-size parts: one call of the hash a row.
    head = f"{SCHEMA_VERSION}|{asker.fingerprint}|{episode.task}|{episode.id}|{episode.fingerprint}|"
    base = hashlib.blake2b(head.encode(), digest_size=32).digest()
    endings = [(arm, b"|" + arm.encode()) for arm in arms]
    wanted = []
    for query in episode.queries:
        question = query.question
        about = f"{query.id}|{query.gold}|{query.at}|{query.negatives}|{query.variant}|{question.words}|".encode(
            "utf-8", "replace"
        )
        if query.rules:
            about += f"{query.rules}|{question.date}|{question.reasoning}|{query.old_answer}|".encode(
                "utf-8", "replace"
            )
        message = base + about + question.candidate.tobytes()
        for arm, ending in endings:
            wanted.append(Wanted(query, arm, hashlib.blake2b(message + ending, digest_size=16).hexdigest()))
    return wanted


def row_of(asked: Asked, episode: Episode, asker: Asker) -> dict[str, Any]:
    """Grade one answer and return its row."""
    query = asked.wanted.query
    if asked.error is not None:
        graded = Graded("model_error", error=asked.error)
    elif query.grade is not None:
        graded = query.grade(asked.returned)
    else:
        graded = grade_membership(asked.returned, query.gold)
    whole = graded.outcome != "model_error"
    answer = asked.returned if whole and isinstance(asked.returned, Answer) else Answer()
    try:
        answer = committed(answer, graded)
    except Exception as error:  # noqa: BLE001 - price and confidence_at are the system's own code
        answer, graded = Answer(), Graded("model_error", error=f"pricing the answer raised {describe(error)}")
    written = asked.written
    shared = answer.flops_write is None and not answer.rereads
    bits = written.state_bits
    row = new_row(
        key=asked.wanted.key,
        run=asker.run,
        system=asker.system,
        task=episode.task,
        split=episode.split,
        subtype=query.subtype,
        variant=query.variant,
        negatives=query.negatives,
        length=episode.length,
        episode=episode.id,
        query=query.id,
        query_length=len(query.question.candidate) or None,
        arm=asked.wanted.arm,
        gold=query.gold,
        answer=graded.answer,
        outcome=graded.outcome,
        abstain_kind=graded.abstain_kind,
        refused_kind=graded.refused_kind,
        correct=graded.correct,
        score=graded.score,
        confidence=None if answer.confidence is None else float(answer.confidence),
        age=None if query.age is None else float(query.age),
        age_unit=query.age_unit,
        flops_write=_integer(written.flops if shared else answer.flops_write),
        write_shared=shared,
        flops_read=_integer(answer.flops_read),
        tokens_in=_integer(answer.tokens_in),
        tokens_out=_integer(answer.tokens_out),
        images_in=_integer(answer.images_in),
        t_ans=graded.t_ans,
        finish_reason=answer.finish_reason,
        seconds_write=asked.seconds_write,
        seconds_read=asked.seconds_read,
        state_bits=_integer(bits),
        state_bytes=None if bits is None else -(-int(bits) // 8),
        evidence=json.dumps(list(answer.evidence)) if answer.evidence else None,
        retrieved=json.dumps(list(answer.retrieved)) if answer.retrieved else None,
        prompt_hash=answer.prompt_hash,
        raw_output=answer.raw,
        error=graded.error,
    )
    if query.grade is not None:
        row.update(_conversation(query, graded, answer))
    return row


def _conversation(query: Query, graded: Graded, answer: Answer) -> dict[str, Any]:
    """Return the columns that only questions in words have."""
    return {
        "kind": query.kind,
        "visual_need": query.visual_need,
        "age_days": query.age_days,
        "question": query.question.text,
        "old_answer": query.old_answer,
        # A system may answer with a plain text; the span points into it all the same.
        "raw_output": answer.raw if answer.raw is not None else answer.value if isinstance(answer.value, str) else None,
        "rule": graded.rule,
        "rule_correct": graded.rule_correct,
        "span": None if graded.span is None else json.dumps(list(graded.span)),
        "grading": graded.grading,
    }


def committed(answer: Answer, graded: Graded) -> Answer:
    """Fill in what a system can only say once it is known where its text committed to an answer."""
    found: dict[str, Any] = {}
    if answer.price is not None and graded.commitment is not None:
        found["flops_read"] = int(answer.price(graded.commitment))
    if answer.confidence_at is not None and graded.outcome == "answered" and graded.marker_char is not None:
        confidence = answer.confidence_at(graded.marker_char)
        if confidence is not None and not 0 <= confidence <= 1:
            raise ValueError(f"confidence_at returned {confidence!r}; it is a probability in [0, 1] or None")
        found["confidence"] = confidence
    return replace(answer, **found) if found else answer


def _integer(value: int | None) -> int | None:
    """Turn a numpy integer into Python's own."""
    return None if value is None else int(value)


def batch_rows(
    episodes: Sequence[Episode], wanted: Sequence[Sequence[Wanted]], answers: BatchAnswers, asker: Asker, seconds: float
) -> bytes:
    """Return the rows of a batch under one arm as JSON lines.

    `wanted[e][q]` belongs to `answers.value[e, q]`. `seconds` is the time of the whole batch; it is spread evenly over
    the questions as `seconds_read`, since a batch does not tell writing from reading.
    """
    import polars as pl

    count, per = answers.value.shape
    total = count * per
    first = episodes[0]
    flat = [item for row in wanted for item in row]
    value, abstain = answers.value.ravel(), answers.abstain.ravel()
    gold = np.fromiter((item.query.gold == "yes" for item in flat), np.bool_, total)
    correct = (value == gold) & ~abstain

    def whole(array: np.ndarray[Any, Any] | None, name: str, repeat: bool) -> Any:
        if array is None:
            return None
        if array.size and (array.min() < 0 or array.max() > INT64_MAX):
            raise InputError(f"{asker.system}: {name} lies outside 0 .. 2^63-1")
        return np.repeat(array, per).astype(np.int64) if repeat else array.ravel().astype(np.int64)

    bits = whole(answers.state_bits, "state_bits", True)
    columns: dict[str, Any] = {
        "key": [item.key for item in flat],
        "subtype": [item.query.subtype for item in flat],
        "variant": [item.query.variant for item in flat],
        "negatives": [item.query.negatives for item in flat],
        "episode": np.repeat([episode.id for episode in episodes], per).tolist(),
        "query": [item.query.id for item in flat],
        "query_length": [len(item.query.question.candidate) for item in flat],
        "gold": [item.query.gold for item in flat],
        "answer": [None if a else "yes" if v else "no" for v, a in zip(value.tolist(), abstain.tolist(), strict=True)],
        "outcome": np.where(abstain, "abstained", "answered").tolist(),
        "abstain_kind": ["explicit" if a else None for a in abstain.tolist()],
        "correct": correct,
        "score": correct.astype(np.float64),
        "confidence": None if answers.confidence is None else answers.confidence.ravel(),
        "age": [item.query.age for item in flat],
        "age_unit": [item.query.age_unit for item in flat],
        "flops_write": whole(answers.flops_write, "flops_write", True),
        "flops_read": whole(answers.flops_read, "flops_read", False),
        "state_bits": bits,
        "state_bytes": None if bits is None else -(-bits // 8),
    }
    constants = {
        "run": asker.run,
        "system": asker.system,
        "task": first.task,
        "split": first.split,
        "length": first.length,
        "arm": flat[0].arm,
        "write_shared": True,
        "seconds_read": seconds / total,
        "schema_version": SCHEMA_VERSION,
    }
    target = schema()
    given = {name: column for name, column in columns.items() if column is not None}
    frame = pl.DataFrame(given, schema_overrides={name: target[name] for name in given})
    # Columns that say nothing are left out of the lines: readers fill them in, and the log is half as long.
    frame = frame.with_columns(
        pl.lit(value, target[name]).alias(name) for name, value in constants.items() if value is not None
    )
    frame = frame.select(column for column in frame.get_columns() if column.null_count() < frame.height)
    buffer = io.BytesIO()
    frame.write_ndjson(buffer)
    return buffer.getvalue()
