"""`memgauge histories check`: exit status, tables, one JSON document."""

from __future__ import annotations

import json
import shutil

import pytest
from broken import Broken

from memgauge.cli.app import run
from memgauge.cli.histories_checking import print_report
from memgauge.cli.output import write_page
from memgauge.errors import InputError
from memgauge.histories.building.checking import check_folder
from memgauge.histories.building.checking.page import check_page
from memgauge.histories.building.checking.variety import Variety


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


@pytest.fixture(scope="module")
def report(built):
    return check_folder(built, sample=10)


def test_variety_of_the_text_in_json_and_words(report, capsys):
    document = report.to_dict()
    text = document["text"]
    assert "It falls with the amount of text" in text["meaning"]
    short, long = text["lengths"]["32k"], text["lengths"]["64k"]
    one = long["distinct_2_of_a_history"]
    assert one["least"] <= one["mean"] <= one["most"]
    # More text repeats more: a history varies more than all, a short one more than a long one.
    assert long["distinct_2"] < one["least"] < short["distinct_2_of_a_history"]["least"]
    assert short["distinct_2_of_100000_words"] is None
    assert long["distinct_2"] < long["distinct_2_of_100000_words"] < one["least"]
    assert document["gates"]["distinct_2"]["measured"] == pytest.approx(long["distinct_2"], abs=1e-6)
    assert document["gates"]["distinct_2"]["details"] == text["lengths"]
    assert document["build"]["counts"]["questions"] == 8
    print_report(report)
    said = capsys.readouterr().out
    assert "distinct-2 is the share of word pairs" in said
    assert "words of a turn, mean (least to most): user" in said


def test_variety_by_hand():
    variety = Variety()
    variety.add([("user", "a b c"), ("assistant", "a b c d")])
    variety.add([("user", "a b")])
    found = variety.to_dict()
    assert (found["histories"], found["words"], found["distinct_2"]) == (2, 9, 0.5)
    assert found["distinct_2_of_a_history"] == {"least": 0.6, "mean": 0.8, "most": 1.0}
    assert found["words_of_a_turn"]["user"] == {"turns": 2, "least": 2, "mean": 2.5, "most": 3}
    for _ in range(30_000):
        variety.add([("user", "a b c d")])
    assert variety.fixed.total < variety.whole.total
    assert variety.to_dict()["distinct_2_of_100000_words"] > variety.to_dict()["distinct_2"]


def test_a_page_with_every_gate(broken, tmp_path, capsys):
    page = tmp_path / "check.html"
    assert run(["histories", "check", str(broken), "--sample", "10", "--json", "--html", str(page)]) == 1
    document = json.loads(capsys.readouterr().out)
    text = page.read_text()
    assert all(f"<bdi>{name}</bdi>" in text for name in document["gates"])
    assert "too few" in text
    assert "<code>dates</code>: failed." in text
    assert "What to do: the timeline is broken" in text
    assert "soon" in text
    for said in ("knowledge_update", "distinct-2 of all", "attempts at turns", "candidates left", "used (%)"):
        assert said in text
    assert "http://" not in text
    assert "https://" not in text


def test_a_page_of_a_sound_folder(report, tmp_path):
    page = check_page(report)
    assert "No gate fails." in page
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_page(tmp_path / "file" / "page.html", page)
