"""Reading the parameters of tasks, as `-T` gives them or as a log recorded them: numbers, names, lists and switches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from memgauge.errors import InputError, unknown_name

T = TypeVar("T")


def listed(values: Mapping[str, object], name: str, read: Callable[[str, object], T]) -> tuple[T, ...]:
    """Read a list, a single value, or values separated by commas."""
    given = values[name]
    parts = given.split(",") if isinstance(given, str) else given if isinstance(given, list | tuple) else [given]
    return tuple(read(name, part.strip() if isinstance(part, str) else part) for part in parts)


def integer(name: str, value: object) -> int:
    """Read a whole number that is not negative."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InputError(f"{name} is {str(value)[:60]!r}; it is a whole number, not negative")
    return value


def member(kind: Any) -> Callable[[str, object], Any]:
    """Return a reader of one of the values of a `Literal`."""

    def read(name: str, value: object) -> Any:
        return one_of({name: value}, name, get_args(kind))

    return read


def one_of(values: Mapping[str, object], name: str, known: tuple[str, ...]) -> str:
    """Read one of the known names."""
    value = str(values[name])[:60]
    if value not in known:
        raise unknown_name(name, value, known)
    return value


def words(name: str, value: object) -> str:
    """Read a text on one line, such as a path; YAML, in which Inspect reads -T, makes a number of some."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text.strip() or len(text) > 4096 or not text.isprintable():
        raise InputError(f"{name} is {str(value)[:60]!r}; it is a text on one line")
    return text


def switch(name: str, value: object) -> bool:
    """Read true or false."""
    if value in ("true", "True", "false", "False"):
        return value in ("true", "True")
    if not isinstance(value, bool):
        raise InputError(f"{name} is {str(value)[:60]!r}; it is true or false")
    return value


def refuse_unknown(task: str, given: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Raise `InputError` for a parameter that a task does not have."""
    for name in given:
        if name not in known:
            raise unknown_name(f"parameter of {task}", name, known)
