"""Batches: planned by folders, measured once, in parallel as alone, through damage and kills."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rollout_scenes import blend, pose, render, texture, write_video

from memgauge.errors import InputError
from memgauge.metrics.half_life_responses import fit_responses
from memgauge.responses import check_rows, load_responses
from memgauge.rollouts import batch as module
from memgauge.rollouts.batch import Job, MeasureOptions, key_of, plan, run_batch, table
from memgauge.rollouts.leaderboard import leaderboard, leaderboard_rows, sign_flip_p
from memgauge.rollouts.measure import FitOptions
from memgauge.rollouts.responses import revisit_rows

FRAMES = 72
XS = np.abs((np.arange(FRAMES) + 6) % 24 - 12) / 6 - 1
OPTIONS = MeasureOptions(fit=FitOptions(permutations=99))


def make_video(path: Path, seed: int, fading: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    poses = np.stack([pose(x) for x in XS])
    scene, other = texture(seed), texture(seed + 100)
    frames = [
        blend(render(scene, camera), render(other, camera), 1 - np.exp(-fading * max(i - 18, 0) / FRAMES))
        for i, camera in enumerate(poses)
    ]
    write_video(path, frames, 8)
    np.save(path.with_name(f"{path.stem}_poses.npy"), poses)


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("videos")
    for number, fading in enumerate((0.5, 3.0)):
        for case in range(2):
            make_video(root / f"model{number}" / f"case{case}.mp4", case, fading + case)
    (root / "model0" / "broken.mp4").write_text("no video")
    write_video(root / "model1" / "no_track.mp4", [render(texture(0), pose(0))] * 10, 8)
    return root


def test_plan(videos: Path, tmp_path: Path) -> None:
    jobs = plan([videos])
    assert [(job.model, job.case) for job in jobs] == [
        ("model0", "broken"),
        ("model0", "case0"),
        ("model0", "case1"),
        ("model1", "case0"),
        ("model1", "case1"),
        ("model1", "no_track"),
    ]
    assert jobs[1].poses == videos / "model0" / "case0_poses.npy"
    assert jobs[0].poses is None
    # Folders one by one give the same models and cases.
    apart = plan([videos / "model0", videos / "model1"])
    assert [(job.model, job.case) for job in apart] == [(job.model, job.case) for job in jobs]
    single = plan([videos / "model0" / "case0.mp4"])
    assert [(job.model, job.case) for job in single] == [("model0", "case0")]
    # Tracks in a folder of their own.
    (tmp_path / "tracks" / "model1").mkdir(parents=True)
    (tmp_path / "tracks" / "model1" / "case0.txt").touch()
    (tmp_path / "tracks" / "case1.npz").touch()
    found = {(job.model, job.case): job.poses for job in plan([videos], tmp_path / "tracks")}
    assert found["model1", "case0"] == tmp_path / "tracks" / "model1" / "case0.txt"
    assert found["model0", "case0"] is None
    assert found["model0", "case1"] == tmp_path / "tracks" / "case1.npz"
    (tmp_path / "empty").mkdir()
    for paths, poses, match in (
        ([tmp_path / "absent"], None, "no such"),
        ([tmp_path / "empty"], None, "no videos"),
        ([videos, videos / "model0"], None, "two videos"),
        ([videos], videos / "model0" / "case0_poses.npy", "is a folder"),
    ):
        with pytest.raises(InputError, match=match):
            plan(paths, poses)


def strip(records: list[dict[str, Any]]) -> str:
    return json.dumps(records, sort_keys=True)


def test_a_batch_goes_on_where_it_was(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[str] = []
    real = module.measure_job

    def counted(job: Job, *rest: Any) -> dict[str, Any]:
        measured.append(job.case)
        return real(job, *rest)

    monkeypatch.setattr(module, "measure_job", counted)
    out = tmp_path / "out"
    jobs = plan([videos])
    first = run_batch(jobs[:3], OPTIONS, out, workers=1)
    assert first[0]["status"] == "error"
    assert first[1]["pairs"]
    assert measured == ["broken", "case0", "case1"]
    # A kill in the middle of a line loses that line only.
    log = out / "results.jsonl"
    log.write_bytes(log.read_bytes()[:-40])
    measured.clear()
    records = run_batch(jobs, OPTIONS, out, workers=1)
    assert measured == ["broken", "case1", "case0", "case1", "no_track"]
    assert strip(records[1:3]) == strip(first[1:3])
    assert [record["reason"] for record in records if record["case"] == "no_track"] == ["no_poses"]
    measured.clear()
    again = run_batch(jobs, OPTIONS, out, workers=1)
    assert measured == ["broken"]
    assert strip(again) == strip(records)
    # Other options are another measurement; the old lines stay.
    measured.clear()
    other = replace(OPTIONS, fit=FitOptions(permutations=99, bounds="nonneg"))
    run_batch(jobs, other, out, workers=1)
    assert len(measured) == 6
    measured.clear()
    run_batch(jobs, OPTIONS, out, workers=1)
    assert measured == ["broken"]
    rows = list(csv.DictReader(io.StringIO((out / "results.csv").read_text())))
    assert [(row["model"], row["case"], row["status"]) for row in rows] == [
        (record["model"], record["case"], record["status"]) for record in records
    ]
    assert float(rows[1]["memory_revisit_fidelity"]) == records[1]["memory_revisit_fidelity"]
    assert "not a readable video" in rows[0]["detail"]


def test_in_parallel_as_alone(videos: Path, tmp_path: Path) -> None:
    jobs = plan([videos])
    alone = run_batch(jobs, OPTIONS, tmp_path / "one", workers=1)
    together = run_batch(jobs, OPTIONS, tmp_path / "two", workers=2)
    assert strip(alone) == strip(together)
    assert (tmp_path / "one" / "results.csv").read_text() == (tmp_path / "two" / "results.csv").read_text()


def test_keys_follow_content(videos: Path, tmp_path: Path) -> None:
    job = plan([videos / "model0" / "case0.mp4"])[0]
    moved = tmp_path / "elsewhere.mp4"
    moved.write_bytes(job.video.read_bytes())
    base = key_of(job, OPTIONS, "grid-1")
    assert key_of(replace(job, video=moved), OPTIONS, "grid-1") == base
    moved.write_bytes(job.video.read_bytes() + b"x")
    assert key_of(replace(job, video=moved), OPTIONS, "grid-1") != base
    assert key_of(job, OPTIONS, "other") != base
    assert key_of(job, replace(OPTIONS, fps=5.0), "grid-1") != base
    assert key_of(replace(job, poses=None), OPTIONS, "grid-1") != base
    # A job without a track is measured without one, also when another lies beside the video.
    record = module.measure_job(replace(job, poses=None), OPTIONS, OPTIONS.make_embedder())
    assert record["reason"] == "no_poses"


def test_keys_follow_the_companions_of_a_track(videos: Path, tmp_path: Path) -> None:
    poses = tmp_path / "pose" / "v_poses.npz"
    poses.parent.mkdir()
    poses.write_bytes(b"poses")
    job = replace(plan([videos / "model0" / "case0.mp4"])[0], poses=poses)
    seen = {key_of(job, OPTIONS, "grid-1")}
    for name in ("pose/v_frame_indices.npy", "pose/v_intrinsics.npy", "intrinsics/v_poses.npz", "pose/cameras.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1")
        seen.add(key_of(job, OPTIONS, "grid-1"))
    assert len(seen) == 5
    (tmp_path / "pose" / "unrelated.npy").write_bytes(b"1")
    assert key_of(job, OPTIONS, "grid-1") in seen


def test_errors_are_measured_again_in_their_own_line(videos: Path, tmp_path: Path) -> None:
    jobs = plan([videos / "model0"])[:2]
    gone = Job(tmp_path / "gone.mp4", "model0", "gone", None)
    for _ in range(3):
        records = run_batch([*jobs, gone], OPTIONS, tmp_path, workers=1)
    assert [record["status"] == "error" for record in records] == [True, False, True]
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert len({json.loads(line)["key"] for line in lines}) == 3


def test_pairs_are_responses(videos: Path, tmp_path: Path) -> None:
    records = run_batch(plan([videos]), OPTIONS, tmp_path, workers=1)
    rows = load_responses(tmp_path)
    pairs = [(record["model"], record["case"], pair) for record in records for pair in record.get("pairs", ())]
    assert rows.height == len(pairs) > 0
    for row, (model, case, pair) in zip(rows.iter_rows(named=True), pairs, strict=True):
        assert (row["system"], row["episode"], row["task"]) == (model, case, "revisits:grid-1")
        assert (row["age"], row["age_unit"], row["score"]) == (pair["gap_seconds"], "seconds", pair["fidelity"])
        assert (row["outcome"], row["correct"]) == ("answered", None)
    assert {group.key["system"] for group in fit_responses(rows, permutations=99)} == {"model0", "model1"}
    blind = revisit_rows([{**records[1], "pairs": [{**records[1]["pairs"][0], "fidelity": None}]}])
    assert check_rows(blind, "blind")["outcome"].to_list() == ["judge_error"]


@pytest.mark.slow
def test_a_killed_batch_leaves_no_process_and_goes_on(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "slow_embedder.py").write_text(
        "import os, time\nfrom pathlib import Path\nfrom memgauge.rollouts.embedders import GridEmbedder\n"
        "class Slow(GridEmbedder):\n"
        "    def embed(self, inputs):\n"
        "        Path(f'worker-{os.getpid()}').touch()\n"
        "        time.sleep(0.7)\n"
        "        return super().embed(inputs)\n"
    )
    command = [sys.executable, "-m", "memgauge", "half-life", str(videos), "--out", "out", "--jobs", "2"]
    command += ["--embedder", "import:slow_embedder:Slow", "--permutations", "99"]
    places = os.pathsep.join([str(tmp_path), *sys.path])
    started = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": places})
    log = tmp_path / "out" / "results.jsonl"
    until(lambda: log.exists() and '"embedder": "grid-1"' in log.read_text())
    started.kill()
    started.wait()
    workers = [int(mark.name.split("-")[1]) for mark in tmp_path.glob("worker-*")]
    assert workers
    until(lambda: not any(Path(f"/proc/{worker}/exe").exists() for worker in workers))
    written = log.read_text().splitlines()
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": places}, check=True, capture_output=True)
    lines = log.read_text().splitlines()
    assert len(lines) == len(plan([videos]))
    measured = [line for line in written if json.loads(line)["status"] != "error"]
    assert [line for line in lines if line in measured] == measured


def until(true: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen within a minute")


def test_a_video_that_kills_its_process_is_named(videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "deadly_embedder.py"
    helper.write_text(
        "import os\nimport numpy as np\n"
        "class Deadly:\n"
        "    name = 'deadly'\n"
        "    def prepare(self, image):\n"
        "        return image[::8, ::8].copy()\n"
        "    def embed(self, inputs):\n"
        "        if len(inputs) and inputs[0].shape[1] != 20:\n"
        "            os._exit(7)\n"
        "        return np.stack([one.ravel() for one in inputs]).astype(np.float32) - 128\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    root = tmp_path / "v"
    make_video(root / "good.mp4", 1, 1.0)
    make_video(root / "also_good.mp4", 2, 1.0)
    wide = [np.pad(render(texture(3), pose(x)), ((0, 0), (0, 80), (0, 0))) for x in XS]
    write_video(root / "bad.mp4", wide, 8)
    np.save(root / "bad_poses.npy", np.stack([pose(x) for x in XS]))
    options = replace(OPTIONS, embedder="import:deadly_embedder:Deadly")
    records = run_batch(plan([root]), options, tmp_path / "out", workers=2)
    assert {record["case"]: record["status"] == "error" for record in records} == {
        "also_good": False,
        "bad": True,
        "good": False,
    }
    assert [record["reason"] for record in records if record["case"] == "bad"] == ["process_died"]


def test_a_broken_log_is_named(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"key": "a"}\nnot json\n')
    with pytest.raises(InputError, match="line 2"):
        run_batch(plan([videos / "model0" / "case0.mp4"]), OPTIONS, tmp_path, workers=1)


def test_cells_are_no_formulas() -> None:
    text = table([{"model": "=cmd()", "case": "a,b", "status": "ok", "reason": None, "r2": -0.5}])
    row = next(csv.DictReader(io.StringIO(text)))
    assert row["model"] == "'=cmd()"
    assert row["case"] == "a,b"
    assert row["reason"] == ""
    assert row["r2"] == "-0.5"


def record(
    model: str, case: str, raw: float | None, fidelity: float | None, reason: str | None = None
) -> dict[str, Any]:
    status = "ok" if raw is not None else "not_applicable" if reason != "unreadable" else "error"
    return {
        "model": model,
        "case": case,
        "status": status,
        "reason": reason,
        "raw": raw,
        "half_life_seconds": None if raw is None else 60 * raw,
        "memory_revisit_fidelity": fidelity,
        "embedder": "grid-1",
    }


def test_leaderboard() -> None:
    records = [record("a", f"c{k}", 0.2 + 0.01 * k, 0.6 + 0.01 * k) for k in range(8)]
    records += [record("b", f"c{k}", 0.5 + 0.01 * k, 0.7 + 0.01 * k) for k in range(6)]
    records += [record("b", "c6", None, 0.5, "not_significant"), record("b", "c7", None, None, "unreadable")]
    board = leaderboard(records)
    best, second = board["models"]
    assert (best["model"], best["ok"], best["errors"], best["refused"]) == ("b", 6, 1, {"not_significant": 1})
    assert second["raw"]["value"] == pytest.approx(0.235)
    assert second["raw"]["low"] < 0.235 < second["raw"]["high"]
    assert best["half_life_seconds_median"] == pytest.approx(60 * 0.525)
    raw = next(pair for pair in board["comparisons"] if pair["metric"] == "raw")
    assert (raw["model_a"], raw["model_b"], raw["cases"]) == ("b", "a", 6)
    assert raw["difference"] == pytest.approx(0.3)
    assert raw["p"] == raw["p_holm"] == pytest.approx(2 / 64)
    fidelity = next(pair for pair in board["comparisons"] if pair["metric"] == "memory_revisit_fidelity")
    assert fidelity["cases"] == 7
    columns, rows = leaderboard_rows(board)
    assert [row[0] for row in rows] == ["b", "a"]
    assert all(len(row) == len(columns) for row in rows)
    json.dumps(board, allow_nan=False)
    nothing = leaderboard([record("a", "c", None, None, "no_poses")])
    assert nothing["models"][0]["raw"]["value"] is None
    assert leaderboard_rows(nothing)[1][0][2] == "-"


def test_sign_flips() -> None:
    assert sign_flip_p(np.array([1.0, -1.0])) == 1.0
    assert sign_flip_p(np.ones(10)) == 2 / 1024
    drawn = sign_flip_p(np.r_[np.ones(12), -1.0])
    # All signs of 13 differences: 28 of 8,192 reach 11 or more. 9,999 draws err by less than 5 standard errors.
    assert drawn == pytest.approx(28 / 8192, abs=5 * np.sqrt(28 / 8192 / 9999))
