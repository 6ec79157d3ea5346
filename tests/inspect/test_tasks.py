"""The Inspect tasks ask what `memgauge run` asks, and their logs become the rows that it writes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest
from scripted_server import Response, Server, completion

from memgauge.importers.inspect_rows import Options
from memgauge.importers.inspect_run import import_inspect
from memgauge.responses import load_responses

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
OWN = ("key", "run", "system", "prompt_hash", "seconds_write", "seconds_read", "raw_output")
"""Columns that tell the two ways apart. What a server said on refusing is worded by each client."""
BUDGET = {"error": {"message": "This model's maximum context length is 9 tokens", "code": "context_length_exceeded"}}


def shown(request) -> tuple[str, ...]:
    """The words of a request and its pictures."""
    content = request.body["messages"][0]["content"]
    return (request.text,) if isinstance(content, str) else (request.text, *request.media)


def reply(seen: tuple[str, ...], tokens_in: int = 4000) -> Response:
    """Answer in one of a dozen ways, by a hash of the request: every kind of outcome that a server can bring about."""
    kind = int.from_bytes(hashlib.blake2b("".join(seen).encode(), digest_size=4).digest(), "big") % 12
    said = {
        0: completion("{0}", tokens_in=tokens_in),
        1: completion("First {0}, but no: {1}.", tokens_in=tokens_in, tokens_out=40),
        2: completion("I am unsure: {2}", tokens_in=tokens_in),
        3: completion("It occurs.", tokens_in=tokens_in, tokens_out=4),
        4: completion("Let me look. 3, 4", finish="length", tokens_in=tokens_in, tokens_out=24),
        5: completion("{1}", reasoning_content="Is it {0}? I look.", tokens_in=tokens_in, tokens_out=30),
        6: completion("{0}", finish="content_filter", tokens_in=tokens_in),
        7: completion(None, tokens_in=tokens_in),
        8: completion("", finish="length", reasoning_content="I think", tokens_in=tokens_in, tokens_out=24),
        9: completion("{0}", tokens_in=3),
        10: completion("\\boxed{1}", tokens_in=tokens_in, tokens_out=7),
    }
    return Response(400, BUDGET) if kind == 11 else Response(body=said[kind])


def direct(task: str, server: Server, folder: Path, *options: str) -> pl.DataFrame:
    from memgauge.cli.app import run

    spec = f"model:name=scripted,base_url={server.url},retries=2,backoff=0,price=qwen3-vl-8b"
    assert run(["run", task, "--system", spec, *options, "--out", str(folder)]) == 0
    return load_responses(folder)


def comparable(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop(OWN).sort("length", "split", "episode", "negatives", "query", "arm")


@pytest.mark.parametrize(
    ("task", "name", "options", "parameters"),
    [
        (
            "ecc-text",
            "ecc_text",
            "--lengths 8,32 --bands low,max --count 1 --queries 4 --seed 9 --arms none,A,B --negatives uniform,matched",
            {"lengths": "8,32", "bands": "low,max", "count": 1, "seed": 9, "arms": "none,A,B"}
            | {"negatives": ["uniform", "matched"]},
        ),
        (
            "ecc-video",
            "ecc_video",
            "--lengths 8 --bands max --count 2 --queries 8 --arms B --seed 2 --frame-format jpeg --frame-size 256",
            {"lengths": 8, "count": 2, "queries": 8, "arms": "B", "seed": 2}
            | {"frame_format": "jpeg", "frame_size": 256},
        ),
        (
            "ecc-text",
            "easyhuman",
            "--lengths 32 --bands easyhuman --count 1 --queries 8 --arms none",
            {"queries": 8},
        ),
    ],
)
def test_a_log_gives_the_rows_of_a_direct_run(evaluate, tmp_path, monkeypatch, task, name, options, parameters):
    """Through the real HTTP clients of both, to the same server: requests are equal, and so are the graded rows."""
    from inspect_ai.model import get_model

    price = "qwen3-vl-8b"
    with Server(lambda request: reply(shown(request))) as server:
        expected = comparable(direct(task, server, tmp_path / "direct", *options.split()))
        asked = [shown(request) for request in server.requests]
        server.requests.clear()
        monkeypatch.setenv("SCRIPTED_API_KEY", "none")
        model = get_model("openai-api/scripted/m", base_url=server.url, memoize=False)
        log = evaluate(name, model=model, **parameters)
        sent = [shown(request) for request in server.requests]
        temperatures = {(request.body["temperature"], request.body["max_tokens"]) for request in server.requests}
    assert log.status == "success", log.error
    # An empty reply is asked for again by `memgauge run` alone.
    assert set(sent) == set(asked)
    assert len(sent) == expected.height
    assert temperatures == {(0.0, 8192)}

    from memgauge.systems.models.pricing import pricer_of

    found = import_inspect([Path(log.location)], Options(pricer=pricer_of(price, "paper")))
    assert comparable(found.rows).equals(expected, null_equal=True)
    assert found.rows["flops_read"].null_count() < found.rows.height
    # The scorer said the same in the log.
    scores = {str(s.id): s.scores["membership"] for s in log.samples}
    told = {score.metadata["outcome"] for score in scores.values()}
    assert told == set(expected["outcome"])
    scored = [s.value for s in scores.values() if s.value in ("C", "I", "N")]
    assert len(scored) == expected["correct"].count()
    assert sum(v == "C" for v in scored) == expected["correct"].sum()
    measured = log.results.scores[0].metrics
    assert measured["accuracy"].value == pytest.approx(expected["correct"].mean())
    answered = (expected["outcome"] == "answered").sum() / expected["correct"].count()
    assert measured["coverage"].value == pytest.approx(answered)

    # Both are runs on the same data, so that `memgauge compare` pairs them.
    from memgauge.cli.app import run

    found.write(tmp_path / "imported")
    assert load_responses(tmp_path / "imported").equals(found.rows)
    assert run(["compare", str(tmp_path / "imported"), str(tmp_path / "direct"), "--json"]) in (0, 1)
    assert run(["report", str(tmp_path / "imported"), "--json"]) == 0


def test_every_outcome_occurs_in_the_comparison():
    """The comparison above would show little if the replies were all of one kind (1,000 texts, 12 kinds)."""
    kinds = {str(reply((str(i),)).body) for i in range(1000)}
    assert len(kinds) == 12


def test_questions_and_right_answers_are_those_of_the_direct_run(evaluate):
    """Sample by sample: identifier, request and target, for the seed."""
    from memgauge.prompts import text_request
    from memgauge.tasks import MadeStreams, get_task

    log = evaluate(lengths="8,64", bands="low", count=2, queries=6, seed=4, arms="A")
    source = MadeStreams(lengths=(8, 64), bands=("low",), count=2, queries=6, seed=4)
    expected = {}
    for cell in source.cells():
        for episode in cell.episodes(get_task("ecc-text")):
            stream = ", ".join(o.text for o in episode.observations)
            for query in episode.queries:
                name = f"{episode.id}.uniform.{query.id}.A"
                expected[name] = (text_request(stream, query.question.text, "A"), query.gold)
    assert {str(s.id): (s.input, s.target) for s in log.samples} == expected
    assert len(expected) == 24


def test_video_as_one_file_is_refused_by_a_provider_that_takes_none(evaluate, monkeypatch, tmp_path):
    """An OpenAI-type provider of Inspect raises; that is the log's error, and the importer's."""
    from inspect_ai.model import get_model

    from memgauge.errors import InputError

    monkeypatch.setenv("SCRIPTED_API_KEY", "none")
    with Server(lambda request: reply(shown(request))) as server:
        model = get_model("openai-api/scripted/m", base_url=server.url, memoize=False)
        log = evaluate("ecc_video", model=model, lengths=8, images="video_url", queries=4)
        assert not server.requests
    assert log.status == "error"
    with pytest.raises(InputError, match=r"did not succeed.*[Vv]ideo"):
        import_inspect([Path(log.location)])
    found = import_inspect([Path(log.location)], Options(partial=True))
    assert set(found.rows["outcome"]) == {"model_error"}
    assert found.systems[0]["name"] == "openai-api/scripted/m:images=video_url"


def test_video_as_one_file_goes_to_a_provider_that_takes_it(evaluate):
    log = evaluate("ecc_video", lengths=8, images="video_url", queries=4)
    assert log.status == "success"
    kinds = [part.type for part in log.samples[0].messages[0].content]
    assert kinds == ["text", "video", "text", "video", "text"]
    assert import_inspect([Path(log.location)]).rows.height == 4
    bare = evaluate("ecc_video", lengths=8, folder="bare", eval_log_images=False)
    assert "data:image" not in str(bare.samples[0].messages)
    assert import_inspect([Path(bare.location)]).rows["images_in"].min() >= 8 + 3


def test_frames_are_made_when_a_request_is_sent(evaluate):
    """The data set holds no picture, so that it stays small whatever the number of videos."""
    from memgauge.inspect_tasks.ecc import ecc_video

    task = ecc_video(lengths=64, bands="max", count=2, queries=4)
    assert sum(len(str(sample.input)) for sample in task.dataset) < 8 * 2000
    free = evaluate("ecc_video", lengths=8, lanes="free", queries=4)
    assert set(import_inspect([Path(free.location)]).rows["task"]) == {"ecc-video-free"}
    shown = evaluate("easyhuman", lengths=32, show="video", queries=4)
    rows = import_inspect([Path(shown.location)]).rows
    assert (set(rows["task"]), set(rows["split"])) == ({"ecc-video"}, {"easyhuman"})


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("ecc_text", {"lenghts": 8}, "unknown parameter of ecc_text 'lenghts'; did you mean 'lengths'"),
        ("ecc_text", {"lengths": "8,x"}, "lengths is 'x'"),
        ("ecc_text", {"lengths": 3}, "length of at least"),
        ("ecc_text", {"bands": "lo"}, "did you mean 'low'"),
        ("ecc_text", {"arms": "C"}, "unknown arm 'C'"),
        ("ecc_text", {"arms": "A,A"}, "each arm once"),
        ("ecc_text", {"seed": -1}, "seed is '-1'"),
        ("ecc_text", {"count": True}, "count is 'True'"),
        ("ecc_text", {"images": "video_url"}, "unknown parameter of ecc_text 'images'"),
        ("ecc_video", {"images": "gif"}, "unknown images 'gif'"),
        ("ecc_video", {"frame_size": 9}, "frame_size is 9"),
        ("easyhuman", {"frame_size": 64}, "shows no frames here"),
        ("easyhuman", {"show": "sound"}, "unknown show 'sound'"),
        ("easyhuman", {"bands": "low"}, "unknown parameter of easyhuman 'bands'"),
    ],
)
def test_wrong_parameters_are_errors(name, parameters, message):
    """Inspect itself only warns about a parameter that a task does not know, and asks with the defaults."""
    from memgauge.errors import InputError
    from memgauge.inspect_tasks import ecc

    with pytest.raises(InputError, match=message):
        getattr(ecc, name)(**parameters)


def test_the_arm_none_survives_yaml():
    from memgauge.inspect_tasks.plan import plan_of

    assert plan_of("ecc_text", {"arms": None}).arms == ("none",)
    assert plan_of("ecc_text", {"arms": [None, "A"]}).arms == ("none", "A")
