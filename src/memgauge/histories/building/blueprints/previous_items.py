"""Information extraction from an earlier picture: chat, app, photograph (MEMLENS, IE PrevInfo)."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from random import Random

from memgauge.histories.building.blueprints.draft import Draft, Recipe
from memgauge.histories.building.blueprints.forms import dollars
from memgauge.histories.building.blueprints.wording import bank, pairs
from memgauge.histories.building.model import Blueprint, ImageSpec
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.kinds import SKIES
from memgauge.histories.building.timeline import iso

DEGREES = range(1, 41)
"""Temperatures of forecasts."""
_CLOCK = [(hour, minute) for hour in range(1, 13) for minute in range(0, 60, 5)]
_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


def chat(draft: Draft) -> Blueprint:
    """A chat that holds a time, a code and an amount; one of them is asked."""
    event, person = draft.take(pairs("events"))
    said = draft.say("ie_chat", **draft.about(event, person, "event"))
    question = draft.say(f"ie_chat.{draft.plan.mode}?", qe=f"{person.name}'s {event.asked}")
    hint = {"time": "time", "code": "number", "price": "money"}[draft.plan.mode]
    image, lines = draft.image, bank("props")["chat"]
    values = {
        "time": f"{image.randrange(8, 22):02d}:{image.randrange(60):02d}",
        "code": f"{image.randrange(1000, 10000)}",
        "price": dollars(image.randrange(200, 6000)),
    }
    order = image.sample(list(values), 3)
    texts = [("me", image.choice(lines["me"]))]
    texts += [("them", image.choice(lines[field]).format(**values)) for field in order]
    texts += [("me", image.choice(lines["end"]))]
    minute = image.randrange(8 * 60, 21 * 60)
    messages = []
    for sender, line in texts:
        minute += image.randrange(1, 9)
        messages.append({"sender": sender, "text": line, "time": f"{minute // 60:02d}:{minute % 60:02d}"})
    answer = values[draft.plan.mode]
    fact = draft.fact(
        0,
        said,
        draft.picture("chat", contact=person.name, messages=messages),
        protected=tuple(values.values()),
    )
    return draft.finish(f"{question} {draft.say(hint)}", answer, [fact], ask={"field": draft.plan.mode})


def app(draft: Draft) -> Blueprint:
    """Rows of an app, a forecast, or a chart; one value is asked."""
    event, person = draft.take(pairs("events"))
    text, image, mode, props = draft.text, draft.image, draft.plan.mode, bank("props")
    slots = draft.about(event, person, "event")
    asked = f"{person.name}'s {event.asked}"
    name = f"ie_app.{mode}"
    if mode == "weather":
        said = draft.say(name, **slots)
        question = draft.say(f"{name}?", qe=asked)
        degrees = DEGREES[draft.answer("degrees", len(DEGREES))]
        picture = draft.picture(
            "weather",
            city=image.choice(props["cities"]),
            date=iso(draft.dates[0] + timedelta(days=image.randrange(1, 7))),
            degrees=degrees,
            sky=image.choice(SKIES),
        )
        space = [str(value) for value in DEGREES]
        fact = draft.fact(0, said, picture, protected=space)
        return draft.finish(
            f"{question} {draft.say('number')}",
            str(degrees),
            [fact],
            ask={"field": "degrees"},
            space=space,
            floor=Fraction(1, len(DEGREES)),
        )
    if mode == "chart":
        labels = text.choice(props["bar_labels"])
        label = text.choice(labels)
        said = draft.say(name, **slots)
        question = draft.say(f"{name}?", qe=asked, label=label)
        shown = sorted({label, *image.sample(labels, min(len(labels), 5))}, key=labels.index)
        values = dict(zip(shown, image.sample(range(110, 990), len(shown)), strict=True))
        bars = [{"label": bar, "value": value} for bar, value in values.items()]
        picture = draft.picture("chart", title=image.choice(props["chart_titles"]), bars=bars)
        value = values[label]
    else:
        theme = text.choice(props["apps"])
        row = text.randrange(len(theme["rows"]))
        what = theme["rows"][row][1]
        said = draft.say(name, app=text.choice(theme["d"]), **slots)
        question = draft.say(f"{name}?", qe=asked, what=what, what_low=what.lower())
        drawn = [(tag, image.randint(low, high), unit) for tag, _, low, high, unit in theme["rows"]]
        picture = draft.picture(
            "app", title=theme["title"], rows=[{"label": tag, "value": f"{n}{unit}"} for tag, n, unit in drawn]
        )
        label, value = drawn[row][0], drawn[row][1]
    fact = draft.fact(0, said, picture, protected=(str(value),))
    return draft.finish(f"{question} {draft.say('number')}", str(value), [fact], ask={"label": label})


def photo(draft: Draft) -> Blueprint:
    """A house, a clock, a number plate, a street sign or a notice; one detail is asked."""
    event, person = draft.take(pairs("events"))
    mode, props = draft.plan.mode, bank("props")
    name = f"ie_photo.{mode}"
    said = draft.say(name, **draft.about(event, person, "event"))
    asked = f"{person.name}'s {event.asked}"
    if mode == "scene":
        parts = props["scene_parts"]
        part = draft.text.choice(list(parts))
        which = "ie_photo.scene.car?" if part == "car" else "ie_photo.scene?"
        question = draft.say(which, qe=asked, part=parts[part])
        colours = list(COLOURS)
        answer = colours[draft.answer("colour", len(colours))]
        others = draft.image.sample([colour for colour in colours if colour != answer], 3)
        picture = draft.picture("scene", **{each: answer if each == part else others.pop() for each in parts})
        ask, space, hint = {"part": part}, colours, draft.say("colour")
        protected = colours
    elif mode == "clock":
        question, hint = draft.say(f"{name}?", qe=asked), draft.say(f"{name}!")
        hour, minute = _CLOCK[draft.answer("time", len(_CLOCK))]
        picture = draft.picture("clock", hour=hour, minute=minute)
        answer, ask = f"{hour}:{minute:02d}", {"field": "time"}
        space = [f"{h}:{m:02d}" for h, m in _CLOCK]
        protected = space
    else:
        question = draft.say(f"{name}?", qe=asked)
        hint = draft.say("number" if mode == "notice" else f"{name}!")
        answer, picture = _written(draft, mode)
        ask, space, protected = {"field": mode}, [], [answer]
    fact = draft.fact(0, said, picture, protected=protected)
    floor = Fraction(1, len(space)) if space else Fraction(0)
    return draft.finish(f"{question} {hint}", answer, [fact], ask=ask, space=space, floor=floor)


def _written(draft: Draft, mode: str) -> tuple[str, ImageSpec]:
    """Return what a plate, a sign or a notice says, and its picture."""
    image, props = draft.image, bank("props")
    if mode == "plate":
        answer = f"{_letters(image, 3)} {image.randrange(100, 1000)}"
        return answer, draft.picture("plate", text=answer)
    if mode == "sign":
        answer = f"{image.choice(props['street_first'])} {image.choice(props['street_second'])}"
        return answer, draft.picture("street_sign", text=answer)
    answer = str(image.randrange(101, 500))
    lines = [f"Room {answer}", *image.sample(props["notice_lines"], image.randint(2, 3))]
    image.shuffle(lines)
    return answer, draft.picture("notice", title=image.choice(props["notice_titles"]), lines=lines)


def _letters(generator: Random, count: int) -> str:
    return "".join(generator.choices(_LETTERS, k=count))


RECIPES = {
    "ie_chat": Recipe(chat, modes=("time", "code", "price")),
    "ie_app": Recipe(app, modes=("rows", "weather", "chart")),
    "ie_photo": Recipe(photo, modes=("scene", "clock", "plate", "sign", "notice")),
}
