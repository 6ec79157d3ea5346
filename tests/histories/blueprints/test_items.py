"""What holds for every item of every builder."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from memgauge.errors import InputError
from memgauge.grading.subtypes import infer_subtype
from memgauge.grading.typed.grade import grade_typed
from memgauge.histories.building.blueprints import Near, build_blueprint, plan_blueprint, refuse
from memgauge.histories.building.blueprints.wording import bank
from memgauge.histories.building.model import BUILDERS, REFUSAL_GOLD, TYPES, ImageSpec
from memgauge.histories.building.pictures import check
from memgauge.histories.building.solver import Placed, solve
from memgauge.histories.building.swap import counterfactual, texts


def load(name: str) -> ModuleType:
    """Import a file of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"blueprint_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


make = load("making").make
content = load("test_banks").content

ITEMS = 36
SUBTYPES = {
    "msr_arithmetic": "MSR_Arithmetic",
    "msr_counting": "MSR_Counting",
    "tr_duration": "TR_DurationComparison",
    "tr_order": "TR_OrderRanking",
    "tr_date_b": "TR_DateExtraction",
    "tr_date_c": "TR_DateExtraction",
    "tr_date_d": "TR_DateExtraction",
    "ku_update": "KU",
}


@pytest.fixture(scope="module")
def items():
    return {builder: [make(builder, index) for index in range(ITEMS)] for builder in BUILDERS}


def subtype_of(item) -> str:
    blueprint = item.blueprint
    if blueprint.builder == "msr_entity":
        return "MSR_YesNo" if blueprint.mode == "yes_no" else "MSR_Counting"
    return SUBTYPES.get(blueprint.builder, "IE")


@pytest.mark.parametrize("builder", BUILDERS)
def test_pictures_are_drawable_and_texts_are_whole(items, builder):
    for item in items[builder]:
        blueprint = item.blueprint
        assert {fact.key for fact in blueprint.facts} == {blueprint.key}
        assert len(blueprint.facts) == item.plan.slots
        assert sum(fact.role == "contrast" for fact in blueprint.facts) == item.plan.contrast
        assert "<image>" not in blueprint.question
        assert re.match(r"[A-Z]", blueprint.question)
        assert not re.search(r"[{}\[\]|]|\s\s|\s[.,?]|\ba [aeiou]", blueprint.question)
        for fact in blueprint.facts:
            (picture,) = fact.images
            check(picture)
            assert fact.text.count("<image>") == 1
            assert re.fullmatch(r"[A-Z].*\.", fact.text)
            assert not re.search(r"[{}\[\]|]|\s\s|\ba [aeiou]|\s[.,]", fact.text)
            assert len(fact.text.split()) <= 40
        json.dumps([dict(blueprint.gold), dict(blueprint.ask), [dict(fact.mentions) for fact in blueprint.facts]])


@pytest.mark.parametrize("builder", BUILDERS)
def test_solver_gives_the_answer_and_nothing_without_evidence(items, builder):
    for item in items[builder]:
        assert solve(item.blueprint, item.placed) == item.blueprint.answer
        other = make(builder, 1000)
        assert solve(item.blueprint, other.placed) == REFUSAL_GOLD or other.blueprint.key == item.blueprint.key


@pytest.mark.parametrize("builder", BUILDERS)
def test_answers_round_trip_through_the_grader(items, builder):
    kind = TYPES[builder.split("_")[0]]
    for item in items[builder]:
        blueprint = item.blueprint
        subtype = infer_subtype(kind, blueprint.question, blueprint.answer)
        assert subtype == subtype_of(item), blueprint.question
        for said in (blueprint.answer, f"The answer is {blueprint.answer}."):
            grade = grade_typed(said, subtype=subtype, question=blueprint.question, reference=blueprint.answer)
            assert grade.correct is True, (said, blueprint.question, grade)
        for wrong in blueprint.answer_space[:10]:
            if wrong != blueprint.answer:
                grade = grade_typed(wrong, subtype=subtype, question=blueprint.question, reference=blueprint.answer)
                assert not grade.correct, (wrong, blueprint)
        refusal = refuse(blueprint)
        assert infer_subtype(TYPES["ar"], refusal.question, refusal.answer) == "AR"
        grade = grade_typed("Insufficient information", subtype="AR", question=refusal.question, reference=REFUSAL_GOLD)
        assert grade.correct is True


@pytest.mark.parametrize("builder", BUILDERS)
def test_swap_keeps_every_text_and_changes_the_answer(items, builder):
    for item in items[builder][:30]:
        # Keys that came later, and the item's own, do not disturb it.
        used = frozenset({item.blueprint.key, ("something", "Somebody Else")})
        other = counterfactual(item.plan, item.blueprint, dates=item.dates, used=used, cast=item.cast)
        assert texts(other) == texts(item.blueprint)
        assert other.answer != item.blueprint.answer
        assert solve(other, replace_facts(item, other)) == other.answer


def replace_facts(item, other):
    return [Placed(fact, date) for fact, date in zip(other.facts, item.dates, strict=True)]


@pytest.mark.parametrize("builder", BUILDERS)
def test_question_and_facts_share_no_content_word(items, builder):
    for item in items[builder]:
        names = content(" ".join(person.name for person in item.cast))
        asked = content(item.blueprint.question) - names
        for fact in item.blueprint.facts:
            assert not asked & content(fact.text), (item.blueprint.question, fact.text)


@pytest.mark.parametrize("builder", BUILDERS)
def test_answer_is_in_its_space_and_not_in_the_question(items, builder):
    for item in items[builder]:
        blueprint = item.blueprint
        if blueprint.answer_space:
            assert blueprint.answer in blueprint.answer_space
            assert len(set(blueprint.answer_space)) == len(blueprint.answer_space) <= 200
            assert blueprint.floor == Fraction(1, len(blueprint.answer_space))
        else:
            assert blueprint.floor == 0
        assert blueprint.visual_need == "essential"
        if subtype_of(item) in ("IE", "KU", "TR_DateExtraction", "MSR_Arithmetic"):
            assert blueprint.answer.lower() not in blueprint.question.lower()


@pytest.mark.parametrize("builder", BUILDERS)
def test_open_answers_stand_in_no_text(items, builder):
    for item in items[builder]:
        if not item.blueprint.answer_space:
            for fact in item.blueprint.facts:
                assert item.blueprint.answer not in fact.text
                assert item.blueprint.answer in fact.protected


@pytest.mark.parametrize("builder", BUILDERS)
def test_protected_strings_do_not_depend_on_the_picture_in_small_spaces(items, builder):
    for item in items[builder][:10]:
        if item.blueprint.answer_space and not builder.startswith(("tr_duration", "tr_date_b")):
            other = make(builder, int(item.blueprint.id.rpartition("-")[2]), salt=5).blueprint
            assert [fact.protected for fact in other.facts] == [fact.protected for fact in item.blueprint.facts]


def test_critical_pictures_are_those_whose_swap_can_change_the_answer():
    for builder in BUILDERS:
        item = make(builder, 3)
        for index in range(item.plan.slots):
            changed = any(
                solve(item.blueprint, swapped(item, index, salt)) != item.blueprint.answer for salt in range(1, 60)
            )
            assert changed == (index in item.blueprint.gold["critical"]), (builder, index)


def swapped(item, index, salt):
    """The item's facts with the picture of one of them from another image seed."""
    builder, number = item.blueprint.id.rsplit("-", 1)
    other = make(builder, int(number), salt=salt).blueprint
    facts = [replace(fact, images=other.facts[index].images) if at == index else fact
             for at, fact in enumerate(item.blueprint.facts)]  # fmt: skip
    return [Placed(fact, date) for fact, date in zip(facts, item.dates, strict=True)]


def test_another_fact_of_the_same_key_is_found():
    item = make("ku_update", 0)
    last = item.placed[-1]
    picture = ImageSpec("entity", {"entity": "banana"}, 1)
    late = Placed(replace(last.fact, images=(picture,), role="decoy"), last.date.replace(year=last.date.year + 1))
    assert solve(item.blueprint, [*item.placed, late]) == "banana"


@pytest.mark.parametrize("builder", BUILDERS)
def test_refusal_keeps_the_contrast_siblings_only(items, builder):
    for item in items[builder][:10]:
        refusal = refuse(item.blueprint)
        assert (refusal.answer, refusal.builder, refusal.mode) == (REFUSAL_GOLD, "ar", builder)
        assert refusal.question == item.blueprint.question
        assert [fact.role for fact in refusal.facts] == ["contrast"] * item.plan.contrast
        kept = [Placed(item.blueprint.facts[index], item.dates[index]) for index in refusal.gold["kept"]]
        assert [placed.fact for placed in kept] == list(refusal.facts)
        assert solve(refusal, kept) == REFUSAL_GOLD


@pytest.mark.parametrize("builder", ["msr_arithmetic", "msr_counting", "msr_entity"])
def test_told_items_say_what_their_pictures_show(builder):
    for index in range(20):
        item = make(builder, index, told=True)
        assert (item.blueprint.visual_need, item.blueprint.floor) == ("sufficient", 1)
        for fact in item.blueprint.facts:
            shown = fact.images[0].truth
            if builder == "msr_arithmetic":
                assert f"${fact.mentions['cents'] // 100}" in fact.text
            else:
                assert fact.mentions["entity"] == shown["entity"]
                assert shown["entity"] in fact.text
        with pytest.raises(ValueError, match="text says the answer"):
            counterfactual(item.plan, item.blueprint, dates=item.dates, used=frozenset(), cast=item.cast)


def test_plans_refuse_what_they_cannot_do():
    with pytest.raises(InputError, match="did you mean 'tr_order'"):
        plan_blueprint("tr_ordr", seed=1, path=("q",))
    with pytest.raises(ValueError, match="cannot suffice"):
        plan_blueprint("tr_order", seed=1, path=("q",), told=True)
    with pytest.raises(ValueError, match="2 to 8"):
        plan_blueprint("msr_counting", seed=1, path=("q",), msr_sessions=(3, 9))
    item = make("ku_update", 0)
    with pytest.raises(ValueError, match="4 increasing dates"):
        build_blueprint(item.plan, id="q", dates=item.dates[::-1], used=frozenset(), cast=item.cast)


@pytest.mark.parametrize("builder", BUILDERS)
def test_keys_are_unique_and_used_is_not_changed(builder):
    used: set[tuple[str, ...]] = set()
    item = make(builder, 0)
    for index in range(120):
        plan = plan_blueprint(builder, seed=3, path=("q", index))
        before = frozenset(used)
        dates = days(plan.slots)
        made = build_blueprint(plan, id=f"d{index}", dates=dates, used=used, cast=item.cast)
        assert used == before
        assert made.key not in used
        used.add(made.key)
    # No undertaking of one person occurs in two keys.
    things = [(part, key[1]) for key in used for part in key[0].split(" + ")]
    assert len(things) == len(set(things))


def days(slots: int) -> tuple[datetime, ...]:
    return tuple(datetime(2023, 5, 1, 9) + timedelta(days=3 * n) for n in range(slots))


def test_a_hard_negative_shares_the_person_or_the_thing():
    item = make("ie_chat", 0)
    thing, owner = item.blueprint.key
    person = next(person for person in item.cast if person.name == owner)
    for number in range(10):
        plan = plan_blueprint("ie_photo", seed=2, path=("near", number))
        near = [Near(person=person), Near(thing=thing)]
        keys = [
            build_blueprint(plan, id="d", dates=days(1), used={item.blueprint.key}, cast=item.cast, near=choice).key
            for choice in near
        ]
        assert [keys[0][1] == owner, keys[0][0] == thing] == [True, False]
        assert [keys[1][1] == owner, keys[1][0] == thing] == [False, True]


def test_a_used_up_cast_is_an_error_that_says_so():
    item = make("ku_update", 0)
    every = {
        (thing, item.cast[0].name) for kind in bank("classes")["classes"].values() for thing, _ in kind["attributes"]
    }
    with pytest.raises(InputError, match="a cast of 1 people has no key left for ku_update"):
        build_blueprint(item.plan, id="q", dates=item.dates, used=every, cast=item.cast[:1])


def test_building_does_not_depend_on_the_process():
    code = (
        "from memgauge.histories.building.blueprints import *;from datetime import datetime as d;"
        "p=plan_blueprint('tr_order',seed=4,path=('x',),index=2);"
        "dates=[d(2023,1,1+i) for i in range(p.slots)];"
        "print(build_blueprint(p,id='x',dates=dates,used=set(),cast=draw_cast(4,'x')))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": hashing}, capture_output=True, text=True, check=True
        ).stdout
        for hashing in ("1", "2")
    }
    assert len(printed) == 1
    assert "Blueprint" in printed.pop()


def test_two_seeds_share_no_question():
    asked = [
        {make(builder, n, seed=seed).blueprint.question for builder in BUILDERS for n in range(24)} for seed in (1, 2)
    ]
    assert not asked[0] & asked[1]
    assert min(map(len, asked)) == 24 * len(BUILDERS)


def test_no_receipt_lies_ahead_of_its_session(items):
    for item in items["msr_arithmetic"] + items["tr_date_b"]:
        for placed in item.placed:
            truth = placed.fact.images[0].truth
            if placed.fact.images[0].kind == "receipt":
                assert datetime.fromisoformat(f"{truth['date']} {truth['time']}") < placed.date
