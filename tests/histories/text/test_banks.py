"""The banks: sizes, lint, and what the lint finds."""

from __future__ import annotations

import pytest

from memgauge.histories.building.ontology import built_in
from memgauge.histories.building.text.banks import MINIMUM, banks, read_lines, variants
from memgauge.histories.building.text.lint import problems
from memgauge.histories.building.text.validators.wording import disambiguation

FILES = (*MINIMUM, "advice", "returns", "markers", "pronouns")


@pytest.mark.parametrize("name", MINIMUM)
def test_banks_have_their_minimum_size_and_no_line_twice(name):
    lines = [line.lstrip("> ") for line in read_lines(name)]
    assert len(lines) >= MINIMUM[name]
    assert len(set(lines)) == len(lines)


def test_every_sub_attribute_has_its_own_advice():
    advice = banks().advice
    assert {leaf.sub_attribute for leaf in built_in().leaves()} == set(advice) == set(banks().domains)
    assert len(advice) == 19
    assert all(len(lines) >= 36 for lines in advice.values())
    own = [line for lines in advice.values() for line in lines]
    assert len(set(own) | set(banks().general)) == len(own) + len(banks().general)


@pytest.mark.parametrize("name", FILES)
def test_no_sentence_says_what_only_a_picture_or_an_answer_may_say(name):
    for line in read_lines(name):
        if line.startswith("## "):
            assert problems(line.split(": ")[1]) == []
            continue
        for text in variants(line.lstrip("> ")):
            bare = text.replace("{t}", "").replace("{a}", "").replace("{u}", "").replace("{s}", "")
            assert problems(bare) == [], text
            assert disambiguation(bare, []) is None, text


@pytest.mark.parametrize("name", ["general", "advice", "questions", "acknowledgements", "picture_acknowledgements"])
def test_lines_of_the_assistant_are_whole_sentences(name):
    for line in read_lines(name):
        if not line.startswith("## "):
            for text in variants(line):
                assert text[0].isupper(), text
                assert text[-1] in (".?" if name != "questions" else "?"), text
                assert "  " not in text


@pytest.mark.parametrize(
    "text",
    [
        "Put it next to the teapots.",
        "The tea\u00adpot is there.",
        "Buy a hot-dog there.",
        "A r\u0435d door helps.",
        "Wait until Tuesday.",
        "Do it on Mondays.",
        "Yes, of course.",
        "Try both ways.",
        "Take the second one.",
        "Wait for 3 days.",
        "This happened last August.",
        "It resembles the photo above.",
        "It is different from before.",
        "Choose option B today.",
        "A dozen is enough.",
    ],
)
def test_lint_finds(text):
    assert problems(text)


@pytest.mark.parametrize("text", ["A plan helps.", "Sort it by need.", "People can come late."])
def test_lint_passes(text):
    assert problems(text) == []


@pytest.mark.parametrize(
    "line", ["A {x} slot.", "A {u} without its article.", "A [stray bracket.", "An [in[ner]] choice."]
)
def test_a_broken_line_is_named(line):
    with pytest.raises(ValueError, match="bank line"):
        variants(line)
