"""Times of the memory half-life, each against the obvious version of the same.

    python benchmarks/bench_half_life.py [--json] [--video-seconds 60]

A fit of 24 pairs with its interval; 9,999 permutations; the pairs of 1,440 and 14,400 poses; and a 720p video, scored
with the `grid` embedder, against decoding it once and embedding the frames of its pairs.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from memgauge.metrics.half_life import fit_half_life
from memgauge.metrics.half_life_permutation import permutation_p
from memgauge.metrics.half_life_profile import DecayProblem
from memgauge.rollouts.embedders import GridEmbedder
from memgauge.rollouts.measure import measure
from memgauge.rollouts.revisits import RevisitOptions, find_revisits
from memgauge.rollouts.track import CameraTrack
from memgauge.rollouts.video import frames_of, probe


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the median time of a call, after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def observations(pairs: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """A noisy decay."""
    rng = np.random.default_rng(0)
    gaps = np.linspace(1, 59, pairs)
    return gaps, np.clip(0.5 * np.exp(-gaps / 20) + 0.4 + rng.normal(0, 0.03, pairs), 0, 1)


def plain_permutations(gaps: np.ndarray, scores: np.ndarray, count: int) -> float:
    """The obvious permutation test: fit every order."""
    rng = np.random.default_rng(0)
    problem = DecayProblem(gaps, scores, "unit")
    tau = problem.grid()
    limit = float(problem.profile(tau).rss.min())
    hits = sum(
        DecayProblem(gaps, rng.permutation(scores), "unit").profile(tau).rss.min() <= limit for _ in range(count)
    )
    return float((1 + hits) / (1 + count))


def track(poses: int) -> CameraTrack:
    """A camera that swings and turns, with the noise of an estimate."""
    t = np.arange(poses) / 24
    rng = np.random.default_rng(0)
    centre = np.stack([np.sin(t / 5), 0 * t, np.cos(t / 7)], axis=1) + rng.normal(0, 1e-3, (poses, 3))
    yaw = 0.8 * np.sin(t / 3)
    rotation = np.zeros((poses, 3, 3))
    rotation[:, 0, 0] = rotation[:, 2, 2] = np.cos(yaw)
    rotation[:, 0, 2], rotation[:, 2, 0], rotation[:, 1, 1] = np.sin(yaw), -np.sin(yaw), 1
    rows = np.arange(poses)
    return CameraTrack(rotation, centre, rows, None, rows, "made", "made", "c2w")


def make_video(folder: Path, length: float) -> Path:
    """Write a 720p video of a textured picture that moves to and fro, with its camera track."""
    import av
    import cv2

    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (90, 240, 3), dtype=np.uint8)
    picture = cv2.resize(coarse, (1920, 720), interpolation=cv2.INTER_CUBIC)
    frames = round(length * 24)
    shift = 1 - np.abs(np.arange(frames) % 288 - 144) / 144
    poses = np.tile(np.eye(4), (frames, 1, 1))
    poses[:, 0, 3] = shift
    np.save(folder / "v_poses.npy", poses)
    path = folder / "v.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=24)
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        stream.options = {"crf": "20", "preset": "veryfast"}
        for x in shift:
            left = round(640 * x)
            view = np.ascontiguousarray(picture[:, left : left + 1280])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(view, format="rgb24")))
        container.mux(stream.encode())
    return path


def video_times(length: float) -> dict[str, float]:
    """Time the scoring of a video, decoding it once, and embedding the frames of its pairs."""
    import av

    with tempfile.TemporaryDirectory() as name:
        path = make_video(Path(name), length)

        def decode() -> None:
            with av.open(str(path)) as container:
                container.streams.video[0].thread_type = "AUTO"
                for _ in container.decode(video=0):
                    pass

        found = measure(path)
        wanted = sorted({f for one in found.pairs for f in (one.pair.first_frame, one.pair.revisit_frame)})
        images = [image for _, image in frames_of(probe(path), wanted)]
        embedder = GridEmbedder()
        # Turn by turn, so that another program on the machine slows all three alike.
        works = (decode, lambda: embedder.embed([embedder.prepare(image) for image in images]), lambda: measure(path))
        times = np.array([[seconds(work, 1) for work in works] for _ in range(5)])
        decoding, embedding, scoring = np.median(times, axis=0).tolist()
        return {
            "decode_s": decoding,
            "embed_s": embedding,
            "score_s": scoring,
            "score_over_decode_and_embed": float(np.median(times[:, 2] / (times[:, 0] + times[:, 1]))),
            "pairs": len(found.pairs),
        }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--video-seconds", type=float, default=60.0)
    options = parser.parse_args()
    gaps, scores = observations()
    problem = DecayProblem(gaps, scores, "unit")
    fast = seconds(lambda: permutation_p(problem, permutations=9999), 5)
    plain = seconds(lambda: plain_permutations(gaps, scores, 50), 1) * 9999 / 50
    figures: dict[str, Any] = {
        "fit_24_pairs_ms": 1e3 * seconds(lambda: fit_half_life(gaps, scores, permutations=0), 200),
        "permutations_9999_s": fast,
        "permutations_plain_over_fast": plain / fast,
    }
    for poses in (1440, 14_400):
        one, times = track(poses), np.arange(poses) / 24
        repeats = 5 if poses < 2000 else 1
        figures[f"pairs_{poses}_poses_s"] = seconds(lambda: find_revisits(one, times, 24.0, RevisitOptions()), repeats)  # noqa: B023
    figures["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.update(video_times(options.video_seconds))
    if options.json:
        print(json.dumps(figures, indent=2, allow_nan=False))
        return
    for name, value in figures.items():
        print(f"{name:32s} {value:.4g}")


if __name__ == "__main__":
    main()
