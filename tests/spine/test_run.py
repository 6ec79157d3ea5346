"""The run loop: three ways of answering, faults kept to their episode, resume."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import systems_for_tests as made

from memgauge.errors import InputError
from memgauge.estimate import estimate
from memgauge.responses import load_responses
from memgauge.run import Subject, execute, read_record
from memgauge.system import Answer
from memgauge.tasks import MadeStreams

ALIKE = pl.exclude("run", "seconds_write", "seconds_read")


def rows_of(folder):
    return load_responses(folder).sort("key").select(ALIKE)


def test_three_ways_of_answering_give_the_same_rows(plan, tmp_path):
    tables = []
    for index, system in enumerate([made.Last(), made.LastAsync(), made.LastBatch()]):
        summary = execute(plan(system, arms=("none", "A")), tmp_path / str(index))
        assert summary.asked == 2 * 4 * 8 * 2
        assert summary.errors == 0
        tables.append(rows_of(tmp_path / str(index)))
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    rows = tables[0]
    assert set(rows["outcome"]) == {"answered"}
    assert (rows["correct"] == (rows["answer"] == rows["gold"])).all()
    assert rows.filter(pl.col("gold") == "no")["age"].null_count() == rows.filter(pl.col("gold") == "no").height
    assert set(rows["state_bytes"]) == {20}
    # A window of 40 symbols finds exactly the candidates whose last occurrence lies wholly inside it.
    inside = rows["age"] <= 40 - rows["query_length"]
    assert ((rows["answer"] == "yes") == inside.fill_null(False)).all()


def test_tasks_show_the_same_episodes(plan, tmp_path):
    execute(plan(made.Last(keep=1000), task="ecc-tokens"), tmp_path / "tokens")
    execute(plan(made.Text(), task="ecc-text"), tmp_path / "text")
    tokens, text = rows_of(tmp_path / "tokens"), rows_of(tmp_path / "text")
    order = ["length", "episode", "query"]
    assert (
        tokens.sort(order)
        .select(*order, "gold", "age", "answer")
        .equals(text.sort(order).select(*order, "gold", "age", "answer"))
    )
    assert tokens["correct"].all()
    assert set(text["t_ans"]) == {5 * 8 / 11}
    assert set(text["write_shared"]) == {False}
    assert set(text["flops_write"]) == {7}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", "read raised RuntimeError: no answer today"),
        ("exits", "read raised SystemExit: 3"),
        ("write raises", "write 1 raised ValueError: cannot write this"),
        ("nonsense", "read returned dict"),
        ("bad confidence", "Answer.confidence is float 1.5"),
        ("bad value", "Answer.value is int 42"),
        ("mutates", "declare reads_mutate = True"),
        ("cancels", "read raised CancelledError"),
        ("bad time", "Answer.t_ans is float nan"),
        ("huge cost", "Answer.flops_read is int 1180591620717411303424"),
        ("bad evidence", "Answer.evidence is tuple"),
        ("negative cost", "cost raised TypeError: WriteCost.flops is int -1"),
        ("hangs", "took over 0.3 s and was left behind"),
    ],
)
def test_a_fault_stays_in_its_episode(plan, tmp_path, fault, said):
    summary = execute(plan(made.Misbehaving(fault), count=6, lengths=(64,), timeout=0.3), tmp_path / "r")
    rows = load_responses(tmp_path / "r")
    bad = rows.filter(pl.col("outcome") == "model_error")
    good = rows.filter(pl.col("outcome") == "answered")
    assert rows.height == 48
    assert bad.height
    assert good.height
    assert not set(bad["episode"]) & set(good["episode"])
    assert said in bad["error"][0]
    assert bad["correct"].null_count() == bad.height
    assert summary.errors == bad.height
    assert bad["episode"][0] in summary.first_errors[0]


def test_errors_are_asked_again_and_answers_are_kept(plan, tmp_path):
    class Flaky(made.Last):
        broken = True

        def start(self, seed):
            return made.MisbehavingMemory("raises" if self.broken else "none")

    system = Flaky()
    first = execute(plan(system, count=6), tmp_path / "r")
    assert first.errors > 0
    system.broken = False
    second = execute(plan(system, count=6), tmp_path / "r")
    assert second.asked == first.errors
    assert second.already_there == first.asked - first.errors
    assert set(load_responses(tmp_path / "r")["outcome"]) == {"answered"}
    third = execute(plan(system, count=6), tmp_path / "r")
    assert third.asked == 0


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(2), RuntimeError("no")])
def test_a_coroutine_that_fails_loses_no_row(plan, tmp_path, error):
    summary = execute(plan(made.AsyncFaults(error)), tmp_path / "r")
    rows = load_responses(tmp_path / "r")
    assert rows.height == summary.asked == 64
    assert set(rows["outcome"]) == {"answered", "model_error"}
    assert type(error).__name__ in rows.filter(pl.col("outcome") == "model_error")["error"][0]


def test_a_fork_that_fails_is_said(plan, tmp_path):
    class Unforkable(made.CountingMemory):
        def fork(self):
            raise KeyError("boom")

    class System(made.Counting):
        def start(self, seed):
            return Unforkable(40)

    execute(plan(System(), count=1), tmp_path / "r")
    assert set(load_responses(tmp_path / "r")["error"]) == {"fork raised KeyError: 'boom'"}


def test_a_start_that_hangs_is_said(plan, tmp_path):
    class Stuck(made.Last):
        def start(self, seed):
            time.sleep(20)

    with pytest.raises(InputError, match=r"Stuck.start took over 0.2 s"):
        execute(plan(Stuck(), timeout=0.2), tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_numpy_numbers_are_numbers(plan, tmp_path):
    class Single(made.Last):
        def start(self, seed):
            memory = made.ReadMemory(40)
            memory.read = lambda q: Answer(np.True_, confidence=np.float32(0.75), flops_read=np.int32(3))
            return memory

    execute(plan(Single(), count=1), tmp_path / "r")
    rows = load_responses(tmp_path / "r")
    assert set(rows["confidence"]) == {0.75}
    assert set(rows["flops_read"]) == {3}


def test_declared_mutation_reads_from_a_fork(plan, tmp_path):
    execute(plan(made.Counting()), tmp_path / "r")
    assert set(load_responses(tmp_path / "r")["answer"]) == {"yes"}


def test_a_batch_that_fails_names_its_episode(plan, tmp_path):
    class Fragile(made.LastBatch):
        def read_batch(self, batch):
            if (batch.symbols[:, 0] % 2 == 0).any():
                raise ValueError("an even start")
            return super().read_batch(batch)

    execute(plan(Fragile(), count=8, lengths=(64,)), tmp_path / "r")
    rows = load_responses(tmp_path / "r")
    assert {"answered", "model_error"} == set(rows["outcome"])
    assert set(rows.filter(pl.col("outcome") == "model_error")["error"]) == {
        "read_batch raised ValueError: an even start"
    }


def test_a_malformed_batch_is_an_error_not_an_answer(plan, tmp_path):
    class Short(made.LastBatch):
        def read_batch(self, batch):
            answers = super().read_batch(batch)
            return replace(answers, value=answers.value[:, :-1])

    execute(plan(Short(), count=2), tmp_path / "r")
    assert set(load_responses(tmp_path / "r")["outcome"]) == {"model_error"}


def test_extending_keeps_what_is_there(plan, tmp_path):
    execute(plan(made.Last(), count=2, lengths=(64,)), tmp_path / "r")
    other = Subject(made.Text(), "text", "text v1")
    summary = execute(plan(made.Last(), other, count=4, lengths=(64, 100), arms=("none", "B")), tmp_path / "r")
    assert summary.already_there == 2 * 8
    execute(plan(made.Last(), other, count=4, lengths=(64, 100), arms=("none", "B")), tmp_path / "whole")
    assert rows_of(tmp_path / "r").equals(rows_of(tmp_path / "whole"))
    record = read_record(tmp_path / "r")
    assert record["data"]["lengths"] == [64, 100]
    assert record["data"]["count"] == 4
    assert [s["name"] for s in record["systems"]] == ["last", "text"]
    assert len(record["commands"]) == 2


def test_other_data_and_changed_systems_are_refused(plan, tmp_path):
    execute(plan(made.Last()), tmp_path / "r")
    before = rows_of(tmp_path / "r")
    other = replace(plan(made.Last()), source=MadeStreams(lengths=(64,), bands=("max",), count=2, queries=8, seed=9))
    with pytest.raises(InputError, match="seed: 3 there, 9 now"):
        execute(other, tmp_path / "r")
    changed = plan(Subject(made.Last(keep=20), "last", "last v2"))
    with pytest.raises(InputError, match="earlier version of last"):
        execute(changed, tmp_path / "r")
    assert rows_of(tmp_path / "r").equals(before)
    execute(replace(changed, replace=True), tmp_path / "r")
    after = rows_of(tmp_path / "r")
    assert after.height == before.height
    assert set(after["state_bits"]) == {80}


def test_plans_refuse_what_makes_no_sense(plan):
    with pytest.raises(InputError, match="no system"):
        plan()
    with pytest.raises(InputError, match="two systems are called 'last'"):
        plan(made.Last(), made.Last())
    with pytest.raises(InputError, match="unknown arm 'C'"):
        plan(made.Last(), arms=("C",))
    with pytest.raises(InputError, match="did you mean 'ecc-text'"):
        plan(made.Last(), task="ecc-txt")
    with pytest.raises(InputError, match="did you mean 'max'"):
        plan(made.Last(), bands=("mx",))


def test_what_is_no_system_is_said(plan, tmp_path):
    class Nothing:
        name = "nothing"

    class NoRead:
        name = "no-read"

        def start(self, seed):
            return made.LastMemory(3)

    with pytest.raises(InputError, match="needs start"):
        execute(plan(Nothing()), tmp_path / "r")
    with pytest.raises(InputError, match="neither read"):
        execute(plan(NoRead()), tmp_path / "r")


def test_estimate_counts_without_asking(plan):
    cells = estimate(plan(made.Last(), arms=("none", "A"), lengths=(64, 100)))
    assert [c["questions"] for c in cells] == [64, 64]
    assert [c["stream_tokens"] for c in cells] == [256, 400]
    assert cells[0]["flops"] is None


def test_lengths_and_gold_are_not_told(plan, tmp_path):
    seen = []

    class Spy(made.Last):
        def start(self, seed):
            seen.append(("seed", seed))
            return SpyMemory(40)

    class SpyMemory(made.ReadMemory):
        def write(self, observation):
            seen.append(("block", len(observation.symbols)))
            super().write(observation)

        def read(self, question):
            seen.append(("question", json.dumps(sorted(f for f in dir(question) if not f.startswith("_")))))
            return super().read(question)

    execute(plan(Spy(), count=1, lengths=(200,)), tmp_path / "r")
    assert [size for kind, size in seen if kind == "block"] == [64, 64, 64, 8]
    fields = {what for kind, what in seen if kind == "question"}
    known = ["candidate", "clip", "date", "lanes", "payoff", "reasoning", "seed", "text", "words"]
    assert fields == {json.dumps(known)}


def test_no_system_can_change_what_the_next_one_sees(plan, tmp_path):
    class Vandal(made.Last):
        name = "vandal"

        def start(self, seed):
            return VandalMemory(40)

    class VandalMemory(made.ReadMemory):
        def write(self, observation):
            super().write(observation)
            observation.symbols.flags.writeable = True

        def read(self, question):
            question.candidate.flags.writeable = True
            question.candidate[:] = 0
            return super().read(question)

    execute(plan(Vandal(), Subject(made.Last(keep=1000), "last", "l")), tmp_path / "r")
    rows = load_responses(tmp_path / "r")
    assert set(rows.filter(pl.col("system") == "vandal")["outcome"]) == {"model_error"}
    assert rows.filter(pl.col("system") == "last")["correct"].all()


def test_a_run_inside_a_running_loop(plan, tmp_path):
    """As in a notebook."""

    async def notebook():
        return execute(plan(made.LastAsync()), tmp_path / "r")

    assert asyncio.run(notebook()).errors == 0
    execute(plan(made.LastAsync()), tmp_path / "plain")
    assert rows_of(tmp_path / "r").equals(rows_of(tmp_path / "plain"))
