"""A server that really looks answers from pictures what it cannot answer without them: the ablation is real."""

from __future__ import annotations

import json

import polars as pl
import pytest
from scripted_server import Server
from test_memlens_run import ask

from memgauge.cli.app import run
from memgauge.responses import load_responses

pytest.importorskip("rapidocr_onnxruntime", reason="the OCR that reads pictures is not installed")
KINDS = "ie_arithmetic,ie_chat,ie_app,msr_arithmetic,tr_duration,tr_date_b"
"""The kinds whose answers stand in pictures as text."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "H"
    assert (
        run(["histories", "build", "--profile", "quick", "--seed", "2", "--lengths", "32k", "--out", str(folder)]) == 0
    )
    return folder


@pytest.fixture(scope="module")
def reader():
    from reader_server import Reader
    from reading_rules import answer

    return Reader(answer)


def floor_of(folder, names):
    """The share right of the best guess from the text alone, over the named questions."""
    lines = (folder / "meta.jsonl").read_text().splitlines()
    floors = {(m := json.loads(line))["question_id"]: m["floor"] for line in lines}
    parts = [tuple(map(int, (floors[name] + "/1").split("/")[:2])) for name in names]
    return sum(a / b for a, b in parts) / len(parts)


def measured(folder, reader, out, *options):
    with Server(reader) as server:
        system = "model:name=reader,base_url={url},concurrency=1,deadline=120"
        assert ask(folder, server, out, "--length", "32k", "--only", KINDS, *options, system=system) == 0
    rows = load_responses(out)
    assert rows.filter(pl.col("outcome").is_in(["model_error", "refused_by_server"])).is_empty()
    return rows


def test_oracle_sessions_with_and_without_pictures(built, reader, tmp_path):
    """12 questions. With pictures over 80 % are right; from the text alone not significantly more than by guessing."""
    from scipy.stats import binomtest

    options = ("--oracle", "sessions", "--count", "12", "--seed", "1")
    seen = measured(built, reader, tmp_path / "seen", *options)
    assert seen.height == 12
    assert seen["images_in"].min() >= 1
    wrong = seen.filter(~pl.col("correct").fill_null(False)).select("kind", "question", "gold", "raw_output").rows()
    assert seen["correct"].fill_null(False).mean() > 0.8, wrong
    looked = reader.pictures
    blind = measured(built, reader, tmp_path / "blind", *options, "--text-only")
    assert reader.pictures == looked  # no picture was sent
    assert blind["episode"].sort().to_list() == seen["episode"].sort().to_list()
    hits = int(blind["correct"].fill_null(False).sum())
    assert binomtest(hits, 12, floor_of(built, blind["episode"]), alternative="greater").pvalue > 0.01


@pytest.mark.slow
def test_whole_histories_with_and_without_pictures(built, reader, tmp_path):
    """The same from all sessions of 32K, every question of these kinds."""
    from scipy.stats import binomtest

    seen = measured(built, reader, tmp_path / "seen")
    assert seen["correct"].fill_null(False).mean() > 0.8
    blind = measured(built, reader, tmp_path / "blind", "--text-only")
    hits = int(blind["correct"].fill_null(False).sum())
    assert binomtest(hits, blind.height, floor_of(built, blind["episode"]), alternative="greater").pvalue > 0.01
