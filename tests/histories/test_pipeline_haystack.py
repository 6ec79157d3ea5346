"""The mix of decoys: the equation that it solves, checked by putting it back in, and against simulated haystacks."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.histories.building.haystack import Need, decoy_mix, pick, single_fact_mix

KINDS = ("ie_chat", "msr_counting", "tr_date_c", "tr_duration", "ku_update")
SIZES = {"ie_chat": (1, 0), "msr_counting": (4, 0), "tr_date_c": (1, 3), "tr_duration": (2, 0), "ku_update": (4, 0)}


def needs(counts, refusals=0):
    made = [Need(name, *SIZES[name], False) for name, n in counts.items() for _ in range(n)]
    return made + [Need(name, *SIZES[name], True) for name in counts for _ in range(refusals)]


@given(st.lists(st.integers(1, 60), min_size=5, max_size=5), st.integers(0, 5), st.floats(20, 70))
@settings(max_examples=80, deadline=None)
def test_the_haystack_has_the_shares_of_the_evidence(numbers, refusals, decoys):
    counts = dict(zip(KINDS, numbers, strict=True))
    asked = needs(counts, refusals)
    mix = decoy_mix(asked, decoys)
    assert sum(mix.values()) == pytest.approx(1)
    evidence = {name: counts[name] * SIZES[name][0] for name in KINDS}
    siblings = {name: (counts[name] + refusals) * SIZES[name][1] for name in KINDS}
    share = {name: evidence[name] / sum(evidence.values()) for name in KINDS}
    haystack = len(asked) * decoys + sum(siblings.values())
    if siblings["tr_date_c"] >= share["tr_date_c"] * haystack:
        assert "tr_date_c" not in mix  # its siblings alone are more than its share
        return
    # g decoy blueprints a history give `decoys` sessions; the spec's equation then holds for every builder.
    per_blueprint = sum(mix[name] * sum(SIZES[name]) for name in KINDS)
    g = decoys / per_blueprint
    for name in KINDS:
        left = siblings[name] + len(asked) * g * mix[name] * sum(SIZES[name])
        assert left == pytest.approx(share[name] * haystack, rel=1e-9)


def test_siblings_are_weighted_down():
    counts = {"ie_chat": 100, "tr_date_c": 26, "ku_update": 40}
    mix = decoy_mix(needs(counts), 50)
    # Equal shares of evidence sessions would ask for a quarter, for one of four sessions is evidence; siblings that
    # stand in the haystack already take more away.
    relative = (mix["tr_date_c"] / mix["ie_chat"]) / (26 / 100)
    assert 0 < relative < 0.25


def test_a_build_without_evidence_has_no_mix():
    with pytest.raises(InputError, match="refusal"):
        decoy_mix([Need("ie_chat", 1, 0, True)], 10)


def test_second_carriers_follow_the_single_fact_questions():
    asked = [Need("ie_chat", 1, 0, False)] * 3 + [Need("ie_photo", 1, 0, False)] + [Need("ku_update", 4, 0, False)] * 9
    assert single_fact_mix(asked) == {"ie_chat": 0.75, "ie_photo": 0.25}
    assert len(single_fact_mix([Need("ku_update", 4, 0, False)])) == 8


def test_pick_follows_the_mix():
    draw = random.Random(1)
    found = Counter(pick(draw, {"b": 0.25, "a": 0.75}) for _ in range(4000))
    # Six standard errors: fails by chance once in 500 million.
    assert abs(found["a"] / 4000 - 0.75) < 6 * (0.75 * 0.25 / 4000) ** 0.5
