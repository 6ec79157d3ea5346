"""The retrieval table: the cells of the report, whatever the order of the rows."""

from __future__ import annotations

import known_rows as known
import pytest

from memgauge.metrics.inference import Resampler
from memgauge.metrics.retrieval import retrieval_table
from memgauge.metrics.summary import summarise

RESAMPLER = Resampler(100)


def pipeline(**more):
    values = {"system": "rag", "retrieved": '["hit"]', "flops_write": 100, "flops_read": 10, "write_shared": True}
    return {**values, **more}


def test_variants_weigh_alike_and_subtypes_stand_apart_as_in_the_report():
    rows = [
        known.response(
            variant == "spatial",
            gold="yes" if query % 2 else "no",
            episode=f"e{episode}",
            query=f"q{query}",
            variant=variant,
            subtype=subtype,
            **pipeline(retrieved='["hit"]' if variant == "spatial" else '["miss"]'),
        )
        for episode in range(5)
        for query in range(8)
        for variant in (["spatial"] if query < 2 else ["sequential"])
        for subtype in ("counting", "repeating")
    ]
    table = known.frame(rows)
    found = retrieval_table(table, "rag", resampler=RESAMPLER)
    cells = summarise(table, redraws=100)["cells"]
    assert [row["subtype"] for row in found] == [cell["subtype"] for cell in cells] == ["counting", "repeating"]
    for row, cell in zip(found, cells, strict=True):
        assert row["accuracy"] == cell["accuracy"]
        assert row["accuracy"]["value"] == pytest.approx(0.5)  # two of eight questions, but one of two variants
        assert row["hit_rate"]["value"] == pytest.approx(0.5)


def test_the_index_is_a_mean_over_streams_that_errors_do_not_hide():
    """Ten streams of 100 to 1000 FLOPs; half the questions of each failed and tell nothing."""
    rows = []
    for number in range(40):
        failed, episode = number % 4 < 2, number // 4
        costs = pipeline(flops_write=100 * (episode + 1))
        if failed:
            costs |= {"flops_write": None, "flops_read": None, "retrieved": None, "outcome": "model_error"}
        rows.append(known.response(True, episode=f"e{episode}", query=f"q{number % 4}", **costs))
    rows += [
        known.response(True, system="direct", episode=f"e{n // 4}", query=f"q{n % 4}", flops_write=1000, flops_read=110)
        for n in range(44)  # one stream more than the pipeline was asked about
    ]
    table = known.frame(rows)
    for seed in range(4):
        order = table.sample(fraction=1, shuffle=True, seed=seed)
        (row,) = retrieval_table(order, "rag", "direct", resampler=RESAMPLER)
        assert (row["n"], row["errors"], row["episodes"]) == (20, 20, 10)
        assert (row["flops_index"], row["flops_answer"], row["flops_one_query"]) == (550.0, 10.0, 560.0)
        assert (row["flops_direct"], row["saving"]) == (1110.0, 111.0)
        assert row["break_even"] == pytest.approx(0.5)
        assert row["hit_rate"]["value"] == 1.0
