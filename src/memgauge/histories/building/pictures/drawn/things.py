"""Things and places: clock, plate, street sign, badge, scene, entity, shelf, tray."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

from PIL import Image, ImageDraw

from memgauge.histories.building.pictures.atlas import glyph
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.drawn.papers import on_desk
from memgauge.histories.building.pictures.sheet import (
    BOLD,
    INK,
    MONO_BOLD,
    SANS,
    SERIF,
    SERIF_BOLD,
    Colour,
    Sheet,
    desk,
    toned,
)


def clock(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a wall clock; a small window says AM or PM."""
    side = rng.choice((380, 400, 420))
    wall = desk(rng, side, side)
    large = wall.image.resize((side * 2, side * 2), Image.Resampling.NEAREST)
    pen = ImageDraw.Draw(large)
    x, y = side + rng.uniform(-16, 16), side + rng.uniform(-16, 16)
    radius = side * rng.uniform(0.80, 0.86)
    rim = rng.choice(((60, 62, 66), (120, 60, 40), (30, 70, 110), (170, 140, 60)))
    face: Colour = rng.choice(((252, 252, 250), (250, 246, 232)))
    pen.ellipse((x - radius - 14, y - radius - 14, x + radius + 14, y + radius + 14), fill=toned(rim, -20))
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=face, outline=rim, width=22)
    for tick in range(60):
        angle = math.tau * tick / 60
        inner = 0.83 if tick % 5 == 0 else 0.87
        ends = [(x + radius * r * math.sin(angle), y - radius * r * math.cos(angle)) for r in (inner, 0.9)]
        pen.line(ends, fill=INK, width=10 if tick % 5 == 0 else 4)
    pen.rounded_rectangle(
        (x - 44, y + radius * 0.34, x + 44, y + radius * 0.34 + 52), 8, fill=(232, 232, 228), outline=INK
    )
    hour, minute = truth["hour"], truth["minute"]
    for angle, reach, width in (
        ((hour % 12 + minute / 60) / 12 * math.tau, 0.50, 22),
        (minute / 60 * math.tau, 0.78, 13),
    ):
        tip = (x + radius * reach * math.sin(angle), y - radius * reach * math.cos(angle))
        tail = (x - radius * 0.12 * math.sin(angle), y + radius * 0.12 * math.cos(angle))
        pen.line((tail, tip), fill=(24, 24, 28), width=width)
    pen.ellipse((x - 16, y - 16, x + 16, y + 16), fill=(24, 24, 28))
    sheet = Sheet.of(large.reduce(2))
    sheet.laid = wall.laid
    middle = (x / 2, y / 2)
    numerals = rng.choice((BOLD, SERIF_BOLD, SANS))
    for number in range(1, 13):
        angle = math.tau * number / 12
        place = (middle[0] + radius / 2 * 0.70 * math.sin(angle), middle[1] - radius / 2 * 0.70 * math.cos(angle))
        sheet.write(*place, str(number), numerals, 24, INK, anchor="mm", room=40)
    half = "AM" if hour < 12 else "PM"
    sheet.write(middle[0], middle[1] + radius * 0.17 + 13, half, BOLD, 15, INK, anchor="mm", room=40)
    return sheet


def plate(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a licence plate."""
    width, height = 430, 150
    ground, ink, band = rng.choice(
        (
            ((250, 250, 246), (24, 40, 110), (180, 30, 40)),
            ((252, 214, 70), (24, 24, 28), (24, 24, 28)),
            ((244, 248, 250), (20, 90, 60), (20, 90, 60)),
        )
    )
    paper = Sheet(width, height, ground)
    paper.pen.rounded_rectangle((5, 5, width - 6, height - 6), 12, outline=band, width=4)
    for x in (52, width - 52):
        paper.pen.ellipse((x - 6, 15, x + 6, 27), fill=(120, 124, 128))
    paper.write(
        width / 2, 22, rng.choice(("LAKE STATE", "RIVERLAND", "PINE COAST")), SANS, 13, band, anchor="mm", room=180
    )
    face = rng.choice((MONO_BOLD, BOLD))
    paper.write(width / 2, 88, truth["text"], face, 76, ink, anchor="mm", room=width - 44)
    return on_desk(paper, rng, 6.0, margin=26)


def street_sign(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a street sign on its post before sky and trees."""
    width, height = 480, 380
    sky = Sheet(width, height, rng.choice(((206, 224, 238), (226, 230, 232), (198, 214, 226))))
    for _ in range(5):
        x, radius = rng.randrange(width), rng.randrange(40, 90)
        leaf = toned((120, 150, 112), rng.randrange(-14, 15))
        y = height - rng.randrange(40, 110)
        sky.pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=leaf)
    sky.pen.rectangle((0, height - 50, width, height), fill=(168, 166, 160))
    middle = width / 2 + rng.uniform(-14, 14)
    sky.pen.rectangle((middle - 9, 70, middle + 9, height - 20), fill=(116, 120, 124))
    ground = rng.choice(((16, 104, 66), (24, 70, 150), (40, 44, 50)))
    board = Sheet(408, 92, ground)
    board.pen.rounded_rectangle((5, 5, 402, 86), 10, outline=(255, 255, 255), width=3)
    board.write(204, 46, truth["text"], BOLD, 40, (255, 255, 255), anchor="mm", room=372)
    sky.lay(board, middle, 128 + rng.uniform(-10, 20), rng.uniform(-4, 4), shade=0.2)
    return sky


def badge(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a name badge with one coloured disc in each corner."""
    width, height = rng.choice((300, 320)), rng.choice((330, 350))
    large = Image.new("RGB", (width * 2, height * 2), (250, 250, 248))
    pen = ImageDraw.Draw(large)
    pen.rounded_rectangle((6, 6, width * 2 - 7, height * 2 - 7), 26, outline=(70, 74, 80), width=6)
    reach, radius = 116, 74
    for name, x, y in (
        ("top_left", reach, reach),
        ("top_right", width * 2 - reach, reach),
        ("bottom_left", reach, height * 2 - reach),
        ("bottom_right", width * 2 - reach, height * 2 - reach),
    ):
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=COLOURS[truth[name]])
    card = Sheet.of(large.reduce(2))
    words = rng.choice((("GUEST", "open day"), ("VISITOR", "main hall"), ("CREW", "all areas")))
    face = rng.choice((BOLD, SERIF_BOLD))
    card.write(width / 2, height / 2 - 10, words[0], face, 34, INK, anchor="mm", room=width - 40)
    card.write(width / 2, height / 2 + 24, words[1], SERIF, 18, INK, anchor="mm", room=width - 40)
    return on_desk(card, rng, 12.0, margin=20)


def scene(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a house with a door, a roof and a wall, and a car before it."""
    width, height = 560, 420
    large = Image.new("RGB", (width * 2, height * 2), (208, 226, 238))
    pen = ImageDraw.Draw(large)
    for _ in range(3):
        x, y = rng.randrange(100, 1000), rng.randrange(50, 130)
        for dx in (-50, 0, 50):
            pen.ellipse((x + dx - 50, y - 30 + abs(dx) // 3, x + dx + 50, y + 30 + abs(dx) // 3), fill=(244, 248, 250))
    ground = 600 + rng.randrange(-16, 17)
    pen.rectangle((0, ground, width * 2, height * 2), fill=(204, 212, 190))
    pen.rectangle((0, ground + 90, width * 2, ground + 210), fill=(150, 152, 156))
    outline = (40, 42, 46)
    left = 130 + rng.randrange(-60, 61)
    wall, door, roof, car = (COLOURS[truth[name]] for name in ("wall", "door", "roof", "car"))
    pen.rectangle((left, ground - 300, left + 440, ground), fill=wall, outline=outline, width=5)
    top = [(left - 40, ground - 300), (left + 220, ground - 480), (left + 480, ground - 300)]
    pen.polygon(top, fill=roof)
    pen.line([*top, top[0]], fill=outline, width=6)
    pen.rectangle((left + 170, ground - 180, left + 270, ground), fill=(250, 250, 246), outline=outline, width=4)
    pen.rectangle((left + 180, ground - 170, left + 260, ground - 2), fill=door, outline=outline, width=3)
    pen.ellipse((left + 240, ground - 92, left + 252, ground - 80), fill=(250, 250, 246), outline=outline)
    for x in (left + 40, left + 310):
        pen.rectangle((x, ground - 230, x + 90, ground - 130), fill=(226, 240, 248), outline=outline, width=5)
        pen.line((x + 45, ground - 230, x + 45, ground - 130), fill=outline, width=4)
        pen.line((x, ground - 180, x + 90, ground - 180), fill=outline, width=4)
    start, road = 620 + rng.randrange(-20, 60), ground + 150
    roofline = [(start + 90, road - 96), (start + 140, road - 160), (start + 280, road - 160), (start + 330, road - 96)]
    pen.polygon(roofline, fill=car, outline=outline)
    for near, far, lean in ((118, 206, 32), (302, 218, -32)):
        pane = [(start + near, road - 100), (start + near + lean, road - 146), (start + far, road - 146)]
        pen.polygon([*pane, (start + far, road - 100)], fill=(226, 240, 248))
    pen.rounded_rectangle((start, road - 100, start + 420, road - 20), 26, fill=car, outline=outline, width=4)
    for x in (start + 90, start + 320):
        pen.ellipse((x - 44, road - 60, x + 44, road + 28), fill=(36, 36, 40))
        pen.ellipse((x - 20, road - 36, x + 20, road + 4), fill=(196, 198, 200))
    return Sheet.of(large.reduce(2))


def entity(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw one thing on a table."""
    width, height = rng.choice((400, 420, 440)), rng.choice((360, 380, 400))
    sheet = desk(rng, width, height)
    size = rng.randrange(210, 260)
    angle = rng.uniform(-12, 12)
    x, y = width / 2 + rng.uniform(-34, 34), height / 2 + rng.uniform(-22, 22)
    under = y + size * 0.40
    ring = [
        (x + size * 0.40 * math.cos(t * math.tau / 16), under + size * 0.09 * math.sin(t * math.tau / 16))
        for t in range(16)
    ]
    sheet.shadow(ring, 0.4, drop=2)
    sheet.paste(glyph(truth["entity"], size, angle), x, y)
    return sheet


def shelf(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw boards with things in mixed order; each stands apart so that it can be counted."""
    names = [item["entity"] for item in truth["items"] for _ in range(item["count"])]
    rng.shuffle(names)
    columns = 5 if len(names) <= 10 else 6 if len(names) <= 18 else 8
    boards = max(2, -(-len(names) // columns))
    width, slot = 560, (560 - 40) // columns
    high = min(slot + 34, (480 - 20) // boards)
    sheet = Sheet(width, max(360, 24 + boards * high), rng.choice(((236, 230, 220), (222, 228, 230), (230, 222, 226))))
    wood = rng.choice(((150, 108, 72), (186, 146, 102), (112, 84, 64)))
    step = (sheet.size[1] - 14) / boards
    size = min(slot - 10, round(step) - 30)
    # Things are spread evenly over the boards, and over the slots of a board by chance.
    share = [len(names) // boards + (index < len(names) % boards) for index in range(boards)]
    queue = iter(names)
    for index, many in enumerate(share):
        base = round((index + 1) * step)
        sheet.pen.rectangle((0, base - 14, width, base), fill=wood)
        sheet.pen.rectangle((0, base, width, base + 5), fill=toned(wood, -46))
        for column in sorted(rng.sample(range(columns), many)):
            side = round(size * rng.uniform(0.9, 1.0))
            x = 20 + (column + 0.5) * slot + rng.uniform(-3, 3)
            sheet.paste(glyph(next(queue), side, rng.uniform(-5, 5)), x, base - 14 - side / 2)
    sheet.pen.rectangle((0, 0, 9, sheet.size[1]), fill=toned(wood, -16))
    sheet.pen.rectangle((width - 10, 0, width, sheet.size[1]), fill=toned(wood, -16))
    return sheet


def tray(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a tray of three by three cells, row by row."""
    side = rng.choice((440, 460, 480))
    sheet = desk(rng, side, side)
    left, top = 30 + rng.randrange(-10, 11), 30 + rng.randrange(-10, 11)
    inner = side - 60
    rim = rng.choice(((126, 92, 62), (92, 100, 108), (200, 196, 186)))
    corners = [(left, top), (left + inner, top), (left + inner, top + inner), (left, top + inner)]
    sheet.shadow([(float(x), float(y)) for x, y in corners])
    sheet.pen.rounded_rectangle((left, top, left + inner, top + inner), 16, fill=rim)
    cell = (inner - 16) / 3
    for index, name in enumerate(truth["cells"]):
        x, y = left + 8 + index % 3 * cell, top + 8 + index // 3 * cell
        sheet.pen.rounded_rectangle((x + 4, y + 4, x + cell - 4, y + cell - 4), 10, fill=(246, 243, 236))
        if name:
            size = round(cell * rng.uniform(0.64, 0.74))
            picture = glyph(name, size, rng.uniform(-12, 12))
            sheet.paste(picture, x + cell / 2 + rng.uniform(-4, 4), y + cell / 2 + rng.uniform(-4, 4))
    return sheet
