"""The haystack: complete decoy blueprints in the mix of the questions (MEMLENS, C.8, haystack sessions).

A decoy is a blueprint like the target, with all of its facts and without its question. What tells a question's evidence
from its haystack would be a kind of fact that is more frequent in one of them, so the mix of the decoys is solved for.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memgauge.errors import InputError
from memgauge.histories.building.blueprints import Near, Person, Plan, build_blueprint, plan_blueprint
from memgauge.histories.building.model import BUILDERS, Blueprint, Fact
from memgauge.histories.building.seeds import rng

SINGLE_FACT = tuple(name for name in BUILDERS if name.startswith("ie_"))
"""Builders of one fact, from which second carriers come."""
HARD_NEGATIVE = 0.3
"""Probability that a decoy shares the question's event or object, and as much again that it shares its person."""
SURPLUS = 8
"""Pictures of decoys beyond those of the longest history: one chain and a few single sessions, so that every length can
be met exactly."""


@dataclass(frozen=True, slots=True)
class Need:
    """How many sessions the blueprint of one planned question takes."""

    builder: str
    evidence: int
    contrast: int
    refusal: bool
    """Its evidence is dropped, its contrast siblings stay."""


def decoy_mix(needs: Sequence[Need], decoy_sessions: float) -> dict[str, float]:
    """Return the probability of each builder among decoy blueprints.

    Parameters
    ----------
    needs : every question of the build.
    decoy_sessions : sessions of decoy blueprints in a history, on average.

    The share of each builder's facts in the haystack shall be its share in the evidence. With n histories of s decoy
    sessions, e_k the share of builder k among the evidence sessions, c_k the contrast siblings that stand in the
    haystack already and m_k the mean number of sessions of its blueprint, its decoy blueprints number

        d_k = (e_k * (n * s + sum(c)) - c_k) / m_k,

    and the mix is d_k / sum(d). Builders whose siblings alone pass their share get no decoys, and the others share
    what is left.

    Raises `InputError` when no question has evidence, so that there is nothing to follow.
    """
    evidence: dict[str, int] = defaultdict(int)
    contrast: dict[str, int] = defaultdict(int)
    sessions: dict[str, list[int]] = defaultdict(list)
    for need in needs:
        contrast[need.builder] += need.contrast
        sessions[need.builder].append(need.evidence + need.contrast)
        if not need.refusal:
            evidence[need.builder] += need.evidence
    whole = sum(evidence.values())
    if not whole:
        raise InputError("every question of this build is a refusal; ask for more questions")
    haystack = len(needs) * decoy_sessions + sum(contrast.values())
    wanted = {
        name: max(0.0, count / whole * haystack - contrast[name]) / (sum(sessions[name]) / len(sessions[name]))
        for name, count in evidence.items()
    }
    total = sum(wanted.values())
    if not total:
        raise InputError("the contrast siblings leave no room for decoys; ask for longer histories")
    return {name: wanted[name] / total for name in BUILDERS if wanted.get(name)}


def single_fact_mix(needs: Sequence[Need]) -> dict[str, float]:
    """Return the probability of each builder among second carriers: the mix of the single-fact questions."""
    counts = {name: sum(need.builder == name for need in needs) for name in SINGLE_FACT}
    total = sum(counts.values())
    if not total:  # a very small build without any: all alike
        return dict.fromkeys(SINGLE_FACT, 1 / len(SINGLE_FACT))
    return {name: count / total for name, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Carriers:
    """The facts of one session."""

    slot: int
    facts: tuple[Fact, ...]
    """The blueprint's own first, then the second carrier if there is one."""
    answer_space: tuple[str, ...]
    """Every possible answer of the blueprints that it carries facts of."""

    @property
    def pictures(self) -> int:
        """Number of pictures."""
        return sum(len(fact.images) for fact in self.facts)


@dataclass(frozen=True, slots=True)
class Haystack:
    """The sessions with pictures of one history, before any text is written."""

    required: tuple[int, ...]
    """Slots of evidence and contrast."""
    groups: tuple[tuple[int, ...], ...]
    """Slots of each decoy blueprint."""
    carriers: Mapping[int, Carriers]
    blueprints: tuple[Blueprint, ...]
    """Decoys and second carriers, for the record."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the haystacks of a build have in common."""

    mix: Mapping[str, float]
    second_mix: Mapping[str, float]
    second_carrier: float
    pictures: int
    """Of the longest history."""


def draw_haystack(
    question: Blueprint,
    kept: Mapping[int, Fact],
    *,
    recipe: Recipe,
    seed: int,
    dates: Sequence[datetime],
    cast: Sequence[Person],
) -> Haystack:
    """Draw second carriers and decoy blueprints for a question whose facts have their slots.

    Parameters
    ----------
    question : the target.
    kept : slot: fact of the question that stays in the history (of a refusal, its contrast siblings only).
    dates : of all slots.
    cast : people of the history.

    The decoys hold somewhat more pictures than the longest history needs, so that every length can be met exactly.
    """
    generator = rng(seed, question.id, "haystack")
    used = {question.key}
    made: list[Blueprint] = []
    carriers: dict[int, Carriers] = {}

    def decoy(plan: Plan, slots: Sequence[int], near: Near | None) -> Blueprint:
        blueprint = build_blueprint(
            plan,
            id=f"{question.id}.{len(made)}",
            dates=[dates[slot] for slot in slots],
            used=frozenset(used),
            cast=cast,
            near=near,
        )
        blueprint = replace(blueprint, facts=tuple(replace(fact, role="decoy") for fact in blueprint.facts))
        used.add(blueprint.key)
        made.append(blueprint)
        return blueprint

    def carry(slot: int, fact: Fact, space: tuple[str, ...]) -> None:
        facts: tuple[Fact, ...] = (fact,)
        spaces = space
        if generator.random() < recipe.second_carrier:
            builder = pick(generator, recipe.second_mix)
            plan = plan_blueprint(builder, seed=seed, path=(question.id, "second", slot))
            second = decoy(plan, [slot], None)
            facts, spaces = (fact, second.facts[0]), space + second.answer_space
        carriers[slot] = Carriers(slot, facts, tuple(dict.fromkeys(spaces)))

    for slot, fact in sorted(kept.items()):
        carry(slot, fact, question.answer_space)
    free = [slot for slot in range(len(dates)) if slot not in kept]
    generator.shuffle(free)
    groups: list[tuple[int, ...]] = []
    have = sum(c.pictures for c in carriers.values())
    while have < recipe.pictures + SURPLUS:
        number = len(groups)
        builder = pick(generator, recipe.mix)
        plan = plan_blueprint(builder, seed=seed, path=(question.id, "decoy", number))
        if plan.slots > len(free):
            break
        slots = tuple(sorted(free.pop() for _ in range(plan.slots)))
        blueprint = decoy(plan, slots, _near(generator, question, cast))
        for slot, fact in zip(slots, blueprint.facts, strict=True):
            carry(slot, fact, blueprint.answer_space)
        groups.append(slots)
        have += sum(carriers[slot].pictures for slot in slots)
    return Haystack(tuple(sorted(kept)), tuple(groups), carriers, tuple(made))


def pick(generator: random.Random, mix: Mapping[str, float]) -> str:
    """Draw a name by its probability; the same draw for the same mix on every machine."""
    names = sorted(mix)
    return generator.choices(names, [mix[name] for name in names])[0]


def _near(generator: random.Random, question: Blueprint, cast: Sequence[Person]) -> Near | None:
    """Draw what a decoy shares with the question: its thing, its person, or nothing; never both."""
    draw = generator.random()
    thing, *owner = question.key
    if draw < HARD_NEGATIVE:
        return Near(thing=thing)
    if draw < 2 * HARD_NEGATIVE:
        return next((Near(person=person) for person in cast if person.name in owner), None)
    return None
