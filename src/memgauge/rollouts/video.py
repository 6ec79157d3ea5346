"""Video files: frame times from the container, and wanted frames in one decoding pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError

Image = NDArray[np.uint8]

DEFAULT_FPS = Fraction(16)
MAXIMUM_FRAMES = 1_000_000
MAXIMUM_PIXELS = 1 << 27
_DECODING_ORDER = ("avi",)  # these containers stamp packets in decoding order, which is not that of presentation
_UNEVEN = 0.1  # of the median step: a larger difference means a variable frame rate
ENDINGS = (".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".gif")


@dataclass(frozen=True)
class VideoInfo:
    """What the container says. `times` [frames] are presentation times in seconds from the first frame."""

    path: Path
    width: int
    height: int
    frames: int
    fps: Fraction
    times: NDArray[np.float64]
    variable: bool
    stamps: NDArray[np.int64] | None  # presentation stamp of each frame, None where the container has none

    def seconds(self, frames: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the time of native frames: index / fps, or the video's own times where its rate varies."""
        if self.variable:
            return self.times[np.minimum(frames, self.frames - 1)]
        return frames / float(self.fps)


def probe(path: Path, fps: float | None = None) -> VideoInfo:
    """Read the frame times of a video without decoding it.

    `fps` overrides the rate of the container, and then times are index / fps. Raises `InputError` for what is no
    video or holds no frame.
    """
    if fps is not None and not 0 < fps <= 100_000:
        raise InputError(f"fps must be a positive number, got {fps}")
    av = _av()
    try:
        with av.open(str(path)) as container:
            stream = _stream(container, path)
            width, height = stream.codec_context.width, stream.codec_context.height
            if not 0 < width * height <= MAXIMUM_PIXELS:
                raise InputError(f"{path}: frames of {width} x {height} pixels")
            rate = stream.average_rate or stream.guessed_rate
            base = stream.time_base
            stamps: list[int] = []
            unstamped = 0
            for packet in container.demux(stream):
                if packet.size == 0 or packet.is_discard:
                    continue
                if packet.pts is None or container.format.name in _DECODING_ORDER:
                    unstamped += 1
                else:
                    stamps.append(packet.pts)
                if len(stamps) + unstamped > MAXIMUM_FRAMES:
                    raise InputError(f"{path}: more than {MAXIMUM_FRAMES:,} frames")
    except (av.FFmpegError, OSError) as error:
        raise InputError(f"{path}: not a readable video ({error.strerror})") from error
    count = len(stamps) + unstamped
    if not count:
        raise InputError(f"{path}: a video without frames")
    chosen = Fraction(fps).limit_denominator(100_000) if fps is not None else Fraction(rate) if rate else None
    order = None if unstamped else np.unique(np.array(stamps, dtype=np.int64))
    if order is None or base is None or fps is not None:
        chosen = chosen or DEFAULT_FPS
        return VideoInfo(path, width, height, count, chosen, np.arange(count) / float(chosen), False, order)
    times = (order - order[0]) * float(base)
    steps = np.diff(times)
    median = float(np.median(steps)) if steps.size else 0.0
    tolerance = max(_UNEVEN * median, 1.5 * float(base))
    variable = bool(steps.size and np.abs(steps - median).max() > tolerance)
    if chosen is None:
        chosen = Fraction(1 / median).limit_denominator(1000) if median > 0 else DEFAULT_FPS
    return VideoInfo(path, width, height, len(order), chosen, times, variable, order)


def frames_of(info: VideoInfo, wanted: Sequence[int]) -> Iterator[tuple[int, Image]]:
    """Decode once up to the last wanted frame and yield (frame number, RGB image [height, width, 3]) of each wanted
    one.

    A frame that cannot be decoded is left out; a video that breaks off ends the iteration.
    """
    left = sorted(set(wanted))
    if not left:
        return
    av = _av()
    needed = set(left)
    last = left[-1]
    place = None if info.stamps is None else {int(stamp): number for number, stamp in enumerate(info.stamps)}
    count = 0
    with av.open(str(info.path)) as container:
        stream = _stream(container, info.path)
        stream.thread_type = "AUTO"
        try:
            for frame in container.decode(stream):
                number = count if place is None or frame.pts is None else place.get(frame.pts, -1)
                count += 1
                if number in needed:
                    needed.discard(number)
                    yield number, frame.to_ndarray(format="rgb24")
                if not needed or (place is None and number >= last):
                    return
        except av.FFmpegError:
            # A damaged or cut file: the frames that came before are good, the caller sees which are missing.
            return


def _stream(container: Any, path: Path) -> Any:
    if not container.streams.video:
        raise InputError(f"{path}: no video stream in it")
    return container.streams.video[0]


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise InputError("reading videos needs PyAV: pip install 'memgauge[rollouts]'") from error
    return av


def find_videos(folder: Path) -> list[Path]:
    """Return the video files under a folder, sorted by their path."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS and path.is_file())
