from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def patch():
    with pytest.MonkeyPatch.context() as m:
        yield m


@pytest.fixture(scope="session")
def built(tmp_path_factory, patch):
    """Eight questions at two lengths: chat, app, MSR, duration, knowledge update, refusal."""
    from broken import make

    out = tmp_path_factory.mktemp("checking") / "H"
    return make(out, patch, questions=8, lengths=("32k", "64k"), profile="quick")
