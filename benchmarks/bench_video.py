"""Frames a second: drawing and encoding, cold and cached, against drawing each frame with Pillow's text.

    python benchmarks/bench_video.py [--json]

All figures are frames a second of processor time on one core. "Cold" draws and encodes every frame anew; "cached" asks
for the frames of a video of 1,024 frames, of which 48 at most are distinct. "Plain" is the obvious renderer, which lays
out belts, labels and letter with Pillow for every frame, and encodes it alike.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from memgauge.streams.make import make_item
from memgauge.streams.video import make_video, video_episode
from memgauge.streams.video_frames import (
    BELT_LEFT,
    BELT_TOP,
    BELT_WIDTH,
    LETTERS,
    SIZE,
    Frames,
    encode_image,
    frame_bytes,
    frame_pixels,
)
from memgauge.streams.video_mp4 import clip_mp4

EVERY = [(symbol, lane) for symbol in range(16) for lane in range(3)]
ROUNDS = 5


def plain(symbol: int, lane: int) -> bytes:
    """Draw and encode one frame the obvious way."""
    picture = Image.new("L", (SIZE, SIZE), 244)
    draw = ImageDraw.Draw(picture)
    for number, left in enumerate(BELT_LEFT):
        draw.rectangle((left, BELT_TOP, left + BELT_WIDTH - 1, SIZE - 1), fill=200)
        for y in range(BELT_TOP, SIZE, 40):
            draw.rectangle((left, y, left + BELT_WIDTH - 1, y + 1), fill=180)
        font = ImageFont.load_default(28)
        draw.text((left + BELT_WIDTH // 2, 24), f"Belt {number + 1}", font=font, fill=0, anchor="mm")
    left = BELT_LEFT[lane] + 8
    draw.rectangle((left, 192, left + 111, 303), fill=255, outline=0, width=2)
    font = ImageFont.load_default(100)
    draw.text((left + 56, 248), LETTERS[symbol], font=font, fill=0, anchor="mm", stroke_width=3)
    data = io.BytesIO()
    picture.save(data, "PNG", compress_level=3)
    return data.getvalue()


def rate(action: Callable[[], Any], frames: int) -> float:
    """Return the best of some rounds, in frames a second of processor time."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        action()
        best = min(best, time.process_time() - started)
    return frames / best


def main() -> None:
    """Print the figures."""
    frame_pixels(0, 0)
    stream = make_video(make_item("max", 1024, 0, seed=0))
    frames = Frames(stream.symbols, stream.lanes)
    short = Frames(stream.symbols[:128], stream.lanes[:128])
    found = {
        "png_cold": rate(lambda: [encode_image(frame_pixels(s, n)) for s, n in EVERY], len(EVERY)),
        "jpeg_cold": rate(lambda: [encode_image(frame_pixels(s, n), "jpeg") for s, n in EVERY], len(EVERY)),
        "png_plain": rate(lambda: [plain(s, n) for s, n in EVERY], len(EVERY)),
        "png_cached": rate(lambda: [each.image for each in frames], len(frames)),
        "mp4": rate(lambda: clip_mp4(short), len(short)),
        "video_with_16_questions": rate(lambda: video_episode(make_video(make_item("max", 1024, 0, seed=0))), 1024),
    }
    sizes = {f"{kind}_bytes": float(np.mean([len(frame_bytes(s, n, kind)) for s, n in EVERY])) for kind in KINDS}
    document = {**found, "cold_to_plain": found["png_cold"] / found["png_plain"], **sizes}
    if "--json" in sys.argv[1:]:
        print(json.dumps(document, indent=2))
        return
    for name, value in document.items():
        print(f"{name:<24}{value:>14,.1f}")
    print("frames a second on one core; *_bytes: mean size of a frame; cold_to_plain: a ratio")


KINDS: tuple[Any, ...] = ("png", "jpeg")

if __name__ == "__main__":
    main()
