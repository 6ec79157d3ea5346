"""The metrics beside the half-life: exact on made geometry, honest where they do not apply."""

from __future__ import annotations

import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from rollout_scenes import HEIGHT, WIDTH, K, pose, render, texture, write_video
from scipy.spatial.transform import Rotation

from memgauge.errors import InputError
from memgauge.rollouts.closure import closure
from memgauge.rollouts.measure import measure
from memgauge.rollouts.rendering import MeanColours
from memgauge.rollouts.revisits import RevisitPair
from memgauge.rollouts.scene import SceneScore, scene_f1
from memgauge.rollouts.siblings import SiblingObservers, sibling_scores
from memgauge.rollouts.track import CameraTrack

STEPS = np.abs(np.arange(97) % 48 - 24) / 24 - 0.5


def track_of(poses: np.ndarray, intrinsics: np.ndarray | None = K, source: str = "p") -> CameraTrack:
    count = len(poses)
    matrices = None if intrinsics is None else np.tile(intrinsics, (count, 1, 1))
    numbers = np.arange(count)
    return CameraTrack(poses[:, :3, :3], poses[:, :3, 3], numbers, matrices, numbers, source, "npy", "c2w")


PAIR = RevisitPair(0, 1, 0, 1, 1.0, 0.1, 0.1, 0.0, 1.0, 0)


def project(points: np.ndarray, camera: np.ndarray) -> np.ndarray:
    inside = (points - camera[:3, 3]) @ camera[:3, :3]
    image = inside @ K.T
    return np.asarray(image[:, :2] / image[:, 2:])


@pytest.fixture
def cloud(rng: np.random.Generator) -> np.ndarray:
    return np.stack([rng.uniform(-2, 2, 200), rng.uniform(-2, 2, 200), rng.uniform(3, 6, 200)], axis=1)


def test_exact_matches_close_exactly(cloud: np.ndarray) -> None:
    second = pose(0.4, 0.2)
    second[:3, 3] += [0.0, 0.1, -0.2]
    track = track_of(np.stack([pose(0.0), second]))
    found = closure(PAIR, track, (project(cloud, pose(0.0)), project(cloud, second)), still=False)
    assert found is not None
    assert found.model == "epipolar"
    assert found.line_error == pytest.approx(0, abs=1e-9)
    assert found.reprojection_error == pytest.approx(0, abs=1e-6)
    assert found.score == pytest.approx(1)


def test_matches_off_their_line_by_two_pixels(cloud: np.ndarray) -> None:
    # The cameras are side by side: epipolar lines are rows, and both points are 2 pixels off.
    track = track_of(np.stack([pose(0.0), pose(0.5)]))
    a, b = project(cloud, pose(0.0)), project(cloud, pose(0.5)) + np.array([0.0, 2.0])
    found = closure(PAIR, track, (a, b), still=False)
    assert found is not None
    assert found.line_error == pytest.approx(2.0, abs=1e-9)
    # Triangulation shares the two pixels between the images.
    assert found.reprojection_error == pytest.approx(1.0, abs=0.05)
    assert found.score == pytest.approx((math.exp(-2 / 4) + math.exp(-1 / 8)) / 2, abs=0.01)


def test_without_a_baseline_wrong_matches_do_not_pass(cloud: np.ndarray, rng: np.random.Generator) -> None:
    turned = pose(0.0, 0.3)
    track = track_of(np.stack([pose(0.0), turned]))
    a, b = project(cloud, pose(0.0)), project(cloud, turned)
    right = closure(PAIR, track, (a, b), still=False)
    assert right is not None
    assert right.model == "rotation"
    assert right.score == pytest.approx(1)
    wrong = closure(PAIR, track, (a, rng.permutation(b)), still=False)
    assert wrong is not None
    assert wrong.score < 1e-3
    moved = closure(PAIR, track_of(np.stack([pose(0.0), pose(0.0)])), (a, a + np.array([3.0, 4.0])), still=False)
    assert moved is not None
    assert moved.transfer_error == pytest.approx(5)
    assert moved.score == pytest.approx(math.exp(-5 / 4))


def test_noise_in_resting_cameras_is_no_baseline(cloud: np.ndarray) -> None:
    jitter = pose(0.0)
    jitter[:3, 3] = [1e-3, -1e-3, 1e-3]
    track = track_of(np.stack([pose(0.0), jitter]))
    found = closure(PAIR, track, (project(cloud, pose(0.0)), project(cloud, pose(0.0))), still=True)
    assert found is not None
    assert found.model == "rotation"


def test_few_matches_are_no_score(cloud: np.ndarray) -> None:
    points = project(cloud[:11], pose(0.0))
    assert closure(PAIR, track_of(np.stack([pose(0.0), pose(0.5)])), (points, points), still=False) is None


def test_light_and_colour_decay_with_their_scales() -> None:
    colours = MeanColours()
    grey = np.full((8, 8, 3), 128, dtype=np.uint8)
    colours.see(0, grey)
    colours.see(1, np.full((8, 8, 3), 150, dtype=np.uint8))
    red = np.tile(np.array([160, 110, 110], dtype=np.uint8), (8, 8, 1))
    colours.see(2, red)
    light = abs(colours.found[0][0] - colours.found[1][0])
    assert light == pytest.approx(8.4, abs=0.3)
    score = colours.score(0, 1)
    assert score["light"] == pytest.approx(math.exp(-light / 6))
    assert score["colour"] == pytest.approx(1, abs=3e-3)
    assert score["score"] == pytest.approx((score["light"] + score["colour"]) / 2)
    distance = np.linalg.norm(colours.found[0][1:] - colours.found[2][1:])
    assert colours.score(0, 2)["colour"] == pytest.approx(math.exp(-distance / 8))
    assert colours.score(2, 2)["score"] == 1.0


def depth_scene(folder: Path, poses: np.ndarray, bump: float = 0.0) -> CameraTrack:
    """A wall at z = 4 seen by every camera; after the turn a part of it is nearer by `bump`."""
    v, u = np.mgrid[:HEIGHT:4, :WIDTH:4]
    small = K / np.array([[4.0], [4.0], [1.0]])
    depth = np.zeros((len(poses), *u.shape), dtype=np.float32)
    for row, camera in enumerate(poses):
        rays = np.linalg.inv(small) @ np.stack([u.ravel() / 4, v.ravel() / 4, np.ones(u.size)])
        directions = camera[:3, :3] @ rays
        distance = (4.0 - camera[2, 3]) / directions[2]
        if row >= len(poses) // 2:
            x = camera[0, 3] + distance * directions[0]
            distance = np.where(np.abs(x) < 0.5, distance - bump, distance)
        depth[row] = distance.reshape(u.shape)
    np.save(folder / "depth_metric.npy", depth)
    mask = np.ones(depth.shape, dtype=bool)
    mask[:, 0] = False
    np.savez(folder / "depth_valid_mask.npz", mask=mask)
    return track_of(poses, small, str(folder / "poses_c2w.npy"))


def test_scene_f1(tmp_path: Path) -> None:
    poses = np.stack([pose(x) for x in np.r_[np.linspace(0, 0.4, 10), np.linspace(0.4, 0, 10)]])
    same = scene_f1(depth_scene(tmp_path, poses), 9, tmp_path)
    assert isinstance(same, SceneScore)
    assert same.score == same.score_unaligned == pytest.approx(1.0)
    changed = scene_f1(depth_scene(tmp_path, poses, bump=0.6), 9, tmp_path)
    assert isinstance(changed, SceneScore)
    # The bump takes one metre of the 4.57 that a camera sees of the wall.
    assert changed.score_unaligned == pytest.approx(1 - 1 / 4.57, abs=0.04)
    assert scene_f1(depth_scene(tmp_path, poses), 19, tmp_path) == "too_few_frames"
    assert scene_f1(track_of(poses, None), 9, tmp_path) == "no_intrinsics"
    np.save(tmp_path / "depth_metric.npy", np.zeros((20, 5, 5), dtype=np.float32))
    (tmp_path / "depth_valid_mask.npz").unlink()
    assert scene_f1(track_of(poses), 9, tmp_path) == "no_valid_depth"
    np.save(tmp_path / "depth_metric.npy", np.zeros((3, 5, 5), dtype=np.float32))
    with pytest.raises(InputError, match="depth"):
        scene_f1(track_of(poses), 9, tmp_path)


def export(folder: Path, poses: np.ndarray, frames: list[np.ndarray], *, intrinsics: bool = True) -> Path:
    annotations = folder / "v_vipe_ann"
    annotations.mkdir()
    np.save(annotations / "poses_c2w.npy", poses)
    if intrinsics:
        np.save(annotations / "intrinsics.npy", np.tile(K, (len(poses), 1, 1)))
    return write_video(folder / "v.mp4", frames, 10)


def test_all_siblings_of_a_video(tmp_path: Path) -> None:
    # A slight sideways lag on the way back gives the pairs a baseline.
    poses = np.stack([pose(x + 0.02 * (i >= 48)) for i, x in enumerate(STEPS)])
    picture = texture(4)
    video = export(tmp_path, poses, [render(picture, camera) for camera in poses])
    seen = SiblingObservers()
    rollout = measure(video, observers=seen.all)
    scores = sibling_scores(rollout, seen)
    json.dumps(scores, allow_nan=False)
    assert scores["return_gate"]["score"] == 1
    assert scores["revisit_fidelity"]["score"] == pytest.approx(rollout.fidelity)
    assert scores["geometric_closure"]["score"] > 0.7
    assert scores["geometric_closure"]["pairs"] == len(rollout.pairs)
    assert scores["rendering_recovery"]["score"] > 0.75
    assert scores["rendering_recovery"]["parts"] == ["light", "colour"]
    assert scores["rendering_recovery"]["texture"] is None
    assert "not computed" in scores["rendering_recovery"]["note"]
    assert scores["scene_f1"] == {"status": "not_applicable", "reason": "no_depth", "score": None}


def test_a_forgotten_scene_fails_closure_and_recovery(tmp_path: Path) -> None:
    poses = np.stack([pose(x) for x in STEPS])
    first, other = texture(4), np.full_like(texture(5), 250)
    frames = [render(first if i < 24 else other, camera) for i, camera in enumerate(poses)]
    video = export(tmp_path, poses, frames)
    seen = SiblingObservers()
    scores = sibling_scores(measure(video, observers=seen.all), seen)
    assert scores["geometric_closure"]["reason"] == "too_few_matches"
    assert scores["rendering_recovery"]["light"] < 0.05
    assert scores["revisit_fidelity"]["score"] < 0.6


def test_reasons_without_tracks_and_pairs(tmp_path: Path) -> None:
    frames = [render(texture(1), pose(x)) for x in np.linspace(0, 1, 30)]
    video = write_video(tmp_path / "v.mp4", frames, 10)
    seen = SiblingObservers()
    assert {one["reason"] for one in sibling_scores(measure(video, observers=seen.all), seen).values()} == {"no_poses"}
    np.save(tmp_path / "v_poses.npy", np.stack([pose(x) for x in np.linspace(0, 1, 30)]))
    scores = sibling_scores(measure(video, observers=seen.all), seen)
    assert scores["return_gate"]["score"] == 0
    for name in ("revisit_fidelity", "geometric_closure", "rendering_recovery"):
        assert scores[name] == {"status": "not_applicable", "reason": "never_returned", "score": None}


def test_rotations_between_frames_of_one_place(tmp_path: Path) -> None:
    # Two looks at a far wall from one place: SIFT matches against the rotation homography.
    angles = np.r_[np.linspace(0, 0.1, 5)]
    poses = np.tile(np.eye(4), (5, 1, 1))
    poses[:, :3, :3] = Rotation.from_euler("y", angles[:, None]).as_matrix()
    picture = cv2.resize(texture(6), (WIDTH, HEIGHT))
    seen = SiblingObservers()
    for row in (0, 4):
        homography = K @ poses[row, :3, :3].T @ np.linalg.inv(K)
        seen.keypoints.see(row, cv2.warpPerspective(picture, homography, (WIDTH, HEIGHT)))
    pair = RevisitPair(0, 4, 0, 4, 1.0, 0.0, 0.0, 0.0, 1.0, 0)
    found = closure(pair, track_of(poses), seen.keypoints.matches(0, 4), still=False)
    assert found is not None
    assert found.model == "rotation"
    assert found.transfer_error is not None
    assert found.transfer_error < 1.0
