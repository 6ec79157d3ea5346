"""The Inspect tasks `ecc_text`, `ecc_video` and `easyhuman`.

Their parameters (`-T name=value`) are those of `memgauge run`, with the same defaults, streams, questions and prompts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    ContentVideo,
    GenerateConfig,
)
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from memgauge.episode import ARMS, Question
from memgauge.inspect_tasks.plan import DEFAULTS, MAX_TOKENS, VERSION, Asking, AskingPlan, plan_of
from memgauge.inspect_tasks.scoring import membership
from memgauge.systems.models.bodies import Body
from memgauge.systems.models.shown import Builder, Style, stream_of

Names = str | Sequence[str]
Numbers = int | str | Sequence[int]


@task
def ecc_text(
    lengths: Numbers = DEFAULTS["lengths"],
    bands: Names = DEFAULTS["bands"],
    count: int = DEFAULTS["count"],
    queries: int = DEFAULTS["queries"],
    negatives: Names = DEFAULTS["negatives"],
    seed: int = DEFAULTS["seed"],
    arms: Names = DEFAULTS["arms"],
    **unknown: object,
) -> Task:
    """Did the candidate occur in a stream of integers? The task `ecc-text` of `memgauge run`.

    Parameters
    ----------
    lengths : symbols of a stream, one or more.
    bands : low, max, easyhuman.
    count : streams in each cell.
    queries : questions a stream, half of them positive.
    negatives : how false candidates are drawn: uniform, matched.
    seed : all streams and questions follow from it.
    arms : payoff arms none, A, B; each question is asked under each.
    unknown : none; another parameter is an error.
    """
    return _task("ecc_text", locals())


@task
def ecc_video(
    lengths: Numbers = DEFAULTS["lengths"],
    bands: Names = DEFAULTS["bands"],
    count: int = DEFAULTS["count"],
    queries: int = DEFAULTS["queries"],
    negatives: Names = DEFAULTS["negatives"],
    seed: int = DEFAULTS["seed"],
    arms: Names = DEFAULTS["arms"],
    lanes: str = "fixed",
    images: str = "image_url",
    frame_format: str = "png",
    frame_size: int = 448,
    **unknown: object,
) -> Task:
    """Did the candidate clip occur in a video of letters? The task `ecc-video` of `memgauge run`.

    The parameters of `ecc_text`, and: `lanes` fixed or free (`ecc-video-free`); `images` image_url for one picture a
    frame, or video_url for each video as one MP4, which a provider may not take; `frame_format` png or jpeg;
    `frame_size` in pixels.
    """
    return _task("ecc_video", locals())


@task
def easyhuman(
    lengths: Numbers = DEFAULTS["lengths"],
    count: int = DEFAULTS["count"],
    queries: int = DEFAULTS["queries"],
    seed: int = DEFAULTS["seed"],
    arms: Names = DEFAULTS["arms"],
    show: str = "text",
    lanes: str = "fixed",
    images: str = "image_url",
    frame_format: str = "png",
    frame_size: int = 448,
    **unknown: object,
) -> Task:
    """Ask about EasyHuman streams, as text or, with `show=video`, as video. The other parameters as in `ecc_video`."""
    return _task("easyhuman", locals())


def _task(name: str, parameters: dict[str, Any]) -> Task:
    # Inspect drops parameters that a task does not name, and asks with the defaults: here they are an error.
    plan = plan_of(name, parameters | parameters.pop("unknown"))
    askings = {asking.id: asking for asking in plan.askings()}
    return Task(
        dataset=MemoryDataset([sample_of(asking) for asking in askings.values()], name=name),
        setup=show_frames(plan, askings) if plan.task.kind == "frame" else None,
        solver=generate(),
        scorer=membership(),
        config=GenerateConfig(max_tokens=MAX_TOKENS, temperature=0.0),
        version=VERSION,
        metadata={"memgauge": plan.recorded},
    )


def sample_of(asking: Asking) -> Sample:
    """Return the sample of a question: the whole request, or its last words where frames are put in later."""
    episode, query = asking.episode, asking.query
    cell = " ".join(str(part) for part in (episode.length, episode.split, query.negatives, asking.arm))
    return Sample(
        id=asking.id,
        input=asking.texts[-1],
        target=query.gold,
        metadata={
            "stream": f"{episode.id}.{query.negatives}",
            "query": query.id,
            "cell": cell,
            "images": asking.images,
            "least_tokens": asking.least_tokens,
        },
    )


def show_frames(plan: AskingPlan, askings: dict[str, Asking]) -> Solver:
    """Put the frames into the request right before it is sent, so that only requests in flight are in memory.

    It is the task's `setup`: a `--solver` of one's own comes after it and sees the frames.
    """
    builders: dict[str, Builder] = {}

    def built(asking: Asking) -> Body:
        key = f"{asking.episode.id} {asking.query.negatives}"
        if key not in builders:
            builders[key] = Builder(stream_of(asking.episode.observations), Style(plan.images))
        # The fields beside the messages are Inspect's own; only the messages are taken.
        return builders[key].build(question_of(asking), {"model": ""})

    # Inspect writes a solver's parameters into the log: this one has none, since they are the task's.
    @solver
    def show_frames() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            asking = askings[str(state.sample_id)]
            state.messages = messages_of(await anyio.to_thread.run_sync(built, asking))
            return state

        return solve

    return show_frames()


def question_of(asking: Asking) -> Question:
    """Return what is asked under the arm."""
    return replace(asking.query.question, payoff=ARMS[asking.arm])


def messages_of(body: Body) -> list[ChatMessage]:
    """Return the messages of a request to an OpenAI-compatible server as Inspect's own."""
    request = json.loads(b"".join(segment.data for segment in body.segments))
    return [ChatMessageUser(content=_content(message["content"])) for message in request["messages"]]


def _content(parts: str | list[dict[str, Any]]) -> str | list[Content]:
    if isinstance(parts, str):
        return parts
    found: list[Content] = []
    for part in parts:
        if part["type"] == "text":
            found.append(ContentText(text=part["text"]))
        elif part["type"] == "image_url":
            found.append(ContentImage(image=part["image_url"]["url"]))
        else:
            found.append(ContentVideo(video=part["video_url"]["url"], format="mp4"))
    return found
