"""`memgauge backbones`: from a training to a table, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memgauge.cli.app import run
from memgauge.report.frontier import COVERAGES, accuracy_at, frontiers

TINY = {"batch": 2, "min_batch": 2, "lengths": [16], "queries": 4, "validation_streams": 2, "layers": 1, "steps": 3}


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(TINY))
    return path


def test_train_then_run_then_report(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c"
    config = json.loads(recipe.read_text())
    recipe.write_text(json.dumps({**config, "layers": 3}))
    command = ["backbones", "train", "gru", "--width", "16", "--config", str(recipe), "--out", str(out)]
    assert run([*command, "--device", "cpu", "--threads", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["reason"], document["step"], document["config"]["backbone"]) == ("steps", 3, "gru")
    assert run([*command, "--device", "cpu"]) == 0  # nothing left to do
    assert "3 of 3 steps" in capsys.readouterr().out
    assert run([*command, "--steps", "4"]) == 2
    assert "steps: 3 there, 4 now" in capsys.readouterr().err

    asked = ["run", "ecc-tokens", "--system", f"backbone:path={out}", "--system", "ngram-set:n=2"]
    assert run([*asked, "--lengths", "32", "--count", "4", "--out", str(tmp_path / "r")]) == 0
    capsys.readouterr()
    assert run(["backbones", "frontier", str(tmp_path / "r"), "--json", "--charts", str(tmp_path / "charts")]) == 0
    panels = json.loads(capsys.readouterr().out)["frontiers"]
    assert {(p["split"], p["budget"]) for p in panels} == {
        (split, budget * 10**6) for split in ("low", "max") for budget in (30000, 10000, 1750)
    }
    assert {one["system"] for one in panels[0]["systems"]} == {"backbone:gru-16 (c)", "ngram-set:n=2"}
    assert len(list((tmp_path / "charts").glob("*.svg"))) == 3
    assert run(["backbones", "frontier", str(tmp_path / "r")]) == 0
    assert "at most 30,000 MFLOPs" in capsys.readouterr().out


def test_curves(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("gru", "conv"):
        out = str(tmp_path / name)
        assert run(["backbones", "train", name, "--width", "16", "--config", str(recipe), "--out", out]) == 0
    capsys.readouterr()
    folders = [str(tmp_path / name) for name in ("gru", "conv")]
    assert run(["backbones", "curves", *folders, "--charts", str(tmp_path / "charts")]) == 0
    assert "3 of 3 steps" in capsys.readouterr().out
    assert (tmp_path / "charts" / "learning-curves.svg").exists()
    assert run(["backbones", "curves", *folders, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["checkpoints"]
    assert [one["config"]["backbone"] for one in found.values()] == ["gru", "conv"]
    (tmp_path / "gru" / "checkpoint.json").write_text(
        '{"format": "memgauge-backbone-1", "config": {"backbone": "gru"}}'
    )
    assert run(["backbones", "curves", folders[0]]) == 2
    assert "missing or broken" in capsys.readouterr().err
    assert run(["backbones", "curves", str(tmp_path)]) == 2


def test_sweep(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["backbones", "sweep", "gru", "conv", "--width", "16", "--config", str(recipe), "--device", "cpu"]
    assert run([*command, "--rates", "0.001", "--batches", "2,4", "--out", str(tmp_path / "s"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {name: len(tried) for name, tried in document.items()} == {"gru": 2, "conv": 2}
    assert (tmp_path / "s" / "conv" / "best" / "model.safetensors").exists()
    assert run([*command, "--rates", "x", "--out", str(tmp_path / "s")]) == 2
    assert "give numbers separated by commas" in capsys.readouterr().err


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "c"), "--device", "cpu"]
    for command, text in (
        (["train", "convv", *out], "did you mean 'conv'"),
        (["train", "conv", "--width", "20", *out], "multiple of 16"),
        (["train", "conv", "--minutes", "0", *out], "--minutes is 0"),
        (["train", "conv", "--threads", "0", *out], "--threads is 0"),
        (["train", "conv", "--config", str(tmp_path / "none"), *out], "cannot be read"),
        (["frontier", str(tmp_path / "none")], "none"),
    ):
        assert run(["backbones", *command]) == 2, command
        assert text in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


def test_help_and_the_package_do_not_import_torch() -> None:
    code = (
        "import sys, memgauge, memgauge.cli.backbones, memgauge.systems.registry\n"
        "from memgauge.cli.app import run\n"
        "run(['--help']); run(['backbones', 'train', '--help'])\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# The frontier


def test_accuracy_at_a_coverage() -> None:
    points = [{"coverage": 1.0, "accuracy": 0.6}, {"coverage": 0.5, "accuracy": 0.8}]
    found = accuracy_at(points, np.array([0.1, 0.5, 0.75, 1.0]))
    np.testing.assert_allclose(found, [0.8, 0.8, 0.7, 0.6])
    assert np.isnan(accuracy_at([{"coverage": 0.4, "accuracy": 1.0}], np.array([0.5]))).all()


def document(**systems: tuple[float, list[tuple[float, float]]]) -> dict[str, Any]:
    key = {"task": "ecc-tokens", "negatives": "uniform", "arm": "none", "subtype": None, "length": 64, "split": "max"}
    return {
        "cells": [{**key, "system": name, "flops_total": flops} for name, (flops, _) in systems.items()],
        "confidence": [
            {
                **key,
                "system": name,
                "curves": [{"flops": None, "points": [{"coverage": c, "accuracy": a} for c, a in curve]}],
            }
            for name, (_, curve) in systems.items()
        ],
    }


def test_frontier_under_budgets() -> None:
    made = document(
        cheap=(10.0, [(1.0, 0.6), (0.05, 0.6)]),
        dear=(100.0, [(1.0, 0.5), (0.05, 0.9)]),
        narrow=(5.0, [(0.2, 1.0)]),
    )
    whole, tight, none = frontiers(made, (5, 50, 1000))[0:3]
    assert [one["system"] for one in whole["systems"]] == ["dear", "cheap", "narrow"]
    assert whole["accuracy"][0] == 1.0  # at a coverage that `narrow` has
    assert whole["accuracy"][-1] == 0.6
    shares = {one["system"]: one["leads"] for one in whole["systems"]}
    assert sum(shares.values()) == pytest.approx(1, abs=1.5 / len(COVERAGES))
    assert {one["system"] for one in tight["systems"]} == {"cheap", "narrow"}
    assert [one["system"] for one in none["systems"]] == ["narrow"]
    assert none["accuracy"][-1] is None
    empty = frontiers(made, (1,))[0]
    assert empty["systems"] == []
    json.dumps(empty, allow_nan=False)
