"""Judging a run: what waits for a judge, verdicts of every kind, the cache, and going on after a stop."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
from history_files import write_dataset
from scripted_server import Response, Server, completion
from test_memlens_run import ask, question_of, rows_of

from memgauge.cli.app import run
from memgauge.grading.judge.asking import Judged
from memgauge.grading.outcomes import Outcome
from memgauge.responses import load_responses
from memgauge.verdict_rows import with_verdict


def wordy(request):
    """Right and wrong answers that no rule decides, and some that rules do."""
    question = question_of(request)
    said = {
        "bicycle": "The bicycle is crimson.",
        "dog": "A small hound.",
        "work": "bakery",
        "ferry": "14:05",
        "tea": "These days it is oolong, not assam.",
    }
    answer = next((text for word, text in said.items() if word in question), "Insufficient information")
    return Response(body=completion(answer, tokens_in=9000))


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A dataset, and a run on it."""
    folder = tmp_path_factory.mktemp("asked")
    write_dataset(folder / "H")
    with Server(wordy) as server:
        assert ask(folder / "H", server, folder / "r", "--length", "32k") == 0
    return folder


@pytest.fixture
def waiting(asked, tmp_path):
    """A run whose q_ie1, q_ie3 and q_ku wait for a judge."""
    shutil.copytree(asked / "r", tmp_path / "r")
    return tmp_path / "r"


def test_what_waits_for_a_judge(waiting):
    rows = {row["episode"]: row for row in rows_of(waiting).to_dicts()}
    pending = sorted(name for name, row in rows.items() if row["outcome"] == "pending")
    assert pending == ["q_ie1", "q_ie3", "q_ku"]
    assert all(rows[name]["correct"] is None for name in pending)
    assert rows["q_ie4"]["correct"] is True  # the reference and nothing else
    assert rows["q_ie2"]["correct"] is True  # a time of day
    assert rows["q_ku"]["rule_correct"] is True  # the first reading is kept
    assert rows["q_msr"]["outcome"] == "abstained"


def verdict(value):
    return f"The answer was compared.\n[Score]: {value} points\n[JSON]: {json.dumps({'answer_score': value})}"


def judging(folder, server, *more, name="judge"):
    spec = f"model:name={name},base_url={server.url},retries=1,backoff=0"
    return run(["judge", "run", str(folder), "--judge", spec, "--json", *more])


def lenient(request):
    return Response(body=completion(verdict(int("hound" not in request.body["messages"][1]["content"]))))


def test_verdicts_fill_what_waited(waiting, capsys):
    before = {row["key"] for row in rows_of(waiting).to_dicts()}
    capsys.readouterr()
    with Server(lenient) as server:
        assert judging(waiting, server) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["waiting"], found["judged"], found["cached"], server.count) == (3, 3, 0, 3)
        body = server.requests[0].body
        assert body["chat_template_kwargs"] == {"enable_thinking": False}  # a judge does not think
        assert [m["role"] for m in body["messages"]] == ["system", "user"]
        ku = next(r for r in server.requests if "oolong" in r.body["messages"][1]["content"])
        assert "Outdated answer: assam" in ku.body["messages"][1]["content"]
        assert judging(waiting, server) == 0
        assert json.loads(capsys.readouterr().out)["waiting"] == 0
        assert server.count == 3
    rows = {row["episode"]: row for row in rows_of(waiting).to_dicts()}
    assert {row["key"] for row in rows.values()} == before
    assert [rows[n]["correct"] for n in ("q_ie1", "q_ie3", "q_ku")] == [True, False, True]
    assert [rows[n]["score"] for n in ("q_ie1", "q_ie3", "q_ku")] == [1.0, 0.0, 1.0]
    assert {rows[n]["outcome"] for n in ("q_ie1", "q_ie3", "q_ku")} == {"answered"}
    assert rows["q_ie1"]["judge"].startswith("model:name=judge")
    assert rows["q_ie4"]["judge"] is None
    assert rows["q_ie1"]["raw_output"] == "The bicycle is crimson."
    assert json.loads((waiting / "run.json").read_text())["judges"]


def test_the_cache_knows_verdicts_again(waiting, tmp_path, capsys):
    cache = tmp_path / "verdicts.sqlite"
    with Server(lenient) as server:
        assert judging(waiting, server, "--cache", str(cache)) == 0
        rows = load_responses(waiting)
        assert server.count == 3
        # The same answers in another run: nothing is asked.
        undone = rows.with_columns(
            outcome=pl.when(pl.col("judge").is_null()).then("outcome").otherwise(pl.lit("pending")),
            correct=pl.when(pl.col("judge").is_null()).then("correct"),
            score=pl.when(pl.col("judge").is_null()).then("score"),
            judge=pl.lit(None, pl.String),
        )
        undone.write_parquet(waiting / "responses.parquet")
        capsys.readouterr()
        assert judging(waiting, server, "--cache", str(cache)) == 0
        assert json.loads(capsys.readouterr().out)["cached"] == 3
        assert server.count == 3
    assert load_responses(waiting).sort("key").equals(rows.sort("key"))


NO_VERDICT = {
    "empty": Response(body=completion("")),
    "prose": Response(body=completion("I think it is fine.")),
    "two": Response(body=completion('{"answer_score": 2}')),
    "half": Response(body=completion("[Score]: 0.5 points")),
    "contradicting": Response(body=completion('[Score]: 0 points\n{"answer_score": 1}')),
    "quoting": Response(body=completion('The student wrote: "answer_score": 1')),
    "unfinished": Response(body=completion('<think>{"answer_score": 1}', finish="length")),
    "cut": Response(body=completion('{"answer_sc', finish="length")),
    "template": Response(body=completion('{"answer_score": <0 or 1>}')),
    "filtered": Response(body=completion("", finish="content_filter")),
    "html": Response(raw=b"<html>bad gateway</html>"),
    "500": Response(500, {"error": "boom"}),
    "429": Response(429, {"error": "slow down"}),
    "400": Response(400, {"error": {"message": "odd request"}}),
    "cut connection": Response(body=completion(verdict(1)), cut=True),
}


@pytest.mark.parametrize("kind", NO_VERDICT)
def test_no_verdict_is_invented(waiting, capsys, kind, monkeypatch):
    """One clear verdict first, so that the judge is known to work; then only replies of one bad kind."""
    monkeypatch.setattr("memgauge.judging.ATTEMPTS", 2)
    monkeypatch.setattr("memgauge.judging.WAIT_S", 0.0)

    def handle(request):
        return Response(body=completion(verdict(1))) if request.number == 1 else NO_VERDICT[kind]

    capsys.readouterr()
    with Server(handle) as server:
        assert judging(waiting, server, "--concurrency", "1") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["judged"] == 1
        assert found["unparsed"] + found["judge_error"] == 2
        rows = rows_of(waiting).filter(pl.col("judge").is_not_null())
        assert rows["correct"].drop_nulls().to_list() == [True]
        for row in rows.filter(pl.col("correct").is_null()).to_dicts():
            assert row["outcome"] in ("unparsed", "judge_error")
            assert row["score"] is None
            assert row["error"]
    # A better judge of the same name is asked about these two only.
    with Server(lenient) as server:
        assert judging(waiting, server) == 0
        assert json.loads(capsys.readouterr().out)["judged"] == 2
        assert server.count == 2
    assert rows_of(waiting)["correct"].null_count() == 0


def test_a_resumed_run_does_not_ask_the_model_again_for_a_judge(waiting, asked, tmp_path):
    dataset = asked / "H"
    with Server(wordy) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k") == 0
        assert server.count == 0
    with Server(lambda _: Response(body=completion("unclear"))) as server:
        assert judging(waiting, server) == 0
    assert set(rows_of(waiting).filter(pl.col("correct").is_null())["outcome"]) == {"unparsed"}
    with Server(wordy) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k") == 0
        assert server.count == 0


def test_two_judges_are_not_mixed(waiting, capsys):
    with Server(lenient) as server:
        assert judging(waiting, server) == 0
    capsys.readouterr()
    strict = Response(body=completion(verdict(0)))
    with Server(lambda _: strict) as server:
        assert judging(waiting, server, name="other") == 2
        assert "not mixed" in capsys.readouterr().err
        assert server.count == 0
        assert judging(waiting, server, "--replace", name="other") == 0
        assert server.count == 3
    judged = rows_of(waiting).filter(pl.col("judge").is_not_null())
    assert judged["judge"].unique().to_list() == ["model:name=other,thinking=off"]
    assert judged["correct"].to_list() == [False] * 3


def test_a_dead_judge_stops_and_keeps_what_it_said(waiting, capsys):
    def handle(request):
        return Response(401, {"error": "no key"}) if server.count > 1 else Response(body=completion(verdict(1)))

    with Server(handle) as server:
        assert judging(waiting, server, "--concurrency", "1") == 2
    assert "401" in capsys.readouterr().err
    assert rows_of(waiting).filter(pl.col("judge").is_not_null()).height == 1
    with Server(lenient) as server:
        assert judging(waiting, server) == 0
        assert server.count == 2


def test_a_judge_in_the_run_itself(dataset, tmp_path, capsys):
    with Server(wordy) as server, Server(lenient) as judge:
        spec = f"model:name=judge,base_url={judge.url}"
        assert ask(dataset, server, tmp_path / "r", "--length", "32k", "--judge", spec, "--json") == 0
        assert json.loads(capsys.readouterr().out)["verdicts"]["judged"] == 3
    assert rows_of(tmp_path / "r")["correct"].null_count() == 0


def test_official_grading_leaves_everything_to_the_judge(dataset, tmp_path):
    def model(request):
        if "work" in question_of(request):
            return Response(body=completion("bakery " * 600, tokens_in=9000))
        return wordy(request)

    with Server(model) as server, Server(lenient) as judge:
        spec = f"model:name=judge,base_url={judge.url}"
        out = tmp_path / "r"
        assert ask(dataset, server, out, "--length", "32k", "--grading", "official", "--judge", spec) == 0
        assert judge.count == 7
    rows = {row["episode"]: row for row in rows_of(out).to_dicts()}
    assert (rows["q_ie4"]["correct"], rows["q_ie4"]["rule"]) == (False, "more than 500 words commit to nothing")
    assert (rows["q_ar"]["outcome"], rows["q_ar"]["correct"]) == ("abstained", True)
    assert {r["grading"] for r in rows.values()} == {"official"}


def test_a_verdict_on_a_pending_row_is_that_on_a_row_that_is_read_again(waiting):
    """A pending row still holds what the rules read; one that a judge has seen is read again: with equal results."""
    rows = rows_of(waiting).filter(pl.col("outcome") == "pending").to_dicts()
    assert rows
    for value in (0, 1):
        for row in rows:
            judged = Judged(row["key"], Outcome.ANSWERED, value, "said", "object", 1)
            failed = Judged(row["key"], Outcome.JUDGE_ERROR, None, None, "the judge failed", 3, "boom")
            assert with_verdict(with_verdict(row, failed, "j"), judged, "j") == with_verdict(row, judged, "j")
