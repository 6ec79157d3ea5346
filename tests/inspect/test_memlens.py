"""The Inspect task `memlens` asks what `memgauge run memlens` asks, and its logs become the rows that it writes."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from changed_logs import with_one_field_changed
from history_files import picture, record, records, told, write_dataset
from scripted_server import Response, Server, completion

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.histories.source import HistorySource
from memgauge.importers.inspect_rows import Options
from memgauge.importers.inspect_run import import_inspect
from memgauge.responses import load_responses

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
OWN = ("key", "run", "system", "prompt_hash", "seconds_write", "seconds_read", "judge")
"""Columns that tell the two ways apart."""
TOO_LONG = {"error": {"message": "This model's maximum context length is 9 tokens", "code": "context_length_exceeded"}}


def made():
    """Records of every ability, with questions for every kind of end."""
    more = [
        record(f"q_{word}", "information_extraction", f"What is my {word}?", "x y", {1: told(f"My {word} is x y.")})
        for word in ("filtered", "missing", "long", "cut", "unsaid", "unfinished", "thought", "undecided")
    ]
    return [*records(), *more]


SAID = {
    "bicycle": {"content": "The bicycle is crimson.", "tokens_out": 8},
    "ferry": {"content": "14:05"},
    "dog": {"content": "A small hound."},
    "work": {"content": "bakery", "tokens_out": 2},
    "lamps": {"content": "There are 2 lamps.", "tokens_out": 9},
    "move": {"content": "May 13, 2024"},
    "tea": {"content": "These days it is oolong, not assam."},
    "cat": {"content": "Insufficient information"},
    "filtered": {"content": "x y", "finish": "content_filter"},
    "missing": {"content": None},
    "cut": {"content": "x y", "tokens_in": 12},
    "unsaid": {"content": "", "finish": "length", "reasoning_content": "I think", "tokens_out": 24},
    "unfinished": {"content": "<think>It is x", "finish": "length", "tokens_out": 24},
    "thought": {"content": "x y", "reasoning_content": "Is it z? No.", "tokens_out": 30},
    "undecided": {"content": "I do not know."},
}


def question_of(request):
    return request.text.rpartition("\nQuestion: ")[2]


def model(request):
    asked = question_of(request)
    if "long" in asked:
        return Response(400, TOO_LONG)
    said = next(said for word, said in SAID.items() if word in asked)
    return Response(body=completion(**({"tokens_in": 9000} | said)))


def judge(request):
    """Lenient to hounds, strict about tea, unclear about all else."""
    asked = request.body["messages"][1]["content"]
    verdict = {"dog": '{"answer_score": 1}', "tea": "[Score]: 0 points"}
    text = next((said for word, said in verdict.items() if f"Which {word}" in asked), "It may be right.")
    return Response(body=completion(text, tokens_in=900))


def answering(request):
    return judge(request) if request.body["model"] == "judge" else model(request)


def shown(request):
    content = request.body["messages"][0]["content"]
    return (
        (content,)
        if isinstance(content, str)
        else tuple(part.get("text") or part["image_url"]["url"] for part in content)
    )


def asked_of(server):
    return {shown(r) for r in server.requests if r.body["model"] == "m"}


def comparable(rows):
    # What a server said on refusing is worded by each client.
    refused = pl.col("outcome") == "refused_by_server"
    rows = rows.with_columns(raw_output=pl.when(~refused).then("raw_output"))
    return rows.drop(OWN).sort("length", "episode", "arm")


@pytest.fixture
def histories(tmp_path):
    return write_dataset(tmp_path / "H", made(), lengths=("32k", "64k"))


def model_at(server, name="m"):
    from inspect_ai.model import get_model

    return get_model(f"openai-api/scripted/{name}", base_url=server.url, api_key="none", memoize=False)


@pytest.mark.parametrize(
    ("options", "parameters", "judged"),
    [
        ([], {"length": "32k,64k"}, True),
        (["--text-only"], {"text_only": True, "length": "32k"}, False),
        (["--captions", "--cot"], {"captions": "true", "cot": True, "length": ["32k"]}, False),
        (["--label-images", "--only", "IE,KU"], {"label_images": True, "only": "IE,KU", "length": "32k"}, False),
        (["--oracle", "facts"], {"oracle": "facts", "length": "64k"}, False),
        (["--oracle", "sessions", "--count", "5", "--seed", "3"], {"oracle": "sessions", "count": 5, "seed": 3}, False),
        (["--no-context", "--grading", "official"], {"no_context": True, "grading": "official", "length": 65536}, True),
    ],
)
def test_a_log_gives_the_rows_of_a_direct_run(evaluate, histories, tmp_path, options, parameters, judged):
    """Through the real HTTP clients of both, to the same server: requests are equal, and so are the graded rows."""
    lengths = parameters.get("length", "32k,64k")
    lengths = lengths[0] if isinstance(lengths, list) else str(lengths)
    with Server(answering) as server:
        spec = f"model:name=m,base_url={server.url},retries=2,backoff=0,price=qwen3-vl-8b"
        command = ["run", "memlens", "--data", str(histories), "--system", spec, "--out", str(tmp_path / "direct")]
        command += ["--length", lengths, *options]
        command += ["--judge", f"model:name=judge,base_url={server.url},backoff=0"] if judged else []
        assert run(command) == 0
        sent = asked_of(server)
        server.requests.clear()
        roles = {"eval_model_roles": {"judge": model_at(server, "judge")}} if judged else {}
        log = evaluate("memlens", model=model_at(server), data=str(histories), **parameters, **roles)
        fields = {(r.body["temperature"], r.body["max_tokens"]) for r in server.requests}
        assert asked_of(server) == sent
    assert log.status == "success", log.error
    assert fields == {(0.0, 2048)}
    expected = load_responses(tmp_path / "direct")

    out = tmp_path / "imported"
    assert run(["import-inspect", log.location, "--out", str(out), "--price", "qwen3-vl-8b"]) == 0
    rows = load_responses(out)
    assert comparable(rows).equals(comparable(expected), null_equal=True)
    assert set(rows.drop_nulls("judge")["judge"]) == ({"inspect openai-api/scripted/judge"} if judged else set())
    record = json.loads((out / "run.json").read_text())
    assert record.get("judges", []) == (["inspect openai-api/scripted/judge"] if judged else [])
    assert 0 < rows["flops_read"].null_count() < rows.height / 2 or "--count" in options

    # The scorer said the same in the log, and a question without a verdict is not zero.
    scores = {str(s.id): s.scores["conversation"] for s in log.samples}
    assert len(scores) == expected.height
    told = {f"{row['episode']}.{row['length']}": row for row in rows.to_dicts()}
    for name, score in scores.items():
        row = told[name]
        assert score.metadata["outcome"] == row["outcome"]
        assert (score.value in ("C", "I", "N")) == (row["correct"] is not None)
        assert (score.value == "C") == (row["correct"] is True)
    measured = log.results.scores[0].metrics
    assert measured["accuracy"].value == pytest.approx(expected["correct"].mean())
    answerable = expected.filter(pl.col("correct").is_not_null() & (pl.col("subtype") != "AR"))
    assert measured["attempted"].value == pytest.approx((answerable["outcome"] == "answered").mean())
    assert run(["compare", str(out), str(tmp_path / "direct"), "--json"]) in (0, 1)
    assert run(["report", str(out), "--json"]) == 0


def test_the_comparison_covers_every_outcome(evaluate, histories):
    with Server(answering) as server:
        log = evaluate("memlens", model=model_at(server), data=str(histories), length="32k")
        outcomes = import_inspect([Path(log.location)]).rows
        assert set(outcomes["outcome"]) == {"answered", "abstained", "pending", "refused_by_server"}
        assert set(outcomes["refused_kind"].drop_nulls()) == {"too_long", "filtered", "empty"}
        assert set(outcomes["abstain_kind"].drop_nulls()) == {"explicit", "overflow"}
        roles = {"judge": model_at(server, "judge")}
        judged = evaluate(
            "memlens", model=model_at(server), data=str(histories), length="32k", folder="j", eval_model_roles=roles
        )
    rows = {r["episode"]: r for r in import_inspect([Path(judged.location)]).rows.to_dicts()}
    ends = {name: (rows[name]["outcome"], rows[name]["correct"]) for name in ("q_ie1", "q_ie3", "q_ku")}
    assert ends == {"q_ie1": ("unparsed", None), "q_ie3": ("answered", True), "q_ku": ("answered", False)}
    assert "no verdict" in rows["q_ie1"]["error"]


@pytest.fixture
def small(tmp_path):
    """A dataset of two questions, one of which no rule decides."""
    return write_dataset(tmp_path / "S", [records()[0], records()[3]], meta=False)


def saying(text, tokens=4000):
    from inspect_ai.model import ModelOutput, ModelUsage

    def answer(messages, tools, choice, config):
        output = ModelOutput.from_content("mockllm/model", text)
        output.usage = ModelUsage(input_tokens=tokens, output_tokens=6, total_tokens=tokens + 6)
        return output

    return answer


def test_a_judge_that_fails_leaves_no_score(evaluate, small):
    from inspect_ai.model import get_model

    asked = []

    def broken(messages, tools, choice, config):
        asked.append((messages, config))
        raise RuntimeError("the judge is out")

    def both(judge, folder):
        role = get_model("mockllm/judge", custom_outputs=judge)
        options = {"eval_model_roles": {"judge": role}, "folder": folder}
        return evaluate("memlens", model=saying("It is crimson."), data=str(small), **options)

    log = both(broken, "broken")
    assert log.status == "success"
    rows = import_inspect([Path(log.location)]).rows
    assert set(rows["outcome"]) == {"judge_error"}
    assert rows["correct"].null_count() == rows.height == 2
    assert "RuntimeError: the judge is out" in rows["error"][0]
    assert len(asked) == 6
    assert {(config.temperature, config.max_tokens) for _, config in asked} == {(0.0, 2048)}
    assert [m.role for m in asked[0][0]] == ["system", "user"]
    quiet = both(saying(""), "quiet")
    assert set(import_inspect([Path(quiet.location)]).rows["outcome"]) == {"judge_error"}
    assert {str(s.scores["conversation"].value) for s in quiet.samples} == {"nan"}


def test_an_imported_run_can_be_judged_later_and_looked_at(evaluate, small, tmp_path, capsys):
    log = evaluate("memlens", model=saying("It is crimson."), data=str(small))
    assert run(["import-inspect", log.location, "--out", str(tmp_path / "r")]) == 0
    assert run(["show", str(tmp_path / "r"), "q_ie1/q"]) == 0
    assert "bicycle" in capsys.readouterr().out
    with Server(lambda r: Response(body=completion("[Score]: 1 point"))) as server:
        spec = f"model:name=judge,base_url={server.url},backoff=0"
        assert run(["judge", "run", str(tmp_path / "r"), "--judge", spec]) == 0
        assert "It is crimson." in server.requests[0].body["messages"][1]["content"]
    assert load_responses(tmp_path / "r")["correct"].to_list() == [True, True]


def test_histories_are_put_in_when_a_question_is_asked(small):
    """The data set holds no history and no picture, so that it stays small whatever the length."""
    from memgauge.inspect_tasks.memlens import memlens

    task = memlens(data=str(small))
    assert [sample.input for sample in task.dataset] == ["What colour is my bicycle?", "Where do I work?"]
    assert sum(len(sample.model_dump_json()) for sample in task.dataset) < 2000


def test_settings_are_those_of_the_direct_model():
    from memgauge.inspect_tasks.conversations import MAX_TOKENS, PARAMETERS
    from memgauge.systems.models.conversing import BUDGET

    assert MAX_TOKENS == BUDGET
    assert {"mode", "ablation", "data"} < set(HistorySource.__dataclass_fields__)
    assert set(HistorySource.__dataclass_fields__) - {"mode", "ablation", "lengths"} <= set(PARAMETERS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"data": None}, "give -T data=FOLDER"),
        ({"data": "nowhere"}, "no such file or folder"),
        ({"data": ["a", "b"]}, "data is"),
        ({"length": "128k"}, "it has 32k"),
        ({"length": "32k,32k"}, "names a value twice"),
        ({"oracle": "all"}, "unknown oracle 'all'"),
        ({"text_only": "maybe"}, "text_only is 'maybe'; it is true or false"),
        ({"text_only": True, "captions": True}, "exclude each other"),
        ({"only": "riddles"}, "no question is of that kind"),
        ({"subset": "nowhere.json"}, "nowhere.json"),
        ({"count": -1}, "count is '-1'"),
        ({"count": 0}, "--count takes 1 or more"),
        ({"grading": "kind"}, "unknown grading 'kind'"),
        ({"images": "nowhere"}, "no such folder of images"),
        ({"lenght": "32k"}, "unknown parameter of memlens 'lenght'; did you mean 'length'"),
        ({"data": "a\nb"}, "a text on one line"),
    ],
)
def test_wrong_parameters_are_errors(small, parameters, message):
    from memgauge.inspect_tasks.memlens import memlens

    with pytest.raises(InputError, match=message):
        memlens(**({"data": str(small)} | parameters))


def test_faulty_records_are_left_out_and_named(evaluate, small, tmp_path):
    (small / "images" / "a" / "red.png").write_bytes(b"no picture")
    log = evaluate("memlens", model=saying("bakery"), data=str(small))
    assert [str(s.id) for s in log.samples] == ["q_ie4.32768"]
    assert any("q_ie1" in note for note in log.eval.metadata["notes"])
    found = import_inspect([Path(log.location)])
    assert found.rows["correct"].to_list() == [True]
    assert any("q_ie1" in note for note in found.notes)
    from memgauge.inspect_tasks.memlens import memlens

    with pytest.raises(InputError, match="q_ie1"):
        memlens(data=str(small), strict=True)


def test_a_picture_that_is_gone_when_it_is_asked_about_is_an_error(evaluate, small):
    def removing(messages, tools, choice, config):
        (small / "images" / "a" / "red.png").unlink(missing_ok=True)
        return saying("bakery")(messages, tools, choice, config)

    made = [records()[3], records()[0]]
    (small / "dataset_32k.jsonl").write_text("".join(json.dumps(r) + "\n" for r in made))
    log = evaluate("memlens", model=removing, data=str(small), eval_max_samples=1)
    assert log.status == "error"
    assert "cannot be read any more" in log.error.message
    write_dataset(small, made, meta=False)
    rows = import_inspect([Path(log.location)], Options(partial=True)).rows
    assert dict(rows.select("episode", "outcome").iter_rows()) == {"q_ie4": "answered", "q_ie1": "model_error"}


@pytest.fixture
def logged(evaluate, small):
    """A log as JSON, and the dataset; the answer to q_ie1 has a verdict."""
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import get_model

    roles = {"judge": get_model("mockllm/judge", custom_outputs=saying('{"answer_score": 1}'))}
    log = evaluate("memlens", model=saying("It is crimson."), data=str(small), only="IE", eval_model_roles=roles)
    write_eval_log(read_eval_log(log.location), "whole.json")
    return json.loads(Path("whole.json").read_text()), small


def imported(content, change=None, **options):
    changed = copy.deepcopy(content)
    if change is not None:
        change(changed)
    Path("changed.json").write_text(json.dumps(changed))
    return import_inspect([Path("changed.json")], Options(**options))


def refused(content, change=None, **options):
    with pytest.raises(InputError) as caught:
        imported(content, change, **options)
    assert "changed.json" in str(caught.value)
    return str(caught.value)


def test_logs_that_were_changed(logged):
    content, _ = logged
    assert set(imported(content).rows["correct"]) == {True}

    def first(**values):
        return lambda log: log["samples"][0].update(values)

    def score(**values):
        return lambda log: log["samples"][0]["scores"]["conversation"]["metadata"].update(values)

    def words(log):
        message = log["samples"][0]["messages"][0]
        message["content"][0]["text"] = message["content"][0]["text"].replace("beans", "peas")

    def no_picture(log):
        del log["samples"][0]["messages"][0]["content"][1]

    said = "the request in the log is not the one"
    assert said in refused(content, words)
    assert said in refused(content, no_picture)
    assert "not the right answer" in refused(content, first(target="blue"))
    assert "its history is not the one in" in refused(content, lambda log: log["samples"][0].update(metadata={}))
    assert "version 2 of memgauge/memlens" in refused(content, lambda log: log["eval"].update(task_version=2))
    about = "its data is not what this memgauge makes"
    for name in ("histories", "prompt", "questions", "arm", "lengths"):
        said = refused(content, lambda log, n=name: log["eval"]["metadata"]["memgauge"].update({n: "x"}))
        assert f"{about} ({name} differ" in said
    assert "task_args cannot be used: unknown parameter" in refused(
        content, lambda log: log["eval"]["task_args"].update(model="x")
    )
    # A verdict is read anew from the judge's words; without them it is none.
    assert "scored answered 'C'" in refused(content, score(judge_output="[Score]: 0 points"))
    assert "scored answered 'C'" in refused(content, score(judge_output=None))
    assert "scored answered 'C'" in refused(content, score(judge=7))
    assert "scored by grading 99" in refused(content, score(grading=99))
    rows = imported(content, first(scores=None)).rows
    assert dict(rows.select("episode", "outcome").iter_rows()) == {"q_ie1": "pending", "q_ie4": "answered"}


def test_data_that_were_changed_or_have_moved(logged, tmp_path, monkeypatch):
    content, folder = logged
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    assert "no such file or folder" in refused(content)
    rows = imported(content, data=moved).rows
    assert rows.height == 2
    lines = (moved / "dataset_32k.jsonl").read_text()
    told = HistorySource(moved)._digest
    (moved / "dataset_32k.jsonl").write_text(lines.replace("day 1.", "day 9."))  # of equal size
    assert "histories differ" in refused(content, data=moved)
    # A manifest that was left as it was says that nothing has changed: each question is looked at all the same.
    monkeypatch.setattr(HistorySource, "_digest", told)
    assert "its history is not the one in" in refused(content, data=moved)
    (moved / "dataset_32k.jsonl").write_text(lines.replace('"red"', '"rot"'))
    assert "its target is not the right answer" in refused(content, data=moved)
    (moved / "dataset_32k.jsonl").write_text(lines)
    (moved / "images" / "a" / "red.png").write_bytes(picture("red", size=(80, 60)))
    assert "its history is not the one in" in refused(content, data=moved)
    (moved / "images" / "a" / "red.png").unlink()
    said = refused(content, data=moved)
    assert "'q_ie1.32768' is not one of the task's" in said
    assert "image absent" in said


def test_data_named_by_a_relative_path_are_found_from_another_folder(evaluate, small, tmp_path, monkeypatch):
    (tmp_path / "ids.json").write_text(json.dumps(["q_ie4"]))
    log = evaluate("memlens", model=saying("bakery"), data="S", subset="ids.json", images="S/images")
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    assert import_inspect([Path(log.location)]).rows["episode"].to_list() == ["q_ie4"]
    (tmp_path / "ids.json").write_text(json.dumps(["q_ie1"]))
    with pytest.raises(InputError, match="questions differ"):
        import_inspect([Path(log.location)])


def test_data_of_other_tasks(evaluate, tmp_path):
    log = evaluate(queries=2)
    with pytest.raises(InputError, match="--data is for logs of memgauge/memlens"):
        import_inspect([Path(log.location)], Options(data=tmp_path))


def test_any_field_may_hold_anything(logged, tmp_path):
    """Any one field of a log replaced by a value of another kind: it is refused, or it changes nothing that matters.

    200 pairs of field and value, with a fixed seed; all that the task itself records is among the fields.
    """
    refusals = 0
    for changed, rng in with_one_field_changed(logged[0], 200, 11):
        try:
            found = imported(changed, partial=rng.random() < 0.5)
        except InputError as error:
            assert "changed.json" in str(error)  # noqa: PT017 - most values are fine, so that nothing is raised
            refusals += 1
        else:
            shutil.rmtree(tmp_path / "run", ignore_errors=True)
            found.write(tmp_path / "run")
            assert set(found.rows["gold"]) <= {"red", "bakery"}
    assert 0 < refusals < 200
