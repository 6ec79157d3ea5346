"""A judge run against over twenty kinds of replies, through the command and a server, with a stop in the middle."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter

import pytest
from runs import answered, write_run
from scripted_server import Response, Server, completion

from memgauge.cli.app import run
from memgauge.responses import load_responses

RIGHT, WRONG = '{"answer_score": 1}', '{"answer_score": 0}'


def said(text, **more):
    return Response(body=completion(text, **more))


SCRIPT = {
    "object": (said(RIGHT), 1),
    "rejecting": (said(WRONG), 0),
    "fenced": (said(f"Fine.\n```json\n{RIGHT}\n```"), 1),
    "line": (said("[Score]: 0 points"), 0),
    "sentence": (said("In summary, the student's answer deserves 1 point."), 1),
    "agreeing": (said(f"[Score]: 1 point\n{RIGHT}"), 1),
    "lastwins": (said(f"{WRONG}\nNo, on second thought:\n{RIGHT}"), 1),
    "quotingfirst": (said(f"The student wrote: {RIGHT}\n{WRONG}"), 0),
    "thoughtfirst": (said(f"<think>{WRONG}</think>{RIGHT}"), 1),
    "contradicting": (said(f"[Score]: 0 points\n{RIGHT}"), "unparsed"),
    "quoting": (said(f"The student wrote: {RIGHT}"), "unparsed"),
    "empty": (said(""), "unparsed"),
    "prose": (said("That is correct."), "unparsed"),
    "two": (said('{"answer_score": 2}'), "unparsed"),
    "half": (said("[Score]: 0.5 points"), "unparsed"),
    "unsure": (said("[Score]: 1 or 0"), "unparsed"),
    "truthy": (said('{"answer_score": true}'), "unparsed"),
    "unfinished": (said(f"<think>{RIGHT}", finish="length"), "unparsed"),
    "halfobject": (said('{"answer_sc', finish="length"), "unparsed"),
    "template": (said('{"answer_score": <0 or 1>}'), "unparsed"),
    "filtered": (said("", finish="content_filter"), "judge_error"),
    "toomany": (Response(429, {"error": "slow down"}), "judge_error"),
    "webpage": (Response(raw=b"<html>bad gateway</html>"), "judge_error"),
    "broken": (Response(500, {"error": "boom"}), "judge_error"),
    "refusing": (Response(400, {"error": {"message": "odd request"}}), "judge_error"),
    "cutoff": (Response(body=completion(RIGHT), cut=True), "judge_error"),
}
CLEAR = {name for name, (_, value) in SCRIPT.items() if isinstance(value, int)}


def name_of(request):
    return next(name for name in SCRIPT if f"of the {name} kind" in request.body["messages"][1]["content"])


def judging(folder, server):
    return run(["judge", "run", str(folder), "--judge", f"model:name=j,base_url={server.url},retries=0,backoff=0",
                "--concurrency", "1", "--json"])  # fmt: skip


@pytest.fixture
def waiting(tmp_path, monkeypatch):
    monkeypatch.setattr("memgauge.judging.ATTEMPTS", 2)
    monkeypatch.setattr("memgauge.judging.WAIT_S", 0.0)
    rows = [answered(f"q_{name}", f"Something of the {name} kind.") for name in sorted(SCRIPT)]  # failures apart
    assert {row["outcome"] for row in rows} == {"pending"}
    return write_run(tmp_path / "r", rows)


def test_every_kind_ends_as_it_should_and_a_stop_costs_nothing(waiting, capsys):
    assert len(SCRIPT) > 20
    asked: Counter[str] = Counter()

    def handle(request):
        asked[name_of(request)] += 1
        return SCRIPT[name_of(request)][0]

    def stopping(request):
        return Response(401, {"error": "no key"}) if sum(asked.values()) >= 20 else handle(request)

    with Server(stopping) as server:
        assert judging(waiting, server) == 2
    capsys.readouterr()
    done = CLEAR & asked.keys()
    assert 2 < len(done) < len(CLEAR)
    rows = load_responses(waiting)
    assert {name.removeprefix("q_") for name in rows.filter(rows["correct"].is_not_null())["episode"]} == done
    assert "pending" in set(rows["outcome"])
    with Server(handle) as server:
        assert judging(waiting, server) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["waiting"] == len(SCRIPT) - len(done)
    assert {name for name in CLEAR if asked[name] != 1} == set()  # nothing clear was ever asked twice
    assert {asked[name] for name in SCRIPT.keys() - CLEAR} <= {1, 2, 3, 4}
    for row in load_responses(waiting).to_dicts():
        value = SCRIPT[row["episode"].removeprefix("q_")][1]
        if isinstance(value, int):
            assert (row["outcome"], row["correct"], row["score"]) == ("answered", bool(value), float(value))
        else:
            assert (row["outcome"], row["correct"], row["score"]) == (value, None, None), row["episode"]
            assert row["error"]
    kept = sqlite3.connect(waiting / "judge.sqlite").execute("SELECT value, raw FROM verdicts").fetchall()
    assert len(kept) == len(CLEAR)
    assert sum(value for value, _ in kept) == sum(SCRIPT[name][1] for name in CLEAR)

    # Again: what is clear is known, and the others are asked anew.
    before = asked.copy()
    with Server(handle) as server:
        assert judging(waiting, server) == 0
    assert json.loads(capsys.readouterr().out)["waiting"] == len(SCRIPT) - len(CLEAR)
    assert all(asked[name] == before[name] for name in CLEAR)
    assert all(asked[name] > before[name] for name in SCRIPT.keys() - CLEAR)


def test_a_judge_against_typed_grades_and_people(tmp_path, capsys):
    """An official run: a lenient judge beside the rules' own grades, a sample for people, and their labels."""
    rows = []
    for i in range(24):
        text = "3" if i % 3 else "4"
        rows.append(
            answered(f"q{i}", f"{text}", gold="3", subtype="MSR_Counting", question="How many lamps?", mode="official")
        )
    folder = write_run(tmp_path / "r", rows)
    assert {row["outcome"] for row in rows} == {"pending"}
    with Server(lambda _: said(RIGHT)) as server:
        assert run(["judge", "run", str(folder), "--judge", f"model:name=j,base_url={server.url}", "--json"]) == 0
    capsys.readouterr()
    assert run(["judge", "agree", str(folder), "--family", "all=*", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pairs"], found["overall"]["first_only"], found["overall"]["second_only"]) == (24, 8, 0)
    assert found["overall"]["leniency"] == pytest.approx(8 / 24)
    assert found["families"][0]["gap"]["value"] is None  # there is no other family
    assert run(["judge", "sample", str(folder), "--out", str(tmp_path / "l.csv"), "--n", "6", "--by", "value"]) == 0
    text = (tmp_path / "l.csv").read_text()
    (tmp_path / "l.csv").write_text(text.replace(",,\n", ",0,\n"))
    arguments = [
        "judge",
        "import",
        str(tmp_path / "l.csv"),
        "--out",
        str(tmp_path / "l.jsonl"),
        "--verdicts",
        str(folder),
    ]
    assert run(arguments) == 0
    capsys.readouterr()
    assert run(["judge", "agree", str(folder), str(tmp_path / "l.jsonl"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pairs"], found["overall"]["first_only"], found["only_first"]) == (6, 6, 18)


def test_nothing_to_compare_is_said(tmp_path, capsys):
    folder = write_run(tmp_path / "r", [answered("q", "green tea")])
    assert run(["judge", "agree", str(folder)]) == 2
    assert "holds no verdicts of a judge" in capsys.readouterr().err
    (tmp_path / "v.csv").write_text("question_id,verdict\nq,1\n")
    assert run(["judge", "agree", str(tmp_path / "v.csv")]) == 2
    assert "name a second file" in capsys.readouterr().err
    assert run(["judge", "agree", str(folder), str(folder), "--family", "x"]) == 2
    assert "--family" in capsys.readouterr().err
