"""What a model is shown: a stream as text or as a video, the candidate, and the prompt, as one request."""

from __future__ import annotations

import base64
import io
import json
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, cast

import numpy as np

from memgauge.costs.vision import Frame
from memgauge.episode import Observation, Question, SymbolArray
from memgauge.errors import InputError
from memgauge.prompts import ArmName, ecc_prompt, text_request
from memgauge.systems.models.bodies import Body, Segment, body_of, joined

Delivery = Literal["image_url", "video_url"]
MIMES = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"RIFF", "image/webp"),
    (b"GIF8", "image/gif"),
)


@dataclass(frozen=True, slots=True)
class Stream:
    """What has been written, put together for a request."""

    kind: Literal["text", "video"]
    length: int
    """Symbols or frames."""
    text: str = ""
    frames: Sequence[Observation] = ()
    symbols: SymbolArray = field(default_factory=lambda: np.empty(0, np.uint8))
    lanes: SymbolArray = field(default_factory=lambda: np.empty(0, np.uint8))


def stream_of(observations: Sequence[Observation]) -> Stream:
    """Put observations of one kind together. Raises `InputError` for kinds that a membership question is not about."""
    kinds = {observation.kind for observation in observations}
    if kinds <= {"symbols", "text"} and observations:
        text = ", ".join(observation.text for observation in observations)
        symbols = np.concatenate([observation.symbols for observation in observations])
        return Stream("text", len(symbols), text, symbols=symbols)
    if kinds == {"frame"}:
        symbols = np.concatenate([observation.symbols for observation in observations])
        lanes = np.concatenate([observation.lanes for observation in observations])
        return Stream("video", len(observations), frames=tuple(observations), symbols=symbols, lanes=lanes)
    found = " and ".join(sorted(kinds)) or "nothing"
    raise InputError(f"a model behind an endpoint is shown symbols, text or frames; this episode has {found}")


def arm_of(question: Question) -> ArmName:
    """Return the name of the payoff arm that a question is asked under."""
    return "none" if question.payoff is None else cast(ArmName, question.payoff.name)


@dataclass(frozen=True, slots=True)
class Style:
    """How frames are handed over."""

    delivery: Delivery = "image_url"
    frame: Frame | None = None
    """The size that frames are resized to; None leaves them as they are."""


class Builder:
    """Makes the requests about one stream; what they share is encoded once while any of them is in memory."""

    def __init__(self, stream: Stream, style: Style) -> None:
        self.stream = stream
        self.style = style
        self._main: weakref.ref[Segment] | None = None

    @cached_property
    def frame(self) -> Frame | None:
        """The size of the frames as they are sent; None for text."""
        if self.stream.kind == "text":
            return None
        return self.style.frame or size_of(self.stream.frames[0].image)

    def build(self, question: Question, options: dict[str, Any], note: str = "") -> Body:
        """Return the request: the stream, the candidate, the prompt, and `note` after it. Slow for frames."""
        tail = b"]," + dumps(options)[1:]
        if self.stream.kind == "text":
            text = text_request(self.stream.text, question.text, arm_of(question))
            message = {"role": "user", "content": f"{text}\n\n{note}" if note else text}
            return body_of(b'{"messages":[' + dumps(message) + tail)
        parts: list[bytes | Segment] = [b'{"messages":[{"role":"user","content":[', _text("Main video:"), b","]
        parts += [self._main_video(), b","]
        if len(question.clip):
            prompt = ecc_prompt("video", arm_of(question))
            parts += [_text("Option video:"), b",", joined(video_parts(question.clip, self.style)), b","]
        elif question.words is not None:
            prompt = ecc_prompt("natural", arm_of(question), question=question.words)
        else:
            raise InputError("a question about a video needs a clip, or words")
        parts += [_text(f"{prompt}\n\n{note}" if note else prompt), b"]}", tail]
        return body_of(*parts)

    def _main_video(self) -> Segment:
        kept = self._main() if self._main is not None else None
        if kept is None:
            kept = joined(video_parts(self.stream.frames, self.style))
            self._main = weakref.ref(kept)
        return kept


def video_parts(frames: Sequence[Observation], style: Style) -> list[bytes]:
    """Return a video as encoded content parts: one `image_url` a frame, or one `video_url`."""
    if style.frame is not None:
        frames = [replace(frame, render_image=partial(resized, frame.image, style.frame)) for frame in frames]
    if style.delivery == "image_url":
        return [_media("image_url", mime_of(image), image) for image in (frame.image for frame in frames)]
    from memgauge.streams.video_mp4 import clip_mp4

    return [_media("video_url", "video/mp4", clip_mp4(frames))]


@lru_cache(maxsize=128)
def resized(image: bytes, size: Frame) -> bytes:
    """Return a picture at another size, as PNG; the last ones are kept, since windows overlap and frames recur."""
    picture = _picture(image).convert("RGB")
    data = io.BytesIO()
    picture.resize(size).save(data, "PNG", compress_level=3)
    return data.getvalue()


def size_of(image: bytes) -> Frame:
    """Return width and height of an encoded picture."""
    width, height = _picture(image).size
    return int(width), int(height)


def _picture(image: bytes) -> Any:
    try:
        import PIL.Image
    except ImportError as error:
        raise InputError("frames need Pillow: pip install 'memgauge[models]'") from error
    try:
        return PIL.Image.open(io.BytesIO(image))
    except (OSError, PIL.Image.DecompressionBombError) as error:
        raise InputError(f"a frame of {len(image)} bytes is no picture: {error}") from error


def mime_of(image: bytes) -> str:
    """Return the media type of an encoded picture by its first bytes. Raises `InputError` for an unknown one."""
    for magic, mime in MIMES:
        if image.startswith(magic):
            return mime
    raise InputError("a frame is no PNG, JPEG, WebP or GIF picture")


def _media(kind: str, mime: str, data: bytes) -> bytes:
    return b'{"type":"%b","%b":{"url":"data:%b;base64,%b"}}' % (
        kind.encode(),
        kind.encode(),
        mime.encode(),
        base64.b64encode(data),
    )


def encoded_picture(mime: str, data: bytes) -> bytes:
    """Return a picture as an encoded content part."""
    return _media("image_url", mime, data)


def media_bytes(body: Body) -> int:
    """Return how many bytes of a request are pictures or videos, as they are sent."""
    starts = (b'{"type":"image_url"', b'{"type":"video_url"')
    return sum(len(segment.data) for segment in body.segments if segment.data.startswith(starts))


def _text(text: str) -> bytes:
    return dumps({"type": "text", "text": text})


def dumps(value: object) -> bytes:
    """Encode JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
