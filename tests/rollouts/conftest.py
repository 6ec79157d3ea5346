"""Fixtures of the rollouts tests."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="the rollouts extra is not installed")
pytest.importorskip("cv2", reason="the rollouts extra is not installed")
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
