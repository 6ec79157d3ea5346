"""A whole conversation and a question about it as one message: texts, and pictures at their places (MEMLENS)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memgauge.episode import Observation, Picture, Question
from memgauge.errors import InputError
from memgauge.prompts.memlens import around_context, heading, role_prefix

_MARKER = re.compile("<image>")


def conversation_pieces(observations: Sequence[Observation], question: Question) -> tuple[str | Picture, ...]:
    """Return the message in order; no text is empty, and no two stand side by side.

    Raises `InputError` for observations that are no sessions or facts.
    """
    before, after = around_context(question.text, question.date or "", reasoning=question.reasoning)
    found: list[str | Picture] = []
    text = [before]
    for piece in pieces_of(observations):
        if isinstance(piece, str):
            text.append(piece)
        else:
            found += ["".join(text), piece]
            text = []
    found.append("".join([*text, after]))
    return tuple(piece for piece in found if piece != "")


def words_of(pieces: Sequence[str | Picture]) -> int:
    """Return the words between blanks: no tokeniser in use makes fewer tokens of a text."""
    return sum(len(piece.split()) for piece in pieces if isinstance(piece, str))


def pieces_of(observations: Sequence[Observation]) -> Iterator[str | Picture]:
    """Yield a conversation as texts and pictures: a header a session, a prefix a turn, pictures at their markers."""
    for number, observation in enumerate(observations, 1):
        if observation.kind not in ("session", "fact"):
            raise InputError(f"a question about a conversation came with an observation of kind {observation.kind!r}")
        yield ("\n\n" if number > 1 else "") + heading(
            "session" if observation.kind == "session" else "fact", number, observation.date or ""
        )
        for turn in observation.turns:
            yield "\n" if observation.kind == "fact" else "\n" + role_prefix(turn.role)
            texts = _MARKER.split(turn.content)
            for place, text in enumerate(texts):
                yield text
                if place < len(turn.pictures):
                    yield turn.pictures[place]
                elif place < len(texts) - 1:
                    yield "<image>"  # somebody's words, not a picture's place
            yield from turn.pictures[len(texts) - 1 :]
