"""Builds with photographs, end to end: from a folder, a list of addresses, and through models of the filter."""

from __future__ import annotations

import json
import shutil
import threading
from collections import defaultdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from photo_folders import LICENCE, photo_folder
from PIL import Image

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.histories.building.checking.folder import Folder
from memgauge.histories.building.checking.run import structural_gates
from memgauge.histories.building.config import build_config
from memgauge.histories.building.pictures.channels import Channels
from memgauge.histories.building.pictures.entities import NAMES
from memgauge.histories.building.pictures.options import photo_options
from memgauge.histories.building.pipeline import WORK, build


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Four photographs of every name."""
    return photo_folder(tmp_path_factory.mktemp("photos"), each=4)


@pytest.fixture(scope="module")
def built(photos, tmp_path_factory):
    out = tmp_path_factory.mktemp("built") / "H"
    assert build(out, config(photos), jobs=1).status == "built"
    return out


def config(photos, questions=2, **options):
    images = photo_options(f"folder:{photos}", trust=True, licence=LICENCE, **options)
    return build_config("quick", seed=1, questions=questions, lengths=("32k",), images=images)


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def verdicts(folder):
    gates, _ = structural_gates(Folder(folder))
    return {gate.name: gate for gate in gates if gate.verdict != "holds"}


def pictures(folder):
    """Yield question, role and what the sidecar says of each picture."""
    for meta in lines(folder / "meta.jsonl"):
        for fact in (fact for session in meta["sessions"] for fact in session["facts"]):
            for picture in fact["pictures"]:
                yield meta["question_id"], fact["role"], picture


def digest(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_things_are_photographs_and_documents_are_drawn(built, photos):
    listed = {row["file"]: row for row in lines(built / "photographs.jsonl")}
    found = defaultdict(set)
    for question, role, picture in pictures(built):
        photographed = picture["file"] in listed
        assert photographed == (picture["kind"] == "entity")
        if photographed:
            with Image.open(built / "images" / picture["file"]) as image:
                assert image.size == (picture["width"], picture["height"]) == (264, 260)
            found[picture["file"]].add((question, role == "decoy"))
    assert found.keys() == listed.keys()
    assert len(listed) >= 5
    for places in found.values():
        assert len(places) == 1 or all(decoy for _, decoy in places)
    assert {row["license"] for row in listed.values()} == {"cc-by-4.0"}


def test_the_check_passes_and_says_what_did_not_run(built):
    found = verdicts(built)
    assert {name: gate.verdict for name, gate in found.items()} == {"photograph_filter": "not checked"}
    assert found["photograph_filter"].advice == "not run: clip, siglip, text; the photographs were taken on trust"


def test_no_exported_file_tells_paths_or_marks(built, photos):
    for path, data in digest(built).items():
        for word in (str(photos), photos.name, "photograph of q_", "/tmp"):
            assert word.encode() not in data, (path, word)
    public = (built / "dataset_32k.jsonl").read_text("utf-8")
    assert LICENCE not in public
    assert not (built / WORK).exists()


def test_the_descriptions_say_where_photographs_come_from(built):
    manifest = json.loads((built / "manifest.json").read_text("utf-8"))
    about = manifest["photographs"]
    count = len(lines(built / "photographs.jsonl"))
    assert (about["source"], about["exported"], about["by_reference"]) == ("folder", count, 0)
    assert about["channels"] == {"clip": "not run", "siglip": "not run", "text": "not run"}
    assert about["funnel"]["candidates"] == about["funnel"]["kept"] == 4 * len(NAMES)
    assert ["after images", 2] in manifest["funnel"]["stages"]
    licences, card = (built / "LICENSES.md").read_text("utf-8"), (built / "DATASET_CARD.md").read_text("utf-8")
    assert f"| {count} photographs of single things (`images/`) | a folder of the user's | cc-by-4.0 |" in licences
    assert "come without one: find it first" in licences
    assert "No picture was taken from the web" not in licences
    assert "clip not run, siglip not run, text not run" in card
    assert "Repetition is a cue" in card
    described = json.loads((built / "croissant.json").read_text("utf-8"))
    assert "https://creativecommons.org/licenses/by/4.0/" in described["license"]
    assert "not run: clip, siglip, text" in described["rai:dataPreprocessingProtocol"][-1]


def rewrite(folder, name, change):
    rows = lines(folder / name)
    change(rows)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def drop_row(folder):
    rewrite(folder, "photographs.jsonl", lambda rows: rows.pop())


def unlicensed(folder):
    rewrite(folder, "photographs.jsonl", lambda rows: rows[0].update(license="cc-by-nc-4.0"))


def without_address(folder):
    rewrite(folder, "photographs.jsonl", lambda rows: rows[0].update(by_reference=True))


def unknown_field(folder):
    rewrite(folder, "photographs.jsonl", lambda rows: rows[0].update(role="evidence"))


def no_list(folder):
    (folder / "photographs.jsonl").unlink()


def low_scores(folder):
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["photographs"]["channels"]["clip"] = "run"
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def shown_too_often(folder):
    """Both questions show one photograph, once as evidence."""
    things = [(question, role, p["file"]) for question, role, p in pictures(folder) if p["kind"] == "entity"]
    where, own = next((question, file) for question, role, file in things if role == "evidence")
    other = next(file for question, _, file in things if question != where)
    for name in ("meta.jsonl", "dataset_32k.jsonl"):
        (folder / name).write_text((folder / name).read_text("utf-8").replace(other, own), "utf-8")


@pytest.mark.parametrize(
    ("change", "gate"),
    [
        (drop_row, "photographs"),
        (unlicensed, "photographs"),
        (without_address, "photographs"),
        (unknown_field, "photographs"),
        (no_list, "photographs"),
        (low_scores, "photograph_filter"),
        (shown_too_often, "photographs_shown"),
    ],
)
def test_every_gate_can_fail(built, tmp_path, change, gate):
    folder = tmp_path / "H"
    shutil.copytree(built, folder)
    change(folder)
    assert verdicts(folder)[gate].verdict == "fails"


def options(out, photos, *more):
    return [
        *("histories", "build", "--n", "1", "--lengths", "32k", "--seed", "1", "-j", "1", "--out", str(out)),
        *("--images", f"folder:{photos}", *more),
    ]


def test_too_few_photographs_end_with_the_names(tmp_path, capsys):
    folder = photo_folder(tmp_path / "in", each=3, names=NAMES[:4])
    (folder / "hotdog").mkdir()
    command = options(tmp_path / "H", folder, "--trust-folder", "--image-license", LICENCE)
    assert run(command) == 3
    said = capsys.readouterr().out
    assert "ku_update lacks 1 (too few photographs of " in said
    assert "labels of the source that are no names: hotdog" in said
    assert f"names without a photograph: {NAMES[4]}" in said
    assert sorted(path.name for path in (tmp_path / "H").iterdir()) == [WORK, "images"]
    assert run([*command, "--allow-short"]) == 3
    assert "nothing is left to export" in capsys.readouterr().out


def test_a_folder_of_which_nothing_passes(tmp_path, capsys):
    folder = tmp_path / "in"
    for name in ("owl", "pear"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.jpg").write_bytes(b"\xff\xd8 broken")
    photo_folder(folder, each=1, names=["kiwi"])  # no licence
    assert run(options(tmp_path / "H", folder, "--trust-folder")) == 3
    said = capsys.readouterr().out
    assert "refused     2  format" in said
    assert "refused     1  licence" in said
    assert not (tmp_path / "H" / "dataset_32k.jsonl").exists()


def test_models_that_cannot_be_loaded_leave_nothing(tmp_path, photos, capsys, monkeypatch):
    def load(self):
        raise InputError("the weights are broken")

    monkeypatch.setattr(Channels, "load", load)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    path = tmp_path / "scorers.json"
    path.write_text(json.dumps(dict.fromkeys(("clip", "siglip", "blip2", "encoder"), "model")))
    assert run(options(tmp_path / "H", photos, "--image-scorers", str(path), "--image-license", LICENCE)) == 2
    assert "the weights are broken" in capsys.readouterr().err
    assert not (tmp_path / "H").exists()


@pytest.fixture
def host(photos):
    """A web host of the photographs; `gone` are paths that it has no more."""
    gone = set()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path in gone:
                self.send_error(404)
            else:
                super().do_GET()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(photos)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", gone
    server.shutdown()
    server.server_close()


def address_list(path, base, licence):
    rows = [
        json.dumps(
            {"url": f"{base}/{name.replace(' ', '%20')}/{n}.jpg", "query": name, "license": licence, "author": "A"}
        )
        for name in NAMES
        for n in range(4)
    ]
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


@pytest.mark.slow
def test_photographs_by_reference(tmp_path, host, capsys):
    """Without a licence no byte is exported; `fetch` gets them again, and sees what has changed."""
    base, gone = host
    listing = address_list(tmp_path / "list.jsonl", base, "")
    out = tmp_path / "H"
    command = ["histories", "build", "--n", "1", "--lengths", "32k", "--seed", "1", "-j", "1", "--out", str(out)]
    more = ["--images", f"urls:{listing}", "--trust-folder", "--image-delay", "0"]
    assert run([*command, *more]) == 3
    assert "refused   704  licence" in capsys.readouterr().out
    shutil.rmtree(out)
    assert run([*command, *more, "--by-reference"]) == 0
    listed = lines(out / "photographs.jsonl")
    assert listed
    assert all(row["by_reference"] and row["url"].startswith(base) for row in listed)
    assert not any((out / "images" / row["file"]).exists() for row in listed)
    public = (out / "dataset_32k.jsonl").read_text("utf-8")
    assert base not in public
    assert "kept by reference" in (out / "LICENSES.md").read_text("utf-8")
    found = verdicts(out)
    assert {gate.verdict for gate in found.values()} == {"not checked"}
    assert f"not run: {len(listed)} photographs are kept by reference" in found["photographs_by_reference"].advice
    capsys.readouterr()

    gone.add(listed[0]["url"].removeprefix(base))
    assert run(["histories", "fetch", str(out), "--delay", "0", "--json"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert said["counts"] == {"fetched": len(listed) - 1, "not fetched": 1}
    assert "404" in said["failed"][0]
    gone.clear()
    changed = out / "images" / listed[1]["file"]
    changed.unlink()
    rewrite(out, "photographs.jsonl", lambda rows: rows[1].update(url=rows[2]["url"]))
    assert run(["histories", "fetch", str(out), "--delay", "0"]) == 3
    assert "changed" in capsys.readouterr().out
    rewrite(out, "photographs.jsonl", lambda rows: rows[1].update(url=listed[1]["url"]))
    assert run(["histories", "fetch", str(out), "--delay", "0"]) == 0
    assert set(verdicts(out)) == {"photograph_filter"}


@pytest.mark.slow
def test_addresses_with_licences(tmp_path, host):
    base, _ = host
    images = photo_options(f"urls:{address_list(tmp_path / 'list.jsonl', base, LICENCE)}", trust=True, delay=0)
    one = build_config("quick", seed=1, questions=1, lengths=("32k",), images=images)
    assert build(tmp_path / "H", one, jobs=1).status == "built"
    rows = lines(tmp_path / "H" / "photographs.jsonl")
    assert all((tmp_path / "H" / "images" / row["file"]).exists() for row in rows)
    assert {row["author"] for row in rows} == {"A"}
    assert set(verdicts(tmp_path / "H")) == {"photograph_filter"}


@pytest.mark.slow
def test_random_models_filter(tmp_path, photos):
    """All three channels run, on tiny models with random weights; thresholds are theirs, set by `calibrate-filter`."""
    pytest.importorskip("torch")
    from scorer_models import save_models

    save_models(tmp_path)
    path, calibrated = tmp_path / "scorers.json", tmp_path / "calibrated.json"
    low = {"clip": -1.0, "siglip": 0.0, "text": -1.0}
    path.write_text(json.dumps({n: n for n in ("clip", "siglip", "blip2", "encoder")} | {"thresholds": low}))
    command = [
        "histories",
        "calibrate-filter",
        str(photo_folder(tmp_path / "good", each=20, names=["owl"], start=5000)),
    ]
    assert run([*command, "--image-scorers", str(path), "--out", str(calibrated)]) == 0
    images = photo_options(f"folder:{photos}", licence=LICENCE, scorers=str(path))
    one = build_config("quick", seed=1, questions=1, lengths=("32k",), images=images)
    assert build(tmp_path / "H", one, jobs=1).status == "built"
    assert verdicts(tmp_path / "H") == {}
    about = json.loads((tmp_path / "H" / "manifest.json").read_text("utf-8"))["photographs"]
    assert about["channels"] == {"clip": "run", "siglip": "run", "text": "run"}
    assert about["thresholds"] == low
    assert all(None not in row["scores"].values() for row in lines(tmp_path / "H" / "photographs.jsonl"))


@pytest.mark.slow
def test_processes_and_interruptions_change_nothing(built, photos, tmp_path, monkeypatch):
    from memgauge.histories.building.pictures import album

    put, calls = album.put, iter(range(1000))

    def dying(path: Path, data: bytes) -> None:
        if next(calls) == 60:
            raise KeyboardInterrupt
        put(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(album, "put", dying)
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path / "H", config(photos), jobs=1)
    assert build(tmp_path / "H", config(photos), jobs=2).status == "built"
    assert digest(tmp_path / "H") == digest(built)


@pytest.mark.slow
def test_reviewers_see_the_photographs_that_are_exported(photos, tmp_path):
    images = photo_options(f"folder:{photos}", trust=True, licence=LICENCE)
    one = build_config("quick", seed=1, questions=1, lengths=("32k",), images=images, review=True)
    assert build(tmp_path / "H", one, jobs=1).status == "review"
    assert (
        run(["histories", "review", "export", str(tmp_path / "H"), "--out", str(tmp_path / "pages"), "--format", "csv"])
        == 0
    )
    (page,) = (tmp_path / "pages").iterdir()
    text = page.read_text("utf-8")
    assert "photograph of q_" not in text
    shown = {str(p.relative_to(tmp_path / "H" / "images")) for p in (tmp_path / "H" / "images").rglob("*.jpg")}
    assert any(file in text for file in shown)


@pytest.mark.slow
def test_fewer_questions_when_asked_for(tmp_path, capsys):
    """With photographs of half of the names some line falls short, and the others are exported when told so."""
    folder = photo_folder(tmp_path / "in", each=4, names=NAMES[::2])
    out = tmp_path / "H"
    command = ["histories", "build", "--n", "6", "--lengths", "32k", "--seed", "1", "--out", str(out)]
    command += ["--images", f"folder:{folder}", "--trust-folder", "--image-license", LICENCE]
    assert run(command) == 3
    assert "(too few photographs of " in capsys.readouterr().out
    assert not (out / "manifest.json").exists()
    assert run([*command, "--allow-short"]) == 0
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert sum(manifest["short"].values()) == 6 - manifest["counts"]["questions"] > 0
    assert any(reason.startswith("images: too few photographs of ") for reason in manifest["funnel"]["reasons"])
    assert set(verdicts(out)) == {"photograph_filter"}
