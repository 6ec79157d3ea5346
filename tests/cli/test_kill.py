"""A run that is killed at a random moment and given again equals an undisturbed one, row by row."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import polars as pl

from memgauge.responses import load_responses


def test_kill_and_resume(tmp_path):
    command = [sys.executable, "-m", "memgauge"]
    make = [
        *command,
        "streams",
        "make",
        "--band",
        "max",
        "--length",
        "256",
        "--count",
        "60",
        "--seed",
        "7",
        "--out",
        "X",
    ]
    subprocess.run([*make, "--queries", "16"], cwd=tmp_path, check=True, capture_output=True)
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import time\nfrom memgauge import Answer\n"
        "class Slow:\n    name = 'slow'\n    def start(self, seed):\n        return Memory()\n"
        "class Memory:\n    def __init__(self):\n        self.kept = b''\n"
        "    def write(self, observation):\n        self.kept += observation.symbols.tobytes()\n"
        "    def read(self, question):\n        time.sleep(0.002)\n"
        "        return Answer(question.candidate.tobytes() in self.kept)\n"
    )
    systems = ["--system", "exact", "--system", "window:bits=512", "--system", "import:slow:Slow"]
    run = [*command, "run", "ecc-text", "--data", "X", *systems, "--json"]
    subprocess.run([*run, "--out", "whole"], cwd=tmp_path, check=True, capture_output=True)
    rng = random.Random(5)
    for _ in range(3):
        process = subprocess.Popen(
            [*run, "--out", "killed"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 30
        log = tmp_path / "killed" / "responses.jsonl"
        while time.monotonic() < deadline and process.poll() is None and not (log.exists() and log.stat().st_size):
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.8))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    killed = load_responses(tmp_path / "killed")
    assert 0 < killed.height < 60 * 16 * 3
    subprocess.run([*run, "--out", "killed"], cwd=tmp_path, check=True, capture_output=True)
    alike = pl.exclude("run", "seconds_write", "seconds_read")
    tables = [load_responses(tmp_path / name).sort("key").select(alike) for name in ("whole", "killed")]
    assert tables[0].height == 60 * 16 * 3
    assert tables[0].equals(tables[1])
