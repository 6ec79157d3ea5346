from __future__ import annotations

import re

import pytest

from memgauge.errors import InputError
from memgauge.grading.ecc import parse_ecc
from memgauge.prompts import ecc_prompt, prompt_source, text_request

# The listings of ECCBench, B.1 and B.8, as printed.
VIDEO = '''"In the main video and option video, letters moved down three
 conveyer belts."
"A letter that appeared in any of the videos on a specific
 conveyer belt ALWAYS stayed on the same conveyer belt and
 only moved down, not left or right."
"The letters appeared sequentially. Only one was on the screen
 at a time."
"The letters continued moving down the conveyer belt until
 they left the screen."
"Examine the main video and the option video closely."
"Did this option video show events that exactly appeared
 SOMEWHERE in the main video, down to the order they appeared
 and which conveyer belt each letter was on?"
"Write {0} if yes, {1} if no, or {2} if unsure.
 Please put your answer in curly braces, e.g, {2}."'''
TEXT = '''"You are given a main sequence of tokens and a candidate
 sequence."
"Your task: Determine if the candidate sequence appears as a
 contiguous subsequence within the main sequence, in the exact
 same order."
"The candidate must appear with all its tokens consecutive and
 in order - no gaps, no extra tokens in between."
"Answer {0} if the candidate appears as a contiguous
 subsequence, {1} if it does not, or {2} if you are unsure.
 Please put your answer in curly braces, e.g, {2}."'''
NATURAL = """Watch this video closely, paying attention to the entire video.
{question}

Write {0} if yes, {1} if no or {uncertain} if you are unsure.
Please put your answer in curly braces, e.g, {0}."""
ARMS = {
    "A": """Scoring: a correct answer earns +3 points, a wrong answer
costs -1 point, and {X} earns 0 points. Answer only if you
are more than 25% confident; otherwise answer {X}.""",
    "B": """Scoring: a correct answer earns +1 point, a wrong answer
costs -4 points, and {X} earns 0 points. Answer only if you
are more than 80% confident; otherwise answer {X}.""",
}


def sentences(listing: str) -> list[str]:
    return [" ".join(quoted.split()) for quoted in re.findall(r'"([^"]*)"', listing)]


@pytest.mark.parametrize(("kind", "listing"), [("video", VIDEO), ("text", TEXT)])
def test_quoted_sentences_are_one_line_each(kind, listing):
    assert ecc_prompt(kind).split("\n") == sentences(listing)


def test_natural_prompt_keeps_its_lines_and_the_question_as_written():
    question = "Did the person {wash} a plate {0}?"
    assert ecc_prompt("natural", question=question) == NATURAL.replace("{question}", question)


@pytest.mark.parametrize("arm", ["A", "B"])
@pytest.mark.parametrize(("kind", "abstain"), [("video", "{2}"), ("text", "{2}"), ("natural", "{uncertain}")])
def test_an_arm_appends_one_sentence_and_changes_nothing_else(kind, abstain, arm):
    question = "Did a red card appear in this video?" if kind == "natural" else None
    base = ecc_prompt(kind, question=question)
    sentence = " ".join(ARMS[arm].split()).replace("{X}", abstain)
    assert ecc_prompt(kind, arm, question=question) == f"{base}\n{sentence}"
    assert "{X}" not in ecc_prompt(kind, arm, question=question)


def test_text_request():
    request = text_request("8, 1, 4, 6", "1, 4, 6", "B")
    prompt, _, rest = request.rpartition("\n\n")
    assert prompt == ecc_prompt("text", "B")
    assert rest == "Main sequence: 8, 1, 4, 6\nCandidate sequence: 1, 4, 6"
    # Two questions about one stream share everything before the candidate.
    other = text_request("8, 1, 4, 6", "6, 6, 6", "B")
    assert request.rpartition(":")[0] == other.rpartition(":")[0]


def test_the_options_are_those_that_the_grader_reads():
    for kind, template, option in (("video", "synthetic", "{2}"), ("natural", "natural", "{uncertain}")):
        prompt = ecc_prompt(kind, question="q?" if kind == "natural" else None)
        assert all(mark in prompt for mark in ("{0}", "{1}", option))
        assert parse_ecc("{0}", template).answer == "yes"
        assert parse_ecc("{1}", template).answer == "no"
        assert parse_ecc(option, template).answer == "abstain"


def test_source_is_named():
    assert "B.1" in prompt_source()
    assert "B.8" in prompt_source()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vidoe",), "did you mean 'video'"),
        (("text", "C"), "unknown arm 'C'"),
        (("natural",), "takes a question"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        ecc_prompt(*arguments)


def test_only_natural_video_takes_a_question():
    with pytest.raises(InputError, match="takes no question"):
        ecc_prompt("video", question="Did it?")
