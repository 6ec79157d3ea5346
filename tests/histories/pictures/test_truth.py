"""What a picture shows is read back from its pixels, after encoding."""

from __future__ import annotations

import io
import math
from collections import Counter
from random import Random

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures import COLOURS, NAMES, draw
from memgauge.histories.building.pictures.atlas import glyph
from memgauge.histories.building.pictures.drawing import compose
from memgauge.histories.building.pictures.examples import example
from memgauge.histories.building.pictures.sheet import DESKS

PALETTE = np.array(list(COLOURS.values()))
COLOUR_NAMES = list(COLOURS)


def pixels(spec):
    with Image.open(io.BytesIO(draw(spec).data)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def distance(picture, colour):
    """Largest difference of a channel, per pixel."""
    return np.abs(picture - np.array(colour)).max(axis=2)


def nearest_colour(patch):
    """Name of the colour that most pixels of a patch are nearest to."""
    flat = patch.reshape(-1, 3)
    index = ((flat[:, None] - PALETTE) ** 2).sum(axis=2).argmin(axis=1)
    return COLOUR_NAMES[Counter(index.tolist()).most_common(1)[0][0]]


def test_badge_colours():
    for seed in range(50):
        spec = example("badge", seed)
        picture = pixels(spec)[::2, ::2]
        found = {}
        for name, colour in COLOURS.items():
            labels, _ = ndimage.label(distance(picture, colour) <= 16)
            areas = np.bincount(labels.ravel())[1:]
            if areas.size and areas.max() > 500:
                found[name] = ndimage.center_of_mass(labels == areas.argmax() + 1)
        assert len(found) == 4, (seed, found)
        middle_y, middle_x = (sum(place[axis] for place in found.values()) / 4 for axis in (0, 1))
        read = {
            f"{'top' if y < middle_y else 'bottom'}_{'left' if x < middle_x else 'right'}": name
            for name, (y, x) in found.items()
        }
        assert read == spec.truth


def test_scene_colours():
    for seed in range(50):
        spec = example("scene", seed)
        picture = pixels(spec)
        # The frame of the door is the only off-white of the lower half.
        frame = distance(picture, (250, 250, 246)) <= 10
        frame[:200] = False
        labels, _ = ndimage.label(frame)
        box = ndimage.find_objects(labels)[np.bincount(labels.ravel())[1:].argmax()]
        top, bottom, left, right = box[0].start, box[0].stop, box[1].start, box[1].stop
        middle = (left + right) // 2
        read = {
            "door": nearest_colour(picture[top + 20 : bottom - 10, middle - 12 : middle + 6]),
            "wall": nearest_colour(picture[top + 10 : bottom - 10, left - 14 : left - 6]),
            "roof": nearest_colour(picture[bottom - 200 : bottom - 170, middle - 6 : middle + 6]),
        }
        # The grey tyres stand on the road; the body is above them.
        tyres = distance(picture, (36, 36, 40)) <= 10
        tyres[:, :290] = False
        rows, columns = np.nonzero(tyres & (np.arange(picture.shape[0])[:, None] > bottom))
        body = int(np.median(rows)) - 26
        read["car"] = nearest_colour(picture[body : body + 6, int(columns.mean()) - 20 : int(columns.mean()) + 20])
        assert read == spec.truth, seed


def on_sheet(corners, paper, x, y):
    """Where a point of a paper lies on its sheet."""
    width, height = paper.size
    (ax, ay), (bx, by), _, (dx, dy) = corners
    return ax + (bx - ax) * x / width + (dx - ax) * y / height, ay + (by - ay) * x / width + (dy - ay) * y / height


def test_calendar_ring():
    for seed in range(40):
        spec = example("calendar", seed)
        picture = pixels(spec)
        ((paper, corners),) = compose(spec).laid
        # The ring is the one coloured shape of its size; the head of the page is larger, its holes are smaller.
        labels, _ = ndimage.label(np.ptp(picture, axis=2) > 84, structure=np.ones((3, 3)))
        boxes = [box for box in ndimage.find_objects(labels) if all(32 <= part.stop - part.start <= 58 for part in box)]
        assert len(boxes) == 1, seed
        y, x = ((part.start + part.stop - 1) / 2 for part in boxes[0])
        days = [written for written in paper.written if written.text.isdigit()]
        places = {}
        for day in days:
            left, top, right, bottom = day.box
            places[int(day.text)] = on_sheet(corners, paper, (left + right) / 2, (top + bottom) / 2)
        off = {day: math.dist(place, (x, y)) for day, place in places.items()}
        day = min(off, key=off.__getitem__)
        assert day == spec.truth["day"], seed
        assert off[day] < 6


def test_calendar_columns_are_weekdays():
    import calendar

    for seed in range(10):
        spec = example("calendar", seed)
        ((paper, _),) = compose(spec).laid
        heads = {w.text: (w.box[0] + w.box[2]) / 2 for w in paper.written if w.text in list(calendar.day_abbr)}
        for written in paper.written:
            if written.text.isdigit():
                middle = (written.box[0] + written.box[2]) / 2
                head = min(heads, key=lambda name: abs(heads[name] - middle))
                day = calendar.weekday(spec.truth["year"], spec.truth["month"], int(written.text))
                assert head == ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[day]


@pytest.mark.parametrize("labels", [list("ABCDE"), [f"Rather long {i}" for i in range(7)]], ids=["upright", "lying"])
def test_chart_lengths(labels):
    rng = Random(7)
    for seed in range(10):
        values = [rng.randrange(0, 400) for _ in labels]
        values[rng.randrange(len(values))] = 400
        bars = [{"label": label, "value": value} for label, value in zip(labels, values, strict=True)]
        picture = pixels(ImageSpec("chart", {"title": "T", "bars": bars}, seed))
        colourful = np.ptp(picture, axis=2) > 60
        axis = 0 if len(labels) == 5 else 1
        labelled, count = ndimage.label(colourful)
        boxes = [box for box in ndimage.find_objects(labelled) if (labelled[box] > 0).sum() > 12]
        boxes.sort(key=lambda box: box[1 - axis].start)
        lengths = [box[axis].stop - box[axis].start for box in boxes]
        shown = [value for value in values if value]
        assert len(lengths) == len(shown), (seed, count)
        full = max(lengths)
        for length, value in zip(lengths, shown, strict=True):
            assert abs(length - full * value / 400) <= 1.5


def dark_angles(picture, x, y, radius):
    """Angles (of 3,600, clockwise from the top) at which a circle crosses something dark."""
    turns = np.arange(3600) / 3600 * math.tau
    rows = np.rint(y - radius * np.cos(turns)).astype(int)
    columns = np.rint(x + radius * np.sin(turns)).astype(int)
    return np.nonzero(picture[rows, columns].max(axis=1) < 90)[0]


def middles(angles):
    """Middles of the runs of a set of angles, in turns."""
    if not angles.size:
        return []
    shifted = (angles - angles[np.diff(angles, append=angles[0] + 3600).argmax()] - 1) % 3600
    runs = np.split(np.sort(shifted), np.nonzero(np.diff(np.sort(shifted)) > 12)[0] + 1)
    base = angles[np.diff(angles, append=angles[0] + 3600).argmax()] + 1
    return [((run[0] + run[-1]) / 2 + base) % 3600 / 3600 for run in runs]


def turn_apart(first, second):
    return abs((first - second + 0.5) % 1 - 0.5)


def test_clock_hands():
    for seed in range(50):
        spec = example("clock", seed)
        picture = pixels(spec)
        hour, minute = spec.truth["hour"], spec.truth["minute"]
        labels, _ = ndimage.label(picture.min(axis=2) > 225)
        face = ndimage.find_objects(labels)[np.bincount(labels.ravel())[1:].argmax()]
        y, x = ((part.start + part.stop - 1) / 2 for part in face)
        radius = (face[0].stop - face[0].start) / 2
        # The hour hand ends at 0.50 of the rim's radius, the numerals begin at 0.60.
        (long_hand,) = middles(dark_angles(picture, x, y, radius * 0.595))
        assert turn_apart(long_hand, minute / 60) < 0.006, seed
        inner = middles(dark_angles(picture, x, y, radius * 0.30))
        want = (hour % 12 + minute / 60) / 12
        others = [angle for angle in inner if turn_apart(angle, long_hand) > 0.02] or inner
        assert len(others) == 1
        near = turn_apart(want, minute / 60) < 0.09
        assert turn_apart(others[0], want) < (0.05 if near else 0.006), seed


def test_plate_text_is_whole():
    """The text keeps a free margin inside the plate's border, for any width of text."""
    rng = Random(3)
    for seed in range(30):
        text = "".join(rng.choice("WMQ I1ABC") for _ in range(rng.randrange(2, 10))).strip() or "A"
        ((paper, _),) = compose(ImageSpec("plate", {"text": text}, seed)).laid
        picture = np.asarray(paper.image).astype(int)
        ground = picture[60, 14]
        strip = np.abs(picture[40:132, 9:-9] - ground).max(axis=2) > 30
        columns = np.nonzero(strip.any(axis=0))[0]
        rows = np.nonzero(strip[:, 8:-8].any(axis=1))[0]
        assert columns[0] >= 5
        assert columns[-1] <= strip.shape[1] - 6
        assert rows[0] >= 3
        assert rows[-1] <= strip.shape[0] - 5


SOLID = ("hammer", "owl", "pear", "teapot", "rocket", "boot", "radio", "crab", "lemon", "guitar")


def test_shelf_counts():
    """Things stand apart: there are as many gaps between them as their number says, and each of the right kind."""
    rng = Random(11)
    for seed in range(20):
        names = rng.sample(SOLID, rng.randrange(1, 5))
        items = [{"entity": name, "count": rng.randrange(1, 7)} for name in names]
        picture = pixels(ImageSpec("shelf", {"items": items}, seed))
        wall = picture[8, 20:40].mean(axis=0)
        things = distance(picture, wall) > 36
        things[:, :12] = things[:, -12:] = False
        boards = things.mean(axis=1) > 0.9
        things[boards | np.roll(boards, -1) | np.roll(boards, 1)] = False
        labels, count = ndimage.label(ndimage.binary_dilation(things, iterations=2))
        sizes = np.bincount(labels.ravel())[1:]
        assert (sizes > 500).sum() == sum(item["count"] for item in items), (seed, items, count)


def test_tray_cells():
    for seed in range(20):
        spec = example("tray", seed)
        picture = pixels(spec)
        cells = distance(picture, (246, 243, 236)) <= 12
        rows, columns = (np.nonzero(cells.sum(axis=axis) > 60)[0] for axis in (1, 0))
        top, left = rows[0], columns[0]
        step = (rows[-1] - rows[0] + columns[-1] - columns[0]) / 6
        for index, name in enumerate(spec.truth["cells"]):
            y, x = top + (index // 3 + 0.5) * step, left + (index % 3 + 0.5) * step
            patch = cells[int(y - step / 4) : int(y + step / 4), int(x - step / 4) : int(x + step / 4)]
            assert (patch.mean() > 0.98) == (name is None), (seed, index)


def test_desks_are_no_colour_of_the_table():
    for desk, _ in DESKS:
        for shade in (0.0, 0.35):
            seen = np.array(desk) * (1 - shade) + np.array((20, 18, 16)) * shade
            assert min(np.abs(seen - colour).max() for colour in PALETTE) > 30


def test_all_glyphs_differ():
    small = {name: np.asarray(glyph(name, 24).convert("RGBA")).tobytes() for name in NAMES}
    assert len(set(small.values())) == len(NAMES)
