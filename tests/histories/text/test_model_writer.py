"""The model family against scripted chats: valid turns, prose for JSON, refusals, repetition, budgets, caches."""

from __future__ import annotations

import itertools
import json
import re
from random import Random

import pytest

from memgauge.errors import InputError
from memgauge.histories.building.text import AttemptLog, ProceduralWriter, SessionRejectedError
from memgauge.histories.building.text.chat import (
    BudgetUsedUpError,
    CachedChat,
    CallBudget,
    ChatFailedError,
    NoReplyError,
    ReplyCache,
    request_key,
)
from memgauge.histories.building.text.json_replies import BadReplyError, ask_json, parse_object
from memgauge.histories.building.text.judges import LLMJudge, TextItem
from memgauge.histories.building.text.model import Options, model_writer_factory
from memgauge.histories.building.text.model_text import clean, without_thoughts
from memgauge.histories.building.text.model_writer import BackgroundWriter, ModelWriter
from memgauge.histories.building.text.types import PROFILES
from memgauge.histories.building.text.validators import Context

FACT = "Lea Koch sent me what she found at the fair, it was this one <image>."
REFUSAL = "I'm sorry, but I can't help with that request. Is there anything else that you would like?"


class ValidChat:
    """A model that follows its instructions: it takes its sentences from procedural sessions."""

    def __init__(self, topics, when):
        self.calls = []
        self._turns = {"user": itertools.chain.from_iterable(self._all(topics, when, 0)), "assistant": None}
        self._turns["assistant"] = itertools.chain.from_iterable(self._all(topics, when, 1))

    def _all(self, topics, when, half):
        return ([t.content for t in ProceduralWriter().session(topics[s % 3], [], when, Random(s))][half::2]
                for s in range(500))  # fmt: skip

    def __call__(self, messages):
        self.calls.append(messages)
        role = "user" if messages[0]["content"].startswith("You write the messages") else "assistant"
        text = next(self._turns[role])
        asked = messages[-2 if "not accepted" in messages[-1]["content"] else -1]["content"]
        carried = re.search(r'word for word.*?: "(.*)" Keep', asked) if role == "user" else None
        return f"{text} {carried[1]}" if carried else text


def test_sessions_by_a_model_that_follows_its_instructions(topics, fact, when):
    chat = ValidChat(topics, when)
    writer = ModelWriter(chat, chat)
    carrier = fact(FACT, protected=("teapot",))
    turns = writer.session(topics, [carrier], when, Random(4))
    assert [turn.facts for turn in turns if turn.facts] == [("b/0",)]
    assert sum(turn.content.count("<image>") for turn in turns) == 1
    assert writer.log.sessions["written"] == 1
    # No model is told what the picture shows.
    assert "teapot" not in json.dumps([list(map(dict, call)) for call in chat.calls])


def test_the_assistant_model_gets_the_pictures(topics, fact, when):
    chat = ValidChat(topics, when)
    part = {"type": "image_url", "image_url": {"url": "data:,"}}
    ModelWriter(chat, chat, picture=lambda spec: part).session(topics, [fact(FACT)], when, Random(4))
    shown = [m["content"] for call in chat.calls for m in call if isinstance(m["content"], list)]
    assert shown
    assert all(part in content for content in shown)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (REFUSAL, "reply: refusal"),
        ("Sure! Here is your message: {message}", "length: too_short"),
        ("the the the " * 30, "reply: repetition"),
        ("", "reply: empty"),
    ],
)
def test_bad_replies_end_in_a_named_rejection(reply, reason, topics, when):
    writer = ModelWriter(lambda messages: reply, lambda messages: reply)
    with pytest.raises(SessionRejectedError) as error:
        writer.session(topics, [], when, Random(1))
    assert writer.log.sessions == {"redrawn": 2, "rejected": 1}
    assert sum(writer.log.rejected.values()) >= 12
    assert error.value.reason == reason


def test_a_model_that_repeats_itself_is_rejected(topics, when):
    talker = ValidChat(topics, when)
    once = "Good point. " + " ".join(f"Sort the {w} things early and label them." for w in ("spare", "old", "new") * 3)
    writer = ModelWriter(talker, lambda messages: f"{once} " + "It pays off over time. " * 3 + "Would you like tips?")
    with pytest.raises(SessionRejectedError, match="reply: repetition"):
        writer.session(topics, [], when, Random(1))
    assert writer.log.faults["repetition"] == writer.log.rejected["reply"] >= 12


def test_a_leaking_turn_then_a_good_one(topics, fact, when):
    good = ValidChat(topics, when)

    def leaking(messages):
        text = good(messages)
        return text if "not accepted" in messages[-1]["content"] else f"{text} The teapots were lovely."

    writer = ModelWriter(leaking, good)
    writer.session(topics, [fact(FACT, protected=("teapot",))], when, Random(4))
    assert writer.log.rejected["ngram"] >= 5
    assert any("Do not use these words" in call[-1]["content"] for call in good.calls)


def test_a_model_that_declines_is_an_empty_turn_not_a_crash(topics, when):
    def filtered(messages):
        raise ChatFailedError("finish_reason content_filter", "filtered")

    with pytest.raises(SessionRejectedError, match="reply: empty"):
        ModelWriter(filtered, filtered).session(topics, [], when, Random(1))


def test_an_outage_is_no_turn(topics, fact, when):
    def gone(messages):
        raise NoReplyError("503", "http_503")

    log = AttemptLog()
    with pytest.raises(NoReplyError):
        ModelWriter(gone, gone, log=log).session(topics, [], when, Random(1))
    assert not log.turns
    context = Context(PROFILES["compact"], (fact(FACT),))
    with pytest.raises(NoReplyError):
        LLMJudge(gone).leaks(FACT, (fact(FACT),), context)


def test_budget_ends_the_work_and_the_cache_carries_on(tmp_path, topics, when):
    chat = ValidChat(topics, when)
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        cached = CachedChat(chat, model="m", cache=cache, budget=CallBudget(3))
        with pytest.raises(BudgetUsedUpError, match="budget of 3"):
            ModelWriter(cached, cached).session(topics, [], when, Random(9))
        assert len(cache) == 3
    before = len(chat.calls)
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        turns = ModelWriter(*[CachedChat(chat, model="m", cache=cache)] * 2).session(topics, [], when, Random(9))
        assert len(chat.calls) - before >= len(turns) - 3
        calls = len(chat.calls)
        again = ModelWriter(*[CachedChat(chat, model="m", cache=cache)] * 2).session(topics, [], when, Random(9))
    assert again == turns
    assert len(chat.calls) == calls


def test_failures_are_not_cached():
    replies = iter([OSError("gone"), "hello"])

    def chat(messages):
        reply = next(replies)
        if isinstance(reply, OSError):
            raise reply
        return reply

    cached = CachedChat(chat, model="m")
    hello = [{"role": "user", "content": "hi"}]
    with pytest.raises(ChatFailedError, match="gone"):
        cached(hello)
    assert cached(hello) == "hello" == cached(hello)


def test_keys_cover_the_whole_request():
    one = [{"role": "user", "content": "hi"}]
    keys = {
        request_key("m", {}, one),
        request_key("n", {}, one),
        request_key("m", {"seed": 1}, one),
        request_key("m", {}, [{"role": "system", "content": "hi"}]),
        request_key("m", {}, [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]),
    }
    assert len(keys) == 5


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "x").write_text("no database " * 200)
    with pytest.raises(InputError, match="cannot be used as a cache"):
        ReplyCache(tmp_path / "x")


# JSON replies

FIELDS = {"leaks": bool, "quote": str}


@pytest.mark.parametrize(
    "reply",
    [
        'Sure, here you go: {"leaks": false, "quote": ""}',
        '```json\n{"leaks": false, "quote": ""}\n```',
        '{"leaks": "no", "quote": ""}',
        '{"leaks": false}',
        '{"leaks": false, "quote": "", "why": "x"}',
        '{"leaks": false, "leaks": true, "quote": ""}',
        "[]",
        "",
        '{"leaks": false, "quote": ',
        "[" * 15_000,
        '{"leaks": 1, "quote": ""}',
    ],
)
def test_anything_but_the_object_is_refused(reply):
    with pytest.raises(ValueError):
        parse_object(reply, FIELDS)


def test_one_request_for_repair_then_rejection():
    asked = []

    def chat(messages):
        asked.append(messages)
        return '{"leaks": true, "quote": "x"}' if len(asked) == 2 else "It does not leak."

    assert ask_json(chat, [{"role": "user", "content": "?"}], FIELDS)["leaks"] is True
    assert "no JSON" in asked[1][-1]["content"]
    with pytest.raises(BadReplyError):
        ask_json(lambda messages: "prose", [{"role": "user", "content": "?"}], FIELDS)


def test_numbers_are_not_truth_values():
    with pytest.raises(ValueError, match="wrong type"):
        parse_object('{"confidence": true}', {"confidence": (int, float)})
    with pytest.raises(ValueError, match="NaN"):
        parse_object('{"confidence": NaN}', {"confidence": (int, float)})


# Judges


def judged(method, reply, fact, text=FACT):
    carrier = fact(FACT)
    context = Context(PROFILES["compact"], (carrier,))
    return getattr(LLMJudge(lambda messages: reply), method)(text, (carrier,), context)


@pytest.mark.parametrize("method", ["leaks", "disambiguates"])
def test_a_judge_passes_rejects_or_fails(method, fact):
    assert judged(method, json.dumps({method: False, "quote": ""}), fact).ok
    assert judged(method, json.dumps({method: True, "quote": "it"}), fact).reason == "judge"
    # A reply without a judgement never passes.
    assert judged(method, "Looks fine to me!", fact).reason == "judge_failed"


def test_a_judge_answers_without_pictures():
    judge = LLMJudge(lambda messages: '{"answer": " owl ", "confidence": 3}')
    guess = judge.answer_without_images(TextItem("Which bird?", ("text",), ("owl", "dove")))
    assert (guess.answer, guess.confidence) == ("owl", 1.0)


# Questions and backgrounds


def test_backgrounds(topics):
    good = {"paragraph": "We saw the Eiffel Tower. Then the Louvre. It rained.", "entities": ["Eiffel Tower", "Louvre"]}
    assert BackgroundWriter(lambda m: json.dumps(good)).background(topics[0]).entities == ("Eiffel Tower", "Louvre")
    for bad in (
        good | {"entities": ["Louvre"]},
        good | {"entities": ["Louvre", "Big Ben"]},
        good | {"paragraph": "We saw the Eiffel Tower and the Louvre."},
    ):
        with pytest.raises(BadReplyError):
            BackgroundWriter(lambda m, bad=bad: json.dumps(bad)).background(topics[0])


def test_clean():
    assert clean('"Hello there."') == "Hello there."
    assert clean('She said "yes" and "no"') == 'She said "yes" and "no"'
    assert clean("a\n\n b\x00c") == "a b c"
    assert without_thoughts("<think>a\nb</think>c") == "c"
    assert without_thoughts(" <think>never done") == ""


# Options


def test_options():
    options = Options.read({"name": "m", "base_url": "http://x/v1", "max_calls": "7", "temperature": "0"})
    assert (options.max_calls, options.temperature) == (7, 0.0)
    with pytest.raises(InputError, match="base_url"):
        Options.read({"name": "m"})
    with pytest.raises(InputError, match="did you mean 'seed'"):
        Options.read({"name": "m", "base_url": "x", "sed": "1"})
    with pytest.raises(InputError, match="expected a number"):
        Options.read({"name": "m", "base_url": "x", "seed": "one"})


def test_the_factory_shares_cache_and_budget(tmp_path):
    pytest.importorskip("openai")
    make = model_writer_factory({"name": "m", "base_url": "http://127.0.0.1:9/v1", "judge": "j"}, tmp_path)
    log = AttemptLog()
    one, two = make(log), make(AttemptLog())
    assert one.user._cache is two.user._cache
    assert one.log is not two.log
    one.user._cache.put(request_key("m", one.user.parameters, [{"role": "user", "content": "hi"}]), "hello")
    assert one.user([{"role": "user", "content": "hi"}]) == "hello"
    assert log.replies == {"user": 1}
    assert isinstance(one.judge, LLMJudge)
    assert one.judge.chat.parameters["temperature"] == 0.0
    assert (tmp_path / "replies.sqlite").exists()


@pytest.fixture
def server():
    """A scripted OpenAI-compatible server on this machine; `replies` holds (status, text) in order."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            status, text = self.server.script(self.server.asked[-1])
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
            if status != 200:
                body = {"error": {"message": text}}
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked = []
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def options_for(server):
    return {
        "name": "m",
        "base_url": f"http://127.0.0.1:{server.server_port}/v1",
        "temperature": "0",
        "seed": "5",
        "judge": "rules",
    }


def test_a_whole_session_over_http(server, tmp_path, topics, fact, when):
    pytest.importorskip("openai")
    chat = ValidChat(topics, when)
    server.script = lambda body: (200, chat(body["messages"]))
    make = model_writer_factory(options_for(server), tmp_path)
    turns = make(AttemptLog()).session(topics, [fact(FACT)], when, Random(4))
    assert len(server.asked) >= len(turns)
    assert {body["seed"] for body in server.asked} == {5}
    asked = len(server.asked)
    assert model_writer_factory(options_for(server), tmp_path)(AttemptLog()).session(
        topics, [fact(FACT)], when, Random(4)
    ) == turns  # fmt: skip
    assert len(server.asked) == asked


@pytest.mark.parametrize(("reply", "kind"), [((400, "bad"), "http_400"), ((200, ""), "empty"), ((200, None), "empty")])
def test_refusals_and_empty_replies_of_a_server(reply, kind, server, tmp_path):
    pytest.importorskip("openai")
    log = AttemptLog()
    writer = model_writer_factory(options_for(server), tmp_path / "other")(log)
    server.script = lambda body: (200, "hello")
    writer.user([{"role": "user", "content": "hello"}])
    server.script = lambda body: reply
    writer = model_writer_factory(options_for(server), tmp_path)(log) if kind == "empty" else writer
    with pytest.raises(ChatFailedError) as error:
        writer.user([{"role": "user", "content": "hi"}])
    assert error.value.kind == kind
    assert log.faults[kind] >= 1
    if kind == "empty":
        with ReplyCache(tmp_path / "replies.sqlite") as cache:
            assert len(cache) == 0
