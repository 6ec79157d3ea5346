"""What a model is shown, byte for byte, and how much of it is in memory at once."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_server import Response, Server, completion

from memgauge.episode import ARMS, Observation, Question
from memgauge.errors import InputError
from memgauge.prompts import ecc_prompt, text_request
from memgauge.streams.video_frames import Frames, frame_bytes
from memgauge.systems.models.bodies import Body, ByteBudget, Segment, body_of
from memgauge.systems.models.shown import Builder, Style, mime_of, size_of, stream_of

SYMBOLS = np.array([3, 7, 7, 12], np.uint8)
LANES = np.array([0, 2, 1, 1], np.uint8)


def sent(body: Body) -> dict:
    async def collect():
        return b"".join([piece async for piece in body.pieces()])

    data = asyncio.run(collect())
    assert len(data) == body.size
    return json.loads(data)


def text_blocks():
    return [Observation("text", SYMBOLS), Observation("text", SYMBOLS[::-1].copy())]


def test_a_text_request_is_the_prompt_word_for_word():
    question = Question(np.array([7, 12], np.uint8), payoff=ARMS["B"])
    body = sent(Builder(stream_of(text_blocks()), Style()).build(question, {"model": "m", "max_tokens": 5}))
    expected = text_request("3, 7, 7, 12, 12, 7, 7, 3", "7, 12", "B")
    assert body == {"messages": [{"role": "user", "content": expected}], "model": "m", "max_tokens": 5}
    noted = sent(Builder(stream_of(text_blocks()), Style()).build(question, {"model": "m"}, "A note."))
    assert noted["messages"][0]["content"] == f"{expected}\n\nA note."


def video_question(**changes):
    clip = Frames(SYMBOLS[1:3], LANES[1:3])
    return replace(Question(SYMBOLS[1:3], lanes=LANES[1:3], clip=clip), **changes)


def test_a_video_request_is_two_labelled_sequences_in_order():
    stream = stream_of(list(Frames(SYMBOLS, LANES)))
    body = sent(Builder(stream, Style()).build(video_question(payoff=ARMS["A"]), {"model": "m"}))
    parts = body["messages"][0]["content"]
    assert [part.get("text", "frame") for part in parts] == [
        "Main video:", *["frame"] * 4, "Option video:", *["frame"] * 2, ecc_prompt("video", "A")
    ]  # fmt: skip
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    pictures = [base64.b64decode(url.partition(",")[2]) for url in urls]
    shown = [*zip(SYMBOLS, LANES, strict=True), *zip(SYMBOLS[1:3], LANES[1:3], strict=True)]
    assert pictures == [frame_bytes(int(s), int(n)) for s, n in shown]


def test_a_video_can_be_one_mp4():
    from memgauge.streams.video_mp4 import decode_mp4

    stream = stream_of(list(Frames(SYMBOLS, LANES)))
    body = sent(Builder(stream, Style("video_url")).build(video_question(), {"model": "m"}))
    videos = [part["video_url"]["url"] for part in body["messages"][0]["content"] if part["type"] == "video_url"]
    assert all(url.startswith("data:video/mp4;base64,") for url in videos)
    decoded = [decode_mp4(base64.b64decode(url.partition(",")[2])) for url in videos]
    assert [len(frames) for frames in decoded] == [4, 2]
    assert [time for time, _ in decoded[0]] == [0, 1, 2, 3]


@pytest.mark.parametrize("delivery", ["image_url", "video_url"])
def test_frames_can_be_resized(delivery):
    stream = stream_of(list(Frames(SYMBOLS, LANES)))
    body = sent(Builder(stream, Style(delivery, (64, 32))).build(video_question(), {"model": "m"}))
    media = [part[part["type"]]["url"] for part in body["messages"][0]["content"] if part["type"] == delivery]
    data = base64.b64decode(media[0].partition(",")[2])
    if delivery == "image_url":
        assert size_of(data) == (64, 32)
    else:
        import av

        with av.open(io.BytesIO(data)) as container:
            assert (container.streams.video[0].width, container.streams.video[0].height) == (64, 32)


def test_natural_video_asks_in_words():
    stream = stream_of([Observation("frame", render_image=lambda: frame_bytes(0, 0))])
    question = Question(np.empty(0, np.uint8), words="Did a red card appear in this video?")
    body = sent(Builder(stream, Style()).build(question, {"model": "m"}))
    assert body["messages"][0]["content"][-1]["text"] == ecc_prompt("natural", question=question.words)


def test_requests_about_one_stream_share_its_bytes():
    builder = Builder(stream_of(list(Frames(SYMBOLS, LANES))), Style())
    first, second = builder.build(video_question(), {}), builder.build(video_question(payoff=ARMS["A"]), {})
    largest = [max(body.segments, key=lambda s: len(s.data)) for body in (first, second)]
    assert largest[0] is largest[1]
    assert first.hash != second.hash
    assert first.hash == builder.build(video_question(), {}).hash


def test_what_cannot_be_shown_is_said():
    with pytest.raises(InputError, match="this episode has session"):
        stream_of([Observation("session")])
    with pytest.raises(InputError, match="frame and text"):
        stream_of([Observation("text", SYMBOLS), Observation("frame")])
    with pytest.raises(InputError, match="no PNG, JPEG"):
        mime_of(b"<svg>")
    builder = Builder(stream_of(list(Frames(SYMBOLS, LANES))), Style())
    with pytest.raises(InputError, match="needs a clip, or words"):
        builder.build(Question(SYMBOLS), {})


def test_frames_reach_the_server_whole_and_in_order(tmp_path):
    """Through the run loop: a server that looks frames up by their bytes answers every question rightly."""
    from memgauge.drive import MutationCheck
    from memgauge.drive_async import drive_async
    from memgauge.rows import Asker, row_of, wanted_of
    from memgauge.streams import make_item
    from memgauge.streams.video import make_video, video_episode
    from memgauge.systems.registry import make_system

    known = {frame_bytes(s, n): (s, n) for s in range(16) for n in range(3)}

    def handle(request):
        seen = [known[base64.b64decode(url.partition(",")[2])] for url in request.media]
        labels = [part.get("text") for part in request.body["messages"][0]["content"]]
        cut = labels.index("Option video:") - 1
        main, option = bytes(3 * s + n for s, n in seen[:cut]), bytes(3 * s + n for s, n in seen[cut:])
        return Response(body=completion(f"{{{0 if option in main else 1}}}", tokens_in=len(seen) * 196, tokens_out=3))

    episode = video_episode(make_video(make_item("max", 24, 0, seed=1, queries=8, negatives="uniform"), seed=1))
    asker = Asker("r", "m", "f")
    with Server(handle) as server:
        system = make_system(f"model:name=m,base_url={server.url},price=qwen2.5-vl-7b")
        work = iter([(episode, wanted_of(episode, asker, ("none", "A")))])
        asked = [
            item
            for _, items in drive_async(system, work, timeout=5, concurrency=4, check=MutationCheck())
            for item in items
        ]
    rows = [row_of(item, episode, asker) for item in asked]
    assert len(rows) == 16
    assert all(row["correct"] for row in rows)
    sizes = {row["query_length"] for row in rows}
    assert {row["images_in"] for row in rows} == {24 + size for size in sizes}
    from memgauge.costs import price_response, vlm_price

    price = vlm_price("qwen2.5-vl-7b")
    for row in rows:
        cost = price_response(price, "ecc-video", 24, 1, option_frames=row["query_length"])
        assert (row["flops_write"], row["flops_read"], row["t_ans"]) == (cost.F_write, cost.F_read, 1.0)


sizes = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(sizes, st.integers(1, 400))
def test_bytes_in_flight_stay_under_the_limit(requests, limit):
    """At most the limit, a single larger request, and one more that has been built and waits."""

    async def main():
        budget = ByteBudget(limit)
        held: dict[int, int] = {}
        most = []

        async def one(number, expected, size):
            async def build():
                held[number] = size
                most.append((sum(held.values()), len(held), size))
                await asyncio.sleep(0)
                return body_of(bytes(size))

            async with budget.hold(expected, build) as body:
                admitted = sum(held.values())
                assert budget.used <= max(limit, body.size)
                assert admitted >= budget.used
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                del held[number]

        await asyncio.wait_for(asyncio.gather(*(one(i, *request) for i, request in enumerate(requests))), 10)
        assert budget.used == 0
        largest = max(size for _, size in requests)
        assert max(total for total, _, _ in most) <= max(limit, largest) + largest

    asyncio.run(main())


def test_a_request_that_is_given_up_frees_its_room():
    async def main():
        budget = ByteBudget(10)

        async def build():
            return Body((Segment(bytes(10)),))

        async def hold():
            async with budget.hold(10, build):
                await asyncio.sleep(60)

        first, second = asyncio.ensure_future(hold()), asyncio.ensure_future(hold())
        await asyncio.sleep(0.01)
        assert budget.used == 10
        second.cancel()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        assert budget.used == 0
        async with asyncio.timeout(1), budget.hold(10, build):
            assert budget.used == 10

    asyncio.run(main())


@pytest.mark.slow  # its own process, measured best on a machine that does nothing else
def test_a_thousand_queued_video_questions_fit_into_a_gibibyte():
    """1,000 questions about 256 frames of 12 kB, all asked at once of a server that never answers: 4 GiB unbounded."""
    script = Path(__file__).parents[2] / "benchmarks" / "bench_models.py"
    done = subprocess.run(
        [sys.executable, str(script), "--queue", "--json"], capture_output=True, text=True, timeout=120, check=True
    )
    found = json.loads(done.stdout)
    assert found["questions"] == 1000
    assert found["sent_mib"] > 300
    assert found["peak_rss_mib"] < 1024
