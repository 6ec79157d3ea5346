"""Folders of made photographs: mosaics without noise, no two alike, saved as real JPEG files."""

from __future__ import annotations

import json

import numpy as np
from PIL import Image

from memgauge.histories.building.pictures.entities import NAMES

LICENCE = "CC BY 4.0"


def made_photo(seed, size=(264, 260)):
    """A mosaic: sharp edges, no noise, unlike that of any other seed."""
    small = np.random.default_rng(seed).integers(0, 255, (12, 12, 3), dtype=np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.NEAREST)


def photo_folder(folder, each=4, names=NAMES, start=0):
    """Make `each` photographs of every name, in subfolders by name."""
    seed = start
    for name in names:
        (folder / name).mkdir(parents=True)
        for number in range(each):
            made_photo(seed).save(folder / name / f"{number}.jpg", quality=80)
            seed += 1
    return folder


def with_index(folder, rows):
    """Write the index of a folder."""
    (folder / "index.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
