"""What all kinds are drawn with: a sheet that remembers its texts, fonts that fit, desks, tilted papers, encoding."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw, ImageFilter, ImageFont

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]

FONTS = Path(__file__).parent / "data" / "fonts"
SANS, BOLD, SERIF, SERIF_BOLD, MONO, MONO_BOLD = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSansMono",
    "DejaVuSansMono-Bold",
)
SMALLEST = 8
"""Pixels an em of the smallest text. Only lines of the widest capitals reach it; ordinary text of the same length stays
at 11 or more (a test says so)."""
INK: Colour = (34, 36, 40)
GREY: Colour = (104, 108, 116)


@lru_cache(maxsize=256)
def font(face: str, size: int) -> ImageFont.FreeTypeFont:
    """Return a shipped face in a size; plain layout, so that the pixels do not depend on an optional library."""
    return ImageFont.truetype(str(FONTS / f"{face}.ttf"), size, layout_engine=ImageFont.Layout.BASIC)


def fitting(text: str, face: str, size: int, room: float) -> ImageFont.FreeTypeFont:
    """Return the face in the largest size up to `size` in which `text` is at most `room` pixels wide.

    Raises `ValueError` if it does not fit in the smallest size: a bound in `kinds` is then too wide.
    """
    chosen = font(face, size)
    width = chosen.getlength(text)
    while width > room:
        if size <= SMALLEST:
            raise ValueError(f"{text!r} needs {width:.0f} pixels and has {room:.0f}")
        size = max(SMALLEST, min(size - 1, math.floor(size * room / width)))
        chosen = font(face, size)
        width = chosen.getlength(text)
    return chosen


def wrapped(text: str, with_font: ImageFont.FreeTypeFont, room: float) -> list[str]:
    """Break a text into lines of at most `room` pixels, between words, and inside a word that is too long alone."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if with_font.getlength(longer) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        while (width := with_font.getlength(word)) > room:
            cut = max(1, min(len(word) - 1, round(len(word) * room / width)))
            while cut < len(word) - 1 and with_font.getlength(word[: cut + 1]) <= room:
                cut += 1
            while cut > 1 and with_font.getlength(word[:cut]) > room:
                cut -= 1
            lines.append(word[:cut])
            word = word[cut:]
        line = word
    return [*lines, line] if line else lines


@lru_cache(maxsize=4096)
def _extent(text: str, with_font: ImageFont.FreeTypeFont, anchor: str) -> Box:
    """Return the pixels that a text covers around its anchor."""
    return with_font.getbbox(text, anchor=anchor)


@dataclass(frozen=True, slots=True)
class Written:
    """A text that was drawn, and the pixels it covers on its sheet."""

    text: str
    box: Box
    size: int
    """Pixels an em."""


class Sheet:
    """An RGB picture that is drawn on. It remembers its texts, and where papers were laid on it."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self.image = Image.new("RGB", (width, height), colour)
        self.pen = ImageDraw.Draw(self.image)
        self.written: list[Written] = []
        self.laid: list[tuple[Sheet, list[tuple[float, float]]]] = []
        """Papers on this sheet, each with its corners: top left, top right, bottom right, bottom left."""

    @classmethod
    def of(cls, image: Image.Image) -> Sheet:
        """Go on drawing on a picture."""
        sheet = cls(1, 1, (0, 0, 0))
        sheet.image = image
        sheet.pen = ImageDraw.Draw(image)
        return sheet

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.size

    def write(
        self,
        x: float,
        y: float,
        text: str,
        face: str,
        size: int,
        ink: Colour = INK,
        *,
        anchor: str = "lm",
        room: float,
    ) -> None:
        """Draw one line of text at an anchor (Pillow's two letters), smaller where `room` pixels are too few."""
        chosen = fitting(text, face, size, room)
        self.pen.text((x, y), text, font=chosen, fill=ink, anchor=anchor)
        left, top, right, bottom = _extent(text, chosen, anchor)
        self.written.append(Written(text, (x + left, y + top, x + right, y + bottom), round(chosen.size)))

    def paste(self, picture: Image.Image, x: float, y: float) -> None:
        """Paste an RGBA picture with its centre at a point."""
        self.image.paste(picture, (round(x - picture.width / 2), round(y - picture.height / 2)), picture)

    def lay(self, paper: Sheet, x: float, y: float, angle: float, shade: float = 0.35) -> None:
        """Lay a paper with its centre at a point, turned by `angle` degrees, with a soft shadow."""
        width, height = paper.size
        turn = math.radians(angle)
        corners = [
            (
                x + dx * math.cos(turn) + dy * math.sin(turn),
                y - dx * math.sin(turn) + dy * math.cos(turn),
            )
            for dx, dy in (
                (-width / 2, -height / 2),
                (width / 2, -height / 2),
                (width / 2, height / 2),
                (-width / 2, height / 2),
            )
        ]
        self.shadow(corners, shade)
        if angle:
            turned = paper.image.rotate(angle, Image.Resampling.BILINEAR, expand=True)
            left, top = round(x - turned.width / 2), round(y - turned.height / 2)
            mask = Image.new("L", (turned.width * 2, turned.height * 2))
            # Half a pixel inside, so that the fill of the turned picture's corners never shows.
            inside = [
                (2 * (cx - left + (0.7 if cx < x else -0.7)), 2 * (cy - top + (0.7 if cy < y else -0.7)))
                for cx, cy in corners
            ]
            ImageDraw.Draw(mask).polygon(inside, fill=255)
            self.image.paste(turned, (left, top), mask.reduce(2))
        else:
            self.image.paste(paper.image, (round(x - width / 2), round(y - height / 2)))
        self.laid.append((paper, corners))

    def shadow(self, corners: Sequence[tuple[float, float]], shade: float = 0.35, drop: float = 7.0) -> None:
        """Darken the picture softly below an outline."""
        small = Image.new("L", (self.image.width // 6 + 1, self.image.height // 6 + 1))
        ImageDraw.Draw(small).polygon([((x + drop) / 6, (y + drop) / 6) for x, y in corners], fill=round(255 * shade))
        soft = small.filter(ImageFilter.GaussianBlur(1.2)).resize(self.image.size, Image.Resampling.BILINEAR)
        self.image.paste((20, 18, 16), (0, 0), soft)


DESKS: tuple[tuple[Colour, bool], ...] = (
    ((196, 164, 128), True),
    ((140, 118, 98), True),
    ((222, 214, 200), False),
    ((176, 184, 186), False),
    ((110, 116, 122), False),
    ((214, 200, 176), True),
    ((128, 134, 128), False),
)
"""Surfaces: colour, and whether it is planks of wood. None is near a colour of `colours.COLOURS`."""


def desk(rng: Random, width: int, height: int) -> Sheet:
    """Return a table or a wall to lay things on: one tone with a few blobs, or planks."""
    base, wooden = DESKS[rng.randrange(len(DESKS))]
    sheet = Sheet(width, height, base)
    if wooden:
        y = -rng.randrange(60)
        while y < height:
            depth = rng.randrange(70, 110)
            sheet.pen.rectangle((0, y, width, y + depth), fill=toned(base, rng.randrange(-8, 9)))
            sheet.pen.line((0, y + depth, width, y + depth), fill=toned(base, -24), width=2)
            for _ in range(3):
                grain = y + rng.randrange(6, depth - 4)
                start = rng.randrange(width)
                sheet.pen.line((start, grain, start + rng.randrange(60, 260), grain), fill=toned(base, -14))
            y += depth
        return sheet
    for _ in range(7):
        x, y, radius = rng.randrange(width), rng.randrange(height), rng.randrange(30, 130)
        squeeze = radius * rng.uniform(0.5, 1.0)
        sheet.pen.ellipse((x - radius, y - squeeze, x + radius, y + squeeze), fill=toned(base, rng.randrange(-9, 10)))
    return sheet


def toned(colour: Colour, step: int) -> Colour:
    """Return the colour made lighter (positive) or darker by a step of 0 to 255."""
    red, green, blue = (min(255, max(0, part + step)) for part in colour)
    return red, green, blue


def mixed(first: Colour, second: Colour, share: float) -> Colour:
    """Return the colour `share` of the way from the first to the second."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def barcode(sheet: Sheet, rng: Random, box: tuple[int, int, int, int], ink: Colour = INK) -> None:
    """Fill a box with upright bars that mean nothing."""
    left, top, right, bottom = box
    x = left
    while x < right - 4:
        width = rng.choice((1, 1, 2, 3))
        sheet.pen.rectangle((x, top, x + width - 1, bottom), fill=ink)
        x += width + rng.choice((1, 2, 2, 3))


def encoded(image: Image.Image, extension: str) -> bytes:
    """Return the file: PNG with a palette of 256 colours and without metadata, or JPEG of quality 88 without EXIF."""
    buffer = io.BytesIO()
    if extension == "jpg":
        image.save(buffer, "jpeg", quality=88)
    else:
        few = image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        few.save(buffer, "png", compress_level=3)
    return buffer.getvalue()
