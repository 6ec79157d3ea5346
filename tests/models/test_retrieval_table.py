"""The columns of Table 9 from responses."""

from __future__ import annotations

import pytest
from scripted_server import Server, reader

from memgauge.costs import price_response, vlm_price
from memgauge.errors import InputError
from memgauge.metrics.retrieval import retrieval_table


def test_the_table_from_two_systems(tmp_path):
    """The reader matches exactly, so the pipeline's yes-accuracy is its hit rate, and its no-accuracy is 1."""
    from memgauge.responses import load_responses
    from memgauge.run import Plan, Subject, execute
    from memgauge.systems.registry import make_system
    from memgauge.tasks import MadeStreams

    with Server(reader) as server:
        specs = [
            f"retrieval:label=rag,name=m,base_url={server.url},embedder=ngram,price=qwen3-vl-8b",
            f"model:label=direct,name=m,base_url={server.url},price=qwen3-vl-8b",
        ]
        systems = [make_system(spec) for spec in specs]
        subjects = tuple(Subject(system, system.name, system.identity) for system in systems)
        source = MadeStreams(lengths=(64, 160), bands=("max",), count=4, queries=8, seed=2)
        execute(Plan("ecc-text", source, subjects, arms=("none", "A")), tmp_path, show_progress=False)
    rows = load_responses(tmp_path)
    table = retrieval_table(rows, "rag", "direct")
    assert [(row["length"], row["arm"]) for row in table] == [(64, "A"), (64, "none"), (160, "A"), (160, "none")]
    price = vlm_price("qwen3-vl-8b")
    for row in table:
        assert (row["n"], row["episodes"], row["errors"]) == (32, 4, 0)
        assert row["accuracy_yes"]["value"] == row["hit_rate"]["value"] > 0.5
        assert row["accuracy_no"]["value"] == 1.0
        assert row["accuracy"]["low"] <= row["accuracy"]["value"] <= row["accuracy"]["high"] + 1e-12
        assert row["flops_index"] == 0  # the n-gram embedder computes no matrix product
        assert row["flops_one_query"] == row["flops_answer"]
        assert row["break_even"] == 0
        assert row["saving"] == pytest.approx(row["flops_direct"] / row["flops_answer"])
        assert row["flops_direct"] > price_response(price, "ecc-text", row["length"], 1).F_write
        assert row["saving"] > 1
    alone = retrieval_table(rows, "rag")
    assert {row["flops_direct"] for row in alone} == {row["saving"] for row in alone} == {None}
    with pytest.raises(InputError, match="did you mean 'rag'"):
        retrieval_table(rows, "rags")
    with pytest.raises(InputError, match="retrieved nothing"):
        retrieval_table(rows, "direct")
