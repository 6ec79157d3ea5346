"""Whole builds that leak, each in a way of its own, fail the gate that looks for it."""

from __future__ import annotations

import random
import re
import shutil

import pytest
from broken import Broken, make

from memgauge.histories.building import assembly, haystack
from memgauge.histories.building.checking.folder import Folder
from memgauge.histories.building.checking.run import leak_gates, structural_gates
from memgauge.histories.building.model import BUILDERS

pytestmark = pytest.mark.slow
QUESTIONS = 170
"""Some 350 evidence sessions, so that the gates decide."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory, patch):
    return make(tmp_path_factory.mktemp("sound") / "H", patch, questions=QUESTIONS, lengths=("32k", "64k"))


def gates(folder):
    opened = Folder(folder)
    return {gate.name: gate for gate in leak_gates(opened, structural_gates(opened)[1], QUESTIONS)}


def failing(folder):
    found = gates(folder)
    assert not [gate for gate in found.values() if gate.verdict == "too few"]
    return {name for name, gate in found.items() if gate.verdict == "fails"}


def test_a_sound_build_holds(sound):
    opened = Folder(sound)
    structural, sample = structural_gates(opened)
    assert [gate for gate in structural if gate.verdict != "holds"] == []
    assert sum(sample.evidence) >= 300
    assert failing(sound) == set()


def picture_sessions(b):
    """Every session with pictures of every record: record, place, and whether it is evidence."""
    for split in b.splits.values():
        for record in split:
            for place, name in enumerate(record["haystack_session_ids"]):
                if any(turn["images"] for turn in record["haystack_sessions"][place]):
                    yield record, place, name in record["answer_session_ids"]


def generic_remarks(b):
    """Haystack sessions show pictures without stating anything."""
    for record, place, evidence in picture_sessions(b):
        for turn in record["haystack_sessions"][place] if not evidence else ():
            if turn["images"]:
                turn["content"] = "Here is a picture that I like. " + "<image> " * len(turn["images"])


def longer_evidence(b):
    """Evidence sessions have two exchanges more."""
    for record, place, evidence in picture_sessions(b):
        if evidence:
            turns = record["haystack_sessions"][place]
            turns += [{**turn, "images": [], "has_answer": False} for turn in turns if not turn["images"]][:4]
            for turn in turns[-4:]:
                turn["content"] = re.sub("<image>", "", turn["content"])


def evidence_first(b):
    """Evidence stands at the beginning of its history."""
    for split in b.splits.values():
        for record in split:
            rows = list(zip(record["haystack_session_ids"], record["haystack_sessions"], strict=True))
            rows.sort(key=lambda row: row[0] not in record["answer_session_ids"])
            record["haystack_session_ids"] = [name for name, _ in rows]
            record["haystack_sessions"] = [turns for _, turns in rows]


def constant_answers(b):
    """The first possible answer is always right."""
    for number, meta in enumerate(b.meta):
        if meta["answer_space"]:
            for record in b.records(number):
                record["answer"] = meta["answer_space"][0]


def one_topic(b):
    """Every session speaks of the same aisle."""
    for split in b.splits.values():
        for record in split:
            for turns in record["haystack_sessions"]:
                turns[1]["content"] += " the cereal aisle" * 30


@pytest.mark.parametrize(
    ("mutate", "wanted"),
    [
        (generic_remarks, {"session_accuracy_32k", "session_auc_32k", "session_accuracy_64k", "session_auc_64k"}),
        (longer_evidence, {"shape_auc_32k", "shape_auc_64k"}),
        (evidence_first, {"positions_32k", "positions_64k", "picture_density_32k"}),
        (constant_answers, {"text_only_heuristics", "answer_histogram"}),
        (one_topic, {"ontology_shares"}),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_changed_folder_leaks(sound, tmp_path, mutate, wanted):
    broken = Broken(shutil.copytree(sound, tmp_path / "H"))
    mutate(broken)
    assert failing(broken.save()) >= wanted


def test_one_fact_of_each_decoy_leaks(tmp_path, patch):
    """The target's sessions are the only ones of a history that belong together."""
    whole, draw = assembly.choose_pictured, random.Random(0)

    def one_of_each(required, groups, pictures, lengths):
        return whole(required, [[draw.choice(group)] for group in groups], pictures, lengths)

    with patch.context() as m:
        m.setattr(haystack, "SURPLUS", 60)
        folder = make(tmp_path / "H", patch, questions=QUESTIONS, SURPLUS=60, choose_pictured=one_of_each)
    assert failing(folder) >= {"detector_32k", "detector_multi_32k"}


def test_a_mix_that_ignores_the_questions_leaks(tmp_path, patch):
    """Decoys of one fact only, where most of the evidence comes in chains; the manifest's mix gives it away too."""
    singles = [name for name in BUILDERS if name.startswith("ie_")]
    mix = dict.fromkeys(singles, 1 / len(singles))
    folder = make(tmp_path / "H", patch, questions=QUESTIONS, lengths=("64k",), decoy_mix=lambda needs, decoys: mix)
    assert failing(folder) >= {"picture_kinds_auc_64k", "carrier_auc_64k", "detector_multi_64k"}
    structural, _ = structural_gates(Folder(folder))
    assert [gate.name for gate in structural if gate.verdict != "holds"] == ["decoy_mix"]
