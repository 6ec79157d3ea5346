"""A server that really looks: frames reach it whole, in order and readable, or it could not answer."""

from __future__ import annotations

import base64
import threading

import polars as pl
from scripted_server import Response, Server, completion

from memgauge.responses import load_responses


def test_a_reader_of_frames_answers_the_video_task(frame_reader, tmp_path):
    """OCR on every picture received, then exact matching: both variants and both bands at L = 16 (at least 95 %)."""
    from memgauge.cli.app import run

    lock = threading.Lock()

    def handle(request):
        parts = request.body["messages"][0]["content"]
        videos: dict[str, list] = {}
        for part in parts:
            if part["type"] == "text":
                videos[part["text"]] = shown = []
            else:
                data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
                with lock:
                    shown.append(frame_reader.read(data))
        main, option = videos["Main video:"], videos["Option video:"]
        found = any(main[i : i + len(option)] == option for i in range(len(main)))
        return Response(body=completion(f"{{{0 if found else 1}}}", tokens_in=196 * len(parts), tokens_out=3))

    with Server(handle) as server:
        spec = f"model:name=reader,base_url={server.url},price=qwen3-vl-8b"
        command = ["run", "ecc-video", "--system", spec, "--lengths", "16", "--bands", "low,max", "--count", "1"]
        assert run([*command, "--out", str(tmp_path / "r")]) == 0
    rows = load_responses(tmp_path / "r")
    table = rows.group_by("split", "variant").agg(pl.len(), pl.col("correct").mean())
    assert table.height == 4
    assert set(table["len"]) == {8}
    assert table["correct"].min() >= 0.95
    assert rows["images_in"].min() >= 16 + 3
    assert rows["flops_write"].null_count() == 0
