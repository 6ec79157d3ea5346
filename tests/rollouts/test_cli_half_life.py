"""`memgauge half-life` and `memgauge rollouts score`, through the real command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rollout_scenes import pose, render, texture, write_video

from memgauge.cli.app import run

CASES = json.loads((Path(__file__).parent.parent / "data" / "half_life.json").read_text())
POSITIONS = np.abs((np.arange(72) + 6) % 24 - 12) / 6 - 1


def write_pairs(path: Path, gaps: list[Any], fidelities: list[Any]) -> Path:
    lines = ["gap,fidelity", *(f"{gap},{fidelity}" for gap, fidelity in zip(gaps, fidelities, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def document(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run([str(argument) for argument in arguments]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} in the output"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("v")
    poses = np.stack([pose(x) for x in POSITIONS])
    np.save(folder / "clip_poses.npy", poses)
    return write_video(folder / "clip.mp4", [render(texture(1), camera) for camera in poses], 8)


@pytest.mark.parametrize("case", CASES["fit"], ids=[case["id"] for case in CASES["fit"]])
def test_published_fits(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_pairs(tmp_path / "f.csv", case["gaps"], case["fidelities"])
    for bounds, want in case["expected"].items():
        got = document(capsys, "half-life", "--pairs", path, "--json", "--bounds", bounds, "--gate", "seed")
        assert (got["status"], got["reason"]) == ("ok", None)
        assert got["half_life_seconds"] == pytest.approx(want["half_life"], rel=1e-7 if want["rss"] else 1e-9)
        assert got["raw"] == pytest.approx(want["raw_60"], rel=1e-7)
        assert got["r2"] == pytest.approx(want["r2"], abs=1e-9)
        if "half_life_ci95" in want:
            assert got["interval_half_life_seconds"] == pytest.approx(want["half_life_ci95"], rel=1e-6)
        if "permutation_p_exact" in want:
            assert got["p_permutation"] == pytest.approx(want["permutation_p_exact"], abs=0.002)
        if case["strict_status"] == "ok":
            strict = document(capsys, "half-life", "--pairs", path, "--json", "--bounds", bounds)
            assert strict["gates"] == {name: {"status": "ok", "reason": None} for name in ("seed", "strict")}


@pytest.mark.parametrize("case", CASES["not_applicable"], ids=[case["id"] for case in CASES["not_applicable"]])
def test_published_refusals(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_pairs(tmp_path / "f.csv", case["gaps"], case["fidelities"])
    gate = "strict" if "STRICTER THAN SEED" in case["note"] else "seed"
    got = document(capsys, "half-life", "--pairs", path, "--json", "--bounds", "unit", "--gate", gate)
    assert (got["status"], got["reason"]) == ("not_applicable", case["reason"])
    assert (got["half_life_seconds"], got["tau_seconds"], got["raw"]) == (None, None, None)
    assert got["event_independence_verified"] is False
    assert got["backend"] == "exponential_fit"


def test_the_installed_command(tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "f.csv", [2, 10, 20, "NaN", 40, 50], [0.9, 0.8, 0.7, 0.6, 0.55, 0.5])
    command = [sys.executable, "-m", "memgauge", "half-life", "--pairs", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    got = json.loads(done.stdout)
    assert got["reason"] == "non_finite"
    assert "pair 4" in got["detail"]
    assert "line 5" in got["detail"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("gap,fidelity\n1,0.9\n2,high\n", "line 3: the fidelity 'high'"),
        ("gap,fidelity\n1,0.9\n,0.8\n", "line 3: the gap ''"),
        ("gap,fidelity\n1_0,0.9\n", "line 2: the gap '1_0'"),
        ("gap,fidelity\n1,0.9,3\n", "line 2: 3 cells"),
        ("gap,score\n1,0.9\n", "line 1"),
        ("", "line 1"),
        ('gap,fidelity\n"1,0.9\n', "not a CSV file"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, place: str) -> None:
    (tmp_path / "f.csv").write_text(text)
    error = refused(capsys, "half-life", "--pairs", tmp_path / "f.csv", "--json")
    assert place in error
    assert "f.csv" in error


def test_csv_in_other_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gaps = np.arange(1, 60, 5)
    fidelities = 0.6 * np.exp(-gaps / 20) + 0.3
    lines = [f"{f},x,{g},e{g % 4}" for g, f in zip(gaps, fidelities, strict=True)]
    (tmp_path / "f.csv").write_bytes(("\ufeffFidelity,note,gap,event\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
    got = document(capsys, "half-life", "--pairs", tmp_path / "f.csv", "--json")
    assert got["half_life_seconds"] == pytest.approx(20 * np.log(2), rel=1e-9)
    assert got["event_count"] == 4
    assert got["warnings"] == ["pairs_not_independent"]
    (tmp_path / "f.csv").write_text("gap,fidelity\n")
    assert document(capsys, "half-life", "--pairs", tmp_path / "f.csv", "--json")["reason"] == "insufficient_pairs"
    write_pairs(tmp_path / "f.csv", [-1, 2, 3, 4, 5], ["Infinity", 0.5, 0.5, 0.4, 0.4])
    assert document(capsys, "half-life", "--pairs", tmp_path / "f.csv", "--json")["reason"] == "non_finite"


def test_swept_is_labelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES["fit"][1]
    path = write_pairs(tmp_path / "f.csv", case["gaps"], case["fidelities"])
    got = document(capsys, "half-life", "--pairs", path, "--json", "--method", "swept")
    assert got["method"] == "swept_offset_log_linear"
    assert got["half_life_seconds"] == pytest.approx(case["swept_offset_loglinear_half_life"], rel=1e-9)
    assert got["raw"] == 1.0
    assert got["interval_half_life_seconds"] == [None, None]
    assert "gate" in refused(capsys, "half-life", "--pairs", path, "--method", "swept", "--gate", "strict")


def test_a_table_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES["fit"][2]
    path = write_pairs(tmp_path / "f.csv", case["gaps"], case["fidelities"])
    assert run(["half-life", "--pairs", str(path)]) == 0
    text = capsys.readouterr().out
    assert "13.05 s" in text
    assert "10.13 s to 17.61 s" in text


def test_a_video(video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "r.html"
    got = document(capsys, "half-life", video, "--json", "--html", page)
    assert got["reason"] == "flat_fidelity"
    assert got["embedder"] == "grid-1"
    assert got["pair_count"] == len(got["pairs"]) <= 24
    assert page.read_text().startswith("<!DOCTYPE html>")
    other = document(
        capsys, "half-life", video, "--json", "--poses", video.parent / "clip_poses.npy", "--max-pairs", "6"
    )
    assert other["pair_count"] == 6
    wide = document(capsys, "half-life", video, "--json", "--fps", "4")
    assert wide["gap_max"] == 2 * got["gap_max"]
    assert run(["half-life", str(video)]) == 0
    assert "mean revisit fidelity" in capsys.readouterr().out


def test_bad_inputs_of_a_video(video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.mp4").write_text("a text file named .mp4")
    assert "text.mp4: not a readable video" in refused(capsys, "half-life", tmp_path / "text.mp4")
    (tmp_path / "empty.mp4").touch()
    assert "not a readable video" in refused(capsys, "half-life", tmp_path / "empty.mp4")
    np.save(tmp_path / "p.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "pickled objects are refused" in refused(capsys, "half-life", video, "--poses", tmp_path / "p.npy")
    poses = np.stack([pose(x) for x in POSITIONS])
    for change, reason in ((np.nan, "invalid_poses"), (7.0, "invalid_poses")):
        broken = poses.copy()
        broken[3, 0, 0] = change
        np.save(tmp_path / "p.npy", broken)
        got = document(capsys, "half-life", video, "--poses", tmp_path / "p.npy", "--json")
        assert got["reason"] == reason
        assert "pose 3" in got["detail"]
    np.save(tmp_path / "p.npy", poses[:20])
    few = document(capsys, "half-life", video, "--poses", tmp_path / "p.npy", "--json")
    assert few["reason"] == "invalid_poses"
    assert "20 poses for 72 frames" in few["detail"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ([], "give videos"),
        (["VIDEO", "--pairs", "x.csv"], "one of them"),
        (["--pairs", "x.csv", "--poses", "p.npy"], "--poses is for videos"),
        (["--pairs", "x.csv", "--max-pairs", "3"], "--max-pairs is for videos"),
        (["--pairs", "x.csv", "--unit", "days"], "--unit is for --responses"),
        (["VIDEO", "--jobs", "2"], "--jobs is for a batch"),
        (["VIDEO", "--weights", "w"], "takes no --weights"),
        (["VIDEO", "--embedder", "dinov2"], "--weights"),
        (["VIDEO", "--max-distance", "0"], "max_distance"),
        (["VIDEO", "--permutations", "3"], "permutations"),
        (["FOLDER"], "--out"),
        (["FOLDER", "--out", "OUT", "--html", "x.html"], "--html is for one video"),
        (["FOLDER", "--out", "OUT", "--jobs", "0"], "--jobs must be"),
    ],
)
def test_options_that_do_nothing_are_refused(
    video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], match: str
) -> None:
    places = {"VIDEO": str(video), "FOLDER": str(video.parent), "OUT": str(tmp_path / "out")}
    assert match in refused(capsys, "half-life", *(places.get(argument, argument) for argument in arguments))
    assert not (tmp_path / "out").exists()


def test_a_batch(video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "bad.mp4").write_text("x")
    got = document(capsys, "half-life", video.parent, tmp_path / "more", "--out", out, "--jobs", "1", "--json")
    assert [one["status"] for one in got["videos"]] == ["not_applicable", "error"]
    assert got["leaderboard"]["models"][0]["videos"] == 1
    names = ["report.html", "responses.parquet", "results.csv", "results.jsonl"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert run(["half-life", str(video.parent), "--out", str(out), "--jobs", "1"]) == 0
    assert "report.html" in capsys.readouterr().out
    # The pairs of all videos of a model are responses like any other.
    curve = document(capsys, "half-life", "--responses", out, "--json")
    assert (curve["system"], curve["unit"], curve["t_ref"]) == (video.parent.name, "seconds", 60.0)
    assert curve["pair_count"] == got["videos"][0]["pair_count"]
    assert "neither right nor wrong" in document(capsys, "report", out, "--json")["notes"][0]
    (tmp_path / "file").touch()
    assert "cannot be used" in refused(capsys, "half-life", video.parent, "--out", tmp_path / "file" / "out")


def test_responses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "run ecc-tokens --system window:bits=256 --system coin --bands max --lengths 256 --count 30 --seed 1"
    assert run([*command.split(), "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    page = tmp_path / "p.html"
    got = document(
        capsys, "half-life", "--responses", tmp_path / "run", "--json", "--permutations", "99", "--html", page
    )
    window, coin = got["groups"]
    # The window keeps 64 symbols: recall falls from 1 to 0 within that age.
    assert window["status"] == "ok"
    assert window["unit"] == "symbols"
    assert 30 < window["half_life"] < 64
    assert window["event_count"] == 30
    assert coin["status"] == "not_applicable"
    assert "status" not in got
    assert page.read_text().count('<figure class="chart">') == 2
    alone = document(
        capsys, "half-life", "--responses", tmp_path / "run", "--json", "--permutations", "99", "--by", "task"
    )
    assert alone["status"] == alone["groups"][0]["status"]
    assert "this run has symbols" in refused(capsys, "half-life", "--responses", tmp_path / "run", "--unit", "days")


def test_rollouts_score(video: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    got = document(capsys, "rollouts", "score", video, "--json")
    siblings = got["videos"][0]["siblings"]
    assert list(siblings) == ["return_gate", "revisit_fidelity", "geometric_closure", "rendering_recovery", "scene_f1"]
    assert siblings["return_gate"]["score"] == 1
    assert siblings["geometric_closure"]["reason"] == "no_intrinsics"
    assert siblings["scene_f1"]["reason"] == "no_depth"
    assert got["videos"][0]["reason"] == "flat_fidelity"
    assert run(["rollouts", "score", str(video)]) == 0
    assert "no_intrinsics" in capsys.readouterr().out
    (tmp_path / "bad.mp4").write_text("x")
    assert run(["rollouts", "score", str(video), str(tmp_path / "bad.mp4"), "--json"]) == 2
    captured = capsys.readouterr()
    assert [one["status"] for one in json.loads(captured.out)["videos"]] == ["not_applicable", "error"]
    assert "not a readable video" in captured.err


def test_help_names_every_option() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memgauge", "half-life", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    for option in ("--poses", "--pairs", "--responses", "--bounds", "--gate", "--permutations", "--t-ref", "--json"):
        assert option in done.stdout
