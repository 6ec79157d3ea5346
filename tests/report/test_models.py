"""What the report says about models behind an endpoint: perception, swapped markers, contexts, kinds, retrieval."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from report_rows import make_rows, make_run

from memgauge.report.build import build_report
from memgauge.report.content import report_page
from memgauge.report.terminal import WIDTH, print_report


def asked(tokens: int = 100, **more: Any) -> Any:
    """Edit rows into those of a model that reads the stream again for each question."""

    def change(row: dict[str, Any], number: int) -> dict[str, Any]:
        own = {
            "prompt_hash": f"h{number}",
            "tokens_in": tokens,
            "tokens_out": 5,
            "write_shared": False,
            "task": "ecc-text",
        }
        return {**row, **own, **more}

    return change


def found_in_windows(row: dict[str, Any], number: int) -> dict[str, Any]:
    hit = json.dumps(["hit" if number % 4 else "miss", "0:16 0.9000"])
    own = {"write_shared": True, "retrieved": hit, "flops_write": 4000, "flops_read": 100}
    return {**asked()(row, number), **own}


def with_kinds(row: dict[str, Any], number: int) -> dict[str, Any]:
    kind = {0: "explicit", 3: "format", 5: "overflow"}.get(number % 8)
    row = asked()(row, number)
    return row if kind is None else {**row, "outcome": "abstained", "abstain_kind": kind, "answer": None,
                                     "correct": False, "score": 0.0}  # fmt: skip


def report(*folders: Path) -> dict[str, Any]:
    return dict(build_report(folders, redraws=200, show_progress=False))


def printed(document: dict[str, Any]) -> str:
    file = io.StringIO()
    print_report(document, file)
    return file.getvalue()


def test_the_perception_check_is_shown_and_its_absence_said(tmp_path: Path) -> None:
    rows = make_rows("m", lengths=(8, 64), splits=("max",), change=asked())
    rows += make_rows("n", lengths=(64,), splits=("max",), change=asked())
    document = report(make_run(tmp_path / "a", rows))
    assert {(row["system"], row["short_arm"]) for row in document["perception"]} == {("m", "none"), ("n", None)}
    text, page = printed(document), report_page(document)
    assert "perception check at L = 8" in text
    assert "not run" in text
    assert "Perception check" in page
    assert "L = 8 was not run" in page
    known = report(make_run(tmp_path / "b", make_rows("exact", lengths=(8, 64))))
    assert known["perception"] == known["markers"] == known["retrieval"] == []
    assert "Perception check" not in report_page(known)


def test_swapped_markers_are_said_once_for_all_arms(tmp_path: Path) -> None:
    rows = make_rows("m", accuracy=0.0, lengths=(8,), episodes=10, arms=("none", "A"), change=asked())
    document = report(make_run(tmp_path / "a", rows))
    said = [warning for warning in document["warnings"] if "swapped" in warning]
    assert said == [
        "m, ecc-text, arms A, none: answers at L = 8 are significantly worse than chance: the model seems to write its "
        "yes and no markers swapped. Nothing was corrected."
    ]
    assert all(cell["accuracy"]["value"] == 0 for cell in document["cells"])


def test_a_length_beyond_the_trained_context_is_said(tmp_path: Path) -> None:
    def run(name: str, tokens: int | None, **facts: Any) -> list[str]:
        rows = make_rows("m", lengths=(64,), splits=("max",), change=asked(tokens))  # type: ignore[arg-type]
        systems = [{"name": "m", "fingerprint": "v1", "facts": facts}]
        document = report(make_run(tmp_path / name, rows, systems=systems))
        return [warning for warning in document["warnings"] if "trained on" in warning]

    (said,) = run("over", 200, context=150, context_from="Some-VL (8B)", prompt_tokens={"64": 64})
    assert "L = 64: up to 205 tokens (prompt and answer, by the server's count)" in said
    assert "beyond the 150 that the model was trained on (Some-VL (8B))" in said
    assert run("under", 100, context=150, prompt_tokens={"64": 64}) == []
    (least,) = run("untold", None, context=50, context_from="context=", prompt_tokens={"64": 64})
    assert "64 tokens (by the paper's count, at least)" in least
    assert run("unknown", 200, context=None, prompt_tokens={}) == []
    assert run("odd", 200, context="many", prompt_tokens=[1]) == []


def test_declined_questions_are_told_by_kind(tmp_path: Path) -> None:
    rows = make_rows("m", lengths=(64,), splits=("max",), episodes=4, queries=8, arms=("A", "B"), change=with_kinds)
    document = report(make_run(tmp_path / "a", rows))
    (row,) = document["calibration"]
    assert row["abstained_a"] == row["abstained_b"] == {"explicit": 4, "format": 4, "overflow": 4}
    assert sum(row["abstained_a"].values()) == round(row["n"] * (1 - row["coverage_a"]["value"]))
    page = report_page(document)
    assert "4 / 4 / 4" in page
    assert "Kinds of abstentions and refusals" in page


def test_retrieval_stands_beside_the_direct_system_of_the_same_model(tmp_path: Path) -> None:
    rows = make_rows("rag", lengths=(64,), splits=("max",), change=found_in_windows)
    for name in ("direct", "other"):
        rows += make_rows(name, lengths=(64,), splits=("max",), change=asked())
    how = {"embedder": "ngram-1024", "score_shown": True}
    systems = [
        {"name": "rag", "fingerprint": "r", "facts": {"model": "q", "retrieval": how}},
        {"name": "direct", "fingerprint": "d", "facts": {"model": "q"}},
        {"name": "other", "fingerprint": "o", "facts": {"model": "z"}},
    ]
    document = report(make_run(tmp_path / "a", rows, systems=systems))
    (row,) = document["retrieval"]
    assert (row["system"], row["direct"]) == ("rag", "direct")
    assert row["flops_index"] == 4000
    assert row["flops_answer"] == 100
    assert row["flops_one_query"] == 4100
    assert row["flops_direct"] > 64_000
    assert row["saving"] == row["flops_direct"] / 100
    assert row["break_even"] == 4000 / (row["flops_direct"] - 100)
    assert row["hit_rate"]["value"] == 0.5
    assert set(document["systems"]) == {"rag", "direct", "other"}
    text, page = printed(document), report_page(document)
    assert "retrieval, beside reading all" in text
    assert "shown" in text
    assert "ngram-1024" in page
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_retrieval_system_alone_is_shown_without_a_comparison(tmp_path: Path) -> None:
    rows = make_rows("rag", lengths=(64,), splits=("max",), change=found_in_windows)
    document = report(make_run(tmp_path / "a", rows))
    (row,) = document["retrieval"]
    assert row["direct"] is row["saving"] is row["break_even"] is None
    assert "Retrieval" in report_page(document)
    json.dumps(document, allow_nan=False)
