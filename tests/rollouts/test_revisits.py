"""Revisit pairs against the plain double loop, and the rules one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from memgauge.errors import InputError
from memgauge.rollouts import revisits as module
from memgauge.rollouts.revisits import RevisitOptions, RevisitPair, find_revisits, is_jitter, thin
from memgauge.rollouts.track import CameraTrack


def track_of(centre: np.ndarray, yaw: np.ndarray | None = None, frames: np.ndarray | None = None) -> CameraTrack:
    count = len(centre)
    angles = np.zeros(count) if yaw is None else yaw
    rotation = Rotation.from_euler("y", angles[:, None]).as_matrix()
    numbers = np.arange(count) if frames is None else frames
    return CameraTrack(rotation, centre, numbers, None, np.arange(count), "test", "test", "c2w")


def naive(track: CameraTrack, times: np.ndarray, fps: float, options: RevisitOptions) -> list[tuple[Any, ...]]:
    count = len(track)
    extent = max(float(np.linalg.norm(track.centre - track.centre[0], axis=1).max()), 1e-30)

    quaternions = Rotation.from_matrix(track.rotation).as_quat()
    angle = 2 * np.arccos(np.clip(np.abs(quaternions @ quaternions.T), 0, 1))
    away = np.linalg.norm(track.centre[:, None] - track.centre, axis=2)
    # The arc cosine has a floor near zero that the chord has not.
    table = away / extent + np.where(angle < 1e-7, 0, angle) / np.pi
    least = max(round(options.min_gap * fps), 1)
    found = []
    for j in range(count):
        allowed = [i for i in range(j) if track.frames[j] - track.frames[i] >= least]
        if not allowed:
            continue
        # The first of equal distances; rotations through two different formulas agree to 1e-8.
        smallest = min(table[i, j] for i in allowed)
        i = next(i for i in allowed if table[i, j] <= smallest + 1e-8)
        between = table[i, i + 1 : j]
        if table[i, j] <= options.max_distance + 1e-9 and between.size and between.max() >= 0.45 - 1e-9:
            found.append((i, j, table[i, j], between.max()))
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(5, 60), st.sampled_from([0.0, 0.01]), st.booleans())
def test_pairs_equal_the_double_loop(seed: int, count: int, noise: float, holes: bool) -> None:
    rng = np.random.default_rng(seed)
    steps = rng.integers(-1, 2, count).cumsum()
    centre = np.stack([0.3 * steps, 0.1 * (steps % 3), np.zeros(count)], axis=1) + noise * rng.normal(size=(count, 3))
    yaw = 0.4 * rng.integers(-1, 2, count).cumsum()
    frames = np.cumsum(rng.integers(1, 3, count)) if holes else np.arange(count)
    track = track_of(centre, yaw, frames)
    if is_jitter(track.centre) or np.linalg.norm(centre - centre[0], axis=1).max() < 1e-3:
        return
    options = RevisitOptions(max_pairs=0, min_gap=0.5)
    found = find_revisits(track, frames / 8.0, 8.0, options)
    want = naive(track, frames / 8.0, 8.0, options)
    assert [(p.first_index, p.revisit_index) for p in found.pairs] == [(i, j) for i, j, *_ in want]
    assert [p.pose_distance for p in found.pairs] == pytest.approx([d for *_, d, _ in want], abs=1e-8)
    assert [p.excursion for p in found.pairs] == pytest.approx([e for *_, e in want], abs=1e-8)
    for pair in found.pairs:
        assert pair.gap_seconds == pytest.approx((pair.revisit_frame - pair.first_frame) / 8.0)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    t = np.arange(400)
    track = track_of(np.stack([np.sin(t / 9), np.cos(t / 7), 0 * t], axis=1), 0.5 * np.sin(t / 11))
    whole = find_revisits(track, t / 10.0, 10.0, RevisitOptions())
    monkeypatch.setattr(module, "_BLOCK", 700)
    cut = find_revisits(track, t / 10.0, 10.0, RevisitOptions())
    for name in ("first_index", "revisit_index", "event", "pose_distance", "excursion"):
        # Inner products of other block sizes round differently.
        got, want = ([getattr(pair, name) for pair in one.pairs] for one in (cut, whole))
        assert got == pytest.approx(want, abs=1e-12)
    assert len(whole.pairs) > 20


def out_and_back(count: int = 121) -> np.ndarray:
    x = 1 - np.abs(np.linspace(-1, 1, count))
    return np.stack([x, 0 * x, 0 * x], axis=1)


def test_a_dolly_loop_has_no_short_gaps() -> None:
    centre = out_and_back(1441)
    found = find_revisits(track_of(centre), np.arange(1441) / 24, 24.0, RevisitOptions())
    assert found.reason is None
    assert found.turnaround_index == 720
    gaps = [pair.gap_seconds for pair in found.kept]
    # The view next to the turn is 0.45 of the path away from it on both sides.
    assert min(gaps) == pytest.approx(0.45 * 60, abs=4.6)
    assert max(gaps) == 60.0
    assert len(found.kept) == 24
    assert found.event_count == 1


def test_bars_are_inclusive() -> None:
    # Distances exactly at the bars, written so that they are not representable: 0.15 and 0.45 of the extent.
    x = np.array([0.0, 0.45, 1.0, 0.45, 0.15])
    found = find_revisits(track_of(np.stack([x, 0 * x, 0 * x], axis=1)), np.arange(5.0), 1.0, RevisitOptions())
    assert [(p.first_index, p.revisit_index) for p in found.pairs] == [(1, 3), (0, 4)]
    assert found.pairs[1].pose_distance == pytest.approx(0.15, abs=1e-12)


def test_the_first_of_equal_views_counts() -> None:
    x = np.array([0, 0, 0, 1, 1, 0, 0.0])
    found = find_revisits(track_of(np.stack([x, 0 * x, 0 * x], axis=1)), np.arange(7.0), 1.0, RevisitOptions())
    assert [(p.first_index, p.revisit_index) for p in found.pairs] == [(0, 5), (0, 6)]


def test_never_departed_and_never_returned() -> None:
    rest = np.tile([1.0, 2, 3], (100, 1))
    still = find_revisits(track_of(rest), np.arange(100) / 10, 10.0, RevisitOptions())
    assert (still.reason, still.departed, still.scale_is_degenerate) == ("never_departed", False, True)
    away = np.stack([np.linspace(0, 1, 100), np.zeros(100), np.zeros(100)], axis=1)
    gone = find_revisits(track_of(away), np.arange(100) / 10, 10.0, RevisitOptions())
    assert (gone.reason, gone.departed, gone.returned) == ("never_returned", True, False)


def test_gaps_are_taken_on_native_frames() -> None:
    # Every fourth frame has a pose: 31 rows are 12 seconds at 10 frames a second, not 3.
    centre = out_and_back(31)
    frames = np.arange(31) * 4
    found = find_revisits(track_of(centre, frames=frames), frames / 10.0, 10.0, RevisitOptions())
    assert found.kept[-1].gap_seconds == 12.0
    assert found.kept[-1].revisit_frame == 120


def test_jitter_is_no_scale(rng: np.random.Generator) -> None:
    t = np.arange(240)
    yaw = np.radians(90) * np.sin(2 * np.pi * t / 240)
    noise = 1e-3 * rng.normal(size=(240, 3))
    assert is_jitter(noise)
    found = find_revisits(track_of(noise, yaw), t / 10.0, 10.0, RevisitOptions())
    assert found.scale_is_degenerate
    assert found.reason is None
    # Without the rule the noise would count in full; a scale given by the user is taken.
    scaled = find_revisits(track_of(noise, yaw), t / 10.0, 10.0, RevisitOptions(scale=1.0))
    assert not scaled.scale_is_degenerate
    assert len(scaled.pairs) == pytest.approx(len(found.pairs), abs=10)
    # Moving cameras are not jitter: fast circles, slow loops, slow loops with noise.
    for period in (8, 60, 240):
        circle = np.stack([np.cos(2 * np.pi * t / period), np.sin(2 * np.pi * t / period), 0 * t], axis=1)
        assert not is_jitter(circle)
    assert not is_jitter(out_and_back(240))
    assert not is_jitter(out_and_back(240) + noise)


def test_a_pure_rotation_needs_81_degrees() -> None:
    for degrees, reason in ((80.0, "never_departed"), (82.0, None)):
        t = np.arange(121)
        yaw = np.radians(degrees) * (1 - np.abs(np.linspace(-1, 1, 121)))
        found = find_revisits(track_of(np.zeros((121, 3)), yaw), t / 10, 10.0, RevisitOptions())
        assert found.reason == reason


def test_events_are_sweeps() -> None:
    # Three stays at one place of two seconds each, with new places in between: the second and third are events.
    stay = np.zeros(20)
    x = np.concatenate([stay, np.linspace(1, 2, 20), stay, np.linspace(3, 4, 20), stay])
    found = find_revisits(track_of(np.stack([x, 0 * x, 0 * x], axis=1)), np.arange(100) / 10, 10.0, RevisitOptions())
    assert found.event_count == 2
    assert [pair.event for pair in found.pairs] == [0] * 20 + [1] * 20
    # A camera that swings without a break makes one event, however often it comes by.
    x = np.concatenate([1 - np.abs(np.linspace(-1, 1, 61))[:-1]] * 3)
    found = find_revisits(track_of(np.stack([x, 0 * x, 0 * x], axis=1)), np.arange(180) / 10, 10.0, RevisitOptions())
    assert found.event_count == 1
    assert sorted({pair.event for pair in found.pairs}) == list(range(found.event_count))


def pair(gap: float, distance: float) -> RevisitPair:
    return RevisitPair(0, 1, 0, 1, gap, distance, 0.0, 0.0, 1.0, 0)


def test_thinning_takes_the_nearest_of_each_bin_and_both_ends() -> None:
    pairs = tuple(pair(float(gap), 0.1 - 0.0001 * gap) for gap in range(1, 101))
    kept = thin(pairs, 10)
    assert len(kept) == 10
    assert kept[0].gap_seconds == 1
    assert kept[-1].gap_seconds == 100
    # Inside, the largest gap of a bin is the nearest here; bin k holds gaps up to 1 + 9.9 (k + 1).
    assert [p.gap_seconds for p in kept[1:-1]] == [20, 30, 40, 50, 60, 70, 80, 90]
    assert thin(pairs, 0) == pairs
    assert thin(pairs[:10], 10) == pairs[:10]
    tie = (pair(1, 0.1), pair(50, 0.05), pair(51, 0.05), pair(100, 0.1))
    assert [p.gap_seconds for p in thin(tie, 3)] == [1, 50, 100]
    assert len(thin(tuple(pair(5.0, 0.01 * k) for k in range(1, 9)), 3)) == 1


@pytest.mark.parametrize(
    "change", [{"max_distance": 0}, {"min_gap": -1}, {"scale": 0.0}, {"max_pairs": -1}, {"rotation_weight": math.nan}]
)
def test_options_are_checked(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        replace(RevisitOptions(), **change)
