"""Screens and charts: chat, app, weather, bar chart, map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from PIL import Image, ImageDraw

from memgauge.histories.building.pictures.drawn.papers import long_date
from memgauge.histories.building.pictures.sheet import (
    BOLD,
    GREY,
    INK,
    SANS,
    SMALLEST,
    Colour,
    Sheet,
    Written,
    fitting,
    font,
    toned,
    wrapped,
)

WHITE: Colour = (255, 255, 255)


def chat(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a messenger: own bubbles right, the contact's left, each with its time."""
    messages = truth["messages"]
    width, height, head, foot = 440, rng.choice((580, 600, 620)) if len(messages) < 6 else 620, 58, 42
    bar, mine, ground = rng.choice(
        (
            ((16, 110, 94), (220, 248, 200), (236, 229, 221)),
            ((36, 96, 190), (206, 228, 255), (242, 244, 248)),
            ((92, 66, 150), (230, 220, 250), (245, 243, 249)),
        )
    )
    sheet = Sheet(width, height, ground)
    sheet.pen.rectangle((0, 0, width, head), fill=bar)
    sheet.pen.ellipse((18, 9, 58, 49), fill=toned(bar, 60))
    sheet.write(38, 29, truth["contact"][0].upper(), BOLD, 20, WHITE, anchor="mm", room=40)
    sheet.write(72, 29, truth["contact"], BOLD, 20, WHITE, room=width - 90)
    sheet.pen.rounded_rectangle((14, height - foot + 6, width - 14, height - 8), 16, fill=WHITE)
    sheet.write(32, height - foot / 2 - 1, "Message", SANS, 14, (150, 152, 158), room=200)
    room = width - 124
    for size in range(18, SMALLEST - 1, -1):
        broken = [wrapped(message["text"], font(SANS, size), room) for message in messages]
        step = round(size * 1.3)
        total = sum(len(lines) * step + 28 for lines in broken)
        if total + 8 <= height - head - foot:
            break
    else:
        raise ValueError(f"{len(messages)} messages do not fit")
    gap = min(16.0, (height - head - foot - 8 - total) / len(messages))
    y = head + 8.0
    for message, lines in zip(messages, broken, strict=True):
        own = message["sender"] == "me"
        inner = max(48.0, *(font(SANS, size).getlength(line) for line in lines))
        left = width - 14 - inner - 24 if own else 14.0
        bottom = y + len(lines) * step + 22
        sheet.pen.rounded_rectangle((left, y, left + inner + 24, bottom), 10, fill=mine if own else WHITE)
        for index, line in enumerate(lines):
            sheet.write(left + 12, y + 4 + (index + 0.5) * step, line, SANS, size, INK, room=room + 1)
        sheet.write(left + inner + 14, bottom - 10, message["time"], SANS, 12, GREY, anchor="rm", room=60)
        y = bottom + 6 + gap
    return sheet


def app(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw an app's page: a title and rows of a label over its value."""
    rows, width = truth["rows"], 420
    step = 62
    bar, ground = rng.choice(
        (((30, 34, 46), (246, 247, 250)), ((210, 80, 50), (252, 248, 244)), ((30, 120, 130), WHITE))
    )
    height = max(380, 92 + step * len(rows) + rng.randrange(8, 24))
    sheet = Sheet(width, height, ground)
    sheet.pen.rectangle((0, 0, width, 66), fill=bar)
    for y in (25, 33, 41):
        sheet.pen.line((22, y, 44, y), fill=WHITE, width=3)
    sheet.write(62, 34, truth["title"], BOLD, 22, WHITE, room=width - 84)
    dots = [rng.choice(((240, 160, 60), (90, 170, 220), (120, 190, 110), (220, 110, 140))) for _ in rows]
    for index, row in enumerate(rows):
        top = 78 + step * index
        sheet.pen.rounded_rectangle((12, top, width - 12, top + step - 8), 8, fill=WHITE, outline=(222, 225, 230))
        sheet.pen.ellipse((24, top + 15, 48, top + 39), fill=dots[index])
        sheet.write(62, top + 16, row["label"], SANS, 15, GREY, room=width - 88)
        sheet.write(62, top + 38, row["value"], BOLD, 19, INK, room=width - 88)
    return sheet


def weather(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a weather app: city, date, sky, degrees."""
    width, height = 400, rng.choice((480, 500, 520))
    sky = truth["sky"]
    ground = {
        "sunny": (92, 170, 232), "cloudy": (140, 160, 180), "rainy": (92, 116, 142), "snowy": (150, 176, 200),
        "stormy": (72, 78, 104), "foggy": (150, 154, 158),
    }[sky]  # fmt: skip
    large = Image.new("RGB", (width * 2, height * 2), ground)
    _sky(ImageDraw.Draw(large), sky, width, 440, ground)
    sheet = Sheet.of(large.reduce(2))
    ink = WHITE if sum(ground) < 420 else (16, 28, 44)
    sheet.write(width / 2, 46, truth["city"], BOLD, 30, ink, anchor="mm", room=width - 40)
    sheet.write(width / 2, 86, long_date(truth["date"]), SANS, 19, ink, anchor="mm", room=width - 40)
    sheet.write(width / 2, 352, f"{truth['degrees']}°C", BOLD, 70, ink, anchor="mm", room=width - 40)
    sheet.write(width / 2, 416, sky.capitalize(), SANS, 26, ink, anchor="mm", room=width - 40)
    return sheet


def _sky(pen: ImageDraw.ImageDraw, sky: str, x: float, y: float, ground: Colour) -> None:
    """Draw the sign of a sky around a point, in a picture of twice the size."""
    if sky == "sunny":
        for turn in range(12):
            angle = math.tau * turn / 12
            near, far = 120, 166
            ends = [(x + r * math.cos(angle), y + r * math.sin(angle)) for r in (near, far)]
            pen.line(ends, fill=(255, 220, 90), width=16)
        pen.ellipse((x - 100, y - 100, x + 100, y + 100), fill=(255, 206, 60))
        return
    if sky == "foggy":
        for index in range(5):
            top = y - 110 + index * 52
            shift = 26 if index % 2 else -26
            pen.rounded_rectangle((x - 150 + shift, top, x + 150 + shift, top + 22), 11, fill=(226, 229, 232))
        return
    cloud = {"cloudy": (244, 246, 248), "rainy": (206, 214, 222), "snowy": (246, 249, 252), "stormy": (150, 156, 172)}[
        sky
    ]
    for dx, dy, radius in ((-90, 10, 62), (-20, -40, 84), (72, -6, 70)):
        pen.ellipse((x + dx - radius, y + dy - radius, x + dx + radius, y + dy + radius), fill=cloud)
    pen.rounded_rectangle((x - 150, y, x + 142, y + 70), 35, fill=cloud)
    for index in range(4):
        left = x - 100 + index * 64
        if sky == "rainy":
            pen.line((left, y + 90, left - 22, y + 140), fill=(120, 190, 255), width=12)
        elif sky == "snowy":
            pen.ellipse((left - 12, y + 96 + index % 2 * 26, left + 12, y + 120 + index % 2 * 26), fill=WHITE)
    if sky == "stormy":
        bolt = [
            (x + 10, y + 40),
            (x - 44, y + 116),
            (x - 4, y + 116),
            (x - 24, y + 176),
            (x + 44, y + 92),
            (x + 4, y + 92),
        ]
        pen.polygon(bolt, fill=(255, 214, 70), outline=ground)


def chart(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a bar chart with its values: upright bars, or lying ones where the labels are long."""
    bars = truth["bars"]
    width, height = rng.choice((520, 560)), rng.choice((380, 400, 420))
    tint = rng.choice(((52, 120, 190), (226, 120, 50), (70, 150, 90), (140, 90, 170), (190, 60, 80)))
    sheet = Sheet(width, height, WHITE)
    sheet.write(width / 2, 30, truth["title"], BOLD, 22, INK, anchor="mm", room=width - 40)
    top_value = max(1, *(bar["value"] for bar in bars))
    slot = (width - 80) / len(bars)
    if all(font(SANS, 14).getlength(bar["label"]) <= slot - 8 for bar in bars):
        _upright(sheet, bars, top_value, slot, tint)
    else:
        _lying(sheet, bars, top_value, tint)
    return sheet


def _upright(sheet: Sheet, bars: Sequence[Mapping[str, Any]], top_value: int, slot: float, tint: Colour) -> None:
    width, height = sheet.size
    base, full = height - 50, height - 140
    for share in (0.25, 0.5, 0.75, 1.0):
        y = base - full * share
        sheet.pen.line((40, y, width - 40, y), fill=(228, 230, 234))
    for index, bar in enumerate(bars):
        x = 40 + (index + 0.5) * slot
        rise = round(full * bar["value"] / top_value)
        if rise:
            sheet.pen.rectangle((x - slot * 0.32, base - rise, x + slot * 0.32, base - 1), fill=tint)
        sheet.write(x, base - rise - 13, str(bar["value"]), BOLD, 17, INK, anchor="mm", room=slot)
        sheet.write(x, base + 20, bar["label"], SANS, 16, INK, anchor="mm", room=slot - 4)
    sheet.pen.line((40, base, width - 40, base), fill=INK, width=2)


def _lying(sheet: Sheet, bars: Sequence[Mapping[str, Any]], top_value: int, tint: Colour) -> None:
    width, height = sheet.size
    left, full = 184, width - 184 - 80
    slot = (height - 90) / len(bars)
    for share in (0.25, 0.5, 0.75, 1.0):
        mark = left + full * share
        sheet.pen.line((mark, 60, mark, height - 24), fill=(228, 230, 234))
    for index, bar in enumerate(bars):
        y = 62 + (index + 0.5) * slot
        reach = round(full * bar["value"] / top_value)
        if reach:
            sheet.pen.rectangle((left + 1, y - slot * 0.32, left + reach, y + slot * 0.32), fill=tint)
        sheet.write(left + reach + 8, y, str(bar["value"]), BOLD, 17, INK, room=68)
        sheet.write(left - 10, y, bar["label"], SANS, 16, INK, anchor="rm", room=left - 16)
    sheet.pen.line((left, 60, left, height - 24), fill=INK, width=2)


def town_map(truth: Mapping[str, Any], rng: Random) -> Sheet:
    """Draw a town map with a grid of cells A1 to D4 and a pin with a label in each named cell."""
    side, edge = 540, 28
    cell = (side - edge) / 4
    sheet = Sheet(side, side, (238, 236, 226))
    for _ in range(3):
        left, top = rng.randrange(edge, side), rng.randrange(edge, side)
        wide, high = rng.randrange(60, 130), rng.randrange(50, 110)
        sheet.pen.rounded_rectangle((left, top, left + wide, top + high), 18, fill=(206, 226, 192))
    bend = rng.randrange(edge + 60, side - 60)
    river = [(edge, bend), (side / 2, bend + rng.randrange(-70, 70)), (side, bend + rng.randrange(-110, 110))]
    sheet.pen.line(river, fill=(178, 210, 232), width=26, joint="curve")
    for _ in range(3):
        across, down = rng.randrange(edge, side), rng.randrange(edge, side)
        lean = rng.randrange(-50, 50)
        for road_width, colour in ((12, (216, 210, 196)), (8, (255, 255, 255))):
            sheet.pen.line((edge, across, side, across + lean), fill=colour, width=road_width)
            sheet.pen.line((down, edge, down + lean, side), fill=colour, width=road_width)
    sheet.pen.rectangle((0, 0, side, edge), fill=(250, 250, 248))
    sheet.pen.rectangle((0, 0, edge, side), fill=(250, 250, 248))
    for index in range(4):
        near = edge + index * cell
        for line in ((near, 0, near, side), (0, near, side, near)):
            sheet.pen.line(line, fill=(150, 152, 156))
        sheet.write(near + cell / 2, edge / 2, "ABCD"[index], BOLD, 17, GREY, anchor="mm", room=20)
        sheet.write(edge / 2, near + cell / 2, str(index + 1), BOLD, 17, GREY, anchor="mm", room=20)
    pin = rng.choice(((206, 44, 44), (30, 90, 180), (120, 50, 140)))
    for place in truth["places"]:
        column, row = "ABCD".index(place["cell"][0]), int(place["cell"][1]) - 1
        x = edge + (column + 0.5) * cell
        y = edge + (row + 0.42) * cell + rng.uniform(-8, 8)
        sheet.pen.polygon(((x - 9, y - 6), (x + 9, y - 6), (x, y + 16)), fill=pin)
        sheet.pen.ellipse((x - 11, y - 18, x + 11, y + 4), fill=pin)
        sheet.pen.ellipse((x - 4, y - 11, x + 4, y - 3), fill=WHITE)
        _pin_label(sheet, place["label"], x, y + 32, cell - 10)
    return sheet


def _pin_label(sheet: Sheet, label: str, x: float, y: float, room: float) -> None:
    """Write a label of one line, or two where one is too narrow, on a light card."""
    lines = [label]
    if font(BOLD, 13).getlength(label) > room:
        lines = wrapped(label, fitting("W" * (len(label) // 2 + 1), BOLD, 14, room), room)
    shown: list[Written] = []
    for index, line in enumerate(lines):
        fits = fitting(line, BOLD, 15, room)
        left, top, right, bottom = fits.getbbox(line, anchor="mm")
        middle = y + index * 17
        sheet.pen.rectangle((x + left - 3, middle + top - 3, x + right + 3, middle + bottom + 3), fill=(255, 255, 252))
        sheet.pen.text((x, middle), line, font=fits, fill=INK, anchor="mm")
        shown.append(Written(line, (x + left, middle + top, x + right, middle + bottom), round(fits.size)))
    sheet.written += shown
