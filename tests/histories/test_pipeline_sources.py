"""Other sources of a build: conversations from a file, an ontology of one's own, and what of a writer is kept."""

from __future__ import annotations

import json

import pytest

from memgauge.errors import InputError
from memgauge.histories.building.config import build_config, public_writer
from memgauge.histories.building.ontology import built_in
from memgauge.histories.building.pipeline import build


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
    assert not (tmp_path / "H").exists()


def test_a_counter_that_is_not_there_leaves_no_folder(tmp_path):
    config = build_config("quick", questions=1, lengths=("32k",), counter=f"hf:{tmp_path / 'gone'}")
    with pytest.raises(InputError, match=r"give hf:FOLDER with a tokenizer\.json"):
        build(tmp_path / "H", config, jobs=2)  # before any process is started
    assert not (tmp_path / "H").exists()


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
