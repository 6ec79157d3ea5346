"""From a picture's truth to its file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures.drawn import papers, screens, things
from memgauge.histories.building.pictures.kinds import KINDS, check
from memgauge.histories.building.pictures.sheet import Sheet, encoded

DRAWN: dict[str, Callable[[Mapping[str, Any], Random], Sheet]] = {
    "receipt": papers.receipt,
    "price_tag": papers.price_tag,
    "clock": things.clock,
    "calendar": papers.calendar,
    "boarding_pass": papers.boarding_pass,
    "ticket": papers.ticket,
    "plate": things.plate,
    "chat": screens.chat,
    "app": screens.app,
    "chart": screens.chart,
    "shelf": things.shelf,
    "tray": things.tray,
    "entity": things.entity,
    "badge": things.badge,
    "scene": things.scene,
    "street_sign": things.street_sign,
    "menu": papers.menu,
    "notice": papers.notice,
    "weather": screens.weather,
    "map": screens.town_map,
}
"""Kind: its drawing, from the truth and the generator of the jitter."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture's file."""

    data: bytes
    extension: str
    """`png` or `jpg`."""
    width: int
    height: int


def compose(spec: ImageSpec) -> Sheet:
    """Draw a picture without encoding it; the sheet also tells where its texts and papers are."""
    check(spec)
    seed = hashlib.sha256(f"{spec.seed}|{spec.kind}".encode()).digest()[:8]
    return DRAWN[spec.kind](spec.truth, Random(int.from_bytes(seed, "big")))


def draw(spec: ImageSpec) -> Picture:
    """Draw and encode a picture: the same bytes for the same spec, whatever was drawn before.

    Width and height are 360 to 620 pixels. Raises `InputError` if the truth does not fit its kind (see `kinds.check`).

    >>> picture = draw(ImageSpec("clock", {"hour": 9, "minute": 40}, seed=1))
    >>> picture.extension, 360 <= picture.width <= 620
    ('png', True)
    """
    sheet = compose(spec)
    extension = KINDS[spec.kind].extension
    return Picture(encoded(sheet.image, extension), extension, *sheet.size)
