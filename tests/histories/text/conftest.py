"""Topics, facts and texts that the tests share."""

from __future__ import annotations

from datetime import datetime

import pytest

from memgauge.histories.building.model import Fact, ImageSpec
from memgauge.histories.building.text import Topic

WHEN = datetime(2023, 5, 16, 18, 30)


def make_fact(text, kind="entity", truth=None, protected=(), key=("teapot shelf", "Lea Koch"), id="b/0"):
    truth = {"entity": "teapot"} if truth is None else truth
    return Fact(id, key, text, (ImageSpec(kind, truth, 3),), "evidence", {}, tuple(protected))


@pytest.fixture
def when():
    return WHEN


@pytest.fixture
def topics():
    return (
        Topic("retail", "the cereal aisle", "breakfast shelves", "bulk bins"),
        Topic("travel", "weekend road trips", "short trips by road", "motorway rest stops"),
        Topic("logs", "household budget sheets", "monthly spending records", "grocery column"),
    )


@pytest.fixture
def fact():
    """Make a fact from its text."""
    return make_fact


@pytest.fixture
def receipt():
    truth = {
        "shop": "Miller Hardware",
        "lines": [{"item": "wood screws", "cents": 4850}],
        "total_cents": 4850,
        "date": "2023-05-12",
        "time": "14:05",
    }
    return make_fact("I paid for the workshop and here is the slip <image>.", "receipt", truth, ("$48.50",))
