"""A contact sheet of all kinds: `python -m memgauge.histories.building.pictures.contact OUT.png`."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image

from memgauge.files import write_whole
from memgauge.histories.building.pictures.drawing import compose
from memgauge.histories.building.pictures.examples import example
from memgauge.histories.building.pictures.kinds import KINDS
from memgauge.histories.building.pictures.sheet import INK, SANS, Sheet


def contact_sheet(seed: int = 0, columns: int = 5, cell: int = 300) -> bytes:
    """Return a PNG file that shows one example of each kind with its name."""
    rows = -(-len(KINDS) // columns)
    sheet = Sheet(columns * cell, rows * (cell + 24), (255, 255, 255))
    for index, kind in enumerate(KINDS):
        picture = compose(example(kind, seed)).image
        scale = (cell - 12) / max(picture.size)
        small = picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS)
        left, top = index % columns * cell, index // columns * (cell + 24)
        sheet.image.paste(small, (left + (cell - small.width) // 2, top + (cell - small.height) // 2))
        sheet.write(left + cell / 2, top + cell + 10, kind, SANS, 16, INK, anchor="mm", room=cell)
    buffer = io.BytesIO()
    sheet.image.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def main() -> None:
    """Write the contact sheet."""
    parser = argparse.ArgumentParser(description="Draw one picture of each kind on one sheet.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    data = contact_sheet(given.seed)
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
    write_whole(given.out, data)
    print(f"{given.out}: {len(KINDS)} kinds, {width} x {height} pixels, {len(data) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
