"""The relevance filter, its calibration, quality, licences and the choice of one candidate."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from PIL import Image, ImageFilter

from memgauge.errors import InputError
from memgauge.histories.building.pictures.filter import (
    Quality,
    Scores,
    Selector,
    Thresholds,
    calibrate,
    licence_id,
)
from memgauge.histories.building.pictures.photos import RefusedPicture, decode
from memgauge.histories.building.pictures.sources import Candidate


def photo(seed=0, size=(400, 300), blur=0.0):
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 255, (9, 12, 3), dtype=np.uint8)
    soft = np.asarray(Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)).astype(float)
    image = Image.fromarray((soft + rng.normal(0, 12, soft.shape)).clip(0, 255).astype(np.uint8))
    buffer = io.BytesIO()
    image.filter(ImageFilter.GaussianBlur(blur)).save(buffer, "png")
    return decode(buffer.getvalue(), name=f"photo {seed}")


def candidate(seed, licence="CC BY 4.0", **options):
    made = photo(seed, **options)
    return Candidate("folder", f"{seed}.png", lambda: made, f"http://a.org/{seed}", licence)


class Fixed:
    """Scores by the number in the picture's order of appearance."""

    def __init__(self, channel, values):
        self.channel, self.values = channel, iter(values)

    def score(self, photo, query):
        return next(self.values)


def scorers(*rows):
    return [Fixed(channel, [row[i] for row in rows]) for i, channel in enumerate(("clip", "siglip", "text"))]


LOW, HIGH = 0.05, 0.9


def test_truth_table():
    """All 27 combinations of low, high and missing."""
    for clip, siglip, text in itertools.product((LOW, HIGH, None), repeat=3):
        verdict = Thresholds().verdict(Scores(clip, siglip, text))
        if None not in (clip, siglip, text):
            assert verdict == ("pass" if clip >= 0.30 and (siglip >= 0.10 or text >= 0.45) else "fail")
            continue
        # Whatever the missing channels would say, it fails; otherwise it is open, and never passes.
        full = itertools.product(*[(value,) if value is not None else (LOW, HIGH) for value in (clip, siglip, text)])
        could = any(Thresholds().verdict(Scores(*values)) == "pass" for values in full)
        assert verdict == ("undecided" if could else "fail")


def test_thresholds_are_inclusive_and_finite():
    assert Thresholds().verdict(Scores(0.30, 0.10, 0.0)) == "pass"
    assert Thresholds().verdict(Scores(0.2999, 1.0, 1.0)) == "fail"
    assert Thresholds().verdict(Scores(0.30, 0.0999, 0.45)) == "pass"
    with pytest.raises(InputError, match="clip"):
        Thresholds().verdict(Scores(float("nan"), 1.0, 1.0))


def test_calibration():
    rng = np.random.default_rng(1)
    good = [Scores(0.4, float(s), float(t)) for s, t in rng.uniform(0.2, 0.9, (400, 2))]
    found = calibrate([*good, Scores(0.4, None, 0.9)])
    assert found.clip == 0.30
    for channel in ("siglip", "text"):
        values = sorted(getattr(scores, channel) for scores in good)
        assert getattr(found, channel) == values[19]
        assert np.mean([value < getattr(found, channel) for value in values]) <= 0.05
    with pytest.raises(InputError, match="at least 20"):
        calibrate(good[:19])


def test_quality():
    quality = Quality()
    assert quality.fault(photo()) == ""
    assert quality.fault(photo(size=(255, 300))) == "small"
    assert quality.fault(photo(size=(1200, 280))) == "aspect"
    assert quality.fault(photo(blur=5)) == "blurred"
    for line, fault in (
        ("Shutterstock 12345", "watermark"),
        ("© Jane Doe", "watermark"),
        ("all rights reserved", "watermark"),
        ("Farm stock, photos on request", ""),
        ("copyrighted", ""),
    ):
        assert Quality(read_text=lambda _, line=line: [line]).fault(photo()) == fault


def test_licences():
    for text in ("CC-BY-SA 4.0", "cc_by_sa_4.0", "https://creativecommons.org/licenses/by-sa/4.0/deed.en"):
        assert licence_id(text) == "cc-by-sa-4.0"
    assert licence_id("https://creativecommons.org/publicdomain/zero/1.0/") == "cc0-1.0"
    assert licence_id("Public Domain") == "public domain"
    allowed = Selector(scorers=scorers((0.4, 0.5, 0.5)))
    for licence in ("", "unknown", "CC BY-NC 4.0", "All rights reserved"):
        assert allowed.choose([candidate(1, licence)], "owl")[0].outcome == "licence"
    assert allowed.counts == {"licence": 4}
    kept = Selector(scorers=scorers((0.4, 0.5, 0.5)), keep_unlicensed=True).choose([candidate(1, "")], "owl")
    assert kept[0].outcome == "chosen"
    assert not kept[0].redistributable


def test_choice_by_mean_rank():
    rows = [(0.40, 0.20, 0.50), (0.35, 0.60, 0.70), (0.50, 0.15, 0.10), (0.10, 0.90, 0.90)]
    selector = Selector(scorers=scorers(*rows))
    decisions = selector.choose([candidate(seed) for seed in range(4)], "owl")
    # Ranks from 0 among the three that pass: (1, 1, 1), (2, 0, 0), (0, 2, 2): the second is best on the mean.
    assert [d.outcome for d in decisions] == ["passed", "chosen", "passed", "fail"]
    assert decisions[1].redistributable
    assert decisions[1].scores == Scores(0.35, 0.60, 0.70)
    again = Selector(scorers=scorers((0.9, 0.9, 0.9)), seen=selector.seen).choose([candidate(1)], "owl")
    assert again[0].outcome == "repeats url"


def test_undecided_and_trust():
    only_clip = [Fixed("clip", [0.4, 0.1])]
    decisions = Selector(scorers=only_clip).choose([candidate(1), candidate(2)], "owl")
    assert [d.outcome for d in decisions] == ["undecided", "fail"]
    trusted = Selector(trust=True).choose([candidate(1), candidate(2, blur=5)], "owl")
    assert [d.outcome for d in trusted] == ["chosen", "blurred"]


def test_documents_need_a_judge():
    def choose(judge):
        selector = Selector(scorers=scorers((0.4, 0.5, 0.5)), quality=Quality(judge=judge))
        return selector.choose([candidate(1)], "receipt", document=True)[0].outcome

    assert choose(None) == "undecided"
    assert choose(lambda photo: True) == "chosen"
    assert choose(lambda photo: False) == "watermark"


def test_counts_name_what_happened():
    def broken():
        raise RefusedPicture("broken", "x.jpg: broken")

    selector = Selector(scorers=scorers((0.4, 0.5, 0.5)))
    selector.choose([Candidate("folder", "x.jpg", broken), candidate(3, blur=5), candidate(4)], "owl")
    assert selector.counts == {"broken": 1, "blurred": 1, "chosen": 1, "note: watermarks not looked for": 1}
