"""A text reader gets out of the pictures what can be a gold answer."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image

from memgauge.histories.building.pictures import draw
from memgauge.histories.building.pictures.drawn.papers import MONTHS, long_date, money
from memgauge.histories.building.pictures.examples import example

ocr = pytest.importorskip("rapidocr_onnxruntime")


def golds(kind, truth):
    """The strings that a picture prints and that can be, or decide, a gold answer."""
    if kind == "receipt":
        lines = truth["lines"]
        totals = [money(truth["total_cents"]), truth["shop"], truth["date"], truth["time"]]
        return [*totals, *(money(line["cents"]) for line in lines), *(line["item"] for line in lines)]
    if kind == "price_tag":
        return [f"${money(truth['cents'])}", truth["item"]]
    if kind == "boarding_pass":
        year, month, day = truth["date"].split("-")
        words = f"{day} {MONTHS[int(month) - 1][:3].upper()} {year}"
        return [truth[name] for name in ("name", "origin", "destination", "time", "seat", "gate")] + [words]
    if kind == "ticket":
        return [truth["event"], truth["venue"], truth["time"], truth["seat"], long_date(truth["date"])]
    if kind == "chat":
        numbers = [number for message in truth["messages"] for number in re.findall(r"\d+[:.]\d+", message["text"])]
        return [truth["contact"], *numbers, *(message["time"] for message in truth["messages"])]
    if kind == "app":
        return [text for row in truth["rows"] for text in (row["label"], row["value"])]
    if kind == "calendar":
        return [f"{MONTHS[truth['month'] - 1]} {truth['year']}", str(truth["day"])]
    if kind == "plate":
        return truth["text"].split()
    if kind == "menu":
        return [money(row["cents"]) for row in truth["rows"]]
    if kind == "notice":
        return [truth["title"], *truth["lines"]]
    if kind == "weather":
        return [truth["city"], long_date(truth["date"]), str(truth["degrees"]), truth["sky"]]
    if kind == "chart":
        return [str(bar["value"]) for bar in truth["bars"]]
    if kind == "map":
        return [place["label"] for place in truth["places"]]
    return [truth["text"]]


def plain(text):
    return "".join(text.split()).lower().replace("，", ",").replace("：", ":")


@pytest.fixture(scope="module")
def reader():
    return ocr.RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)


def share_read(reader, kind, count):
    read, missed = 0, []
    for seed in range(500, 500 + count):
        spec = example(kind, seed)
        with Image.open(io.BytesIO(draw(spec).data)) as image:
            bgr = np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1])
        lines, _ = reader(bgr)
        page = "|".join(plain(line[1]) for line in lines or [])
        for gold in golds(kind, spec.truth):
            if plain(gold) in page:
                read += 1
            else:
                missed.append((gold, page))
    return read / (read + len(missed)), missed


KINDS = (
    "receipt", "price_tag", "boarding_pass", "ticket", "chat", "app", "calendar", "plate", "street_sign", "menu",
    "notice", "weather", "chart", "map",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["receipt", "price_tag", "app"])
def test_golds_are_read(reader, kind):
    share, missed = share_read(reader, kind, 2)
    assert share >= 0.9, missed


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_golds_are_read_in_most_pictures(reader, kind):
    share, missed = share_read(reader, kind, 40)
    print(f"{kind}: {share:.3f} of the strings read")
    assert share >= 0.95, missed
