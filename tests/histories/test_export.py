"""The exported files of a small build: layout, gold apart from the public part, hashes, Croissant, the subset."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from itertools import pairwise

import polars as pl
import pytest

from memgauge.histories.building.accounting import from_manifest, text_tokens, token_counter
from memgauge.histories.building.config import build_config
from memgauge.histories.building.export import subset
from memgauge.histories.building.model import TYPES
from memgauge.histories.building.pipeline import build
from memgauge.histories.building.profiles import PAPER_COUNTS
from memgauge.histories.building.timeline import read_stamp
from memgauge.histories.inspection import inspect_path
from memgauge.histories.reading import open_histories

FIELDS = [
    "question_id",
    "question_type",
    "question",
    "answer",
    "question_date",
    "haystack_dates",
    "haystack_session_ids",
    "haystack_sessions",
    "answer_session_ids",
]
LENGTHS = ("32k", "64k")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Every builder once and two refusals at two lengths, with the array form."""
    folder = tmp_path_factory.mktemp("built") / "H"
    outcome = build(folder, build_config("quick", seed=3, questions=19), jobs=1, array=True)
    assert outcome.status == "built"
    return folder


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def splits(built):
    return {name: lines(built / f"dataset_{name}.jsonl") for name in LENGTHS}


@pytest.fixture(scope="session")
def meta(built):
    return {row["question_id"]: row for row in lines(built / "meta.jsonl")}


def test_the_folder_holds_what_is_promised_and_nothing_else(built):
    names = {path.name for path in built.iterdir()}
    assert names == {
        *(f"dataset_{name}.{form}" for name in LENGTHS for form in ("jsonl", "parquet", "json")),
        *("meta.jsonl", "agent_subset.json", "manifest.json", "croissant.json", "LICENSES.md", "DATASET_CARD.md"),
        "images",
    }
    assert not [path for path in built.rglob("*") if path.name.startswith(".")]


def test_records_have_the_released_layout(splits):
    for records in splits.values():
        for record in records:
            assert list(record) == FIELDS
            count = len(record["haystack_sessions"])
            assert len(record["haystack_dates"]) == len(record["haystack_session_ids"]) == count
            dates = [read_stamp(text) for text in record["haystack_dates"]]
            assert all(a < b for a, b in pairwise(dates))
            assert dates[-1] < read_stamp(record["question_date"])
            assert set(record["answer_session_ids"]) <= set(record["haystack_session_ids"])
            assert record["question_type"] in TYPES.values()
            assert "<image>" not in record["question"]
            for session in record["haystack_sessions"]:
                assert [turn["role"] for turn in session] == ["user", "assistant"] * (len(session) // 2)
                for turn in session:
                    assert list(turn) == ["role", "content", "images", "has_answer"]
                    assert turn["content"].count("<image>") == len(turn["images"])
                    assert all(list(image) == ["file", "image_url", "blip_caption"] for image in turn["images"])


def test_gold_marks_are_where_the_evidence_is(splits, meta):
    for records in splits.values():
        for record in records:
            marked = {
                name
                for name, session in zip(record["haystack_session_ids"], record["haystack_sessions"], strict=True)
                if any(turn["has_answer"] for turn in session)
            }
            assert marked == set(record["answer_session_ids"])
            about = meta[record["question_id"]]
            assert about["answer_session_ids"] == record["answer_session_ids"]
            assert set(about["contrast_session_ids"]) <= set(record["haystack_session_ids"])
            if about["refusal"]:
                assert record["answer"] == "NOT_MENTIONED"
                assert not marked
                assert not [f for s in about["sessions"] for f in s["facts"] if f["role"] == "evidence"]
            else:
                assert marked
            assert not [t for s in record["haystack_sessions"] for t in s if t["has_answer"] and not t["images"]]


def test_the_sidecar_says_what_the_sessions_carry(splits, meta):
    for record in splits["64k"]:
        about = meta[record["question_id"]]
        inside = dict(zip(record["haystack_session_ids"], record["haystack_sessions"], strict=True))
        assert [s["session_id"] for s in about["sessions"]] == record["haystack_session_ids"]
        for session in about["sessions"]:
            shown = [image["file"] for turn in inside[session["session_id"]] for image in turn["images"]]
            assert Counter(shown) == Counter(p["file"] for f in session["facts"] for p in f["pictures"])
            assert (session["kind"] == "filler") == (not session["facts"])
            for fact in session["facts"]:
                said = " ".join(turn["content"] for turn in inside[session["session_id"]])
                assert fact["text"] in said
        assert set(about["critical_files"]) <= {
            p["file"] for s in about["sessions"] for f in s["facts"] for p in f["pictures"]
        }
        if not about["refusal"]:
            assert about["counterfactual"]["answer"] != record["answer"]
            assert about["critical_files"] or about["critical_by_order_files"]


def test_lengths_are_nested_and_add_up(built, splits, meta):
    manifest = json.loads((built / "manifest.json").read_text())
    accounting = from_manifest(manifest["accounting"])
    counter = token_counter(accounting.counter)
    assert [r["question_id"] for r in splits["32k"]] == [r["question_id"] for r in splits["64k"]]
    assert [r["question_id"] for r in splits["32k"]] == sorted(meta)
    for small, large in zip(splits["32k"], splits["64k"], strict=True):
        theirs = dict(zip(large["haystack_session_ids"], large["haystack_sessions"], strict=True))
        for name, session in zip(small["haystack_session_ids"], small["haystack_sessions"], strict=True):
            assert session == theirs[name][: len(session)]
        shorter = [
            n
            for n, s in zip(small["haystack_session_ids"], small["haystack_sessions"], strict=True)
            if len(s) < len(theirs[n])
        ]
        assert len(shorter) <= 1
        for name, record in (("32k", small), ("64k", large)):
            length = accounting.length(name)
            text = sum(text_tokens((t["content"] for t in s), accounting, counter) for s in record["haystack_sessions"])
            pictures = sum(len(turn["images"]) for s in record["haystack_sessions"] for turn in s)
            figures = meta[record["question_id"]]["lengths"][name]
            assert figures["text_tokens"] == text
            assert figures["pictures"] == pictures == length.pictures
            assert 0.99 * length.budget <= text + 2000 * pictures <= length.budget


def test_pictures_are_named_by_their_bytes_and_all_are_shown(built, splits):
    shown = {i["file"] for r in splits["64k"] for s in r["haystack_sessions"] for t in s for i in t["images"]}
    there = {f"{path.parent.name}/{path.name}": path for path in (built / "images").rglob("*.*")}
    assert set(there) == shown
    for name, path in there.items():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert name == f"{digest[:2]}/{digest}{path.suffix}"
        if path.suffix == ".png":
            data, at, chunks = path.read_bytes(), 8, set()
            while at < len(data):
                chunks.add(data[at + 4 : at + 8])
                at += 12 + int.from_bytes(data[at : at + 4], "big")
            assert chunks <= {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}


def test_names_give_nothing_away(splits):
    ids = [x for r in splits["64k"] for x in (r["question_id"], *r["haystack_session_ids"])]
    assert all(re.fullmatch(r"q_[0-9a-f]{10}|s_[0-9a-f]{12}", name) for name in ids)
    assert len(set(ids)) == len(ids)


def test_all_forms_hold_the_same_records(built, splits):
    for name, records in splits.items():
        assert json.loads((built / f"dataset_{name}.json").read_text("utf-8")) == records
        frame = pl.read_parquet(built / f"dataset_{name}.parquet")
        assert frame.to_dicts() == records


def test_the_manifest_has_every_hash_and_no_time_or_path(built):
    text = (built / "manifest.json").read_text()
    manifest = json.loads(text)
    assert set(manifest["files"]) == {p.name for p in built.iterdir() if p.is_file()} - {"manifest.json"}
    for name, about in manifest["files"].items():
        data = (built / name).read_bytes()
        assert about == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    assert str(built) not in text
    assert "seconds" not in text
    assert sum(manifest["counts"]["types"].values()) == 19
    assert manifest["counts"]["lines"]["ar"] == 2
    assert min(manifest["counts"]["lines"].values()) >= 1
    assert manifest["config"]["seed"] == 3
    assert sum(manifest["decoy_mix"].values()) == pytest.approx(1, abs=1e-4)
    card = (built / "DATASET_CARD.md").read_text()
    assert "19 questions" in card
    assert "No human has reviewed" in card


def test_readers_take_the_folder(built, splits):
    histories = open_histories(built)
    assert [split.name for split in histories.splits] == list(LENGTHS)
    for split in histories.splits:
        records = list(histories.records(split))
        assert [r.question_id for r in records] == [r["question_id"] for r in splits[split.name]]
    found = inspect_path(built)
    assert found["splits"]["32k"]["questions"] == 19
    assert found["splits"]["32k"]["pictures"] == {"least": 10, "mean": 10.0, "most": 10}
    assert found["splits"]["64k"]["broken"] == {"count": 0, "first": []}
    assert found["splits"]["64k"]["abilities"]["AR"] == 2


def test_broken_references_are_found(built, splits, tmp_path):
    record = json.loads(json.dumps(splits["32k"][0]))
    record["answer_session_ids"] = ["s_gone"]
    image = next(i for s in record["haystack_sessions"] for t in s for i in t["images"])
    image["file"] = "00/gone.png"
    (tmp_path / "dataset_32k.jsonl").write_text(json.dumps(record) + "\nnot json\n")
    (tmp_path / "images").symlink_to(built / "images")
    found = inspect_path(tmp_path)["splits"]["32k"]["broken"]
    said = "\n".join(found["first"])
    assert "s_gone" in said
    assert "00/gone.png" in said
    assert "not JSON" in said


def test_croissant_describes_the_files(built):
    mlcroissant = pytest.importorskip("mlcroissant")
    document = json.loads((built / "croissant.json").read_text())
    dataset = mlcroissant.Dataset(jsonld=built / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    assert {record_set.name for record_set in dataset.metadata.record_sets} == {"dataset_32k", "dataset_64k"}
    manifest = json.loads((built / "manifest.json").read_text())
    for file in document["distribution"]:
        if "sha256" in file:
            assert file["sha256"] == manifest["files"][file["contentUrl"]]["sha256"]


@pytest.mark.slow
def test_croissant_gives_the_records(built, splits):
    mlcroissant = pytest.importorskip("mlcroissant")
    pytest.importorskip("pyarrow", reason="mlcroissant reads Parquet with pyarrow")
    dataset = mlcroissant.Dataset(jsonld=built / "croissant.json")
    for record, row in zip(splits["32k"], dataset.records("dataset_32k"), strict=True):
        assert row["dataset_32k/question"].decode() == record["question"]
        assert [d.decode() for d in row["dataset_32k/haystack_dates"]] == record["haystack_dates"]


def questions(counts):
    kinds = {"ie": ("information_extraction", "entity"), "ar": ("answer_refusal", "answer_refusal")}
    out = []
    for name, n in counts.items():
        kind = kinds.get(name.split("_")[0], (TYPES[name.split("_")[0]], name))
        out += [(f"q_{name}_{i}", *kind) for i in range(n)]
    return out


def test_the_agents_subset_has_the_papers_numbers():
    asked = questions(PAPER_COUNTS)
    chosen = subset(7, asked)
    kind = {q: k for q, k, _ in asked}
    assert len(chosen) == len(set(chosen)) == 195
    assert Counter(kind[q] for q in chosen) == {
        "information_extraction": 61,
        "multi_session_reasoning": 35,
        "temporal_reasoning": 48,
        "knowledge_update": 29,
        "answer_refusal": 22,
    }
    for name, n in Counter(kind.values()).items():
        assert abs(Counter(kind[q] for q in chosen)[name] / 195 - n / 789) < 0.002
    assert subset(7, list(reversed(asked))) == chosen
    assert subset(8, asked) != chosen
    subtype = {q: s for q, _, s in asked}
    assert {subtype[q] for q in chosen} == set(subtype.values())


def test_small_subsets():
    asked = questions({"ie_chat": 3, "ku_update": 1})
    assert len(subset(0, asked)) == 1
    assert subset(0, []) == []
