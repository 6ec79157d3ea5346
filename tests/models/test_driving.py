"""The run loop, where systems behind a network need it: answers as they come, clean stops, memories that settle."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from scripted_server import Server, reader

from memgauge.errors import RunStoppedError
from memgauge.responses import load_responses
from memgauge.run import Plan, Subject, execute
from memgauge.system import Answer, BatchAnswers
from memgauge.tasks import MadeStreams


def plan(system, **options):
    source = MadeStreams(lengths=(32,), bands=("max",), count=3, queries=4, seed=1)
    return Plan("ecc-tokens", source, (Subject(system, "s", "v1"),), **options)


class Memory:
    def __init__(self, system):
        self.system = system

    def write(self, observation):
        pass

    async def settle(self):
        await asyncio.sleep(self.system.settling)
        self.system.settled += 1

    async def aread(self, question):
        self.system.asked += 1
        if self.system.asked > self.system.until:
            raise RunStoppedError("that is enough")
        await asyncio.sleep(0.01)
        if self.system.mutate:
            self.mark = self.system.asked
        return Answer(True)


class System:
    name = "s"
    reads_mutate = False

    def __init__(self, until=1000, settling=0.0, mutate=False):
        self.until, self.settling, self.mutate = until, settling, mutate
        self.asked = self.settled = self.closed = 0

    def start(self, seed):
        return Memory(self)

    def notes(self):
        return [f"asked {self.asked}"]

    async def aclose(self):
        self.closed += 1

    def __getstate__(self):
        return {}


@pytest.mark.parametrize("declared", [True, False])
def test_a_stop_keeps_what_is_in_flight(tmp_path, declared):
    system = System(until=6)
    if not declared:
        System.reads_mutate = None
    try:
        with pytest.raises(RunStoppedError, match="that is enough"):
            execute(plan(system, concurrency=2), tmp_path, show_progress=False)
    finally:
        System.reads_mutate = False
    assert load_responses(tmp_path).height == 6
    assert system.closed == 1
    rest = System()
    summary = execute(plan(rest, concurrency=2), tmp_path, show_progress=False)
    assert (summary.asked, rest.asked) == (6, 6)
    assert summary.notes == ["s: asked 6"]


def test_a_stop_through_read_and_through_a_batch(tmp_path):
    class Reading:
        name = "s"
        asked = 0

        def start(self, seed):
            return self

        def write(self, observation):
            pass

        def read(self, question):
            self.asked += 1
            if self.asked > 5:
                raise RunStoppedError("that is enough")
            return Answer(True)

    class Batch:
        name = "s"

        def read_batch(self, batch) -> BatchAnswers:
            raise RunStoppedError("no batch today")

    with pytest.raises(RunStoppedError, match="that is enough"):
        execute(plan(Reading()), tmp_path / "read", show_progress=False)
    assert load_responses(tmp_path / "read").height == 5
    with pytest.raises(RunStoppedError, match="no batch today"):
        execute(plan(Batch()), tmp_path / "batch", show_progress=False)


def test_settling_counts_as_writing_and_is_done_once(tmp_path):
    system = System(settling=0.05)
    execute(plan(system), tmp_path, show_progress=False)
    rows = load_responses(tmp_path)
    assert system.settled == 3
    assert rows["seconds_write"].min() >= 0.05


def test_settling_that_hangs_is_an_error_of_its_episode(tmp_path):
    system = System(settling=30.0)
    execute(plan(system, timeout=0.1), tmp_path, show_progress=False)
    rows = load_responses(tmp_path)
    assert set(rows["error"]) == {"settle took over 0.1 s"}


def test_a_false_promise_not_to_mutate_is_found_out(tmp_path):
    """The answers were handed over as they came; the error rows that follow take their place."""

    class Liar(System):
        def start(self, seed):
            return LyingMemory(self)

    class LyingMemory(Memory):
        def fingerprint(self):
            return getattr(self, "mark", 0)

    execute(plan(Liar(mutate=True)), tmp_path, show_progress=False)
    rows = load_responses(tmp_path)
    assert rows.height == 12
    assert rows.filter(pl.col("error").str.contains("reads changed the memory")).height == 12


def test_calls_that_bound_themselves_are_not_cut_off(tmp_path):
    class Slow(System):
        bounds_calls = True

    execute(plan(Slow(settling=0.3), timeout=0.1), tmp_path, show_progress=False)
    assert set(load_responses(tmp_path)["outcome"]) == {"answered"}


@pytest.mark.parametrize(("way", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_command_goes_on_where_it_was(tmp_path, way, status):
    def handle(request):
        response = reader(request)
        response.delay = 0.02
        return response

    with Server(handle) as server:
        command = [
            *(sys.executable, "-m", "memgauge", "run", "ecc-text", "--bands", "max", "--count", "8", "--lengths", "24"),
            *("--system", f"model:name=m,base_url={server.url}", "--out", str(tmp_path / "r"), "--concurrency", "2"),
        ]
        running = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        while server.count < 30:
            time.sleep(0.01)
        running.send_signal(way)
        _, said = running.communicate(timeout=30)
        assert running.returncode == status
        assert "Traceback" not in said
        assert ("the same command goes on from there" in said) == (way == signal.SIGINT)
        sent, kept = server.count, load_responses(tmp_path / "r").height
        assert sent - 4 <= kept <= sent  # two in flight, two perhaps answered and not yet written
        assert subprocess.run(command, check=False).returncode == 0
        assert server.count == sent + 128 - kept
    assert load_responses(tmp_path / "r").height == 128
