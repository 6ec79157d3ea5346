"""Fixtures of the rollouts tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="the rollouts extra is not installed")
cv2 = pytest.importorskip("cv2", reason="the rollouts extra is not installed")
cv2.setNumThreads(1)  # for pictures this small, waiting for threads costs more than they save
sys.path.insert(0, str(Path(__file__).parent))

# The headless browser of the report's tests, which lie in another folder.
_spec = importlib.util.spec_from_file_location(
    "report_conftest", Path(__file__).parent.parent / "report" / "conftest.py"
)
assert _spec is not None
assert _spec.loader is not None
_report = importlib.util.module_from_spec(_spec)
sys.modules["report_conftest"] = _report  # its dataclasses look their module up
_spec.loader.exec_module(_report)
browser, visit = _report.browser, _report.visit


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
