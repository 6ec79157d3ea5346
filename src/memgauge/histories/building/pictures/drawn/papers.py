"""Printed papers: receipt, price tag, boarding pass, ticket, menu, notice, calendar."""

from __future__ import annotations

import calendar as months
import math
from collections.abc import Mapping
from datetime import date
from random import Random
from typing import Any

from memgauge.histories.building.pictures.sheet import (
    BOLD,
    GREY,
    INK,
    MONO,
    MONO_BOLD,
    SANS,
    SERIF,
    SERIF_BOLD,
    Colour,
    Sheet,
    barcode,
    desk,
    mixed,
    toned,
)

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
"""Own table: names of the standard library follow the locale."""
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PAPERS: tuple[Colour, ...] = ((252, 251, 247), (248, 246, 238), (250, 248, 250), (245, 246, 242))


def money(cents: int) -> str:
    """Return an amount with two decimals, from whole cents.

    >>> money(1205)
    '12.05'
    """
    return f"{cents // 100}.{cents % 100:02d}"


def long_date(day: str) -> str:
    """Return a date in words.

    >>> long_date("2023-04-09")
    '9 April 2023'
    """
    when = date.fromisoformat(day)
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def on_desk(paper: Sheet, rng: Random, tilt: float, margin: int = 26) -> Sheet:
    """Lay a paper on a desk with a tilt of at most `tilt` degrees; the desk is as large as the tilted paper needs."""
    angle = rng.uniform(-tilt, tilt)
    turn = math.radians(abs(angle))
    width = paper.size[0] * math.cos(turn) + paper.size[1] * math.sin(turn)
    height = paper.size[1] * math.cos(turn) + paper.size[0] * math.sin(turn)
    full = (min(620, max(360, math.ceil(width) + 2 * margin)), min(620, max(360, math.ceil(height) + 2 * margin)))
    sheet = desk(rng, *full)
    spare_x, spare_y = (full[0] - width) / 2 - 4, (full[1] - height) / 2 - 4
    x = full[0] / 2 + rng.uniform(-1, 1) * max(0.0, min(spare_x, 30))
    y = full[1] / 2 + rng.uniform(-1, 1) * max(0.0, min(spare_y, 30))
    sheet.lay(paper, x, y, angle)
    return sheet


def receipt(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a till receipt: shop, date and time, one line for each item, total."""
    width, pad, step = 372, 24, rng.choice((26, 27, 28))
    lines = truth["lines"]
    paper = Sheet(width, 232 + step * len(lines), rng.choice(PAPERS))
    ink = rng.choice(((38, 38, 42), (52, 50, 70), (48, 48, 48)))
    middle, room = width / 2, width - 2 * pad
    paper.write(middle, 36, truth["shop"], rng.choice((BOLD, SERIF_BOLD, MONO_BOLD)), 26, ink, anchor="mm", room=room)
    paper.write(pad, 74, truth["date"], MONO, 17, ink, room=room / 2)
    paper.write(width - pad, 74, truth["time"], MONO, 17, ink, anchor="rm", room=room / 2)
    _dashes(paper, pad, width - pad, 94, ink)
    y = 116.0
    for line in lines:
        amount = money(line["cents"])
        paper.write(width - pad, y, amount, MONO, 17, ink, anchor="rm", room=88)
        paper.write(pad, y, line["item"], MONO, 17, ink, room=room - 100)
        y += step
    _dashes(paper, pad, width - pad, y - 2, ink)
    paper.write(pad, y + 26, "TOTAL", MONO_BOLD, 23, ink, room=100)
    paper.write(
        width - pad, y + 26, f"${money(truth['total_cents'])}", MONO_BOLD, 23, ink, anchor="rm", room=room - 110
    )
    barcode(paper, rng, (pad + 50, round(y) + 56, width - pad - 50, round(y) + 88), ink)
    return on_desk(paper, rng, 5.0, margin=20)


def _dashes(sheet: Sheet, left: float, right: float, y: float, ink: Colour) -> None:
    x = left
    while x < right:
        sheet.pen.line((x, y, min(right, x + 6), y), fill=ink)
        x += 10


def price_tag(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a price label of a shop's shelf."""
    width, height = 364, 214
    ground, strip = rng.choice(
        (((255, 226, 92), (196, 30, 38)), ((252, 252, 250), (24, 92, 150)), ((250, 246, 226), (40, 110, 70)))
    )
    paper = Sheet(width, height, ground)
    paper.pen.rectangle((0, 0, width, 46), fill=strip)
    paper.write(width / 2, 23, truth["item"], BOLD, 22, (255, 255, 255), anchor="mm", room=width - 28)
    price = f"${money(truth['cents'])}"
    paper.write(width / 2, 116, price, rng.choice((BOLD, SERIF_BOLD)), 74, INK, anchor="mm", room=width - 40)
    barcode(paper, rng, (24, 172, 150, 200))
    paper.write(width - 24, 187, "unit price", SANS, 14, GREY, anchor="rm", room=150)
    paper.pen.rectangle((0, 0, width - 1, height - 1), outline=toned(ground, -50), width=2)
    return on_desk(paper, rng, 8.0, margin=30)


def boarding_pass(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a boarding pass with its stub."""
    width, height = 560, 240
    band = rng.choice(((20, 70, 140), (150, 30, 50), (10, 110, 105), (80, 60, 130)))
    paper = Sheet(width, height, rng.choice(PAPERS))
    paper.pen.rectangle((0, 0, width, 44), fill=band)
    paper.write(22, 22, "BOARDING PASS", BOLD, 20, (255, 255, 255), room=260)
    line = rng.choice(("NORTHWIND AIR", "BLUE HERON", "SKYLARK"))
    paper.write(width - 22, 22, line, SANS, 16, (255, 255, 255), anchor="rm", room=200)

    def named(x: float, y: float, label: str, value: str, size: int, room: float) -> None:
        paper.write(x, y, label, SANS, 12, GREY, room=room)
        paper.write(x, y + 22, value, BOLD, size, INK, room=room)

    named(22, 66, "PASSENGER", truth["name"], 20, 330)
    named(22, 124, "FROM", truth["origin"], 22, 205)
    named(238, 124, "TO", truth["destination"], 22, 205)
    when = date.fromisoformat(truth["date"])
    named(22, 186, "DATE", f"{when.day:02d} {MONTHS[when.month - 1][:3].upper()} {when.year}", 20, 146)
    named(194, 186, "DEPARTS", truth["time"], 20, 70)
    named(294, 186, "GATE", truth["gate"], 20, 66)
    named(376, 186, "SEAT", truth["seat"], 20, 66)
    for y in range(50, height, 12):
        paper.pen.line((450, y, 450, y + 6), fill=toned(band, 60), width=2)
    barcode(paper, rng, (470, 66, width - 20, height - 24))
    paper.pen.rectangle((0, height - 8, width, height), fill=band)
    return on_desk(paper, rng, 3.5, margin=22)


def ticket(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw an admission ticket."""
    width, height = 540, 250
    ground, ink = rng.choice(
        (((252, 240, 214), (120, 30, 40)), ((236, 244, 250), (24, 60, 120)), ((240, 248, 236), (24, 92, 60)))
    )
    paper = Sheet(width, height, ground)
    paper.pen.rectangle((8, 8, width - 9, height - 9), outline=ink, width=3)
    paper.write(28, 36, "ADMIT ONE", rng.choice((BOLD, SERIF_BOLD)), 17, ink, room=200)
    paper.write(28, 78, truth["event"], SERIF_BOLD, 30, INK, room=404)
    paper.write(28, 118, truth["venue"], SERIF, 20, INK, room=404)
    paper.pen.line((28, 144, 424, 144), fill=ink)
    for x, label, value, room in (
        (28, "DATE", long_date(truth["date"]), 184),
        (220, "TIME", truth["time"], 68),
        (298, "SEAT", truth["seat"], 134),
    ):
        paper.write(x, 166, label, SANS, 12, GREY, room=room)
        paper.write(x, 192, value, BOLD, 20, INK, room=room)
    for y in range(14, height - 14, 12):
        paper.pen.line((440, y, 440, y + 6), fill=ink, width=2)
    barcode(paper, rng, (458, 30, width - 24, height - 30), ink)
    return on_desk(paper, rng, 5.0, margin=22)


def menu(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a menu: dishes with dotted leaders to their prices."""
    rows = truth["rows"]
    width, step = 420, 36
    ground, ink = rng.choice((((250, 244, 230), (70, 40, 28)), ((40, 46, 44), (240, 236, 222)), ((250, 250, 248), INK)))
    paper = Sheet(width, 128 + step * len(rows), ground)
    paper.pen.rectangle((10, 10, width - 11, paper.size[1] - 11), outline=mixed(ground, ink, 0.5), width=2)
    paper.write(width / 2, 52, truth["title"], SERIF_BOLD, 28, ink, anchor="mm", room=width - 70)
    paper.pen.line((width / 2 - 60, 82, width / 2 + 60, 82), fill=mixed(ground, ink, 0.5), width=2)
    for index, row in enumerate(rows):
        y = 112 + step * index
        paper.write(34, y, row["item"], SERIF, 19, ink, room=250)
        left = paper.written[-1].box[2] + 8
        paper.write(width - 34, y, money(row["cents"]), SERIF_BOLD, 19, ink, anchor="rm", room=92)
        for dot in range(round(left), round(paper.written[-1].box[0]) - 8, 8):
            paper.pen.point((dot, y + 6), fill=mixed(ground, ink, 0.6))
    return on_desk(paper, rng, 3.0, margin=20)


def notice(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a notice that is pinned to a board."""
    width, lines = 480, truth["lines"]
    ground = rng.choice(((255, 252, 220), (252, 252, 252), (236, 246, 255), (255, 240, 238)))
    paper = Sheet(width, 132 + 42 * len(lines), ground)
    paper.write(width / 2, 60, truth["title"], BOLD, 28, INK, anchor="mm", room=width - 50)
    paper.pen.line((36, 90, width - 36, 90), fill=mixed(ground, INK, 0.4), width=2)
    face = rng.choice((SANS, SERIF))
    for index, line in enumerate(lines):
        paper.write(width / 2, 122 + 42 * index, line, face, 20, INK, anchor="mm", room=width - 24)
    for middle in (20, width - 20):
        pin = rng.choice(((196, 40, 40), (40, 90, 180), (230, 180, 30)))
        paper.pen.ellipse((middle - 9, 12, middle + 9, 30), fill=pin, outline=toned(pin, -60))
        paper.pen.ellipse((middle - 4, 15, middle + 1, 20), fill=toned(pin, 70))
    return on_desk(paper, rng, 4.0, margin=24)


def calendar(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a month's page of a wall calendar with a pen's ring around one day."""
    year, month, day = truth["year"], truth["month"], truth["day"]
    first = rng.choice((0, 6))
    weeks = months.Calendar(first).monthdayscalendar(year, month)
    width, step, top = 400, 44, 126
    head, ring = rng.choice(
        (((28, 84, 140), (206, 30, 40)), ((150, 44, 56), (24, 80, 190)), ((46, 104, 84), (206, 30, 40)))
    )
    paper = Sheet(width, top + step * len(weeks) + 18, rng.choice(PAPERS))
    paper.pen.rectangle((0, 0, width, 64), fill=head)
    title = f"{MONTHS[month - 1]} {year}"
    paper.write(width / 2, 34, title, rng.choice((BOLD, SERIF_BOLD)), 30, (255, 255, 255), anchor="mm", room=width - 40)
    for hole in range(40, width, 46):
        paper.pen.ellipse((hole - 4, 2, hole + 4, 10), fill=toned(head, -40))
    for column in range(7):
        x = 20 + (column + 0.5) * (width - 40) / 7
        paper.write(x, 90, WEEKDAYS[(first + column) % 7], SANS, 15, GREY, anchor="mm", room=56)
        for row, week in enumerate(weeks):
            if not week[column]:
                continue
            y = top + (row + 0.5) * step - 8
            paper.write(x, y, str(week[column]), SANS, 20, INK, anchor="mm", room=40)
            if week[column] == day:
                wide, high = rng.uniform(21, 24), rng.uniform(18, 21)
                paper.pen.ellipse((x - wide, y - high, x + wide, y + high), outline=ring, width=3)
    return on_desk(paper, rng, 4.0, margin=20)
