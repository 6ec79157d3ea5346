"""Image embedders: what makes two frames "the same view" to a number.

An embedder turns a frame into its own fixed-size input (`prepare`, called while the video is decoded) and a batch of
inputs into vectors (`embed`). Its `name` stands in every result, and scores of different embedders are never put
together. Your own: `--embedder import:package.module:Name`, a class that is made without arguments (or with the path
given by --weights).

- `grid`: oriented gradients and Lab colours on a grid, no download, no learning. The stand-in of this project.
- `dinov2`: DINOv2 through transformers from a folder with its weights, the embedder of the published metric.
- `efficientnet-lite0`: ImageNet features whose weights come as a package.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError, unknown_name
from memgauge.rollouts.imported import imported
from memgauge.rollouts.ssim import shrink
from memgauge.rollouts.video import Image

Vectors = NDArray[np.float32]
NAMES = ("grid", "dinov2", "efficientnet-lite0")


class ImageEmbedder(Protocol):
    """What an embedder has to be."""

    @property
    def name(self) -> str:
        """Name it with all that its scores depend on (version, weights)."""

    def prepare(self, image: Image) -> NDArray[Any]:
        """Return the embedder's input for one RGB frame [H, W, 3]; it is kept in memory, so make it small."""

    def embed(self, inputs: Sequence[NDArray[Any]]) -> Vectors:
        """Return one vector an input, shape [n, d], of any length."""


def make_embedder(name: str, weights: Path | None = None) -> ImageEmbedder:
    """Return the embedder called `name`, one of `NAMES` or import:package.module:Name."""
    if name.startswith("import:"):
        return _imported(name, weights)
    if weights is not None and name in ("grid", "efficientnet-lite0"):
        raise InputError(f"the embedder {name} takes no --weights")
    if name == "grid":
        return GridEmbedder()
    if name == "dinov2":
        if weights is None:
            raise InputError("the embedder dinov2 needs --weights FOLDER (config.json and model.safetensors of DINOv2)")
        from memgauge.rollouts.embedders_torch import DinoEmbedder

        embedder: ImageEmbedder = DinoEmbedder(weights)
        return embedder
    if name == "efficientnet-lite0":
        from memgauge.rollouts.embedders_torch import EfficientNetEmbedder

        stand_in: ImageEmbedder = EfficientNetEmbedder()
        return stand_in
    raise unknown_name("embedder", name, NAMES)


def _imported(spec: str, weights: Path | None) -> ImageEmbedder:
    factory = imported(spec)
    embedder: ImageEmbedder = factory() if weights is None else factory(weights)
    for part in ("name", "prepare", "embed"):
        if not hasattr(embedder, part):
            raise InputError(f"{spec}: an image embedder needs `name`, `prepare` and `embed`; {part} is missing")
    return embedder


def similarity(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return (cosine + 1) / 2 of paired vectors [n, d], in [0, 1]; NaN where a vector is zero or not finite."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        cosine = (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    mapped: NDArray[np.float64] = np.clip((cosine + 1.0) / 2.0, 0.0, 1.0)
    return mapped


class GridEmbedder:
    """Oriented gradients and colours on a grid of 8 x 8 cells: 64 x (9 + 3) + 1 numbers, no weights.

    The frame is shrunk to 128 x 128. Gradient histograms (9 unsigned orientations, as HOG) are normalised over their
    neighbourhood and freed of the mean over orientations; colours are Lab means of the cell, L about the frame's own
    mean. So frames that have nothing to do with each other have a cosine near zero.
    """

    name = "grid-1"
    _cells = 8
    _bins = 9
    _side = 128

    def prepare(self, image: Image) -> Image:
        """Return the frame at 128 x 128 pixels."""
        import cv2

        # By whole factors first: this is much faster than one step by an odd factor.
        small: Image = cv2.resize(shrink(image), (self._side, self._side), interpolation=cv2.INTER_AREA)
        return small

    def embed(self, inputs: Sequence[NDArray[Any]]) -> Vectors:
        """Return vectors of 769 numbers."""
        return np.stack([self._vector(image) for image in inputs]) if inputs else np.zeros((0, 769), dtype=np.float32)

    def _vector(self, image: Image) -> Vectors:
        import cv2

        lab = cv2.cvtColor(image.astype(np.float32) / 255.0, cv2.COLOR_RGB2LAB)
        light = lab[..., 0]
        across = cv2.Sobel(light, cv2.CV_32F, 1, 0, borderType=cv2.BORDER_REPLICATE)
        down = cv2.Sobel(light, cv2.CV_32F, 0, 1, borderType=cv2.BORDER_REPLICATE)
        strength, direction = cv2.cartToPolar(across, down)
        turn = np.mod(direction, np.float32(np.pi)) * np.float32(self._bins / np.pi)
        # Each gradient is shared between its two nearest orientations, so that small rotations change little.
        low = turn.astype(np.int32)
        share = turn - low.astype(np.float32)
        step = self._side // self._cells
        cell = np.arange(self._side) // step
        place = (cell[:, None] * self._cells + cell) * self._bins
        histogram = np.zeros(self._cells**2 * self._bins)
        for orientation, weight in ((low % self._bins, 1.0 - share), ((low + 1) % self._bins, share)):
            flat = (place + orientation).ravel()
            histogram += np.bincount(flat, (strength * weight).ravel(), minlength=histogram.size)
        grid = histogram.reshape(self._cells, self._cells, self._bins).astype(np.float32)
        energy = cv2.blur((grid**2).sum(axis=2), (3, 3), borderType=cv2.BORDER_REPLICATE)
        # Below some 20 Lab units of gradient a cell counts as plain; its noise is not blown up.
        grid /= np.sqrt(energy + (20.0 * step) ** 2)[..., None]
        grid -= grid.mean(axis=2, keepdims=True)
        colour = cv2.resize(lab, (self._cells, self._cells), interpolation=cv2.INTER_AREA)
        colour[..., 0] -= colour[..., 0].mean()
        # The last number keeps the vector of a black frame from being zero.
        return np.concatenate([grid.ravel(), colour.ravel() / 100.0, [0.1]]).astype(np.float32)
