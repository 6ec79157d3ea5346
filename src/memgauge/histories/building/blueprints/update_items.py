"""Knowledge update: an attribute of somebody changes three times; what is it now (MEMLENS, KU Update).

The texts say each value by a descriptor that fits every member of its class, so that only the pictures tell them apart.
"""

from __future__ import annotations

from fractions import Fraction

from memgauge.histories.building.blueprints.draft import Draft, Recipe
from memgauge.histories.building.blueprints.wording import Pair, bank, pair
from memgauge.histories.building.model import Blueprint
from memgauge.histories.building.pictures.entities import CLASSES

UPDATES = 4


def descriptors(kind: str) -> tuple[str, ...]:
    """Return the descriptors that fit every member of a class: at most five words, none of which tells a member."""
    found = bank("classes")
    return (*found["neutral"], *found["classes"][kind]["descriptors"])


def attributes(kind: str) -> tuple[Pair, ...]:
    """Return what can be a member of the class for somebody, such as a mascot, in both phrasings."""
    return tuple(pair(said, asked) for said, asked in bank("classes")["classes"][kind]["attributes"])


def update(draft: Draft) -> Blueprint:
    """Four sessions, four descriptors, four members of the class that is the mode; the last one holds."""
    kind = draft.plan.mode
    attribute, person = draft.take(attributes(kind))
    texts = [
        draft.say(
            "ku_update",
            looks=looks,
            **draft.about(attribute, person),
        )
        for looks in draft.text.sample(descriptors(kind), UPDATES)
    ]
    question = draft.say("ku_update?", kind=kind, p=person.name, attribute=attribute.asked)
    members = CLASSES[kind]
    last = members[draft.answer("member", len(members))]
    shown = [*draft.image.sample([name for name in members if name != last], UPDATES - 1), last]
    facts = [
        draft.fact(index, said, draft.picture("entity", entity=name), protected=(*members, kind))
        for index, (said, name) in enumerate(zip(texts, shown, strict=True))
    ]
    return draft.finish(
        f"{question} {draft.say('name')}",
        last,
        facts,
        ask={"class": kind},
        space=members,
        floor=Fraction(1, len(members)),
        gold={"chain": shown},
        critical=(UPDATES - 1,),
        by_order=range(UPDATES - 1),
    )


RECIPES = {"ku_update": Recipe(update, modes=tuple(CLASSES), sizes=(UPDATES,))}
