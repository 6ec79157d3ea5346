"""`memgauge flops`: one JSON document, exit statuses, tables for people."""

from __future__ import annotations

import json

import pytest

from memgauge.cli.flops import app
from memgauge.costs import price_response, vlm_price
from memgauge.errors import InputError


def run(capsys, *arguments):
    app(list(arguments), result_action="return_value", exit_on_error=False)
    return capsys.readouterr()


VIDEO = ["--task", "ecc-video", "--length", "64", "--answer-tokens", "11600/61"]


def test_model_json(capsys):
    out = json.loads(run(capsys, "model", "Qwen3-VL (8B) (+Thinking)", *VIDEO, "--json").out)
    integers = (
        "N",
        "B",
        "A",
        "F_voc",
        "F_vision",
        "F_connector",
        "F_prefill",
        "F_decode",
        "F_write",
        "F_read",
        "F_total",
    )
    assert all(isinstance(out[key], int) for key in integers)
    assert out["F_total"] == out["F_vision"] + out["F_connector"] + out["F_prefill"] + out["F_decode"]
    assert out["answer_tokens_exact"] == "11600/61"
    assert out["frame"] == "448x448"
    assert (out["t_in"], out["queries"], out["split"]) == (128, 1, "write")


def test_model_options_reach_the_price(capsys):
    options = ["--frame", "800x600", "--t-in", "50", "--split", "question", "--queries", "16", "--option-frames", "5"]
    out = json.loads(run(capsys, "model", "qwen3-omni", *VIDEO[:4], "--answer-tokens", "2.5", *options, "--json").out)
    expected = price_response(
        vlm_price("qwen3-omni"), "ecc-video", 64, 2.5, frame=(800, 600), t_in=50, split="question", queries=16,
        option_frames=5,
    )  # fmt: skip
    assert out == expected.as_json()


def test_model_for_people_shows_every_term(capsys):
    out = run(
        capsys, "model", "internvl3.5-8b", "--task", "natural-video", "--length", "1024", "--answer-tokens", "3"
    ).out
    for term in ("F_vision", "F_connector", "F_prefill", "F_decode", "F_write", "F_read", "F_total"):
        assert term in out
    assert "Note: N = 262272 is 6.4 times" in out


def test_tables_for_people(capsys):
    out = run(capsys, "table", "12").out
    assert "12550.06" in out
    out = run(capsys, "table", "3").out
    assert "text" in out
    assert "1316" in out
    out = run(capsys, "table", "9").out
    assert "natural L=512, one_query_TF: the windows" in out.replace("\n", " ")


def test_backbone(capsys):
    out = json.loads(run(capsys, "backbone", "conv", "--width", "64", "--length", "2048", "--json").out)
    assert round(out["F_total"] / 1e6, 2) == 1918.26
    assert out["F_total"] == out["F_write"] + out["F_read"]
    assert "1,918.26" in run(capsys, "backbone", "conv", "--width", "64", "--length", "2048").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model", "nope", *VIDEO], "unknown model"),
        (["model", "qwen3-vl-8b", *VIDEO, "--frame", "big"], "WIDTHxHEIGHT"),
        (["model", "qwen3-vl-8b", *VIDEO[:4], "--answer-tokens", "some"], "answer tokens"),
        (["model", "missing.json", *VIDEO], "no such file"),
        (["backbone", "rop", "--width", "64", "--length", "8"], "rope"),
    ],
)
def test_bad_input_is_an_input_error(arguments, message):
    with pytest.raises(InputError, match=message):
        app(arguments, result_action="return_value", exit_on_error=False)


@pytest.mark.parametrize(
    ("options", "index", "one_query", "break_even"),
    [
        (["--task", "natural-video"], 0.43e15, 449e12, 6.3),
        (["--task", "ecc-video", "--index-frame", "640x360"], 0.43e15, 453e12, 7.0),
        (["--task", "ecc-video"], 0.38e15, 405e12, 6.2),
    ],
)
def test_retrieval_is_table_9_at_64_frames(capsys, options, index, one_query, break_even):
    out = json.loads(run(capsys, "retrieval", *options, "--length", "64", "--json").out)
    assert round(out["F_index"] / 1e15, 2) == index / 1e15
    assert round(out["F_one_query"] / 1e12) == one_query / 1e12
    assert round(out["break_even"], 1) == break_even
    assert "F_one_query" in run(capsys, "retrieval", *options, "--length", "64").out
