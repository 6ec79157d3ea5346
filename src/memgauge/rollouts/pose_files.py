"""Finding and reading the camera track of a video: one function for every format, and the sidecars beside a video.

A reader is any function from a path to a `PoseFile`. Your own: `--pose-format import:package.module:function`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from memgauge.errors import InputError, unknown_name
from memgauge.rollouts.imported import imported
from memgauge.rollouts.pose_arrays import (
    COMPANIONS,
    FOLDER_FILES,
    companion_prefix,
    load_array,
    pose_matrices,
    read_folder,
    read_npy,
    read_npz,
    vipe_intrinsics,
)
from memgauge.rollouts.pose_colmap import find_images, read_colmap
from memgauge.rollouts.pose_json import read_json
from memgauge.rollouts.pose_text import number_rows, read_rows, read_text
from memgauge.rollouts.track import PoseFile

PoseReader = Callable[[Path], PoseFile]

READERS: dict[str, PoseReader] = {
    "npy": read_npy,
    "npz": read_npz,
    "vipe": lambda path: read_vipe(path),
    "folder": read_folder,
    "tum": lambda path: read_rows(path, "tum"),
    "kitti": lambda path: read_rows(path, "kitti"),
    "realestate10k": lambda path: read_rows(path, "realestate10k"),
    "matrices": lambda path: read_rows(path, "matrices"),
    "colmap": read_colmap,
    "transforms": read_json,
    "json": read_json,
}


def read_poses(path: Path, format: str = "auto") -> PoseFile:
    """Read a camera track. `format` is a name of `READERS`, "auto", or import:package.module:function.

    Raises `InputError` for a file that cannot be read as that format.
    """
    if format.startswith("import:"):
        return _own(imported(format)(path), format)
    if not path.exists():
        raise InputError(f"{path}: no such pose file or folder")
    if format == "auto":
        return _guessed(path)(path)
    if format not in READERS:
        raise unknown_name("pose format", format, READERS)
    return READERS[format](path)


def _guessed(path: Path) -> PoseReader:
    if path.is_dir():
        if any((path / name).is_file() for name in FOLDER_FILES):
            return read_folder
        if (path / "pose").is_dir():
            return READERS["vipe"]
        if (path / "transforms.json").is_file():
            return lambda folder: read_json(folder / "transforms.json")
        if find_images(path) is not None:
            return read_colmap
        known = f"{', '.join(FOLDER_FILES)}, pose/*.npz, transforms.json, images.bin"
        raise InputError(f"{path}: no poses in this folder (known: {known})")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return read_npy
    if suffix == ".npz":
        return read_npz
    if suffix == ".json":
        return read_json
    if suffix == ".bin" or path.name == "images.txt":
        return read_colmap
    if suffix in (".txt", ".csv", ".tum", ".kitti", ".traj", ""):
        return read_rows
    raise InputError(f"{path}: no pose format has the ending {suffix!r}; name it with --pose-format")


def _own(poses: object, spec: str) -> PoseFile:
    """Check what a reader of one's own returned."""
    if not isinstance(poses, PoseFile):
        raise InputError(f"{spec}: returned {type(poses).__name__}, not a memgauge.rollouts.track.PoseFile")
    return replace(poses, matrices=pose_matrices(np.asarray(poses.matrices), spec))


def read_vipe(path: Path) -> PoseFile:
    """Read ViPE's pose archive, or the folder that holds exactly one in pose/."""
    if path.is_dir():
        found = sorted((path / "pose").glob("*.npz"))
        if len(found) != 1:
            raise InputError(f"{path}: {len(found)} archives in pose/; give the one that belongs to the video")
        path = found[0]
    return read_npz(path)


def find_sidecar(video: Path) -> Path | None:
    """Return the camera track beside a video, in the published order, or None."""
    stem, folder = video.stem, video.parent
    for place in (
        folder / "annotations_vipe" / f"{stem}_vipe_ann",
        folder / f"{stem}_vipe_ann",
        folder / f"{stem}_poses_c2w.npy",
        folder / f"{stem}_poses.npy",
        folder / "pose" / f"{stem}.npz",
    ):
        if place.exists():
            return place
    return None


def track_files(path: Path) -> list[Path]:
    """Return every file that reading a camera track at `path` may read, its companions among them, sorted.

    Depth maps, which only the scene metric reads, are left out.
    """
    if path.is_dir():
        endings = (".npy", ".npz", ".json", ".txt", ".bin")
        files = [file for file in path.rglob("*") if file.suffix in endings and "depth" not in file.name]
    else:
        files = [path.with_name(f"{companion_prefix(path)}{name}.npy") for name in COMPANIONS]
        files += [path.with_name(f"cameras{ending}") for ending in (".bin", ".txt")]
        files += [path, vipe_intrinsics(path) or path]
    return sorted({file for file in files if file.is_file()})


def with_frames(poses: PoseFile, *, frames: Path | None = None, step: int | None = None) -> PoseFile:
    """Say which frames the poses belong to: a file of frame numbers (.npy, .npz or text), or every `step`-th frame."""
    count = len(poses.matrices)
    if frames is not None and step is not None:
        raise InputError("give --pose-frames or --pose-step, not both")
    if step is not None:
        if step < 1:
            raise InputError(f"--pose-step must be at least 1, got {step}")
        return replace(poses, frames=np.arange(count, dtype=np.int64) * step, times=None)
    if frames is None:
        return poses
    if frames.suffix in (".npy", ".npz"):
        numbers = load_array(frames)
    else:
        numbers = number_rows(read_text(frames), str(frames))[0].ravel()
    if numbers.shape != (count,) or not (numbers == np.rint(numbers)).all():
        raise InputError(f"{frames}: expected {count} whole frame numbers, one a pose; got shape {numbers.shape}")
    return replace(poses, frames=numbers.astype(np.int64), times=None)
