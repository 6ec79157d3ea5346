"""Poses in JSON: transforms.json of nerfstudio and Blender (OpenGL axes), and plain lists of matrices."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from memgauge.errors import InputError
from memgauge.rollouts.pose_arrays import pose_matrices
from memgauge.rollouts.pose_colmap import frame_numbers
from memgauge.rollouts.pose_text import read_text
from memgauge.rollouts.track import Floats, PoseFile, intrinsic_matrices


def read_json(path: Path) -> PoseFile:
    """Read transforms.json (camera-to-world, OpenGL axes), or a list of 4x4 or 3x4 matrices (camera-to-world,
    OpenCV).
    """
    source = str(path)
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if isinstance(document, dict) and isinstance(document.get("frames"), list):
        return _transforms(document, source)
    key = None
    if isinstance(document, dict):
        key = next((key for key in ("poses_c2w", "poses", "poses_w2c") if key in document), None)
        document = document.get(key)
    if not isinstance(document, list):
        raise InputError(f"{path}: neither transforms.json (a list `frames`) nor a list of pose matrices")
    return PoseFile(
        pose_matrices(_array(document, source), source), "json", source, "w2c" if key == "poses_w2c" else "c2w"
    )


def _transforms(document: dict[str, Any], source: str) -> PoseFile:
    entries = document["frames"]
    if not entries or not all(isinstance(entry, dict) and "transform_matrix" in entry for entry in entries):
        raise InputError(f"{source}: every entry of `frames` needs a transform_matrix")
    matrices = pose_matrices(_array([entry["transform_matrix"] for entry in entries], source), source)
    names = [str(entry.get("file_path", "")) for entry in entries]
    if all(names):
        frames, warnings = frame_numbers(names, source)
    else:
        frames, warnings = np.arange(len(entries)), ("entries without file_path: taken in their order",)
    order = np.argsort(frames, kind="stable")
    rows = [_camera(entry, document) for entry in entries]
    intrinsics = None
    if all(row is not None for row in rows):
        intrinsics = intrinsic_matrices(np.array(rows, dtype=np.float64)[order], len(rows), source)
    return PoseFile(
        matrices[order],
        "transforms",
        source,
        "c2w",
        frames[order],
        intrinsics=intrinsics,
        opengl=True,
        warnings=warnings,
    )


def _camera(entry: dict[str, Any], document: dict[str, Any]) -> list[float] | None:
    """Return fx, fy, cx, cy of one frame, its own values before those of the document; None where they are missing."""

    def value(name: str) -> float | None:
        found = entry.get(name, document.get(name))
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

    width, height, angle = value("w"), value("h"), value("camera_angle_x")
    focal = value("fl_x")
    if focal is None and width is not None and angle is not None and 0 < angle < math.pi:
        focal = 0.5 * width / math.tan(0.5 * angle)
    center_x = value("cx") if value("cx") is not None else None if width is None else 0.5 * width
    center_y = value("cy") if value("cy") is not None else None if height is None else 0.5 * height
    if focal is None or center_x is None or center_y is None:
        return None
    vertical = value("fl_y")
    return [focal, focal if vertical is None else vertical, center_x, center_y]


def _array(values: list[Any], source: str) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"{source}: the matrices are not all 4x4 or all 3x4 numbers") from error
