from __future__ import annotations

import hashlib
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from memgauge.errors import InputError
from memgauge.streams import Cell, StreamItem, easyhuman_stream, make_cell, make_item, paper_cells
from memgauge.streams.easyhuman import structure_of


def same(a: StreamItem, b: StreamItem) -> bool:
    plain = {"symbols": np.empty(0, np.uint8), "queries": ()}
    facts = [tuple(getattr(replace(item, **plain), name) for name in FACTS) for item in (a, b)]
    asked = [[(q.query_id, q.candidate.tolist(), q.gold, q.age, q.negatives) for q in item.queries] for item in (a, b)]
    return facts[0] == facts[1] and asked[0] == asked[1] and np.array_equal(a.symbols, b.symbols)


FACTS = ("stream_id", "band", "length", "lz_rate", "lz78_rate", "subtype")
BANDS = [("low", "uniform"), ("low", "matched"), ("max", "uniform"), ("max", "matched"), ("easyhuman", "uniform")]


@pytest.mark.parametrize(("band", "negatives"), BANDS)
def test_an_item_made_alone_is_the_one_in_the_cell(band, negatives) -> None:
    cell = list(make_cell(band, 128, 6, seed=3, queries=10, negatives=negatives))
    assert [item.stream_id for item in cell] == [f"{band}-128-{i:04d}" for i in range(6)]
    for index in (4, 0):
        assert same(cell[index], make_item(band, 128, index, seed=3, queries=10, negatives=negatives))
    assert not same(cell[1], make_item(band, 128, 1, seed=4, queries=10, negatives=negatives))


def fingerprint(items) -> str:
    digest = hashlib.sha256()
    for item in items:
        digest.update(item.symbols.tobytes())
        for query in item.queries:
            digest.update(query.candidate.tobytes() + bytes([query.gold]))
    return digest.hexdigest()[:16]


@pytest.mark.parametrize(("band", "negatives"), BANDS)
def test_items_of_this_version_of_the_laws(band, negatives) -> None:
    # When this fails, items have changed: raise LAW (and LAW_DATE) in memgauge/streams/make.py.
    assert fingerprint(make_cell(band, 200, 4, seed=7, queries=15, negatives=negatives)) == GOLDEN[band, negatives]


GOLDEN = {
    ("low", "uniform"): "b4d0e148b71aab00",
    ("low", "matched"): "d6fc110f013782ef",
    ("max", "uniform"): "dd251230772088ed",
    ("max", "matched"): "7b1844c5ab9d051b",
    ("easyhuman", "uniform"): "ecc52cf745310fe6",
}


@pytest.mark.parametrize(("band", "negatives"), BANDS)
def test_queries_are_right(band, negatives) -> None:
    for item in make_cell(band, 300, 12, seed=1, negatives=negatives):
        text = item.symbols.tobytes()
        assert [query.query_id for query in item.queries] == [f"q{i:02d}" for i in range(16)]
        assert sum(query.gold for query in item.queries) == 8
        for query in item.queries:
            ends = [i + len(query.candidate) for i in range(300) if text.startswith(query.candidate.tobytes(), i)]
            assert query.gold == bool(ends)
            assert query.age == (300 - ends[-1] if ends else None)
            assert query.negatives == ("corruption" if band == "easyhuman" else negatives)
            assert 3 <= len(query.candidate) <= 6


@pytest.mark.parametrize("band", ["low", "max"])
def test_both_kinds_of_negatives_ask_about_the_same_stream(band) -> None:
    plain, matched = (make_item(band, 256, 2, seed=8, negatives=n) for n in ("uniform", "matched"))
    assert (plain.symbols == matched.symbols).all()
    assert (plain.stream_id, plain.lz_rate) == (matched.stream_id, matched.lz_rate)


def test_the_number_of_queries_does_not_change_the_stream() -> None:
    few, many = (make_item("low", 256, 2, seed=8, queries=n) for n in (2, 40))
    assert (few.symbols == many.symbols).all()
    assert len(many.queries) == 40


def test_values_cannot_be_changed() -> None:
    item = make_item("max", 64, 0, seed=1)
    with pytest.raises(FrozenInstanceError):
        item.length = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        item.symbols[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        item.queries[0].candidate[0] = 1


def test_the_cell_is_made_lazily() -> None:
    cell = make_cell("max", 1024, 10**9, seed=1)
    assert next(cell).stream_id == "max-1024-0000"


def test_easyhuman_streams_are_what_the_paper_describes() -> None:
    numbers, lengths, ascending = set(), {"repeating": set(), "counting": set()}, set()
    for index in range(200):
        stream = easyhuman_stream(2, 256, index)
        assert stream.structure == structure_of(index) == ("repeating", "counting")[index % 2]
        base = np.resize(np.array(stream.motif, np.uint8), 256)
        assert 3 <= len(stream.motif) <= 5
        if stream.structure == "counting":
            steps = set(np.diff(stream.motif).tolist())
            assert steps in ({1}, {-1})
            ascending.add(steps.pop())
        else:
            assert {len(d) for d in stream.deviations} == {len(stream.motif)}
        rebuilt = base.copy()
        for place, deviation in zip(stream.places, stream.deviations, strict=True):
            rebuilt[place : place + len(deviation)] = deviation
            assert bytes(deviation) not in base.tobytes()
            assert stream.symbols.tobytes().find(bytes(deviation)) == place
            assert stream.symbols.tobytes().rfind(bytes(deviation)) == place
            lengths[stream.structure].add(len(deviation))
        assert (rebuilt == stream.symbols).all()
        numbers.add(len(stream.deviations))
    assert numbers == {1, 2}
    assert ascending == {1, -1}
    assert lengths == {"repeating": {3, 4, 5}, "counting": {3, 4, 5}}


def test_easyhuman_queries_are_about_deviations_and_their_corruptions() -> None:
    for index in range(60):
        stream, item = easyhuman_stream(4, 256, index), make_item("easyhuman", 256, index, seed=4)
        assert item.subtype == stream.structure
        assert (item.symbols == stream.symbols).all()
        for query in item.queries:
            candidate = tuple(query.candidate.tolist())
            if query.gold:
                assert candidate in stream.deviations
            else:
                changes = [
                    sum(a != b for a, b in zip(candidate, deviation, strict=True))
                    for deviation in stream.deviations
                    if len(deviation) == len(candidate)
                ]
                assert 1 in changes


def test_the_papers_text_set() -> None:
    cells = paper_cells()
    assert [cell.length for cell in cells if cell.band == "low"] == [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    assert {(cell.count, cell.queries) for cell in cells if cell.band != "easyhuman"} == {(20, 16)}
    easy = [cell for cell in cells if cell.band == "easyhuman"]
    assert [(cell.length, cell.count, cell.queries) for cell in easy] == [(256, 40, 16), (1024, 40, 16)]
    assert [structure_of(i) for i in range(40)].count("repeating") == 20


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"band": "lo"}, "did you mean 'low'"),
        ({"length": 5}, "at least 6"),
        ({"band": "easyhuman", "length": 31}, "at least 32"),
        ({"band": "easyhuman", "negatives": "matched"}, "negatives of their own"),
        ({"negatives": "hard"}, "unknown kind of negatives"),
        ({"index": -1}, "index must not be negative"),
        ({"seed": -1}, "seed must not be negative"),
        ({"queries": -1}, "queries must not be negative"),
    ],
)
def test_impossible_items_are_refused(change, text: str) -> None:
    arguments = {"band": "low", "length": 64, "index": 0, "seed": 0, "queries": 4, "negatives": "uniform"} | change
    with pytest.raises(InputError, match=text):
        make_item(**arguments)


def test_impossible_cells_are_refused() -> None:
    with pytest.raises(InputError, match="count"):
        Cell("low", 64, 0)
    with pytest.raises(InputError, match="queries"):
        Cell("low", 64, 1, 1)
    with pytest.raises(InputError, match="unknown band"):
        make_cell("high", 64, 1, seed=0)  # type: ignore[arg-type]
