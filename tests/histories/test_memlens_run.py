"""`memgauge run memlens` against a scripted server: the request, the options, refusals, faults, judges, resume."""

from __future__ import annotations

import base64
import json

import polars as pl
import pytest
from history_files import picture, records, write_dataset
from scripted_server import Response, Server, completion

from memgauge.cli.app import run
from memgauge.responses import load_responses

GOLD = {r["question"]: r["answer"] for r in records()}


def question_of(request):
    return request.text.rpartition("\nQuestion: ")[2]


def perfect(request):
    answer = GOLD[question_of(request)]
    said = "Insufficient information" if answer == "NOT_MENTIONED" else answer
    return Response(body=completion(said, tokens_in=9000, tokens_out=7))


def ask(folder, server, out, *more, system="model:name=m,base_url={url}"):
    spec = system.format(url=server.url)
    return run(["run", "memlens", "--data", str(folder), "--system", spec, "--out", str(out), *more])


def rows_of(out):
    return load_responses(out).sort("length", "episode")


EXPECTED_TEXT = """Provide answers based on the given conversation history. If the question
cannot be answered based on the given conversation, respond with
"Insufficient information".

Conversation:
=== Session 1 (Date: 2024/05/12 (Mon) 10:00) ===
[User]: I moved today.
[Assistant]: Thank you for telling me.

Directly output the answer with no extra output.
Question Date: 2024/05/31 (Fri) 07:58
Question: When did I move?"""


def test_the_request_word_for_word(dataset, tmp_path):
    with Server(perfect) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k", "--oracle", "sessions", "--only", "TR") == 0
    (request,) = server.requests
    assert request.body == {
        "messages": [{"role": "user", "content": EXPECTED_TEXT}],
        "model": "m",
        "max_tokens": 2048,
        "temperature": 0.0,
    }


def test_pictures_stand_at_their_markers(dataset, tmp_path):
    with Server(perfect) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k", "--only", "ie_disambiguation,MSR_Counting") == 0
    first, second = sorted(server.requests, key=lambda r: len(r.media))
    parts = first.body["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text"]
    assert parts[0]["text"].endswith("=== Session 3 (Date: 2024/05/12 (Mon) 10:00) ===\n[User]: I bought a bicycle ")
    assert base64.b64decode(parts[1]["image_url"]["url"].removeprefix("data:image/png;base64,")) == picture("red")
    assert parts[2]["text"].startswith(", here it is.\n[Assistant]: Thank you for telling me.\n\n=== Session 4 (Date: ")
    assert parts[2]["text"].endswith("Question: What colour is my bicycle?")
    assert [url.partition(";")[0] for url in second.media] == ["data:image/jpeg", "data:image/png"]
    rows = rows_of(tmp_path / "r")
    assert rows["images_in"].to_list() == [1, 2]
    assert rows["prompt_hash"].n_unique() == 2


@pytest.mark.parametrize(
    ("options", "holds", "lacks"),
    [
        (["--text-only"], "bicycle , here", ["<image>", "picture"]),
        (["--captions"], "bicycle a red picture, here", ["<image>"]),
        (["--no-context"], "Conversation:\n\n\nDirectly output", ["=== Session", "bicycle <"]),
        (["--cot"], 'begins with "Answer:"', ["Directly output"]),
        (["--oracle", "facts"], "=== Fact 1 (Date: 2024/05/12 (Mon) 10:00) ===\nI bought", ["Session", "[User]"]),
        (["--label-images"], "bicycle [Image 1] ", []),
    ],
)
def test_options_change_what_is_shown(dataset, tmp_path, options, holds, lacks):
    with Server(perfect) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k", "--only", "ie_disambiguation", *options) == 0
    (request,) = server.requests
    assert holds in request.text
    assert not [word for word in lacks if word in request.text]
    sent = request.body["messages"][0]["content"]
    assert isinstance(sent, list) == (options[0] in ("--cot", "--oracle", "--label-images"))
    assert rows_of(tmp_path / "r")["arm"].to_list() != ["none"]


def test_budgets(dataset, tmp_path):
    found = {}
    for name, extra in {
        "plain": "",
        "off": ",thinking=off",
        "on": ",thinking=on",
        "own": ",thinking=on,max_tokens=99",
    }.items():
        with Server(perfect) as server:
            system = "model:name=m,base_url={url}" + extra
            assert ask(dataset, server, tmp_path / name, "--length", "32k", "--only", "TR", system=system) == 0
        found[name] = server.requests[0].body["max_tokens"]
    assert found == {"plain": 2048, "off": 2048, "on": 16384, "own": 99}


def test_a_run_and_its_rows(dataset, tmp_path, capsys):
    out = tmp_path / "r"
    with Server(perfect) as server:
        assert ask(dataset, server, out, "--json") == 0
        assert json.loads(capsys.readouterr().out)["asked"] == 16
        assert ask(dataset, server, out, "--json") == 0
        assert json.loads(capsys.readouterr().out)["asked"] == 0
        assert server.count == 16
        assert ask(dataset, server, out, "--text-only", "--length", "32k", "--json") == 0
        assert json.loads(capsys.readouterr().out)["asked"] == 8
    rows = rows_of(out)
    assert rows["length"].unique().sort().to_list() == [32768, 65536]
    main = rows.filter((pl.col("arm") == "none") & (pl.col("length") == 32768))
    assert main["correct"].to_list() == [True] * 8
    refusal = main.filter(pl.col("subtype") == "AR").row(0, named=True)
    assert (refusal["outcome"], refusal["abstain_kind"], refusal["split"]) == ("abstained", "explicit", "AR")
    one = main.filter(pl.col("episode") == "q_ie1").row(0, named=True)
    assert (one["kind"], one["visual_need"], one["grading"]) == ("ie_disambiguation", "essential", "strict")
    assert (one["age"], one["age_unit"], one["question"]) == (3, "sessions", "What colour is my bicycle?")
    assert one["raw_output"][slice(*json.loads(one["span"]))] == one["answer"] == "red"
    assert one["tokens_in"] == 9000
    record = json.loads((out / "run.json").read_text())
    assert record["arms"] == ["none", "text-only"]
    assert run(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0


def test_one_question_can_be_looked_at(dataset, tmp_path, capsys):
    with Server(perfect) as server:
        ask(dataset, server, tmp_path / "r", "--length", "32k", "--only", "MSR")
    capsys.readouterr()
    assert run(["show", str(tmp_path / "r"), "q_msr/q", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["questions"][0]
    assert "Another lamp" in found["session 6"]
    assert found["rows"][0]["correct"] is True


def test_too_long_is_refused_and_never_cut(dataset, tmp_path):
    def handle(request):
        if "moved" in question_of(request) or "move" in question_of(request):
            body = {"error": {"message": "This model's maximum context length is 8 tokens", "code": 400}}
            return Response(400, body)
        if "dog" in question_of(request):  # a server that cuts the request short and says nothing
            return Response(body=completion("beagle", tokens_in=12))
        return perfect(request)

    with Server(handle) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k") == 0
        assert ask(dataset, server, tmp_path / "r", "--length", "32k") == 0
        assert server.count == 8
    rows = rows_of(tmp_path / "r").filter(pl.col("outcome") == "refused_by_server")
    assert rows["episode"].to_list() == ["q_ie3", "q_tr"]
    assert rows["refused_kind"].to_list() == ["too_long", "too_long"]
    assert rows["correct"].null_count() == 2
    assert "cut the request short" in rows["raw_output"][0]


def test_other_ends_of_a_question(dataset, tmp_path):
    def handle(request):
        question = question_of(request)
        if "bicycle" in question:
            return Response(body=completion("<think>It is red", finish="length", tokens_in=900))
        if "ferry" in question:
            return Response(body=completion("", finish="content_filter", tokens_in=900))
        if "dog" in question:
            return Response(body=completion("I do not know.", tokens_in=900))
        if "work" in question:
            return Response(500, {"error": "out of memory"})
        return perfect(request)

    with Server(handle) as server:
        system = "model:name=m,base_url={url},retries=1,backoff=0,concurrency=1"
        assert ask(dataset, server, tmp_path / "r", "--length", "32k", system=system) == 0
    rows = {row["episode"]: row for row in rows_of(tmp_path / "r").to_dicts()}
    ends = {
        name: (row["outcome"], row["abstain_kind"] or row["refused_kind"], row["correct"]) for name, row in rows.items()
    }
    assert ends["q_ie1"] == ("abstained", "overflow", False)
    assert ends["q_ie2"] == ("refused_by_server", "filtered", None)
    assert ends["q_ie3"] == ("abstained", "explicit", False)
    assert ends["q_ie4"] == ("model_error", None, None)
    assert ends["q_ar"] == ("abstained", "explicit", True)


def test_faulty_records_are_left_out_and_named(tmp_path, capsys):
    made = records()
    folder = write_dataset(tmp_path / "H", [*made, made[3], {**made[4], "question_id": "q_bad", "haystack_dates": []}])
    (folder / "images" / "a" / "red.png").write_bytes(b"no picture")
    with Server(perfect) as server:
        assert ask(folder, server, tmp_path / "r", "--json") == 0
        captured = capsys.readouterr()
        notes = json.loads(captured.out)["notes"]
        assert server.count == 7
        assert ask(folder, server, tmp_path / "s", "--strict") == 2
    for part in ("q_ie1", "image unreadable", "q_ie4", "duplicate id", "q_bad", "unequal lists"):
        assert any(part in note for note in notes), part
    assert any("q_ie1" in line for line in json.loads((tmp_path / "r" / "run.json").read_text())["notes"])
    assert "q_ie1" in capsys.readouterr().err


def test_oracles_leave_out_what_has_no_evidence(dataset, tmp_path, capsys):
    with Server(perfect) as server:
        assert (
            ask(dataset, server, tmp_path / "r", "--length", "32k", "--oracle", "sessions", "--strict", "--json") == 0
        )
    found = json.loads(capsys.readouterr().out)
    assert found["asked"] == 7
    assert any("q_ar" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--length", "128k"], "it has 32k, 64k"),
        (["--length", "32k,32768"], "names a value twice"),
        (["--bands", "low"], "--bands"),
        (["--arms", "A"], "--arms"),
        (["--text-only", "--captions"], "exclude each other"),
        (["--only", "riddles"], "no question is of that kind"),
        (["--subset", "agent"], "agent_subset"),
        (["--count", "0"], "--count"),
        (["--judge", "exact"], "a judge is a model"),
        (["--images", "nowhere"], "no such folder of images"),
    ],
)
def test_options_that_cannot_be(dataset, tmp_path, capsys, options, said):
    with Server(perfect) as server:
        assert ask(dataset, server, tmp_path / "r", *options) == 2
        assert server.count == 0
    assert said in capsys.readouterr().err


def test_conversation_options_are_refused_elsewhere(tmp_path, capsys):
    assert run(["run", "ecc-text", "--system", "exact", "--text-only", "--out", str(tmp_path / "r")]) == 2
    assert "--text-only: for the task memlens only" in capsys.readouterr().err
    assert run(["run", "memlens", "--system", "exact", "--out", str(tmp_path / "r")]) == 2
    assert "--data" in capsys.readouterr().err


def test_systems_that_take_symbols_only_are_refused(dataset, tmp_path, capsys):
    command = ["run", "memlens", "--data", str(dataset), "--out", str(tmp_path / "r"), "--system"]
    assert run([*command, "exact"]) == 2
    assert "needs a system that reads sessions" in capsys.readouterr().err
    assert run([*command, "always-abstain"]) == 0
    rows = rows_of(tmp_path / "r")
    assert rows.filter(pl.col("correct"))["subtype"].unique().to_list() == ["AR"]


class Echo:
    """A system of one's own: it keeps the texts of what users say, and the names of what it saw."""

    name = "echo"

    def __init__(self):
        self.seen = []

    def start(self, seed):
        return EchoMemory(self)


class EchoMemory:
    def __init__(self, system):
        self.system, self.kept = system, []

    def write(self, observation):
        assert observation.kind == "session"
        self.kept += [turn.content for turn in observation.turns if turn.role == "user"]
        self.system.seen += [p.open()[:4] for turn in observation.turns for p in turn.pictures]

    def read(self, question):
        from memgauge import Answer

        words = {w for w in question.text.lower().strip("?").split() if len(w) > 4}
        best = max(self.kept, key=lambda text: sum(w in text.lower() for w in words))
        return Answer(best.rstrip(".").split()[-1])


def test_a_system_of_ones_own_answers_in_words(dataset, tmp_path):
    from memgauge.histories.source import HistorySource
    from memgauge.run import Plan, Subject, execute

    system = Echo()
    plan = Plan("memlens", HistorySource(dataset, ("32k",)), (Subject(system, "echo", "echo-1"),))
    execute(plan, tmp_path / "r", show_progress=False)
    rows = {row["episode"]: row for row in rows_of(tmp_path / "r").to_dicts()}
    assert len(rows) == 8
    assert rows["q_ie4"]["correct"] is True
    assert rows["q_ie4"]["raw_output"] == "bakery"
    assert system.seen.count(b"\x89PNG") == 2


def test_a_stratified_draw_is_the_same_at_every_length(dataset, tmp_path):
    with Server(perfect) as server:
        assert ask(dataset, server, tmp_path / "r", "--count", "5", "--seed", "4") == 0
    rows = rows_of(tmp_path / "r")
    names = [set(rows.filter(pl.col("length") == n)["episode"]) for n in (32768, 65536)]
    assert names[0] == names[1]
    assert len(names[0]) == 5
    assert set(rows["split"]) == {"IE", "MSR", "TR", "KU", "AR"}


def test_a_dry_run_sends_nothing(dataset, tmp_path, capsys):
    with Server(perfect) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k", "--dry-run", "--json") == 0
        assert server.count == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["questions"] == 8
    assert not (tmp_path / "r").exists()


def test_requests_in_memory_stay_under_their_bound(tmp_path):
    """24 questions with 2 MB of noise each, 16 in flight, at most 8 MiB in memory at once."""
    import random

    import PIL.Image

    noise = random.Random(3)
    made = []
    for i in range(24):
        one = json.loads(json.dumps(records()[0]))
        one["question_id"] = f"q_{i}"
        made.append(one)
    folder = write_dataset(tmp_path / "H", made, meta=False)
    data = noise.randbytes(3 * 800 * 600)
    PIL.Image.frombytes("RGB", (800, 600), data).save(folder / "images" / "a" / "red.png")
    size = 4 * (folder / "images" / "a" / "red.png").stat().st_size // 3
    assert size > 1.9e6
    slow = Response(body=completion("red", tokens_in=9000), delay=0.05)
    with Server(lambda _: slow, keep=False) as server:
        system = "model:name=m,base_url={url},max_inflight_mb=8"
        assert ask(folder, server, tmp_path / "r", system=system) == 0
    assert rows_of(tmp_path / "r")["correct"].all()
    assert 2 <= server.most_at_once <= 8 * 2**20 // size + 1


def test_a_subset_file(dataset, tmp_path, capsys):
    (dataset / "agent_subset.json").write_text(
        json.dumps({"n_questions": 3, "question_ids": ["q_tr", "q_ar", "q_gone"]})
    )
    with Server(perfect) as server:
        assert ask(dataset, server, tmp_path / "r", "--length", "32k", "--subset", "agent", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["asked"] == 2
    assert any("q_gone" in note for note in found["notes"])
    assert rows_of(tmp_path / "r")["episode"].to_list() == ["q_ar", "q_tr"]
