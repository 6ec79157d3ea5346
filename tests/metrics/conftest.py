"""Makes the helper module beside the tests importable, whatever the import mode, and the table that many tests read."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import known_rows


@pytest.fixture(scope="session")
def run_rows() -> pl.DataFrame:
    """Three windows at two lengths, two splits and three arms."""
    rows: list[known_rows.Row] = []
    for window in (16, 48, 96):
        for length in (64, 128):
            for split in ("low", "max"):
                for arm in ("none", "A", "B"):
                    rows += known_rows.window_rows(window, split=split, length=length, arm=arm)
    return known_rows.frame(rows)
