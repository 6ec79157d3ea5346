"""No reader of the text alone beats the floor: balanced decks for constant guesses, a learned guesser, fixed rules."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from math import ceil
from pathlib import Path

import pytest
from scipy.stats import binomtest

from memgauge.histories.building.model import BUILDERS


def _make():
    spec = importlib.util.spec_from_file_location("blueprint_making", Path(__file__).with_name("making.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.make


make = _make()
COUNT = 96


@pytest.fixture(scope="module")
def items():
    return {builder: [make(builder, index) for index in range(COUNT)] for builder in BUILDERS}


def label(item) -> str:
    """The answer as a constant guess can name it: its place among the answers where those differ from item to item."""
    blueprint = item.blueprint
    if blueprint.builder == "ie_disambiguation" or blueprint.builder.startswith("tr_date"):
        return str(blueprint.answer_space.index(blueprint.answer))
    return blueprint.answer


@pytest.mark.parametrize("builder", BUILDERS)
def test_best_constant_guess_of_every_prefix_is_bounded_by_its_deck(items, builder):
    decks: dict[str, list[str]] = {}
    for item in items[builder]:
        if item.blueprint.answer_space:
            found = decks.setdefault(item.plan.deck, [])
            found.append(label(item))
            assert max(Counter(found).values()) <= ceil(len(found) / len(item.blueprint.answer_space))
    assert decks or all(item.blueprint.floor == 0 for item in items[builder])


@pytest.mark.parametrize("builder", BUILDERS)
def test_modes_and_sizes_come_evenly(items, builder):
    shapes = Counter((item.plan.mode, item.plan.slots) for item in items[builder] if item.plan.mode != "yes_no")
    assert max(shapes.values()) - min(shapes.values()) <= 2


def test_decoys_draw_from_the_distribution_of_questions():
    # 400 free draws of 4 sizes: each share is within 5 standard errors (0.02) of 1/4, wrong once in 10^6.
    sizes = Counter(make("msr_counting", n, deck=False).plan.slots for n in range(400))
    assert set(sizes) == {3, 4, 5, 6}
    assert all(abs(count / 400 - 1 / 4) < 0.11 for count in sizes.values())


FIXED_RULES = {
    "first": lambda b: b.answer_space[0],
    "last": lambda b: b.answer_space[-1],
    "middle": lambda b: b.answer_space[len(b.answer_space) // 2],
    "largest": lambda b: max(b.answer_space, key=lambda said: (len(said), said)),
    "by length of the question": lambda b: b.answer_space[len(b.question) % len(b.answer_space)],
    "by the words of the facts": lambda b: b.answer_space[sum(len(f.text) for f in b.facts) % len(b.answer_space)],
}


def test_no_fixed_rule_on_the_text_beats_the_floor(items):
    # One-sided binomial tests, Bonferroni over rules x builders: all pass with probability 0.999 if text says nothing.
    made = [(name, builder) for name in FIXED_RULES for builder in BUILDERS if items[builder][0].blueprint.answer_space]
    for name, builder in made:
        known = [item.blueprint for item in items[builder] if item.blueprint.answer_space]
        floor = float(sum(blueprint.floor for blueprint in known)) / len(known)
        right = sum(FIXED_RULES[name](blueprint) == blueprint.answer for blueprint in known)
        assert binomtest(right, len(known), floor, alternative="greater").pvalue > 0.001 / len(made), (name, builder)


@pytest.mark.parametrize(
    ("builder", "mode"),
    [
        ("ie_disambiguation", ""), ("ie_alignment", ""), ("ie_counting", ""), ("ie_photo", "scene"),
        ("msr_entity", "yes_no"), ("tr_duration", ""), ("tr_date_c", ""), ("tr_date_d", ""),
    ],
)  # fmt: skip
def test_a_learned_guesser_stays_at_the_floor(builder, mode):
    """TF-IDF and logistic regression on all texts and the question, 5 folds."""
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    # Free draws: cards of one deck are not independent, and a learner could count them.
    made = [make(builder, n, deck=False) for n in range(300)]
    known = [item for item in made if item.plan.mode == mode or not mode]
    texts = [" ".join([*(fact.text for fact in item.blueprint.facts), item.blueprint.question]) for item in known]
    answers = [label(item) for item in known]
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=1500), LogisticRegression(C=10)
    )
    guessed = cross_val_predict(model, texts, answers, cv=StratifiedKFold(5, shuffle=True, random_state=0))
    right = sum(a == b for a, b in zip(answers, guessed, strict=True))
    floor = float(known[0].blueprint.floor)
    # Eight tests: all pass with probability 0.999 if text says nothing.
    assert binomtest(right, len(known), floor, alternative="greater").pvalue > 0.001 / 8
