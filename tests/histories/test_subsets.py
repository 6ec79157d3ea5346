"""Subsets: the paper's counts, a draw that is the same everywhere, files that are checked."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from history_files import write_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.histories.reading import open_histories
from memgauge.histories.source import HistorySource
from memgauge.histories.subsets import Entry, agent_subset, apportion, matching, outline, read_subset, stratified_subset

PAPER = {
    "IE": {"ie_disambiguation": 24, "ie_alignment": 24, "ie_counting": 24, "ie_spatial": 24, "ie_arithmetic": 24,
           "ie_chat": 42, "ie_app": 42, "ie_photo": 42},
    "MSR": {"msr_arithmetic": 50, "msr_counting": 46, "msr_entity": 47},
    "TR": {"tr_duration": 91, "tr_order": 24, "tr_date_b": 27, "tr_date_c": 26, "tr_date_d": 26},
    "KU": {"ku_update": 116},
    "AR": {"answer_refusal": 90},
}  # fmt: skip


def paper():
    return [
        Entry(f"q_{ability}_{kind}_{i}", ability, kind)
        for ability, kinds in PAPER.items()
        for kind, count in kinds.items()
        for i in range(count)
    ]


def test_the_papers_subset():
    entries = paper()
    assert len(entries) == 789
    chosen = set(stratified_subset(entries, 195, seed=0))
    kept = [entry for entry in entries if entry.question_id in chosen]
    counts = Counter(entry.ability for entry in kept)
    assert counts == {"IE": 61, "MSR": 35, "TR": 48, "KU": 29, "AR": 22}
    assert all(abs(counts[a] / 195 - sum(k.values()) / 789) < 0.002 for a, k in PAPER.items())
    for ability, kinds in PAPER.items():
        for kind, size in kinds.items():
            here = sum(entry.kind == kind for entry in kept)
            assert abs(here - size * counts[ability] / sum(kinds.values())) < 1


@pytest.mark.parametrize("size", [18, 25, 40, 50])
def test_every_kind_is_drawn_where_there_is_room(size):
    entries = paper()
    chosen = set(stratified_subset(entries, size, seed=3))
    assert len(chosen) == size
    assert {e.kind for e in entries if e.question_id in chosen} == {e.kind for e in entries}


def test_a_draw_depends_on_seed_and_ids_only():
    entries = paper()
    first = stratified_subset(entries, 30, seed=1)
    assert sorted(stratified_subset(entries[::-1], 30, seed=1)) == sorted(first)
    assert stratified_subset(entries, 30, seed=2) != first
    assert stratified_subset(entries, 5000) == [entry.question_id for entry in entries]
    with pytest.raises(InputError):
        stratified_subset(entries, 0)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.data())
@settings(max_examples=300, deadline=None)
def test_apportionment_is_exact_and_bounded(sizes, data):
    named = {f"s{i}": size for i, size in enumerate(sizes)}
    least = {name: data.draw(st.integers(0, 2)) for name in named}
    floor = {name: min(size, least[name]) for name, size in named.items()}
    total = data.draw(st.integers(sum(floor.values()), sum(sizes)))
    seats = apportion(named, total, least)
    assert sum(seats.values()) == total
    assert all(floor[name] <= seats[name] <= named[name] for name in named)
    free = apportion(named, total)
    assert all(abs(free[name] - total * size / sum(sizes)) < 1 for name, size in named.items())  # the quota rule


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_an_outline_tells_kinds(tmp_path, form):
    histories = open_histories(write_dataset(tmp_path / "H", form=form))
    entries = outline(histories, histories.splits[0])
    assert [(e.question_id, e.subtype, e.kind) for e in entries[-2:]] == [
        ("q_ku", "KU", "ku_update"), ("q_ar", "AR", "answer_refusal"),
    ]  # fmt: skip
    assert [e.question_id for e in matching(entries, ["MSR_Counting", "ku_update"])] == ["q_msr", "q_ku"]
    with pytest.raises(InputError, match=r"XY.*there are AR, IE"):
        matching(entries, ["XY"])


def test_subset_files(tmp_path):
    path = tmp_path / "agent_subset_195.json"
    path.write_text(json.dumps({"n_questions": 2, "question_ids": ["a", "b"]}))
    assert agent_subset(tmp_path) == path
    assert read_subset(path) == ["a", "b"]
    for bad in ({"n_questions": 3, "question_ids": ["a"]}, {"question_ids": ["a", "a"]}, [], [1], {"ids": ["a"]}):
        path.write_text(json.dumps(bad))
        with pytest.raises(InputError, match="agent_subset_195"):
            read_subset(path)
    path.write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        read_subset(path)
    (tmp_path / "agent_subset.json").write_text("[]")
    with pytest.raises(InputError, match="2 agent_subset"):
        agent_subset(tmp_path)


def test_data_is_told_by_content(tmp_path):
    """A file, or a sidecar, that changes without changing its size is other data; a copy elsewhere is the same."""
    folder = write_dataset(tmp_path / "H")
    before = HistorySource(folder).identity
    assert HistorySource(write_dataset(tmp_path / "copy")).identity == before
    for name in ("dataset_32k.jsonl", "meta.jsonl"):
        path = folder / name
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"q_ie1", b"q_ie9", 1))
        assert HistorySource(folder).identity != before
        path.write_bytes(whole)
    assert HistorySource(folder).identity == before
