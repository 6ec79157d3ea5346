from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.histories.building.abstraction import abstract, built_in, lint, load_dictionary, parse_dictionary
from memgauge.histories.building.seeds import rng

CATEGORIES = built_in().categories


def test_the_dictionary_has_the_size_of_the_paper():
    assert len(CATEGORIES) == 55
    assert sum(len(category.phrases) for category in CATEGORIES.values()) == 170
    sizes = {}
    for category in CATEGORIES.values():
        sizes.setdefault(category.group, []).append(len(category.phrases))
    assert {group: (len(counts), set(counts)) for group, counts in sizes.items()} == {
        "places": (22, {3}),
        "organisations": (8, {3}),
        "objects": (20, {3}),
        "fallbacks": (5, {4}),
    }
    assert not lint(built_in())


def test_every_phrase_holds_one_picture_and_reads_in_object_position():
    for category in CATEGORIES.values():
        assert len(set(category.phrases)) == len(category.phrases)
        for phrase in category.phrases:
            assert phrase.count("<image>") == 1
            assert re.match(r"(?:the|that|this) \w", phrase)
            assert "<image>" in category.plural(phrase)
            assert category.plural(phrase) != phrase


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("Golden Gate Bridge", "bridge"),
        ("Portland Art Museum", "museum"),
        ("Museum of Modern Art", "museum"),
        ("the Louvre", "museum"),
        ("University of Oslo", "university"),
        ("Mount Fuji", "mountain"),
        ("Monstera Deliciosa", "plant"),
        ("Botanical Gardens", "garden"),
        ("Hawthorne Theatre", "theater"),
        ("Acme Motors", "company"),
        ("Qwxz", "thing"),
        ("", "thing"),
    ],
)
def test_categories_of_names(name, category):
    assert built_in().category_of(name) == category


def test_a_model_is_asked_last_and_believed_only_within_the_categories():
    assert built_in().category_of("Qwxz", lambda name, known: "game") == "game"
    assert built_in().category_of("Qwxz", lambda name, known: "spaceship") == "thing"
    assert built_in().category_of("Qwxz", lambda name, known: None) == "thing"
    assert built_in().category_of("Golden Gate Bridge", lambda name, known: "game") == "bridge"


@pytest.mark.parametrize(
    ("text", "names", "category", "phrase", "expected"),
    [
        (
            "I met Emma at Golden Gate Bridge.", ["Golden Gate Bridge"], "bridge", "the bridge shown in <image>",
            "I met Emma at the bridge shown in <image>.",
        ),
        (
            "The Golden Gate Bridge is long. The Golden Gate Bridge closes at night.", ["Golden Gate Bridge"], "bridge",
            "this structure <image>", "This structure <image> is long. It closes at night.",
        ),
        (
            "Golden Gate Bridge's north tower is lit.", ["Golden Gate Bridge"], "bridge", "the bridge shown in <image>",
            "The north tower of the bridge shown in <image> is lit.",
        ),
        (
            "I like the Louvre. The Louvre's shop sells prints, so I went back to the Louvre.", ["Louvre"], "museum",
            "that museum in the photo <image>",
            "I like that museum in the photo <image>. Its shop sells prints, so I went back there.",
        ),
        (
            "I keep two Monsteras. Monsteras need light.", ["Monstera"], "plant", "this specimen <image>",
            "I keep two of these specimens <image>. They need light.",
        ),
        (
            "My Monstera Deliciosa grows; Monstera likes shade.", ["Monstera", "Monstera Deliciosa"], "plant",
            "the plant shown in <image>", "The plant shown in <image> grows; it likes shade.",
        ),
        (
            "We rode Vespas. The Vespas’ owner waved.", ["Vespa"], "vehicle", "the vehicle shown in <image>",
            "We rode the vehicles shown in <image>. Their owner waved.",
        ),
    ],
)  # fmt: skip
def test_names_are_replaced(text, names, category, phrase, expected):
    assert abstract(text, names, CATEGORIES[category], phrase) == expected


def test_parts_of_other_words_are_no_mentions():
    with pytest.raises(ValueError, match="does not mention"):
        abstract("A vesper bell rang in Vespasian's time.", ["Vesp"], CATEGORIES["vehicle"], "this machine <image>")
    with pytest.raises(ValueError, match="already holds a picture"):
        abstract("My Vespa <image>.", ["Vespa"], CATEGORIES["vehicle"], "this machine <image>")


SENTENCES = st.lists(
    st.sampled_from(
        ["We saw {n}.", "{n}'s walls glow.", "I went to the {n}.", "Is {n} open?", "Two {n}s, no less!", "Rain again."]
    ),
    min_size=1,
    max_size=6,
)


@given(sentences=SENTENCES, category=st.sampled_from(sorted(CATEGORIES)), pick=st.integers(0, 3))
def test_no_name_remains_and_one_picture_stands(sentences, category, pick):
    text = " ".join(sentences).format(n="Zorvex")
    phrases = CATEGORIES[category].phrases
    if "Zorvex" not in text:
        return
    said = abstract(text, ["Zorvex"], CATEGORIES[category], phrases[pick % len(phrases)])
    assert "zorvex" not in said.lower()
    assert said.count("<image>") == 1
    assert said.count(".") + said.count("!") + said.count("?") == len(sentences)
    assert not re.search(r"  |(?:^|[.!?] )[a-z]", said)


def test_a_phrase_is_drawn_from_its_category():
    assert {built_in().phrase("thing", rng(1, n)) for n in range(60)} == set(CATEGORIES["thing"].phrases)


def content():
    return json.loads((files("memgauge.histories.building") / "data" / "abstraction.json").read_text("utf-8"))


def with_phrase(phrase):
    def change(c):
        c["categories"][0]["phrases"][0] = phrase

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: c.pop("words"), "mine: the field 'words' is missing"),
        (lambda c: c["categories"][3].pop("phrases"), r"mine: categories\[3\]: the field 'phrases' is missing"),
        (lambda c: c["categories"][0].update(group="things"), r"categories\[0\]\.group: expected"),
        (
            lambda c: c["categories"][0].update(phrases=["the museum shown in <image>"]),
            "museum has 1 different phrases, 3",
        ),
        (lambda c: c["categories"].append(c["categories"][0]), "'museum' occurs more than once"),
        (lambda c: c.update(categories=c["categories"][:5]), "the fallback 'thing' is missing"),
        (lambda c: c["names"].update(castles=["x"]), "'castles' is no category"),
        (lambda c: c["words"].update(castle="fort"), r"words\.castle: expected a list"),
        (with_phrase("the Louvre museum <image>"), "holds a name or a digit"),
        (with_phrase("the old museum <image>"), "says more than the category"),
        (with_phrase("museum <image>"), "must begin with"),
        (with_phrase("the museum"), "exactly once"),
        (with_phrase("the bakery <image>"), "names no head noun"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(change, problem):
    mine = content()
    change(mine)
    with pytest.raises(InputError, match=problem):
        parse_dictionary(mine, "mine")


def test_a_file_reads_back_and_a_bad_one_is_named(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content()))
    assert load_dictionary(path) == built_in()
    with pytest.raises(InputError, match="cannot be read"):
        load_dictionary(tmp_path / "none.json")
    path.write_text("prose")
    with pytest.raises(InputError, match="no JSON text"):
        load_dictionary(path)
    path.write_text("[]")
    with pytest.raises(InputError, match="expected an object"):
        load_dictionary(path)
