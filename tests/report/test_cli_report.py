"""`memgauge report` as it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from report_rows import make_rows, make_run

from memgauge.cli.app import run
from memgauge.report.build import build_report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", make_rows("exact", accuracy=1.0), make_rows("coin", accuracy=0.5))


def test_json_is_one_document_and_the_page_is_named_on_the_other_stream(
    folder: Path, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "pages" / "r.html"
    assert run(["report", str(folder), "--out", str(out), "--json", "--redraws", "100"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document == json.loads(json.dumps(build_report([folder], redraws=100, show_progress=False)))
    assert f"page: {out}" in captured.err
    assert out.read_text().startswith("<!DOCTYPE html>")
    assert [p.name for p in out.parent.iterdir()] == ["r.html"]


def test_the_table_and_the_line_that_names_the_page(folder: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "r.html"
    assert run(["report", str(folder), "--out", str(out), "--redraws", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ecc-tokens, uniform negatives; 4 episodes and 16 questions a cell"
    assert lines[-1] == f"page: {out}"


def test_the_target_and_the_seed_are_used(folder: Path, capsys: Any) -> None:
    run(["report", str(folder), "--json", "--redraws", "100", "--target", "0.9", "--seed", "5"])
    document = json.loads(capsys.readouterr().out)
    assert (document["target"], document["seed"], document["redraws"]) == (0.9, 5, 100)
    assert {row["never"] for row in document["efficiency"] if row["system"] == "coin"} == {True}
    assert {row["never"] for row in document["efficiency"] if row["system"] == "exact"} == {False}


def test_charts(folder: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "charts"
    assert run(["report", str(folder), "--charts", str(out), "--format", "svg", "--redraws", "100"]) == 0
    files = sorted(p.name for p in out.iterdir())
    assert "capacity-length.svg" in files
    assert f"charts: {len(files)} files in {out}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent"], "absent: no such file or run folder"),
        (["{folder}", "--out", "{folder}"], "is a folder"),
        (["{folder}", "--charts", "x", "--format", "gif"], "unknown format 'gif'"),
        (["{folder}", "--format", "png,,svg"], "an empty name"),
        (["{folder}", "--redraws", "3"], "redraws"),
        (["{folder}", "--seed", "-1"], "--seed must not be negative"),
        (["{folder}", "--target", "1.5"], "target"),
        (["{folder}", "--out", "{folder}/run.json/r.html"], "cannot write"),
        (["{folder}", "--charts", "{folder}/run.json", "--redraws", "100"], "cannot write"),
    ],
)
def test_bad_input_is_named_and_exits_2(folder: Path, arguments: list[str], said: str, capsys: Any) -> None:
    assert run(["report", *(argument.replace("{folder}", str(folder)) for argument in arguments)]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_an_option_that_does_not_exist(folder: Path, capsys: Any) -> None:
    assert run(["report", str(folder), "--jsn"]) == 2
    assert "--json" in capsys.readouterr().err


def test_unfinished_runs_can_be_looked_at(tmp_path: Path, capsys: Any) -> None:
    rows = make_rows("exact")
    folder = tmp_path / "running"
    folder.mkdir()
    (folder / "responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"key": "torn')
    assert run(["report", str(folder), "--json", "--redraws", "100"]) == 0
    assert sum(cell["n"] for cell in json.loads(capsys.readouterr().out)["cells"]) == len(rows)
