"""`memgauge histories check`: exit status, tables, one JSON document."""

from __future__ import annotations

import json
import shutil

import pytest
from broken import Broken

from memgauge.cli.app import run


@pytest.fixture
def broken(built, tmp_path):
    folder = shutil.copytree(built, tmp_path / "B")
    b = Broken(folder)
    b.records(0)[0]["haystack_dates"][0] = "soon"
    return b.save()


def test_a_sound_folder(built, capsys):
    assert run(["histories", "check", str(built), "--sample", "10"]) == 0
    said = capsys.readouterr().out
    assert "no gate fails" in said
    assert "too few: leak gates decide from 300 evidence sessions on" in said


def test_a_broken_folder_names_the_question_and_what_to_do(broken, capsys):
    assert run(["histories", "check", str(broken), "--sample", "10"]) == 1
    said = capsys.readouterr().out
    name = json.loads((broken / "meta.jsonl").read_text().splitlines()[0])["question_id"]
    assert f"{name} at 32k: 'soon' is no date" in said
    assert "what to do: the timeline is broken" in said


def test_json_and_strict(built, capsys):
    """Strictly, too few sessions are a failure."""
    assert run(["histories", "check", str(built), "--json", "--strict", "--sample", "10"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["holds"] is False
    keys = {"name", "kind", "measured", "threshold", "bound", "n", "unit", "verdict", "what", "problems", "advice"}
    assert all(set(gate) == keys | {"details"} for gate in document["gates"].values())
    kinds = {gate["kind"] for gate in document["gates"].values()}
    assert kinds == {"structural", "statistical", "shown"}
    assert {g["verdict"] for g in document["gates"].values() if g["kind"] == "statistical"} == {"too few"}
    assert {g["verdict"] for g in document["gates"].values() if g["kind"] == "structural"} == {"holds"}


def test_what_cannot_be_read(tmp_path, built, capsys):
    assert run(["histories", "check", str(tmp_path)]) == 2
    assert "manifest.json" in capsys.readouterr().err
    assert run(["histories", "check", str(built), "--sample", "1"]) == 2
