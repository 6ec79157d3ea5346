"""The page about the numbers of conversations names every part of the document."""

from __future__ import annotations

import re
from pathlib import Path

from memgauge.metrics.memlens.document import Memlens


def test_every_part_is_on_the_page():
    page = (Path(__file__).parents[2] / "docs" / "memlens_numbers.md").read_text("utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    parts = set(Memlens.__annotations__) - {"systems", "arms", "lengths", "questions", "notes"}
    assert parts <= named
