"""The typed grader as a whole: outcomes, spans, modes, subtypes, robustness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.grading.audit import GRADERS, audit_file
from memgauge.grading.subtypes import SUBTYPES, infer_subtype
from memgauge.grading.typed.grade import grade_typed
from memgauge.grading.typed.prepare import prepare

CASES = Path(__file__).parents[1] / "data" / "answers.jsonl"
COUNT = {"subtype": "MSR_Counting", "question": "How many games do I own?", "reference": "3"}
ASKED = {
    "MSR_Counting": ("How many games do I own?", "3"),
    "MSR_Arithmetic": ("What did it cost?", "$235"),
    "MSR_YesNo": ("Is it the same species?", "Yes"),
    "TR_OrderRanking": ("Order: (1) the class (2) the visit (3) the trip.", "(3)(1)(2)"),
    "TR_DurationComparison": ("Which is longer? A. my stay. B. the project.", "A"),
    "TR_DateExtraction": ("When did I finish?", "2024/01/15"),
    "AR": ("Which serial number?", "NOT_MENTIONED"),
    "IE": ("Which word?", "SLOW lane"),
    "KU": ("Which bread?", "focaccia"),
}
PIECES = [
    *"aAbB013 .,;:?!$€%()[]{}<>/\\|*_`~'\"-+=\n½是\u200b",
    *("one ", "no ", "not ", "answer is ", "<think>", "</think>", "or ", "2024/01/15", "mentioned ", "\\boxed{"),
]


def test_every_labelled_case_agrees():
    report = audit_file(CASES)
    for kind in ("memlens_score", "judge_parse", "subtype_infer"):
        counts = report.kinds[kind]
        assert kind in GRADERS
        assert counts.n > 0
        assert counts.agree == counts.n
    debatable = [(k.debatable_agree, k.debatable_n) for k in report.kinds.values()]
    assert sum(a for a, _ in debatable) >= 0.9 * sum(n for _, n in debatable)


def test_the_audit_says_what_decided():
    case = next(
        record["input"]
        for record in map(json.loads, CASES.read_text().splitlines())
        if record["kind"] == "memlens_score" and "So the answer is 3." in record["input"]["prediction"]
    )
    got = GRADERS["memlens_score"](case)
    begin, end = got["span"]
    assert got["rule"] == "explicit answer"
    assert got["committed"] == case["prediction"][begin:end] == "3"


@pytest.mark.parametrize(
    ("raw", "committed"),
    [
        ("<think>4?</think> The answer is **3**.<|im_end|>", "3"),
        ("\\boxed{\\text{3}}", "3"),
        ("so it\u200bems: three", "three"),
        ("<|begin_of_box|>3<|end_of_box|>", "3"),
        ("$3$ games", "3"),
    ],
)
def test_spans_lead_back_to_the_raw_text(raw, committed):
    grade = grade_typed(raw, **COUNT)
    assert grade.correct
    assert grade.committed == committed
    assert raw[slice(*grade.span)] == committed


@pytest.mark.parametrize(
    ("raw", "finish", "outcome", "kind"),
    [
        ("", None, "refused_by_server", "empty"),
        ("   \n", None, "refused_by_server", "empty"),
        ("<think>3</think>", None, "refused_by_server", "empty"),
        ("<|im_end|>", None, "refused_by_server", "empty"),
        ("3", "content_filter", "refused_by_server", "filtered"),
        ("[content filtered]", None, "refused_by_server", "filtered"),
        ("<think>that makes 3", None, "abstained", "format"),
        ("<think>that makes 3", "length", "abstained", "overflow"),
        ("Insufficient information", None, "abstained", "explicit"),
        ("2-4", None, "abstained", "format"),
        ("3", None, "answered", None),
    ],
)
def test_outcomes(raw, finish, outcome, kind):
    grade = grade_typed(raw, finish_reason=finish, **COUNT)
    assert str(grade.outcome) == outcome
    assert (grade.abstain_kind or grade.refused_kind) == kind
    assert (grade.correct is None) is (outcome == "refused_by_server")


def test_what_stands_before_an_unfinished_block_is_kept():
    assert grade_typed("The answer is 3. <think>let me check", **COUNT).correct


def test_strict_and_official_modes_differ_on_length_and_loops():
    loop = "yes " * 60
    yes = {"subtype": "MSR_YesNo", "question": "Is it the same species?", "reference": "Yes"}
    assert not grade_typed(loop, **yes).correct
    assert grade_typed(loop, mode="official", **yes).correct
    padded = "word other thing " * 160 + " The answer is 3."  # 484 words, of which the last 30 % holds the answer
    assert grade_typed(padded, mode="official", **COUNT).mode == "official"
    long = "something else entirely different here " * 200 + "The answer is 3."  # over 6,000 characters, 1,004 words
    assert grade_typed(long, **COUNT).rule.startswith("more than 500 words")
    assert grade_typed(long, mode="official", **COUNT).correct
    assert grade_typed("yes yes yes", **yes).correct


def test_the_end_of_a_turn_ends_the_answer():
    assert grade_typed("3<|im_end|>\n<|im_start|>user\nand 4?", **COUNT).correct
    assert grade_typed("3\n[User]: and what about 4?", **COUNT).correct
    assert grade_typed("[Assistant]: 3", **COUNT).correct


def test_unknown_subtype_and_mode():
    with pytest.raises(InputError, match="MSR_Counting"):
        grade_typed("3", subtype="MSR_Count", question="How many?", reference="3")
    with pytest.raises(InputError, match="strict"):
        grade_typed("3", mode="lenient", **COUNT)  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    st.sampled_from(sorted(ASKED)),
)
def test_any_text_is_graded_and_its_span_is_inside(raw, subtype):
    question, reference = ASKED[subtype]
    grade = grade_typed(raw, subtype=subtype, question=question, reference=reference)
    assert grade.rule
    if grade.span is not None:
        begin, end = grade.span
        assert 0 <= begin <= end <= len(raw)
        assert grade.committed == raw[begin:end]


@pytest.mark.parametrize(
    "piece", ["<think>", "(", "1", "1, ", "a ", "no ", "\\boxed{", "<", "\n", "是", "not mentioned "]
)
def test_huge_outputs_are_refused_without_reading_them_word_by_word(piece):
    raw = piece * (2_000_000 // len(piece))
    for subtype in ("MSR_Counting", "AR"):
        question, reference = ASKED[subtype]
        grade = grade_typed(raw, subtype=subtype, question=question, reference=reference)
        assert not grade.correct


def test_prepare_keeps_positions_through_every_edit():
    raw = "**The** _answer_ is <b>3</b> ~~4~~ \\(5\\)"
    prepared = prepare(raw)
    for word in ("The", "answer", "3", "5"):
        at = prepared.text.index(word)
        assert raw[slice(*prepared.raw_span(at, at + len(word)))] == word
    assert "4" not in prepared.text


@pytest.mark.parametrize(
    ("kind", "question", "reference", "named", "expected"),
    [
        ("multi_session_reasoning", "How many lamps do I own?", "4", "", "MSR_Counting"),
        ("multi_session_reasoning", "How many lamps do I own?", "four", "", "MSR_Counting"),
        ("multi_session_reasoning", "What is the total price of both lamps?", "235", "", "MSR_Arithmetic"),
        ("multi_session_reasoning", "How much did I spend?", "$235.00", "", "MSR_Arithmetic"),
        ("multi_session_reasoning", "How many minutes did I run in total?", "95", "", "MSR_Arithmetic"),
        ("multi_session_reasoning", "What is the average score?", "7", "", "MSR_Arithmetic"),
        ("multi_session_reasoning", "What fraction is left?", "1/4", "", "MSR_Arithmetic"),
        ("multi_session_reasoning", "Are both birds parrots?", "no", "", "MSR_YesNo"),
        ("multi_session_reasoning", "How many distinct birds?", "2", "entity_resolution", "MSR_Counting"),
        ("multi_session_reasoning", "Is it the same bird?", "Yes", "entity_resolution", "MSR_YesNo"),
        ("multi_session_reasoning", "How many eggs?", "6", "arithmetic", "MSR_Arithmetic"),
        ("temporal_reasoning", "Which lasted longer? A. x. B. y.", "B", "", "TR_DurationComparison"),
        ("temporal_reasoning", "Put these in order: (1) a (2) b (3) c", "(3)(1)(2)", "", "TR_OrderRanking"),
        ("temporal_reasoning", "Order the events A to C.", "C, A, B", "", "TR_OrderRanking"),
        ("temporal_reasoning", "Order the events (1) to (3).", "2, 1, 3", "", "TR_OrderRanking"),
        ("temporal_reasoning", "When did the shorter course begin?", "May 4, 2023", "", "TR_DateExtraction"),
        ("temporal_reasoning", "When was it?", "2023/05/04", "", "TR_DateExtraction"),
        ("temporal_reasoning", "Any?", "2023/05/04", "temporal_info_extraction", "TR_DateExtraction"),
        ("knowledge_update", "Which came first, A or B?", "A", "", "KU"),
        ("information_extraction", "Is it red?", "Yes", "", "IE"),
        ("answer_refusal", "How many?", "NOT_MENTIONED", "", "AR"),
        ("temporal-reasoning", "When?", "2023/05/04", "", "TR_DateExtraction"),
        ("single-session-user", "What?", "a cat", "", "IE"),
    ],
)
def test_subtypes(kind, question, reference, named, expected):
    assert infer_subtype(kind, question, reference, named) == expected
    assert expected in SUBTYPES


def test_an_unknown_type_is_named():
    with pytest.raises(InputError, match="temporal_reasoning"):
        infer_subtype("temporal_reasonin", "When?", "2023/05/04")
