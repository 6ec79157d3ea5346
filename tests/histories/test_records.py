"""Records: what is read, what is mended, what is refused and how it is named."""

from __future__ import annotations

import copy

import pytest
from history_files import record, records, told, turn
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.histories.records import RecordError, parse_date, parse_record, placed


def base():
    return copy.deepcopy(records()[0])


def test_a_record_is_read_whole():
    found = parse_record(base(), "here", {"builder": "ie_disambiguation", "visual_need": "essential"})
    assert (found.question_id, found.subtype, found.ability) == ("q_ie1", "IE", "IE")
    assert (found.kind, found.visual_need, found.evidence, found.images) == ("ie_disambiguation", "essential", (2,), 1)
    assert found.sessions[2].turns[0].images[0].file == "a/red.png"
    assert found.sessions[2].turns[0].has_answer
    assert found.notes == ()


@pytest.mark.parametrize(
    ("said", "role"),
    [("user", "user"), ("User", "user"), ("human", "user"), ("AI Assistant", "assistant"), ("ASSISTANT", "assistant"),
     ("gpt", "assistant"), ("bot", "assistant")],
)  # fmt: skip
def test_roles_in_other_spellings(said, role):
    raw = base()
    raw["haystack_sessions"][0][0]["role"] = said
    assert parse_record(raw, "here").sessions[0].turns[0].role == role


def test_sessions_with_their_own_dates_and_absent_fields():
    raw = base()
    dates = raw.pop("haystack_dates")
    raw["haystack_sessions"] = [{"date": d, "session": s} for d, s in zip(dates, raw["haystack_sessions"], strict=True)]
    for name in ("haystack_session_ids", "answer_session_ids"):
        del raw[name]
    for session in raw["haystack_sessions"]:
        for one in session["session"]:
            if not one["images"]:
                del one["images"]
            for image in one.get("images", ()):
                del image["image_url"], image["blip_caption"]
    found = parse_record(raw, "here")
    assert [s.date for s in found.sessions] == dates
    assert found.evidence == (2,)  # by the marked turn
    del raw["haystack_sessions"][2]["session"][0]["has_answer"]
    assert parse_record(raw, "here").evidence == ()


def test_evidence_is_named_by_ids_where_no_turn_is_marked():
    raw = base()
    raw["haystack_sessions"][2][0]["has_answer"] = False
    assert parse_record(raw, "here").evidence == (2,)


def test_long_mem_eval_names():
    raw = record("gpt4_1_abs", "single-session-user", "What is my dog called?", "You did not say.", {1: told("x")})
    assert parse_record(raw, "here").subtype == "AR"
    raw = record("gpt4_2", "knowledge-update", "How many?", 3, {1: told("x")})
    found = parse_record(raw, "here")
    assert (found.subtype, found.answer) == ("KU", "3")


@given(st.lists(st.text("ab \n<>", max_size=6), min_size=1, max_size=6), st.integers(0, 6))
@settings(max_examples=200, deadline=None)
def test_markers_are_as_many_as_pictures(parts, pictures):
    parts = [part.replace("<", "") for part in parts]
    content = "<image>".join(parts)
    found = placed(content, pictures)
    assert found.count("<image>") == pictures
    there = len(parts) - 1
    kept = min(there, pictures)
    # Markers keep their places: the text before each of them is as it was.
    assert found.split("<image>")[:kept] == parts[:kept]
    assert found.replace("<image>", "").rstrip("\n") == "".join(parts).rstrip("\n")


FAULTS = {
    "missing_field": [
        lambda r: r.pop("question_id"),
        lambda r: r.pop("answer"),
        lambda r: r.pop("question"),
        lambda r: r.pop("haystack_sessions"),
        lambda r: r.pop("haystack_dates"),
        lambda r: r["haystack_sessions"][0][0].pop("content"),
        lambda r: r["haystack_sessions"][0][0].pop("role"),
    ],
    "wrong_field": [
        lambda r: r.update(question_id="a\nb"),
        lambda r: r.update(question_id="\u202eevil"),
        lambda r: r.update(question=["x"]),
        lambda r: r.update(answer=True),
        lambda r: r.update(answer=" "),
        lambda r: r.update(haystack_sessions={"a": 1}),
        lambda r: r.update(haystack_sessions="[1, "),
        lambda r: r["haystack_sessions"].__setitem__(0, [3]),
        lambda r: r["haystack_sessions"][0][0].update(role="referee"),
        lambda r: r["haystack_sessions"][0][0].update(content=4),
        lambda r: r["haystack_sessions"][0][0].update(images=[{"image_url": "x"}]),
        lambda r: r["haystack_sessions"][0][0].update(has_answer="yes"),
        lambda r: r.update(answer_session_ids="s1"),
    ],
    "unequal_lists": [
        lambda r: r["haystack_dates"].pop(),
        lambda r: r["haystack_session_ids"].pop(),
    ],
    "unknown_type": [lambda r: r.update(question_type="riddle")],
}


@pytest.mark.parametrize(
    ("kind", "harm"), [(kind, harm) for kind, harms in FAULTS.items() for harm in harms], ids=lambda x: str(x)[:20]
)
def test_faults_are_named(kind, harm):
    raw = base()
    harm(raw)
    with pytest.raises(RecordError) as caught:
        parse_record(raw, "file.json, record 7")
    assert caught.value.kind == kind
    assert "record 7" in str(caught.value)
    if isinstance(raw.get("question_id"), str) and kind != "wrong_field":
        assert raw["question_id"] in str(caught.value)


@pytest.mark.parametrize("raw", [None, 3, "x", [], [base()]])
def test_what_is_no_object(raw):
    with pytest.raises(RecordError) as caught:
        parse_record(raw, "here")
    assert caught.value.kind == "not_an_object"


def test_control_characters_go_and_right_to_left_text_stays():
    raw = base()
    hebrew = "שלום, יש לי אופניים"
    raw["haystack_sessions"][0][0]["content"] = f"a\x00b\x1b[31m {hebrew}"
    raw["haystack_sessions"][1][0]["content"] = "x\u202ey\ud800"
    found = parse_record(raw, "here")
    assert found.sessions[0].turns[0].content == f"ab[31m {hebrew}"
    assert found.sessions[1].turns[0].content == "x\u202ey\ufffd"
    assert [kind for kind, _ in found.notes] == ["control_characters", "direction_marks"]
    assert all("q_ie1" in said for _, said in found.notes)


@pytest.mark.parametrize(
    "text",
    [
        "2024/05/31 (Fri) 07:58",
        "2024-05-31T07:58:00Z",
        "2024-05-31 07:58:11.5",
        "2024.5.31 07:58",
        "2024/05/31 Friday 07:58",
    ],
)
def test_dates_in_other_forms(text):
    found = parse_date(text)
    assert found is not None
    assert (found.year, found.month, found.day, found.hour, found.minute) == (2024, 5, 31, 7, 58)


@pytest.mark.parametrize("text", ["", "May 31", "31/05/2024", "2024/13/01", "2024/02/30 10:00", "2024/05/31 25:00"])
def test_dates_that_are_none(text):
    assert parse_date(text) is None


def test_a_turn_without_text_but_with_pictures():
    raw = base()
    raw["haystack_sessions"][0] = [turn("user", "", "a/red.png", "a/red.png")]
    assert parse_record(raw, "here").sessions[0].turns[0].content == "\n<image>\n<image>"
