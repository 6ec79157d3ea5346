"""Checks of questions: each finds what it is for, and passes what is right."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from memgauge.histories.building.blueprints.api import build_blueprint, plan_blueprint
from memgauge.histories.building.blueprints.people import draw_cast
from memgauge.histories.building.model import BUILDERS, Blueprint
from memgauge.histories.building.text.judges import Guess, RuleJudge
from memgauge.histories.building.text.questions import (
    NearDuplicates,
    answer_form,
    answer_problems,
    ngram_problems,
    rule_problems,
    text_only_problems,
)


def blueprint(question, answer, facts, *, space=(), need="essential"):
    return Blueprint(
        "b", "ie_chat", "", ("k",), question, answer, tuple(facts), tuple(space), Fraction(0), need, {}
    )  # fmt: skip


@pytest.fixture
def built():
    """One blueprint of each builder."""
    result = []
    for name in BUILDERS:
        for index in range(3):
            plan = plan_blueprint(name, seed=2, path=("q", name, index), index=index)
            dates = [datetime(2023, 5, 1, 12) + timedelta(days=3 * i) for i in range(plan.slots)]
            result.append(build_blueprint(plan, id="b", dates=dates, used=set(), cast=draw_cast(2, f"q{index}")))
    return result


def test_what_the_builders_make_passes_every_check(built):
    for made in built:
        assert rule_problems(made) == [], (made.builder, made.question, made.answer)
        assert ngram_problems(made) == [], (made.builder, made.answer, [fact.text for fact in made.facts])
        assert answer_problems(made) == []
        assert text_only_problems(made, RuleJudge(), swap_passed=True) == [], (made.builder, made.answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which bird was it? An owl?", "owl"),
        ("Were there owls?", "owl"),
        ("Was it $48.50 that I paid?", "$48.50"),
        ("What is on <image>?", "owl"),
        ("What did I see", "owl"),
        ("What did I see?", " "),
        ("Did I meet Ann on 2023/05/12?", "2023/05/12"),
    ],
)
def test_rule_finds(question, answer, fact):
    assert rule_problems(blueprint(question, answer, [fact("This one <image>.")]))


@pytest.mark.parametrize(
    ("question", "answer", "space"),
    [
        ("Which bird was it?", "owl", ()),
        ("Was it an owl or a dove?", "owl", ("owl", "dove")),
        ("What did I pay?", "$48.50", ()),
        ("Which is longer? A. The fair. B. The tour.", "A", ("A", "B")),
        ("Order them: (1) owl, (2) dove.", "(2)(1)", ()),
    ],
)
def test_rule_passes(question, answer, space, fact):
    assert rule_problems(blueprint(question, answer, [fact("This one <image>.")], space=space)) == []


def test_ngram_looks_at_facts_and_captions(fact):
    made = blueprint("Which bird was it?", "owl", [fact("This one <image>.")], space=("owl", "dove"))
    assert ngram_problems(made) == []
    assert ngram_problems(made, ["a photo of an owl"])
    assert ngram_problems(replace(made, facts=(fact("The owls came <image>."),)))
    both = replace(made, facts=(fact("An owl or a dove came, this one <image>."),))
    assert ngram_problems(both) == []
    assert ngram_problems(replace(both, visual_need="sufficient", answer_space=())) == []


def test_the_text_only_judge_rejects_confident_right_answers(fact):
    class Sure:
        name = "sure"

        def __init__(self, answer, confidence):
            self.guess = Guess(answer, confidence)

        def answer_without_images(self, item):
            assert "teapot" not in item.texts
            return self.guess

        leaks = disambiguates = None

    made = blueprint("When was it?", "2023/05/12", [fact("This day <image>.")])
    assert text_only_problems(made, Sure("2023/05/12", 0.5))
    assert text_only_problems(made, Sure("2023/05/12", 0.49)) == []
    assert text_only_problems(made, Sure("2023/05/13", 1.0)) == []
    two = blueprint("Is it the same?", "Yes", [fact("This one <image>.")], space=("Yes", "No"))
    assert text_only_problems(two, Sure("yes", 0.1))
    assert text_only_problems(two, Sure("yes", 0.1), swap_passed=True) == []
    assert text_only_problems(two, Sure("no", 1.0)) == []


def test_the_rule_judge_reads_what_the_facts_say(fact):
    open_space = blueprint("What did I pay?", "$12.50", [fact("I paid $12.50 for this <image>.")])
    assert text_only_problems(open_space, RuleJudge())
    # Among five numbers of a list the rule can only guess, each with a fifth.
    table = fact("Pie 33, taco 49, waffle 51, cookie 60, custard 72: this one <image>.")
    for answer in ("33", "72"):
        listed = blueprint("Which number?", answer, [table], space=("33", "49", "51", "60", "72"))
        assert text_only_problems(listed, RuleJudge()) == []
    # "this one" is a pronoun, no count.
    assert text_only_problems(blueprint("How many?", "1", [fact("This one <image>.")], space="1234"), RuleJudge()) == []
    assert text_only_problems(blueprint("How many?", "2", [fact("All two <image>.")], space="1234"), RuleJudge())


def test_oracle_space_and_scorer(fact):
    made = blueprint("Which bird?", "owl", [fact("This one <image>.")], space=("owl", "dove"))
    assert answer_problems(made, oracle=lambda b: "owl", grade=lambda b, a: True) == []
    assert answer_problems(made, oracle=lambda b: "dove")[0].check == "answerable"
    assert answer_problems(made, grade=lambda b, a: None)[0].check == "format"
    assert answer_problems(replace(made, answer="hawk"))[0].check == "format"


def test_forms():
    forms = ["2023/05/12", "$1,048.50", "14:05", "7", "Yes", "B", "(2)(1)", "owl"]
    assert [answer_form(a) for a in forms] == ["date", "money", "time", "number", "yes_no", "choice", "order", "text"]


def test_near_duplicates():
    seen = NearDuplicates()
    text = "At which hour and minute was I due at the sing-along evening with {}? Answer as HH:MM."
    assert seen.add("a", "chat", text.format("Jamal Eckhart"), ["Jamal Eckhart"]) is None
    assert seen.add("b", "chat", text.format("Lea Koch"), ["Lea Koch"]) == "a"
    assert seen.add("c", "app", text.format("Lea Koch"), ["Lea Koch"]) is None
    assert seen.add("d", "chat", "What value does the chart of Lea Koch reach at the end?", ["Lea Koch"]) is None
    assert seen.add("e", "chat", "Why?") is None
