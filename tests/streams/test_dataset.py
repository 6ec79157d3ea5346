from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import polars as pl
import pytest

from memgauge.errors import InputError
from memgauge.streams import (
    Cell,
    StreamItem,
    ask_about,
    make_cell,
    paper_cells,
    read_dataset,
    validate,
    write_cells,
    write_dataset,
)
from memgauge.streams.dataset import FILES, sha256

CELLS = (
    Cell("low", 64, 5),
    Cell("max", 64, 3, 7, "matched"),
    Cell("easyhuman", 256, 4),
    Cell("max", 16, 2, 4),
)


def plain(item: StreamItem):
    facts = [getattr(item, name) for name in ("stream_id", "band", "length", "lz_rate", "lz78_rate", "subtype")]
    asked = [(q.query_id, q.candidate.tolist(), q.gold, q.age, q.negatives) for q in item.queries]
    return facts, item.symbols.tolist(), asked


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "set"
    write_cells(folder, CELLS, seed=3)
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    copytree(made, tmp_path / "set")
    return tmp_path / "set"


def test_what_was_written_is_read(made) -> None:
    expected = [
        item
        for c in CELLS
        for item in make_cell(c.band, c.length, c.count, seed=3, queries=c.queries, negatives=c.negatives)
    ]
    found = list(read_dataset(made))
    assert [plain(item) for item in found] == [plain(item) for item in expected]
    assert all(not item.symbols.flags.writeable for item in found)
    assert all(not q.candidate.flags.writeable and q.candidate.dtype == np.uint8 for i in found for q in i.queries)


def test_filters(made) -> None:
    assert [i.stream_id for i in read_dataset(made, lengths=[16])] == ["max-16-0000", "max-16-0001"]
    assert {i.band for i in read_dataset(made, bands=("low", "easyhuman"))} == {"low", "easyhuman"}
    assert len(list(read_dataset(made, lengths=(64,), bands=("max",)))) == 3
    assert list(read_dataset(made, lengths=(65,))) == []


def test_made_twice_is_the_same_bytes(made, tmp_path) -> None:
    write_cells(tmp_path / "again", CELLS, seed=3)
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (made / name).read_bytes()


def test_columns(made) -> None:
    streams, queries = (pl.read_parquet(made / f"{name}.parquet") for name in ("streams", "queries"))
    assert streams.schema == {
        "stream_id": pl.String,
        "band": pl.String,
        "length": pl.Int64,
        "symbols": pl.List(pl.UInt8),
        "lz_rate": pl.Float64,
        "lz78_rate": pl.Float64,
        "subtype": pl.String,
    }
    assert queries.schema == {
        "stream_id": pl.String,
        "query_id": pl.String,
        "candidate": pl.List(pl.UInt8),
        "gold": pl.Boolean,
        "age": pl.Int64,
        "negatives": pl.String,
    }
    assert set(queries["negatives"]) == {"uniform", "matched", "corruption"}


def test_manifest_says_what_was_made(made) -> None:
    manifest = json.loads((made / "manifest.json").read_text())
    assert manifest["made"]["seed"] == 3
    assert manifest["counts"] == {"streams": 14, "queries": 5 * 16 + 3 * 7 + 4 * 16 + 2 * 4, "positives": 87}
    low, matched, *_ = manifest["cells"]
    assert low["acceptance"] == 5 / low["tries"]
    rates = [item.lz_rate for item in make_cell("low", 64, 5, seed=3)]
    assert low["lz_rate"]["mean"] == pytest.approx(np.mean(rates))
    assert low["lz_rate"]["sd"] == pytest.approx(np.std(rates))
    assert sum(matched["negatives_made_of_own"].values()) == matched["queries"] - matched["positives"] == 10
    for name, about in manifest["files"].items():
        assert sha256(made / name) == about["sha256"]
        assert (made / name).stat().st_size == about["bytes"]


def test_a_sound_folder_has_no_problems(made) -> None:
    assert validate(made) == []


def test_streams_of_ones_own(tmp_path) -> None:
    item = ask_about(list(range(16)) * 5, "mine", seed=1, queries=10, band="tiled")
    other = ask_about(list(range(16)) * 5, "other", seed=1, queries=10, negatives="matched")
    assert [q.candidate.tolist() for q in item.queries] != [q.candidate.tolist() for q in other.queries]
    assert {q.negatives for q in other.queries} == {"matched"}
    manifest = write_dataset(tmp_path / "own", [item, other], parameters={"source": "a test"})
    assert manifest["parameters"] == {"source": "a test"}
    assert validate(tmp_path / "own") == []
    assert [plain(i) for i in read_dataset(tmp_path / "own")] == [plain(item), plain(other)]


def test_nothing_is_overwritten(made, tmp_path) -> None:
    target = tmp_path / "set"
    target.mkdir()
    write_cells(target, [Cell("max", 16, 1)], seed=1)  # an empty folder may be filled
    before = (target / "manifest.json").read_bytes()
    with pytest.raises(InputError, match="not empty"):
        write_cells(target, CELLS, seed=3)
    assert (target / "manifest.json").read_bytes() == before
    write_cells(target, CELLS, seed=3, force=True)
    assert (target / "streams.parquet").read_bytes() == (made / "streams.parquet").read_bytes()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["set"]


def test_force_replaces_datasets_only(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="replaces a stream dataset and nothing else"):
        write_cells(tmp_path, [Cell("max", 16, 1)], seed=1, force=True)
    with pytest.raises(InputError, match="a file is in the way"):
        write_cells(tmp_path / "thesis.tex", [Cell("max", 16, 1)], seed=1, force=True)
    write_cells(tmp_path / "set", [Cell("max", 16, 1)], seed=1)
    (tmp_path / "set" / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="replaces a stream dataset and nothing else"):
        write_cells(tmp_path / "set", [Cell("max", 16, 1)], seed=1, force=True)
    assert (tmp_path / "thesis.tex").read_text() == "x"


def test_a_write_that_fails_leaves_nothing(tmp_path) -> None:
    def broken():
        yield from make_cell("max", 64, 3, seed=1)
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_dataset(tmp_path / "set", broken())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="at least one stream"):
        write_dataset(tmp_path / "set", [])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_cells(tmp_path / "file" / "set", [Cell("max", 16, 1)], seed=1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def rewrite(folder: Path, name: str, change) -> None:
    """Change a table and make the manifest agree, so that only the content can give it away."""
    path = folder / f"{name}.parquet"
    frame = change(pl.read_parquet(path))
    frame.write_parquet(path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][path.name] |= {"sha256": sha256(path), "rows": frame.height}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def set_cell(column: str, row: int, value):
    def change(frame: pl.DataFrame) -> pl.DataFrame:
        values = frame[column].to_list()
        values[row] = value(values[row]) if callable(value) else value
        return frame.with_columns(pl.Series(column, values, dtype=frame.schema[column]))

    return change


CONTENT = {
    "symbol out of range": ("streams", set_cell("symbols", 0, lambda x: [16, *x[1:]]), "holds symbol 16 at position 1"),
    "wrong length": ("streams", set_cell("length", 0, 65), "holds 64 symbols; its length is given as 65"),
    "shortened stream": ("streams", set_cell("symbols", 0, lambda x: x[:-1]), "holds 63 symbols"),
    "changed stream": ("streams", set_cell("symbols", 5, lambda x: x[::-1]), "does not occur"),
    "empty stream": ("streams", set_cell("symbols", 0, []), "holds 0 symbols"),
    "wrong rate": ("streams", set_cell("lz_rate", 0, 0.5), "its lz_rate is given as 0.5"),
    "wrong second rate": ("streams", set_cell("lz78_rate", 0, 0.5), "its lz78_rate is given as 0.5"),
    "low band left": ("streams", set_cell("band", 6, "low"), "outside the low band"),
    "no subtype": ("streams", set_cell("subtype", 8, None), "repeating or counting"),
    "stream twice": ("streams", lambda f: pl.concat([f, f[:1]]), "'low-64-0000' occurs more than once"),
    "stream lost": ("streams", lambda f: f[1:], "asks about stream 'low-64-0000'"),
    "no stream id": ("streams", set_cell("stream_id", 0, None), "column 'stream_id' has empty cells"),
    "empty symbol": ("streams", set_cell("symbols", 0, lambda x: [None, *x[1:]]), "has empty symbols"),
    "other type": ("streams", lambda f: f.cast({"length": pl.String}), "column 'length' is String"),
    "other list type": ("streams", lambda f: f.cast({"symbols": pl.List(pl.Int64)}), "column 'symbols' is List"),
    "no column": ("queries", lambda f: f.drop("gold"), "no column 'gold'"),
    "no queries": ("queries", lambda f: f[16:], "no query about stream 'low-64-0000'"),
    "unknown stream": ("queries", set_cell("stream_id", 0, "low-64-9999"), "asks about stream 'low-64-9999'"),
    "query twice": ("queries", set_cell("query_id", 0, "q01"), "query 'q01' occurs 2 times"),
    "one class": (
        "queries",
        lambda f: f.filter(~((pl.col("stream_id") == "low-64-0001") & pl.col("gold"))),
        "'low-64-0001': all its 8 queries are negative",
    ),
    "candidate too short": ("queries", set_cell("candidate", 3, [1, 2]), "the candidate has 2 symbols"),
    "candidate empty": ("queries", set_cell("candidate", 3, []), "the candidate has 0 symbols"),
    "candidate too long": ("queries", set_cell("candidate", 3, [1] * 7), "the candidate has 7 symbols"),
    "candidate out of range": ("queries", set_cell("candidate", 3, [1, 99, 2]), "holds symbol 99"),
}


@pytest.mark.parametrize("kind", CONTENT)
def test_content_that_is_wrong_is_found(folder, kind: str) -> None:
    table, change, text = CONTENT[kind]
    rewrite(folder, table, change)
    assert any(text in problem for problem in validate(folder)), validate(folder)
    if "rate" not in kind and kind != "low band left":  # rates are measured by `validate` alone
        with pytest.raises(InputError):
            list(read_dataset(folder))


def test_wrong_answers_and_ages_are_found(folder) -> None:
    queries = pl.read_parquet(folder / "queries.parquet")
    positive, negative = queries["gold"].arg_max(), queries["gold"].arg_min()
    name = queries["query_id"][positive]
    for change, text in (
        (set_cell("gold", positive, False), "is marked negative and occurs"),
        (set_cell("gold", negative, True), "is marked positive and does not occur"),
        (set_cell("age", positive, lambda age: age + 1), f"query {name!r}: its age is given as"),
        (set_cell("age", positive, None), "its age is given as None"),
        (set_cell("age", negative, 3), "is negative and has an age of 3"),
    ):
        rewrite(folder, "queries", lambda frame, change=change: change(queries))
        assert any(text in problem for problem in validate(folder))
        with pytest.raises(InputError, match="stream 'low-64-0000', query"):
            next(read_dataset(folder))


@pytest.mark.parametrize("name", ["streams.parquet", "queries.parquet", "croissant.json"])
def test_missing_and_damaged_files_are_found(folder, name: str) -> None:
    data = (folder / name).read_bytes()
    for damaged in (data[: len(data) // 2], data[:-1], b"", b"\0" * len(data), data + b"x"):
        (folder / name).write_bytes(damaged)
        assert any(name in problem and "SHA-256" in problem for problem in validate(folder))
        with pytest.raises(InputError, match=name):
            read_dataset(folder)
    (folder / name).unlink()
    assert any(f"{name}: missing" in problem for problem in validate(folder))
    with pytest.raises(InputError, match=f"{name}: missing"):
        read_dataset(folder)


@pytest.mark.parametrize("at", range(20))
def test_any_damaged_byte_is_found(folder, at: int) -> None:
    rng = np.random.default_rng(at)
    path = folder / ("streams.parquet" if at % 2 else "queries.parquet")
    data = bytearray(path.read_bytes())
    data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    path.write_bytes(data)
    assert validate(folder)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "manifest.json: missing"),
        ("", "not a JSON document"),
        ("[1, 2", "not a JSON document"),
        ("[" * 100_000, "not a JSON document"),
        ("[]", "not the manifest of a stream dataset"),
        ('{"format": "other"}', "not the manifest of a stream dataset"),
        ('{"format": "memgauge-streams", "schema_version": 2}', "schema version 2"),
    ],
)
def test_manifests_that_cannot_be_used(folder, content: str | None, text: str) -> None:
    if content is None:
        (folder / "manifest.json").unlink()
    else:
        (folder / "manifest.json").write_text(content)
    for function in (validate, read_dataset):
        with pytest.raises(InputError, match=text):
            function(folder)


def test_manifest_that_says_nothing_about_files(folder) -> None:
    (folder / "manifest.json").write_text('{"format": "memgauge-streams", "schema_version": 1, "files": 3}')
    assert validate(folder) == [f"manifest.json: says nothing about {n}.parquet" for n in ("streams", "queries")]


def test_no_folder() -> None:
    for function in (validate, read_dataset):
        with pytest.raises(InputError, match="no such folder"):
            function("/nonexistent")


def test_many_problems_are_cut_off(tmp_path) -> None:
    items = [replace(item, lz_rate=9.0, lz78_rate=9.0) for item in make_cell("max", 16, 600, seed=1, queries=2)]
    write_dataset(tmp_path / "set", items)
    problems = validate(tmp_path / "set")
    assert len(problems) == 1001
    assert "more than 1,000 problems" in problems[-1]


def test_the_papers_text_set(tmp_path) -> None:
    manifest = write_cells(tmp_path / "paper", paper_cells(), seed=0)
    assert manifest["counts"] == {"streams": 480, "queries": 7680, "positives": 3840}
    assert validate(tmp_path / "paper") == []
    subtypes = [item.subtype for item in read_dataset(tmp_path / "paper", lengths=(256,), bands=("easyhuman",))]
    assert sorted(subtypes) == ["counting"] * 20 + ["repeating"] * 20


def test_croissant_names_the_columns_of_the_tables(made) -> None:
    document = json.loads((made / "croissant.json").read_text())
    for records in document["recordSet"]:
        frame = pl.read_parquet(made / f"{records['name']}.parquet")
        assert [f["source"]["extract"]["column"] for f in records["field"]] == frame.columns
        repeated = {f["name"] for f in records["field"] if f.get("repeated")}
        assert repeated == {name for name, kind in frame.schema.items() if isinstance(kind, pl.List)}
    for file in document["distribution"]:
        assert file["sha256"] == sha256(made / file["contentUrl"])


def test_croissant_claims_nothing_about_streams_of_ones_own(made, tmp_path) -> None:
    write_dataset(tmp_path / "own", make_cell("max", 16, 1, seed=1))
    own, drawn = (json.loads((folder / "croissant.json").read_text()) for folder in (tmp_path / "own", made))
    assert {"license", "creator", "rai:dataCollection"} <= drawn.keys()
    assert not {"license", "creator", "rai:dataCollection"} & own.keys()


@pytest.mark.slow
def test_croissant_is_valid(made) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=made / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    assert {record_set.name for record_set in dataset.metadata.record_sets} == {"streams", "queries"}


@pytest.mark.slow
def test_croissant_gives_the_records(made) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    pytest.importorskip("pyarrow", reason="mlcroissant reads Parquet with pyarrow")
    dataset = mlcroissant.Dataset(jsonld=made / "croissant.json")
    assert len(list(dataset.records("streams"))) == 14
    queries = list(dataset.records("queries"))
    assert len(queries) == 173
    assert queries[0]["queries/candidate"] == next(read_dataset(made)).queries[0].candidate.tolist()
