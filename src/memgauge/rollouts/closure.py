"""Geometric closure: do points matched between the two frames of a revisit pair obey the two cameras?

SIFT matches (ratio test 0.75, best 400, at least 12) against the epipolar lines of the given poses, in pixels:
exp(-e / 4), e the median of the mean point-line distance. With a baseline, matches are also triangulated: exp(-e /
8), e the mean of the two median reprojection errors, and the two scores are averaged. Without a baseline the epipolar
constraint is empty (any matches would score 1), so matches are held against the rotation homography K_B R K_A^-1
instead (extension).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memgauge.rollouts.revisits import RevisitPair
from memgauge.rollouts.track import CameraTrack, Floats
from memgauge.rollouts.video import Image

RATIO = 0.75
BEST_MATCHES = 400
LEAST_MATCHES = 12
EPIPOLAR_PIXELS = 4.0
REPROJECTION_PIXELS = 8.0
LEAST_BASELINE = 1e-6
_FEATURES = 4000


@dataclass(frozen=True)
class ClosureScore:
    """The closure of one pair; errors are in pixels, the one that does not apply is None."""

    score: float
    matches: int
    model: Literal["epipolar", "rotation"]
    line_error: float | None = None
    reprojection_error: float | None = None
    transfer_error: float | None = None


class Keypoints:
    """SIFT keypoints of the frames of a video, taken while it is decoded."""

    def __init__(self) -> None:
        import cv2

        self._detector = cv2.SIFT.create(nfeatures=_FEATURES)
        self.found: dict[int, tuple[Floats, NDArray[np.float32]]] = {}

    def see(self, frame: int, image: Image) -> None:
        """Find the keypoints of one frame."""
        import cv2

        points, descriptors = self._detector.detectAndCompute(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), None)
        places = np.array([point.pt for point in points], dtype=np.float64).reshape(-1, 2)
        empty = np.zeros((0, 128), dtype=np.float32)
        self.found[frame] = (places, empty if descriptors is None else descriptors)

    def matches(self, first: int, second: int) -> tuple[Floats, Floats]:
        """Return matched points of two frames, [M, 2] each, the best first."""
        import cv2

        (places_a, a), (places_b, b) = self.found[first], self.found[second]
        if len(a) < 2 or len(b) < 2:
            return np.zeros((0, 2)), np.zeros((0, 2))
        pairs: list[Any] = [pair for pair in cv2.BFMatcher(cv2.NORM_L2).knnMatch(a, b, k=2) if len(pair) == 2]
        good = [best for best, second_best in pairs if best.distance < RATIO * second_best.distance]
        good.sort(key=lambda match: (match.distance, match.queryIdx))
        good = good[:BEST_MATCHES]
        return (
            places_a[[match.queryIdx for match in good]],
            places_b[[match.trainIdx for match in good]],
        )


def closure(
    pair: RevisitPair, track: CameraTrack, points: tuple[Floats, Floats], *, still: bool
) -> ClosureScore | None:
    """Return the closure of a pair from its matched points, or None when there are fewer than twelve.

    `still` says that the camera centres of this track are noise: then all pairs are taken as pure rotations.
    """
    x_a, x_b = points
    if len(x_a) < LEAST_MATCHES:
        return None
    assert track.intrinsics is not None
    i, j = pair.first_index, pair.revisit_index
    k_a, k_b = track.intrinsics[i], track.intrinsics[j]
    rotation = track.rotation[j].T @ track.rotation[i]
    shift = track.rotation[j].T @ (track.centre[i] - track.centre[j])
    if still or np.linalg.norm(shift) <= LEAST_BASELINE:
        error = _transfer_error(k_b @ rotation @ np.linalg.inv(k_a), x_a, x_b)
        return ClosureScore(float(np.exp(-error / EPIPOLAR_PIXELS)), len(x_a), "rotation", transfer_error=error)
    line = _line_error(_fundamental(k_a, k_b, rotation, shift), x_a, x_b)
    scores = [np.exp(-line / EPIPOLAR_PIXELS)]
    again = _reprojection_error(k_a, k_b, rotation, shift, x_a, x_b)
    if again is not None:
        scores.append(np.exp(-again / REPROJECTION_PIXELS))
    return ClosureScore(float(np.mean(scores)), len(x_a), "epipolar", line_error=line, reprojection_error=again)


def _fundamental(k_a: Floats, k_b: Floats, rotation: Floats, shift: Floats) -> Floats:
    x, y, z = shift
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    matrix: Floats = np.linalg.inv(k_b).T @ cross @ rotation @ np.linalg.inv(k_a)
    return matrix


def _homogeneous(points: Floats) -> Floats:
    return np.concatenate([points, np.ones((len(points), 1))], axis=1)


def _line_error(fundamental: Floats, x_a: Floats, x_b: Floats) -> float:
    """Return the median over matches of the mean distance of both points to their epipolar lines, in pixels."""
    a, b = _homogeneous(x_a), _homogeneous(x_b)
    lines_b, lines_a = a @ fundamental.T, b @ fundamental
    product = np.abs((b * lines_b).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = 0.5 * (
            product / np.linalg.norm(lines_b[:, :2], axis=1) + product / np.linalg.norm(lines_a[:, :2], axis=1)
        )
    return float(np.median(np.nan_to_num(distance, nan=0.0, posinf=1e9)))


def _transfer_error(homography: Floats, x_a: Floats, x_b: Floats) -> float:
    """Return the median over matches of the mean distance to the transferred point, both ways, in pixels."""
    errors = []
    for matrix, source, target in ((homography, x_a, x_b), (np.linalg.inv(homography), x_b, x_a)):
        moved = _homogeneous(source) @ matrix.T
        with np.errstate(divide="ignore", invalid="ignore"):
            errors.append(np.linalg.norm(moved[:, :2] / moved[:, 2:] - target, axis=1))
    return float(np.median(np.nan_to_num(np.mean(errors, axis=0), nan=1e9, posinf=1e9)))


def _reprojection_error(
    k_a: Floats, k_b: Floats, rotation: Floats, shift: Floats, x_a: Floats, x_b: Floats
) -> float | None:
    """Triangulate linearly and return the mean of the two median reprojection errors, None when no point is finite."""
    import cv2

    camera_a = k_a @ np.eye(3, 4)
    camera_b = k_b @ np.concatenate([rotation, shift[:, None]], axis=1)
    found = cv2.triangulatePoints(camera_a, camera_b, np.ascontiguousarray(x_a.T), np.ascontiguousarray(x_b.T))
    medians = []
    for camera, seen in ((camera_a, x_a), (camera_b, x_b)):
        image = (camera @ found).T
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.linalg.norm(image[:, :2] / image[:, 2:] - seen, axis=1)
        error = error[np.isfinite(error)]
        if not error.size:
            return None
        medians.append(float(np.median(error)))
    return float(np.mean(medians))
