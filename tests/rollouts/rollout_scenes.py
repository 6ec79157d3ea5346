"""Videos drawn by the tests: a textured plane, a camera that sweeps over it, and views that fade as they are
forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
WIDTH, HEIGHT = 160, 120
K = np.array([[140.0, 0, WIDTH / 2], [0, 140.0, HEIGHT / 2], [0, 0, 1]])
DEPTH = 2.0
_TEXTURE = 512
_PIXELS_PER_UNIT = 110.0


def texture(seed: int) -> Image:
    """Return a picture full of shapes, [512, 512, 3]."""
    rng = np.random.default_rng(seed)
    picture = np.zeros((_TEXTURE, _TEXTURE, 3), dtype=np.float32)
    for cells in (4, 16, 64):
        coarse = rng.uniform(0, 255, (cells, cells, 3)).astype(np.float32)
        picture += cv2.resize(coarse, (_TEXTURE, _TEXTURE), interpolation=cv2.INTER_CUBIC) / 3
    picture = np.ascontiguousarray(np.clip(picture, 0, 255).astype(np.uint8))
    for _ in range(120):
        centre = tuple(int(v) for v in rng.integers(0, _TEXTURE, 2))
        colour = tuple(int(v) for v in rng.integers(0, 255, 3))
        axes = tuple(int(v) for v in rng.integers(4, 36, 2))
        cv2.ellipse(picture, centre, axes, float(rng.uniform(0, 180)), 0, 360, colour, -1, cv2.LINE_AA)
    return picture


def pose(x: float, yaw: float = 0.0) -> NDArray[np.float64]:
    """Return a camera-to-world pose: the camera at (x, 0, 0), turned by `yaw` about the vertical."""
    cosine, sine = np.cos(yaw), np.sin(yaw)
    matrix = np.eye(4)
    matrix[:3, :3] = [[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]]
    matrix[0, 3] = x
    return matrix


def render(picture: Image, camera: NDArray[np.float64]) -> Image:
    """Return what a camera sees of the plane z = 2 that carries the picture, [120, 160, 3]."""
    # Texture pixel (u, v) lies at the world point ((u - c) / s, (v - c) / s, depth).
    centre = _TEXTURE / 2
    world = np.array(
        [
            [1 / _PIXELS_PER_UNIT, 0, -centre / _PIXELS_PER_UNIT],
            [0, 1 / _PIXELS_PER_UNIT, -centre / _PIXELS_PER_UNIT],
            [0, 0, DEPTH],
        ]
    )
    rotation, position = camera[:3, :3], camera[:3, 3]
    # The third row gives depth for every texture pixel, so the camera's offset is a multiple of it.
    shifted = world - np.outer(position, np.array([0, 0, 1.0]))
    homography = K @ rotation.T @ shifted
    view = cv2.warpPerspective(picture, homography, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
    return np.asarray(view, dtype=np.uint8)


def blend(view: Image, other: Image, weight: float) -> Image:
    """Return the view faded by `weight` into another picture."""
    mixed = (1 - weight) * view.astype(np.float32) + weight * other.astype(np.float32)
    return np.rint(mixed).astype(np.uint8)


def write_video(
    path: Path, frames: Iterable[Image], fps: int | Fraction = 10, *, times: list[int] | None = None
) -> Path:
    """Write frames without loss (H.264, all planes at full resolution). `times`: presentation times in 1/1000 s."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.pix_fmt = "yuv444p"
        stream.options = {"qp": "0", "preset": "ultrafast", "threads": "1"}
        if times is not None:
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for number, image in enumerate(frames):
            if number == 0:
                stream.height, stream.width = image.shape[:2]
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            if times is not None:
                frame.pts, frame.time_base = times[number], Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def sweep(frames: int, period: int = 60, reach: float = 1.0) -> NDArray[np.float64]:
    """Return camera positions that swing to both sides, the same to the last bit in every period, [frames]."""
    quarter = period // 4
    table = np.sin(np.arange(quarter + 1) * (np.pi / 2 / quarter))
    half = np.concatenate([table, table[-2:0:-1]])
    whole = np.concatenate([half, -half])
    return reach * whole[np.arange(frames) % period]
