"""Within a class no two glyphs look alike: nearest neighbours by pixels name the things in drawn pictures."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from PIL import Image

from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures import CLASSES, NAMES, draw
from memgauge.histories.building.pictures.atlas import glyph
from memgauge.histories.building.pictures.entities import class_of

CELL = (246, 243, 236)
SIDE = 20


def features(picture):
    """What differs from the cell's ground, cut out and scaled to a square."""
    array = np.asarray(picture.convert("RGB")).astype(int)
    thing = np.abs(array - np.array(CELL)).max(axis=2) > 24
    rows, columns = np.nonzero(thing.any(axis=1))[0], np.nonzero(thing.any(axis=0))[0]
    cut = picture.crop((int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1))
    square = cut.resize((SIDE, SIDE), Image.Resampling.BOX)
    aspect = 60.0 * np.log(cut.width / cut.height)
    return np.append(np.asarray(square.convert("RGB")).astype(float).ravel(), [aspect] * SIDE)


def reference(name):
    """Features of the glyph at seven angles."""
    for angle in (-12, -8, -4, 0, 4, 8, 12):
        ground = Image.new("RGB", (170, 170), CELL)
        turned = glyph(name, 110, angle)
        ground.paste(turned, (85 - turned.width // 2, 85 - turned.height // 2), turned)
        yield features(ground)


def test_nearest_neighbour_on_trays():
    """At least 0.95 of the things on 40 trays get their own name among their class, and 0.9 among all 176."""
    known = np.array([list(reference(name)) for name in NAMES])
    squares = (known**2).sum(axis=2)
    queue = [name for _ in range(2) for name in NAMES]
    mine, everywhere, confused = [], [], []
    for seed, start in enumerate(range(0, len(queue), 9)):
        names = queue[start : start + 9]
        if len(set(names)) < len(names):
            names = list(dict.fromkeys(names))
        cells = [*names, *[None] * (9 - len(names))]
        with Image.open(io.BytesIO(draw(ImageSpec("tray", {"cells": cells}, seed)).data)) as image:
            picture = image.convert("RGB")
        light = np.abs(np.asarray(picture).astype(int) - np.array(CELL)).max(axis=2) <= 10
        rows, columns = np.nonzero(light.sum(axis=1) > 60)[0], np.nonzero(light.sum(axis=0) > 60)[0]
        step = (rows[-1] - rows[0] + columns[-1] - columns[0] + 18) / 6
        for index, name in enumerate(names):
            left, top = columns[0] - 4 + index % 3 * step, rows[0] - 4 + index // 3 * step
            box = (round(left) + 10, round(top) + 10, round(left + step) - 10, round(top + step) - 10)
            # Squared distance less the part that all names share.
            off = (squares - 2 * known @ features(picture.crop(box))).min(axis=1)
            everywhere.append(NAMES[int(off.argmin())] == name)
            near = min(CLASSES[class_of(name)], key=lambda other: off[NAMES.index(other)])
            mine.append(near == name)
            if near != name:
                confused.append((name, near))
    by_class = {kind: [m for m, n in zip(mine, queue, strict=False) if class_of(n) == kind] for kind in CLASSES}
    assert min(np.mean(marks) for marks in by_class.values()) >= 0.95, confused
    assert np.mean(everywhere) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_templates_find_the_entity(kind):
    """On its table, with any tilt and size, at least 0.95 of the single things get their own name among their class."""
    cv2 = pytest.importorskip("cv2")
    shrink = 8
    known = {}
    for name in CLASSES[kind]:
        known[name] = []
        for size, angle in itertools.product((216, 234, 252), (-10, -5, 0, 5, 10)):
            turned = glyph(name, size, angle)
            small = turned.resize((turned.width // shrink, turned.height // shrink), Image.Resampling.BOX)
            rgba = np.asarray(small).astype(np.float32)
            mask = np.repeat((rgba[:, :, 3:] > 200).astype(np.float32), 3, axis=2)
            known[name].append((np.ascontiguousarray(rgba[:, :, :3]), mask))
    guesses = []
    for name, seed in itertools.product(CLASSES[kind], (101, 102)):
        with Image.open(io.BytesIO(draw(ImageSpec("entity", {"entity": name}, seed)).data)) as image:
            size = (image.width // shrink, image.height // shrink)
            picture = np.asarray(image.convert("RGB").resize(size, Image.Resampling.BOX)).astype(np.float32)
        fit = {
            other: max(
                float(cv2.matchTemplate(picture, shape, cv2.TM_CCOEFF_NORMED, mask=mask).max())
                for shape, mask in shapes
                if shape.shape[0] <= picture.shape[0] and shape.shape[1] <= picture.shape[1]
            )
            for other, shapes in known.items()
        }
        guesses.append((name, max(fit, key=fit.__getitem__)))
    wrong = [pair for pair in guesses if pair[0] != pair[1]]
    assert len(wrong) <= 0.05 * len(guesses), wrong
