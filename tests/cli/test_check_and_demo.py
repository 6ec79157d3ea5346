"""The instrument's own test holds, and fails when something is wrong; the demo writes its report."""

from __future__ import annotations

import json

import pytest

from memgauge import check as checking
from memgauge.cli import demo as demo_module
from memgauge.cli.app import run


def test_check_holds(capsys):
    assert run(["check", "--quick", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["holds"]
    assert {line["test"] for line in found["lines"]} == {"table", "known answer", "interval"}
    assert len([line for line in found["lines"] if line["test"] == "known answer"]) == 45
    assert all(line["holds"] in (True, None) for line in found["lines"])


def test_check_finds_a_wrong_form(monkeypatch):
    from memgauge.streams.theory import Expected
    from memgauge.systems.known.stateless import Coin

    monkeypatch.setattr(checking, "SYSTEMS", ("coin",))
    assert all(line.holds for line in checking.known_answers(streams=60, seed=0))
    monkeypatch.setattr(Coin, "expected_accuracy", lambda self, length: Expected(0.62, True, "wrong on purpose"))
    assert not any(line.holds for line in checking.known_answers(streams=60, seed=0))


def test_check_finds_a_wrong_cell(monkeypatch):
    from fractions import Fraction

    from memgauge.costs import tables

    real = tables.table_cells

    def changed(number):
        cells = real(number)
        where, computed, printed = cells[0]
        assert computed is not None
        return [(where, computed + Fraction(3), printed), *cells[1:]]

    monkeypatch.setattr(tables, "table_cells", changed)
    assert not any(line.holds for line in checking.tables())


def test_check_finds_intervals_that_are_too_narrow(monkeypatch):
    from memgauge.metrics import inference

    monkeypatch.setattr(inference, "simulate_coverage", lambda *args, **options: 0.91)
    lines = list(checking.intervals(simulations=10, seed=0))
    assert {line.holds for line in lines} == {False, None}


def test_check_exits_1_when_something_does_not_hold(monkeypatch, capsys):
    line = checking.Line("table", "Table 2", "all", "35", False)
    monkeypatch.setattr(checking, "run_checks", lambda **options: iter([line]))
    assert run(["check"]) == 1
    assert "DOES NOT HOLD" in capsys.readouterr().out


def test_a_small_demo_writes_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_module, "SYSTEMS", ("exact", "window:bits=256"))
    monkeypatch.setattr(demo_module, "LENGTHS", (64,))
    monkeypatch.setattr(demo_module, "BACKBONE_LENGTHS", (32,))
    assert run(["demo"]) == 0
    page = (tmp_path / "runs" / "demo" / "report.html").read_text("utf-8")
    assert "window:bits=256" in page
    assert "exact" in capsys.readouterr().out
    record = json.loads((tmp_path / "runs" / "demo" / "run.json").read_text())
    assert record["finished"]
    assert record["systems"][0]["expected"]["64"]["value"] == 1.0
    assert "backbone:conv-64" in page


def test_the_demo_without_torch_says_what_it_leaves_out(monkeypatch, capsys):
    monkeypatch.setattr(demo_module, "find_spec", lambda name: None)
    assert demo_module._backbones() == []
    assert "torch is not installed" in capsys.readouterr().err


@pytest.mark.slow
def test_the_whole_check_holds(capsys):
    assert run(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"]
