from __future__ import annotations

import io
import json
import sys

import pytest

from memgauge.cli.app import run
from memgauge.streams import lz_rate, read_dataset


@pytest.fixture
def call(capsys):
    def called(*arguments: object) -> tuple[int, str, str]:
        status = run(["streams", *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return called


def test_make_twice_gives_equal_data(call, tmp_path) -> None:
    options = ("make", "--band", "low", "--length", 1024, "--count", 200, "--queries", 16, "--seed", 7, "--out")
    status, out, err = call(*options, tmp_path / "a", "--json")
    assert (status, err) == (0, "")
    [cell] = json.loads(out)["manifest"]["cells"]
    assert call(*options, tmp_path / "b")[0] == 0
    for name in ("streams.parquet", "queries.parquet", "manifest.json", "croissant.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    items = list(read_dataset(tmp_path / "a"))
    assert len(items) == 200
    rates = [lz_rate(item.symbols) for item in items]
    assert min(rates) >= 0.33
    assert max(rates) <= 0.99
    assert 0.62 <= sum(rates) / 200 <= 0.72
    assert cell["lz_rate"]["mean"] == pytest.approx(sum(rates) / 200)
    assert all(sum(query.gold for query in item.queries) == 8 for item in items)


def test_make_prints_a_table_and_refuses_to_overwrite(call, tmp_path) -> None:
    options = ("make", "--band", "max", "--length", 64, "--count", 2, "--negatives", "matched", "--out", tmp_path / "x")
    status, out, _ = call(*options)
    assert status == 0
    assert "matched" in out
    assert "2 x 16" in out
    status, out, err = call(*options)
    assert (status, out) == (2, "")
    assert "--force" in err
    assert call(*options, "--force")[0] == 0


def test_defaults_are_those_of_the_library(call, tmp_path) -> None:
    assert call("make", "--band", "easyhuman", "--length", 64, "--out", tmp_path / "x")[0] == 0
    items = list(read_dataset(tmp_path / "x"))
    assert (len(items), len(items[0].queries)) == (20, 16)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--length", "64"), "--band and --length"),
        (("--band", "low"), "--band and --length"),
        (("--paper", "--band", "low", "--count", "3"), "--paper fixes --band, --count"),
        (("--band", "low", "--length", "5"), "at least 6"),
        (("--band", "low", "--length", "64", "--count", "0"), "count must be at least 1"),
        (("--band", "low", "--length", "64", "--queries", "1"), "queries must be at least 2"),
        (("--band", "low", "--length", "64", "--seed", "-1"), "seed"),
        (("--band", "easyhuman", "--length", "64", "--negatives", "matched"), "negatives of their own"),
    ],
)
def test_options_that_cannot_be_used(call, tmp_path, options, text: str) -> None:
    status, out, err = call("make", *options, "--out", tmp_path / "x")
    assert (status, out) == (2, "")
    assert text in err
    assert not (tmp_path / "x").exists()


def test_make_paper(call, tmp_path) -> None:
    status, out, _ = call("make", "--paper", "--out", tmp_path / "x", "--json")
    assert status == 0
    assert json.loads(out)["manifest"]["counts"] == {"streams": 480, "queries": 7680, "positives": 3840}


def test_validate(call, tmp_path) -> None:
    call("make", "--band", "max", "--length", 64, "--count", 2, "--out", tmp_path / "x")
    assert call("validate", tmp_path / "x")[:2] == (0, f"{tmp_path / 'x'}: sound\n")
    status, out, _ = call("validate", tmp_path / "x", "--json")
    assert (status, json.loads(out)["valid"], json.loads(out)["problems"]) == (0, True, [])
    data = (tmp_path / "x" / "queries.parquet").read_bytes()
    (tmp_path / "x" / "queries.parquet").write_bytes(data[:-100])
    status, out, _ = call("validate", tmp_path / "x")
    assert status == 1
    assert "queries.parquet" in out
    status, out, _ = call("validate", tmp_path / "x", "--json")
    assert status == 1
    assert len(json.loads(out)["problems"]) == 1
    (tmp_path / "x" / "manifest.json").unlink()
    status, out, err = call("validate", tmp_path / "x", "--json")
    assert (status, out) == (2, "")
    assert "manifest.json: missing" in err


@pytest.mark.parametrize(
    "text",
    ["8, 1, 4, 6, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1", "[8 1 4 6 2 1 1 2 1 1 2 1 1 2 1 01]\n",
     "eight one four six two one one two one one two one one two one one"],
)  # fmt: skip
def test_entropy_of_the_papers_example(call, tmp_path, text: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    status, out, _ = call("entropy", tmp_path / "x.txt", "--json")
    found = json.loads(out)
    assert status == 0
    assert round(found["lz_rate"], 4) == 0.7502
    assert (found["symbols"], found["alphabet"]) == (16, 5)
    assert found["lz78_rate"] == 2.5
    assert found["lz_rate_shuffled"] > found["lz_rate"]
    status, out, _ = call("entropy", tmp_path / "x.txt")
    assert "0.7502" in out


def test_entropy_of_bytes_and_standard_input(call, tmp_path, monkeypatch) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 3 + b"\xff")
    found = json.loads(call("entropy", tmp_path / "x.bin", "--bytes", "--json")[1])
    assert (found["symbols"], found["alphabet"], found["log2_alphabet"]) == (769, 256, 8.0)
    status, _, err = call("entropy", tmp_path / "x.bin")
    assert status == 2
    assert "--bytes" in err

    class Stdin:
        buffer = io.BytesIO(b"5\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    found = json.loads(call("entropy", "-", "--json")[1])
    assert (found["symbols"], found["lz_rate"], found["lz78_rate"]) == (1, None, None)


def test_entropy_of_nothing(call, tmp_path, monkeypatch) -> None:
    (tmp_path / "x.txt").write_text(" \n")
    found = json.loads(call("entropy", tmp_path / "x.txt", "--json")[1])
    assert (found["symbols"], found["log2_alphabet"]) == (0, None)
    assert "undefined" in call("entropy", tmp_path / "x.txt")[1]
    assert call("entropy", tmp_path / "y.txt")[0] == 2
    assert call("entropy", tmp_path)[0] == 2
    monkeypatch.setattr("memgauge.streams.symbol_file.MAX_SYMBOLS", 3)
    (tmp_path / "x.txt").write_text("1 2 3 4")
    assert "at most 3" in call("entropy", tmp_path / "x.txt")[2]
    monkeypatch.setattr("memgauge.streams.symbol_file.MAX_BYTES", 3)
    assert "more than" in call("entropy", tmp_path / "x.txt")[2]


def test_show(call, tmp_path) -> None:
    call("make", "--band", "max", "--length", 64, "--count", 2, "--out", tmp_path / "x")
    status, out, _ = call("show", tmp_path / "x", "max-64-0001", "--json")
    found = json.loads(out)
    item = list(read_dataset(tmp_path / "x"))[1]
    assert status == 0
    assert found["symbols"] == item.symbols.tolist()
    assert [q["gold"] for q in found["queries"]] == [q.gold for q in item.queries]
    status, out, _ = call("show", tmp_path / "x", "max-64-0001")
    assert ", ".join(map(str, item.symbols.tolist())) in out
    status, out, err = call("show", tmp_path / "x", "max-64-2")
    assert (status, out) == (2, "")
    assert "max-64-000" in err
