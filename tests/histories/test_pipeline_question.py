"""One candidate: its screens reject what they should, its sessions and places follow from seed and place alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from memgauge.histories.building import checks, question
from memgauge.histories.building.blueprints import build_blueprint, draw_cast, plan_blueprint, refuse
from memgauge.histories.building.config import Line, build_config
from memgauge.histories.building.haystack import draw_haystack
from memgauge.histories.building.model import BUILDERS
from memgauge.histories.building.question import Maker, Place, Rejected, recipe_of
from memgauge.histories.building.seeds import rng
from memgauge.histories.building.solver import Placed
from memgauge.histories.building.text import AttemptLog, ProceduralWriter
from memgauge.histories.building.timeline import timeline


@pytest.fixture(scope="module")
def dates():
    return timeline(rng(1, "dates"), 60)[0]


def drawn(builder, dates, number=0, *, refusal=False):
    qid = f"q_{builder}{number}"
    cast = draw_cast(1, qid)
    plan = plan_blueprint(builder, seed=1, path=(qid,), index=None if refusal else number)
    slots = sorted(rng(1, qid, "slots").sample(range(len(dates)), plan.slots))
    whole = build_blueprint(plan, id=qid, dates=[dates[s] for s in slots], used=frozenset(), cast=cast)
    asked = refuse(whole) if refusal else whole
    places = dict(zip((f.id for f in whole.facts), slots, strict=True))
    kept = {places[f.id]: f for f in asked.facts}
    recipe = recipe_of(build_config("quick"))
    hay = draw_haystack(asked, kept, recipe=recipe, seed=1, dates=dates, cast=cast)
    history = [Placed(f, dates[c.slot]) for c in hay.carriers.values() for f in c.facts]
    return plan, whole, asked, hay, history, cast, [dates[s] for s in slots]


@pytest.mark.parametrize("builder", BUILDERS)
def test_every_builder_passes_its_screens_among_decoys(builder, dates):
    plan, whole, asked, _, history, cast, own = drawn(builder, dates)
    assert checks.problem(asked, history) == ""
    assert checks.swapped(plan, whole, dates=own, cast=cast)["answer"] != whole.answer
    _, _, gone, _, left, _, _ = drawn(builder, dates, refusal=True)
    assert gone.answer == "NOT_MENTIONED"
    assert checks.problem(gone, left) == ""


@pytest.mark.parametrize("builder", BUILDERS)
def test_the_screens_reject_a_wrong_gold_and_evidence_that_is_left(builder, dates):
    plan, whole, asked, _, history, cast, own = drawn(builder, dates)
    other = checks.swapped(plan, whole, dates=own, cast=cast)["answer"]
    assert "oracle" in checks.problem(replace(asked, answer=other), history)
    assert "oracle" in checks.problem(refuse(whole), history)
    without = [p for p in history if p.fact.role != "evidence"]
    assert "oracle" in checks.problem(asked, without)


def test_an_open_answer_may_not_be_said(dates):
    _, _, asked, _, history, _, _ = drawn("ie_chat", dates)
    assert not asked.answer_space
    said = replace(asked, question=f"{asked.question} Not at {asked.answer}?")
    assert "says the answer" in checks.problem(said, history)
    assert "<image>" in checks.problem(replace(asked, question=f"<image> {asked.question}"), history)


def test_decoys_are_complete_and_their_keys_are_fresh(dates):
    for number, builder in enumerate(BUILDERS):
        _, _, asked, hay, history, _, _ = drawn(builder, dates, number)
        own = {f.id for f in asked.facts}
        keys = [b.key for b in hay.blueprints]
        assert len(set(keys)) == len(keys)
        assert asked.key not in keys
        assert all(p.fact.role == "decoy" for p in history if p.fact.id not in own)
        placed = {p.fact.id for p in history}
        for blueprint in hay.blueprints:
            assert {f.id for f in blueprint.facts} <= placed
        slots = [s for group in hay.groups for s in group] + list(hay.required)
        assert len(set(slots)) == len(slots)
        assert sum(c.pictures for c in hay.carriers.values()) >= 20


def test_hard_negatives_share_the_thing_or_the_person_never_both(dates):
    things = people = decoys = 0
    for number in range(30):
        _, _, asked, hay, _, _, _ = drawn("ie_chat", dates, number)
        for blueprint in hay.blueprints:
            decoys += 1
            thing, person = blueprint.key[0] == asked.key[0], asked.key[1] in blueprint.key
            assert not (thing and person)
            things, people = things + thing, people + person
    # Second carriers share by chance only (one of twelve people); hard negatives share the person with p = 0.3.
    assert people > 0.2 * decoys
    assert things > 0


def test_second_carriers_come_with_their_probability(dates):
    doubled = sessions = 0
    for number in range(30):
        _, _, _, hay, _, _, _ = drawn("msr_counting", dates, number)
        sessions += len(hay.carriers)
        doubled += sum(len(c.facts) == 2 for c in hay.carriers.values())
    # 0.2 of some 600 sessions: six standard errors are 0.1.
    assert abs(doubled / sessions - 0.2) < 6 * (0.16 / sessions) ** 0.5


def test_evidence_stands_anywhere():
    config = build_config("quick", seed=5)
    line = Line("ie_chat", 400)
    positions = []
    for index in range(300):
        place = Place(line, index)
        slots = rng(5, place.question_id(5), "slots").sample(range(40), 1)
        positions.append((slots[0] + 0.5) / 40)
    assert config.seed == 5
    # Fixed seed; a uniform law fails at this level once in a thousand.
    assert stats.kstest(positions, "uniform").pvalue > 0.001


def test_a_candidate_depends_on_its_place_alone(tmp_path):
    maker = Maker(build_config("quick", seed=2, lengths=("32k",)), tmp_path, ProceduralWriter)
    (tmp_path / ".build" / "units").mkdir(parents=True)
    line = Line("tr_date_c", 5)
    one = maker.write(Place(line, 1), AttemptLog())
    maker.write(Place(line, 0), AttemptLog())
    again = maker.write(Place(line, 1), AttemptLog())
    assert again.sessions == one.sessions
    assert again.pictures == one.pictures
    assert again.members == one.members
    assert len(one.needed) == 1
    assert {f.role for f in one.blueprint.facts} == {"evidence", "contrast"}


def test_rejections_are_kept_with_their_stage(tmp_path, monkeypatch):
    maker = Maker(build_config("quick", lengths=("32k",)), tmp_path, ProceduralWriter)
    monkeypatch.setattr(question.checks, "problem", lambda *_: "rule, odd")
    with pytest.raises(Rejected):
        maker.write(Place(Line("ie_chat", 1), 0), AttemptLog())
    header = maker.make(Place(Line("ie_chat", 1), 0))
    assert header.rejected == "question: rule, odd"
    assert not list(Path(tmp_path).rglob("*.png"))
    assert not header.evidence_files
