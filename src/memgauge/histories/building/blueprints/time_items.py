"""Temporal reasoning: duration, order, dates of the modes B, C and D (MEMLENS, TR).

Mode B shows the date itself; C pairs pictures with dates in the text; D pairs them with days counted from the session.
In C and D four sessions speak of one series with the same words, each with a date and a picture of its own: the one
whose picture the question names is evidence, the other three are contrast siblings.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from itertools import permutations
from math import factorial
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.blueprints.draft import Draft, Recipe
from memgauge.histories.building.blueprints.forms import time_of_day
from memgauge.histories.building.blueprints.people import Person
from memgauge.histories.building.blueprints.wording import Pair, bank, pairs, sentence
from memgauge.histories.building.model import Blueprint, ImageSpec
from memgauge.histories.building.pictures.entities import CLASSES
from memgauge.histories.building.seeds import rng
from memgauge.histories.building.timeline import in_words, iso, relative, slashed

SHORTEST, LONGEST, APART = 40, 200, 5
"""Bounds on a duration and on the difference of two, in days."""
DAYS = 116
"""Days among which the date of mode B is drawn."""
SIBLINGS = 4

_DURATIONS = [
    (longer, shorter)
    for longer in range(SHORTEST, LONGEST + 1)
    for shorter in range(SHORTEST, longer - APART + 1)
]  # fmt: skip


def duration(draft: Draft) -> Blueprint:
    """Two spans of one person, whose beginnings the texts tell and whose ends the pictures show."""
    couple, person = _couple(draft)
    text = draft.text
    if text.random() < 0.5:
        couple = (couple[1], couple[0])  # which of the two comes first in the history
    begins = (draft.dates[0].date() - timedelta(days=text.randrange(3, 31)), draft.dates[1].date())
    told = draft.say(
        "tr_duration.told",
        **draft.about(couple[0], person),
        date=in_words(begins[0], text.randrange(3)),
    )
    today = draft.say("tr_duration.today", **draft.about(couple[1], person))
    ends = [draft.phrase(f"tr_duration.{thing.more}", f=person.first) for thing in couple]
    letters = text.sample((0, 1), 2)
    wants = text.choice(("longer", "shorter"))
    options = [f"{person.name}'s {couple[letters.index(place)].asked}" for place in (0, 1)]
    question = draft.say(f"tr_duration.{wants}?", a=options[0], b=options[1])

    answer = draft.answer("letter", 2)
    longer, shorter = draft.image.choice(_DURATIONS)
    days = [longer if (letters[index] == answer) == (wants == "longer") else shorter for index in (0, 1)]
    facts = []
    for index, said in enumerate((told + ends[0], today + ends[1])):
        begin = begins[index]
        mentions = {"thing": couple[index].id, "begins": iso(begin) if index == 0 else "today"}
        facts.append(
            draft.fact(
                index,
                said,
                _dated(draft, couple[index].more, begin + timedelta(days=days[index]), couple[index].said, person),
                mentions=mentions,
                protected=_spellings(begin + timedelta(days=days[index])),
            )
        )
    asked = [couple[letters.index(place)].id for place in (0, 1)]
    return draft.finish(
        question,
        "AB"[answer],
        facts,
        ask={"options": asked, "wants": wants},
        space=("A", "B"),
        floor=Fraction(1, 2),
        gold={"days": days},
        critical=(0, 1),
    )


def _couple(draft: Draft) -> tuple[tuple[Pair, Pair], Person]:
    """Draw a person and two undertakings, so that no undertaking of a person occurs in two blueprints of a history.

    Each person has a pairing of all undertakings of their own, whose couples are disjoint.
    """
    person = draft.near.person or draft.text.choice(draft.cast)
    everybody = [person, *draft.text.sample(draft.cast, len(draft.cast))]
    for someone in everybody:
        things = list(pairs("undertakings"))
        rng(draft.plan.seed, "couples", someone.name).shuffle(things)
        couples = list(zip(things[::2], things[1::2], strict=True))
        for couple in draft.text.sample(couples, len(couples)):
            if draft.claim(f"{couple[0].id} + {couple[1].id}", someone):
                return couple, someone
    raise InputError(f"{draft.id}: a cast of {len(draft.cast)} people has no key left for tr_duration")


def order(draft: Draft) -> Blueprint:
    """Motifs of one series, each of which joined it on the day of its session."""
    series, person = draft.take(pairs("series"))
    size = draft.plan.slots
    listed = draft.text.sample(CLASSES[draft.text.choice(list(CLASSES))], size)
    texts = [draft.say("series.today", **draft.about(series, person)) for _ in range(size)]
    items = ", ".join(f"({number}) {name}" for number, name in enumerate(listed, 1))
    question = draft.say("tr_order?", qs=f"{person.name}'s {series.asked}", items=items)
    choices = list(permutations(range(size)))
    ranking = choices[draft.answer("ranking", len(choices))]  # ranking[slot] is the item that joined there
    facts = [
        draft.fact(slot, texts[slot], draft.picture("entity", entity=listed[item]), protected=listed)
        for slot, item in enumerate(ranking)
    ]
    return draft.finish(
        question,
        _tuple(ranking),
        facts,
        ask={"items": listed},
        space=[_tuple(choice) for choice in choices],
        floor=Fraction(1, factorial(size)),
        gold={"sessions": [ranking.index(item) for item in range(size)]},
        critical=range(size),
    )


def _tuple(ranking: tuple[int, ...]) -> str:
    return "".join(f"({item + 1})" for item in ranking)


def date_b(draft: Draft) -> Blueprint:
    """A date that only the picture shows."""
    event, person = draft.take(pairs("events"))
    kind = draft.text.choice(("calendar", "ticket", "boarding_pass", "notice", "receipt"))
    said = draft.say(f"tr_date_b.{kind}", **draft.about(event, person, "event"))
    which = f"tr_date_b.{kind}?" if kind in ("boarding_pass", "receipt") else "tr_date_b?"
    question = draft.say(which, qe=f"{person.name}'s {event.asked}")
    today = draft.dates[0].date()
    # A deposit was made before the session, everything else lies ahead of it.
    days = [today + timedelta(days=-1 - n if kind == "receipt" else 5 + n) for n in range(DAYS)]
    day = days[draft.answer("day", DAYS)]
    fact = draft.fact(0, said, _dated(draft, kind, day, event.said, person), protected=_spellings(day))
    return draft.finish(
        f"{question} {draft.say('date')}",
        slashed(day),
        [fact],
        ask={"field": "date"},
        space=[slashed(each) for each in days],
        floor=Fraction(1, DAYS),
    )


def date_c(draft: Draft) -> Blueprint:
    """Four siblings with dates in their texts."""
    days = [day.date() - timedelta(days=ago) for day, ago in zip(draft.dates, _distinct(draft, 20), strict=True)]
    whens = [f"on {in_words(day, draft.text.randrange(3))}" for day in days]
    return _siblings(draft, days, whens, [{"date": iso(day)} for day in days])


def date_d(draft: Draft) -> Blueprint:
    """Four siblings whose dates count from the day of their session."""
    agos = _distinct(draft, 10)
    days = [day.date() - timedelta(days=ago) for day, ago in zip(draft.dates, agos, strict=True)]
    whens = [draft.text.choice(relative(day, ago)) for day, ago in zip(draft.dates, agos, strict=True)]
    return _siblings(draft, days, whens, [{"when": when} for when in whens])


def _distinct(draft: Draft, furthest: int) -> list[int]:
    """Draw for each session how many days it looks back, so that the days named all differ."""
    while True:
        agos = [draft.text.randrange(furthest + 1) for _ in draft.dates]
        if len({day.date() - timedelta(days=ago) for day, ago in zip(draft.dates, agos, strict=True)}) == len(agos):
            return agos


def _siblings(draft: Draft, days: list[date], whens: list[str], mentions: list[dict[str, str]]) -> Blueprint:
    series, person = draft.take(pairs("series"))
    members = CLASSES[draft.text.choice(list(CLASSES))]
    target = draft.text.choice(members)
    texts = [
        draft.say(
            "series.dated",
            **draft.about(series, person),
            when=when,
            When=sentence(when),
        )
        for when in whens
    ]
    question = draft.say("tr_date_when?", thing=target, qs=f"{person.name}'s {series.asked}")
    place = draft.answer("sibling", SIBLINGS)
    shown = draft.image.sample([name for name in members if name != target], SIBLINGS - 1)
    shown.insert(place, target)
    facts = [
        draft.fact(
            index,
            said,
            draft.picture("entity", entity=shown[index]),
            mentions=mentions[index],
            protected=members,
            role="evidence" if index == place else "contrast",
        )
        for index, said in enumerate(texts)
    ]
    return draft.finish(
        f"{question} {draft.say('date')}",
        slashed(days[place]),
        facts,
        ask={"thing": target},
        space=[slashed(day) for day in days],
        floor=Fraction(1, SIBLINGS),
        gold={"session": place},
        critical=range(SIBLINGS),
    )


def _dated(draft: Draft, kind: str, day: date, subject: str, person: Person) -> ImageSpec:
    """Specify a picture of the kind that shows the day."""
    image, props = draft.image, bank("props")
    truth: Mapping[str, Any]
    if kind == "calendar":
        truth = {"year": day.year, "month": day.month, "day": day.day}
    elif kind == "boarding_pass":
        origin, destination = image.sample(props["cities"], 2)
        truth = {
            "name": person.name,
            "origin": origin,
            "destination": destination,
            "date": iso(day),
            "time": time_of_day(image, 6, 22),
            "seat": f"{image.randrange(1, 32)}{image.choice('ABCDEF')}",
            "gate": f"{image.choice('ABCD')}{image.randrange(1, 40)}",
        }
    elif kind == "ticket":
        truth = {
            "event": sentence(subject),
            "venue": image.choice(props["venues"]),
            "date": iso(day),
            "time": time_of_day(image, 9, 21),
            "seat": f"{image.choice('ABCDEFGHJK')}{image.randrange(1, 40)}",
        }
    elif kind == "notice":
        lines = [f"{in_words(day)}, {time_of_day(image, 9, 20)}", *image.sample(props["notice_lines"], 2)]
        truth = {"title": image.choice(props["notice_titles"]), "lines": lines}
    else:
        items = [
            {"item": item, "cents": image.randrange(500, 9000)} for item in ("Deposit", image.choice(("Fee", "Tax")))
        ]
        truth = {
            "shop": image.choice(props["shops"]),
            "lines": items,
            "total_cents": sum(item["cents"] for item in items),
            "date": iso(day),
            "time": time_of_day(image),
        }
    return draft.picture(kind, **truth)


def _spellings(day: date) -> tuple[str, ...]:
    return (slashed(day), iso(day), *(in_words(day, form) for form in range(3)))


RECIPES = {
    "tr_duration": Recipe(duration, sizes=(2,)),
    "tr_order": Recipe(order, sizes=(3, 4)),
    "tr_date_b": Recipe(date_b),
    "tr_date_c": Recipe(date_c, sizes=(SIBLINGS,), contrast=SIBLINGS - 1),
    "tr_date_d": Recipe(date_d, sizes=(SIBLINGS,), contrast=SIBLINGS - 1),
}
