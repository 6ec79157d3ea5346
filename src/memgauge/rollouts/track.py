"""Camera tracks: what a pose file says, and the same as camera-to-world poses on native video frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError

Convention = Literal["c2w", "w2c"]
Floats = NDArray[np.float64]

MAXIMUM_POSES = 1_000_000
_ROTATION_TOLERANCE = 0.02
_FARTHEST = 1e50  # camera centres beyond this have squares that leave double precision
_SPARE_FRAMES = 0.05  # a track may lack this share of the frames (the tail that a tracker drops) and still count from 0


class InvalidPosesError(InputError):
    """A pose file that can be read, but whose numbers are no camera track."""


@dataclass(frozen=True)
class PoseFile:
    """What a reader found, before it is placed on a video.

    `matrices` [N, 3, 4] are as written in the file, `convention` is what the format means by them. At most one of
    `frames` [N] (native frame numbers) and `times` [N] (seconds) is needed; with neither, row i is frame i.
    `intrinsics` is [N, 3, 3] in pixels, or in image widths and heights where `normalised`.
    """

    matrices: Floats
    format: str
    source: str
    convention: Convention = "c2w"
    frames: NDArray[np.int64] | None = None
    times: Floats | None = None
    intrinsics: Floats | None = None
    normalised: bool = False
    opengl: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class CameraTrack:
    """Camera-to-world poses on native frames: axes x right, y down, z forward (OpenCV).

    Shapes: `rotation` [N, 3, 3], `centre` [N, 3], `frames` [N] strictly increasing, `intrinsics` [N, 3, 3] in pixels,
    `rows` [N] the place of each pose in its file.
    """

    rotation: Floats
    centre: Floats
    frames: NDArray[np.int64]
    intrinsics: Floats | None
    rows: NDArray[np.int64]
    source: str
    format: str
    convention: Convention
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frames)

    def inverted(self) -> CameraTrack:
        """Return the track that the other pose convention would have read."""
        rotation = self.rotation.transpose(0, 2, 1)
        centre = -np.einsum("nij,nj->ni", rotation, self.centre)
        other: Convention = "w2c" if self.convention == "c2w" else "c2w"
        return replace(self, rotation=rotation, centre=centre, convention=other)


@dataclass(frozen=True)
class Clock:
    """What placing a track needs to know of the video."""

    frames: int
    fps: float
    width: int
    height: int


def place(poses: PoseFile, clock: Clock, convention: Convention | None = None) -> CameraTrack:
    """Return the poses as a camera-to-world track on the frames of a video.

    Raises `InvalidPosesError` for non-finite or huge numbers, matrices whose rotation part is none, repeated frames,
    fewer than two poses, or far fewer poses than frames with nothing that says which frames they belong to.
    """
    matrices = poses.matrices
    bad = ~np.isfinite(matrices).all(axis=(1, 2))
    if bad.any():
        raise InvalidPosesError(
            f"{poses.source}: pose {int(bad.argmax())} is not finite ({int(bad.sum())} of {bad.size})"
        )
    if len(matrices) < 2:
        raise InvalidPosesError(f"{poses.source}: {len(matrices)} poses; a camera track needs at least two")
    rotation = _orthonormal(matrices[:, :, :3], poses.source)
    centre = matrices[:, :, 3]
    used = convention or poses.convention
    if used == "w2c":
        rotation = rotation.transpose(0, 2, 1)
        centre = -np.einsum("nij,nj->ni", rotation, centre)
    if poses.opengl:
        rotation = rotation * np.array([1.0, -1.0, -1.0])
    far = np.abs(centre).max(axis=1) > _FARTHEST
    if far.any():
        raise InvalidPosesError(f"{poses.source}: the camera of pose {int(far.argmax())} is out of reach (beyond 1e50)")
    frames, warnings = _native_frames(poses, clock)
    order = np.argsort(frames, kind="stable") if poses.times is None else _one_a_frame(frames, poses.times, clock.fps)
    frames = frames[order]
    repeated = np.flatnonzero(np.diff(frames) <= 0)
    if repeated.size:
        raise InvalidPosesError(f"{poses.source}: two poses belong to frame {int(frames[repeated[0]])}")
    if frames[0] < 0:
        raise InvalidPosesError(f"{poses.source}: frame number {int(frames[0])} is negative")
    intrinsics = poses.intrinsics
    if intrinsics is not None:
        if poses.normalised:
            intrinsics = intrinsics * np.array([clock.width, clock.height, 1.0])[:, None]
        intrinsics = intrinsics[order]
    return CameraTrack(
        np.ascontiguousarray(rotation[order]),
        np.ascontiguousarray(centre[order]),
        frames,
        intrinsics,
        order,
        poses.source,
        poses.format,
        used,
        poses.warnings + warnings,
    )


def _orthonormal(rotation: Floats, source: str) -> Floats:
    """Return the nearest rotations; text formats round, so small defects are mended and large ones refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        defect = np.abs(rotation.transpose(0, 2, 1) @ rotation - np.eye(3)).max(axis=(1, 2))
    # Huge numbers overflow to infinity or NaN; both fail the comparison.
    bad: NDArray[np.bool_] = ~(defect <= _ROTATION_TOLERANCE)
    if not bad.any():
        bad = np.linalg.det(rotation) < 0
    if bad.any():
        first = int(bad.argmax())
        raise InvalidPosesError(
            f"{source}: the upper left 3x3 part of pose {first} is no rotation ({int(bad.sum())} of {bad.size} poses)"
        )
    if defect.max() <= 1e-12:
        return rotation
    left, _, right = np.linalg.svd(rotation)
    mended: Floats = left @ right
    return mended


def _native_frames(poses: PoseFile, clock: Clock) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    count = len(poses.matrices)
    if poses.frames is not None:
        return poses.frames.astype(np.int64), _counted_images(poses.frames, clock)
    if poses.times is not None:
        return _frames_of_times(poses, clock)
    missing = clock.frames - count
    if missing > max(1, _SPARE_FRAMES * clock.frames):
        raise InvalidPosesError(
            f"{poses.source}: {count} poses for {clock.frames} frames, and nothing says which frames they belong to; "
            "give frame_indices.npy beside the poses, --pose-frames FILE, or --pose-step K for a pose every K-th frame"
        )
    warnings: tuple[str, ...] = ()
    if missing > 0:
        warnings = (f"{missing} of {clock.frames} frames have no pose; pose i is taken as frame i",)
    elif missing < 0:
        warnings = (f"{-missing} poses lie beyond the last of {clock.frames} frames",)
    return np.arange(count, dtype=np.int64), warnings


def _counted_images(frames: NDArray[np.int64], clock: Clock) -> tuple[str, ...]:
    """Return a warning where frame numbers may merely count the images that were taken out of a longer video."""
    last = int(frames.max())
    if (np.diff(np.sort(frames)) == 1).all() and clock.frames - 1 - last > max(1, _SPARE_FRAMES * clock.frames):
        return (
            f"frame numbers run from {int(frames.min())} to {last} without a break, but the video has {clock.frames} "
            "frames: if the poses are those of every K-th frame, give --pose-step K",
        )
    return ()


def _one_a_frame(frames: NDArray[np.int64], times: Floats, fps: float) -> NDArray[np.int64]:
    """Return the poses in the order of their frames, of several on one frame the nearest in time."""
    distance = np.abs((times - times[0]) * fps - (frames - frames[0]))
    order = np.lexsort((distance, frames))
    first: NDArray[np.int64] = order[np.r_[True, np.diff(frames[order]) > 0]]
    return first


def _frames_of_times(poses: PoseFile, clock: Clock) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Place timestamps on frames: seconds of the video, else frame numbers, else seconds since the first pose."""
    times = poses.times
    assert times is not None
    if not np.isfinite(times).all():
        raise InvalidPosesError(
            f"{poses.source}: the timestamp of pose {int((~np.isfinite(times)).argmax())} is not finite"
        )
    last = float(times.max())
    end = clock.frames / clock.fps
    if times.min() >= 0 and last < end + 1.0:
        return np.rint(times * clock.fps).astype(np.int64), ()
    if times.min() >= 0 and last <= clock.frames and (times == np.rint(times)).all():
        return times.astype(np.int64), ("timestamps are whole numbers beyond the video: read as frame numbers",)
    shifted = (times - times.min()) * clock.fps
    if shifted.max() > 2**53:
        raise InvalidPosesError(f"{poses.source}: timestamps span {last - float(times.min()):.3g} seconds")
    return np.rint(shifted).astype(np.int64), ("timestamps do not fit the video: counted from the first pose",)


def intrinsic_matrices(values: NDArray[np.float64], count: int, source: str) -> Floats:
    """Return intrinsics as [count, 3, 3] from [3, 3], [M, 3, 3], [4] or [M, 4] (fx, fy, cx, cy).

    Raises `InputError` for another shape, or M that is neither 1 nor `count`.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape == (3, 3):
        matrices = array[None]
    elif array.ndim == 3 and array.shape[1:] == (3, 3):
        matrices = array
    elif array.shape == (4,) or (array.ndim == 2 and array.shape[1] >= 4):
        rows = np.atleast_2d(array)[:, :4]
        matrices = np.zeros((len(rows), 3, 3))
        matrices[:, 0, 0], matrices[:, 1, 1], matrices[:, 0, 2], matrices[:, 1, 2] = rows.T
        matrices[:, 2, 2] = 1.0
    else:
        raise InputError(f"{source}: intrinsics of shape {array.shape}; known are [3,3], [N,3,3], [4] and [N,4]")
    if len(matrices) == 1:
        matrices = np.repeat(matrices, count, axis=0)
    if len(matrices) != count:
        raise InputError(f"{source}: {len(matrices)} intrinsics for {count} poses")
    if not np.isfinite(matrices).all():
        raise InputError(f"{source}: intrinsics are not finite")
    return matrices
