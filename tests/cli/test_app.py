"""The command line: every command resolves, bad input gives a clear error and status 2, --help stays light."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

from memgauge.cli.app import COMMANDS, run


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_resolves_and_has_help(name, capsys):
    module, attribute = COMMANDS[name][0].split(":")
    assert hasattr(importlib.import_module(module), attribute)
    assert run([name, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from memgauge.cli.app import run; status = run(['--help']); "
        "heavy = {'numpy', 'polars', 'numba', 'scipy', 'altair', 'pydantic', 'torch'} & set(sys.modules); "
        "assert status == 0 and not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rum"], "run"),
        (["run", "ecc-text", "--sytem", "exact", "--out", "x"], "--system"),
        (["run", "ecc-txt", "--system", "exact", "--out", "x"], "did you mean 'ecc-text'"),
        (["run", "ecc-text", "--system", "exat", "--out", "x"], "did you mean 'exact'"),
        (["run", "ecc-text", "--system", "window:bitz=3", "--out", "x"], "bits"),
        (["run", "ecc-text", "--system", "exact", "--out", "x", "--bands", "lo"], "did you mean 'low'"),
        (["run", "ecc-text", "--system", "exact", "--out", "x", "--lengths", "64,abc"], "'abc' is not an integer"),
        (["run", "ecc-text", "--system", "exact", "--out", "x", "--lengths", "0"], "0 is less than 1"),
        (["run", "ecc-text", "--system", "exact", "--out", "x", "--lengths", "3"], "3"),
        (["run", "ecc-text", "--system", "exact", "--out", "x", "--queries", "1"], "--queries"),
        (["run", "ecc-text", "--system", "exact", "--out", "x", "--data", "nowhere"], "nowhere"),
        (["run", "ecc-text", "--system", "exact", "--out", "x", "--data", "d", "--seed", "3"], "--seed"),
        (["run", "ecc-text", "--system", "import:no.such:Thing", "--out", "x"], "no.such"),
        (["report", "nowhere", "--out", "x.html"], "nowhere"),
        (["show", "nowhere", "q"], "nowhere"),
        (["flops", "backbone", "gruu", "--width", "64", "--length", "8"], "gru"),
    ],
)
def test_bad_input_is_said_with_status_2(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert said in " ".join((shown.err + shown.out).split())
    assert "Traceback" not in shown.err
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "x.html").exists()


def test_lists_are_json(capsys):
    for what in ("systems", "tasks", "models", "backbones"):
        assert run(["list", what, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)[what]
        assert found
        assert all(entry["name"] for entry in found)
        assert run(["list", what]) == 0
        assert found[0]["name"].split()[0] in capsys.readouterr().out


def test_a_run_can_be_shown_question_by_question(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = ["run", "ecc-text", "--lengths", "64", "--bands", "max", "--count", "2", "--queries", "4", "--out", "r"]
    assert run([*start, "--system", "exact", "--system", "window:bits=64", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["asked"] == 16
    assert run([*start, "--system", "exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["already_there"] == 8
    episode = "max-64-0001"
    assert run(["show", "r", f"{episode}/q02", "--json"]) == 0
    [shown] = json.loads(capsys.readouterr().out)["questions"]
    assert {row["system"] for row in shown["rows"]} == {"exact", "window:bits=64"}
    stream = [int(s) for s in shown["stream"].split(", ")]
    candidate = [int(s) for s in shown["candidate"].split(", ")]
    there = any(stream[i : i + len(candidate)] == candidate for i in range(64))
    assert there == (shown["gold"] == "yes")
    assert run(["show", "r", shown["rows"][0]["key"][:12]]) == 0
    assert "max-64-0001" in capsys.readouterr().out
    assert run(["show", "r", f"{episode}/q99"]) == 2
    assert "q02" in capsys.readouterr().err
    assert run(["run", "ecc-text", "--system", "exact", "--out", "r", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["total"]["questions"] == 2 * 2 * 20 * 16


def test_video_is_a_task_like_any_other(tmp_path, capsys, monkeypatch):
    from memgauge import load_responses

    monkeypatch.chdir(tmp_path)
    start = ["run", "ecc-video", "--lengths", "16", "--bands", "low,max", "--count", "3"]
    assert run([*start, "--system", "exact", "--system", "lane-map", "--system", "window:bits=32", "--out", "v"]) == 0
    rows = load_responses(tmp_path / "v")
    assert set(rows["system"]) == {"exact+lanes", "lane-map", "window:bits=32+lanes"}
    assert set(rows["outcome"]) == {"answered"}
    assert dict(rows["variant"].value_counts().iter_rows()) == {"sequential": 144, "spatial": 144}
    right = {name: part["correct"].mean() for (name,), part in rows.group_by("system")}
    assert right["exact+lanes"] == 1.0
    assert right["lane-map"] == 0.75
    capsys.readouterr()
    assert run(["show", "v", "low-16-0001/q03", "--json"]) == 0
    [shown] = json.loads(capsys.readouterr().out)["questions"]
    assert (shown["candidate"] in shown["stream"]) == (shown["gold"] == "yes")
    made = ["video", "make", "--length", "16", "--band", "low", "--count", "3", "--out", "frames"]
    assert run(made) == 0
    assert run(["run", "ecc-video", "--system", "exact", "--data", "frames", "--out", "w"]) == 0
    stored = load_responses(tmp_path / "w").sort("key").select("key", "correct")
    chosen = rows.filter((rows["system"] == "exact+lanes") & (rows["split"] == "low"))
    assert stored.equals(chosen.sort("key").select("key", "correct"))
    capsys.readouterr()
    assert run(["run", "ecc-text", "--system", "exact", "--data", "frames", "--out", "x"]) == 2
    assert "ecc-video" in capsys.readouterr().err
    assert run([*start[:1], "ecc-text", "--system", "exact", "--frame-size", "64", "--out", "x"]) == 2
    assert "--frame-size" in capsys.readouterr().err


def test_what_a_system_prints_stays_off_the_document(tmp_path, capsys, monkeypatch):
    (tmp_path / "loud.py").write_text(
        "from memgauge import Answer\nprint('importing')\n"
        "class Loud:\n    name = 'loud'\n    def start(self, seed):\n        print('start')\n        return Memory()\n"
        "class Memory:\n    def write(self, observation):\n        print('write')\n"
        "    def read(self, question):\n        print('read')\n        return Answer(True)\n"
    )
    monkeypatch.chdir(tmp_path)
    start = ["run", "ecc-tokens", "--lengths", "64", "--bands", "max", "--count", "1", "--queries", "2", "--json"]
    assert run([*start, "--system", "import:loud:Loud", "--out", "r"]) == 0
    assert json.loads(capsys.readouterr().out)["asked"] == 2


@pytest.mark.parametrize("name", ["5", "''", "'a\\nb'"])
def test_names_that_no_table_can_show_are_refused(name, tmp_path, capsys, monkeypatch):
    (tmp_path / f"named{len(name)}.py").write_text(f"class S:\n    name = {name}\n    def start(self, seed): pass\n")
    monkeypatch.chdir(tmp_path)
    assert run(["run", "ecc-tokens", "--system", f"import:named{len(name)}:S", "--out", "r"]) == 2
    assert "its name is" in capsys.readouterr().err
