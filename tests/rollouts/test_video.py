"""Videos: frame times without decoding, wanted frames exactly, and clear errors."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from rollout_scenes import pose, render, texture, write_video

from memgauge.errors import InputError
from memgauge.rollouts.video import find_videos, frames_of, probe


@pytest.fixture(scope="module")
def frames() -> list[np.ndarray]:
    picture = texture(0)
    return [render(picture, pose(x)) for x in np.linspace(-1, 1, 30)]


def test_frames_come_back_exactly(tmp_path: Path, frames: list[np.ndarray]) -> None:
    info = probe(write_video(tmp_path / "v.mp4", frames, Fraction(24000, 1001)))
    assert (info.frames, info.width, info.height, info.variable) == (30, 160, 120, False)
    assert info.fps == Fraction(24000, 1001)
    assert info.seconds(np.array([24])).tolist() == [24 / (24000 / 1001)]
    wanted = [29, 3, 3, 17]
    got = dict(frames_of(info, wanted))
    assert sorted(got) == [3, 17, 29]
    for number, image in got.items():
        # 4:4:4 without loss: only the rounding of the colour conversion is left.
        assert np.abs(image.astype(int) - frames[number]).max() <= 4
        nearest = min(range(30), key=lambda k: float(np.abs(image.astype(int) - frames[k]).mean()))
        assert nearest == number


@pytest.mark.parametrize("name", ["v.mp4", "v.mkv", "v.avi"])
def test_reordered_frames_are_counted_in_presentation_order(
    tmp_path: Path, frames: list[np.ndarray], name: str
) -> None:
    import av

    with av.open(str(tmp_path / name), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        stream.options = {"bf": "4", "crf": "10", "g": "15"}
        for image in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
    info = probe(tmp_path / name)
    assert info.frames == 30
    assert not info.variable
    for number, image in frames_of(info, range(30)):
        nearest = min(range(30), key=lambda k: float(np.abs(image.astype(int) - frames[k]).mean()))
        assert nearest == number


def test_a_varying_rate_gives_its_own_times(tmp_path: Path, frames: list[np.ndarray]) -> None:
    times = np.cumsum(np.r_[0, np.tile([40, 40, 90], 10)[:29]]).tolist()
    info = probe(write_video(tmp_path / "v.mkv", frames, 25, times=times))
    assert info.variable
    assert info.seconds(np.arange(30)) == pytest.approx(np.array(times) / 1000, abs=1e-9)
    # A rate given by the user counts instead.
    assert probe(tmp_path / "v.mkv", fps=10).seconds(np.array([20])).tolist() == [2.0]


def test_a_video_that_breaks_off_gives_what_it_has(tmp_path: Path, frames: list[np.ndarray]) -> None:
    whole = write_video(tmp_path / "v.mkv", frames)
    (tmp_path / "cut.mkv").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    info = probe(tmp_path / "cut.mkv")
    got = [number for number, _ in frames_of(info, range(30))]
    assert 5 < len(got) < 25
    assert got == list(range(len(got)))


def test_what_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("this is a text file named .mp4\n" * 50)
    (tmp_path / "empty.mp4").touch()
    for name in ("text.mp4", "empty.mp4", "absent.mp4"):
        with pytest.raises(InputError, match=f"{name}: not a readable video"):
            probe(tmp_path / name)
    with pytest.raises(InputError, match="fps must be"):
        probe(tmp_path / "text.mp4", fps=0)


def test_a_sound_file_has_no_frames(tmp_path: Path) -> None:
    import av

    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), dtype=np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with pytest.raises(InputError, match="no video stream"):
        probe(tmp_path / "a.mkv")


def test_videos_of_a_folder(tmp_path: Path) -> None:
    for name in ("b/2.mp4", "a.MP4", "b/1.webm", "c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.relative_to(tmp_path).as_posix() for path in find_videos(tmp_path)] == ["a.MP4", "b/1.webm", "b/2.mp4"]
