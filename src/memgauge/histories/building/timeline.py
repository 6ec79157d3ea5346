"""The days of a history: slots, how dates are written, and what "last Tuesday" means on a given day.

English names stand in tables of their own, so that no locale changes a record.
"""

from __future__ import annotations

import random
import re
from datetime import date, datetime, timedelta

from memgauge.errors import InputError

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
FIRST_YEAR = 2023
LONGEST_RELATIVE = 12
"""How many days back `relative` can name."""

_COUNTS = ("", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_STAMP = re.compile(r"(\d{4})/(\d\d)/(\d\d) \(([A-Z][a-z]{2})\) (\d\d):(\d\d)")


def timeline(generator: random.Random, slots: int) -> tuple[tuple[datetime, ...], datetime]:
    """Return the dates of the slots, strictly increasing, and the date of the question, 1 to 14 days after the last.

    The first slot is the first of a random month of 2023; gaps of 1, 2 and 3 days come as 2 : 2 : 1; the time of day
    is uniform from 07:00 to 22:00. Raises `ValueError` for fewer than one slot.
    """
    if slots < 1:
        raise ValueError(f"a timeline takes at least one slot, got {slots}")
    day = datetime(FIRST_YEAR, generator.randrange(1, 13), 1)
    dates = []
    for _ in range(slots):
        dates.append(day + timedelta(minutes=_minutes(generator)))
        day += timedelta(days=generator.choices((1, 2, 3), (2, 2, 1))[0])
    last = dates[-1].replace(hour=0, minute=0)
    asked = last + timedelta(days=generator.randrange(1, 15), minutes=_minutes(generator))
    return tuple(dates), asked


def _minutes(generator: random.Random) -> int:
    return generator.randrange(7 * 60, 22 * 60 + 1)


def stamp(when: datetime) -> str:
    """Return a date as the records write it.

    >>> stamp(datetime(2024, 5, 31, 7, 58))
    '2024/05/31 (Fri) 07:58'
    """
    return f"{slashed(when)} ({WEEKDAYS[when.weekday()][:3]}) {when.hour:02d}:{when.minute:02d}"


def read_stamp(text: str) -> datetime:
    """Read what `stamp` wrote. Raises `InputError` for another form, no such day, or a weekday that does not fit."""
    found = _STAMP.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is no date of the form 2024/05/31 (Fri) 07:58")
    year, month, day, name, hour, minute = found.groups()
    try:
        when = datetime(int(year), int(month), int(day), int(hour), int(minute))
    except ValueError as error:
        raise InputError(f"{text!r} is no date: {error}") from error
    if WEEKDAYS[when.weekday()][:3] != name:
        raise InputError(f"{text!r}: that day is a {WEEKDAYS[when.weekday()]}")
    return when


def slashed(when: date) -> str:
    """Return YYYY/MM/DD, the form of every date that is an answer."""
    return f"{when.year:04d}/{when.month:02d}/{when.day:02d}"


def iso(when: date) -> str:
    """Return YYYY-MM-DD, the form of every date in structured truth."""
    return f"{when.year:04d}-{when.month:02d}-{when.day:02d}"


def in_words(when: date, form: int = 0) -> str:
    """Return a full date as people write it; `form` (0 to 2) chooses among the ways.

    >>> [in_words(date(2023, 6, 9), form) for form in range(3)]
    ['June 9, 2023', '9 June 2023', 'the 9th of June 2023']
    """
    month = MONTHS[when.month - 1]
    return (
        f"{month} {when.day}, {when.year}",
        f"{when.day} {month} {when.year}",
        f"the {ordinal(when.day)} of {month} {when.year}",
    )[form]


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th ..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def last_weekday(today: date, weekday: int) -> date:
    """Return the most recent `weekday` (0 = Monday) strictly before `today`.

    >>> last_weekday(date(2024, 3, 1), 4)  # on a Friday, "last Friday" is a week ago
    datetime.date(2024, 2, 23)
    """
    plain = date(today.year, today.month, today.day)
    return plain - timedelta(days=(plain.weekday() - weekday - 1) % 7 + 1)


def relative(today: date, ago: int) -> tuple[str, ...]:
    """Return the ways to name, on the day `today`, the day that was `ago` days before (0 to `LONGEST_RELATIVE`).

    >>> relative(date(2024, 3, 1), 2)
    ('last Wednesday', 'two days ago', 'the day before yesterday')
    """
    if not 0 <= ago <= LONGEST_RELATIVE:
        raise ValueError(f"a relative date reaches 0 to {LONGEST_RELATIVE} days back, got {ago}")
    if ago == 0:
        return ("today", "earlier today")
    if ago == 1:
        return ("yesterday",)
    named = WEEKDAYS[(today.weekday() - ago) % 7]
    ways = ([f"last {named}"] if ago <= 7 else []) + [f"{_COUNTS[ago]} days ago"]
    ways += ["the day before yesterday"] if ago == 2 else ["a week ago"] if ago == 7 else []
    return tuple(ways)
