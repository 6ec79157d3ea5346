from __future__ import annotations

import io
from fractions import Fraction

import av
import numpy as np
import pytest

from memgauge.episode import Observation
from memgauge.errors import InputError
from memgauge.streams.video_frames import Frames, frame_bytes
from memgauge.streams.video_mp4 import clip_mp4, decode_mp4, encode_mp4


def frames_of(length, size=448, image_format="png"):
    rng = np.random.default_rng(5)
    symbols, lanes = (rng.integers(n, size=length).astype(np.uint8) for n in (16, 3))
    return Frames(symbols, lanes, image_format, size)


def psnr(a, b):
    return 10 * np.log10(255**2 / max(np.mean((a.astype(float) - b.astype(float)) ** 2), 1e-9))


@pytest.mark.parametrize(("length", "size"), [(1, 448), (48, 448), (30, 224)])
def test_decoding_gives_the_frames_in_order_at_one_a_second(length, size):
    frames = frames_of(length, size)
    decoded = decode_mp4(clip_mp4(frames))
    assert [second for second, _ in decoded] == list(range(length))
    for index, (_, pixels) in enumerate(decoded):
        assert pixels.shape == (size, size, 3)
        assert psnr(pixels, frames.pixels(index)[:, :, None]) > 45
        after = frames.pixels((index + 1) % length)[:, :, None]
        if not np.array_equal(after[:, :, 0], frames.pixels(index)):
            assert psnr(pixels, after) < 30


def test_the_container_says_one_frame_a_second():
    with av.open(io.BytesIO(clip_mp4(frames_of(20)))) as container:
        stream = container.streams.video[0]
        assert stream.average_rate == 1
        assert stream.frames == 20
        assert stream.duration * stream.time_base == 20
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"


def test_the_same_frames_give_the_same_bytes():
    assert clip_mp4(frames_of(12)) == clip_mp4(frames_of(12))


def test_pictures_of_any_origin_are_encoded():
    frames = frames_of(6)
    foreign = [Observation("frame", render_image=lambda each=each: each.image) for each in frames]
    for (_, ours), (_, theirs) in zip(decode_mp4(clip_mp4(frames)), decode_mp4(clip_mp4(foreign)), strict=True):
        assert psnr(ours, theirs) > 40


def test_longest_video_of_the_task():
    seconds = [second for second, _ in decode_mp4(clip_mp4(frames_of(1024, 64)))]
    assert seconds == [Fraction(n) for n in range(1024)]


@pytest.mark.parametrize(
    ("pictures", "message"),
    [
        ([], "at least one frame"),
        ([np.zeros((65, 64), np.uint8)], "even width and height"),
        ([np.zeros((64, 64), np.uint8), np.zeros((64, 66), np.uint8)], "frame 1 is 66 x 64"),
    ],
)
def test_pictures_that_make_no_video(pictures, message):
    with pytest.raises(InputError, match=message):
        encode_mp4(pictures)


def test_files_that_are_no_video():
    with pytest.raises(InputError, match="cannot be read"):
        decode_mp4(b"not a video at all")
    with pytest.raises(InputError, match="more than 3 frames"):
        decode_mp4(clip_mp4(frames_of(5, 64)), max_frames=3)
    with pytest.raises(InputError, match="cannot be read"):
        decode_mp4(frame_bytes(0, 0)[:50])
