from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "models"))  # the scripted server


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    """No key of the machine's reaches a test's server."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
