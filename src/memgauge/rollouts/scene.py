"""Scene F1: is the geometry seen on the way back the geometry seen on the way out?

Depth maps of an export folder are split at the turnaround, up to eight evenly spaced frames a side are back-projected
to points (at most 4,096 a frame), and the two clouds are compared: retention is the share of observed points with a
revisited point within 2 % of the joint bounding box's diagonal, precision the reverse, the score their harmonic mean.
As published, the revisited cloud is first moved onto the centroid of the observed one; this moves clouds that overlap
only in part away from each other, so the score without the move is reported beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.rollouts.pose_arrays import archive_keys, load_array
from memgauge.rollouts.track import CameraTrack, Floats

FRAMES_A_SIDE = 8
POINTS_A_FRAME = 4096
THRESHOLD = 0.02


@dataclass(frozen=True)
class SceneScore:
    """Agreement of the two clouds."""

    score: float
    retention: float
    precision: float
    score_unaligned: float
    points: tuple[int, int]


def depth_folder(track: CameraTrack) -> Path | None:
    """Return the folder of a track that also holds depth_metric.npy, or None."""
    folder = Path(track.source).parent
    return folder if (folder / "depth_metric.npy").is_file() else None


def scene_f1(track: CameraTrack, turnaround: int, folder: Path) -> SceneScore | str:
    """Return the scene F1 of a track with depth, or the reason why there is none."""
    if track.intrinsics is None:
        return "no_intrinsics"
    depth, mask = _load(folder, int(track.rows.max()) + 1)
    sides = [np.arange(turnaround + 1), np.arange(turnaround + 1, len(track))]
    if min(len(side) for side in sides) < 2:
        return "too_few_frames"
    clouds = []
    for side in sides:
        rows = side[np.linspace(0, len(side) - 1, min(FRAMES_A_SIDE, len(side))).round().astype(int)]
        parts = [
            _points(track, int(row), depth[at], None if mask is None else mask[at])
            for row, at in zip(rows, track.rows[rows], strict=True)
        ]
        clouds.append(np.concatenate(parts))
    observed, revisited = clouds
    if not len(observed) or not len(revisited):
        return "no_valid_depth"
    moved = revisited - revisited.mean(axis=0) + observed.mean(axis=0)
    retention, precision = _agreement(observed, moved)
    plain = _agreement(observed, revisited)
    return SceneScore(
        _harmonic(retention, precision), retention, precision, _harmonic(*plain), (len(observed), len(revisited))
    )


def _load(folder: Path, count: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return depth [N, H, W], mapped from the file and not read whole, and its mask."""
    file = folder / "depth_metric.npy"
    try:
        depth = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{file}: not a numpy array of numbers (pickled objects are refused): {error}") from error
    if depth.ndim != 3 or len(depth) < count or depth.dtype.kind != "f":
        raise InputError(f"{file}: expected depth [{count}, H, W] of floating-point numbers, got {depth.shape}")
    mask_file = folder / "depth_valid_mask.npz"
    if not mask_file.is_file():
        return depth, None
    keys = archive_keys(mask_file)
    mask = load_array(mask_file, "mask" if "mask" in keys else None)
    if mask.shape != depth.shape:
        raise InputError(f"{mask_file}: mask of shape {mask.shape} for depth of shape {depth.shape}")
    return depth, mask.astype(bool)


def _points(track: CameraTrack, row: int, depth: NDArray[Any], mask: NDArray[np.bool_] | None) -> Floats:
    """Back-project up to 4,096 evenly spaced valid pixels of one depth map to world points [M, 3]."""
    assert track.intrinsics is not None
    z = np.asarray(depth, dtype=np.float64)
    valid = np.isfinite(z) & (z > 0)
    if mask is not None:
        valid &= mask
    at = np.flatnonzero(valid)
    if len(at) > POINTS_A_FRAME:
        at = at[np.linspace(0, len(at) - 1, POINTS_A_FRAME).round().astype(int)]
    v, u = np.divmod(at, z.shape[1])
    pixels = np.stack([u, v, np.ones_like(u)]).astype(np.float64)
    rays = np.linalg.inv(track.intrinsics[row]) @ pixels
    world: Floats = (track.rotation[row] @ (rays * z.ravel()[at])).T + track.centre[row]
    return world


def _agreement(observed: Floats, revisited: Floats) -> tuple[float, float]:
    from scipy.spatial import cKDTree

    both = np.concatenate([observed, revisited])
    reach = THRESHOLD * float(np.linalg.norm(both.max(axis=0) - both.min(axis=0)))
    near = [
        cKDTree(other).query(one, distance_upper_bound=reach)[0] <= reach
        for one, other in (
            (observed, revisited),
            (revisited, observed),
        )
    ]
    return float(near[0].mean()), float(near[1].mean())


def _harmonic(first: float, second: float) -> float:
    return 2 * first * second / (first + second) if first + second > 0 else 0.0
