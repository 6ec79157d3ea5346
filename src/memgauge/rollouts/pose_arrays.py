"""Poses in numpy files: plain arrays, archives, export folders and the folders of ViPE. Pickled data is refused."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.rollouts.track import MAXIMUM_POSES, Floats, PoseFile, intrinsic_matrices

ARCHIVE_KEYS = ("poses_c2w", "poses", "data", "poses_w2c")
FOLDER_FILES = ("poses_c2w.npy", "poses.npy", "camera_poses.npy", "poses_w2c.npy")
_MAXIMUM_BYTES = 1 << 30
# What numpy and zipfile raise for damaged, encrypted or oddly compressed archives and for headers that claim too much.
_DAMAGED = (ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, MemoryError)
COMPANIONS = ("frame_indices", "timestamps", "intrinsics")


def load_array(path: Path, key: str | None = None) -> NDArray[Any]:
    """Load one array of a .npy or .npz file (`key`, else the first).

    Raises `InputError` for anything but numbers, pickled objects among them, and for more than 1 GiB.
    """
    try:
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                sizes = {info.filename: info.file_size for info in archive.infolist()}
            if max(sizes.values(), default=0) > _MAXIMUM_BYTES:
                raise InputError(f"{path}: an array of more than 1 GiB")
            with np.load(path, allow_pickle=False) as archive:
                name = key if key is not None else next(iter(archive.files))
                array: NDArray[Any] = archive[name]
        else:
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
            if mapped.nbytes > _MAXIMUM_BYTES:
                raise InputError(f"{path}: an array of more than 1 GiB")
            array = np.array(mapped)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except StopIteration:
        raise InputError(f"{path}: an archive without arrays") from None
    except KeyError:
        raise InputError(f"{path}: no array {key!r} in it") from None
    except _DAMAGED as error:
        raise InputError(f"{path}: not a numpy array of numbers (pickled objects are refused): {error}") from error
    if array.dtype.kind not in "fiub":
        raise InputError(f"{path}: an array of {array.dtype}, not of numbers")
    return array


def archive_keys(path: Path) -> list[str]:
    """Return the names of the arrays in a .npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: not a .npz archive: {error}") from error


def pose_matrices(array: NDArray[Any], source: str) -> Floats:
    """Return poses as [N, 3, 4] from [N, 4, 4], [N, 3, 4], [N, 16] or [N, 12]. Raises `InputError` for other shapes."""
    if array.ndim == 2 and array.shape[1] in (12, 16):
        array = array.reshape(len(array), -1, 4)
    if array.ndim != 3 or array.shape[1:] not in ((4, 4), (3, 4)):
        raise InputError(f"{source}: poses of shape {array.shape}; known are [N,4,4] and [N,3,4]")
    if len(array) > MAXIMUM_POSES:
        raise InputError(f"{source}: {len(array):,} poses; at most {MAXIMUM_POSES:,} are read")
    matrices = array.astype(np.float64)
    if matrices.shape[1] == 4:
        last = matrices[:, 3]
        finite = np.isfinite(last).all(axis=1)
        wrong = finite & (np.abs(last - np.array([0.0, 0.0, 0.0, 1.0])).max(axis=1) > 1e-3)
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"{source}: the last row of pose {row} is {last[row].tolist()}, not 0 0 0 1 (transposed?)")
    return matrices[:, :3]


def read_npy(path: Path) -> PoseFile:
    """Read poses [N,4,4] or [N,3,4] from a .npy file, with the companions that lie beside it."""
    matrices = pose_matrices(load_array(path), str(path))
    convention = "w2c" if "w2c" in path.stem else "c2w"
    poses = PoseFile(matrices, "npy", str(path), "w2c" if convention == "w2c" else "c2w")
    return with_companions(poses, path.parent, prefix=companion_prefix(path))


def companion_prefix(path: Path) -> str:
    """Return what companions of STEM_poses.npy start with: STEM_."""
    for ending in ("poses_c2w", "poses_w2c", "camera_poses", "poses"):
        if path.stem.endswith(ending):
            return path.stem.removesuffix(ending)
    return f"{path.stem}_"


def read_npz(path: Path) -> PoseFile:
    """Read poses from a .npz archive: key poses_c2w, poses, data (with `inds`, as ViPE writes it) or poses_w2c."""
    keys = archive_keys(path)
    key = next((name for name in ARCHIVE_KEYS if name in keys), None)
    if key is None:
        raise InputError(
            f"{path}: none of the arrays {', '.join(ARCHIVE_KEYS)} (it holds {', '.join(keys) or 'nothing'})"
        )
    matrices = pose_matrices(load_array(path, key), f"{path}:{key}")
    frames = next((load_array(path, name) for name in ("frame_indices", "inds") if name in keys), None)
    times = load_array(path, "timestamps") if "timestamps" in keys else None
    intrinsics = load_array(path, "intrinsics") if "intrinsics" in keys else None
    poses = PoseFile(
        matrices,
        "vipe" if "inds" in keys else "npz",
        str(path),
        "w2c" if key == "poses_w2c" else "c2w",
        _frame_numbers(frames, len(matrices), str(path)),
        _timestamps(times, len(matrices), str(path)) if frames is None else None,
        None if intrinsics is None else intrinsic_matrices(intrinsics, len(matrices), f"{path}:intrinsics"),
    )
    return _with_vipe_intrinsics(poses, path) if "inds" in keys and intrinsics is None else poses


def vipe_intrinsics(path: Path) -> Path | None:
    """Return the file with the intrinsics of ViPE's pose/STEM.npz, intrinsics/STEM.npz; None where there is none."""
    other = path.parent.parent / "intrinsics" / path.name
    return other if path.parent.name == "pose" and other.is_file() else None


def _with_vipe_intrinsics(poses: PoseFile, path: Path) -> PoseFile:
    """Add ViPE's intrinsics/STEM.npz, matched by its own `inds`; frames without an entry take the nearest earlier
    one.
    """
    other = vipe_intrinsics(path)
    if other is None:
        return poses
    data, inds = load_array(other, "data"), load_array(other, "inds")
    if data.ndim != 2 or data.shape[1] < 4 or inds.shape != (len(data),) or not len(data):
        raise InputError(f"{other}: expected data [N, >=4] and inds [N], got {data.shape} and {inds.shape}")
    order = np.argsort(inds, kind="stable")
    assert poses.frames is not None
    at = np.clip(np.searchsorted(inds[order], poses.frames, side="right") - 1, 0, len(order) - 1)
    matrices = intrinsic_matrices(data[order][at].astype(np.float64), len(poses.matrices), str(other))
    return _replaced(poses, intrinsics=matrices)


def read_folder(path: Path) -> PoseFile:
    """Read an export folder: poses_c2w.npy, poses.npy, camera_poses.npy or poses_w2c.npy and its companions."""
    name = next((name for name in FOLDER_FILES if (path / name).is_file()), None)
    if name is None:
        raise InputError(f"{path}: no {', '.join(FOLDER_FILES)}")
    source = path / name
    matrices = pose_matrices(load_array(source), str(source))
    poses = PoseFile(matrices, "folder", str(source), "w2c" if name == "poses_w2c.npy" else "c2w")
    return with_companions(poses, path)


def with_companions(poses: PoseFile, folder: Path, prefix: str = "") -> PoseFile:
    """Add frame_indices.npy, timestamps.npy and intrinsics.npy of a folder; a wrong length raises `InputError`."""
    count = len(poses.matrices)
    frames_file, times_file, intrinsics_file = (folder / f"{prefix}{name}.npy" for name in COMPANIONS)
    frames = load_array(frames_file) if frames_file.is_file() else None
    times = load_array(times_file) if frames is None and times_file.is_file() else None
    intrinsics = load_array(intrinsics_file) if intrinsics_file.is_file() else None
    return _replaced(
        poses,
        frames=_frame_numbers(frames, count, str(frames_file)),
        times=_timestamps(times, count, str(times_file)),
        intrinsics=None if intrinsics is None else intrinsic_matrices(intrinsics, count, str(intrinsics_file)),
    )


def _replaced(poses: PoseFile, **changes: Any) -> PoseFile:
    from dataclasses import replace

    return replace(poses, **changes)


def _frame_numbers(array: NDArray[Any] | None, count: int, source: str) -> NDArray[np.int64] | None:
    if array is None:
        return None
    if array.shape != (count,):
        raise InputError(f"{source}: frame numbers of shape {array.shape} for {count} poses")
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.rint(array))).all():
        raise InputError(f"{source}: frame numbers are not whole numbers")
    return array.astype(np.int64)


def _timestamps(array: NDArray[Any] | None, count: int, source: str) -> Floats | None:
    if array is None:
        return None
    if array.shape != (count,):
        raise InputError(f"{source}: timestamps of shape {array.shape} for {count} poses")
    return array.astype(np.float64)
