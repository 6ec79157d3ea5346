"""Pictures are a pure function of their spec, carry no metadata, and cut off no text."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from picture_truths import specs
from PIL import Image

from memgauge.errors import InputError
from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures import KINDS, NAMES, Picture, draw
from memgauge.histories.building.pictures.atlas import DATA, glyph
from memgauge.histories.building.pictures.contact import contact_sheet
from memgauge.histories.building.pictures.drawing import DRAWN, compose
from memgauge.histories.building.pictures.examples import example
from memgauge.histories.building.pictures.fields import Day, Record, Rows, Text, Time, Whole
from memgauge.histories.building.pictures.sheet import FONTS, SANS, fitting, font, wrapped

HASHES = """
import hashlib
from memgauge.histories.building.pictures import KINDS, draw
from memgauge.histories.building.pictures.examples import example
for kind in reversed(KINDS):
    print(kind, hashlib.sha256(draw(example(kind, 5)).data).hexdigest())
"""


def chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, names = 8, []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        names.append(data[at + 4 : at + 8].decode())
        at += 12 + length
    return names


def markers(data):
    """Segment markers of a JPEG up to the start of the scan."""
    at, found = 2, []
    while data[at + 1] != 0xDA:
        found.append(data[at + 1])
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_files(kind):
    sizes = set()
    for seed in range(4):
        picture = draw(example(kind, seed))
        assert picture == draw(example(kind, seed))
        assert picture.extension == KINDS[kind].extension
        with Image.open(io.BytesIO(picture.data)) as image:
            image.load()
            assert image.size == (picture.width, picture.height)
            assert not image.getexif()
        assert 360 <= picture.width <= 620
        assert 360 <= picture.height <= 620
        assert len(picture.data) < 90_000
        if picture.extension == "png":
            assert set(chunks(picture.data)) <= {"IHDR", "PLTE", "tRNS", "IDAT", "IEND"}
        else:
            # JFIF header, tables and frame only: no EXIF (E1), comment (FE) or other application segment.
            assert set(markers(picture.data)) <= {0xE0, 0xDB, 0xC0, 0xC4}
        sizes.add(picture.data)
    assert len(sizes) == 4


def test_same_bytes_in_another_process():
    """Another hash seed, another order of drawing, another locale."""
    done = subprocess.run(
        [sys.executable, "-c", HASHES],
        env={**os.environ, "PYTHONHASHSEED": "77", "LC_ALL": "de_DE.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = dict(line.split() for line in done.stdout.splitlines())
    ours = {kind: hashlib.sha256(draw(example(kind, 5)).data).hexdigest() for kind in KINDS}
    assert theirs == ours


def test_seed_changes_only_the_look():
    for kind in KINDS:
        spec = example(kind, 2)
        other = dataclasses.replace(spec, seed=spec.seed ^ 1)
        assert draw(spec).data != draw(other).data


def test_truth_changes_the_picture():
    spec = ImageSpec("clock", {"hour": 9, "minute": 40}, 1)
    assert draw(spec) != draw(ImageSpec("clock", {"hour": 21, "minute": 40}, 1))
    assert isinstance(draw(spec), Picture)


def test_every_kind_is_drawn_and_checked():
    assert list(DRAWN) == list(KINDS)
    with pytest.raises(InputError, match=r"clock\.minute"):
        draw(ImageSpec("clock", {"hour": 9, "minute": 60}, 1))


def inside(box, width, height):
    left, top, right, bottom = box
    return left >= 0 and top >= 0 and right <= width and bottom <= height


def apart(first, second):
    return first[2] <= second[0] or second[2] <= first[0] or first[3] <= second[1] or second[3] <= first[1]


def assert_readable(sheet):
    """No text leaves its sheet or touches another text, and no paper leaves the sheet it lies on."""
    for written in sheet.written:
        assert inside(written.box, *sheet.size), (written, sheet.size)
    for first, second in itertools.combinations(sheet.written, 2):
        assert apart(first.box, second.box), (first, second)
    for paper, corners in sheet.laid:
        for x, y in corners:
            assert 0 <= x <= sheet.size[0], (corners, sheet.size)
            assert 0 <= y <= sheet.size[1], (corners, sheet.size)
        assert_readable(paper)


def texts(sheet):
    return [written.text for written in sheet.written] + [text for paper, _ in sheet.laid for text in texts(paper)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("full", [False, True], ids=["any", "longest"])
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_text_is_cut_off(kind, full, data):
    spec = data.draw(specs(kind, full=full))
    sheet = compose(spec)
    assert_readable(sheet)
    assert 360 <= sheet.size[0] <= 620
    assert 360 <= sheet.size[1] <= 620
    shown = "".join("".join(texts(sheet)).split())
    strings = [value for value in leaves(spec.truth) if isinstance(value, str)]
    if kind not in ("shelf", "tray", "entity", "badge", "scene", "weather", "map", "chat"):
        for string in strings:
            if string.count("-") == 2 and len(string) == 10 and kind != "receipt":
                continue  # dates are written in words there
            assert "".join(string.split()) in shown
    if kind in ("map", "chat"):
        for row in spec.truth.get("places") or spec.truth["messages"]:
            assert "".join((row.get("label") or row["text"]).split()) in shown


ORDINARY = "Round the corner by 12:40, near old Wharf Street 5. "


def ordinary(field):
    """The longest ordinary values of a field, and as many of them as there can be."""
    if isinstance(field, Text):
        return (ORDINARY * 4)[: field.longest].strip()
    if isinstance(field, Rows):
        return [ordinary(field.of) for _ in range(field.high)]
    if isinstance(field, Record):
        return {name: ordinary(part) for name, part in field.fields.items()}
    if isinstance(field, Whole):
        return field.high
    return {Day: "2023-09-30", Time: "23:48"}.get(type(field)) or field.names[0]


@pytest.mark.parametrize("kind", ["receipt", "price_tag", "boarding_pass", "ticket", "chat", "app", "menu", "notice"])
def test_ordinary_text_stays_large(kind):
    truth = ordinary(Record(KINDS[kind].fields))
    if kind == "receipt":
        truth["total_cents"] = sum(line["cents"] for line in truth["lines"])
    for index, row in enumerate(truth.get("rows", [])):
        key = "label" if kind == "app" else "item"
        row[key] = f"{index} {row[key][2:]}"
    for seed in range(5):
        sheet = compose(ImageSpec(kind, truth, seed))
        written = sheet.written + [text for paper, _ in sheet.laid for text in paper.written]
        assert min(text.size for text in written) >= 11, min(written, key=lambda text: text.size)


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def test_fitting_and_wrapping():
    assert fitting("WWWW", SANS, 30, 60).getlength("WWWW") <= 60
    with pytest.raises(ValueError, match="needs"):
        fitting("W" * 100, SANS, 30, 60)
    plain = font(SANS, 14)
    lines = wrapped("short words and oneextremelylongwordwithoutanyspaceatall end", plain, 90)
    assert all(plain.getlength(line) <= 90 for line in lines)
    assert "".join(lines).replace(" ", "") == "shortwordsandoneextremelylongwordwithoutanyspaceatallend"


NOTO = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")


def test_atlas_index():
    index = json.loads((DATA / "atlas.json").read_text("utf-8"))
    assert list(index["places"]) == list(NAMES)
    with Image.open(DATA / "atlas.png") as image:
        assert image.size == (16 * index["cell"], 11 * index["cell"])


@pytest.mark.skipif(not NOTO.exists(), reason="the Debian package fonts-noto-color-emoji is not installed")
def test_atlas_is_made_by_its_tool(tmp_path):
    tool = Path(__file__).parents[3] / "tools" / "make_atlas.py"
    subprocess.run([sys.executable, str(tool), str(NOTO), "--out", str(tmp_path)], check=True)
    assert (tmp_path / "atlas.json").read_bytes() == (DATA / "atlas.json").read_bytes()
    with Image.open(tmp_path / "atlas.png") as new, Image.open(DATA / "atlas.png") as old:
        assert new.tobytes() == old.tobytes()


def test_shipped_data():
    for name in NAMES:
        alpha = glyph(name, 128).getchannel("A")
        box = alpha.point(lambda value: 255 * (value > 8)).getbbox()
        assert box
        assert max(box[2] - box[0], box[3] - box[1]) >= 118
        assert all(0 < edge < 128 for edge in box), (name, box)
    with pytest.raises(InputError, match="unknown entity 'ovl'"):
        glyph("ovl", 64)
    assert "OPEN FONT LICENSE" in (DATA / "atlas-LICENSE.txt").read_text("utf-8")
    assert "Bitstream" in (FONTS / "LICENSE.txt").read_text("utf-8")


def test_contact_sheet():
    with Image.open(io.BytesIO(contact_sheet(seed=2, columns=4, cell=120))) as image:
        assert image.size == (480, 5 * 144)
    with pytest.raises(InputError, match="unknown kind"):
        example("nothing", 1)
