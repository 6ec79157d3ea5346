"""The shipped glyphs: one transparent picture for each entity name."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from PIL import Image

from memgauge.errors import unknown_name

DATA = Path(__file__).parent / "data"


@lru_cache(maxsize=1)
def _atlas() -> tuple[Image.Image, int, dict[str, tuple[int, int]]]:
    index = json.loads((DATA / "atlas.json").read_text("utf-8"))
    with Image.open(DATA / "atlas.png") as image:
        image.load()
        return image, index["cell"], {name: (place[0], place[1]) for name, place in index["places"].items()}


@lru_cache(maxsize=512)
def _cell(name: str) -> Image.Image:
    image, size, places = _atlas()
    if name not in places:
        raise unknown_name("entity", name, places)
    column, row = places[name]
    return image.crop((column * size, row * size, (column + 1) * size, (row + 1) * size))


def glyph(name: str, size: int, angle: float = 0.0) -> Image.Image:
    """Return the glyph of an entity as an RGBA picture of about `size` pixels, turned by `angle` degrees.

    Raises `InputError` for a name that the atlas lacks.
    """
    scaled = _cell(name).resize((size, size), Image.Resampling.BICUBIC)
    return scaled.rotate(angle, Image.Resampling.BILINEAR, expand=True) if angle else scaled
