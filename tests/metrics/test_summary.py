from __future__ import annotations

import json
import types
import typing
from typing import Any

import known_rows as known
import pytest

from memgauge.errors import InputError
from memgauge.metrics import document as described
from memgauge.metrics.summary import summarise


def check(value: Any, kind: Any, where: str = "document") -> None:
    """Hold a value against its type, as the document describes it: every key, and no other."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(kind) if option is not type(None)]
        if value is not None:
            check(value, options[0], where)
        else:
            assert type(None) in typing.get_args(kind), f"{where} is null"
    elif typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        assert set(value) == set(hints), f"{where}: {set(value) ^ set(hints)}"
        for name, hint in hints.items():
            check(value[name], hint, f"{where}.{name}")
    elif origin is list:
        assert type(value) is list, where
        for index, item in enumerate(value):
            check(item, typing.get_args(kind)[0], f"{where}[{index}]")
    elif origin is dict:
        assert type(value) is dict, where
        for name, item in value.items():
            check(item, typing.get_args(kind)[1], f"{where}[{name}]")
    elif origin is typing.Literal:
        assert value in typing.get_args(kind), where
    elif kind is not Any:
        assert type(value) is kind, f"{where} is {value!r}, not {kind}"


def test_the_document_is_what_the_types_say(run_rows):
    document = summarise(run_rows, redraws=200, budgets=(200, 300))
    check(document, described.Summary)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    counts = {name: len(part) for name, part in document.items() if isinstance(part, list)}
    assert counts == {
        "cells": 36, "curves": 36, "capacity": 18, "efficiency": 36, "compression": 18, "calibration": 3 * 7,
        "confidence": 36, "forgetting": 36, "comparisons": 12 * 3, "notes": 0, "perception": 0, "markers": 0,
        "retrieval": 0,
    }  # fmt: skip


def test_hard_cells_are_described_too():
    """Errors alone, abstentions alone, one episode, one class, no costs, typed answers, unknown ages."""
    rows = [known.response(False, system="errors", query=f"q{n}", outcome="model_error") for n in range(3)]
    rows += [known.response(None, system="abstains", query=f"q{n}", episode=f"e{n}", confidence=0.4) for n in range(3)]
    rows += [known.response(True, system="one", query=f"q{n}", age=float(n), confidence=0.5) for n in range(30)]
    rows += [known.response(n > 0, system="typed", gold="blue", split="recall", query=f"q{n}") for n in range(3)]
    rows += [known.response(True, system="free", split=s, flops_write=0, flops_read=0, query_length=3, age=1.0,
                            episode="f")
             for s in ("low", "max")]  # fmt: skip
    rows += [known.response(None, system="armed", arm=a, query=f"q{n}") for a in "AB" for n in range(8)]
    document = summarise(known.frame(rows), redraws=200)
    check(document, described.Summary)
    json.dumps(document, allow_nan=False)
    cells = {cell["system"]: cell for cell in document["cells"]}
    assert cells["errors"]["accuracy"]["note"]
    assert cells["one"]["accuracy"] == {"value": 1.0, "low": None, "high": None, "note": "one episode: no interval"}
    assert cells["typed"]["accuracy_yes"]["value"] is None
    assert all(entry["note"] for entry in document["efficiency"] if entry["system"] == "typed")
    assert next(e for e in document["efficiency"] if e["system"] == "free")["flops"] == 0


def test_the_document_is_a_function_of_rows_seed_and_redraws(run_rows):
    rows = run_rows.filter(length=64, arm="none")
    first = summarise(rows, redraws=200, seed=1)
    assert summarise(rows, redraws=200, seed=1) == first
    other = summarise(rows, redraws=200, seed=2)
    values = [[cell["accuracy"]["value"] for cell in d["cells"]] for d in (first, other)]
    assert values[0] == values[1]
    assert [c["aurc"] for c in first["cells"]] != [c["aurc"] for c in other["cells"]]


def test_a_cell_does_not_depend_on_the_others(run_rows):
    whole = summarise(run_rows.filter(arm="none"), redraws=200)
    alone = summarise(run_rows.filter(arm="none", system="window:bits=64", split="max", length=64), redraws=200)
    (cell,) = alone["cells"]
    assert cell in whole["cells"]


def test_progress_is_told_of_every_cell(run_rows):
    class Counter:
        seen = 0

        def advance(self) -> None:
            self.seen += 1

    counter = Counter()
    summarise(run_rows.filter(length=64, arm="none"), redraws=200, progress=counter)
    assert counter.seen == 6


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"target": 0.0}, "target"),
        ({"target": 1.5}, "target"),
        ({"redraws": 5}, "redraws"),
        ({"budgets": [-1]}, "budget"),
    ],
)
def test_options_out_of_range_are_refused(options, text):
    with pytest.raises(InputError, match=text):
        summarise(known.frame([known.response(True)]), **options)
