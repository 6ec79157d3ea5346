"""One request after another: what each way of failing becomes. The run always ends, and nothing is lost."""

from __future__ import annotations

import time
from email.utils import formatdate

import polars as pl
import pytest
from scripted_server import Response, Server, completion, reader

from memgauge.errors import RunStoppedError

FAST = "backoff=0.001,deadline=5"


def after_one_answer(response):
    """Answer the first request, then whatever `response` is."""

    def handle(request):
        return reader(request) if request.number == 1 else response

    return handle


def test_answers_come_back_with_usage_and_costs(ask_model):
    with Server() as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},price=qwen3-vl-8b")
    assert (summary.asked, summary.errors, server.count) == (8, 0, 8)
    assert rows["correct"].all()
    assert set(rows["finish_reason"]) == {"stop"}
    assert set(rows["tokens_in"]) == {24 + 120}
    assert set(rows["write_shared"]) == {False}
    assert rows["prompt_hash"].n_unique() == 8
    assert set(rows["system"]) == {"model:name=m,price=qwen3-vl-8b"}
    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.body["max_tokens"] == 8192
    assert request.body["temperature"] == 0
    assert request.headers["authorization"] == "Bearer none"


def test_payoff_arms_differ_by_one_sentence(ask_model):
    with Server() as server:
        ask_model(f"model:name=m,base_url={server.url}", count=1, queries=2, arms=("none", "A", "B"))
    texts = {request.text for request in server.requests}
    plain = [text for text in texts if "Scoring" not in text]
    assert (len(texts), len(plain)) == (6, 2)
    for text in plain:
        head, _, tail = text.partition("\n\nMain sequence:")
        added = sorted(
            t[len(head) : -len(tail)] for t in texts if t.startswith(head) and t.endswith(tail) and t != text
        )
        assert [sentence.split(" point")[0] for sentence in added] == [
            "\nScoring: a correct answer earns +1",
            "\nScoring: a correct answer earns +3",
        ]


TRANSIENT = {
    "429 with seconds": Response(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.01"}),
    "429 with a date": Response(429, {"error": {"message": "slow down"}}, {"Retry-After": formatdate(0, usegmt=True)}),
    "500": Response(500, {"error": {"message": "oops"}}),
    "502 in HTML": Response(502, raw=b"<html>Bad Gateway</html>"),
    "503": Response(503, {"error": {"message": "loading model"}}),
    "408": Response(408, {"detail": "took too long"}),
    "an error with status 200": Response(200, {"error": {"message": "upstream failed", "code": 502}}),
    "an error object with status 200": Response(200, {"object": "error", "message": "engine died", "code": 50001}),
    "an error in the choice": Response(200, {"choices": [{"error": {"message": "x", "code": 503}, "message": {}}]}),
    "HTML with status 200": Response(200, raw=b"<!doctype html><p>Hello"),
    "nothing with status 200": Response(200, raw=b""),
    "JSON that is no completion": Response(200, {"status": "ok"}),
    "no choices": Response(200, {"choices": [], "usage": None}),
    "null content": Response(200, completion(None)),
    "a reply that is cut": Response(200, completion("{0} " * 100), cut=True),
    "a connection that breaks": Response(reset=True),
}


@pytest.mark.parametrize("kind", TRANSIENT)
def test_what_passes_is_tried_again_and_never_an_answer(ask_model, kind):
    def handle(request):
        return TRANSIENT[kind] if request.number in (2, 3) else reader(request)

    with Server(handle) as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},{FAST}", count=1, concurrency=1)
    assert summary.errors == 0
    assert server.count == 6
    assert set(rows["outcome"]) == {"answered"}
    assert rows["correct"].all()


def test_a_try_that_hangs_ends_at_its_deadline(ask_model):
    def handle(request):
        return Response(delay=30) if request.number == 2 else reader(request)

    with Server(handle) as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},deadline=0.3,backoff=0.001", count=1)
    assert summary.errors == 0
    assert rows["correct"].all()


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (Response(500, {"error": {"message": "oops"}}), "HTTP 500: oops (3 tries in"),
        (Response(429, {"error": "busy"}, {"Retry-After": "7200"}), "it asks to wait 7200 s"),
        (Response(reset=True), "the connection broke"),
        (Response(200, raw=b"<html>"), "it sent HTML instead of a JSON object: <html>"),
        (Response(400, {"error": {"message": "bad picture"}}), "HTTP 400: bad picture"),
        (Response(delay=30), "no answer within"),
    ],
)
def test_what_does_not_pass_is_an_error_that_is_asked_again(ask_model, response, said):
    options = "retries=2,backoff=0.001,deadline=0.3,patience=20"
    with Server(after_one_answer(response)) as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},{options}", count=1, concurrency=1)
    assert summary.errors == 3
    bad = rows.filter(pl.col("outcome") == "model_error")
    assert bad.height == 3
    assert bad["correct"].null_count() == 3
    assert all(said in error for error in bad["error"])
    with Server() as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},{options}", count=1)
    assert (summary.asked, summary.already_there, server.count) == (3, 1, 3)
    assert set(rows["outcome"]) == {"answered"}


REFUSALS = {
    "vLLM, too long": (
        Response(
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 64 tokens. However, your "
                "request has 200 input tokens. Please reduce the length of the input messages.",
            },
        ),
        "too_long",
    ),
    "llama.cpp, too long": (
        Response(
            400,
            {
                "error": {
                    "code": 400,
                    "message": "request (15030 tokens) exceeds the available context size "
                    "(4096 tokens), try increasing it",
                    "type": "exceed_context_size_error",
                }
            },
        ),
        "too_long",
    ),
    "SGLang, too long": (
        Response(400, {"message": "The input (200 tokens) is longer than the model's context length (64 tokens)."}),
        "too_long",
    ),
    "OpenAI, too long": (
        Response(400, {"error": {"message": "too many", "code": "context_length_exceeded"}}),
        "too_long",
    ),
    "a proxy, too large": (Response(413, raw=b"<html>413 Request Entity Too Large</html>"), "too_long"),
    "vLLM, too many images": (
        Response(400, {"error": {"message": "At most 4 image(s) may be provided in one prompt."}}),
        "too_long",
    ),
    "Azure, filtered": (
        Response(400, {"error": {"message": "The response was filtered", "code": "content_filter"}}),
        "filtered",
    ),
    "filtered on the way": (Response(200, completion("I", finish="content_filter")), "filtered"),
    "a refusal field": (Response(200, completion(None, refusal="I cannot help with that.")), "filtered"),
    "no choices": (Response(200, {"choices": []}), "empty"),
    "null content": (Response(200, completion(None)), "empty"),
    "a prompt that was cut short": (Response(200, completion("{0}", tokens_in=20)), "too_long"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_is_neither_an_answer_nor_an_abstention(ask_model, kind):
    response, refused = REFUSALS[kind]
    with Server(lambda _: response) as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},{FAST}", count=1)
        again, _ = ask_model(f"model:name=m,base_url={server.url},{FAST}", count=1)
    assert summary.errors == 0
    assert set(rows["outcome"]) == {"refused_by_server"}
    assert set(rows["refused_kind"]) == {refused}
    assert rows["correct"].null_count() == 4
    assert rows["flops_read"].null_count() == 4
    assert again.asked == 0
    assert any(f"refused questions as {refused}" in note for note in summary.notes)


def test_an_answer_budget_that_leaves_no_room_is_said_at_once(ask_model):
    said = (
        "'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 300"
    )
    refusal = Response(400, {"error": {"message": said}})
    with Server(lambda _: refusal) as server, pytest.raises(RunStoppedError, match="lower max_tokens"):
        ask_model(f"model:name=m,base_url={server.url}")
    with Server(after_one_answer(refusal)) as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url}", out="other", count=1, concurrency=1)
    assert sorted(rows["outcome"]) == ["answered", *["refused_by_server"] * 3]


def test_thinking_is_charged_but_is_no_answer(ask_model):
    thought = "Maybe {0}? </think> {0}"
    bodies = [
        completion("{1}", reasoning_content=thought, tokens_out=100),
        completion("{1}", reasoning=thought, tokens_out=100),
        completion(None, reasoning_content=thought, tokens_out=100),
        completion(None, finish="length", reasoning_content=thought, tokens_out=8192),
        completion(None, finish="length", tokens_out=8192),
        completion("", tokens_out=1),
        completion(
            [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}, {"type": "text", "text": "{1}"}]
        ),
    ]
    expected = [
        ("answered", None),
        ("answered", None),
        ("abstained", "format"),
        ("abstained", "overflow"),
        ("abstained", "overflow"),
        ("abstained", "format"),
        ("answered", None),
    ]
    for number, (body, (outcome, kind)) in enumerate(zip(bodies, expected, strict=True)):
        with Server(lambda _, body=body: Response(200, body)) as server:
            _, rows = ask_model(f"model:name=m,base_url={server.url}", out=str(number), count=1, queries=2)
        assert set(rows["outcome"]) == {outcome}, body
        assert set(rows["abstain_kind"]) == {kind}
        if outcome == "answered":
            assert set(rows["answer"]) == {"no"}
    raw = f"<think>{thought}</think>{{1}}"
    with Server(lambda _: Response(200, bodies[0])) as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url}", out="again", count=1, queries=2)
    assert set(rows["raw_output"]) == {raw}
    assert set(rows["t_ans"]) == {100 * (len(raw) - 3) / len(raw)}


def test_resume_repeats_no_request_and_the_address_may_change(ask_model):
    with Server() as server:
        ask_model(f"model:name=m,base_url={server.url},max_requests=100", count=1)
        assert server.count == 4
    with Server() as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},deadline=9", count=2)
        assert server.count == 4
    assert (summary.asked, summary.already_there) == (4, 4)
    assert rows.height == 8
    with Server() as server:
        summary, rows = ask_model(f"model:name=m,base_url={server.url},temperature=0.5", count=2)
        assert server.count == 8
        assert all(request.body["seed"] >= 0 for request in server.requests)
    assert sorted(rows["system"].unique()) == ["model:name=m", "model:name=m,temperature=0.5"]


def test_each_answer_is_on_disk_as_soon_as_it_is_there(ask_model, tmp_path):
    """A kill loses what is in flight, and no answer that came before."""
    seen = []

    def handle(request):
        path = tmp_path / "run" / "responses.jsonl"
        seen.append(path.read_bytes().count(b"\n") if path.exists() else 0)
        return reader(request)

    with Server(handle) as server:
        ask_model(f"model:name=m,base_url={server.url}", count=1, queries=6, concurrency=1)
    # The row of an answer is written before the next but one question is sent.
    assert all(count >= number - 1 for number, count in enumerate(seen))


def test_concurrency_is_bounded_and_used(ask_model):
    def handle(request):
        response = reader(request)
        response.delay = 0.05
        return response

    with Server(handle) as server:
        ask_model(f"model:name=m,base_url={server.url},concurrency=3", count=3)
    assert server.most_at_once == 3
    assert server.count == 12


def test_a_retry_after_holds_everybody_back(ask_model):
    times = []

    def handle(request):
        times.append(time.monotonic())
        if request.number == 1:
            return Response(429, {"error": "slow"}, {"Retry-After": "0.5"})
        return reader(request)

    with Server(handle) as server:
        ask_model(f"model:name=m,base_url={server.url},{FAST},concurrency=1", count=1)
    assert times[1] - times[0] >= 0.5


def test_a_reply_without_end_is_not_read(ask_model, monkeypatch):
    from memgauge.systems.models import endpoint

    monkeypatch.setattr(endpoint, "MAX_REPLY", 10_000)
    with Server(after_one_answer(Response(200, completion("x" * 50_000)))) as server:
        _, rows = ask_model(f"model:name=m,base_url={server.url}", count=1, concurrency=1)
    assert sorted(rows["outcome"]) == ["answered", *["model_error"] * 3]
    assert "its reply is larger" in rows.filter(pl.col("outcome") == "model_error")["error"][0]
