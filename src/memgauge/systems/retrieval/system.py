"""The system `retrieval`: embed windows once, read the best of them for each question (ECCBench, B.7)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from memgauge.costs import VlmPrice, embedding_flops, load_price, parse_frame
from memgauge.costs.vision import Frame
from memgauge.episode import Episode, Observation, Question
from memgauge.errors import InputError, RunStoppedError
from memgauge.system import Answer, WriteCost
from memgauge.systems.models.endpoint import Endpoint
from memgauge.systems.models.forecast import Asked, Forecast, forecast_of, questions_of
from memgauge.systems.models.pricing import prompt_tokens_by_length
from memgauge.systems.models.shown import Builder, Stream, Style, size_of, stream_of, video_parts
from memgauge.systems.models.system import ModelSystem, parameter
from memgauge.systems.retrieval.embedders import Clip, Embedder, EndpointEmbedder, Item, Vectors, make_embedder
from memgauge.systems.retrieval.windows import MANY, Span, best, holds, merged, windows_of

GAP = " ... "
"""Stands between excerpts of a text that were not next to each other, so that no sequence arises at the joint."""
# The paper adds "one sentence disclosing that the clip was retrieved" and does not print it; these are ours.
DISCLOSURE = {
    "video": "The main video shown here is a short clip that was retrieved from a longer video because it is the part "
    "most similar to the option video.",
    "text": "The main sequence shown here is an excerpt that was retrieved from a longer sequence because it is the "
    'part most similar to the candidate sequence; "..." stands where parts were left out.',
}
SCORE = " The similarity of the best part is {score:.2f}, where 1 is the highest possible."


@dataclass(kw_only=True, eq=False, repr=False)
class RetrievalSystem(ModelSystem):
    """Embeds windows of the stream once; a model reads the best ones for each question, and is told that it does."""

    kind: ClassVar[str] = "retrieval"
    description: ClassVar[str] = "embeds windows of the stream once; a model reads the most similar ones"

    embedder: str = field(
        default="endpoint", metadata=parameter("endpoint, wordllama, ngram, thumbnails, or package.module:Name")
    )
    embed_name: str | None = field(default=None, metadata=parameter("the embedding model's name at its server"))
    embed_base_url: str | None = field(
        default=None, metadata=parameter("the embedder's address; base_url by default", answers=False)
    )
    embed_api_key_env: str | None = field(
        default=None, metadata=parameter("environment variable with the embedder's key", answers=False)
    )
    embed_price: str | None = field(
        default=None, metadata=parameter("price list name, or a config.json, of the embedder")
    )
    window: int = field(default=16, metadata=parameter("symbols or frames in a window"))
    stride: int = field(default=4, metadata=parameter("symbols or frames from one window to the next"))
    top: int | None = field(default=None, metadata=parameter("windows retrieved; 1, and 3 from L = 128 on, by default"))
    index_frame: str | None = field(default=None, metadata=parameter("size WxH at which frames are embedded"))
    show_score: bool = field(default=False, metadata=parameter("tell the model the similarity (extension)"))
    query_embed: Literal["left_out", "counted"] = field(
        default="left_out", metadata=parameter("whether an answer is charged for embedding its question")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("window", "stride", "top"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}: it must be at least 1")
        if self.stride > self.window:
            raise InputError(f"stride {self.stride} is larger than window {self.window}: parts would never be embedded")
        self._index_style = Style(frame=None if self.index_frame is None else parse_frame(self.index_frame))
        self._embed_price: VlmPrice | None = None if self.embed_price is None else load_price(self.embed_price)
        self._embedder = self._make_embedder()

    def _make_embedder(self) -> Embedder:
        if self.embedder != "endpoint":
            unused = [n for n in ("embed_name", "embed_base_url", "embed_api_key_env") if getattr(self, n) is not None]
            if unused:
                raise InputError(f"{', '.join(unused)} belongs to embedder=endpoint, not to {self.embedder}")
            return make_embedder(self.embedder)
        if self.embed_name is None:
            raise InputError("embedder=endpoint needs embed_name=, the embedding model's name at its server")
        elsewhere = self.embed_base_url is not None
        key_env = self.embed_api_key_env or (None if elsewhere else self.api_key_env)
        return EndpointEmbedder(self.embed_name, self._endpoint_at(self.embed_base_url or self.base_url, key_env))

    def _endpoints(self) -> list[Endpoint]:
        own = [self._embedder.endpoint] if isinstance(self._embedder, EndpointEmbedder) else []
        return [*super()._endpoints(), *own]

    @property
    def identity(self) -> str:
        """As for a model, with the embedder and its price."""
        p = self._embed_price
        priced = "" if p is None else f" embedding priced as {p.name} B={p.video.B} A={p.video.A}"
        return f"{super().identity} embedder={self._embedder.name}{priced}"

    def start(self, seed: int) -> RetrievalMemory:  # type: ignore[override]  # another memory, with the same methods
        """Return an empty memory."""
        return RetrievalMemory(self)

    def facts(self, kind: str, lengths: Sequence[int], frame: Frame | None) -> dict[str, Any]:
        """As for a model, with how it retrieves; the prompt is at most what the windows hold."""
        found = super().facts(kind, lengths, frame)
        shown = None if frame is None else self._style.frame or frame
        price = None if self._pricer is None else self._pricer.price
        read = {length: min(length, self.window * self.count(length)) for length in lengths}
        tokens = prompt_tokens_by_length(price, sorted(set(read.values())), shown)
        return found | {
            "prompt_tokens": {str(n): tokens[str(read[n])] for n in lengths if str(read[n]) in tokens},
            "retrieval": {
                "embedder": self._embedder.name,
                "window": self.window,
                "stride": self.stride,
                "score_shown": self.show_score,
                "query_embed": self.query_embed,
            },
        }

    def count(self, length: int) -> int:
        """Return how many windows are retrieved from a stream of `length` symbols or frames."""
        return self.top or (3 if length >= MANY else 1)

    def note(self, stream: Stream, score: float) -> str:
        """Return what the model is told about the clip that it reads."""
        return DISCLOSURE[stream.kind] + (SCORE.format(score=score) if self.show_score else "")

    def forecast(self, episode: Episode, arms: Sequence[str]) -> Forecast:
        """As for a model, with the index; which windows are found is not known, so they are taken to be apart."""
        stream = stream_of(episode.observations)
        spans = windows_of(stream.length, self.window, self.stride)
        apart = [span for i, span in enumerate(spans) if i % -(-self.window // self.stride) == 0]
        builder = Builder(excerpt(stream, merged(apart[: self.count(stream.length)])), self._style)
        note = self.note(stream, 0.5)
        asked: list[Asked] = [(question, builder, note) for question in questions_of(episode, arms)]
        found = forecast_of(asked, self._pricer, self.options)
        costs = [self.embedding_cost(stream, end - start) for start, end in spans]
        if self.query_embed == "counted":
            costs += [self.query_cost(stream, question) for question, _, _ in asked]
        index = None if None in costs else sum(cost for cost in costs if cost is not None)
        frames = pictures = 0
        if stream.kind == "video" and isinstance(self._embedder, EndpointEmbedder):
            clips = [stream.frames[start:end] for start, end in spans] + [q.question.clip for q in episode.queries]
            frames = sum(len(clip) for clip in clips)
            first = sum(map(len, video_parts(clips[0], self._index_style)))
            pictures = frames * first // max(1, len(clips[0]))
        unpriced = () if index is not None else ("embedding has no price (embed_price=), so the FLOPs are not known",)
        return replace(
            found,
            images=found.images + frames,
            image_bytes=found.image_bytes + pictures,
            request_bytes=found.request_bytes + pictures,
            flops=None if found.flops is None or index is None else found.flops + index,
            assumed=(*found.assumed, "retrieved windows are taken to be apart: none are merged", *unpriced),
        )

    async def aclose(self) -> None:
        """Close the connections of the model and of the embedder."""
        await super().aclose()
        await self._embedder.aclose()

    def embedding_cost(self, stream: Stream, size: int) -> int | None:
        """Return the FLOPs of embedding `size` symbols or frames; None without a price.

        A text is priced as its symbols, one token each; a clip with the 40 text tokens that the paper's rows imply.
        """
        if self._embedder.free:
            return 0
        if self._embed_price is None:
            return None
        if stream.kind == "text":
            return embedding_flops(self._embed_price, t_in=size)
        frame = self._index_style.frame or size_of(stream.frames[0].image)
        return embedding_flops(self._embed_price, frames=size, frame=frame)

    def query_cost(self, stream: Stream, question: Question) -> int | None:
        """Return the FLOPs of embedding a candidate, or a sentence of 40 tokens; None without a price."""
        if stream.kind == "video" and not len(question.clip) and not self._embedder.free and self._embed_price:
            return embedding_flops(self._embed_price)
        return self.embedding_cost(stream, len(question.clip) or len(question.candidate))


class RetrievalMemory:
    """The windows seen so far as vectors, and the stream that they stand for."""

    def __init__(self, system: RetrievalSystem) -> None:
        self._system = system
        self._observations: list[Observation] = []
        self._stream: Stream | None = None
        self._index: dict[Span, Vectors] = {}
        self._queries: dict[bytes, Vectors] = {}
        self._asking: dict[bytes, asyncio.Lock] = {}

    def write(self, observation: Observation) -> None:
        """Take the next observation; windows are embedded when a question comes, many in one go."""
        self._observations.append(observation)
        self._stream = None

    def fingerprint(self) -> int:
        """Return what a read must not change."""
        return len(self._observations)

    async def settle(self) -> None:
        """Embed the windows that have not been embedded yet; counts as writing."""
        try:
            stream = self._seen()
            missing = [span for span in self._spans() if span not in self._index]
            if missing:
                vectors = await self._system._embedder.embed([self._item(stream, span) for span in missing])
                self._index.update(zip(missing, vectors, strict=True))
        except InputError as error:
            raise RunStoppedError(f"{self._system.name}: {error}") from error

    def cost(self) -> WriteCost:
        """Return what the index cost, and how large it and the text beside it are (unknown for frames)."""
        stream = self._seen()
        parts = [self._system.embedding_cost(stream, end - start) for start, end in self._index]
        known = [part for part in parts if part is not None]
        bits = 8 * len(stream.text.encode()) + 32 * sum(len(vector) for vector in self._index.values())
        return WriteCost(
            flops=sum(known) if len(known) == len(parts) else None,
            state_bits=bits if stream.kind == "text" else None,
        )

    async def aread(self, question: Question) -> Answer:
        """Find the best windows, show what they make, and ask."""
        system, stream, spans = self._system, self._seen(), self._spans()
        try:
            query = await self._query(stream, question)
        except InputError as error:
            raise RunStoppedError(f"{system.name}: {error}") from error
        found = best(np.stack([self._index[span] for span in spans]), query, system.count(stream.length))
        shown = merged([spans[i] for i, _ in found])
        note = system.note(stream, found[0][1])
        answer, priced = await system.ask(Builder(excerpt(stream, shown), system._style), question, note)
        retrieved = [f"{spans[i][0]}:{spans[i][1]} {score:.4f}" for i, score in found]
        if len(question.candidate) and len(stream.symbols):
            hit = holds(shown, stream.symbols, stream.lanes, question.candidate, question.lanes)
            retrieved.insert(0, "hit" if hit else "miss")
        answer = replace(answer, retrieved=tuple(retrieved))
        if priced is None:
            return answer
        extra = 0
        if system.query_embed == "counted":
            cost = system.query_cost(stream, question)
            if cost is None:
                return answer
            extra = cost
        clip, read = priced.write + extra, priced.read

        def price(answer_tokens: Fraction) -> int:
            return clip + read(answer_tokens)

        return replace(answer, price=price)

    def _seen(self) -> Stream:
        if self._stream is None:
            self._stream = stream_of(self._observations)
        return self._stream

    def _spans(self) -> list[Span]:
        return windows_of(self._seen().length, self._system.window, self._system.stride)

    def _item(self, stream: Stream, span: Span) -> Item:
        start, end = span
        if stream.kind == "text":
            return ", ".join(map(str, stream.symbols[start:end].tolist()))
        return Clip(stream.frames[start:end], self._system._index_style)

    async def _query(self, stream: Stream, question: Question) -> Vectors:
        """Embed the candidate, once for all arms."""
        key = question.candidate.tobytes() + b"|" + question.lanes.tobytes() + b"|" + question.text.encode()
        async with self._asking.setdefault(key, asyncio.Lock()):
            if key not in self._queries:
                clip = stream.kind == "video" and len(question.clip) > 0
                item: Item = Clip(question.clip, self._system._index_style) if clip else question.text
                self._queries[key] = (await self._system._embedder.embed([item]))[0]
        return self._queries[key]


def excerpt(stream: Stream, spans: Sequence[Span]) -> Stream:
    """Return what the spans show: the frames one after the other, or the texts with a gap between them."""
    places = [index for start, end in spans for index in range(start, end)]
    if stream.kind == "video":
        return Stream("video", len(places), frames=tuple(stream.frames[index] for index in places))
    text = GAP.join(", ".join(map(str, stream.symbols[start:end].tolist())) for start, end in spans)
    return Stream("text", len(places), text)
