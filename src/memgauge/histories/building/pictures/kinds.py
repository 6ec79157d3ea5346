"""The kinds of drawn pictures: which fields their truth has, in which format they are stored, what a caption says.

A truth is a JSON object with exactly the fields of its kind. Bounds on lengths and numbers are those for which the
drawing fits: what passes `check` can be drawn without clipping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from memgauge.errors import InputError, unknown_name
from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.entities import NAMES, with_article
from memgauge.histories.building.pictures.fields import Among, Day, Field, Record, Rows, Text, Time, Whole

SKIES: tuple[str, ...] = ("sunny", "cloudy", "rainy", "snowy", "stormy", "foggy")
"""What the sky of a `weather` picture can be."""
CELLS: tuple[str, ...] = tuple(f"{column}{row}" for row in "1234" for column in "ABCD")
"""Cells of a `map` picture: column A to D from the left, row 1 to 4 from the top."""
MOST_ON_SHELF = 24
"""Things on a `shelf` picture, all counts together."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of picture: the fields of its truth, the file format, and the caption that all of its pictures share."""

    fields: Mapping[str, Field]
    extension: Literal["png", "jpg"]
    caption: str


CENTS = Whole(0, 9_999_999)
COLOUR = Among("colour", tuple(COLOURS))
ENTITY = Among("entity", NAMES)
_ITEMS = Record({"item": Text(22), "cents": CENTS})

KINDS: dict[str, Kind] = {
    "receipt": Kind(
        {
            "shop": Text(26),
            "lines": Rows(_ITEMS, 1, 10),
            "total_cents": Whole(0, 99_999_999),
            "date": Day(),
            "time": Time(),
        },
        "png",
        "a photo of a paper receipt",
    ),
    "price_tag": Kind({"item": Text(28), "cents": CENTS}, "png", "a photo of a price tag"),
    "clock": Kind({"hour": Whole(0, 23), "minute": Whole(0, 59)}, "png", "a photo of a clock"),
    "calendar": Kind(
        {"year": Whole(1900, 2099), "month": Whole(1, 12), "day": Whole(1, 31)}, "png", "a photo of a calendar page"
    ),
    "boarding_pass": Kind(
        {
            "name": Text(26),
            "origin": Text(17),
            "destination": Text(17),
            "date": Day(),
            "time": Time(),
            "seat": Text(5),
            "gate": Text(5),
        },
        "png",
        "a photo of a boarding pass",
    ),
    "ticket": Kind(
        {"event": Text(36), "venue": Text(36), "date": Day(), "time": Time(), "seat": Text(11)},
        "png",
        "a photo of a ticket",
    ),
    "plate": Kind({"text": Text(9)}, "png", "a photo of a licence plate"),
    "chat": Kind(
        {
            "contact": Text(24),
            "messages": Rows(
                Record({"sender": Among("sender", ("me", "them")), "text": Text(110), "time": Time()}), 1, 6
            ),
        },
        "png",
        "a screenshot of a chat",
    ),
    "app": Kind(
        {"title": Text(26), "rows": Rows(Record({"label": Text(22), "value": Text(22)}), 1, 8, unique="label")},
        "png",
        "a screenshot of an app",
    ),
    "chart": Kind(
        {
            "title": Text(34),
            "bars": Rows(Record({"label": Text(14), "value": Whole(0, 9999)}), 2, 7, unique="label"),
        },
        "png",
        "a bar chart",
    ),
    "shelf": Kind(
        {"items": Rows(Record({"entity": ENTITY, "count": Whole(1, 9)}), 1, 6, unique="entity")},
        "jpg",
        "a photo of a shelf",
    ),
    "tray": Kind(
        {"cells": Rows(Among("entity", NAMES, empty=True), 9, 9, unique="entity")},
        "jpg",
        "a photo of a tray with things",
    ),
    "entity": Kind({"entity": ENTITY}, "jpg", "a photo of a single thing"),
    "badge": Kind(
        {"top_left": COLOUR, "top_right": COLOUR, "bottom_left": COLOUR, "bottom_right": COLOUR},
        "png",
        "a photo of a badge",
    ),
    "scene": Kind(
        {"door": COLOUR, "roof": COLOUR, "wall": COLOUR, "car": COLOUR}, "png", "a picture of a house with a car"
    ),
    "street_sign": Kind({"text": Text(22)}, "png", "a photo of a street sign"),
    "menu": Kind({"title": Text(26), "rows": Rows(_ITEMS, 1, 9, unique="item")}, "png", "a photo of a menu"),
    "notice": Kind({"title": Text(26), "lines": Rows(Text(40), 1, 6)}, "png", "a photo of a notice"),
    "weather": Kind(
        {"city": Text(22), "date": Day(), "degrees": Whole(-60, 60), "sky": Among("sky", SKIES)},
        "png",
        "a screenshot of a weather app",
    ),
    "map": Kind(
        {"places": Rows(Record({"label": Text(14), "cell": Among("cell", CELLS)}), 1, 8, unique="label")},
        "png",
        "a picture of a map",
    ),
}
"""Kind of picture by name."""


def check(spec: ImageSpec) -> None:
    """Raise `InputError` unless the truth has exactly the fields of its kind, each of the right type and size.

    Beyond single fields: the lines of a receipt add up to its total, a calendar's day exists, the colours of a badge
    and the cells of a map differ, a tray is not empty.

    >>> check(ImageSpec("clock", {"hour": 9, "minute": 60}, seed=1))
    Traceback (most recent call last):
    ...
    memgauge.errors.InputError: clock.minute: expected a whole number from 0 to 59, got 60
    """
    if spec.kind not in KINDS:
        raise unknown_name("kind of picture", spec.kind, KINDS)
    if type(spec.seed) is not int or not 0 <= spec.seed < 2**64:
        raise InputError(f"{spec.kind}: its seed is a whole number of at most 64 bits, got {spec.seed!r:.60}")
    Record(KINDS[spec.kind].fields).check(spec.truth, spec.kind)
    problem = _contradiction(spec.kind, spec.truth)
    if problem:
        raise InputError(f"{spec.kind}: {problem}")


def _contradiction(kind: str, truth: Mapping[str, Any]) -> str:
    """Say what in a well-typed truth cannot be, or nothing."""
    if kind == "receipt":
        total = sum(line["cents"] for line in truth["lines"])
        if total != truth["total_cents"]:
            return f"the lines add up to {total} cents, total_cents is {truth['total_cents']}"
    elif kind == "calendar":
        try:
            date(truth["year"], truth["month"], truth["day"])
        except ValueError as error:
            return f"no such date ({error})"
    elif kind == "badge" and len(set(truth.values())) < 4:
        return "the four colours must differ"
    elif kind == "shelf" and sum(item["count"] for item in truth["items"]) > MOST_ON_SHELF:
        return f"a shelf holds at most {MOST_ON_SHELF} things"
    elif kind == "map" and len({place["cell"] for place in truth["places"]}) < len(truth["places"]):
        return "every cell may hold one place"
    elif kind == "tray" and not any(truth["cells"]):
        return "at least one cell must hold something"
    return ""


def caption(spec: ImageSpec, rich: bool = False) -> str:
    """Return what a text-only system may know: the kind, and with `rich` the names of the things shown.

    The coarse caption is the same for all pictures of a kind. The rich one adds names in alphabetical order, never a
    number, a colour or a place; kinds that show no entity keep the coarse one.

    >>> caption(ImageSpec("entity", {"entity": "owl"}, seed=3), rich=True)
    'a photo of an owl'
    """
    if spec.kind not in KINDS:
        raise unknown_name("kind of picture", spec.kind, KINDS)
    coarse = KINDS[spec.kind].caption
    if not rich or spec.kind not in ("entity", "shelf", "tray"):
        return coarse
    if spec.kind == "entity":
        return f"a photo of {with_article(spec.truth['entity'])}"
    if spec.kind == "shelf":
        names = [item["entity"] for item in spec.truth["items"]]
    else:
        names = [name for name in spec.truth["cells"] if name]
    return f"a photo of a {spec.kind}: {', '.join(sorted(names))}"
