"""Reading: every form of file, faults named and counted, gold kept from systems, memory bounded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from history_files import META, record, records, told, write_dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.histories import json_array
from memgauge.histories.blind import blind_id, read_blind
from memgauge.histories.reading import Faults, open_histories, tokens_of
from memgauge.histories.subsets import outline


def read(path, **options):
    histories = open_histories(path, **options)
    faults = Faults()
    return list(histories.records(histories.splits[0], faults)), faults


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_every_form_gives_the_same_records(tmp_path, form):
    expected, _ = read(write_dataset(tmp_path / "a", form="jsonl"))
    found, faults = read(write_dataset(tmp_path / "b", form=form))
    assert found == expected
    assert len(found) == 8
    assert faults.counts == {}


def test_wrapped_lists_byte_order_marks_and_json_columns(tmp_path):
    expected, _ = read(write_dataset(tmp_path / "a", meta=False))
    for name, text in {
        "wrapped": json.dumps({"version": 1, "data": records()}),
        "marked": "\ufeff" + json.dumps(records(), indent=1),
    }.items():
        path = tmp_path / f"{name}.json"
        path.write_text(text)
        assert read(path, length="32k")[0] == expected
    import polars as pl

    texts = [{**r, "haystack_sessions": json.dumps(r["haystack_sessions"])} for r in records()]
    pl.DataFrame(texts, infer_schema_length=None).write_parquet(tmp_path / "dataset_32k.parquet")
    assert read(tmp_path / "dataset_32k.parquet")[0] == expected


def test_splits_are_found_by_name(tmp_path):
    folder = write_dataset(tmp_path / "H", lengths=("64k", "256k"))
    (folder / "memory_32k.jsonl").write_text((folder / "dataset_64k.jsonl").read_text())
    (folder / "dataset_64k.json").write_text("[]")  # the lines are preferred
    (folder / "notes.json").write_text("{}")
    splits = open_histories(folder).splits
    assert [(s.name, s.length, s.path.suffix) for s in splits] == [
        ("32k", 32768, ".jsonl"), ("64k", 65536, ".jsonl"), ("256k", 262144, ".jsonl"),
    ]  # fmt: skip
    assert open_histories(folder).split("65536").name == "64k"
    with pytest.raises(InputError, match="it has 32k, 64k, 256k"):
        open_histories(folder).split("128k")


def test_lengths_of_files_without_one(tmp_path):
    path = tmp_path / "longmemeval_oracle.json"
    path.write_text(json.dumps(records()))
    assert open_histories(path).splits[0].length == 1024  # measured
    assert open_histories(path, length="128k").splits[0].length == 131072
    assert open_histories(tmp_path).splits[0].name == "oracle"
    for text in ("", "0k", "x", "32kk", "-1"):
        with pytest.raises(InputError):
            tokens_of(text)


def test_release_images_and_the_sidecar(tmp_path):
    folder = write_dataset(tmp_path / "H", images="release_images")
    histories = open_histories(folder)
    assert histories.pictures.folder == folder / "release_images"
    assert histories.sidecar["q_ku"]["old_answer"] == "assam"
    found, _ = read(folder)
    kinds = {r.question_id: r.kind for r in found}
    assert kinds["q_msr"] == META["q_msr"]["builder"]
    assert kinds["q_ar"] == "answer_refusal"
    (folder / "meta.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"meta.jsonl, line 1"):
        open_histories(folder)


def test_faulty_records_are_counted_and_the_rest_goes_on(tmp_path):
    good = records()
    bad = [
        {**good[0], "question_id": "q_bad1", "haystack_dates": []},
        {**good[0], "question_id": "q_bad2", "question_type": "riddle"},
        good[0],
        "no record",
        {**good[1], "question_id": None},
    ]
    folder = write_dataset(tmp_path / "H", [*good[:4], *bad, *good[4:]])
    found, faults = read(folder)
    assert [r.question_id for r in found] == [r["question_id"] for r in good]
    assert faults.counts == {
        "unequal_lists": 1, "unknown_type": 1, "duplicate_id": 1, "not_an_object": 1, "missing_field": 1,
    }  # fmt: skip
    assert faults.left_out == 5
    said = "\n".join(faults.lines())
    for name in ("q_bad1", "q_bad2", "q_ie1", "record 8", "record 9"):
        assert name in said
    histories = open_histories(folder)
    with pytest.raises(InputError, match=r"record 5 \(q_bad1\).*--strict"):
        list(histories.records(histories.splits[0], Faults(strict=True)))


def test_a_line_that_is_no_json_is_one_fault(tmp_path):
    folder = write_dataset(tmp_path / "H")
    path = folder / "dataset_32k.jsonl"
    path.write_text(path.read_text() + '{"question_id": "torn", "ques')
    found, faults = read(folder)
    assert (len(found), faults.counts) == (8, {"not_an_object": 1})
    assert "line 9" in faults.lines()[0]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.json", b"", "neither"),
        ("a.json", b"<html>", "neither"),
        ("a.json", b"[", "not JSON after record 0"),
        ("a.json", b"[]", "no records"),
        ("a.json", b'{"rows": []}', "no records"),
        ("a.json", b"[{}, {]", "not JSON after record 2"),
        ("a.parquet", b"PAR1 nothing", "Parquet"),
    ],
)
def test_files_that_are_none(tmp_path, name, data, said):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        read(path, length="32k")
    with pytest.raises(InputError):
        open_histories(tmp_path / "missing")
    with pytest.raises(InputError, match="holds no dataset"):
        open_histories(tmp_path)


def test_a_table_of_something_else(tmp_path):
    import polars as pl

    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "dataset_32k.parquet")
    with pytest.raises(InputError, match="question_id"):
        read(tmp_path)


def test_systems_see_no_gold(tmp_path):
    secret = record(
        "gpt_9_abs",
        "single-session-user",
        "What is my boat called?",
        "zanzibar-gold",
        {1: told("No boat", "needle/x.png")},
    )
    secret["haystack_session_ids"][1] = secret["answer_session_ids"][0] = "answer_7_1"
    folder = write_dataset(tmp_path / "H", [secret, *records()])
    (folder / "images" / "needle").mkdir()
    (folder / "images" / "needle" / "x.png").write_bytes((folder / "images" / "a" / "red.png").read_bytes())
    shown = list(read_blind(folder))
    assert len(shown) == 9
    assert shown[0].id == blind_id("gpt_9_abs")
    # Everything that can be reached from what is handed over, apart from the function that opens a picture.
    reachable = repr([(h.id, [(o.date, o.text, [[(p.name, p.caption, p.size) for p in t.pictures] for t in o.turns])
                              for o in h.sessions], h.question) for h in shown])  # fmt: skip
    for gold in ("zanzibar-gold", "_abs", "answer_7", "needle/", "NOT_MENTIONED", "has_answer", "answer_refusal"):
        assert gold not in reachable
    assert not hasattr(shown[0].sessions[1].turns[0], "has_answer")
    assert shown[0].sessions[1].turns[0].pictures[0].open().startswith(b"\x89PNG")


MEASURE = """
import json, resource, sys, time
from pathlib import Path
from memgauge.histories.reading import Faults, open_histories
histories = open_histories(Path(sys.argv[1]))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
base, number = None, 0
for record in histories.records(histories.splits[0], Faults(strict=True)):
    number += 1
    base = base or peak()
print(json.dumps([number, base, peak()]))
"""


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, form):
    """All of a file of 28 MB is read, and at most 40 MiB more are held than after the first record."""
    words = " ".join(f"w{i * 7919 % 5003}" for i in range(20_000))
    made = []
    for i in range(250):
        one = record(f"q_{i}", "information_extraction", "What?", "x", {1: told(words[i:] + words[:i])}, sessions=3)
        made.append(one)
    folder = write_dataset(tmp_path / "H", made, form=form, meta=False)
    size = (folder / f"dataset_32k.{form}").stat().st_size
    done = subprocess.run([sys.executable, "-c", MEASURE, str(folder)], capture_output=True, text=True, check=True)
    number, base, peak = json.loads(done.stdout)
    assert number == 250
    assert size > 25e6 or form == "parquet"
    assert peak - base < 40 * 1024  # KiB


def test_numbers_as_ids_are_chosen_like_others(tmp_path):
    path = tmp_path / "dataset_32k.jsonl"
    path.write_text("".join(json.dumps({**records()[i], "question_id": i}) + "\n" for i in (1, 2)))
    meta = [json.dumps({"question_id": name, "builder": f"kind_{name}"}) + "\n" for name in "12"]
    (tmp_path / "meta.jsonl").write_text("".join(meta))
    histories = open_histories(tmp_path)
    [kept] = histories.records(histories.splits[0], keep={"2"})
    assert (kept.question_id, kept.kind) == ("2", "kind_2")
    assert [(entry.question_id, entry.kind) for entry in outline(histories, histories.splits[0])] == [
        ("1", "kind_1"),
        ("2", "kind_2"),
    ]


@pytest.mark.parametrize(("opener", "closer"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_costs_one_record(tmp_path, opener, closer):
    path = tmp_path / "memory_32k.json"
    path.write_text("[" + opener * 200_000)
    with pytest.raises(InputError, match="breaks off"):
        read(path)
    deep = opener * 20_000 + "1" + closer * 20_000
    path.write_text(f"[{deep}, {json.dumps(records()[0])}]")
    found, faults = read(path)
    assert (len(found), faults.counts) == (1, {"not_an_object": 1})
    assert "record 1: not JSON: nested too deeply" in faults.lines()[0]


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (b"1" * 5000, "not_an_object", "not JSON: Exceeds the limit"),
        (b"1e999", "wrong_field", "answer is inf"),
        (b"NaN", "not_an_object", "NaN is no JSON number"),
        (b"-Infinity", "not_an_object", "-Infinity is no JSON number"),
        (b'"caf\xe9"', "not_an_object", "not UTF-8: byte 0xe9"),
        (b'"a\nb"', "not_an_object", "not JSON: Invalid control character"),
        (b"tru", "not_an_object", "not JSON: Expecting value"),
    ],
)
@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_broken_record_is_named_and_the_rest_goes_on(tmp_path, form, answer, kind, said):
    lines = [json.dumps(one).encode() for one in records()[:3]]
    lines[1] = lines[1].replace(json.dumps(records()[1]["answer"]).encode(), answer, 1)
    name = records()[1]["question_id"]
    path = tmp_path / f"dataset_32k.{form}"
    if form == "json":
        path.write_bytes(b" " * 10_000 + b"[" + b", ".join(lines) + b"]")
        where = "record 2"
    else:
        if b"\n" in answer:
            pytest.skip("that is two lines")
        path.write_bytes(b"\n".join(lines) + b"\n")
        where = "record 2" if kind == "wrong_field" else "line 2"
    found, faults = read(path)
    assert [one.question_id for one in found] == [records()[i]["question_id"] for i in (0, 2)]
    assert faults.counts == {kind: 1}
    assert f"{where} ({name})" in faults.lines()[0]
    assert said in faults.lines()[0]
    assert "b'" not in faults.lines()[0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(VALUES, min_size=1, max_size=6),
    wrapped=st.booleans(),
    indent=st.sampled_from([None, 0, 2]),
    ascii_only=st.booleans(),
    chunk=st.integers(1, 40),
)
def test_elements_are_those_of_the_list(tmp_path, monkeypatch, values, wrapped, indent, ascii_only, chunk):
    """Whatever stands in the list, and wherever the buffer breaks it off, the elements are what json.loads says."""
    monkeypatch.setattr(json_array, "_CHUNK", chunk)
    path = tmp_path / "list.json"
    whole = {'a"': [1, {"data": []}], "n": 3, "data": values, "z": 1} if wrapped else values
    path.write_text(json.dumps(whole, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    assert [json.loads(element) for element in json_array.array_elements(path, 1 << 20)] == values


def test_brackets_in_text_are_no_nesting(tmp_path):
    path = tmp_path / "memory_32k.json"
    path.write_text(json.dumps([{**records()[0], "question": "[" * 40_000}, *records()[1:]]))
    assert len(read(path)[0]) == len(records())
