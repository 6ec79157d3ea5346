"""The truth of a picture is checked field by field; captions say the kind and no more."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from memgauge.errors import InputError
from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures import CLASSES, COLOURS, KINDS, NAMES, caption, check
from memgauge.histories.building.pictures.entities import class_of, plural, with_article
from memgauge.histories.building.pictures.examples import example
from memgauge.histories.building.pictures.fields import Among, Day, Rows, Text, Time, Whole, drawable

WRONG = [None, True, -(10**9), 10**12, 1.5, "", " x", "a" * 200, [], {}, {"x": 1}, "日本"]
NO_TIME = ["13:75", "24:00", "9:40", "09:40:00", "０9:40"]
NO_DATE = ["2023-02-30", "2023-W10-1", "2023-1-1", "20230101", "1899-12-31", "2100-01-01"]


@pytest.mark.parametrize("kind", KINDS)
def test_missing_extra_and_wrong_fields_are_named(kind):
    spec = example(kind, 1)
    check(spec)
    for name in spec.truth:
        rest = {key: value for key, value in spec.truth.items() if key != name}
        with pytest.raises(InputError, match=f"{kind}: missing {name}"):
            check(dataclasses.replace(spec, truth=rest))
    with pytest.raises(InputError, match=f"{kind}: unknown wrong"):
        check(dataclasses.replace(spec, truth={**spec.truth, "wrong": 1}))
    with pytest.raises(InputError, match=f"{kind}: expected an object"):
        check(dataclasses.replace(spec, truth=[1]))
    special = {"time": NO_TIME, "date": NO_DATE}
    cases = [(name, value) for name in spec.truth for value in [*WRONG, *special.get(name, [])]]
    for name, value in cases:
        with pytest.raises(InputError, match=rf"{kind}(\.{name}|: )"):
            check(dataclasses.replace(spec, truth={**spec.truth, name: value}))


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("receipt", {"total_cents": 1}, "add up"),
        ("calendar", {"year": 2023, "month": 2, "day": 29}, "no such date"),
        ("badge", {"top_left": "red", "bottom_right": "red"}, "must differ"),
        ("map", {"places": [{"label": "A", "cell": "B2"}, {"label": "B", "cell": "B2"}]}, "one place"),
        ("map", {"places": [{"label": "A", "cell": "B1"}, {"label": "A", "cell": "B2"}]}, "every label"),
        ("tray", {"cells": [None] * 9}, "at least one"),
        ("tray", {"cells": ["owl", "owl", *[None] * 7]}, "once"),
        ("shelf", {"items": [{"entity": name, "count": 9} for name in NAMES[:3]]}, "at most 24"),
        ("shelf", {"items": [{"entity": "ovl", "count": 1}]}, "did you mean 'owl'"),
        ("app", {"rows": [{"label": "Gate", "value": 7}]}, r"app\.rows\[0\]\.value"),
        ("chat", {"messages": [{"sender": "you", "text": "hi", "time": "09:40"}]}, r"chat\.messages\[0\]\.sender"),
    ],
)
def test_contradictions_are_told(kind, change, said):
    spec = example(kind, 1)
    with pytest.raises(InputError, match=said):
        check(dataclasses.replace(spec, truth={**spec.truth, **change}))


def test_unknown_kind_and_bad_seed():
    with pytest.raises(InputError, match=r"unknown kind of picture 'clok'.*clock"):
        check(ImageSpec("clok", {}, 1))
    for seed in (-1, 2**64, True, "1"):
        with pytest.raises(InputError, match="seed"):
            check(ImageSpec("clock", {"hour": 1, "minute": 1}, seed))
    with pytest.raises(InputError, match="unknown kind"):
        caption(ImageSpec("clok", {}, 1))


def test_fields_describe_themselves():
    for field in (Text(5), Whole(1, 9), Among("sky", ("sunny",)), Day(), Time(), Rows(Text(3), 1, 4)):
        assert field.describe()
    assert drawable("é")
    assert not any(map(drawable, "\n\x00\u202e日א"))


def test_captions():
    for kind in KINDS:
        texts = {caption(example(kind, seed)) for seed in range(20)}
        assert texts == {KINDS[kind].caption}
        for seed in range(20):
            rich = caption(example(kind, seed), rich=True)
            words = rich.lower().replace(",", " ").replace(":", " ").split()
            assert not any(character.isdigit() for character in rich)
            assert not set(words) & set(COLOURS)
            if kind not in ("entity", "shelf", "tray"):
                assert rich == KINDS[kind].caption
    tray = ImageSpec("tray", {"cells": ["owl", None, "bee", *[None] * 6]}, 1)
    assert caption(tray, rich=True) == "a photo of a tray: bee, owl"
    shelf = ImageSpec("shelf", {"items": [{"entity": "pear", "count": 3}, {"entity": "axe", "count": 1}]}, 1)
    assert caption(shelf, rich=True) == "a photo of a shelf: axe, pear"


def test_entity_names():
    assert len(CLASSES) >= 10
    assert all(len(members) >= 8 for members in CLASSES.values())
    assert len(NAMES) >= 120
    assert len(set(NAMES)) == len(NAMES)
    assert not set(NAMES) & {*COLOURS, *CLASSES, *map(plural, CLASSES)}
    words = [name.split() for name in NAMES]
    for first, second in itertools.permutations(words, 2):
        assert not set(first) & set(second), (first, second)
    assert len({plural(name) for name in NAMES}) == len(NAMES)
    assert with_article("axe") == "an axe"
    assert plural("dish") == "dishes"
    assert plural("lotus") == "lotuses"
    with pytest.raises(InputError, match="did you mean 'teapot'"):
        class_of("teapod")


def lab(colour):
    """CIELAB under D65."""
    rgb = np.array(colour) / 255
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = matrix @ linear / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_colours_are_far_apart():
    assert len(COLOURS) == 8
    distances = [np.linalg.norm(lab(a) - lab(b)) for a, b in itertools.combinations(COLOURS.values(), 2)]
    assert min(distances) >= 30
