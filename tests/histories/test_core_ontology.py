from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest
from scipy.stats import chisquare

from memgauge.errors import InputError
from memgauge.histories.building.ontology import Ontology, built_in, lint, load_ontology, parse_ontology
from memgauge.histories.building.ontology_growth import expand, normalised
from memgauge.histories.building.seeds import rng
from memgauge.histories.building.text.banks import banks


def test_the_built_in_ontology_has_the_shape_of_the_paper():
    tracks = built_in().tracks
    assert [(track.id, track.weight, len(track.sub_attributes)) for track in tracks] == [
        ("identification", 0.4, 5),
        ("experience", 0.4, 7),
        ("document", 0.2, 7),
    ]
    assert [sum(len(group.topics) for group in track.sub_attributes) for track in tracks] == [40, 40, 20]
    leaves = list(built_in().leaves())
    assert len(leaves) == 800
    assert all(len(set(topic.subtopics)) == 8 for topic in {leaf.topic for leaf in leaves})
    assert not lint(built_in())


def test_writers_have_advice_for_every_sub_attribute():
    assert {leaf.sub_attribute for leaf in built_in().leaves()} == set(banks().advice)
    topic = built_in().sample(rng(1, "topic")).session_topic()
    assert topic.say != topic.alt


def test_draws_follow_the_weights_not_the_leaves():
    generator = rng(5, "ontology")
    drawn = [built_in().sample(generator) for _ in range(10_000)]
    tracks = Counter(leaf.track for leaf in drawn)
    # Each test is wrong once in 1,000.
    assert chisquare([tracks[track.id] for track in built_in().tracks], [4000, 4000, 2000]).pvalue > 0.001
    groups = Counter(leaf.sub_attribute for leaf in drawn if leaf.track == "document")
    assert chisquare(list(groups.values())).pvalue > 0.001
    assert len({leaf.subtopic for leaf in drawn}) > 700


def test_a_draw_can_stay_within_a_sub_attribute():
    assert built_in().sample(rng(1), "dining").sub_attribute == "dining"
    with pytest.raises(InputError, match="did you mean 'dining'"):
        built_in().sample(rng(1), "dinning")


def test_a_file_reads_back(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(built_in().to_json()))
    assert load_ontology(path) == built_in()
    assert load_ontology(path).fingerprint() == built_in().fingerprint()
    changed = replace(built_in(), tracks=built_in().tracks[:2])
    assert changed.fingerprint() != built_in().fingerprint()


def first_topic(content):
    return content["tracks"][0]["sub_attributes"][0]["topics"][0]


def broken(change):
    content = built_in().to_json()
    change(content)
    return content


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: c.pop("tracks"), "mine: the field 'tracks' is missing"),
        (lambda c: c["tracks"][1].pop("weight"), r"mine: tracks\[1\]: the field 'weight' is missing"),
        (
            lambda c: c["tracks"][0]["sub_attributes"][2]["topics"][3].pop("say"),
            r"mine: tracks\[0\]\.sub_attributes\[2\]\.topics\[3\]: the field 'say' is missing",
        ),
        (lambda c: c["tracks"][0].update(weight=-1), r"tracks\[0\]\.weight: expected a positive number"),
        (lambda c: c["tracks"][0].update(weight=True), r"tracks\[0\]\.weight"),
        (lambda c: c.update(tracks=[]), r"mine: tracks: expected a list with at least one entry"),
        (lambda c: c["tracks"][0].update(id="A b"), r"tracks\[0\]\.id"),
        (lambda c: c["tracks"][0]["sub_attributes"][0].update(topics={}), r"topics: expected a list"),
        (lambda c: first_topic(c).update(alt=" "), r"topics\[0\]\.alt: expected a phrase"),
        (lambda c: first_topic(c).update(abilities=["XY"]), "unknown ability 'XY'"),
        (lambda c: c["tracks"][0]["sub_attributes"].append(c["tracks"][0]["sub_attributes"][0]), "'retail' occurs"),
        (lambda c: c.update(version=9), "version 1"),
        (lambda c: c["tracks"].append("text"), r"tracks\[3\]: expected an object"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(change, problem):
    with pytest.raises(InputError, match=problem):
        parse_ontology(broken(change), "mine")


def test_a_file_with_a_name_in_a_phrase_is_refused(tmp_path):
    path = tmp_path / "mine.json"
    topic = built_in().to_json()
    topic["tracks"][0]["sub_attributes"][0]["topics"][0]["subtopics"][0] = "a wall of 9 guitars"
    path.write_text(json.dumps(topic, indent=1))
    with pytest.raises(
        InputError, match=r"line \d+, tracks\[0\].*subtopics\[0\]: 'a wall of 9 guitars' of the topic 'shelves'"
    ):
        load_ontology(path)


def test_a_file_that_is_none_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load_ontology(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match="no JSON text"):
        load_ontology(tmp_path / "bad.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="no JSON text"):
        load_ontology(tmp_path / "deep.json")


def small() -> Ontology:
    track = built_in().tracks[0]
    group = replace(track.sub_attributes[0], topics=track.sub_attributes[0].topics[:2])
    return Ontology((replace(track, sub_attributes=(group,)),))


WORDS = (
    *("amber", "birch", "cedar", "dusk", "ember", "flint", "grove", "haze", "inlet"),
    *("jetty", "knoll", "ledge", "moss", "nook", "pond", "reed", "slate", "thorn"),
)


def scripted(messages):
    """A model that lists what it is asked for, with a duplicate and a banned phrase each time."""
    text = messages[-1]["content"]
    fresh = [f"{WORDS[n % 18]} {WORDS[(n // 18 + n) % 18]} corners" for n in (next(scripted.counter) for _ in range(6))]
    if '"topics"' in text:
        rows = [{"title": name, "say": f"the {name}", "alt": f"places with {name}"} for name in (*fresh, fresh[0])]
        return json.dumps({"topics": [*rows, {"title": "three owls", "say": "an owl", "alt": "owls"}, {"title": "x"}]})
    return json.dumps({"subtopics": [*fresh, fresh[0], "my owl", 3]})


def test_a_model_grows_an_ontology():
    scripted.counter = count()
    grown = expand(small(), scripted, topics=5, subtopics=12)
    (group,) = grown.ontology.tracks[0].sub_attributes
    assert len(group.topics) == 5
    assert all(len(topic.subtopics) == 12 for topic in group.topics)
    assert all(len({normalised(name) for name in topic.subtopics}) == 12 for topic in group.topics)
    assert grown.rejected["duplicate"] > 0
    assert grown.rejected["lint"] > 0
    assert grown.rejected["no phrase"] > 0
    assert not lint(grown.ontology)
    assert parse_ontology(grown.ontology.to_json(), "grown") == grown.ontology


@pytest.mark.parametrize(
    "reply", ["Sure! Here are some topics.", "[]", '{"topics": "many"}', "I cannot help with that."]
)
def test_a_model_that_returns_no_json_leaves_the_ontology_as_it_was(reply):
    calls = []

    def prose(messages):
        calls.append(messages)
        return reply

    grown = expand(small(), prose, topics=3, subtopics=8, rounds=2)
    assert grown.ontology == small()
    assert grown.rejected == {"bad reply": 2}
    assert len(calls) == 4  # one repair each


def test_a_model_that_repeats_itself_stops():
    reply = json.dumps({"subtopics": ["dairy section"]})
    grown = expand(small(), lambda messages: reply, topics=2, subtopics=9, rounds=3)
    assert [len(topic.subtopics) for topic in grown.ontology.tracks[0].sub_attributes[0].topics] == [8, 9]
    assert grown.rejected["duplicate"] == 3


def test_titles_are_compared_by_their_words():
    same = ["The Supermarket Shelves", "supermarket shelf", "a supermarket shelf's"]
    assert len({normalised(title) for title in same}) == 1
    assert normalised("glass jars") != normalised("grass jars")
