"""Results made elsewhere become responses, graded; bad tables are named by row and column."""

from __future__ import annotations

import polars as pl
import pytest

from memgauge.errors import InputError
from memgauge.importers import import_table, write_run
from memgauge.responses import load_responses

HEADER = "system,length,episode,query,gold"


def table(tmp_path, text, name="r.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_answers_are_graded(tmp_path):
    lines = ("m,64,e0,q0,yes,yes,12,uniform", "m,64,e0,q1,no,YES,,uniform", "m,64,e0,q2,1,,3,uniform")
    text = "\n".join((f"{HEADER},answer,age,negatives", *lines)) + "\n"
    rows = import_table(table(tmp_path, text), task="ecc-text", split="low")
    assert rows["outcome"].to_list() == ["answered", "answered", "abstained"]
    assert rows["correct"].to_list() == [True, False, False]
    assert rows["age"].to_list() == [12.0, None, 3.0]
    write_run(rows, tmp_path / "run", tmp_path / "r.csv")
    assert load_responses(tmp_path / "run").equals(rows)
    with pytest.raises(InputError, match="not empty"):
        write_run(rows, tmp_path / "run", tmp_path / "r.csv")


def test_raw_output_is_graded_by_its_last_marker(tmp_path):
    text = (
        f"{HEADER},raw_output,tokens_out,finish_reason\nm,64,e0,q0,yes,first {{1}} then {{0}},10,stop\n"
        "m,64,e0,q1,no,no idea,8,length\n"
    )
    rows = import_table(table(tmp_path, text), task="ecc-text", split="low")
    assert rows["answer"].to_list() == ["yes", None]
    assert rows["abstain_kind"].to_list() == [None, "overflow"]
    assert rows["t_ans"][1] == 4.0


def test_errors_stay_errors(tmp_path):
    text = f"{HEADER},outcome,answer\nm,64,e0,q0,yes,model_error,\nm,64,e0,q1,no,answered,no\n"
    rows = import_table(table(tmp_path, text), task="ecc-text", split="low")
    assert rows["outcome"].to_list() == ["model_error", "answered"]
    assert rows["correct"].to_list() == [None, True]


def test_json_lines_and_parquet_read_alike(tmp_path):
    frame = pl.DataFrame(
        {
            "system": ["m"],
            "length": [8],
            "episode": ["e"],
            "query": ["q"],
            "gold": ["no"],
            "answer": ["no"],
            "split": ["max"],
        }
    )
    frame.write_parquet(tmp_path / "r.parquet")
    frame.write_ndjson(tmp_path / "r.jsonl")
    tables = [import_table(tmp_path / name, task="t").drop("run", "key") for name in ("r.parquet", "r.jsonl")]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "column 'system' is missing"),
        (f"{HEADER}\nm,64,e,q,yes\n", "no column says what came back"),
        (f"{HEADER},answer\nm,64,e,q,maybe,yes\n", "row 1: gold is 'maybe'"),
        (f"{HEADER},answer\nm,64,e,q,yes,perhaps\n", "row 1: answer is 'perhaps'"),
        (f"{HEADER},answer,lenght\nm,64,e,q,yes,yes,3\n", "did you mean 'length'"),
        (f"{HEADER},answer\nm,64,e,q,yes,yes\nm,64,e,q,yes,yes\n", "key occurs twice"),
        (f"{HEADER},answer\nm,,e,q,yes,yes\n", "row 1: length is empty"),
        (f"{HEADER},answer,confidence\nm,64,e,q,yes,yes,7\n", "confidence is not in"),
        (f"{HEADER},outcome\nm,64,e,q,yes,fine\n", "outcome is 'fine'"),
        (f"{HEADER},answer,flops_read\nm,64,e,q,yes,yes,1.5\n", "flops_read is 1.5; it is a whole number"),
        (f"{HEADER},answer,flops_write\nm,64,e,q,yes,yes,-5\n", "cannot be negative"),
        (f"{HEADER},answer,age\nm,64,e,q,yes,yes,old\n", "age is 'old'; it is a number"),
        (f"{HEADER},answer,score\nm,64,e,q,yes,yes,0.3\n", "score is 0.3"),
        (f"{HEADER},answer,correct\nm,64,e,q,yes,yes,false\n", "correct is False"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        import_table(table(tmp_path, text), task="t", split="low")


def test_the_split_must_be_said(tmp_path):
    with pytest.raises(InputError, match="column 'split' is missing"):
        import_table(table(tmp_path, f"{HEADER},answer\nm,64,e,q,yes,yes\n"), task="t")


def test_another_table_is_another_measurement(tmp_path):
    tables = []
    for name, answer in (("a.csv", "yes"), ("b.csv", "no")):
        path = table(tmp_path, f"{HEADER},answer\nm,64,e,q,yes,{answer}\n", name)
        tables.append(import_table(path, task="t", split="low"))
    assert tables[0]["key"][0] != tables[1]["key"][0]
    assert [t["correct"][0] for t in tables] == [True, False]
