"""Other back ends of a build: a chat model that writes, conversations from a file, an ontology of one's own."""

from __future__ import annotations

import itertools
import json
import re
from datetime import datetime
from random import Random

import pytest
from scripted_server import Response, Server, completion

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.histories.building.config import build_config, public_writer
from memgauge.histories.building.ontology import built_in
from memgauge.histories.building.pipeline import build
from memgauge.histories.building.text import ProceduralWriter
from memgauge.histories.building.topics import draw_topics


class ValidModel:
    """A server whose model follows its instructions, with the sentences of procedural sessions."""

    def __init__(self):
        sessions = (
            ProceduralWriter().session(draw_topics(Random(seed)), (), datetime(2023, 5, 1), Random(seed))
            for seed in itertools.count()
        )
        self.user, self.assistant = [], []
        self._sessions = sessions

    def turn(self, role):
        kept = getattr(self, role)
        if not kept:
            turns = next(self._sessions)
            self.user += [t.content for t in turns[::2]]
            self.assistant += [t.content for t in turns[1::2]]
        return kept.pop(0)

    def __call__(self, request):
        messages = request.body["messages"]
        said = [m["content"] if isinstance(m["content"], str) else str(m["content"]) for m in messages]
        role = "user" if said[0].startswith("You write the messages") else "assistant"
        text = self.turn(role)
        asked = said[-2] if "not accepted" in said[-1] else said[-1]
        carried = re.search(r'word for word.*?: "(.*)" Keep', asked) if role == "user" else None
        return Response(body=completion(f"{text} {carried[1]}" if carried else text))


@pytest.mark.slow
def test_a_model_writes_the_sessions(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with Server(ValidModel()) as server:
        writer = f"model:name=scripted,base_url={server.url}"
        config = build_config("quick", seed=4, questions=1, lengths=("32k",), writer=writer)
        outcome = build(tmp_path / "H", config, jobs=1)
        assert outcome.status == "built"
        assert server.count > 100
    text = (tmp_path / "H" / "manifest.json").read_text()
    assert json.loads(text)["config"]["writer"] == "model:name=scripted"
    assert server.url not in text
    assert "127.0.0.1" not in text
    assert json.loads(text)["attempts"]["sessions"]["written"] >= 10


@pytest.mark.slow
def test_a_model_that_only_refuses_leaves_the_quota_short(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    refusal = Response(body=completion("I'm sorry, but I can't help with that."))
    with Server(lambda request: refusal) as server:
        options = ["--n", "1", "--lengths", "32k", "-j", "1", "--writer", f"model:name=m,base_url={server.url}"]
        assert run(["histories", "build", "--out", str(tmp_path / "H"), *options]) == 3
    said = capsys.readouterr().out
    assert "ku_update lacks 1" in said or "lacks 1" in said
    assert "text: length" in said


def test_what_changes_no_reply_is_no_part_of_the_configuration():
    spec = "model:name=a,base_url=http://here/v1,api_key_env=KEY,max_calls=10,temperature=0.5"
    assert public_writer(spec) == "model:name=a,temperature=0.5"
    with pytest.raises(InputError, match="unknown writer"):
        build_config("quick", writer="robot")


def conversations(path, count):
    """UltraChat's form: an even list of texts, long enough for the filter."""
    advice = "It helps to plan ahead, to write a list and to keep what is needed close at hand for the days to come."
    with path.open("w") as file:
        for number in range(count):
            word = "".join("abcdefghij"[int(digit)] for digit in f"{number:03d}") + "ing"
            turns = [f"How do people begin with {word} at home?", f"With {word}, {advice * 3}"] * 4
            file.write(json.dumps({"id": str(number), "data": turns}) + "\n")
    return path


def test_fillers_from_a_file(tmp_path):
    path = conversations(tmp_path / "talks.jsonl", 150)
    config = build_config("quick", seed=4, questions=1, lengths=("32k",), fillers=f"ultrachat:{path}")
    build(tmp_path / "H", config, jobs=1)
    manifest = json.loads((tmp_path / "H" / "manifest.json").read_text())
    assert manifest["config"]["fillers"].startswith("ultrachat:")
    assert "talks" not in json.dumps(manifest)
    (record,) = [json.loads(line) for line in (tmp_path / "H" / "dataset_32k.jsonl").read_text().splitlines()]
    taken = [s[0]["content"] for s in record["haystack_sessions"] if s[0]["content"].startswith("How do people begin")]
    assert len(taken) >= 3
    assert len(set(taken)) == len(taken)  # each at most once in a history
    assert "UltraChat | MIT" in (tmp_path / "H" / "LICENSES.md").read_text()


def test_files_of_fillers_that_cannot_be_used(tmp_path):
    for bad in ("ultrachat", "wiki:file", f"ultrachat:{tmp_path / 'gone'}"):
        with pytest.raises(InputError):
            build_config("quick", fillers=bad)
    few = conversations(tmp_path / "few.jsonl", 5)
    config = build_config("quick", questions=1, lengths=("32k",), fillers=f"ultrachat:{few}")
    with pytest.raises(InputError, match="5 conversations can be used, at least 100"):
        build(tmp_path / "H", config, jobs=1)


def test_an_ontology_of_ones_own(tmp_path):
    document = built_in().to_json()
    document["tracks"] = document["tracks"][:1]
    path = tmp_path / "topics.json"
    path.write_text(json.dumps(document))
    own, usual = build_config("quick", ontology=str(path)), build_config("quick")
    assert own.to_dict()["ontology"] != usual.to_dict()["ontology"]
    assert str(path) not in json.dumps(own.to_dict())
    del document["tracks"][0]["weight"]
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="'weight' is missing"):
        build_config("quick", ontology=str(path))
