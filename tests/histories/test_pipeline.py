"""The build as a whole: the same bytes however it runs or is interrupted, quotas, refusals to mix, review."""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.histories.building import pipeline, question, selection
from memgauge.histories.building.config import BuildConfig, Line, build_config, config_from
from memgauge.histories.building.pipeline import WORK, build, estimated_bytes
from memgauge.histories.building.question import Place
from memgauge.histories.building.selection import select
from memgauge.histories.building.text import ProceduralWriter
from memgauge.histories.building.units import Header, read_body, read_header

QUESTIONS = 6


def config(seed=1, questions=QUESTIONS, **options) -> BuildConfig:
    return build_config("quick", seed=seed, questions=questions, lengths=("32k",), **options)


def digest(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference") / "H"
    assert build(folder, config(), jobs=1).status == "built"
    return folder


def command(folder: Path, jobs: int) -> list[str]:
    options = f"--seed 1 --n {QUESTIONS} --lengths 32k --jobs {jobs}".split()
    return [sys.executable, "-m", "memgauge", "histories", "build", "--out", str(folder), *options]


def test_two_processes_another_hash_seed_and_another_locale_give_the_same_bytes(built, tmp_path):
    environment = {"PATH": "", "PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    done = subprocess.run(command(tmp_path / "H", 2), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / "H") == digest(built)


KILLS = {
    "while candidates are made": (
        "import memgauge.histories.building.question as q\n"
        "write, count = q.write_unit, iter(range(99))\n"
        "def dying(*a):\n    write(*a)\n    next(count) == 3 and os.kill(os.getpid(), 9)\n"
        "q.write_unit = dying\n"
    ),
    "in the middle of a picture": (
        "import memgauge.histories.building.store as s\n"
        "rename, count = s.Path.replace, iter(range(999))\n"
        "def dying(self, to):\n"
        "    next(count) == 25 and os.kill(os.getpid(), 9)\n    return rename(self, to)\n"
        "s.Path.replace = dying\n"
    ),
    "while the splits are written": (
        "import memgauge.histories.building.publish as p\np.write_parquet = lambda *a: os.kill(os.getpid(), 9)\n"
    ),
    "just before the manifest": (
        "import memgauge.histories.building.publish as p\n"
        "write = p.write_whole\n"
        "def dying(path, text):\n"
        "    path.name == 'manifest.json' and os.kill(os.getpid(), 9)\n    write(path, text)\n"
        "p.write_whole = dying\n"
    ),
}


@pytest.mark.parametrize("when", KILLS)
def test_a_killed_build_goes_on(built, tmp_path, when):
    out = tmp_path / "H"
    script = (
        f"import os\nfrom pathlib import Path\n{KILLS[when]}"
        "from memgauge.histories.building.config import build_config\n"
        "from memgauge.histories.building.pipeline import build\n"
        f"build(Path({str(out)!r}), build_config('quick', seed=1, questions={QUESTIONS}, lengths=('32k',)), jobs=1)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (out / "manifest.json").exists()
    before = {path: path.stat().st_mtime_ns for path in (out / WORK / "units").glob("q_*.zst")}
    assert (len(before) == QUESTIONS) == ("candidates" not in when and "picture" not in when)
    outcome = build(out, config(), jobs=1)
    assert outcome.status == "built"
    assert digest(out) == digest(built)


def test_finished_candidates_are_not_made_again(tmp_path, monkeypatch):
    folder = tmp_path / "H"
    (folder / WORK).mkdir(parents=True)
    monkeypatch.setattr(pipeline, "publish", lambda *a, **k: pytest.fail("not yet"))
    with pytest.raises(pytest.fail.Exception):
        build(folder, config(questions=2), jobs=1)
    units = sorted((folder / WORK / "units").iterdir())
    assert len(units) == 2
    monkeypatch.setattr(pipeline.Maker, "make", lambda self, place: pytest.fail("made again"))
    with pytest.raises(pytest.fail.Exception, match="not yet"):
        build(folder, config(questions=2), jobs=1)
    assert [read_header(path).rejected for path in units] == ["", ""]


def test_another_configuration_is_refused(built, tmp_path):
    with pytest.raises(InputError, match="seed: 1 here, 2 asked for"):
        build(built, config(seed=2))
    assert build(built, config()).selection is None  # finished before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="other files"):
        build(tmp_path / "full", config())
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="in the way"):
        build(tmp_path / "file", config())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text('{"format": "memgauge-streams"}')
    with pytest.raises(InputError, match="another kind"):
        build(tmp_path / "other", config())


@pytest.mark.parametrize("finished", [True, False])
def test_a_build_of_another_version_is_not_continued(tmp_path, finished):
    """Its texts would come from other banks; a folder from before versions were kept has none."""
    options = {**config().to_dict(), "array": False}
    manifest = {"format": "memgauge-histories", "format_version": 1, "config": options}
    (tmp_path / "H" / WORK).mkdir(parents=True)
    path = tmp_path / "H" / ("manifest.json" if finished else f"{WORK}/config.json")
    path.write_text(json.dumps(manifest if finished else options))
    with pytest.raises(InputError, match=r"format_version: (1|None) here, \d+ asked for"):
        build(tmp_path / "H", config())


def test_a_folder_is_built_by_one_process_at_a_time(tmp_path):
    (tmp_path / "H" / WORK / "units").mkdir(parents=True)
    with pipeline.locked(tmp_path / "H"), pytest.raises(InputError, match="another process"):
        build(tmp_path / "H", config())


def test_a_full_disk_is_foreseen(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1_500_000})())
    need = estimated_bytes(config()) / 1e6
    with pytest.raises(InputError, match=rf"about {need:.1f} MB are needed and the disk has 1\.5 MB free; make room"):
        build(tmp_path / "H", config())
    assert not (tmp_path / "H").exists()
    whole = build_config("full")
    assert 2e9 < estimated_bytes(whole) < 10e9


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refused(out, words):
        with pytest.raises(InputError, match=words):
            build(out, config())

    (tmp_path / "file").write_text("mine")
    refused(tmp_path / "file" / "H", "file is a file; choose another folder")
    (tmp_path / "other" / WORK).mkdir(parents=True)
    (tmp_path / "other" / WORK / "swift.json").write_text("mine")
    refused(tmp_path / "other", r"holds other files \(swift.json\)")
    may = pipeline.os.access
    closed = tmp_path / "closed"
    closed.mkdir()
    # Root may write everywhere, so the question is answered for it.
    monkeypatch.setattr(pipeline.os, "access", lambda p, mode, **k: p != closed and may(p, mode, **k))
    refused(closed, "closed: no permission to write into it; choose another folder, or change its permissions")
    refused(closed / "H" / "deep", "no permission to write into .*closed")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refused(tmp_path / "link", "cannot be written")
    assert (tmp_path / "file").read_text() == "mine"
    assert [p.name for p in (tmp_path / "other").rglob("*")] == [WORK, "swift.json"]
    assert not any(closed.iterdir())


def test_a_disk_that_fills_up_stops_the_build_which_then_goes_on(tmp_path, monkeypatch):
    one, out = config(questions=1), tmp_path / "H"

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(question, "put_picture", full)
        with pytest.raises(InputError, match=r"H: cannot be written any more \(No space left on device\); make room"):
            build(out, one, jobs=1)
    assert build(out, one, jobs=1).status == "built"


def test_a_review_of_no_build_is_refused(tmp_path, capsys):
    for words in (["export", str(tmp_path)], ["status", str(tmp_path)]):
        assert run(["histories", "review", *words]) == 2
        assert "no build is under way there" in capsys.readouterr().err


def test_adding_a_question_leaves_the_others_alone(built, tmp_path):
    folder = tmp_path / "H"
    build(folder, config(questions=QUESTIONS + 1), jobs=1)
    one = set((built / "dataset_32k.jsonl").read_text().splitlines())
    more = set((folder / "dataset_32k.jsonl").read_text().splitlines())
    assert one < more


def test_two_seeds_share_no_question(built, tmp_path):
    build(tmp_path / "H", config(seed=2), jobs=1)
    asked = [
        {json.loads(line)["question"] for line in (folder / "dataset_32k.jsonl").read_text().splitlines()}
        for folder in (built, tmp_path / "H")
    ]
    assert not asked[0] & asked[1]


@pytest.mark.parametrize("options", [{"picture": "patch"}, {"captions": "rich"}, {"turn_tokens": 4}])
def test_other_accountings_and_captions(built, tmp_path, options):
    folder = tmp_path / "H"
    build(folder, config(questions=1, **options), jobs=1)
    manifest = json.loads((folder / "manifest.json").read_text())
    figures = manifest["lengths"]["32k"]
    assert figures["pictures"]["each"] == [10]
    assert 0.99 <= figures["fill"]["least"] <= figures["fill"]["most"] <= 1
    reference = json.loads((built / "manifest.json").read_text())["lengths"]["32k"]
    if "picture" in options:  # pictures are cheaper, so that there is more text
        assert 50 < figures["tokens_per_picture"] < 700
        assert figures["sessions"] > reference["sessions"]
    text = (folder / "dataset_32k.jsonl").read_text()
    assert ("a photo of a" in text) or not options.get("captions")


def test_the_papers_counts(tmp_path):
    build(tmp_path / "H", build_config("paper-counts", questions=1, lengths=("32k",)), jobs=1)
    figures = json.loads((tmp_path / "H" / "manifest.json").read_text())["lengths"]["32k"]
    assert figures["pictures"]["each"] == [20]
    assert 14 <= figures["sessions"] <= 17
    assert figures["fill"] == {"least": 1.0, "mean": 1.0, "most": 1.0}


def test_the_papers_text_sufficient_items():
    lines = {line.name: line for line in build_config("paper").quota()}
    told = {name: line.quota for name, line in lines.items() if line.told}
    assert sum(told.values()) == 65
    for name in ("msr_arithmetic", "msr_counting", "msr_entity"):
        whole = {"msr_arithmetic": 50, "msr_counting": 46, "msr_entity": 47}[name]
        assert lines[name].quota + told[f"{name}.told"] == whole
    assert sum(line.quota for line in lines.values()) == 789
    plan = Place(lines["msr_counting.told"], 0).plan(1)
    assert plan.told
    assert plan.builder == "msr_counting"


@pytest.mark.parametrize("builder", ["msr_arithmetic", "msr_counting", "msr_entity"])
def test_a_text_sufficient_item_is_made(tmp_path, builder):
    maker = pipeline.Maker(build_config("paper", lengths=("32k",)), tmp_path, ProceduralWriter)
    header = maker.make(Place(Line(f"{builder}.told", 2, told=True), 0))
    assert header.rejected == ""
    body = read_body(next((tmp_path / WORK / "units").iterdir()))
    assert body["meta"]["visual_need"] == "sufficient"
    assert body["meta"]["counterfactual"] is None
    assert body["meta"]["floor"] == "1"


def test_options_that_cannot_be_built():
    for options in (
        {"questions": 0},
        {"lengths": ("32k", "32k")},
        {"lengths": ("32",)},
        {"seed": -1},
        {"captions": "all"},
        {"picture": "rest"},
        {"turn_tokens": -1},
    ):
        with pytest.raises(InputError):
            build_config("quick", **options)
    with pytest.raises(InputError, match="unknown profile"):
        build_config("huge")
    with pytest.raises(InputError, match="leave --image-tokens out"):
        build_config("paper-counts", picture="fixed:2000")
    made = build_config("full", lengths=("128k", "32k"))
    assert made.lengths == ("32k", "128k")
    assert config_from(json.loads(json.dumps(made.to_dict()))) == made
    with pytest.raises(InputError, match="lack"):
        config_from({"profile": "quick"})


# Selection, with made-up candidates.


def header(place: Place, *, rejected="", question=None, evidence=(), others=()) -> Header:
    name = place.question_id(0)
    text = question or f"What is the {name} of {name} at {name}?"
    return Header(name, place.line.name, place.index, place.revision, rejected, text, (), evidence, others, {})


def chosen(made, lines, reviewed=None):
    return select(
        lines,
        lambda places: [made(place) for place in places],
        reviewed=reviewed or {},
        revisions={},
        question_id=lambda place: place.question_id(0),
    )


def test_rejected_candidates_are_replaced_in_order():
    lines = [Line("ie_chat", 3), Line("ku_update", 2)]
    found = chosen(lambda p: header(p, rejected="text: length" if p.index in (0, 3) else ""), lines)
    accepted = {(p.line.name, p.index) for p, _ in found.accepted}
    assert accepted == {("ie_chat", 1), ("ie_chat", 2), ("ie_chat", 4), ("ku_update", 1), ("ku_update", 2)}
    assert found.rejected == {"text: length": 3}
    assert found.candidates == 8
    assert not found.short
    assert dict(found.funnel()) == {
        "candidates": 8,
        "after question": 8,
        "after assembly": 8,
        "after text": 5,
        "after duplicate": 5,
        "after review": 5,
    }


def test_questions_and_evidence_pictures_come_once():
    lines = [Line("ie_chat", 3)]
    questions = ["Where was the red bag of Ann on that day?", "where was the red bag of Ann on that day", None, None]
    found = chosen(lambda p: header(p, question=questions[p.index] if p.index < 4 else None), lines)
    assert [p.index for p in sorted((p for p, _ in found.accepted), key=lambda p: p.index)] == [0, 2, 3]
    found = chosen(lambda p: header(p, evidence=("a",) if p.index < 2 else (), others=("b",)), lines)
    assert found.rejected == {"duplicate: picture": 1}
    found = chosen(
        lambda p: header(p, evidence=("a",) if p.index == 0 else (), others=("a",) if p.index == 1 else ()), lines
    )
    assert found.rejected == {"duplicate: picture": 1}


def test_a_line_that_falls_short_is_named():
    found = chosen(
        lambda p: header(p, rejected="assembly: decoys" if p.line.name == "ku_update" else ""),
        [Line("ie_chat", 3), Line("ku_update", 2)],
    )
    assert found.short == {"ku_update": 2}
    assert found.rejected == {"assembly: decoys": 24}


def test_a_review_changes_no_other_candidate():
    lines = [Line("ie_chat", 2)]
    same = "Where was the red bag of Ann on that day?"
    first = Place(lines[0], 0).question_id(0)
    found = chosen(lambda p: header(p, question=same if p.index < 2 else None), lines, {first: "leak"})
    # The second repeats the first, which is out; it stays out, so that what was reviewed stays in.
    assert found.rejected == {"review: leak": 1, "duplicate: question": 1}
    assert sorted(p.index for p, _ in found.accepted) == [2, 3]


def test_too_few_candidates_end_with_status_3(tmp_path, monkeypatch, capsys):
    class Nothing:
        def __init__(self, *_):
            pass

        def problem(self, header):
            return "duplicate: question" if header.line == "ku_update" else ""

    monkeypatch.setattr(selection, "Screen", Nothing)
    monkeypatch.setattr(pipeline.Maker, "make", lambda self, place: pipeline_header(self, place))
    options = ["histories", "build", "--out", str(tmp_path / "H"), "--n", "19", "--lengths", "32k", "-j", "1"]
    assert run(options) == 3
    assert "ku_update lacks 1" in capsys.readouterr().out
    assert not (tmp_path / "H" / "manifest.json").exists()


def pipeline_header(maker, place):
    from memgauge.histories.building.units import write_unit

    made = header(place)
    made = Header(place.question_id(maker.config.seed), *(getattr(made, n) for n in made.__slots__[1:]))
    write_unit(maker.units, made, {})
    return made


# Review.


def review_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open(newline="")))


def write_rows(path: Path, rows) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_three_rounds_of_review(tmp_path, capsys):
    out, pages = tmp_path / "H", tmp_path / "review"
    start = ["histories", "build", "--out", str(out), "--n", "2", "--lengths", "32k", "-j", "1", "--review"]
    assert run(start) == 0
    assert "wait for their review" in capsys.readouterr().out
    assert not (out / "manifest.json").exists()

    def export(*more):
        assert run(["histories", "review", "export", str(out), "--out", str(pages), *more]) == 0

    def take(rows, reviewer="reviewer"):
        return run(
            [
                "histories",
                "review",
                "import",
                str(out),
                str(write_rows(tmp_path / "d.csv", rows)),
                "--reviewer",
                reviewer,
            ]
        )

    in_the_way = out / ".build" / "config.json"
    assert run(["histories", "review", "export", str(out), "--out", str(in_the_way)]) == 2
    assert "cannot be written" in capsys.readouterr().err
    export("--format", "csv", "--assignees", "ann,bob", "--overlap", "1")
    ann, bob = review_rows(pages / "round1-ann.csv"), review_rows(pages / "round1-bob.csv")
    assert {r["item_id"] for r in ann} == {r["item_id"] for r in bob}
    assert len(ann) == 2
    first, second = ann
    # One item is rejected by both, the other accepted by both.
    for rows in (ann, bob):
        rows[0] |= {"decision": "reject", "reason": "ambiguous"}
        rows[1] |= {"decision": "accept"}
    assert take(ann, "ann") == 0
    assert take(ann, "ann") == 1  # decided already
    assert "has decided on it already" in capsys.readouterr().out
    stale = [dict(bob[0], checksum="0" * 16), dict(bob[1], item_id="q_0000000000")]
    assert take(stale, "bob") == 1
    said = capsys.readouterr().out
    assert "has changed" in said
    assert "no item of that id" in said
    assert take(bob, "bob") == 0
    assert "Cohen's kappa 1.000" in capsys.readouterr().out

    assert run(start) == 0  # refills the quota
    assert run(["histories", "review", "status", str(out), "--json"]) == 0
    said = capsys.readouterr().out
    counts = json.loads(said[said.index("{") :])
    assert (counts["round 1"], counts["round 2"], counts["out"], counts["to be built"]) == (1, 1, 1, 0)

    export("--round", "1")
    page = (pages / "round1-reviewer.html").read_text()
    assert "http" not in page.replace("http-equiv", "")
    assert "data:image/jpeg;base64," in page
    export("--format", "csv", "--round", "1")
    (row,) = review_rows(pages / "round1-reviewer.csv")
    assert row["item_id"] not in (first["item_id"], second["item_id"])
    bad = [
        dict(row, decision="revise", reason="unnatural", edit_question="No question"),
        dict(row, decision="revise", reason="odd"),
        dict(row, decision="maybe"),
        dict(row, decision="revise", reason="leak", edit_answer="something else"),
        dict(row, round="3", decision="accept"),
    ]
    assert take(bad) == 1
    assert capsys.readouterr().out.count("row ") == 5
    wording = "Could you tell me: " + row["question"]
    assert take([dict(row, decision="revise", reason="unnatural", edit_question=wording)]) == 0
    # The item is back in round 1 with its new wording; then all rounds pass.
    for number in (1, 2, 3):
        export("--format", "csv", "--round", str(number))
        rows = review_rows(pages / f"round{number}-reviewer.csv")
        assert take([dict(r, decision="accept") for r in rows]) == 0
    assert run(start) == 0
    records = [json.loads(line) for line in (out / "dataset_32k.jsonl").read_text().splitlines()]
    assert wording in {r["question"] for r in records}
    assert first["item_id"] not in {r["question_id"] for r in records}
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["review"] == {"rounds": 3, "kappa": 1.0, "pairs": 2}
    assert "three rounds of human review" in (out / "DATASET_CARD.md").read_text()
    history = [json.loads(line)["review"] for line in (out / "meta.jsonl").read_text().splitlines()]
    assert all(entry[-1]["decision"] == "accept" for entry in history)
    assert "ann" not in json.dumps(history)
    assert not (out / WORK).exists()


def test_an_item_that_is_sent_back_is_written_anew(tmp_path):
    out = tmp_path / "H"
    options = config(questions=1, review=True)
    assert build(out, options, jobs=1).status == "review"
    (unit,) = (out / WORK / "units").iterdir()
    before = read_body(unit)
    from memgauge.histories.building.review import Decision, Reviews

    reviews = Reviews.read(out / WORK)
    reviews.add(Decision(before["question_id"], 1, "ann", "", "revise", "unnatural", "too stiff"))
    reviews.write(out / WORK)
    assert build(out, options, jobs=1).status == "review"
    after = read_body(out / WORK / "units" / (unit.stem + ".r1.zst"))
    assert (after["question"], after["answer"]) == (before["question"], before["answer"])
    assert after["sessions"] != before["sessions"]
    assert after["meta"]["sessions"][0]["session_id"] == before["meta"]["sessions"][0]["session_id"]
