"""Tables 2, 3, 9 and 12 against their printed digits; everything here is exact."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from memgauge.costs import computed_table, list_models, price_response, printed_table, rounds_to, table_cells
from memgauge.costs.tables import DEVIATIONS, rounded, table9, table_as_json
from memgauge.errors import InputError

PRINTED = json.loads((Path(__file__).parents[1] / "data" / "flops_tables.json").read_text())


def leaves(tree, path=()):
    if isinstance(tree, dict) and "computed" not in tree:
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    else:
        yield path, tree


@pytest.mark.parametrize("number", [2, 3, 9, 12])
def test_package_data_equal_the_printed_tables(number):
    assert printed_table(number) == PRINTED[f"table{number}"]


@pytest.mark.parametrize(("number", "cells"), [(2, 36), (3, 108), (12, 56)])
def test_every_cell_rounds_to_its_printed_digits(number, cells):
    table = table_cells(number)
    assert len(table) == cells
    assert [(where, rounded(value, len(p.partition(".")[2])), p) for where, value, p in table if value is None] == []
    assert [(where, float(value), p) for where, value, p in table if not rounds_to(value, p)] == []


@pytest.mark.parametrize("number", [2, 3, 12])
def test_json_has_the_printed_keys_and_numbers_that_round_to_the_digits(number):
    document = json.loads(json.dumps(table_as_json(number), allow_nan=False))
    assert list(document) == [f"table{number}"]
    got, printed = dict(leaves(document[f"table{number}"])), dict(leaves(PRINTED[f"table{number}"]))
    assert list(got) == list(printed)
    for path, digits in printed.items():
        places = len(digits.partition(".")[2])
        assert f"{got[path]:.{places}f}" == digits, path


def test_table9_deviates_exactly_where_it_is_known_to():
    cells = {(row, column): cell for row, columns in table9().items() for column, cell in columns.items()}
    assert cells.keys() == {(row, column) for row, columns in PRINTED["table9"].items() for column in columns}
    disagree = {where for where, cell in cells.items() if cell.agrees is False}
    merged = {("natural L=128", "rag_TF"), ("natural L=512", "rag_TF")}
    assert disagree == DEVIATIONS.keys() - merged
    assert {where for where, cell in cells.items() if cell.deviation} == DEVIATIONS.keys()
    data = {where for where, cell in cells.items() if cell.computed is None}
    accuracies = {where for where in cells if where[1].endswith("accuracy")}
    assert data == accuracies | merged | {("natural L=128", "saving_x"), ("natural L=512", "saving_x")}


def test_table9_l64_rows_reproduce():
    for row in ("natural L=64", "synthetic L=64"):
        for column, cell in table9()[row].items():
            assert cell.agrees is (None if column.endswith("accuracy") else True), (row, column)


@pytest.mark.parametrize("known", PRINTED["unreproduced"], ids=lambda k: k["cell"][:24])
def test_table9_deviations_have_the_documented_values(known):
    columns = {
        "text: one 16-frame window": "window_16_frames_TF",
        "index PF": "index_PF",
        "break-even": "break_even",
        "one query TF": "one_query_TF",
        "RAG per-answer TF": "rag_TF",
    }
    column = next(value for key, value in columns.items() if key in known["cell"])
    row = next((r for r in PRINTED["table9"] if known["cell"].startswith(r)), "text")
    cell = table9()[row][column]
    assert cell.printed == known["printed"]
    assert cell.deviation
    if known["computed"] is None:
        assert cell.computed is None
    else:
        assert math.isclose(cell.computed, known["computed"], abs_tol=5e-5)


def test_table9_json_cells():
    document = json.loads(json.dumps(table_as_json(9), allow_nan=False))["table9"]
    assert all(set(cell) == {"computed", "printed", "deviation"} for row in document.values() for cell in row.values())
    assert document["natural L=64"]["rag_accuracy"] == {"computed": None, "printed": "80.1", "deviation": None}
    assert document["natural L=128"]["index_PF"]["deviation"]


# Printed in B.3's paragraph on checkpoint context lengths: N at L = 1024 over the longest trained position.
RATIOS = {
    "InternVL3.5 (8B)": "6.4",
    "InternVL3.5 (30B, A3B)": "6.4",
    "InternVL3.5 (38B)": "6.4",
    "Phi-4-MM (6B)": "4.3",
    "MiniCPM-V 2.6 (8B)": "2.0",
    "GLM-4.5V (104B, A12B)": "2.0",
    "Qwen3-Omni (30B, A3B)": "1.5",
    "Qwen2.5-VL (7B)": "1.02",
    "MIMO-VL (7B)": "1.02",
}


def test_context_length_paragraph():
    found = {}
    for price in list_models():
        if price.context is not None:
            n = price_response(price, "ecc-video", 1024, 3).N
            found[price.name] = rounded(Fraction(n, price.context), len(RATIOS[price.name].partition(".")[2]))
    assert found == RATIOS  # 131,200 / 128,000 = 1.025 is the exact tie that half-even rounding takes to 1.02


def test_rounding_is_exact():
    assert rounded(Fraction(1, 3), 4) == "0.3333"
    assert rounded(Fraction(5, 2), 0) == "2"
    assert rounded(Fraction(-5, 100), 1) == "0.0"
    assert rounded(Fraction(-15, 100), 1) == "-0.2"


def test_other_tables_are_refused():
    with pytest.raises(InputError, match="2, 3, 9, 12"):
        computed_table(5)
