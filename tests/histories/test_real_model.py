"""A real small model behind a real server reads conversations. Plumbing only: its accuracy means nothing."""

from __future__ import annotations

import polars as pl
import pytest
from history_files import filler, records, write_dataset

from memgauge.cli.app import run
from memgauge.responses import load_responses

pytest.importorskip("xllamacpp", reason="the in-process llama.cpp server is not installed")

from test_real_model import llama  # noqa: F401 - a fixture


def test_single_session_questions_and_a_history_that_is_too_long(llama, tmp_path):  # noqa: F811
    made = records()[:4]
    long = {**made[2], "question_id": "q_long"}
    days = 400
    long["haystack_sessions"] = [*made[2]["haystack_sessions"], *(filler(day) for day in range(days))]
    long["haystack_dates"] = [*made[2]["haystack_dates"], *["2024/05/20 (Mon) 10:00"] * days]
    long["haystack_session_ids"] = [f"s{i}" for i in range(len(long["haystack_dates"]))]
    long["answer_session_ids"] = []
    folder = write_dataset(tmp_path / "H", made, meta=False)
    whole = write_dataset(tmp_path / "L", [long], meta=False)
    system = f"model:name=smollm2-135m,base_url={llama}/v1,max_tokens=16,concurrency=1,max_requests=8"
    command = ["run", "memlens", "--system", system, "--data"]
    out = tmp_path / "r"
    assert run([*command, str(folder), "--oracle", "sessions", "--text-only", "--out", str(out)]) == 0
    rows = load_responses(out)
    assert rows.height == 4
    assert set(rows["arm"]) == {"oracle-sessions+text-only"}
    assert set(rows["outcome"]) <= {"answered", "abstained", "pending"}
    assert rows["raw_output"].null_count() == 0
    assert rows["tokens_in"].is_between(80, 400).all()
    assert rows["tokens_out"].max() <= 16
    assert run([*command, str(whole), "--out", str(tmp_path / "long")]) == 0
    refused = load_responses(tmp_path / "long").row(0, named=True)
    assert (refused["outcome"], refused["refused_kind"], refused["correct"]) == ("refused_by_server", "too_long", None)
    assert "exceeds the available context size" in refused["raw_output"]
    assert rows.filter(pl.col("correct").is_null() & (pl.col("outcome") != "pending")).is_empty()
