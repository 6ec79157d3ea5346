"""What a run would ask of a model, found out from the requests themselves before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from memgauge.episode import ARMS, Episode, Question
from memgauge.systems.models.pricing import Pricer
from memgauge.systems.models.shown import Builder, media_bytes

ANSWER_TOKENS = 3
"""Answer tokens of the paper's price tables (ECCBench, Tables 3 and 9); a model that thinks writes far more."""
PAPER_TOKENS = "prompt tokens are counted as ECCBench does: one a symbol, or those of the frames and 128"
SHORT_ANSWERS = f"each answer is taken to have {ANSWER_TOKENS} tokens, as in ECCBench's price tables"

Asked = tuple[Question, Builder, str]
"""A question, what is shown with it, and the note after the prompt."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What all questions about one stream take, under every arm."""

    requests: int
    prompt_tokens: int | None
    """None where they are not known without asking."""
    answer_tokens: int
    """Assumed."""
    most_answer_tokens: int
    """If every answer used up its budget."""
    images: int
    image_bytes: int
    """Bytes of the pictures as they are sent (base64)."""
    request_bytes: int
    """Bytes of the requests, pictures included."""
    flops: int | None
    """Write and read; None without a price."""
    assumed: tuple[str, ...]
    """What was taken for granted."""


def questions_of(episode: Episode, arms: Sequence[str]) -> Iterator[Question]:
    """Yield the questions of an episode as they would be asked under each arm."""
    for query in episode.queries:
        for arm in arms:
            yield replace(query.question, payoff=ARMS.get(arm))


def forecast_of(
    asked: Iterable[Asked], pricer: Pricer | None, options: Callable[[Question], dict[str, Any]]
) -> Forecast:
    """Build each request, measure and price it, and let it go again."""
    paper = None if pricer is None else Pricer(pricer.price)
    requests = answers = images = image_bytes = request_bytes = flops = 0
    prompts: int | None = 0
    for question, builder, note in asked:
        video = builder.stream.kind == "video"
        if pricer is not None:
            pricer.check(video)
        fields = options(question)
        body = builder.build(question, fields, note)
        requests += 1
        request_bytes += body.size
        answers += max((v for k, v in fields.items() if k in ("max_tokens", "max_completion_tokens")), default=0)
        length = builder.stream.length
        if video:
            images += length + len(question.clip)
            image_bytes += media_bytes(body)
        if paper is None:
            prompts = None if video or prompts is None else prompts + length
            continue
        natural = video and not len(question.clip)
        priced = paper.answer(length, frame=builder.frame, option_frames=len(question.clip), natural=natural)
        if priced is not None and prompts is not None:
            prompts += priced.prompt_tokens
            flops += priced.write + priced.read(Fraction(ANSWER_TOKENS))
    return Forecast(
        requests=requests,
        prompt_tokens=prompts,
        answer_tokens=ANSWER_TOKENS * requests,
        most_answer_tokens=answers,
        images=images,
        image_bytes=image_bytes,
        request_bytes=request_bytes,
        flops=None if paper is None else flops,
        assumed=(*((PAPER_TOKENS,) if prompts is not None else ()), SHORT_ANSWERS),
    )
