"""The Inspect task `memlens`: questions about dated sessions with pictures, as `memgauge run memlens` asks them."""

from __future__ import annotations

import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, Content, ContentImage, ContentText, GenerateConfig
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from memgauge.episode import Picture
from memgauge.inspect_tasks.conversation_scoring import conversation
from memgauge.inspect_tasks.conversations import (
    MAX_TOKENS,
    NAME,
    VERSION,
    ConversationAsking,
    conversation_plan,
    places_of,
)
from memgauge.inspect_tasks.spool import Spool
from memgauge.systems.models.shown import mime_of

Names = str | int | Sequence[str | int] | None
_logger = logging.getLogger(__name__)


@task
def memlens(
    data: str | None = None,
    length: Names = None,
    oracle: str | None = None,
    no_context: bool = False,
    text_only: bool = False,
    captions: bool = False,
    label_images: bool = False,
    cot: bool = False,
    only: Names = None,
    subset: str | None = None,
    count: int | None = None,
    seed: int = 0,
    images: str | None = None,
    grading: str = "strict",
    strict: bool = False,
    **unknown: object,
) -> Task:
    """Ask about histories of many dated sessions with pictures. The task `memlens` of `memgauge run`.

    Parameters
    ----------
    data : a folder or a file of histories.
    length : 32k, 64k, ..., one or more; all by default.
    oracle : facts or sessions, to show the evidence alone.
    no_context, text_only, captions, label_images, cot : the ablations of `memgauge run memlens`.
    only : abilities, subtypes or kinds of questions.
    subset : a file of question ids, or agent.
    count, seed : a stratified draw of so many questions.
    images : the image folder, where it is not beside the data.
    grading : strict or official.
    strict : stop at the first faulty record.
    unknown : none; another parameter is an error.
    """
    parameters = dict(locals())
    plan = conversation_plan(parameters | parameters.pop("unknown"))
    spool = Spool()
    kept: dict[str, Kept] = {}
    samples = []
    for asking in plan.askings():
        kept[asking.id] = Kept(spool.keep(list(asking.texts)), asking.pictures, asking.kinds)
        samples.append(sample_of(asking, plan.source.mode))
    notes = plan.notes()
    for note in notes:
        _logger.warning("memlens: %s", note)
    return Task(
        dataset=MemoryDataset(samples, name=NAME),
        setup=show_history(spool, kept),
        solver=generate(),
        scorer=conversation(),
        config=GenerateConfig(max_tokens=MAX_TOKENS, temperature=0.0),
        version=VERSION,
        metadata={"memgauge": plan.recorded, "places": places_of(plan), "notes": notes},
    )


def sample_of(asking: ConversationAsking, mode: str) -> Sample:
    """Return the sample of a question, with what its scorer needs; the history is put in when it is asked."""
    episode, query = asking.episode, asking.query
    return Sample(
        id=asking.id,
        input=query.question.text,
        target=query.gold,
        metadata={
            "episode": episode.id,
            "cell": f"{episode.length} {episode.split}",
            "subtype": query.subtype,
            "question": query.question.text,
            "old_answer": query.old_answer,
            "grading": mode,
            "images": asking.images,
            "least_tokens": asking.least_tokens,
            "fingerprint": episode.fingerprint,
        },
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """What is in memory of a question until it is asked."""

    texts: tuple[int, int]
    """Where they are in the spool."""
    pictures: tuple[Picture, ...]
    """Not opened yet."""
    kinds: tuple[str, ...]


def show_history(spool: Spool, kept: dict[str, Kept]) -> Solver:
    """Put the history into the request right before it is sent, so that only requests in flight are in memory.

    It is the task's `setup`: a `--solver` of one's own comes after it and sees the history.
    """

    def message(name: str) -> ChatMessageUser:
        one = kept[name]
        texts = spool.read(one.texts)
        if not one.pictures:
            return ChatMessageUser(content=texts[0])
        left, pictures = iter(texts), iter(one.pictures)
        parts: list[Content] = [
            ContentText(text=next(left)) if kind == "text" else ContentImage(image=data_url(next(pictures).open()))
            for kind in one.kinds
        ]
        return ChatMessageUser(content=parts)

    # Inspect writes a solver's parameters into the log: this one has none, since they are the task's.
    @solver
    def show_history() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.messages = [await anyio.to_thread.run_sync(message, str(state.sample_id))]
            return state

        return solve

    return show_history()


def data_url(data: bytes) -> str:
    """Return an encoded picture as a `data:` address."""
    return f"data:{mime_of(data)};base64,{base64.b64encode(data).decode()}"
