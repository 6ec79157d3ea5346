"""Multi-session reasoning: arithmetic, counting, entity resolution (MEMLENS, MSR).

With `told` the text also says what each picture shows: the paper's items whose text suffices.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from random import Random

from memgauge.histories.building.blueprints.draft import Draft, Recipe
from memgauge.histories.building.blueprints.forms import dollars, small_numbers, time_of_day
from memgauge.histories.building.blueprints.wording import bank, pairs, sentence
from memgauge.histories.building.model import Blueprint, ImageSpec
from memgauge.histories.building.pictures.entities import CLASSES, NAMES, plural, with_article
from memgauge.histories.building.timeline import iso

BUYABLE = ("instrument", "tool", "garment", "sports item", "household item", "device")
"""Classes of what is bought without a slip."""


def arithmetic(draft: Draft) -> Blueprint:
    """Expenses of one project: at least half on slips, the others said in the text."""
    project, person = draft.take(pairs("projects"))
    text, size = draft.text, draft.plan.slots
    slips = sorted(text.sample(range(size), text.randint((size + 1) // 2, size)))
    drawn: list[tuple[str, ImageSpec, int, bool]] = []
    for index in range(size):
        slots = draft.about(project, person)
        if index in slips:
            kind = text.choice(("receipt", "tag"))
            said = draft.say(f"msr_arithmetic.{kind}", **slots)
            picture, cents = _receipt(draft, index) if kind == "receipt" else _tag(draft)
            if draft.plan.told:
                said += draft.phrase("msr_arithmetic.told", amount=dollars(cents))
        else:
            cents = text.randrange(300, 9000)
            said = draft.say("msr_arithmetic.cash", amount=dollars(cents), **slots)
            picture = draft.picture("entity", entity=draft.image.choice(CLASSES[draft.image.choice(BUYABLE)]))
        drawn.append((said, picture, cents, index not in slips or draft.plan.told))
    question = draft.say("msr_arithmetic?", qp=f"{person.name}'s {project.asked}")
    answer = dollars(sum(cents for _, _, cents, _ in drawn))
    facts = [
        draft.fact(index, said, picture, mentions={"cents": cents} if heard else {}, protected=(dollars(cents), answer))
        for index, (said, picture, cents, heard) in enumerate(drawn)
    ]
    return draft.finish(
        f"{question} {draft.say('money')}",
        answer,
        facts,
        ask={"field": "total"},
        gold={"cents": [cents for _, _, cents, _ in drawn]},
        critical=slips,
    )


def _tag(draft: Draft) -> tuple[ImageSpec, int]:
    cents = draft.image.randrange(200, 12000)
    return draft.picture("price_tag", item=draft.image.choice(bank("props")["tag_items"]), cents=cents), cents


def _receipt(draft: Draft, index: int) -> tuple[ImageSpec, int]:
    """Return a receipt of the day before its session, so that no hour on it lies ahead, and its total."""
    image, props = draft.image, bank("props")
    items = image.sample(props["receipt_items"], image.randint(2, 5))
    lines = [{"item": item, "cents": image.randrange(120, 4000)} for item in items]
    total = sum(line["cents"] for line in lines)
    picture = draft.picture(
        "receipt",
        shop=image.choice(props["shops"]),
        lines=lines,
        total_cents=total,
        date=iso(draft.dates[index] - timedelta(days=1)),
        time=time_of_day(image),
    )
    return picture, total


def counting(draft: Draft) -> Blueprint:
    """Motifs of one series; how many belong to a class is asked."""
    series, person = draft.take(pairs("series"))
    size = draft.plan.slots
    kind = draft.text.choice(list(CLASSES))
    count = 1 + draft.answer("count", size)
    apart = {kind, *bank("classes")["apart"][kind]}
    strangers = [name for other, members in CLASSES.items() if other not in apart for name in members]
    shown = draft.image.sample(CLASSES[kind], count) + draft.image.sample(strangers, size - count)
    draft.image.shuffle(shown)
    facts = []
    for index, name in enumerate(shown):
        said = draft.say("series.today", **draft.about(series, person))
        said, mentions = _tell(draft, "msr_counting.told", said, name)
        facts.append(
            draft.fact(
                index,
                said,
                draft.picture("entity", entity=name),
                mentions=mentions,
                protected=(*NAMES, *small_numbers(1, size)),
            )
        )
    question = draft.say("msr_counting?", things=plural(kind), qs=f"{person.name}'s {series.asked}")
    return draft.finish(
        f"{question} {draft.say('number')}",
        str(count),
        facts,
        ask={"class": kind},
        space=[str(number) for number in range(1, size + 1)],
        floor=Fraction(1, size),
        critical=range(size),
    )


def entity(draft: Draft) -> Blueprint:
    """Motifs found at different places: are two of them alike, or how many different ones are there."""
    series, person = draft.take(pairs("series"))
    size = draft.plan.slots
    places = draft.text.sample(pairs("places"), size)
    kind = draft.text.choice(list(CLASSES))
    two = draft.text.sample(range(size), 2)
    asked = f"{person.name}'s {series.asked}"
    if draft.plan.mode == "yes_no":
        alike = draft.answer("alike", 2) == 0
        shown = _pair(draft.image, CLASSES[kind], size, two, alike)
        here, there = (places[index].asked for index in two)
        question = draft.say("msr_entity.yes_no?", qs=asked, here=here, there=there)
        hint, answer, space = draft.say("msr_entity.yes_no!"), "Yes" if alike else "No", ["Yes", "No"]
        ask: dict[str, object] = {"places": [places[index].id for index in two]}
        protected: tuple[str, ...] = CLASSES[kind]
    else:
        different = 1 + draft.answer("different", size)
        shown = _partition(draft.image, CLASSES[kind], size, different)
        question = draft.say("msr_entity.kinds?", qs=asked)
        hint, answer = draft.say("number"), str(different)
        space, ask = [str(number) for number in range(1, size + 1)], {"field": "kinds"}
        protected = (*CLASSES[kind], *small_numbers(1, size))
    facts = []
    for index, (name, place) in enumerate(zip(shown, places, strict=True)):
        said = draft.say(
            "msr_entity",
            **draft.about(series, person),
            place=place.said,
            Place=sentence(place.said),
        )
        said, mentions = _tell(draft, "msr_entity.told", said, name)
        facts.append(
            draft.fact(
                index,
                said,
                draft.picture("entity", entity=name),
                mentions={"place": place.id, **mentions},
                protected=protected,
            )
        )
    return draft.finish(
        f"{question} {hint}",
        answer,
        facts,
        ask=ask,
        space=space,
        floor=Fraction(1, len(space)),
        gold={"entities": shown},
        critical=sorted(two) if draft.plan.mode == "yes_no" else range(size),
    )


def _pair(generator: Random, members: Sequence[str], size: int, two: Sequence[int], alike: bool) -> list[str]:
    """Return members for `size` sessions, of which the `two` hold the same one or not."""
    shown = generator.choices(members, k=size)
    if alike:
        shown[two[1]] = shown[two[0]]
    else:
        shown[two[1]] = generator.choice([name for name in members if name != shown[two[0]]])
    return shown


def _partition(generator: Random, members: Sequence[str], size: int, different: int) -> list[str]:
    """Return members for `size` sessions, exactly `different` ones among them."""
    chosen = generator.sample(members, different)
    shown = chosen + generator.choices(chosen, k=size - different)
    generator.shuffle(shown)
    return shown


def _tell(draft: Draft, name: str, said: str, shown: str) -> tuple[str, dict[str, str]]:
    """Return the text and its mentions, with what the picture shows where the text shall suffice."""
    if not draft.plan.told:
        return said, {}
    return said + draft.phrase(name, thing=with_article(shown)), {"entity": shown}


RECIPES = {
    "msr_arithmetic": Recipe(arithmetic, sizes=()),
    "msr_counting": Recipe(counting, sizes=()),
    "msr_entity": Recipe(entity, modes=("yes_no", "kinds"), sizes=(), any_size=frozenset({"yes_no"})),
}
