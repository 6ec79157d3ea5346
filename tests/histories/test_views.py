"""`memgauge histories ablate` and `preview`: copies without pictures, and pages of one history."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "checking"))

from broken import make, read
from history_files import picture, record, told, turn

from memgauge.cli.app import run
from memgauge.histories.building.ablating import ablate
from memgauge.histories.building.config import build_config
from memgauge.histories.building.pipeline import build
from memgauge.histories.preview import preview_page, thumbnail
from memgauge.histories.reading import open_histories


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        out = tmp_path_factory.mktemp("views") / "H"
        return make(out, patch, questions=8, lengths=("32k", "64k"), profile="quick")


@pytest.fixture(scope="module")
def copies(built):
    for drop in ("evidence", "all"):
        ablate(built, built.parent / drop, drop)
    return built.parent


def of(folder, length="64k"):
    histories = open_histories(folder)
    return {r.question_id: r for r in histories.records(histories.split(length))}


@pytest.mark.parametrize("drop", ["evidence", "all"])
def test_pictures_are_gone_and_nothing_else(built, copies, drop):
    for length in ("32k", "64k"):
        before, after = of(built, length), of(copies / drop, length)
        assert list(before) == list(after)
        for name, one in before.items():
            other = after[name]
            assert (one.question, one.answer, one.question_date) == (other.question, other.answer, other.question_date)
            assert [(s.id, s.date) for s in one.sessions] == [(s.id, s.date) for s in other.sessions]
            for a, b in zip(
                (t for s in one.sessions for t in s.turns), (t for s in other.sessions for t in s.turns), strict=True
            ):
                assert (a.role, a.has_answer) == (b.role, b.has_answer)
                if a.images and (drop == "all" or a.has_answer):
                    assert b.images == ()
                    assert b.content.split() == a.content.replace("<image>", " ").split()
                    assert "  " not in b.content
                else:
                    assert (a.content, a.images) == (b.content, b.images)
    files = [p for p in (copies / drop / "images").rglob("*") if p.is_file()]
    assert bool(files) == (drop == "evidence")
    assert all(hashlib.sha256(p.read_bytes()).hexdigest() == p.stem for p in files)


@pytest.mark.parametrize("drop", ["evidence", "all"])
def test_the_manifest_says_what_it_is(built, copies, drop):
    there, here = (json.loads((f / "manifest.json").read_text()) for f in (built, copies / drop))
    assert here["config"] == {**there["config"], "ablation": f"drop-images:{drop}"}
    assert here["ablation"]["drop_images"] == drop
    marks = [t for r in of(built).values() for s in r.sessions for t in s.turns if drop == "all" or t.has_answer]
    assert here["ablation"]["pictures_dropped"] == sum(len(t.images) for t in marks)
    about = hashlib.sha256((built / "manifest.json").read_bytes()).hexdigest()
    assert here["ablation"]["of_manifest_sha256"] == about
    assert about in (copies / drop / "DATASET_CARD.md").read_text()
    for meta in read(copies / drop / "meta.jsonl"):
        figures = meta["lengths"]["64k"]
        assert figures["pictures"] == of(copies / drop)[meta["question_id"]].images
        assert figures["picture_tokens"] == 2000 * figures["pictures"]
        assert figures["tokens"] == figures["text_tokens"] + figures["picture_tokens"]


@pytest.mark.parametrize("drop", ["evidence", "all"])
def test_check_inspect_and_run_read_a_copy(copies, drop, capsys):
    folder = copies / drop
    assert run(["histories", "check", str(folder), "--json"]) == 0
    gates = json.loads(capsys.readouterr().out)["gates"]
    assert {g["name"] for g in gates.values() if g["verdict"] == "not checked"} >= {"leak_gates", "text_per_picture"}
    assert gates["sidecar"]["verdict"] == gates["solver"]["verdict"] == gates["answer_not_told"]["verdict"] == "holds"
    assert run(["histories", "inspect", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["splits"]["32k"]["broken"]["count"] == 0
    assert found["ablation"] == f"drop-images:{drop}"
    # A build neither takes the copy for its own nor goes on in it.
    config = ["--profile", "quick", "--n", "8", "--lengths", "32k,64k", "--seed", "1"]
    assert run(["histories", "build", *config, "--out", str(folder)]) == 2
    assert f"ablation: 'drop-images:{drop}' here, None asked for" in capsys.readouterr().err


def test_a_copy_that_is_not_what_it_says_fails(copies, tmp_path, capsys):
    folder = shutil.copytree(copies / "all", tmp_path / "B")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["config"]["ablation"] = "drop-images:evidence"  # but all are gone
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert run(["histories", "check", str(folder), "--json"]) == 1
    gates = json.loads(capsys.readouterr().out)["gates"]
    assert gates["pictures_per_length"]["verdict"] == gates["sidecar"]["verdict"] == "fails"
    manifest["config"]["ablation"] = "drop-images:few"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert run(["histories", "check", str(folder)]) == 2


def test_the_same_copy_twice(built, copies, tmp_path):
    ablate(built, tmp_path / "E", "evidence")
    files = sorted(p.relative_to(tmp_path / "E") for p in (tmp_path / "E").rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(copies / "evidence") for p in (copies / "evidence").rglob("*") if p.is_file())
    assert all((tmp_path / "E" / f).read_bytes() == (copies / "evidence" / f).read_bytes() for f in files)


def test_what_cannot_be_ablated(built, copies, tmp_path, capsys):
    def refused(folder, out, words):
        assert run(["histories", "ablate", str(folder), "--drop-images", "all", "--out", str(out)]) == 2
        assert words in capsys.readouterr().err

    (tmp_path / "N").mkdir()
    refused(tmp_path / "N", tmp_path / "O", "manifest.json")
    refused(built, copies / "all", "not empty")
    refused(copies / "all", tmp_path / "O", "was made by `ablate` itself")
    refused(built, built / "inside", "lies in the folder")
    changed = shutil.copytree(built, tmp_path / "C")
    with (changed / "dataset_32k.jsonl").open("a") as file:
        file.write("{}\n")
    refused(changed, tmp_path / "O", "was changed since it was built")
    gone = shutil.copytree(built, tmp_path / "G")
    shutil.rmtree(gone / "images")
    assert run(["histories", "ablate", str(gone), "--drop-images", "evidence", "--out", str(tmp_path / "O")]) == 2
    assert "is missing; `memgauge histories inspect` lists" in capsys.readouterr().err
    assert not (tmp_path / "O").exists()


HOSTILE = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked=2'> `a` \u202eevil \u05e9\u05dc\u05d5\u05dd"
)


@pytest.fixture
def hostile(tmp_path):
    sessions = {1: told(f"{HOSTILE} <image> and <image>", "a.png", "../b.png"), 3: turn("user", f"{HOSTILE}")}
    row = record("q_<b>1", "information_extraction", f"{HOSTILE}?", HOSTILE, sessions)
    row["haystack_sessions"][1][0]["images"][0]["blip_caption"] = HOSTILE
    row["haystack_dates"][1] = f"2024/05/11 {HOSTILE}"
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture())
    (tmp_path / "dataset_32k.jsonl").write_text(json.dumps(row) + "\n")
    return tmp_path


def test_a_page_holds_everything_and_nothing_hostile(hostile, capsys):
    out = hostile / "page.html"
    assert run(["histories", "preview", str(hostile), "q_<b>1", "--split", "32k", "--out", str(out)]) == 0
    page = out.read_text()
    scripts = re.findall(r"<script[^>]*>", page)
    assert scripts == ["<script>"]  # the page's own
    assert not re.search(r"<img(?! src=\"data:image/jpeg;base64,)", page)
    assert "https://" not in page
    assert "http://" not in page
    assert page.count("data:image/jpeg;base64,") == 1
    assert "[picture 1] and [picture 2 cannot be shown:" in page
    assert "has the part .." in page
    assert "\u202e" not in page  # overrides are written as escapes
    assert page.count('<p class="said" dir="auto">') == 13  # the question and twelve messages
    # The gold stays out unless it is asked for.
    assert "evidence" not in page.replace("Answer and evidence are not shown", "")
    assert "the answer" not in page
    gold = preview_page(hostile, "q_<b>1", gold=True)
    assert gold.count("<mark>evidence</mark>") == 1
    assert "Session 2 (evidence)" in gold
    assert "the answer" in gold


def test_what_cannot_be_shown(hostile, tmp_path, capsys):
    assert run(["histories", "preview", str(hostile), "q_2", "--out", str(tmp_path / "p.html")]) == 2
    assert (
        run(["histories", "preview", str(hostile), "q_<b>1", "--split", "64k", "--out", str(tmp_path / "p.html")]) == 2
    )
    assert run(["histories", "preview", str(hostile), "q_<b>1", "--out", str(hostile / "images")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not (tmp_path / "p.html").exists()


def test_thumbnails_are_small_upright_and_white_behind():
    import io

    import PIL.Image

    clear = PIL.Image.new("RGBA", (900, 300), (0, 0, 0, 0))
    out = io.BytesIO()
    clear.save(out, "PNG")
    small = PIL.Image.open(io.BytesIO(thumbnail(out.getvalue())))
    assert small.size == (320, 107)
    assert min(small.getpixel((10, 10))) > 250


@pytest.mark.browser
def test_a_browser_shows_the_page_and_runs_nothing(hostile):
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    path = hostile / "page.html"
    path.write_text(preview_page(hostile, "q_<b>1", gold=True))
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 390, "height": 900})
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto(path.as_uri())
        assert page.evaluate("window.hacked") is None
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
        assert said == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("Array.from(document.images).map(i => i.complete && i.naturalWidth > 0)") == [True]
        assert page.locator(".message.marked").count() == 2
        browser.close()


def test_the_build_that_the_copies_come_from_is_finished(built):
    config = build_config("quick", seed=1, questions=8, lengths=("32k", "64k"))
    assert build(built, config, jobs=1).selection is None
