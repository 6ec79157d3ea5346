"""Questions about a conversation: one user message with the whole history, pictures at their places (MEMLENS)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from memgauge.costs.vision import Frame
from memgauge.episode import NO_SYMBOLS, Observation, Picture, Question
from memgauge.errors import InputError, RunStoppedError
from memgauge.prompts.conversation import conversation_pieces, words_of
from memgauge.system import Answer
from memgauge.systems.models.bodies import Body, Segment, body_of
from memgauge.systems.models.confidence import OptionConfidence
from memgauge.systems.models.endpoint import NoAnswerError
from memgauge.systems.models.faults import Refused
from memgauge.systems.models.forecast import Forecast
from memgauge.systems.models.replies import Reply, read_chat
from memgauge.systems.models.shown import dumps, encoded_picture, mime_of, resized, size_of

if TYPE_CHECKING:
    from memgauge.systems.models.system import ModelSystem

BUDGET = 2048
"""Answer tokens of a model that answers directly (MEMLENS, evaluation protocol)."""
THINKING_BUDGET = 16384
"""Answer tokens of a model that thinks first."""


def is_conversation(question: Question) -> bool:
    """Say whether a question is about a conversation: only those have a date."""
    return question.date is not None


def budget_of(thinking: str | None) -> int:
    """Return the answer budget of a conversation's question where none is given."""
    return BUDGET if thinking in (None, "off") else THINKING_BUDGET


@dataclass(frozen=True)
class Conversation:
    """One request about a conversation, in pieces of text and pictures; nothing is opened before it is built."""

    observations: Sequence[Observation]
    question: Question

    @cached_property
    def pieces(self) -> tuple[str | Picture, ...]:
        """The message in order. Raises `InputError` for observations that are no sessions or facts."""
        return conversation_pieces(self.observations, self.question)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Picture))

    @property
    def words(self) -> int:
        """Words between blanks: no tokeniser in use makes fewer tokens of a text."""
        return words_of(self.pieces)

    @property
    def expected(self) -> int:
        """Bytes of the request, nearly."""
        text = sum(len(piece) for piece in self.pieces if isinstance(piece, str))
        return text + sum(4 * (picture.size or 1 << 18) // 3 + 100 for picture in self.pictures)

    def build(self, options: Mapping[str, Any], frame: Frame | None = None) -> tuple[Body, list[Frame]]:
        """Return the request and the sizes of its pictures, which are opened now, one after the other.

        Raises `NoAnswerError` for a picture that cannot be opened any more.
        """
        tail = b"]," + dumps(dict(options))[1:]
        if not self.pictures:
            message = {"role": "user", "content": "".join(map(str, self.pieces))}
            return body_of(b'{"messages":[' + dumps(message) + tail), []
        parts: list[bytes | Segment] = [b'{"messages":[{"role":"user","content":[']
        sizes: list[Frame] = []
        for number, piece in enumerate(self.pieces):
            if number:
                parts.append(b",")
            if isinstance(piece, str):
                parts.append(dumps({"type": "text", "text": piece}))
                continue
            try:
                data = piece.open() if frame is None else resized(piece.open(), frame)
                sizes.append(size_of(data))
                parts.append(encoded_picture(mime_of(data), data))
            except InputError as error:
                raise NoAnswerError(f"picture {len(sizes) + 1} cannot be sent: {error}") from error
        return body_of(*parts, b"]}", tail), sizes


async def ask_about(system: ModelSystem, observations: Sequence[Observation], question: Question) -> Answer:
    """Ask a question about a conversation and return the answer with its costs.

    A history that the server finds too long is refused, never cut: so is the answer of a server that reports fewer
    prompt tokens than the request has words and pictures (`check_truncation`). Raises `RunStoppedError`.
    """
    conversation = Conversation(tuple(observations), question)
    try:
        images = len(conversation.pictures)
    except InputError as error:
        raise RunStoppedError(f"{system.name}: {error}") from error
    sizes: list[Frame] = []

    async def build() -> Body:
        work = partial(conversation.build, system.options(question), system.frame_size)
        body, found = await asyncio.to_thread(work) if images else work()
        sizes[:] = found
        return body

    try:
        if system.pricer is not None:
            system.pricer.check(images > 0)
        outcome, body = await system.endpoint.ask(
            "/chat/completions", expected=conversation.expected, build=build, read=read_chat
        )
    except InputError as error:
        raise RunStoppedError(f"{system.name}: {error}") from error
    if isinstance(outcome, Reply):
        system.spending.answered(outcome.tokens_in, outcome.tokens_out)
        least = conversation.words + images
        if system.check_truncation and outcome.tokens_in is not None and outcome.tokens_in < least:
            outcome = Refused(
                "too_long",
                f"it reports {outcome.tokens_in} prompt tokens for {conversation.words} words and {images} pictures: "
                "it cut the request short",
            )
    if isinstance(outcome, Refused):
        system.refused(outcome)
        return Answer(refused=outcome.kind, raw=outcome.said, images_in=images, prompt_hash=body.hash, rereads=True)
    answer = Answer(
        raw=outcome.raw,
        finish_reason=outcome.finish_reason,
        tokens_in=outcome.tokens_in,
        tokens_out=outcome.tokens_out,
        images_in=images,
        prompt_hash=body.hash,
        rereads=True,
        confidence_at=OptionConfidence(outcome.raw, outcome.content_at, outcome.tokens) if outcome.tokens else None,
    )
    if system.pricer is None or outcome.tokens_in is None:
        return answer
    priced = system.pricer.conversation(outcome.tokens_in, sizes)
    return replace(answer, flops_write=priced.write, price=priced.read)


def forecast_about(system: ModelSystem, observations: Sequence[Observation], questions: Sequence[Question]) -> Forecast:
    """Say what asking takes, from the requests themselves; nothing is sent."""
    conversations = [Conversation(tuple(observations), question) for question in questions]
    bodies = [c.build(system.options(c.question), system.frame_size)[0].size for c in conversations]
    pictures = [picture for c in conversations for picture in c.pictures]
    return Forecast(
        requests=len(conversations),
        prompt_tokens=None,
        answer_tokens=0,
        most_answer_tokens=sum(system.budget(question) for question in questions),
        images=len(pictures),
        image_bytes=sum(4 * (picture.size or 0) // 3 for picture in pictures),
        request_bytes=sum(bodies),
        flops=None,
        assumed=("prompt tokens of a conversation are what the server counts, so tokens and FLOPs are not known",),
    )


async def chat(system: ModelSystem, messages: Sequence[Mapping[str, str]]) -> Reply | Refused:
    """Send chat messages as they are, as a judge is asked. Raises `NoAnswerError` and `RunStoppedError`."""
    fields = system.options(Question(NO_SYMBOLS, date=""))

    async def build() -> Body:
        return body_of(b'{"messages":' + dumps([dict(m) for m in messages]) + b"," + dumps(fields)[1:])

    size = sum(len(m["content"]) for m in messages)
    outcome, _ = await system.endpoint.ask("/chat/completions", expected=size, build=build, read=read_chat)
    if isinstance(outcome, Reply):
        system.spending.answered(outcome.tokens_in, outcome.tokens_out)
    return outcome
