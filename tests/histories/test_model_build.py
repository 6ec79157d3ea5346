"""`histories build --writer model:...` as a whole, against scripted servers that behave and that do not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from scripted_server import Response, Server, completion
from valid_model import role_of, valid, valid_text

from memgauge.cli.app import run
from memgauge.histories.building.checking import check_folder
from memgauge.histories.building.text import endpoint

pytest.importorskip("openai", reason="the client of model servers is not installed")


@pytest.fixture(autouse=True)
def fast_retries(monkeypatch):
    monkeypatch.setattr(endpoint, "BASE", 0.001)


def command(out, server, *more, n=1, writer="", jobs=1):
    options = f"--n {n} --lengths 32k --jobs {jobs} --writer model:name=scripted,{writer}base_url={server.url}"
    return ["histories", "build", "--out", str(out), *options.split(), *more]


def status(arguments):
    """The exit status, however it comes."""
    try:
        return run(arguments)
    except SystemExit as ended:
        return ended.code


def say(text):
    return Response(body=completion(text))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A build that Ctrl-C stopped in its middle, and the same command again; a server that has moved meanwhile."""
    out = tmp_path_factory.mktemp("model") / "H"
    asked = []

    def kept(request):
        asked.append(json.dumps(request.body))
        return valid(request)

    once = endpoint.Endpoint.ask

    def until(self, request, note=endpoint.silent):
        if len(asked) == 70:
            raise KeyboardInterrupt
        return once(self, request, note)

    with Server(kept) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(endpoint.Endpoint, "ask", until)
        assert status(command(out, server)) == 130
    assert len(asked) == 70
    assert not (out / "manifest.json").exists()
    with Server(kept) as server:
        assert run(command(out, server)) == 0
        assert run(command(out, server)) == 0  # was finished before
    return out, asked


def test_a_build_that_was_stopped_repeats_no_call(built):
    _, asked = built
    assert len(asked) > 150
    assert len(set(asked)) == len(asked)


def test_questions_are_reworded_and_sessions_written(built):
    out, asked = built
    manifest = json.loads((out / "manifest.json").read_text())
    meta = json.loads((out / "meta.jsonl").read_text())
    record = json.loads((out / "dataset_32k.jsonl").read_text())
    assert record["question"].startswith("Could you tell me, ")
    assert record["question"].endswith(meta["draft"][1:])
    attempts = manifest["attempts"]
    assert attempts["questions"] == {"accepted": 1, "attempts": 1}
    assert sum(attempts["replies"].values()) == len(asked)
    assert attempts["replies"]["judge"] >= 2 * 10  # leaks and disambiguation of every turn with a picture
    whole = "".join(path.read_text() for path in out.iterdir() if path.suffix in (".json", ".md"))
    assert "127.0.0.1" not in whole


def test_no_model_is_told_an_answer_or_a_fact_before_its_turn(built):
    out, asked = built
    meta = json.loads((out / "meta.jsonl").read_text())
    bodies = [json.loads(text)["messages"] for text in asked]
    (question,) = [m for m in bodies if m[0]["content"].startswith("You reword")]
    facts = [fact["text"] for session in meta["sessions"] for fact in session["facts"]]
    assert not any(text[:40] in question[1]["content"] for text in facts)


def test_the_check_reads_it_and_says_what_was_not_checked(built):
    out, _ = built
    report = check_folder(out)
    assert report.failed() == []
    gates = {gate.name: gate for gate in report.gates}
    assert gates["session_leak"].verdict == "shown"
    assert gates["question_text_only"].n == 1
    assert gates["vision_answerability"].verdict == "not checked"
    assert gates["swap_of_model_text"] in report.failed(strict=True)


def test_card_and_licences_speak_of_the_model(built):
    out, _ = built
    card = (out / "DATASET_CARD.md").read_text()
    assert "The text is templated" not in card
    assert re.search(r"\| vision_answerability \| not run \|", card)
    assert re.search(r"\| session_leak \| 0 \| 0\.00% \|", card)
    assert "written by the model scripted | see the terms" in (out / "LICENSES.md").read_text()
    described = json.loads((out / "croissant.json").read_text())
    assert described["license"][1] == "the terms of the model scripted for its text"
    assert not any("templated: it" in text for text in described["rai:dataLimitations"])
    mlcroissant = pytest.importorskip("mlcroissant")
    issues = mlcroissant.Dataset(jsonld=out / "croissant.json").metadata.ctx.issues
    assert not issues.errors
    assert not issues.warnings


def writing_only(role, text):
    """A server that misbehaves in one role alone."""
    return lambda request: say(text) if role_of(request) == role else valid(request)


REFUSAL = "I'm sorry, but I can't help with that request."
CONTENT = {
    "prose for JSON": (
        lambda request: say("Sure! Here it is: all good."),
        "prose_for_json",
        "question: reply, no_json",
    ),
    "refusal": (lambda request: say(REFUSAL), "refusal", "question: reply, no_json"),
    "refused turns": (writing_only("user", REFUSAL), "refusal", "text: reply: refusal"),
    "endless repetition": (writing_only("user", "and so it goes on " * 300), "repetition", "text: reply: repetition"),
    "empty": (lambda request: say(""), "empty", "question: reply, empty"),
    "a judge in prose": (writing_only("same", "They are alike."), "prose_for_json", "question: reply, no_judgement"),
}


def some(kinds, *fast):
    """All kinds, of which the named ones belong to the fast tests."""
    return [kind if kind in fast else pytest.param(kind, marks=pytest.mark.slow) for kind in kinds]


@pytest.mark.parametrize("kind", some(CONTENT, "prose for JSON", "refused turns"))
def test_replies_of_no_use_are_named_and_leave_the_quota_short(kind, tmp_path, capsys):
    handle, fault, reason = CONTENT[kind]
    with Server(handle) as server:
        assert run(command(tmp_path / "H", server, "--allow-short")) == 3
    said = capsys.readouterr()
    assert re.search(rf"of no use: .*\b{fault} \d", said.out), said.out
    assert reason in said.out
    assert "nothing is left to export" in said.out
    assert "lacks 1" in said.out
    assert "Traceback" not in said.out + said.err
    assert not (tmp_path / "H" / "manifest.json").exists()


SERVER = {
    "http_429": Response(status=429, body={"error": {"message": "slow down"}}),
    "http_500": Response(status=500, body={"error": {"message": "boom"}}),
    "http_502": Response(status=502, raw=b"<html><body>bad gateway</body></html>"),
    "connection": Response(reset=True),
}


@pytest.mark.parametrize("kind", some(SERVER, "http_429", "connection"))
def test_an_outage_is_no_judgement_on_a_candidate(kind, tmp_path, capsys):
    with Server(lambda request: SERVER[kind]) as server:
        assert run(command(tmp_path / "H", server)) == 3
        assert server.count == endpoint.TRIES
    said = capsys.readouterr().out
    assert f"endpoint: {kind}" in said
    assert f"{kind} {endpoint.TRIES}" in said
    assert f"no answer: {server.url}" in said
    assert "Fell short" in said
    # The next run makes the candidate again: a budget of one call ends it at its first.
    with Server(valid) as server:
        assert run(command(tmp_path / "H", server, writer="max_calls=1,")) == 2
        assert server.count == 0  # the calls of both runs add up
        assert run(command(tmp_path / "H", server, writer=f"max_calls={endpoint.TRIES + 1},")) == 2
        assert server.count == 1


def test_a_server_that_goes_down_is_not_asked_for_ever(tmp_path, capsys):
    def handle(request):
        return valid(request) if request.number <= 30 else SERVER["http_500"]

    with Server(handle) as server:
        assert run(command(tmp_path / "H", server, n=6)) == 3
        assert server.count == 30 + endpoint.GIVEN_UP * endpoint.TRIES
    said = capsys.readouterr().out
    assert "rejected     6  endpoint: http_500" in said
    assert "6 candidates failed for that; the same command makes them again" in said


def test_a_key_is_sent_and_never_shown(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    echo = Response(status=401, body={"error": {"message": "the key sk-very-secret is not known"}})
    with Server(lambda request: echo) as server:
        assert run(command(tmp_path / "H", server, writer="api_key_env=MY_KEY,")) == 2
        assert server.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    said = capsys.readouterr()
    assert "sk-very-secret" not in said.out + said.err
    assert "the key *** is not known" in said.err
    monkeypatch.delenv("MY_KEY")
    assert run(command(tmp_path / "I", server, writer="api_key_env=MY_KEY,")) == 2
    assert "MY_KEY, which should hold the key, is not set" in capsys.readouterr().err
    assert not (tmp_path / "I").exists()


def test_a_server_that_is_too_slow(tmp_path, capsys):
    with Server(lambda request: Response(delay=0.3, body=completion("late"))) as server:
        assert run(command(tmp_path / "H", server, writer="timeout_s=0.05,")) == 3
    assert "endpoint: timeout" in capsys.readouterr().out


DEAD = {
    "a refused key": (Response(status=401, body={"error": {"message": "bad key"}}), 1, "OPENAI_API_KEY"),
    "an unknown model": (
        Response(status=404, body={"error": {"message": "The model `m` does not exist"}}),
        1,
        "does not exist",
    ),
    "a web page": (Response(raw=b"<html>hello</html>"), endpoint.SETUP_TRIES, "HTML"),
    "parameters that it does not take": (Response(status=400, body={"error": {"message": "bad seed"}}), 1, "bad seed"),
}


@pytest.mark.parametrize("kind", DEAD)
def test_a_dead_endpoint_ends_the_build_at_its_first_calls(kind, tmp_path, capsys):
    response, calls, text = DEAD[kind]
    with Server(lambda request: response) as server:
        assert run(command(tmp_path / "H", server)) == 2
        assert server.count == calls
    said = capsys.readouterr().err
    assert server.url in said
    assert text in said


def test_nobody_there(tmp_path, capsys):
    with Server(valid) as server:
        pass
    assert run(command(tmp_path / "H", server)) == 2
    assert re.search(rf"{server.url}: cannot connect .*\({endpoint.SETUP_TRIES} tries\)", capsys.readouterr().err)


def test_options_are_checked_before_a_folder_is_made(tmp_path, capsys):
    for spec in ("model:name=m", "model:name=m,base_url=nowhere", "model:name=m,base_url=http://x/v1,name=n", "model:"):
        assert run(["histories", "build", "--out", str(tmp_path / "H"), "--n", "1", "--writer", spec]) == 2
    assert not (tmp_path / "H").exists()
    assert "an option stands there twice" in capsys.readouterr().err


def test_a_budget_adds_up_over_runs(tmp_path, capsys):
    with Server(valid) as server:
        for limit, count in ((10, 10), (10, 10), (14, 14)):
            assert run(command(tmp_path / "H", server, writer=f"max_calls={limit},")) == 2
            assert server.count == count
    assert "budget of 14 model calls is used up (max_calls)" in capsys.readouterr().err


def test_rules_alone_are_no_judges(tmp_path):
    from memgauge.histories.building.text.model import checks_of

    judged, ruled = checks_of({"name": "m"}), checks_of({"name": "m", "judge": "rules"})
    assert "session_leak" in judged["checked"]
    assert "session_leak" in ruled["not_run"]
    assert "session_leak" not in ruled["checked"]
    assert set(judged["checked"]) | set(judged["not_run"]) == set(ruled["checked"]) | set(ruled["not_run"])
    asked = []
    with Server(lambda request: asked.append(role_of(request)) or valid(request)) as server:
        run(command(tmp_path / "H", server, writer="judge=rules,max_calls=60,"))
    assert set(asked) == {"question", "user", "assistant"}


def test_a_question_that_text_answers_is_rejected(tmp_path, capsys):
    """A judge that is sure of the first possible answer: in a closed space that rejects, whatever is right."""

    def sure(request):
        text = request.body["messages"][0]["content"]
        options = re.search(r"The answer is among: ([^,.]+)", text)
        if role_of(request) == "answer" and options:
            return say(json.dumps({"answer": options[1], "confidence": 0.9}))
        return valid(request)

    with Server(sure) as server:
        assert run(command(tmp_path / "H", server)) == 3
    assert "question: text_only, answered from the question alone" in capsys.readouterr().out


@pytest.mark.slow
def test_kills_of_two_processes_cost_only_what_was_under_way(tmp_path):
    """kill -9 and Ctrl-C of a build in two processes; the same command ends with the bytes of one left alone."""
    asked = []

    def build(out, server, stop_at=None, how=signal.SIGKILL):
        arguments = [sys.executable, "-m", "memgauge", *command(out, server, "--seed", "3", n=4, jobs=2)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(arguments, start_new_session=True, **quiet)
        start = len(asked)
        while stop_at is not None and len(asked) < start + stop_at and process.poll() is None:
            time.sleep(0.01)
        if stop_at is not None:
            (os.kill if how == signal.SIGKILL else os.killpg)(process.pid, how)  # Ctrl-C reaches the workers too
        _, said = process.communicate()
        time.sleep(1)  # workers of a killed build end with it
        return process.returncode, said

    with Server(lambda request: asked.append(json.dumps(request.body)) or valid(request)) as server:
        assert build(tmp_path / "A", server)[0] == 0
        alone = len(asked)
        asked.clear()
        assert build(tmp_path / "B", server, 200)[0] == -signal.SIGKILL
        stopped, said = build(tmp_path / "B", server, 300, signal.SIGINT)
        assert stopped == 130
        assert "Traceback" not in said
        assert build(tmp_path / "B", server)[0] == 0
        assert len(set(asked)) == alone
        assert len(asked) - alone <= 4  # one in each process, twice
    files = [path.relative_to(tmp_path / "A") for path in (tmp_path / "A").rglob("*") if path.is_file()]
    assert all((tmp_path / "A" / f).read_bytes() == (tmp_path / "B" / f).read_bytes() for f in files)


def test_valid_text_is_a_function_of_the_request():
    """What lets the tests above compare builds."""

    class Asked:
        body = {"messages": [{"role": "system", "content": "You are a helpful assistant."}]}  # noqa: RUF012

    assert valid_text(Asked) == valid_text(Asked)
