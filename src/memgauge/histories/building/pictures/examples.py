"""Plausible truths of every kind, from a seed: for the contact sheet, the benchmark and the tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import Any

from memgauge.errors import unknown_name
from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.entities import NAMES, plural
from memgauge.histories.building.pictures.kinds import CELLS, KINDS, SKIES

SHOPS = ("Corner Market", "Harbour Hardware", "Green Basket", "Oak & Iron", "The Paper Room", "Mill Street Bakery")
GOODS = (
    "oat milk", "rye bread", "olive oil", "brown rice", "coffee beans", "dish soap", "wall paint", "light bulb",
    "picture hooks", "garden twine", "notebook", "black tea", "tomato soup", "paper towels", "wool socks",
)  # fmt: skip
PEOPLE = ("Dana Whitfield", "Owen Marsh", "Priya Raman", "Luis Ortega", "Mei Tanaka", "Hanna Lindqvist")
CITIES = ("Lisbon", "Oslo", "Porto Alegre", "Kyoto", "Montreal", "Valencia", "Ljubljana", "Wellington")
EVENTS = ("Winter Strings", "Harbour Jazz Night", "Open Air Cinema", "The Glass Orchard", "City Choir Gala")
VENUES = ("Granary Hall", "Old Dock Theatre", "North Pavilion", "Museum Courtyard")
LINES = (
    "The side door is closed this week.", "Please bring your own mug.", "Keys are with the caretaker.",
    "Doors open half an hour earlier.", "Parking is behind the hall.",
)  # fmt: skip
SAYINGS = (
    "Are you still on for the swim?", "Yes, meet me at the gate at {time}.", "The table is at {time} now, all right?",
    "Perfect, see you there!", "Can you bring the blue folder?", "Sure. The total was ${amount} by the way.",
    "The bus leaves at {time}, don't be late.",
)  # fmt: skip
STREETS = ("Linden Avenue", "Station Road", "Old Mill Lane", "Harbour Street", "Castle Hill")


def example(kind: str, seed: int) -> ImageSpec:
    """Return a picture's spec of a kind; raises `InputError` for an unknown kind.

    >>> example("plate", 3) == example("plate", 3)
    True
    """
    if kind not in KINDS:
        raise unknown_name("kind of picture", kind, KINDS)
    rng = Random(f"{kind} {seed}")
    return ImageSpec(kind, _MAKERS[kind](rng), rng.getrandbits(63))


def _day(rng: Random) -> str:
    return (date(2023, 1, 1) + timedelta(rng.randrange(500))).isoformat()


def _time(rng: Random) -> str:
    return f"{rng.randrange(24):02d}:{rng.randrange(60):02d}"


def _receipt(rng: Random) -> dict[str, Any]:
    prices = {item: rng.randrange(99, 9999) for item in rng.sample(GOODS, rng.randrange(2, 8))}
    return {
        "shop": rng.choice(SHOPS),
        "lines": [{"item": item, "cents": cents} for item, cents in prices.items()],
        "total_cents": sum(prices.values()),
        "date": _day(rng),
        "time": _time(rng),
    }


def _calendar(rng: Random) -> dict[str, Any]:
    year, month, day = (int(part) for part in _day(rng).split("-"))
    return {"year": year, "month": month, "day": day}


def _pass(rng: Random) -> dict[str, Any]:
    origin, destination = rng.sample(CITIES, 2)
    return {
        "name": rng.choice(PEOPLE),
        "origin": origin,
        "destination": destination,
        "date": _day(rng),
        "time": _time(rng),
        "seat": f"{rng.randrange(1, 40)}{rng.choice('ABCDEF')}",
        "gate": f"{rng.choice('ABCD')}{rng.randrange(1, 60)}",
    }


def _ticket(rng: Random) -> dict[str, Any]:
    seat = f"Row {rng.randrange(1, 30)}, {rng.randrange(1, 40)}"
    return {
        "event": rng.choice(EVENTS),
        "venue": rng.choice(VENUES),
        "date": _day(rng),
        "time": _time(rng),
        "seat": seat,
    }


def _plate(rng: Random) -> dict[str, Any]:
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(3))
    return {"text": f"{letters} {rng.randrange(1000, 10000)}"}


def _chat(rng: Random) -> dict[str, Any]:
    messages = []
    for saying in rng.sample(SAYINGS, rng.randrange(2, 6)):
        text = saying.format(time=_time(rng), amount=f"{rng.randrange(5, 90)}.{rng.randrange(100):02d}")
        messages.append({"sender": rng.choice(("me", "them")), "text": text, "time": _time(rng)})
    return {"contact": rng.choice(PEOPLE), "messages": messages}


def _app(rng: Random) -> dict[str, Any]:
    values = {
        "Distance": f"{rng.randrange(2, 42)}.{rng.randrange(10)} km",
        "Duration": f"{rng.randrange(1, 6)} h {rng.randrange(60)} min",
        "Calories": str(rng.randrange(120, 2400)),
        "Order number": str(rng.randrange(10000, 99999)),
        "Arrives": _time(rng),
        "Balance": f"${rng.randrange(10, 900)}.{rng.randrange(100):02d}",
        "Lane": str(rng.randrange(1, 9)),
    }
    labels = rng.sample(sorted(values), rng.randrange(3, 7))
    title = rng.choice(("My training", "Deliveries", "Savings"))
    return {"title": title, "rows": [{"label": label, "value": values[label]} for label in labels]}


def _chart(rng: Random) -> dict[str, Any]:
    labels = rng.choice((("Mon", "Tue", "Wed", "Thu", "Fri"), ("Oslo", "Porto Alegre", "Wellington", "Ljubljana")))
    return {"title": "Visitors", "bars": [{"label": label, "value": rng.randrange(3, 120)} for label in labels]}


def _shelf(rng: Random) -> dict[str, Any]:
    return {"items": [{"entity": name, "count": rng.randrange(1, 8)} for name in rng.sample(NAMES, 3)]}


def _tray(rng: Random) -> dict[str, Any]:
    names: list[str | None] = [*rng.sample(NAMES, 7), None, None]
    rng.shuffle(names)
    return {"cells": names}


def _badge(rng: Random) -> dict[str, Any]:
    places = ("top_left", "top_right", "bottom_left", "bottom_right")
    return dict(zip(places, rng.sample(sorted(COLOURS), 4), strict=True))


def _menu(rng: Random) -> dict[str, Any]:
    rows = [
        {"item": name.capitalize(), "cents": rng.randrange(350, 2900)}
        for name in rng.sample(GOODS, rng.randrange(3, 9))
    ]
    return {"title": rng.choice(("Lunch", "Market kitchen", "Today")), "rows": rows}


def _weather(rng: Random) -> dict[str, Any]:
    return {"city": rng.choice(CITIES), "date": _day(rng), "degrees": rng.randrange(-9, 36), "sky": rng.choice(SKIES)}


def _map(rng: Random) -> dict[str, Any]:
    labels = rng.sample(("Library", "Museum", "Old harbour", "Bakery", "Town hall", "Swimming pool", "Station"), 5)
    return {
        "places": [{"label": label, "cell": cell} for label, cell in zip(labels, rng.sample(CELLS, 5), strict=True)]
    }


_MAKERS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "receipt": _receipt,
    "price_tag": lambda rng: {"item": f"{rng.choice(GOODS)}", "cents": rng.randrange(99, 30000)},
    "clock": lambda rng: {"hour": rng.randrange(24), "minute": rng.randrange(60)},
    "calendar": _calendar,
    "boarding_pass": _pass,
    "ticket": _ticket,
    "plate": _plate,
    "chat": _chat,
    "app": _app,
    "chart": _chart,
    "shelf": _shelf,
    "tray": _tray,
    "entity": lambda rng: {"entity": rng.choice(NAMES)},
    "badge": _badge,
    "scene": lambda rng: {part: rng.choice(sorted(COLOURS)) for part in ("door", "roof", "wall", "car")},
    "street_sign": lambda rng: {"text": rng.choice(STREETS)},
    "menu": _menu,
    "notice": lambda rng: {
        "title": rng.choice(("Reading group", "House meeting", f"Lost: two {plural('glove')}")),
        "lines": rng.sample(LINES, 3),
    },
    "weather": _weather,
    "map": _map,
}
