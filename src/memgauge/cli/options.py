"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from memgauge.errors import InputError

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document on standard output.")]


def names(option: str, text: str | None) -> tuple[str, ...]:
    """Read a comma-separated list of names.

    >>> names("--bands", "low, max")
    ('low', 'max')
    """
    if text is None:
        return ()
    found = tuple(part.strip() for part in text.split(","))
    if not all(found):
        raise InputError(f"{option} {text!r}: an empty name; give names separated by commas")
    return found


def integers(option: str, text: str | None, *, least: int = 1) -> tuple[int, ...]:
    """Read a comma-separated list of integers.

    >>> integers("--lengths", "256,1024")
    (256, 1024)
    """
    found = []
    for part in names(option, text):
        try:
            value = int(part.replace("_", ""))
        except ValueError:
            raise InputError(f"{option} {text!r}: {part!r} is not an integer") from None
        if value < least:
            raise InputError(f"{option} {text!r}: {value} is less than {least}")
        found.append(value)
    return tuple(found)
