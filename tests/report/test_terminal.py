from __future__ import annotations

import io
from typing import Any

import pytest
from report_sample import make_document
from test_page import HOSTILE

from memgauge.report.terminal import WIDTH, print_report


def printed(document: dict[str, Any]) -> str:
    file = io.StringIO()
    print_report(document, file)
    return file.getvalue()


def test_numbers_and_intervals_in_a_hundred_columns() -> None:
    document = make_document(arms=("none", "A", "B"))
    text = printed(document)
    assert max(map(len, text.splitlines())) <= WIDTH
    cell = next(
        c for c in document["cells"]
        if (c["system"], c["split"], c["length"], c["arm"], c["negatives"]) == ("coin", "max", 1024, "none", "uniform")
    )  # fmt: skip
    value, low, high = (100 * cell["accuracy"][name] for name in ("value", "low", "high"))
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "L = 1,024")
    line = next(line for line in lines[start:] if line.strip().startswith("coin"))
    assert f"{value:.1f} [{low:.0f},{high:.0f}]" in line
    assert "payoff arms A (+3/-1) and B (+1/-4): ecc-tokens, uniform negatives" in text
    assert text.index("uniform negatives") < text.index("matched negatives")
    assert "256 b" in text
    assert "kF" in text


def test_other_splits_have_a_line_each() -> None:
    document = make_document(("a", "b"), splits=("recall", "update"), negatives=("uniform",), task="memlens")
    text = printed(document)
    assert text.count(" recall ") == text.count(" update ")
    assert "Comp" not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_names_do_not_drive_the_terminal(name: str) -> None:
    text = printed(make_document((f"{name}\x1b]0;owned\x07[bold]", "b"), lengths=(64,), negatives=("uniform",)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "L = 64" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_names_are_not_markup() -> None:
    assert "[bold]x" in printed(make_document(("[bold]x", "b"), lengths=(64,), negatives=("uniform",)))


def test_warnings_are_printed_as_they_are() -> None:
    document = make_document(("a", "b"), lengths=(64,))
    document["warnings"] = ["[red]not markup[/red]"]
    assert "warning: [red]not markup[/red]" in printed(document)
