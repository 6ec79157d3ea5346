"""Embedders: texts and clips to unit vectors, behind an endpoint or on this machine."""

from __future__ import annotations

import asyncio
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import Observation
from memgauge.errors import InputError, unknown_name
from memgauge.systems.models.bodies import Body, body_of, joined
from memgauge.systems.models.endpoint import Endpoint, NoAnswerError
from memgauge.systems.models.faults import Fault, Refused, quoted
from memgauge.systems.models.shown import Style, dumps, video_parts

Vectors = NDArray[np.float32]
BATCH = 64
"""Texts in one request."""
MAX_WIDTH = 1 << 16


@dataclass(frozen=True, slots=True)
class Clip:
    """Frames to be embedded together; pictures are made when somebody looks."""

    frames: Sequence[Observation]
    style: Style


Item = str | Clip


class Embedder(Protocol):
    """Turns texts or clips into vectors. Give your own as `embedder=package.module:Name`.

    `name` is put into the identity of the system: scores of different embedders never mix. `free` says that no matrix
    product is computed, so that embedding costs 0 FLOPs by the paper's counting.
    """

    name: str
    free: bool

    async def embed(self, items: Sequence[Item]) -> Vectors:
        """Return one vector an item, shape [n, d]. Raises `InputError` for items that it cannot embed."""
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


def unit(vectors: NDArray[Any]) -> Vectors:
    """Scale rows to length 1; a zero row stays zero."""
    values = np.asarray(vectors, np.float32)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(norms > 0, norms, 1), np.float32)


class Ngrams:
    """Hashed counts of the 1-, 2- and 3-grams of a comma-separated text: exact overlap, for tests and plumbing."""

    name = "ngram-1024"
    free = True
    width = 1024

    async def embed(self, items: Sequence[Item]) -> Vectors:
        """Count n-grams; order beyond three symbols is lost."""
        found = np.zeros((len(items), self.width), np.float32)
        for row, item in zip(found, texts_of(items, self.name), strict=True):
            words = [word.strip() for word in item.split(",")]
            for n in (1, 2, 3):
                for i in range(len(words) - n + 1):
                    row[zlib.crc32(",".join(words[i : i + n]).encode()) % self.width] += 1
        return unit(found)

    async def aclose(self) -> None:
        """Hold nothing."""


class WordLlama:
    """Mean of WordLlama's static token vectors (256 wide), read from the installed package without running it."""

    name = "wordllama-l2-supercat-256"
    free = True

    def __init__(self) -> None:
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise InputError("the wordllama embedder needs: pip install safetensors tokenizers") from error
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise InputError("the wordllama embedder needs its weights: pip install --no-deps wordllama")
        folder = Path(spec.origin).parent
        weights = folder / "weights" / "l2_supercat_256.safetensors"
        tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        for file in (weights, tokenizer):
            if not file.is_file():
                raise InputError(f"{file}: not in this version of wordllama; 0.4.0.post1 has it")
        self._table = load_file(weights)["embedding.weight"].astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    async def embed(self, items: Sequence[Item]) -> Vectors:
        """Average the vectors of a text's tokens."""
        encoded = self._tokenizer.encode_batch(list(texts_of(items, self.name)), add_special_tokens=False)
        return unit(np.stack([self._table[e.ids].mean(axis=0) if e.ids else self._table[0] * 0 for e in encoded]))

    async def aclose(self) -> None:
        """Hold nothing."""


class Thumbnails:
    """Mean of the frames as centred grey thumbnails of 28 x 28: which letters a clip shows, for tests and plumbing."""

    name = "thumbnails-28"
    free = True
    side = 28

    async def embed(self, items: Sequence[Item]) -> Vectors:
        """Shrink and average the frames of each clip."""
        return await asyncio.to_thread(self._embed, list(items))

    def _embed(self, items: Sequence[Item]) -> Vectors:
        import PIL.Image

        rows = []
        for item in items:
            if isinstance(item, str):
                raise InputError("the thumbnails embedder takes frames; for text give ngram, wordllama or an endpoint")
            frames = []
            for frame in item.frames:
                picture = PIL.Image.open(io.BytesIO(frame.image)).convert("L").resize((self.side, self.side))
                frames.append(np.asarray(picture, np.float32).ravel())
            mean = np.mean(frames, axis=0)
            rows.append(mean - mean.mean())
        return unit(np.stack(rows))

    async def aclose(self) -> None:
        """Hold nothing."""


class EndpointEmbedder:
    """An OpenAI-compatible `/embeddings` endpoint: texts as `input`, a clip as the `messages` that vLLM takes."""

    free = False

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.name = model
        self.endpoint = endpoint

    async def embed(self, items: Sequence[Item]) -> Vectors:
        """Ask for all vectors, in batches of texts or one clip a request."""
        texts = [item for item in items if isinstance(item, str)]
        if len(texts) == len(items):
            jobs = [self._texts(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
        else:
            jobs = [self._clip(item) for item in items if isinstance(item, Clip)]
        found = await asyncio.gather(*jobs, return_exceptions=True)
        parts: list[Vectors] = []
        for part in found:
            if isinstance(part, BaseException):
                raise part
            parts.append(part)
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise NoAnswerError(f"{self.endpoint.where}: embeddings of different widths: {sorted(widths)}")
        return unit(np.concatenate(parts))

    async def aclose(self) -> None:
        """Close the connections."""
        await self.endpoint.aclose()

    async def _texts(self, texts: Sequence[str]) -> Vectors:
        fields = {"model": self.model, "input": list(texts), "encoding_format": "float"}

        async def build() -> Body:
            return body_of(dumps(fields))

        return await self._ask(build, 0, len(texts))

    async def _clip(self, clip: Clip) -> Vectors:
        def make() -> Body:
            tail = b"]}]," + dumps({"model": self.model, "encoding_format": "float"})[1:]
            return body_of(
                b'{"messages":[{"role":"user","content":[', joined(video_parts(clip.frames, clip.style)), tail
            )

        async def build() -> Body:
            return await asyncio.to_thread(make)

        return await self._ask(build, 1 << 16, 1)

    async def _ask(self, build: Any, expected: int, count: int) -> Vectors:
        def read(body: dict[str, Any]) -> Vectors | Refused | Fault:
            return read_embeddings(body, count)

        outcome, _ = await self.endpoint.ask("/embeddings", expected=expected, build=build, read=read)
        if isinstance(outcome, Refused):
            raise NoAnswerError(f"{self.endpoint.where}: the embedder refused ({outcome.kind}): {outcome.said}")
        return outcome


def read_embeddings(body: dict[str, Any], count: int) -> Vectors | Fault:
    """Read `count` vectors from the body of an embeddings reply; what is no list of finite numbers is a fault."""
    data = body.get("data")
    if not isinstance(data, list):
        return Fault(f"it sent JSON without data: {quoted(str(body)[:1000].encode())}", "setup")
    entries = [entry for entry in data if isinstance(entry, dict)]
    if len(entries) != count or len(data) != count:
        return Fault(f"it sent {len(data)} embeddings for {count} inputs", "request")
    places = [entry.get("index", at) for at, entry in enumerate(entries)]
    if sorted(map(str, places)) != sorted(map(str, range(count))):
        return Fault(f"its embeddings are numbered {places[:8]}, not 0 to {count - 1}", "request")
    ordered = sorted(zip(places, entries, strict=True), key=lambda pair: int(pair[0]))
    vectors: list[Any] = [entry.get("embedding") for _, entry in ordered]
    width = len(vectors[0]) if isinstance(vectors[0], list) else 0
    for vector in vectors:
        numbers = isinstance(vector, list) and all(isinstance(v, int | float) for v in vector)
        if not numbers or not 0 < len(vector) <= MAX_WIDTH or len(vector) != width:
            return Fault("its embeddings are no lists of numbers of one width", "request")
    found = np.asarray(vectors, np.float32)
    return found if np.isfinite(found).all() else Fault("its embeddings are not finite", "request")


def texts_of(items: Sequence[Item], name: str) -> list[str]:
    """Return items that are all texts. Raises `InputError` for clips."""
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise InputError(f"the {name} embedder takes text; for frames give an endpoint, or thumbnails for a test")
    return texts


LOCAL: dict[str, type[Ngrams] | type[WordLlama] | type[Thumbnails]] = {
    "ngram": Ngrams,
    "wordllama": WordLlama,
    "thumbnails": Thumbnails,
}


def make_embedder(source: str) -> Embedder:
    """Make a local embedder by its name, or one's own from `package.module:Name`."""
    if source in LOCAL:
        return LOCAL[source]()
    module, colon, name = source.partition(":")
    if not colon:
        raise unknown_name("embedder", source, ["endpoint", *LOCAL, "package.module:Name"])
    import importlib

    try:
        made = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise InputError(f"embedder {source!r}: {error}") from error
    for needed in ("name", "free", "embed", "aclose"):
        if not hasattr(made, needed):
            raise InputError(f"embedder {source!r} has no {needed}; see memgauge.systems.retrieval.embedders.Embedder")
    found: Embedder = made
    return found
