"""Responses on disk: whole lines, resume, schema versions, bad tables."""

from __future__ import annotations

import errno
import json
import os

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError, SchemaVersionError
from memgauge.responses import (
    COLUMNS,
    INT64_MAX,
    ResponseLog,
    check_rows,
    conform,
    encode_rows,
    load_responses,
    new_row,
    schema,
    write_parquet,
)


def row(number=0, **values):
    given = {
        "key": f"k{number}",
        "run": "r",
        "system": "s",
        "task": "ecc-text",
        "split": "low",
        "length": 64,
        "episode": f"e{number // 4}",
        "query": f"q{number % 4}",
        "arm": "none",
        "gold": "yes",
        "answer": "yes",
        "outcome": "answered",
        "correct": True,
        "score": 1.0,
    }
    return new_row(**{**given, **values})


def frame(*rows):
    return pl.DataFrame(list(rows), schema=schema())


def test_a_torn_line_is_cut_and_the_rest_is_kept(tmp_path):
    with ResponseLog(tmp_path) as log:
        log.append(row(i) for i in range(10))
    path = tmp_path / "responses.jsonl"
    whole = path.read_bytes()
    for cut in (1, 5, len(whole.splitlines()[-1])):
        path.write_bytes(whole[:-cut])
        assert load_responses(tmp_path).height == 9
        with ResponseLog(tmp_path) as log:
            assert len(log.keys) == 9
            log.append([row(9)])
        assert path.read_bytes() == whole


@given(st.integers(0, 4000))
@settings(max_examples=60, deadline=None)
def test_any_cut_leaves_whole_lines(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("cut")
    data = encode_rows(row(i, raw_output="line\nwith break and \u2028 and é") for i in range(5))
    (folder / "responses.jsonl").write_bytes(data[: max(0, len(data) - cut)])
    whole = data[: max(0, len(data) - cut)].count(b"\n")
    with ResponseLog(folder) as log:
        assert len(log.keys) == whole
    assert load_responses(folder).height == whole


def test_the_last_row_of_a_question_counts(tmp_path):
    with ResponseLog(tmp_path) as log:
        log.append([row(0, outcome="model_error", correct=None, score=None, answer=None, error="no"), row(1)])
        assert log.keys == {"k1"} or not log.keys  # keys are those found on opening
    with ResponseLog(tmp_path) as log:
        assert log.keys == {"k1"}
        log.append([row(0)])
        log.finish()
    rows = load_responses(tmp_path)
    assert rows.height == 2
    assert set(rows["outcome"]) == {"answered"}
    assert not (tmp_path / "responses.jsonl").exists()


def test_a_kill_between_table_and_log_loses_and_repeats_nothing(tmp_path):
    with ResponseLog(tmp_path) as log:
        log.append(row(i) for i in range(6))
    write_parquet(load_responses(tmp_path), tmp_path / "responses.parquet")
    assert load_responses(tmp_path).height == 6
    with ResponseLog(tmp_path) as log:
        assert len(log.keys) == 6


def test_one_writer_at_a_time(tmp_path):
    with ResponseLog(tmp_path), pytest.raises(InputError, match="being written by another run"):
        ResponseLog(tmp_path)
    ResponseLog(tmp_path).close()


def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    log = ResponseLog(tmp_path)
    log.append([row(0)])
    real = os.write
    calls = []

    def write(file, data):
        calls.append(len(data))
        if len(calls) == 1:
            return real(file, bytes(data)[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(InputError, match="No space left on device"):
        log.append([row(1), row(2)])
    monkeypatch.undo()
    log.close()
    assert load_responses(tmp_path)["key"].to_list() == ["k0"]


def test_integers_beyond_64_bits_are_refused(tmp_path):
    assert encode_rows([row(0, flops_write=INT64_MAX)])
    with pytest.raises(InputError, match="flops_write of query 'q0'"):
        encode_rows([row(0, flops_write=INT64_MAX + 1)])
    with pytest.raises(ValueError, match="JSON compliant"):
        encode_rows([row(0, confidence=float("nan"))])


def test_another_schema_version_is_named(tmp_path):
    write_parquet(frame(row(0, schema_version=99)), tmp_path / "responses.parquet")
    with pytest.raises(SchemaVersionError, match="schema version 99"):
        load_responses(tmp_path)
    (tmp_path / "responses.parquet").unlink()
    (tmp_path / "responses.jsonl").write_bytes(encode_rows([row(0, schema_version=2)]))
    with pytest.raises(SchemaVersionError, match="schema version 2"):
        ResponseLog(tmp_path)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"outcome": "maybe"}, "outcome is not one of"),
        ({"correct": None, "score": None}, "needs `correct`"),
        ({"outcome": "abstained", "correct": None}, "needs `correct`"),
        ({"outcome": "model_error"}, "neither right nor wrong"),
        ({"outcome": "abstained"}, "abstention cannot be correct"),
        ({"confidence": 1.2}, "confidence is not in"),
        ({"system": None}, "system is empty"),
        ({"key": "k0"}, "key occurs twice"),
    ],
)
def test_bad_rows_are_named(bad, said):
    with pytest.raises(InputError, match=said) as caught:
        check_rows(frame(row(0), row(1, **bad)), "table")
    assert "row 1" in str(caught.value) or "row 0" in str(caught.value)


def test_a_score_alone_is_an_answer():
    assert check_rows(frame(row(0), row(1, correct=None, score=0.7)), "table").height == 2


def test_a_table_that_is_no_responses_table_is_said(tmp_path):
    with pytest.raises(InputError, match="column 'key' is missing"):
        conform(pl.DataFrame({"a": [1]}), "x")
    (tmp_path / "x.parquet").write_bytes(b"not parquet")
    with pytest.raises(InputError, match="not a readable Parquet"):
        load_responses(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="no such file"):
        load_responses(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is it a run folder"):
        load_responses(tmp_path / "empty")
    (tmp_path / "responses.jsonl").write_bytes(encode_rows([row(0)]) + b"{broken}\n" + encode_rows([row(1)]))
    with pytest.raises(InputError, match="line 2 is not JSON"):
        load_responses(tmp_path)


def test_new_rows_refuse_unknown_columns():
    with pytest.raises(KeyError, match="colour"):
        new_row(colour="red")
    assert list(new_row()) == list(COLUMNS)


def test_every_column_is_documented():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "responses.md").read_text()
    assert [name for name in COLUMNS if f"`{name}`" not in page] == []


def test_json_lines_are_plain(tmp_path):
    line = json.loads(encode_rows([row(0, raw_output='"}\n')]))
    assert line["raw_output"] == '"}\n'
    assert line["confidence"] is None
