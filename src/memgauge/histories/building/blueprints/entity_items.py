"""Information extraction, two hops: disambiguation, alignment, counting, spatial, arithmetic (MEMLENS, IE Entity).

Disambiguation is a table in the text whose row the picture names; in the others the text leads to the session and the
picture holds the answer.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

from memgauge.histories.building.blueprints.draft import Draft, Recipe
from memgauge.histories.building.blueprints.forms import COUNTS, countable, dollars, small_numbers, spread
from memgauge.histories.building.blueprints.wording import bank, pairs
from memgauge.histories.building.model import Blueprint
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.entities import CLASSES, NAMES, plural, with_article

ROWS = 5
"""Rows of a table of disambiguation."""
MOST = 7
"""Counting asks for 2 to `MOST` things."""

_ANCHORS, _TARGETS = spread(NAMES)
_PLACE_ANCHORS, _PLACE_TARGETS = spread(tuple(bank("props")["map_labels"]))
_STEPS = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}


def disambiguation(draft: Draft) -> Blueprint:
    """Five names with a number each; the picture says which one is meant."""
    text = draft.text
    event, person = draft.take(pairs("events"))
    token, target, targets, asked = text.choice(bank("props")["tables"])
    listed = text.sample(CLASSES[text.choice(list(CLASSES))], ROWS)
    numbers = text.sample(range(11, 100), ROWS)
    cells = [f"{name} {number}" for name, number in zip(listed, numbers, strict=True)]
    said = draft.say(
        "ie_disambiguation",
        **draft.about(event, person, "event"),
        token=token,
        a_target=with_article(target),
        targets=targets,
        table=f"{', '.join(cells[:-1])} and {cells[-1]}",
    )
    question = draft.say("ie_disambiguation?", target=asked, p=person.name, qe=f"the {event.asked}")
    row = draft.answer("row", ROWS)
    table = dict(zip(listed, numbers, strict=True))
    fact = draft.fact(
        0,
        said,
        draft.picture("entity", entity=listed[row]),
        mentions={"table": table},
        protected=(*listed, *map(str, numbers)),
    )
    return draft.finish(
        f"{question} {draft.say('number')}",
        str(numbers[row]),
        [fact],
        ask={"field": "number"},
        space=[str(number) for number in numbers],
        floor=Fraction(1, ROWS),
    )


def alignment(draft: Draft) -> Blueprint:
    """A badge with a colour in each corner; one corner is asked."""
    event, person = draft.take(pairs("events"))
    props = bank("props")
    corner = draft.text.choice(list(props["corners"]))
    said = draft.say(
        "ie_alignment",
        **draft.about(event, person, "event"),
        badge=draft.text.choice(props["badges"]),
    )
    question = draft.say(
        "ie_alignment?", corner=draft.text.choice(props["corners"][corner]), qe=f"{person.name}'s {event.asked}"
    )
    colours = list(COLOURS)
    answer = colours[draft.answer("colour", len(colours))]
    others = draft.image.sample([colour for colour in colours if colour != answer], 3)
    truth = {place: answer if place == corner else others.pop() for place in props["corners"]}
    fact = draft.fact(0, said, draft.picture("badge", **truth), protected=colours)
    return draft.finish(
        f"{question} {draft.say('colour')}",
        answer,
        [fact],
        ask={"corner": corner},
        space=colours,
        floor=Fraction(1, len(colours)),
    )


def counting(draft: Draft) -> Blueprint:
    """A shelf with several kinds of things; how many of one kind is asked."""
    event, person = draft.take(pairs("events"))
    thing = draft.text.choice(countable())
    said = draft.say("ie_counting", **draft.about(event, person, "event"))
    question = draft.say("ie_counting?", things=plural(thing), qe=f"{person.name}'s {event.asked}")
    counts = range(2, MOST + 1)
    count = counts[draft.answer("count", len(counts))]
    others = draft.image.sample([name for name in countable() if name != thing], draft.image.randint(2, 3))
    items = [{"entity": name, "count": draft.image.randint(1, 5)} for name in others]
    items.insert(draft.image.randrange(len(items) + 1), {"entity": thing, "count": count})
    fact = draft.fact(
        0,
        said,
        draft.picture("shelf", items=items),
        protected=small_numbers(2, MOST),
    )
    return draft.finish(
        f"{question} {draft.say('number')}",
        str(count),
        [fact],
        ask={"thing": thing},
        space=[str(number) for number in counts],
        floor=Fraction(1, len(counts)),
    )


def spatial(draft: Draft) -> Blueprint:
    """What lies next to a thing on a tray, or to a place on a map."""
    event, person = draft.take(pairs("events"))
    on_map = draft.plan.mode == "map"
    anchors, targets = (_PLACE_ANCHORS, _PLACE_TARGETS) if on_map else (_ANCHORS, _TARGETS)
    anchor = draft.text.choice(anchors)
    relation = draft.text.choice(list(_STEPS))
    name = f"ie_spatial.{draft.plan.mode}"
    said = draft.say(name, **draft.about(event, person, "event"))
    question = draft.say(
        f"{name}?",
        anchor=anchor if on_map else f"the {anchor}",
        relation=bank("props")["relations"][relation],
        qe=f"{person.name}'s {event.asked}",
    )
    answer = targets[draft.answer("neighbour", len(targets))]
    columns, rows = (4, 4) if on_map else (3, 3)
    grid = _place(draft.image, columns, rows, relation)
    rest = [label for label in (*anchors, *targets) if label not in (anchor, answer)]
    free = [cell for cell in ((x, y) for y in range(rows) for x in range(columns)) if cell not in grid]
    more = draft.image.sample(free, draft.image.randint(3, 6))
    shown = dict(zip((*grid, *more), (anchor, answer, *draft.image.sample(rest, len(more))), strict=True))
    if on_map:
        places = [{"label": label, "cell": f"{'ABCD'[x]}{y + 1}"} for (x, y), label in sorted(shown.items())]
        picture = draft.picture("map", places=places)
    else:
        picture = draft.picture("tray", cells=[shown.get((x, y)) for y in range(3) for x in range(3)])
    fact = draft.fact(0, said, picture, protected=targets)
    return draft.finish(
        f"{question} {draft.say('name')}",
        answer,
        [fact],
        ask={"anchor": anchor, "relation": relation},
        space=targets,
        floor=Fraction(1, len(targets)),
    )


def _place(generator: Random, columns: int, rows: int, relation: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return a cell and its neighbour in the direction of `relation`, both on the grid."""
    dx, dy = _STEPS[relation]
    x = generator.randrange(max(0, -dx), columns - max(0, dx))
    y = generator.randrange(max(0, -dy), rows - max(0, dy))
    return (x, y), (x + dx, y + dy)


def arithmetic(draft: Draft) -> Blueprint:
    """A price in the picture, times a number in the question."""
    event, person = draft.take(pairs("events"))
    text, image = draft.text, draft.image
    times = text.randint(2, 6)
    slots = draft.about(event, person, "event")
    asked = f"{person.name}'s {event.asked}"
    props = bank("props")
    if draft.plan.mode == "tag":
        good = text.choice(pairs("goods"))
        said = draft.say("ie_arithmetic.tag", good=good.said, a_good=with_article(good.said), **slots)
        question = draft.say("ie_arithmetic.tag?", n=COUNTS[times], goods=good.more, qe=asked)
        cents = image.randrange(150, 15000)
        picture = draft.picture("price_tag", item=image.choice(props["tag_items"]), cents=cents)
        ask: dict[str, object] = {"times": times}
    else:
        dish = text.choice(props["menu_items"])
        said = draft.say("ie_arithmetic.menu", **slots)
        question = draft.say("ie_arithmetic.menu?", n=COUNTS[times], dish=dish.lower(), qe=asked)
        cents = image.randrange(150, 2500)
        rows = [
            {"item": name, "cents": image.randrange(150, 2500)}
            for name in image.sample([item for item in props["menu_items"] if item != dish], image.randint(3, 5))
        ]
        rows.insert(image.randrange(len(rows) + 1), {"item": dish, "cents": cents})
        picture = draft.picture("menu", title=image.choice(props["menu_titles"]), rows=rows)
        ask = {"times": times, "item": dish}
    answer = dollars(times * cents)
    fact = draft.fact(0, said, picture, protected=(answer, dollars(cents)))
    return draft.finish(f"{question} {draft.say('money')}", answer, [fact], ask=ask, gold={"cents": times * cents})


RECIPES = {
    "ie_disambiguation": Recipe(disambiguation),
    "ie_alignment": Recipe(alignment),
    "ie_counting": Recipe(counting),
    "ie_spatial": Recipe(spatial, modes=("tray", "map")),
    "ie_arithmetic": Recipe(arithmetic, modes=("tag", "menu")),
}
