from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.histories.building.seeds import rng
from memgauge.histories.building.solver import named_day
from memgauge.histories.building.timeline import (
    LONGEST_RELATIVE,
    WEEKDAYS,
    in_words,
    iso,
    last_weekday,
    ordinal,
    read_stamp,
    relative,
    slashed,
    stamp,
    timeline,
)

DAYS = st.dates(date(2022, 12, 1), date(2025, 1, 31))


@given(seed=st.integers(0, 10**6), slots=st.integers(1, 160))
def test_a_timeline_increases_within_its_rules(seed, slots):
    dates, asked = timeline(rng(seed), slots)
    assert len(dates) == slots
    assert dates[0].year == 2023
    assert dates[0].day == 1
    gaps = [(b.date() - a.date()).days for a, b in itertools.pairwise(dates)]
    assert set(gaps) <= {1, 2, 3}
    assert all(7 <= when.hour + when.minute / 60 <= 22 for when in (*dates, asked))
    assert 1 <= (asked.date() - dates[-1].date()).days <= 14


def test_gaps_come_as_two_two_one():
    gaps = []
    for seed in range(40):
        dates, _ = timeline(rng(seed, "gaps"), 151)
        gaps += [(b.date() - a.date()).days for a, b in itertools.pairwise(dates)]
    # 6,000 gaps: standard error below 0.0065; five of them, wrong less than once in 10^6.
    assert [gaps.count(n) / len(gaps) for n in (1, 2, 3)] == pytest.approx([0.4, 0.4, 0.2], abs=0.033)


def test_a_timeline_needs_a_slot():
    with pytest.raises(ValueError, match="at least one"):
        timeline(rng(1), 0)


@pytest.mark.parametrize("weekday", range(7))
@pytest.mark.parametrize("today", [date(2024, 2, 26) + timedelta(days=n) for n in range(7)])
def test_last_weekday_is_the_most_recent_one_before_today(today, weekday):
    found = last_weekday(today, weekday)
    walked = next(today - timedelta(days=n) for n in range(1, 8) if (today - timedelta(days=n)).weekday() == weekday)
    assert found == walked


@given(today=DAYS, ago=st.integers(0, LONGEST_RELATIVE))
def test_relative_words_name_the_day(today, ago):
    for said in relative(today, ago):
        assert named_day(said, today) == today - timedelta(days=ago)
        if said.startswith("last "):
            assert last_weekday(today, WEEKDAYS.index(said.removeprefix("last "))) == today - timedelta(days=ago)


def test_relative_words_do_not_reach_further():
    for ago in (-1, LONGEST_RELATIVE + 1):
        with pytest.raises(ValueError, match="relative date"):
            relative(date(2024, 1, 1), ago)


@given(st.datetimes(datetime(2022, 1, 1), datetime(2030, 1, 1)))
def test_a_stamp_reads_back(when):
    when = when.replace(second=0, microsecond=0)
    assert read_stamp(stamp(when)) == when
    assert stamp(when) == when.strftime("%Y/%m/%d (%a) %H:%M")  # the tests run in the C locale


@pytest.mark.parametrize(
    ("when", "text"),
    [
        (datetime(2024, 2, 29, 7, 5), "2024/02/29 (Thu) 07:05"),
        (datetime(2023, 12, 31, 22, 0), "2023/12/31 (Sun) 22:00"),
        (datetime(2024, 1, 1, 9, 9), "2024/01/01 (Mon) 09:09"),
    ],
)
def test_stamps_over_leap_day_and_year_end(when, text):
    assert stamp(when) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2024-05-31 07:58", "no date of the form"),
        ("2024/02/30 (Fri) 07:58", "no date"),
        ("2024/05/31 (Thu) 07:58", "is a Friday"),
    ],
)
def test_bad_stamps_are_named(text, problem):
    with pytest.raises(InputError, match=problem):
        read_stamp(text)


def test_forms_of_a_date():
    day = date(2023, 11, 3)
    assert (slashed(day), iso(day)) == ("2023/11/03", "2023-11-03")
    assert [in_words(day, form) for form in range(3)] == [
        "November 3, 2023",
        "3 November 2023",
        "the 3rd of November 2023",
    ]
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st"]
    )
