from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    """Tests set the key themselves."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def ask_model(tmp_path):
    """Run ecc-text on a system specification; returns the summary and the rows."""
    from memgauge.responses import load_responses
    from memgauge.run import Plan, Subject, execute
    from memgauge.systems.registry import fingerprint, make_system, system_name
    from memgauge.tasks import MadeStreams

    def run(
        spec, *, out="run", task="ecc-text", lengths=(24,), count=2, queries=4, arms=("none",), source=None, **options
    ):
        system = make_system(spec)
        subject = Subject(system, system_name(system, spec), fingerprint(system, spec), spec)
        source = source or MadeStreams(lengths=lengths, bands=("max",), count=count, queries=queries, seed=5)
        plan = Plan(task, source, (subject,), arms=arms, **{"concurrency": 8} | options)
        summary = execute(plan, tmp_path / out, show_progress=False)
        return summary, load_responses(tmp_path / out).sort("key")

    return run


@pytest.fixture(scope="session")
def frame_reader():
    """A real OCR that reads frames (tests/video)."""
    pytest.importorskip("rapidocr_onnxruntime", reason="the OCR that reads frames is not installed")
    sys.path.insert(0, str(Path(__file__).parents[1] / "video"))
    from frame_reader import FrameReader

    return FrameReader()
