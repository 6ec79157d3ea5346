"""What the fields of a picture's truth may hold: small checkers whose errors name the field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from memgauge.errors import InputError, unknown_name

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class Field(Protocol):
    """What one field of a truth may hold."""

    def check(self, value: object, where: str) -> None:
        """Raise `InputError`, naming `where`, if the value does not fit."""

    def describe(self) -> str:
        """Return one phrase for the documentation."""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of 1 to `longest` characters of the Latin script and common signs, without outer spaces."""

    longest: int

    def check(self, value: object, where: str) -> None:
        """See `Field`."""
        if not isinstance(value, str):
            raise InputError(f"{where}: expected text, got {value!r:.60}")
        if not 1 <= len(value) <= self.longest or value != value.strip():
            raise InputError(
                f"{where}: expected 1 to {self.longest} characters without outer spaces, got {value!r:.90}"
            )
        for character in value:
            if not drawable(character):
                raise InputError(f"{where}: the character {character!r} cannot be drawn; use the Latin script")

    def describe(self) -> str:
        """See `Field`."""
        return f"text of at most {self.longest} characters"


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int
    high: int

    def check(self, value: object, where: str) -> None:
        """See `Field`."""
        if type(value) is not int or not self.low <= value <= self.high:
            raise InputError(f"{where}: expected a whole number from {self.low} to {self.high}, got {value!r:.60}")

    def describe(self) -> str:
        """See `Field`."""
        return f"whole number from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Among:
    """One of some names; `null` too where `empty` says so."""

    what: str
    names: Sequence[str]
    empty: bool = False

    def check(self, value: object, where: str) -> None:
        """See `Field`."""
        if value is None and self.empty:
            return
        if not isinstance(value, str):
            raise InputError(f"{where}: expected the name of a {self.what}, got {value!r:.60}")
        if value not in self.names:
            raise InputError(f"{where}: {unknown_name(self.what, value, self.names)}")

    def describe(self) -> str:
        """See `Field`."""
        return f"{self.what}{' or null' if self.empty else ''}"


@dataclass(frozen=True, slots=True)
class Day:
    """A date of the years 1900 to 2099, YYYY-MM-DD."""

    def check(self, value: object, where: str) -> None:
        """See `Field`."""
        try:
            fits = isinstance(value, str) and _DATE.fullmatch(value) and 1900 <= date.fromisoformat(value).year < 2100
        except ValueError:
            fits = False
        if not fits:
            raise InputError(f"{where}: expected a date such as 2023-04-09, got {value!r:.60}")

    def describe(self) -> str:
        """See `Field`."""
        return "date YYYY-MM-DD"


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day, HH:MM, of 24 hours."""

    def check(self, value: object, where: str) -> None:
        """See `Field`."""
        if not isinstance(value, str) or not _TIME.fullmatch(value):
            raise InputError(f"{where}: expected a time such as 09:40, got {value!r:.60}")

    def describe(self) -> str:
        """See `Field`."""
        return "time HH:MM"


@dataclass(frozen=True, slots=True)
class Rows:
    """A list of `low` to `high` values; the values of the field `unique` (or the values themselves) do not repeat."""

    of: Field
    low: int
    high: int
    unique: str = ""

    def check(self, value: object, where: str) -> None:
        """See `Field`."""
        if not isinstance(value, list | tuple) or not self.low <= len(value) <= self.high:
            raise InputError(f"{where}: expected a list of {self.low} to {self.high}, got {value!r:.60}")
        for index, item in enumerate(value):
            self.of.check(item, f"{where}[{index}]")
        if self.unique:
            keys = [item[self.unique] if isinstance(item, Mapping) else item for item in value]
            shown = [key for key in keys if key is not None]
            if len(set(shown)) < len(shown):
                raise InputError(f"{where}: every {self.unique} may stand there once")

    def describe(self) -> str:
        """See `Field`."""
        size = f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"
        return f"list of {size}: {self.of.describe()}"


@dataclass(frozen=True, slots=True)
class Record:
    """An object with exactly the named fields."""

    fields: Mapping[str, Field]

    def check(self, value: object, where: str) -> None:
        """See `Field`."""
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: expected an object with {', '.join(self.fields)}, got {value!r:.60}")
        missing = [name for name in self.fields if name not in value]
        extra = [str(name) for name in value if name not in self.fields]
        if missing or extra:
            wrong = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(extra)}"] * bool(extra)
            raise InputError(f"{where}: {'; '.join(wrong)}. Its fields are {', '.join(self.fields)}")
        for name, field in self.fields.items():
            field.check(value[name], f"{where}.{name}")

    def describe(self) -> str:
        """See `Field`."""
        return "{" + ", ".join(f"{name}: {field.describe()}" for name, field in self.fields.items()) + "}"


def drawable(character: str) -> bool:
    """Say whether the shipped fonts have the character: Latin letters with marks, digits, common signs."""
    return character.isprintable() and (ord(character) < 0x180 or character in "–—‘’“”…€·×•→′″")
