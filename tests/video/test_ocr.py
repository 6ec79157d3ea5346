"""Invariant (i) of ECCBench, A.3, seen from outside: a reader of the pictures alone recovers the stream."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from memgauge.streams.make import make_item
from memgauge.streams.video import make_video, video_episode
from memgauge.streams.video_frames import LETTERS, frame_bytes
from memgauge.streams.video_mp4 import clip_mp4, decode_mp4


def shown(symbols, lanes):
    return [(LETTERS[s], n + 1) for s, n in zip(symbols.tolist(), lanes.tolist(), strict=True)]


def test_every_letter_and_every_belt_is_read(reader):
    for symbol in range(16):
        lane = symbol % 3
        assert reader.read(frame_bytes(symbol, lane)) == (LETTERS[symbol], lane + 1)


@pytest.mark.slow
@pytest.mark.parametrize(("image_format", "size"), [("png", 448), ("jpeg", 448), ("png", 336)])
def test_all_48_frames_are_read(reader, image_format, size):
    for symbol in range(16):
        for lane in range(3):
            assert reader.read(frame_bytes(symbol, lane, image_format, size)) == (LETTERS[symbol], lane + 1)


def test_a_video_and_its_candidates_are_read_back_in_order(reader):
    episode = video_episode(make_video(make_item("low", 16, 0, seed=0)))
    stream = [reader.read(each.image) for each in episode.observations]
    assert stream == shown(
        np.concatenate([o.symbols for o in episode.observations]),
        np.concatenate([o.lanes for o in episode.observations]),
    )
    for query in episode.queries:
        if query.variant == "sequential" and query.gold == "no":
            continue  # shows letters of its own; the slow test reads all frames
        clip = [reader.read(each.image) for each in query.question.clip]
        assert len(clip) == len(query.question.candidate)
        occurs = any(stream[i : i + len(clip)] == clip for i in range(len(stream)))
        assert occurs == (query.gold == "yes")


@pytest.mark.slow
def test_decoded_mp4_is_read_back_in_order(reader):
    episode = video_episode(make_video(make_item("low", 8, 1, seed=0)))
    read = []
    for _, pixels in decode_mp4(clip_mp4(episode.observations)):
        data = io.BytesIO()
        Image.fromarray(pixels).save(data, "PNG")
        read.append(reader.read(data.getvalue()))
    symbols, lanes = (np.concatenate([getattr(o, name) for o in episode.observations]) for name in ("symbols", "lanes"))
    assert read == shown(symbols, lanes)
