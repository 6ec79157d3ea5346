from __future__ import annotations

import hashlib
import io
import json
import shutil

import numpy as np
import polars as pl
import pytest
from PIL import Image

from memgauge.cli.video import app
from memgauge.errors import InputError
from memgauge.streams.item import StreamItem
from memgauge.streams.make import Cell, make_item
from memgauge.streams.video import make_video, video_episode
from memgauge.streams.video_dataset import (
    check_pictures,
    frame_file,
    read_video_manifest,
    read_videos,
    write_video_cells,
    write_videos,
)
from memgauge.streams.video_frames import frame_bytes
from memgauge.streams.video_mp4 import decode_mp4

CELLS = (Cell("low", 16, 2), Cell("easyhuman", 64, 2))


def same(one, other):
    assert (one.video_id, one.band, one.length, one.lane_law, one.subtype) == (
        other.video_id,
        other.band,
        other.length,
        other.lane_law,
        other.subtype,
    )
    assert one.symbols.tobytes() == other.symbols.tobytes()
    assert one.lanes.tobytes() == other.lanes.tobytes()
    assert len(one.queries) == len(other.queries)
    for a, b in zip(one.queries, other.queries, strict=True):
        assert (a.query_id, a.variant, a.gold, a.age, a.negatives) == (
            b.query_id,
            b.variant,
            b.gold,
            b.age,
            b.negatives,
        )
        assert a.candidate.tobytes() == b.candidate.tobytes()
        assert a.lanes.tobytes() == b.lanes.tobytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("videos") / "set"
    write_video_cells(path, CELLS, seed=1)
    return path


@pytest.fixture
def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


@pytest.mark.parametrize("lane_law", ["fixed", "free"])
def test_what_is_written_is_read(tmp_path, lane_law):
    write_video_cells(tmp_path / "set", CELLS, seed=1, lane_law=lane_law, video_format="jpeg", size=224)
    expected = [
        make_video(make_item(cell.band, cell.length, index, seed=1), lane_law=lane_law)
        for cell in CELLS
        for index in range(cell.count)
    ]
    for one, other in zip(read_videos(tmp_path / "set"), expected, strict=True):
        same(one, other)
        assert video_episode(one).fingerprint == video_episode(other).fingerprint
    assert check_pictures(tmp_path / "set") == []


def test_filters(folder):
    assert {v.length for v in read_videos(folder, lengths=(16,))} == {16}
    assert {v.band for v in read_videos(folder, bands=("easyhuman",))} == {"easyhuman"}


def test_pictures_are_the_frames_of_the_tables(folder):
    videos = pl.read_parquet(folder / "videos.parquet")
    queries = pl.read_parquet(folder / "queries.parquet")
    for table, letters in ((videos, "symbols"), (queries, "candidate")):
        for row in table.iter_rows(named=True):
            assert row["files"] == [frame_file(s, n, "png") for s, n in zip(row[letters], row["lanes"], strict=True)]
            for file, symbol, lane in zip(row["files"], row[letters], row["lanes"], strict=True):
                assert (folder / file).read_bytes() == frame_bytes(symbol, lane)
    assert len(list((folder / "frames").iterdir())) <= 48


def test_mp4_has_a_file_for_every_video_and_candidate(tmp_path):
    write_video_cells(tmp_path / "set", (Cell("max", 16, 1, queries=4),), seed=1, video_format="mp4", size=128)
    (row,) = pl.read_parquet(tmp_path / "set" / "videos.parquet").iter_rows(named=True)
    assert row["files"] == ["videos/max-16-0000/main.mp4"]
    assert len(decode_mp4(tmp_path / "set" / row["files"][0])) == 16
    for asked in pl.read_parquet(tmp_path / "set" / "queries.parquet").iter_rows(named=True):
        decoded = decode_mp4((tmp_path / "set" / asked["files"][0]).read_bytes())
        assert [second for second, _ in decoded] == list(range(len(asked["candidate"])))
    assert check_pictures(tmp_path / "set") == []


def test_the_same_options_give_the_same_files(folder, tmp_path):
    write_video_cells(tmp_path / "again", CELLS, seed=1)
    names = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(tmp_path / "again") for p in (tmp_path / "again").rglob("*") if p.is_file())
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_manifest(folder):
    manifest = read_video_manifest(folder)
    assert manifest["counts"] == {"videos": 4, "queries": 64, "positives": 32}
    assert manifest["video"]["frames_per_second"] == 1
    assert manifest["made"]["seed"] == 1
    for cell in manifest["cells"]:
        assert cell["sequential"] == cell["spatial"] == {"queries": 16, "positives": 8}
    for name, about in manifest["files"].items():
        data = (folder / name).read_bytes()
        assert about["bytes"] == len(data)
        assert about["sha256"] == hashlib.sha256(data).hexdigest()
    assert {"manifest.json"} | manifest["files"].keys() == {
        str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()
    }


@pytest.mark.parametrize("video_format", ["png", "mp4"])
def test_croissant_is_valid(tmp_path, video_format):
    import mlcroissant

    write_video_cells(tmp_path / "set", (Cell("low", 8, 1, queries=4),), seed=1, video_format=video_format, size=64)
    issues = mlcroissant.Dataset(str(tmp_path / "set" / "croissant.json")).metadata.issues
    assert not issues.errors
    assert not issues.warnings
    document = json.loads((tmp_path / "set" / "croissant.json").read_text())
    fields = {f["@id"] for record in document["recordSet"] for f in record["field"]}
    tables = {
        f"{name}/{column}"
        for name in ("videos", "queries")
        for column in pl.read_parquet(tmp_path / "set" / f"{name}.parquet").columns
    }
    assert fields == tables


def test_of_other_peoples_streams_no_origin_is_claimed(tmp_path):
    manifest = write_videos(tmp_path / "set", [make_video(make_item("low", 8, 0, seed=1))], parameters={"from": "me"})
    assert manifest["parameters"] == {"from": "me"}
    assert "made" not in manifest
    assert "license" not in json.loads((tmp_path / "set" / "croissant.json").read_text())


def test_a_folder_is_written_whole_or_not_at_all(tmp_path):
    def videos():
        yield make_video(make_item("low", 16, 0, seed=1))
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        write_videos(tmp_path / "set", videos())
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(copied, tmp_path):
    one = [make_video(make_item("low", 16, 0, seed=1))]
    with pytest.raises(InputError, match="not empty"):
        write_videos(copied, one)
    write_videos(copied, one, force=True)
    assert len(list(read_videos(copied))) == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="holds none"):
        write_videos(tmp_path / "mine", one, force=True)
    assert (tmp_path / "mine" / "letter.txt").read_text() == "dear"
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="a file is in the way"):
        write_videos(tmp_path / "file", one, force=True)


@pytest.mark.parametrize("name", ["../out", "a/b", ".hidden", "", "x" * 101])
def test_names_that_cannot_name_files(tmp_path, name):
    item = make_item("low", 16, 0, seed=1)
    own = StreamItem(name, "own", 16, item.symbols, item.queries, 0.0, 0.0, None)
    with pytest.raises(InputError, match="cannot name a file"):
        write_videos(tmp_path / "set", [make_video(own)], video_format="mp4", size=64)
    assert not (tmp_path / "set").exists()


def test_no_videos(tmp_path):
    with pytest.raises(InputError, match="at least one video"):
        write_videos(tmp_path / "set", [])
    assert not (tmp_path / "set").exists()


def rewrite(folder, table, change):
    """Change a table and its hash in the manifest, as somebody would who means it."""
    path = folder / table
    change(pl.read_parquet(path)).write_parquet(path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][table]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("queries.parquet", lambda t: t.with_columns(~pl.col("gold")), "low-16-0000, q00"),
        ("queries.parquet", lambda t: t.with_columns(variant=pl.lit("temporal")), "no variant is called 'temporal'"),
        ("queries.parquet", lambda t: t.with_columns(video_id=pl.lit("ghost")), "asks about 'ghost'"),
        ("queries.parquet", lambda t: t.drop("age"), "its columns are not those"),
        ("queries.parquet", lambda t: t.with_columns(query_id=pl.lit(None, pl.String)), "a cell is empty"),
        ("videos.parquet", lambda t: pl.concat([t, t]), "two videos are called low-16-0000"),
        ("videos.parquet", lambda t: t.with_columns(lane_law=pl.lit("odd")), "no lane law is called 'odd'"),
        ("videos.parquet", lambda t: t.with_columns(length=pl.lit(15)), "16 frames, and a length of 15"),
        ("videos.parquet", lambda t: t.with_columns(lanes=pl.col("lanes").list.head(3)), "one of each is needed"),
    ],
)
def test_tables_that_break_the_rules(copied, table, change, message):
    rewrite(
        copied,
        table,
        lambda t: (
            change(t).cast(dict.fromkeys(["length"], pl.Int64), strict=False) if "length" in t.columns else change(t)
        ),
    )
    with pytest.raises(InputError, match=message):
        list(read_videos(copied))


def test_files_that_were_changed_or_lost(copied):
    frame = next((copied / "frames").iterdir())
    frame.write_bytes(b"")
    assert check_pictures(copied) == [
        f"frames/{frame.name}: its SHA-256 is not the manifest's: changed since it was made"
    ]
    frame.unlink()
    assert "missing" in check_pictures(copied)[0]
    (copied / "queries.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="SHA-256 is not the manifest's"):
        list(read_videos(copied))


def test_a_manifest_that_leads_out_of_the_folder(copied):
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["files"]["../../secret"] = {"sha256": "0" * 64}
    (copied / "manifest.json").write_text(json.dumps(manifest))
    assert check_pictures(copied) == ["../../secret: leads out of the folder"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "missing"),
        ("{", "not a JSON document"),
        ('{"format": "memgauge-streams"}', "not the manifest of a video"),
        ('{"format": "memgauge-videos", "schema_version": 99}', "not of schema version"),
    ],
)
def test_manifests_that_cannot_be_read(tmp_path, text, message):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_videos(tmp_path))


def call(*arguments):
    return app([str(a) for a in arguments], result_action="return_value")


def test_cli_make_validate_show(tmp_path, capsys):
    out = tmp_path / "set"
    made = ("make", "--length", 16, "--band", "low", "--count", 2, "--out", out, "--format", "jpeg", "--size", 128)
    assert call(*made, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["manifest"]["counts"] == {"videos": 2, "queries": 32, "positives": 16}
    assert call(*made, "--force") == 0
    assert "8 of 16" in capsys.readouterr().out
    assert call("validate", out) == 0
    assert "sound" in capsys.readouterr().out
    assert call("show", "low-16-0001", "--data", out, "--json") == 0
    stored = json.loads(capsys.readouterr().out)
    assert call("show", "low-16-0001", "--json") == 0
    assert json.loads(capsys.readouterr().out) == stored
    next((out / "frames").iterdir()).unlink()
    assert call("validate", out, "--json") == 1
    assert not json.loads(capsys.readouterr().out)["valid"]
    with pytest.raises(InputError, match="has no video 'low-16-0009' among its 2; the nearest"):
        call("show", "low-16-0009", "--data", out)


def test_cli_show_draws(tmp_path, capsys):
    assert call("show", "max-16-0000", "--out", tmp_path / "sheet.png") == 0
    assert Image.open(tmp_path / "sheet.png").size == (16 * 112, 112)
    assert "drawn" in capsys.readouterr().out
    assert call("show", "max-16-0000", "--query", "q01", "--out", tmp_path / "clip.mp4", "--size", 64) == 0
    printed = capsys.readouterr().out
    assert "q01" in printed
    assert "q02" not in printed
    video = make_video(make_item("max", 16, 0, seed=0))
    assert len(decode_mp4(tmp_path / "clip.mp4")) == len(video.queries[1].candidate)
    assert call("show", "max-16-0000", "--out", tmp_path / "sheet.jpg") == 0
    assert Image.open(io.BytesIO((tmp_path / "sheet.jpg").read_bytes())).format == "JPEG"
    assert np.asarray(Image.open(tmp_path / "sheet.jpg")).shape[:2] == (112, 16 * 112)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("low16",), "names no video"),
        (("low-16-x",), "names no video"),
        (("mid-16-0",), "unknown band"),
        (("low-16-0", "--query", "q99"), "unknown query of low-16-0"),
        (("low-16-0", "--out", "x.gif"), "ends in .mp4"),
        (("low-16-0", "--queries", "6"), "shared evenly"),
        (("low-16-0", "--out", "x.png", "--size", "9"), "64 to 2048"),
    ],
)
def test_cli_show_errors(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        call("show", *arguments)
    assert list(tmp_path.iterdir()) == []
