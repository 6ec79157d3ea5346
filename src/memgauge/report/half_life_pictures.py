"""Pictures of a measured video for the page: its revisit pairs side by side, and a short moving preview."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgauge.report.page import Picture, Pictures
from memgauge.rollouts.video import Image, frames_of, probe

HEIGHT = 120
PREVIEW_FRAMES = 24
PREVIEW_HEIGHT = 180
_MILLISECONDS = 250
_TURNS = 3


class Thumbnails:
    """Small versions of the needed frames, taken while a video is decoded."""

    def __init__(self, height: int = HEIGHT) -> None:
        self.height = height
        self.found: dict[int, Image] = {}

    def see(self, frame: int, image: Image) -> None:
        """Shrink one frame."""
        import cv2

        size = (max(round(image.shape[1] * self.height / image.shape[0]), 1), self.height)
        self.found[frame] = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def contact_sheet(pairs: Sequence[Mapping[str, Any]], thumbnails: Mapping[int, Image]) -> Pictures:
    """Return one picture a pair, first sight and revisit side by side, in the order of their gaps."""
    items = []
    for pair in sorted(pairs, key=lambda pair: float(pair["gap_seconds"])):
        first, again = pair["first_frame"], pair["revisit_frame"]
        if first not in thumbnails or again not in thumbnails:
            continue
        a, b = thumbnails[first], thumbnails[again]
        gap = np.full((a.shape[0], 4, 3), 255, dtype=np.uint8)
        fidelity = "no fidelity" if pair["fidelity"] is None else f"fidelity {pair['fidelity']:.3f}"
        caption = f"{pair['gap_seconds']:.1f} s: {fidelity} (frames {first} and {again})"
        items.append(
            Picture(_jpeg(np.concatenate([a, gap, b], axis=1)), "jpeg", f"First sight and revisit, {caption}", caption)
        )
    return Pictures(items)


def preview(video: Path, description: str, caption: str) -> Picture:
    """Return a moving preview of a video: 24 frames over its whole length, repeated three times."""
    from PIL import Image as Pillow

    info = probe(video)
    wanted = np.linspace(0, info.frames - 1, min(PREVIEW_FRAMES, info.frames)).round().astype(int).tolist()
    small = Thumbnails(PREVIEW_HEIGHT)
    for frame, image in frames_of(info, wanted):
        small.see(frame, image)
    frames = [Pillow.fromarray(small.found[frame]) for frame in sorted(small.found)]
    if not frames:
        frames = [Pillow.new("RGB", (16, 9))]
    buffer = io.BytesIO()
    frames[0].save(
        buffer,
        "WEBP",
        save_all=True,
        append_images=frames[1:],
        duration=_MILLISECONDS,
        loop=_TURNS,
        quality=70,
        method=2,
    )
    return Picture(buffer.getvalue(), "webp", description, caption)


def thumbnails_of(video: Path, frames: Sequence[int]) -> dict[int, Image]:
    """Return small versions of some frames of a video."""
    small = Thumbnails()
    for frame, image in frames_of(probe(video), frames):
        small.see(frame, image)
    return small.found


def _jpeg(image: NDArray[np.uint8]) -> bytes:
    from PIL import Image as Pillow

    buffer = io.BytesIO()
    Pillow.fromarray(image).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
