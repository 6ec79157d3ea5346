"""Truths of every kind up to their bounds, from the declared fields."""

from __future__ import annotations

import calendar
from datetime import date

from hypothesis import strategies as st

from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.fields import Among, Day, Record, Rows, Text, Time, Whole
from memgauge.histories.building.pictures.kinds import CELLS, KINDS, MOST_ON_SHELF

WIDE = "WM@%&mwÆŒ"
ANY = WIDE + "abcXYZ 0189,.:-'éßłÅ€"


def values(field, *, full=False):
    """Values of a field; `full` gives only the longest and widest."""
    if isinstance(field, Text):
        if full:
            mixed = st.text(WIDE, min_size=field.longest, max_size=field.longest)
            return st.sampled_from(WIDE).map(lambda letter: letter * field.longest) | mixed
        text = st.text(ANY, min_size=1, max_size=field.longest)
        return text.map(str.strip).filter(bool)
    if isinstance(field, Whole):
        return st.just(field.high) if full else st.integers(field.low, field.high)
    if isinstance(field, Among):
        return st.sampled_from([*field.names, *([None] if field.empty else [])])
    if isinstance(field, Day):
        days = st.dates(date(1900, 1, 1), date(2099, 12, 31))
        return (st.just(date(2023, 9, 30)) if full else days).map(date.isoformat)
    if isinstance(field, Time):
        return st.times().map(lambda time: f"{time:%H:%M}")
    if isinstance(field, Record):
        return st.fixed_dictionaries({name: values(part, full=full) for name, part in field.fields.items()})
    assert isinstance(field, Rows)
    low = field.high if full else field.low
    key = (lambda row: row[field.unique] if isinstance(row, dict) else row) if field.unique else None
    if isinstance(field.of, Among) and field.of.empty:
        names = st.lists(st.sampled_from(field.of.names), min_size=1, max_size=9, unique=True)
        return names.map(lambda names: [*names, *[None] * (9 - len(names))]).flatmap(st.permutations)
    return st.lists(values(field.of, full=full), min_size=low, max_size=field.high, unique_by=key)


@st.composite
def specs(draw, kind, full=False):
    """A spec that passes `check`."""
    truth = draw(values(Record(KINDS[kind].fields), full=full))
    if kind == "receipt":
        truth["total_cents"] = sum(line["cents"] for line in truth["lines"])
    if kind == "calendar":
        truth["day"] = min(truth["day"], calendar.monthrange(truth["year"], truth["month"])[1])
    if kind == "badge":
        truth = dict(zip(truth, draw(st.permutations(sorted(COLOURS))), strict=False))
    if kind == "map":
        cells = draw(st.permutations(CELLS))
        truth["places"] = [{**place, "cell": cell} for place, cell in zip(truth["places"], cells, strict=False)]
    if kind == "shelf":
        left = MOST_ON_SHELF
        for later, item in enumerate(reversed(truth["items"])):
            item["count"] = max(1, min(item["count"], left - (len(truth["items"]) - 1 - later)))
            left -= item["count"]
    return ImageSpec(kind, truth, draw(st.integers(0, 2**64 - 1)))
