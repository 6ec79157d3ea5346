"""What stops a whole run: said early and clearly, with all answers kept, and never with the key in it."""

from __future__ import annotations

import json

import pytest
from scripted_server import Response, Server, completion, reader

from memgauge.errors import InputError, RunStoppedError
from memgauge.responses import load_responses

KEY = "sk-secret-0123456789"


def texts_under(folder):
    return "\n".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


def test_a_wrong_key_stops_the_run_and_is_never_shown(ask_model, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("MY_KEY", KEY)

    def handle(request):
        assert request.headers["authorization"] == f"Bearer {KEY}"
        return Response(401, {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid_api_key"}})

    with Server(handle) as server, pytest.raises(RunStoppedError) as stopped:
        ask_model(f"model:name=m,base_url={server.url},api_key_env=MY_KEY", count=20)
    said = str(stopped.value)
    assert "HTTP 401" in said
    assert "MY_KEY" in said
    assert server.count <= 8
    streams = capfd.readouterr()
    assert KEY not in said + repr(stopped.value) + streams.out + streams.err + texts_under(tmp_path)
    assert load_responses(tmp_path / "run").height == 0


def test_the_key_is_in_no_repr_and_no_row(ask_model, tmp_path, monkeypatch):
    from memgauge.systems.registry import fingerprint, make_system

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Server(lambda _: Response(200, completion(f"my key is {KEY} {{0}}"))) as server:
        spec = f"model:name=m,base_url={server.url}"
        system = make_system(spec)
        assert KEY not in repr(system) + system.name + fingerprint(system, spec)
        _, rows = ask_model(spec)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert set(rows["raw_output"]) == {"my key is *** {0}"}
    assert KEY not in texts_under(tmp_path)


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (
            Response(404, {"object": "error", "message": "The model `m` does not exist."}),
            "The model `m` does not exist",
        ),
        (Response(404, {"error": {"message": "model 'm' not found, try pulling it first"}}), "try pulling it first"),
        (Response(404, {"detail": "Not Found"}), "base_url"),
        (Response(405, raw=b"<html>405"), "base_url"),
        (Response(301, headers={"Location": "http://127.0.0.1:1/"}), "HTTP 301"),
        (Response(200, raw=b"<!doctype html><title>A page"), "HTML instead of a JSON object"),
        (Response(200, {"hello": "world"}), "JSON without choices"),
        (Response(400, {"error": {"message": "Unrecognized request argument: foo"}}), "Unrecognized request argument"),
        (Response(402, {"error": {"message": "Payment required"}}), "HTTP 402"),
        (
            Response(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
            "quota",
        ),
        (Response(500, {"error": {"message": "image input is not supported - hint: mmproj"}}), "not supported"),
    ],
)
def test_what_can_never_work_is_said_early(ask_model, response, said):
    with Server(lambda _: response) as server, pytest.raises(RunStoppedError) as stopped:
        ask_model(f"model:name=m,base_url={server.url},backoff=0.001", count=20)
    assert said in str(stopped.value)
    assert server.url in str(stopped.value)
    assert server.count <= 8 * 3


def test_a_server_that_is_down(ask_model):
    with Server() as server:
        url = server.url
    with pytest.raises(RunStoppedError, match=r"cannot connect.*check that the server runs"):
        ask_model(f"model:name=m,base_url={url},backoff=0.001")


def test_a_server_that_dies_stops_the_run_and_its_answers_stay(ask_model, tmp_path):
    def handle(request):
        return reader(request) if request.number <= 10 else Response(reset=True)

    with Server(handle) as server, pytest.raises(RunStoppedError, match="10 questions in a row got no answer"):
        ask_model(f"model:name=m,base_url={server.url},retries=1,backoff=0.001", count=20)
    rows = load_responses(tmp_path / "run")
    assert rows.filter(rows["outcome"] == "answered").height == 10
    with Server() as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url}", count=20)
        assert server.count == 80 - 10
    assert set(rows["outcome"]) == {"answered"}


@pytest.mark.parametrize("budget", ["max_requests=5", "max_total_tokens=720"])
def test_a_budget_ends_the_run_cleanly(ask_model, tmp_path, budget):
    """One answer takes 144 + 10 tokens: after five of them 770 are spent."""
    with Server() as server, pytest.raises(RunStoppedError, match=f"the budget {budget} is used up after 5 requests"):
        ask_model(f"model:name=m,base_url={server.url},{budget}", concurrency=1)
    assert server.count == 5
    assert load_responses(tmp_path / "run").height == 5
    with Server() as server:
        summary, _ = ask_model(f"model:name=m,base_url={server.url}")
        assert server.count == summary.asked == 3


def test_the_command_says_it_and_exits_2(tmp_path, capsys):
    from memgauge.cli.app import run

    with Server(lambda _: Response(404, {"detail": "Not Found"})) as server:
        status = run(
            ["run", "ecc-text", "--system", f"model:name=m,base_url={server.url},backoff=0.001", "--lengths", "16",
             "--bands", "max", "--count", "1", "--out", str(tmp_path / "r")]
        )  # fmt: skip
    assert status == 2
    assert "memgauge: error" in capsys.readouterr().err


def test_limits_may_be_given_to_the_command(tmp_path, capsys):
    from memgauge.cli.app import run

    with Server() as server:
        spec = f"model:name=m,base_url={server.url}"
        command = ["run", "ecc-text", "--system", spec, "--lengths", "16", "--bands", "max", "--count", "1"]
        status = run([*command, "--out", str(tmp_path / "r"), "--max-requests", "3", "--max-inflight-mb", "8"])
        assert (status, server.count) == (2, 3)
    assert "max_requests=3 is used up" in capsys.readouterr().err
    command[3] = "exact"
    assert run([*command, "--out", str(tmp_path / "e"), "--max-tokens", "3"]) == 2
    assert "are for models behind an endpoint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("base_url=http://127.0.0.1:1/v1", "needs the parameter 'name'"),
        ("name=m", "needs the parameter 'base_url'"),
        ("name=m,base_url=127.0.0.1:8000", "base_url must be an address"),
        ("name=m,base_url=http://me:word@127.0.0.1:1/v1", "would be kept in run.json"),
        ("name=m,base_url=http://127.0.0.1:1/v1,max_tokens=0", "max_tokens is 0"),
        ("name=m,base_url=http://127.0.0.1:1/v1,deadline=0", "deadline is 0"),
        ("name=m,base_url=http://127.0.0.1:1/v1,temperature=-1", "temperature is -1"),
        ("name=m,base_url=http://127.0.0.1:1/v1,thinking=deeply", "thinking"),
        ("name=m,base_url=http://127.0.0.1:1/v1,price=gwen3", "did you mean"),
        ("name=m,base_url=http://127.0.0.1:1/v1,prompt_tokens=server", "give price= as well"),
        ("name=m,base_url=http://127.0.0.1:1/v1,frame=big", "WIDTHxHEIGHT"),
        ('name=m,base_url=http://127.0.0.1:1/v1,extra_body={"a"}', "extra_body is not JSON"),
        ('name=m,base_url=http://127.0.0.1:1/v1,extra_body={"messages":[]}', "which the request sets itself"),
        ("name=m,base_url=http://127.0.0.1:1/v1,extra_body=nowhere.json", "neither a JSON object nor a file"),
        ("name=m,base_url=http://127.0.0.1:1/v1,api_key=x", "api_key_env"),
    ],
)
def test_parameters_that_cannot_be_used(parameters, said):
    from memgauge.systems.registry import make_system

    with pytest.raises(InputError) as error:
        make_system(f"model:{parameters}")
    assert said in str(error.value)


def test_a_key_variable_that_is_not_set(ask_model, monkeypatch):
    with Server() as server:
        with pytest.raises(RunStoppedError, match="MY_KEY, which should hold the key, is not set"):
            ask_model(f"model:name=m,base_url={server.url},api_key_env=MY_KEY")
        monkeypatch.setenv("MY_KEY", "sk-a\tb\x01c")
        with pytest.raises(RunStoppedError, match="characters that no HTTP header can carry") as stopped:
            ask_model(f"model:name=m,base_url={server.url},api_key_env=MY_KEY")
        assert "sk-a" not in str(stopped.value)
        assert server.count == 0


def test_extra_fields_and_parameters_reach_the_server(ask_model, tmp_path):
    file = tmp_path / "extra.json"
    file.write_text(json.dumps({"top_p": 0.5, "a": [1, 2]}))
    with Server() as server:
        ask_model(
            f"model:name=m,base_url={server.url}/chat/completions,max_tokens=77,token_field=max_completion_tokens,"
            f"temperature=none,thinking=off,logprobs=true,extra_body={file}",
            count=1,
            queries=2,
        )
        ask_model(
            f'model:name=m,base_url={server.url},thinking=high,extra_body={{"b": 1, "grammar": "root ::= x"}}',
            count=1,
            queries=2,
        )
    first, second = server.requests[0].body, server.requests[-1].body
    assert {k: v for k, v in first.items() if k != "messages"} == {
        "model": "m",
        "max_completion_tokens": 77,
        "logprobs": True,
        "top_logprobs": 20,
        "chat_template_kwargs": {"enable_thinking": False},
        "top_p": 0.5,
        "a": [1, 2],
    }
    assert second["reasoning_effort"] == "high"
    assert (second["b"], second["grammar"]) == (1, "root ::= x")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (f"base_url=http://me:{KEY}@127.0.0.1:1/v1", "http://***@127.0.0.1:1/v1"),
        (f"base_url=http://me:{KEY}/x@127.0.0.1:1/v1", "base_url must be an address"),
        (f"base_url=http://127.0.0.1:1/v1?api_key={KEY}", "a query or a fragment"),
        (f"base_url=http://127.0.0.1:1/v1,api_key={KEY}", "did you mean 'api_key_env'"),
        (f"base_url=http://127.0.0.1:1/v1,api_key_env={KEY}", "does not hold the key itself"),
        (f'base_url=http://127.0.0.1:1/v1,extra_body={{"api_key": "{KEY}"}}', "give the key by api_key_env"),
    ],
)
def test_a_key_in_the_specification_is_refused_and_not_repeated(parameters, said):
    from memgauge.systems.registry import make_system

    with pytest.raises(InputError) as refused:
        make_system(f"model:name=m,{parameters}")
    assert said in str(refused.value)
    assert KEY not in str(refused.value)
