"""Decisions of reviewers: majorities, ties, assignments, agreement."""

from __future__ import annotations

import random

import pytest

from memgauge.errors import InputError
from memgauge.histories.building.review import MOST_REVISIONS, Decision, Reviews, cohens_kappa


def decide(reviews, item, reviewer, decision, round_=1, **more):
    reviews.add(Decision(item, round_, reviewer, "c", decision, **({"reason": "leak"} | more)))


def test_one_reviewer_settles_an_item():
    reviews = Reviews()
    for round_ in (1, 2, 3):
        assert not reviews.states["q"].passed
        decide(reviews, "q", "ann", "accept", round_)
    assert reviews.states["q"].passed
    decide(reviews, "r", "ann", "reject", reason="date")
    assert reviews.rejected == {"r": "date"}


def test_a_tie_goes_to_a_third():
    reviews = Reviews()
    share = reviews.assign(["q"], 1, ["ann", "bob", "cy"], 1.0)
    assert share == {"ann": ["q"], "bob": ["q"], "cy": []}
    decide(reviews, "q", "ann", "accept")
    assert reviews.states["q"].round == 1
    decide(reviews, "q", "bob", "reject")
    assert reviews.states["q"].round == 1
    with pytest.raises(InputError, match="name a third"):
        reviews.assign(["q"], 1, ["ann", "bob"], 1.0)
    assert reviews.assign(["q"], 1, ["ann", "bob", "cy"], 1.0) == {"ann": [], "bob": [], "cy": ["q"]}
    decide(reviews, "q", "cy", "accept")
    assert reviews.states["q"].round == 2


def test_items_are_shared_out():
    reviews = Reviews()
    items = [f"q{i}" for i in range(10)]
    share = reviews.assign(items, 1, ["ann", "bob"], 0.2)
    assert sorted(share["ann"] + share["bob"]) == sorted([*items, "q0", "q1"])
    assert reviews.assign(items, 1, ["ann", "bob"], 0.2) == share  # asked again, the same
    for bad in ([], ["ann", "ann"]):
        with pytest.raises(InputError):
            reviews.assign(items, 1, bad, 0.2)
    with pytest.raises(InputError, match="overlap"):
        reviews.assign(items, 1, ["ann"], 2)


def test_revisions_end():
    reviews = Reviews()
    for number in range(1, MOST_REVISIONS + 2):
        decide(reviews, "q", "ann", "revise")
        assert reviews.states["q"].revision == number
    assert reviews.rejected == {"q": "revised too often"}
    edited = Reviews()
    decide(edited, "q", "ann", "revise", edit_question="What else?")
    assert (edited.states["q"].question, edited.states["q"].revision, edited.states["q"].round) == ("What else?", 0, 1)


def test_decisions_survive_on_the_disk(tmp_path):
    reviews = Reviews()
    reviews.assign(["q"], 1, ["ann", "bob"], 1.0)
    decide(reviews, "q", "ann", "accept")
    reviews.write(tmp_path)
    again = Reviews.read(tmp_path)
    assert again.decisions == reviews.decisions
    assert again.states["q"].open == reviews.states["q"].open
    decide(again, "q", "bob", "accept")
    assert again.states["q"].round == 2
    (tmp_path / "reviews.json").write_text("{}")
    with pytest.raises(InputError, match="not the decisions"):
        Reviews.read(tmp_path)


def test_kappa_against_its_definition():
    draw = random.Random(5)
    pairs = [(draw.choice("aab"), draw.choice("abc")) for _ in range(200)]
    observed = sum(a == b for a, b in pairs) / 200
    expected = sum(sum(x == k for x, _ in pairs) * sum(y == k for _, y in pairs) for k in "abc") / 200**2
    kappa, n = cohens_kappa(pairs)
    assert n == 200
    assert kappa == pytest.approx((observed - expected) / (1 - expected))
    assert cohens_kappa([]) == (None, 0)
    assert cohens_kappa([("a", "a")] * 3) == (None, 3)
