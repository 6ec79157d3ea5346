"""Adapters for files of real conversations, and the filters on what they bring."""

from __future__ import annotations

import gzip
import json

import pytest

from memgauge.errors import InputError
from memgauge.histories.building.model import Turn
from memgauge.histories.building.text.fillers import FillerFilter, read_fillers

LONG = "It helps to plan ahead and to keep notes about what works for you and for other people. " * 8


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def roles(filler):
    return [turn.role for turn in filler.turns]


def test_ultrachat_in_both_forms(tmp_path):
    path = lines(
        tmp_path / "u.jsonl",
        {"id": "0", "data": ["How do I plan?", LONG, "And then?", LONG]},
        {"prompt": "x", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": LONG}]},
    )
    one, two = read_fillers(path, "ultrachat")
    assert (one.source, roles(one)) == ("u.jsonl:1", ["user", "assistant"] * 2)
    assert two.turns[1].content == LONG


def test_sharegpt_as_lines_array_and_gzip(tmp_path):
    record = {
        "id": "a",
        "conversations": [
            {"from": "system", "value": "Be nice."},
            {"from": "gpt", "value": "Hello."},
            {"from": "human", "value": "Hi"},
            {"from": "human", "value": "there"},
            {"from": "gpt", "value": LONG},
            {"from": "human", "value": "no reply"},
        ],
    }
    plain = lines(tmp_path / "s.jsonl", record)
    array = tmp_path / "s.json"
    array.write_text(json.dumps([record, record]))
    packed = tmp_path / "s.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    (first,) = read_fillers(plain, "sharegpt")
    assert roles(first) == ["user", "assistant"]
    assert first.turns[0].content == "Hi\n\nthere"
    assert [filler.turns for filler in read_fillers(array, "sharegpt")] == [first.turns] * 2
    assert [filler.turns for filler in read_fillers(packed, "sharegpt")] == [first.turns]


def test_oasst_follows_the_best_reply(tmp_path):
    def message(role, text, *replies, rank=None, lang="en"):
        return {"role": role, "text": text, "lang": lang, "rank": rank, "replies": list(replies)}

    tree = message(
        "prompter",
        "How?",
        message("assistant", "worse", rank=1),
        message("assistant", "best", message("prompter", "And?", message("assistant", "end", rank=0)), rank=0),
        message("assistant", "unranked"),
    )
    foreign = message("prompter", "Wie?", message("assistant", "So.", lang="de"), lang="de")
    path = lines(tmp_path / "o.jsonl", {"prompt": tree}, {"prompt": foreign})
    one, two = read_fillers(path, "oasst")
    assert [turn.content for turn in one.turns] == ["How?", "best", "And?", "end"]
    assert two.turns == ()


@pytest.mark.parametrize(
    ("content", "form", "words"),
    [
        ('{"data": ["a", "b"]}\n{"data": ["a",\n', "ultrachat", r"line 2: no JSON"),
        ('{"data": "text"}\n', "ultrachat", r"line 1: no conversation.*expected a list"),
        ('{"other": 1}\n', "sharegpt", r"line 1: .*no field 'conversations'"),
        ("[1]\n", "oasst", r"line 1: expected a JSON object, got list"),
        ('{"conversations": [{"from": "robot", "value": "x"}]}\n', "sharegpt", r"line 1: unknown role 'robot'"),
        ('{"conversations": [{"from": "human", "value": 3}]}\n', "sharegpt", r"line 1: role and text"),
        ('{"prompt": {"text": "x"}}\n', "oasst", r"line 1: .*no field 'role'"),
    ],
)
def test_errors_name_file_and_line(content, form, words, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=words) as error:
        list(read_fillers(path, form))
    assert "bad.jsonl" in str(error.value)


def test_other_bad_files(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_fillers(tmp_path / "none.jsonl", "oasst"))
    with pytest.raises(InputError, match="did you mean 'sharegpt'"):
        list(read_fillers(tmp_path / "none.jsonl", "sharegtp"))
    broken = tmp_path / "x.jsonl.gz"
    broken.write_bytes(gzip.compress(b'{"data": []}\n' * 2000)[:40])
    with pytest.raises(InputError, match="cannot be read"):
        list(read_fillers(broken, "ultrachat"))
    array = tmp_path / "x.json"
    array.write_text('[{"data": ["a", "b"]}, {"data": ')
    with pytest.raises(InputError, match="after item 1: no JSON array"):
        list(read_fillers(array, "ultrachat"))
    array.write_text('{"data": []}')
    with pytest.raises(InputError, match="no JSON array of conversations"):
        list(read_fillers(array, "ultrachat"))


def talk(answer=LONG, question="How do I plan a quiet week?", times=2):
    return [Turn("assistant" if i % 2 else "user", answer if i % 2 else question) for i in range(2 * times)]


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        (talk(), None),
        (talk(times=11), "turns"),
        (talk()[1:] + talk()[:1], "roles"),
        (talk(question=" "), "empty_turn"),
        (talk("Short answer."), "tokens"),
        (talk(LONG * 9), "tokens"),
        (talk(LONG + "Это русский текст, и его здесь очень много, больше чем надо. " * 4), "not_english"),
        (talk(LONG + "See the attached photos."), "image_words"),
        (talk(LONG + "It was on 3 May."), "date"),
        (talk(LONG + "It was on 2023-05-12."), "date"),
        (talk(LONG + "What the fuck."), "toxic"),
        (talk(LONG + "Lea Koch's friends came."), "protected"),
        (talk(LONG + "I like lantern walks."), "protected"),
    ],
)
def test_filter(turns, reason):
    screen = FillerFilter(names=["Lea Koch"], protected=["lantern walk"])
    assert screen.reason(turns) == reason
    assert screen.accepts(turns) is (reason is None)
    assert screen.reasons == {reason or "accepted": 1}
