"""Revisit fidelity: how much of a view is still there when the camera comes back to it.

fidelity = 0.7 (cosine + 1) / 2 + 0.3 SSIM, clipped to [0, 1]: the cosine is that of the embedder's vectors of the two
frames, the SSIM is taken on RGB. Everything comes from one decoding pass; of each needed frame only small versions
are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memgauge.progress import Progress
from memgauge.rollouts.embedders import ImageEmbedder, similarity
from memgauge.rollouts.revisits import PoseDistance, RevisitPair, Revisits
from memgauge.rollouts.ssim import shrink, ssim
from memgauge.rollouts.track import Floats
from memgauge.rollouts.video import Image, VideoInfo, frames_of

SIMILARITY_WEIGHT = 0.7
SSIM_WEIGHT = 0.3
_FLOOR_PAIRS = 64


class FrameObserver(Protocol):
    """Takes what it needs of each decoded frame."""

    def see(self, frame: int, image: Image) -> None:
        """Look at one needed frame, RGB [H, W, 3]."""


@dataclass(frozen=True)
class Looks:
    """The two frames of a pair compared; NaN where the embedder gave nothing."""

    similarity: float
    ssim: float

    @property
    def fidelity(self) -> float:
        """Return the revisit fidelity, in [0, 1]."""
        return min(max(SIMILARITY_WEIGHT * self.similarity + SSIM_WEIGHT * self.ssim, 0.0), 1.0)

    @property
    def usable(self) -> bool:
        """Return whether there is a fidelity."""
        return bool(np.isfinite(self.similarity) and np.isfinite(self.ssim))


class FrameFeatures:
    """What is kept of the needed frames of a video: the embedder's vectors and a small picture each."""

    def __init__(
        self,
        info: VideoInfo,
        wanted: Iterable[int],
        embedder: ImageEmbedder,
        observers: Sequence[FrameObserver] = (),
        progress: bool = False,
    ) -> None:
        needed = sorted(set(wanted))
        self._small: dict[int, Image] = {}
        inputs: list[NDArray[Any]] = []
        self._row: dict[int, int] = {}
        with Progress("frames", len(needed), after=2.0 if progress else math.inf) as bar:
            for frame, image in frames_of(info, needed):
                self._row[frame] = len(inputs)
                inputs.append(embedder.prepare(image))
                self._small[frame] = shrink(image)
                for observer in observers:
                    observer.see(frame, image)
                bar.advance()
        self._vectors = embedder.embed(inputs) if inputs else np.zeros((0, 1), dtype=np.float32)

    def __contains__(self, frame: int) -> bool:
        return frame in self._row

    def compare(self, pairs: Sequence[tuple[int, int]]) -> list[Looks]:
        """Return the looks of frame pairs, both of which must be there."""
        if not pairs:
            return []
        first = self._vectors[[self._row[a] for a, _ in pairs]]
        second = self._vectors[[self._row[b] for _, b in pairs]]
        alike = similarity(first, second)
        return [
            Looks(float(cosine), ssim(self._small[a], self._same_size(b, a)))
            for cosine, (a, b) in zip(alike, pairs, strict=True)
        ]

    def _same_size(self, frame: int, model: int) -> Image:
        """Return the small picture of a frame, resized to that of another where a video changes its size."""
        picture, wanted = self._small[frame], self._small[model].shape
        if picture.shape == wanted:
            return picture
        import cv2

        resized: Image = cv2.resize(picture, (wanted[1], wanted[0]), interpolation=cv2.INTER_AREA)
        return resized


def unrelated_pairs(revisits: Revisits, distance: PoseDistance, times: Floats) -> list[tuple[RevisitPair, RevisitPair]]:
    """Return pairs of revisit pairs (p, q) such that the first frame of p and the revisit frame of q see different
    views.

    One for each kept pair (at most 64, evenly chosen) with a gap as near to its own as there is. They say how alike two
    frames of this video look when nothing is remembered, and need no frame that is not decoded already.
    """
    kept = revisits.kept
    if len(kept) > _FLOOR_PAIRS:
        kept = tuple(kept[i] for i in np.linspace(0, len(kept) - 1, _FLOOR_PAIRS).round().astype(int))
    first = np.array([pair.first_index for pair in kept], dtype=np.int64)
    revisit = np.array([pair.revisit_index for pair in kept], dtype=np.int64)
    p, q = (grid.ravel() for grid in np.meshgrid(np.arange(len(kept)), np.arange(len(kept)), indexing="ij"))
    gap = times[revisit[q]] - times[first[p]]
    apart = (gap > 0) & (distance.exact(first[p], revisit[q]) >= revisits.required_departure_distance)
    p, q, gap = p[apart], q[apart], gap[apart]
    chosen: list[tuple[RevisitPair, RevisitPair]] = []
    free = np.ones(len(p), dtype=bool)
    for pair in kept:
        if not free.any():
            break
        best = int(np.where(free, np.abs(gap - pair.gap_seconds), np.inf).argmin())
        free[best] = False
        chosen.append((kept[p[best]], kept[q[best]]))
    return chosen
