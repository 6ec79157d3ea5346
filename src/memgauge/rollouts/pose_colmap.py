"""COLMAP models: images.txt or images.bin (world-to-camera), with cameras beside them for the intrinsics."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.rollouts.pose_text import quaternion_poses, read_text
from memgauge.rollouts.track import MAXIMUM_POSES, PoseFile, intrinsic_matrices

# Model number: (name, parameters, positions of fx, fy, cx, cy among them).
_MODELS: dict[int, tuple[str, int, tuple[int, int, int, int]]] = {
    0: ("SIMPLE_PINHOLE", 3, (0, 0, 1, 2)),
    1: ("PINHOLE", 4, (0, 1, 2, 3)),
    2: ("SIMPLE_RADIAL", 4, (0, 0, 1, 2)),
    3: ("RADIAL", 5, (0, 0, 1, 2)),
    4: ("OPENCV", 8, (0, 1, 2, 3)),
    5: ("OPENCV_FISHEYE", 8, (0, 1, 2, 3)),
    6: ("FULL_OPENCV", 12, (0, 1, 2, 3)),
    7: ("FOV", 5, (0, 1, 2, 3)),
    8: ("SIMPLE_RADIAL_FISHEYE", 4, (0, 0, 1, 2)),
    9: ("RADIAL_FISHEYE", 5, (0, 0, 1, 2)),
    10: ("THIN_PRISM_FISHEYE", 12, (0, 1, 2, 3)),
}
_BY_NAME = {name: (count, places) for name, count, places in _MODELS.values()}
_MAXIMUM_BYTES = 4 << 30
_IMAGE_HEAD = struct.Struct("<I7dI")
_CAMERA_HEAD = struct.Struct("<IiQQ")


@dataclass(frozen=True)
class _Image:
    quaternion: Sequence[float]
    translation: Sequence[float]
    camera: int
    name: str


def read_colmap(path: Path) -> PoseFile:
    """Read images.txt or images.bin, or the folder that holds one (itself, sparse/0 or sparse)."""
    file = find_images(path)
    if file is None:
        raise InputError(f"{path}: no images.bin or images.txt in it, in sparse/0 or in sparse")
    images = _binary_images(file) if file.suffix == ".bin" else _text_images(file)
    if not images:
        raise InputError(f"{file}: no images in it")
    frames, warning = frame_numbers([image.name for image in images], str(file))
    order = np.argsort(frames, kind="stable")
    matrices = quaternion_poses(
        np.array([image.quaternion for image in images]), np.array([image.translation for image in images])
    )
    cameras = _cameras(file.parent)
    intrinsics = None
    if cameras and all(image.camera in cameras for image in images):
        rows = np.array([cameras[image.camera] for image in images])
        intrinsics = intrinsic_matrices(rows[order], len(images), str(file.parent))
    return PoseFile(
        matrices[order], "colmap", str(file), "w2c", np.sort(frames), intrinsics=intrinsics, warnings=warning
    )


def find_images(path: Path) -> Path | None:
    """Return the images file of a COLMAP model at or under `path`."""
    if path.is_file():
        return path
    places = [path / place / name for place in (".", "sparse/0", "sparse") for name in ("images.bin", "images.txt")]
    return next((place for place in places if place.is_file()), None)


def frame_numbers(names: Sequence[str], source: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the frame number in each image name: the last run of digits of its stem; without digits, the name's rank.

    Numbers that start at 1 (as video tools count) are moved to start at 0.
    """
    stems = [Path(name).stem for name in names]
    digits = ["".join(c if c.isdigit() and c.isascii() else " " for c in stem).split() for stem in stems]
    if all(digits):
        numbers = np.array([int(runs[-1][-18:]) for runs in digits], dtype=np.int64)
        if len(np.unique(numbers)) != len(numbers):
            raise InputError(f"{source}: two images have the same frame number in their names")
        if numbers.min() == 1:
            return numbers - 1, ("image names count from 1: frame n is image n + 1",)
        return numbers, ()
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[np.argsort(np.array(names), kind="stable")] = np.arange(len(names))
    return ranks, ("image names carry no frame numbers: taken in the order of their names",)


def _text_images(path: Path) -> list[_Image]:
    """Read images.txt: two lines an image, the second (the points, perhaps empty) is left out."""
    images: list[_Image] = []
    lines = [
        (number, line)
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if not line.lstrip().startswith("#")
    ]
    for number, line in lines[::2]:
        cells = line.split(maxsplit=9)
        if not cells:
            continue
        try:
            numbers = [float(cell) for cell in cells[1:8]]
            images.append(_Image(numbers[:4], numbers[4:], int(cells[8]), cells[9]))
        except (ValueError, IndexError):
            raise InputError(
                f"{path}, line {number}: expected IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME, then a line of points"
            ) from None
    return images


def _binary_images(path: Path) -> list[_Image]:
    data = _bytes(path)
    images: list[_Image] = []
    try:
        (count,) = struct.unpack_from("<Q", data, 0)
        if count > MAXIMUM_POSES:
            raise InputError(f"{path}: {count:,} images; at most {MAXIMUM_POSES:,} are read")
        at = 8
        for _ in range(count):
            head = _IMAGE_HEAD.unpack_from(data, at)
            at += _IMAGE_HEAD.size
            end = data.index(b"\0", at)
            name = data[at:end].decode("utf-8", "replace")
            (points,) = struct.unpack_from("<Q", data, end + 1)
            at = end + 9 + 24 * points
            images.append(_Image(head[1:5], head[5:8], head[8], name))
    except (struct.error, ValueError) as error:
        raise InputError(f"{path}: not a COLMAP images file, or cut short: {error}") from error
    if at > len(data):
        raise InputError(f"{path}: cut short")
    return images


def _cameras(folder: Path) -> dict[int, list[float]]:
    """Return fx, fy, cx, cy of each camera; distortion is left out. Empty when there is no cameras file."""
    binary, text = folder / "cameras.bin", folder / "cameras.txt"
    cameras: dict[int, list[float]] = {}
    if binary.is_file():
        data = _bytes(binary)
        try:
            (count,) = struct.unpack_from("<Q", data, 0)
            at = 8
            for _ in range(min(count, MAXIMUM_POSES)):
                number, model, _, _ = _CAMERA_HEAD.unpack_from(data, at)
                at += _CAMERA_HEAD.size
                if model not in _MODELS:
                    raise InputError(f"{binary}: camera {number} has the unknown model {model}")
                _, parameters, places = _MODELS[model]
                values = struct.unpack_from(f"<{parameters}d", data, at)
                at += 8 * parameters
                cameras[number] = [values[place] for place in places]
        except struct.error as error:
            raise InputError(f"{binary}: not a COLMAP cameras file, or cut short: {error}") from error
    elif text.is_file():
        for number, line in enumerate(read_text(text).splitlines(), 1):
            cells = line.split("#", 1)[0].split()
            if not cells:
                continue
            try:
                count, places = _BY_NAME[cells[1]]
                parameters_given = [float(cell) for cell in cells[4 : 4 + count]]
                cameras[int(cells[0])] = [parameters_given[place] for place in places]
            except (KeyError, IndexError, ValueError):
                raise InputError(f"{text}, line {number}: not a camera of a known model") from None
    return cameras


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MAXIMUM_BYTES:
            raise InputError(f"{path}: more than 4 GiB")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
