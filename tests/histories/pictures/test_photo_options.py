"""Options that cannot work are refused before anything is written; thresholds come from labelled pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from photo_folders import photo_folder, with_index
from PIL import Image

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.histories.building.config import build_config
from memgauge.histories.building.pictures.channels import Channels, fingerprint, read_channels
from memgauge.histories.building.pictures.options import photo_options

TRUST = ["--trust-folder", "--image-license", "CC0-1.0"]


@pytest.fixture(scope="module")
def owls(tmp_path_factory):
    return photo_folder(tmp_path_factory.mktemp("owls"), each=2, names=["owl"])


def refused(capsys, folder, *options):
    """Run a build that must end with exit status 2 and leave nothing behind; returns what it says."""
    out = folder / "H"
    assert run(["histories", "build", "--n", "1", "--lengths", "32k", "--out", str(out), *options]) == 2
    assert not out.exists()
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--images", "folder:nowhere", *TRUST], "no such folder"),
        (["--images", "folder:", *TRUST], "write one of"),
        (["--images", "crawl:owls"], "write one of"),
        (["--images", "photos"], "source of pictures"),
        (["--images", "urls:none.csv", *TRUST], "no such list"),
        (["--images", "folder:{owls}", "--image-license", "CC0-1.0"], "channel clip, siglip, text"),
        (["--images", "folder:{owls}", "--trust-folder", "--image-license", "CC BY-NC 4.0"], "not passed on"),
        (["--images", "folder:{owls}", *TRUST, "--image-reuse", "26"], "1 to 25"),
        (["--images", "folder:{owls}", *TRUST, "--image-delay", "-1"], "0 to 3600"),
        (["--images", "folder:{owls}", *TRUST, "--image-tokens", "patch"], "use fixed:N"),
        (["--images", "folder:{owls}", *TRUST, "--image-scorers", "none.json"], "cannot be read"),
        (["--trust-folder"], "--images folder:DIR"),
        (["--image-reuse", "3"], "--images folder:DIR"),
    ],
)
def test_options_that_cannot_work(owls, tmp_path, capsys, options, said):
    assert said in refused(capsys, tmp_path, *(option.replace("{owls}", str(owls)) for option in options))


def test_sources_that_hold_nothing(tmp_path, capsys):
    empty, strange, broken = tmp_path / "empty", tmp_path / "strange", tmp_path / "broken"
    for folder in (empty, strange / "hotdog", broken):
        folder.mkdir(parents=True)
    (broken / "index.jsonl").write_text('{"file": "a.jpg"}\n')
    for folder, said in ((empty, "it is empty"), (strange, "it has hotdog"), (broken, "row 1 lacks 'query'")):
        assert said in refused(capsys, tmp_path, "--images", f"folder:{folder}", *TRUST)
    listing = tmp_path / "list.csv"
    listing.write_text("url,query\nhttp://a.org/x.jpg,unicorn\n")
    assert "it has unicorn" in refused(capsys, tmp_path, "--images", f"urls:{listing}", *TRUST)


def test_a_web_search_names_its_extra(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "icrawler", None)
    assert "pip install 'memgauge[crawl]'" in refused(capsys, tmp_path, "--images", "crawl")


def test_the_reader_of_watermarks_names_its_package(owls, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("memgauge.histories.building.pictures.watermarks.PACKAGE", "no_such_reader")
    options = ["--images", f"folder:{owls}", *TRUST, "--find-watermarks"]
    assert "pip install rapidocr-onnxruntime" in refused(capsys, tmp_path, *options)


def test_the_web_search_cannot_be_trusted(monkeypatch):
    monkeypatch.setattr("memgauge.histories.building.pictures.options.need_crawler", lambda: None)
    for options, said in (
        ({"trust": True}, "a person has looked at"),
        ({"licence": "CC0-1.0"}, "licences of a web search"),
        ({}, "--image-scorers FILE$"),
    ):
        with pytest.raises(InputError, match=said):
            photo_options("crawl", **options)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "expected an object"),
        ({"vit": "x"}, "unknown field 'vit'"),
        ({"clip": 3}, "clip is not the name of a folder"),
        ({"clip": "nowhere"}, "clip: .* holds no model"),
        ({"blip2": "model"}, "both blip2 and encoder"),
        ({"thresholds": [0.3]}, "thresholds is not an object"),
        ({"thresholds": {"blip2": 0.3}}, "thresholds.blip2: unknown channel"),
        ({"thresholds": {"clip": "high"}}, "thresholds.clip: expected a number"),
        ({"thresholds": {"clip": float("nan")}}, "thresholds.clip: expected a number"),
    ],
)
def test_files_of_models(tmp_path, document, said):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    path = tmp_path / "scorers.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=said):
        read_channels(path)


def test_which_channels_run(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(name)
        (tmp_path / name / "weights").write_bytes(bytes(3 << 20))
    path = tmp_path / "scorers.json"
    path.write_text(json.dumps({"clip": "a", "blip2": "a", "encoder": "b", "thresholds": {"text": 0.5}}))
    found = read_channels(path)
    assert (found.running, found.missing) == (("clip", "text"), ("siglip",))
    assert (found.thresholds.clip, found.thresholds.text) == (0.30, 0.5)
    said = found.to_dict()
    assert str(tmp_path) not in json.dumps(said)
    assert said["models"]["clip"] == said["models"]["blip2"] != said["models"]["encoder"]
    weights = bytearray(3 << 20)
    weights[-1] = 1
    (tmp_path / "a" / "weights").write_bytes(weights)
    assert fingerprint(tmp_path / "a") != said["models"]["clip"]


def test_the_configuration_tells_no_path_and_leaves_drawn_builds_alone(owls):
    assert photo_options("procedural") is None
    assert "images" not in build_config("quick").to_dict()
    options = photo_options(f"folder:{owls}", trust=True, licence="CC BY 4.0", delay=0.5)
    said = build_config("quick", images=options).to_dict()["images"]
    assert (said["source"], said["license"], said["reuse"]) == ("folder", "cc-by-4.0", 25)
    assert str(owls) not in json.dumps(said)
    assert "delay" not in said


def scores(path, rows):
    path.write_text("".join(json.dumps(dict(zip(("clip", "siglip", "text"), row, strict=True))) + "\n" for row in rows))
    return path


def test_thresholds_from_scores(tmp_path, capsys):
    """The 5th percentile of 100 known scores is the fifth smallest but one; the negatives are counted by hand."""
    rng = np.random.default_rng(3)
    good = np.column_stack([rng.uniform(0.31, 0.4, 100), rng.permutation(100) / 100, rng.permutation(100) / 200])
    bad = [(0.35, 0.9, 0.0), (0.35, 0.0, 0.4), (0.35, 0.0, 0.0), (0.29, 0.9, 0.9)]
    positives, negatives = scores(tmp_path / "p.jsonl", good.tolist()), scores(tmp_path / "n.jsonl", bad)
    command = ["histories", "calibrate-filter", str(positives), "--negatives", str(negatives)]
    assert run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["thresholds"] == {"clip": 0.3, "siglip": 0.04, "text": 0.02}
    passed = sum(siglip >= 0.04 or text >= 0.02 for _, siglip, text in good)
    assert (found["positives"]["scored"], found["positives"]["passed"]) == (100, passed)
    assert (found["negatives"]["scored"], found["negatives"]["passed"]) == (4, 2)
    assert run(command) == 0
    assert "4 scored, 2 pass" in capsys.readouterr().out


class Shade:
    """A channel that scores by the brightness of the picture, and fails on another query."""

    def __init__(self, channel):
        self.channel = channel

    def score(self, photo, query):
        assert query in ("owl", "pear")
        return float(np.asarray(photo.image.convert("L")).mean() / 255)


@pytest.fixture
def shades(tmp_path, monkeypatch):
    """A file of models whose loading gives three channels of `Shade`."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    path = tmp_path / "scorers.json"
    path.write_text(json.dumps(dict.fromkeys(("clip", "siglip", "blip2", "encoder"), "model")))
    monkeypatch.setattr(Channels, "load", lambda self: [Shade(name) for name in ("clip", "siglip", "text")])
    return path


def test_thresholds_from_pictures(tmp_path, shades, capsys):
    folder = photo_folder(tmp_path / "good", each=12, names=["owl", "pear"])
    (folder / "owl" / "broken.jpg").write_bytes(b"none")
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for number in range(3):
        Image.new("RGB", (300, 300), (number * 100,) * 3).save(wrong / f"{number}.png")
    with_index(wrong, [{"file": f"{n}.png", "query": "owl"} for n in range(3)] + [{"file": "../x.png", "query": "owl"}])
    new = tmp_path / "sub" / "new.json"
    command = ["histories", "calibrate-filter", str(folder), "--negatives", str(wrong / "index.jsonl")]
    assert run([*command, "--image-scorers", str(shades), "--out", str(new), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["positives"]["refused"] == {"format": 1}
    assert found["negatives"]["refused"] == {"escape": 1}
    assert found["negatives"]["passed"] == 1  # the brightest; the mosaics' brightness is about 1/2
    written = read_channels(new)
    assert written.missing == ()
    assert written.thresholds.siglip == pytest.approx(found["thresholds"]["siglip"], abs=1e-6)


def test_what_cannot_be_calibrated(tmp_path, shades, capsys):
    few = scores(tmp_path / "few.jsonl", [(0.4, 0.5, 0.5)] * 19)
    wrong = scores(tmp_path / "wrong.jsonl", [(0.4, 0.5, 0.5), (0.4, "high", 0.5)])
    folder = photo_folder(tmp_path / "good", each=1, names=["owl"])
    empty = tmp_path / "empty"
    empty.mkdir()
    partial = tmp_path / "partial.json"
    partial.write_text('{"clip": "model"}')
    for options, said in (
        ([few], "at least 20"),
        ([wrong], "row 2: the scores"),
        ([folder], "--image-scorers FILE"),
        ([empty, "--image-scorers", shades], "no labelled pictures"),
        ([folder, "--image-scorers", partial], "no model for siglip, text"),
        ([few, "--share", "0.9"], "--share takes"),
        ([few, "--out", tmp_path / "new.json"], "name that file too"),
        ([tmp_path / "none"], "no such folder"),
    ):
        assert run(["histories", "calibrate-filter", *map(str, options)]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "new.json").exists()
