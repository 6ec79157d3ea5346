"""Videos as MP4: H.264 at one frame a second, in memory, and back again."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from memgauge.episode import Observation
from memgauge.errors import InputError
from memgauge.streams.video_frames import Frames, Pixels, pillow

FRAMES_PER_SECOND = 1
"""ECCBench, A.3."""
MAX_FRAMES = 65536
"""More than this is not decoded."""
_OPTIONS = {"preset": "veryfast", "crf": "14", "bf": "0", "threads": "1"}
"""Near to lossless; one thread and no frames out of order, so that the bytes are the same each time."""


def encode_mp4(frames: Iterable[Pixels]) -> bytes:
    """Encode pictures of one size, shape [height, width] or [height, width, 3], as MP4 at one frame a second.

    Raises `InputError` for no frames, for frames of different sizes, and for an odd width or height, which H.264's
    usual pixel format cannot hold.
    """
    av = _pyav()
    frames = iter(frames)
    first = next(frames, None)
    if first is None:
        raise InputError("a video needs at least one frame")
    height, width = first.shape[:2]
    if height % 2 or width % 2:
        raise InputError(f"an MP4 needs an even width and height; got {width} x {height}")
    data = io.BytesIO()
    with av.open(data, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FRAMES_PER_SECOND, options=_OPTIONS)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number, pixels in enumerate(chain([first], frames)):
            if pixels.shape[:2] != (height, width):
                raise InputError(
                    f"frame {number} is {pixels.shape[1]} x {pixels.shape[0]}, those before it {width} x {height}"
                )
            frame = av.VideoFrame.from_ndarray(
                np.ascontiguousarray(pixels), format="gray" if pixels.ndim == 2 else "rgb24"
            )
            frame.pts, frame.time_base = number, Fraction(1, FRAMES_PER_SECOND)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return data.getvalue()


def decode_mp4(data: bytes | Path, *, max_frames: int = MAX_FRAMES) -> list[tuple[Fraction, Pixels]]:
    """Return the frames of a video with the second at which each begins; frames have shape [height, width, 3].

    Raises `InputError` for what is not a video, and for more than `max_frames` frames.
    """
    av = _pyav()
    found: list[tuple[Fraction, Pixels]] = []
    try:
        with av.open(io.BytesIO(data) if isinstance(data, bytes) else str(data)) as container:
            if not container.streams.video:
                raise InputError("the file has no video stream")
            for frame in container.decode(video=0):
                if len(found) == max_frames:
                    raise InputError(f"the video has more than {max_frames} frames")
                found.append((Fraction(frame.pts) * frame.time_base, frame.to_ndarray(format="rgb24")))
    except av.FFmpegError as error:
        raise InputError(f"the video cannot be read: {error}") from error
    return found


def clip_mp4(observations: Sequence[Observation]) -> bytes:
    """Encode a main video (`Episode.observations`) or a candidate (`Question.clip`) as MP4 at one frame a second.

    Frames of `Frames` are drawn; pictures of any other origin are decoded first. Raises `InputError` as `encode_mp4`.
    """
    if isinstance(observations, Frames):
        return encode_mp4(observations.pixels(index) for index in range(len(observations)))
    image = pillow().Image

    @lru_cache(maxsize=64)  # a synthetic video has 48 pictures, however long it is
    def decoded(data: bytes) -> Pixels:
        return np.asarray(image.open(io.BytesIO(data)).convert("RGB"))

    return encode_mp4(decoded(each.image) for each in observations)


def _pyav() -> Any:
    try:
        import av
    except ImportError as error:
        raise InputError("MP4 needs PyAV; install it with: pip install 'memgauge[models]'") from error
    return av
