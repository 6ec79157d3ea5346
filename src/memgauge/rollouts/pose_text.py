"""Poses in text files: TUM, KITTI and RealEstate10K lines, and plain rows of 16 numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from memgauge.errors import InputError
from memgauge.rollouts.track import MAXIMUM_POSES, Floats, PoseFile, intrinsic_matrices

_MAXIMUM_BYTES = 256 << 20
_COLUMNS = {8: "tum", 12: "kitti", 16: "matrices", 19: "realestate10k"}


def read_text(path: Path) -> str:
    """Return the content of a text file of at most 256 MiB. Raises `InputError` for anything else."""
    try:
        if path.stat().st_size > _MAXIMUM_BYTES:
            raise InputError(f"{path}: a text file of more than 256 MiB")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text") from error


def number_rows(text: str, source: str) -> tuple[Floats, int]:
    """Return the rows of numbers [N, columns] of a text, comments and a first line with a web address left out.

    All rows must have the same number of columns. The second value is the line of the first row.
    """
    rows: list[list[float]] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split("#", 1)[0].replace(",", " ").split()
        if not cells or (not rows and "://" in line):
            continue
        try:
            row = [float(cell) for cell in cells]
        except ValueError:
            raise InputError(f"{source}, line {number}: {line.strip()[:60]!r} is not a row of numbers") from None
        if rows and len(row) != len(rows[0]):
            raise InputError(f"{source}, line {number}: {len(row)} numbers where the first row has {len(rows[0])}")
        if len(rows) >= MAXIMUM_POSES:
            raise InputError(f"{source}: more than {MAXIMUM_POSES:,} poses")
        first = first or number
        rows.append(row)
    if not rows:
        raise InputError(f"{source}: no poses in it")
    return np.array(rows), first


def read_rows(path: Path, format: str | None = None) -> PoseFile:
    """Read a TUM, KITTI, RealEstate10K or matrix text file, told apart by the number of columns.

    TUM: time x y z qx qy qz qw, camera-to-world. KITTI: 12 numbers, camera-to-world. RealEstate10K: time in
    microseconds, fx fy cx cy in image widths and heights, two zeros, 12 numbers world-to-camera.
    """
    source = str(path)
    rows, first = number_rows(read_text(path), source)
    found = _COLUMNS.get(rows.shape[1])
    if found is None or format not in (None, found):
        known = ", ".join(f"{name} {count}" for count, name in _COLUMNS.items())
        raise InputError(f"{source}, line {first}: {rows.shape[1]} numbers in a row; known are {known}")
    if found == "tum":
        matrices = quaternion_poses(rows[:, [7, 4, 5, 6]], rows[:, 1:4])
        return PoseFile(matrices, "tum", source, "c2w", times=rows[:, 0])
    if found == "realestate10k":
        return PoseFile(
            rows[:, 7:].reshape(-1, 3, 4),
            "realestate10k",
            source,
            "w2c",
            times=rows[:, 0] / 1e6,
            intrinsics=intrinsic_matrices(rows[:, 1:5], len(rows), source),
            normalised=True,
        )
    return PoseFile(rows.reshape(len(rows), -1, 4)[:, :3], found, source, "c2w")


def quaternion_poses(quaternions: Floats, translations: Floats) -> Floats:
    """Return [N, 3, 4] from quaternions [N, 4] (w, x, y, z; any length but zero) and translations [N, 3].

    A zero or non-finite quaternion gives a non-finite pose, which placing the track refuses by its number.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        w, x, y, z = (quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)).T
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        ).transpose(2, 0, 1)
    return np.concatenate([rotation, translations[:, :, None]], axis=2)
