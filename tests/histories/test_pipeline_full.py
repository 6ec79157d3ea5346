"""The paper's whole set, built once: counts, lengths, pictures, tokens, subset, and what its checks measure.

Some ten minutes on two free cores to build, five to check. The seed is fixed, so it either holds or not: no figure
below varies from run to run.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from memgauge.histories.building.checking.run import check_folder
from memgauge.histories.building.config import build_config
from memgauge.histories.building.model import TYPES
from memgauge.histories.building.pipeline import build
from memgauge.histories.building.profiles import PAPER_COUNTS

PICTURES = {"32k": 10, "64k": 20, "128k": 40, "256k": 80}
SESSIONS = {"32k": (14, 18), "64k": (29, 35), "128k": (58, 68), "256k": (115, 135)}


@pytest.mark.slow
def test_the_full_profile(tmp_path):
    out = tmp_path / "H"
    outcome = build(out, build_config("full", seed=1))
    assert outcome.status == "built"
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["counts"]["lines"] == PAPER_COUNTS
    assert list(manifest["counts"]["types"].values()) == [246, 143, 194, 116, 90]
    assert not manifest["short"]
    for name, figures in manifest["lengths"].items():
        assert figures["questions"] == 789
        assert figures["pictures"]["each"] == [PICTURES[name]]
        low, high = SESSIONS[name]
        assert low <= figures["sessions"] <= high
        assert 0.99 <= figures["fill"]["least"] <= figures["fill"]["most"] <= 1
        assert abs(figures["text_per_picture"] / 1276.8 - 1) < (0.02 if name == "32k" else 0.01)
    ids = None
    for name in PICTURES:
        with (out / f"dataset_{name}.jsonl").open() as file:
            found = [json.loads(line)["question_id"] for line in file]
        assert ids is None or found == ids
        ids = found
    subset = json.loads((out / "agent_subset_195.json").read_text())
    assert subset["n_questions"] == len(subset["question_ids"]) == 195
    with (out / "meta.jsonl").open() as file:
        kind = {m["question_id"]: "ar" if m["refusal"] else m["builder"].split("_")[0] for m in map(json.loads, file)}
    counts = Counter(kind[q] for q in subset["question_ids"])
    assert [counts[name] for name in TYPES] == [61, 35, 48, 29, 22]
    leaks_are_small(out)


def leaks_are_small(out):
    found = check_folder(out)
    assert not found.failed()
    assert found.questions == 789
    gates = {gate.name: gate for gate in found.gates}
    for name in ("oracle", "solver", "counterfactual", "grader"):  # right for every question at every length
        assert (gates[name].verdict, gates[name].measured) == ("holds", 0)
    for length in ("32k", "64k", "128k"):
        assert gates[f"session_accuracy_{length}"].measured <= 0.56
        assert gates[f"session_auc_{length}"].measured <= 0.58
    assert gates["bm25_recall_128k"].measured <= 0.6
    # Not above their floors, after Bonferroni over guessers and subtypes.
    for name in ("text_only_heuristics", "text_only_learned"):
        assert gates[name].bound > 0.001
