"""The ways to say a value: amounts, times, dates, numbers, names, as sequences of normalised words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from memgauge.histories.building.text.validators.normal import MONTHS, unique, words

Form = tuple[str, ...]
_MONTH_NAMES = tuple(MONTHS)
SHORT_NUMBER = 200
"""Numbers below it belong to small answer spaces; they are banned as a space or not at all, never by the answer."""


@lru_cache(maxsize=65536)
def phrase(text: str) -> Form:
    """Return a phrase as the words that are compared.

    >>> phrase("Golden Gate Bridges"), phrase("$48.50")
    (('golden', 'gate', 'bridge'), ('48', '50'))
    """
    return tuple(words(text))


@lru_cache(maxsize=65536)
def amount(cents: int) -> tuple[Form, ...]:
    """Return the ways to say an amount of money.

    >>> amount(4850), amount(700)
    ((('48', '50'), ('4850',)), (('7', '0'), ('7', 'dollar'), ('7', 'buck'), ('700', 'cent')))
    """
    whole, part = divmod(cents, 100)
    if part:
        forms: list[Form] = (
            [(str(whole), str(part)), (str(cents),)] if whole else [("0", str(part)), (str(part), "cent")]
        )
        return unique(forms)
    return unique([(str(whole), "0"), (str(whole), "dollar"), (str(whole), "buck"), (str(cents), "cent")])


@lru_cache(maxsize=4096)
def time_of_day(hour: int, minute: int) -> tuple[Form, ...]:
    """Return the ways to say a time of day, on a clock of 24 and of 12 hours.

    >>> time_of_day(14, 30)
    (('14', '30'), ('2', '30'), ('half', 'past', '2'))
    """
    hours = (hour, (hour - 1) % 12 + 1)
    following = hour % 12 + 1
    forms: list[Form] = [(str(h), str(minute)) for h in hours]
    if minute == 0:
        noun = {0: "midnight", 12: "noon"}.get(hour)
        forms += [
            (str(hours[1]), "oclock"),
            (str(hours[1]), "o", "clock"),
            (str(hours[1]), "am" if hour < 12 else "pm"),
        ]
        forms += [(noun,)] if noun else []
    elif minute == 30:
        forms.append(("half", "past", str(hours[1])))
    elif minute < 30:
        forms += [(str(minute), "past", str(hours[1])), (str(minute), "after", str(hours[1]))]
    else:
        forms += [(str(60 - minute), "to", str(following)), (str(60 - minute), "before", str(following))]
    if minute == 15:
        forms.append(("quarter", "past", str(hours[1])))
    if minute == 45:
        forms.append(("quarter", "to", str(following)))
    return unique(forms)


@lru_cache(maxsize=4096)
def day(year: int, month: int, number: int) -> tuple[Form, ...]:
    """Return the ways to say a date, with and without the year.

    >>> ("june", "9") in day(2023, 6, 9), ("9", "june") in day(2023, 6, 9)
    (True, True)
    """
    name, n, m, y = _MONTH_NAMES[month - 1], str(number), str(month), str(year)
    return unique(
        [
            *((name, n), (n, name), (name, "the", n), (y, m, n), (m, n, y), (n, m, y)),
            *((m, n, y[2:]), (n, m, y[2:]), (m, n), (n, m)),
        ]
    )


def _pairs(value: str, sign: str) -> list[int]:
    return [int(part) for part in value.split(sign)]


def truth_forms(kind: str, truth: Mapping[str, Any]) -> tuple[Form, ...]:
    """Return every way to say a field of open value of a picture: amounts, times, dates, codes, longer texts, numbers.

    Left out are values of small spaces (colours, names of things, counts): those are banned as whole spaces.
    """
    forms: list[Form] = []
    if kind == "clock":
        forms += time_of_day(truth["hour"], truth["minute"])
    elif kind == "calendar":
        forms += day(truth["year"], truth["month"], truth["day"])
    else:
        for name, value in truth.items():
            forms += _field(name, value)
    return unique(forms)


def _field(name: str, value: Any) -> list[Form]:
    if isinstance(value, Mapping):
        return [form for key, inner in value.items() for form in _field(key, inner)]
    if isinstance(value, (list, tuple)):
        return [form for inner in value for form in _field(name, inner)]
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        if name.endswith("cents"):
            return list(amount(value))
        return [(str(value),)] if value >= SHORT_NUMBER else []
    text = str(value)
    if name == "date" and len(text) == 10:
        return list(day(*_pairs(text, "-")))
    if name == "time" and len(text) == 5:
        return list(time_of_day(*_pairs(text, ":")))
    return list(_text_forms(text))


@lru_cache(maxsize=65536)
def _text_forms(text: str) -> tuple[Form, ...]:
    """A text of several words, or a code with a digit; a single common word says nothing by itself."""
    form = phrase(text)
    if (
        len(form) == 2
        and ":" in text
        and all(part.isdigit() for part in form)
        and int(form[0]) < 24
        and int(form[1]) < 60
    ):
        return time_of_day(int(form[0]), int(form[1]))
    if len(form) > 1 and not (len(form) == 2 and all(len(part) <= 2 for part in form) and "." not in text):
        return (form,)
    single = form[0] if form else ""
    code = any(c.isdigit() for c in single) and any(c.isalpha() for c in single)
    return (form,) if code or (single.isdigit() and int(single) >= SHORT_NUMBER) else ()
