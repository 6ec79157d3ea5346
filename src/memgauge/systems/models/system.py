"""The system `model`: a model that takes the whole stream into its context, again for each question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

from memgauge.costs import parse_frame
from memgauge.costs.vision import Frame
from memgauge.episode import Episode, Observation, Question
from memgauge.errors import InputError, RunStoppedError
from memgauge.prompts import ecc_prompt
from memgauge.system import Answer
from memgauge.systems.models.bodies import Body
from memgauge.systems.models.confidence import ALTERNATIVES, OptionConfidence
from memgauge.systems.models.conversing import ask_about, budget_of, forecast_about, is_conversation
from memgauge.systems.models.endpoint import Endpoint
from memgauge.systems.models.extra import extra_fields
from memgauge.systems.models.faults import Refused
from memgauge.systems.models.forecast import Forecast, forecast_of, questions_of
from memgauge.systems.models.pricing import Priced, Pricer, PromptTokens, pricer_of, prompt_tokens_by_length
from memgauge.systems.models.replies import Reply, read_chat
from memgauge.systems.models.retrying import Patience
from memgauge.systems.models.shown import Builder, Delivery, Style, dumps, stream_of
from memgauge.systems.models.spending import Spending
from memgauge.systems.spec import format_spec

Thinking = Literal["on", "off", "minimal", "low", "medium", "high"]
FORMAT = 1
"""Raised whenever requests are put together differently."""
MAX_TOKENS = 8192
"""Answer budget of ECCBench (B.8)."""


def parameter(text: str, *, answers: bool = True) -> dict[str, Any]:
    """Describe a parameter; `answers` says whether it may change what is answered, and so belongs to the identity."""
    return {"help": text, "answers": answers}


@dataclass(kw_only=True, eq=False, repr=False)
class ModelSystem:
    """Asks a model behind an OpenAI-compatible endpoint; the whole stream goes into each request.

    Rows are keyed by what may change an answer. Where the model is served, how long it is waited for and what may be
    spent are left out, so that a run goes on at another address or with a larger budget.
    """

    kind: ClassVar[str] = "model"
    description: ClassVar[str] = "a model behind an OpenAI-compatible endpoint; the stream goes into its context"
    reads_mutate: ClassVar[bool] = False
    bounds_calls: ClassVar[bool] = True

    name: str = field(metadata=parameter("the model's name at the server"))
    base_url: str = field(metadata=parameter("the server's address, such as http://127.0.0.1:8000/v1", answers=False))
    label: str | None = field(default=None, metadata=parameter("its name in tables, instead of the specification"))
    api_key_env: str | None = field(
        default=None,
        metadata=parameter(
            "environment variable that holds the key (default OPENAI_API_KEY, where set)", answers=False
        ),
    )
    price: str | None = field(
        default=None, metadata=parameter("price list name, or a config.json; without it FLOPs are empty")
    )
    prompt_tokens: PromptTokens = field(
        default="paper", metadata=parameter("prompt tokens that are priced: the paper's rule, or the server's report")
    )
    context: int | None = field(
        default=None,
        metadata=parameter("tokens of context that it was trained on; those of its price by default", answers=False),
    )
    max_tokens: int | None = field(
        default=None,
        metadata=parameter(
            "answer budget in tokens; 8192 by default, about conversations 2048, and 16384 for a model that thinks"
        ),
    )
    token_field: Literal["max_tokens", "max_completion_tokens"] = field(
        default="max_tokens", metadata=parameter("the request field that carries the answer budget")
    )
    temperature: float | None = field(
        default=0.0, metadata=parameter("sampling temperature; none leaves it to the server")
    )
    thinking: Thinking | None = field(
        default=None,
        metadata=parameter("on or off (chat template), or a reasoning effort; the server's own by default"),
    )
    logprobs: bool = field(default=False, metadata=parameter("ask for log probabilities, which give a confidence"))
    extra_body: str | None = field(
        default=None, metadata=parameter("more request fields: a JSON object, or a .json file")
    )
    images: Delivery = field(default="image_url", metadata=parameter("frames as pictures, or each video as one MP4"))
    frame: str | None = field(default=None, metadata=parameter("resize frames to WxH"))
    check_truncation: bool = field(
        default=True, metadata=parameter("refuse an answer when the server read fewer tokens than the stream has")
    )
    deadline: float = field(default=600.0, metadata=parameter("seconds for one request", answers=False))
    patience: float = field(
        default=1800.0, metadata=parameter("seconds for one question, all its tries and waits together", answers=False)
    )
    retries: int = field(default=8, metadata=parameter("tries after the first", answers=False))
    backoff: float = field(default=0.5, metadata=parameter("seconds of the first wait; it doubles", answers=False))
    concurrency: int | None = field(
        default=None, metadata=parameter("requests in flight, instead of --concurrency", answers=False)
    )
    max_inflight_mb: int = field(default=512, metadata=parameter("MiB of requests in memory", answers=False))
    max_requests: int | None = field(
        default=None, metadata=parameter("requests that one invocation may send, tries included", answers=False)
    )
    max_total_tokens: int | None = field(
        default=None, metadata=parameter("tokens, read and written, that one invocation may spend", answers=False)
    )

    def __post_init__(self) -> None:
        self.model = self.name
        """The model's name at the server; `name` is from here on the name in tables."""
        self._check()
        self._extra = extra_fields(self.extra_body)
        self._pricer = pricer_of(self.price, self.prompt_tokens)
        self._style = Style(self.images, None if self.frame is None else parse_frame(self.frame))
        self._spending = Spending(self.max_requests, self.max_total_tokens)
        self._endpoint = self._endpoint_at(self.base_url, self.api_key_env)
        self._image_bytes = 0
        self._said: dict[str, str] = {}
        self.name = self.label or self._table_name()

    def _check(self) -> None:
        if not self.model.strip():
            raise InputError("name is empty: give the model's name at the server")
        for name, least in (
            ("max_tokens", 1),
            ("context", 1),
            ("retries", 0),
            ("concurrency", 1),
            ("max_inflight_mb", 1),
            ("max_requests", 1),
            ("max_total_tokens", 1),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} is {value}: it must be at least {least}")
        for name in ("deadline", "patience"):
            if not 0 < getattr(self, name) < 1e7:
                raise InputError(f"{name} is {getattr(self, name)}: give a number of seconds over 0")
        if not 0 <= self.backoff < 1e7:
            raise InputError(f"backoff is {self.backoff}: give a number of seconds")
        if self.temperature is not None and not 0 <= self.temperature <= 10:
            raise InputError(f"temperature is {self.temperature}: give a number from 0 to 10, or none")

    def limit(self, **limits: int) -> None:
        """Set `max_requests`, `max_total_tokens` or `max_inflight_mb` after the system was made."""
        for name, value in limits.items():
            setattr(self, name, value)
        self._check()
        self._spending.max_requests, self._spending.max_tokens = self.max_requests, self.max_total_tokens
        for endpoint in self._endpoints():
            endpoint.max_inflight = self.max_inflight_mb * 2**20

    @property
    def endpoint(self) -> Endpoint:
        """Where the model is asked."""
        return self._endpoint

    @property
    def spending(self) -> Spending:
        """What has been spent on it, and may be."""
        return self._spending

    @property
    def pricer(self) -> Pricer | None:
        """What prices its answers, where it has a price."""
        return self._pricer

    @property
    def frame_size(self) -> Frame | None:
        """The size that pictures are resized to; None leaves them as they are."""
        return self._style.frame

    def refused(self, refusal: Refused) -> None:
        """Keep what the server said when it refused, for the notes of the run."""
        self._said.setdefault(refusal.kind, refusal.said)

    def _endpoints(self) -> list[Endpoint]:
        return [self._endpoint]

    def _endpoint_at(self, base_url: str, key_env: str | None) -> Endpoint:
        return Endpoint(
            base_url,
            key_env=key_env,
            patience=Patience(self.deadline, self.patience, self.retries, self.backoff),
            spending=self._spending,
            concurrency=self.concurrency,
            max_inflight=self.max_inflight_mb * 2**20,
        )

    def _parameters(self) -> dict[str, object]:
        """Return the parameters that belong to the identity and are not at their default."""
        found: dict[str, object] = {}
        for name, spec in self.__dataclass_fields__.items():
            if spec.metadata.get("answers") and name not in ("name", "label") and getattr(self, name) != spec.default:
                found[name] = getattr(self, name)
        return found

    def _table_name(self) -> str:
        return format_spec(self.kind, {"name": self.model, **self._parameters()})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._endpoint.where!r})"

    @property
    def identity(self) -> str:
        """A text that changes when answers or their prices may; where the model is served is not in it."""
        parameters = self._parameters() | {"name": self.model}
        if self.extra_body is not None:
            parameters["extra_body"] = dumps(self._extra).decode()
        if self._pricer is not None:
            parameters["price"] = self._pricer.identity
        return format_spec(self.kind, parameters)

    @property
    def version(self) -> str:
        """The version of the requests: their layout and the prompts."""
        import hashlib

        prompts = "".join(ecc_prompt(kind, arm) for kind in ("text", "video") for arm in ("none", "A", "B"))
        return f"{FORMAT}-{hashlib.blake2b(prompts.encode(), digest_size=6).hexdigest()}"

    def start(self, seed: int) -> ModelMemory:
        """Return an empty memory; nothing is sent before a question is asked."""
        return ModelMemory(self)

    def notes(self) -> list[str]:
        """Return what a reader of the run should know: what servers said when they refused."""
        return [
            f"the server refused questions as {kind}; the first time it said: {s}" for kind, s in self._said.items()
        ]

    def facts(self, kind: str, lengths: Sequence[int], frame: Frame | None) -> dict[str, Any]:
        """Return what a report may want to know when the system itself is gone; it is kept in `run.json`.

        `kind` is that of the observations, `frame` the size of the frames as the task makes them (None for text).
        """
        price = None if self._pricer is None else self._pricer.price
        context = price.context if self.context is None and price is not None else self.context
        shown = None if frame is None else self._style.frame or frame
        return {
            "model": self.model,
            "context": context,
            "context_from": None if context is None else "context=" if price is None or self.context else price.name,
            "prompt_tokens": prompt_tokens_by_length(price, lengths, shown),
        }

    def forecast(self, episode: Episode, arms: Sequence[str]) -> Forecast:
        """Say what asking all questions of the episode takes, from the requests themselves; nothing is sent.

        Raises `InputError` for an episode that the model cannot be shown, or cannot be priced on.
        """
        questions = list(questions_of(episode, arms))
        if all(map(is_conversation, questions)):
            return forecast_about(self, episode.observations, questions)
        builder = Builder(stream_of(episode.observations), self._style)
        asked = [(question, builder, "") for question in questions]
        return forecast_of(asked, self._pricer, self.options)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def budget(self, question: Question) -> int:
        """Return the answer budget of a question in tokens."""
        if self.max_tokens is not None:
            return self.max_tokens
        return budget_of(self.thinking) if is_conversation(question) else MAX_TOKENS

    def options(self, question: Question) -> dict[str, Any]:
        """Return the request fields beside the messages."""
        fields: dict[str, Any] = {"model": self.model, self.token_field: self.budget(question)}
        if self.temperature is not None:
            fields["temperature"] = self.temperature
            if self.temperature > 0:
                fields["seed"] = question.seed & 0x7FFFFFFF
        if self.logprobs:
            fields |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        if self.thinking in ("on", "off"):
            fields["chat_template_kwargs"] = {"enable_thinking": self.thinking == "on"}
        elif self.thinking is not None:
            fields["reasoning_effort"] = self.thinking
        return fields | self._extra

    async def ask(self, builder: Builder, question: Question, note: str = "") -> tuple[Answer, Priced | None]:
        """Ask about what `builder` shows; returns the answer, still without costs, and the prices of this one.

        Raises `RunStoppedError` where no question of this kind can be asked at all.
        """
        stream = builder.stream
        video = stream.kind == "video"
        images = len(stream.frames) + len(question.clip)
        try:
            if self._pricer is not None:
                self._pricer.check(video)
            outcome, body = await self._endpoint.ask(
                "/chat/completions",
                expected=images * self._image_bytes,
                build=self._maker(builder, question, note, images),
                read=read_chat,
            )
        except InputError as error:
            raise RunStoppedError(f"{self.name}: {error}") from error
        if isinstance(outcome, Reply):
            self._spending.answered(outcome.tokens_in, outcome.tokens_out)
            least = images if video else stream.length
            if self.check_truncation and outcome.tokens_in is not None and outcome.tokens_in < least:
                said = f"it reports {outcome.tokens_in} prompt tokens for a stream of {least}: it cut the request short"
                outcome = Refused("too_long", said)
        if isinstance(outcome, Refused):
            self.refused(outcome)
            return Answer(refused=outcome.kind, raw=outcome.said, images_in=images, prompt_hash=body.hash), None
        answer = Answer(
            raw=outcome.raw,
            finish_reason=outcome.finish_reason,
            tokens_in=outcome.tokens_in,
            tokens_out=outcome.tokens_out,
            images_in=images,
            prompt_hash=body.hash,
            confidence_at=OptionConfidence(outcome.raw, outcome.content_at, outcome.tokens) if outcome.tokens else None,
        )
        if self._pricer is None:
            return answer, None
        return answer, self._pricer.answer(
            stream.length,
            frame=builder.frame,
            option_frames=len(question.clip),
            natural=video and not len(question.clip),
            tokens_in=outcome.tokens_in,
        )

    def _maker(self, builder: Builder, question: Question, note: str, images: int) -> Callable[[], Awaitable[Body]]:
        """Return what makes the request: frames on a thread, since encoding them takes long."""
        work = partial(builder.build, question, self.options(question), note)

        async def make() -> Body:
            if not images:
                return work()
            body = await asyncio.to_thread(work)
            self._image_bytes = max(self._image_bytes, body.size // images)
            return body

        return make


class ModelMemory:
    """What has been shown so far; the state of a model that reads the stream again for each question."""

    def __init__(self, system: ModelSystem) -> None:
        self._system = system
        self._observations: list[Observation] = []
        self._builder: Builder | None = None

    def write(self, observation: Observation) -> None:
        """Remember the observation; it is looked at when a request is made."""
        self._observations.append(observation)
        self._builder = None

    def fingerprint(self) -> int:
        """Return what a read must not change."""
        return len(self._observations)

    async def aread(self, question: Question) -> Answer:
        """Send the stream, or the conversation, and the question."""
        if is_conversation(question):
            return await ask_about(self._system, self._observations, question)
        if self._builder is None:
            try:
                self._builder = Builder(stream_of(self._observations), self._system._style)
            except InputError as error:
                raise RunStoppedError(f"{self._system.name}: {error}") from error
        answer, priced = await self._system.ask(self._builder, question)
        if priced is None:
            return replace(answer, rereads=True)
        return replace(answer, rereads=True, flops_write=priced.write, price=priced.read)
