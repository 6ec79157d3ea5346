from __future__ import annotations

import copy
import hashlib
import io
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest
from make_letters import letters
from PIL import Image, ImageDraw, ImageFont

from memgauge.errors import InputError
from memgauge.streams import video_frames
from memgauge.streams.video_frames import (
    BELT_LEFT,
    BELT_WIDTH,
    LETTERS,
    SIZE,
    Frames,
    check_style,
    contact_sheet,
    encode_image,
    frame_bytes,
    frame_pixels,
    spell,
)

EVERY = [(symbol, lane) for symbol in range(16) for lane in range(3)]
PIXELS = "ecba0593ab0b9572e62af0b801c4c09f0f84e9c2d587308d5ffa70a9795e77c0"
"""SHA-256 of the pixels of all frames: raise DESIGN when it changes."""


def array(*values):
    return np.array(values, np.uint8)


def psnr(a, b):
    return 10 * np.log10(255**2 / max(np.mean((a.astype(float) - b.astype(float)) ** 2), 1e-9))


def test_the_shipped_letters_are_those_of_their_recipe():
    from importlib.resources import files

    data = files("memgauge.streams").joinpath("data", "letters.png").read_bytes()
    shipped = np.asarray(Image.open(io.BytesIO(data)), float)
    # Another FreeType may round the edge of a stroke otherwise; a wrong letter differs in whole strokes.
    assert np.abs(shipped - np.asarray(letters(), float)).mean() < 1


def test_pixels_are_the_same_everywhere():
    digest = hashlib.sha256(b"".join(frame_pixels(symbol, lane).tobytes() for symbol, lane in EVERY))
    assert digest.hexdigest() == PIXELS


def test_48_distinct_frames_of_the_paper_s_size():
    seen = set()
    for symbol, lane in EVERY:
        picture = Image.open(io.BytesIO(frame_bytes(symbol, lane)))
        assert picture.format == "PNG"
        assert picture.size == (448, 448)
        assert np.array_equal(np.asarray(picture), frame_pixels(symbol, lane))
        seen.add(frame_bytes(symbol, lane))
    assert len(seen) == 48


def test_belts_differ_only_by_their_letter():
    # The frame of a letter on one belt and on another differ inside these two belts alone.
    for symbol in range(16):
        for one, other in itertools.combinations(range(3), 2):
            columns = np.flatnonzero((frame_pixels(symbol, one) != frame_pixels(symbol, other)).any(axis=0))
            inside = [
                any(BELT_LEFT[n] <= c < BELT_LEFT[n] + BELT_WIDTH for n in (one, other)) for c in columns.tolist()
            ]
            assert all(inside)
            assert len(inside)


def test_no_two_letters_are_nearly_alike():
    # Share of ink in common when one letter is laid over another as well as it can be.
    ink = np.asarray(letters(), float)[:SIZE].reshape(4, 112, 4, 112).swapaxes(1, 2).reshape(16, 112, 112) / 255

    def alike(a, b):
        moved = (np.roll(b, (dy, dx), (0, 1)) for dx in range(-10, 11, 2) for dy in range(-4, 5, 2))
        return max(np.minimum(a, m).sum() / np.maximum(a, m).sum() for m in moved)

    def strokes(pair):
        for letter in pair:
            picture = Image.new("L", (112, 112))
            ImageDraw.Draw(picture).text(
                (56, 56), letter, font=ImageFont.load_default(100), fill=255, anchor="mm", stroke_width=3
            )
            yield np.asarray(picture, float) / 255

    worst = max(alike(ink[a], ink[b]) for a, b in itertools.combinations(range(16), 2))
    assert worst < 0.68
    assert alike(*strokes("PR")) > 0.74
    assert alike(*strokes("CO")) > 0.8
    assert not set("IOQJBGFPNV0123456789") & set(LETTERS)
    assert len(set(LETTERS)) == 16


def test_another_process_gives_the_same_bytes():
    code = (
        "import hashlib; from memgauge.streams.video_frames import frame_bytes as f; "
        "print(hashlib.sha256(b''.join(f(s, n, k) for s in range(0, 16, 5) for n in range(3) "
        "for k in ('png', 'jpeg'))).hexdigest())"
    )
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    frame_bytes.cache_clear()
    data = b"".join(frame_bytes(s, n, k) for s in range(0, 16, 5) for n in range(3) for k in ("png", "jpeg"))
    assert again == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [64, 224, 333, 1024])
def test_other_sizes_show_the_same(size):
    small = np.asarray(Image.open(io.BytesIO(frame_bytes(3, 1, "png", size))))
    assert small.shape == (size, size)
    expected = np.asarray(Image.fromarray(frame_pixels(3, 1)).resize((size, size), Image.Resampling.BOX))
    assert psnr(small, expected) > 20


def test_jpeg_is_close_to_the_drawing():
    for symbol, lane in EVERY:
        picture = Image.open(io.BytesIO(frame_bytes(symbol, lane, "jpeg")))
        assert picture.format == "JPEG"
        assert psnr(np.asarray(picture), frame_pixels(symbol, lane)) > 38


def test_frames_are_lazy_and_cached(monkeypatch):
    drawn = []
    original = video_frames.frame_pixels
    monkeypatch.setattr(video_frames, "frame_pixels", lambda *a: drawn.append(a) or original(*a))
    frame_bytes.cache_clear()
    frames = Frames(np.resize(array(1, 2, 1), 1024), np.resize(array(0, 1, 0), 1024))
    seen = list(frames)
    assert len(seen) == 1024
    assert drawn == []
    images = {each.image for each in seen}
    assert len(images) == 2
    assert len(drawn) == 2


def test_an_observation_says_what_it_shows():
    frames = Frames(array(4, 0, 15), array(2, 0, 1), "jpeg", 224)
    assert [each.text for each in frames] == ["letter H on belt 3", "letter A on belt 1", "letter Z on belt 2"]
    last = frames[-1]
    assert (last.kind, last.symbols.tolist(), last.lanes.tolist()) == ("frame", [15], [1])
    assert last.image == frame_bytes(15, 1, "jpeg", 224)
    assert [each.text for each in frames[1:]] == ["letter A on belt 1", "letter Z on belt 2"]
    assert spell(frames.symbols, frames.lanes) == "H3 A1 Z2"
    with pytest.raises(IndexError):
        frames[3]


def test_observations_can_be_copied_and_pickled():
    # The run loop compares memories by their pickle, and forks them by deep copy.
    frame = Frames(array(4), array(2))[0]
    assert pickle.loads(pickle.dumps(frame)).image == frame.image
    assert copy.deepcopy(frame).image == frame.image


def test_contact_sheet():
    frames = Frames(array(*range(16), 3), np.zeros(17, np.uint8))
    sheet = contact_sheet(frames, columns=8, size=64)
    assert sheet.shape == (3 * 64, 8 * 64)
    assert np.array_equal(sheet[:64, :64], frame_pixels(0, 0, 64))
    assert np.array_equal(sheet[128:, :64], frame_pixels(3, 0, 64))
    assert Image.open(io.BytesIO(encode_image(sheet))).size == (512, 192)


@pytest.mark.parametrize(
    ("image_format", "size", "message"),
    [("gif", 448, "unknown image format"), ("png", 63, "64 to 2048 pixels"), ("png", 4096, "64 to 2048 pixels")],
)
def test_styles_that_cannot_be_made(image_format, size, message):
    with pytest.raises(InputError, match=message):
        check_style(image_format, size)
