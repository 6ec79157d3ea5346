"""What is wrong with a file of one's own: every entry that breaks a rule, with its line, its field and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memgauge.errors import InputError

JsonPath = tuple[str | int, ...]
"""Where a value stands: names of fields and places in lists."""

NAMED = 10
"""Findings that an error names; all are counted."""
MOST_LINES = 1_000
"""Findings whose lines are looked up."""
_ABSENT = object()
_LONGEST = 120
_DECODER = json.JSONDecoder()
_BLANK = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or worth knowing."""

    path: JsonPath
    said: str
    """What is wrong, and what to do about it."""
    note: bool = False
    """Worth knowing, but the file can be used."""
    line: int | None = None

    def __str__(self) -> str:
        """Return it as one line."""
        place = [f"line {self.line}"] if self.line is not None else []
        place += [path_text(self.path)] if self.path else []
        return f"{', '.join(place)}: {self.said}" if place else self.said


def path_text(path: JsonPath) -> str:
    """Return a path as people write it.

    >>> path_text(("tracks", 0, "id"))
    'tracks[0].id'
    """
    names = (part if isinstance(part, int) or part.isprintable() else ascii(part) for part in path)
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in names).removeprefix(".")


@dataclass(slots=True)
class Findings:
    """Reads JSON values field by field, and notes everything that is wrong instead of stopping at the first."""

    found: list[Finding] = field(default_factory=list)

    @property
    def problems(self) -> list[Finding]:
        """What keeps the file from being used."""
        return [finding for finding in self.found if not finding.note]

    def add(self, path: JsonPath, said: str, *, note: bool = False) -> None:
        """Note a problem."""
        self.found.append(Finding(path, said, note))

    def record(self, value: object, path: JsonPath, needed: Sequence[str]) -> Mapping[str, Any]:
        """Return an object; an empty one where the value is something else. Missing fields are noted."""
        if value is _ABSENT:
            return {}
        if not isinstance(value, Mapping):
            self.add(path, f"expected an object with {', '.join(needed)}, got {value!r:.60}")
            return {}
        for name in needed:
            if name not in value:
                self.add(path, f"the field {name!r} is missing; add it")
        return value

    def items(
        self, record: Mapping[str, Any], name: str, path: JsonPath, *, empty: bool = False
    ) -> list[tuple[object, JsonPath]]:
        """Return the entries of a list with their paths; none where it is missing, which `record` has noted."""
        value = record.get(name, _ABSENT)
        if value is _ABSENT:
            return []
        if not isinstance(value, list | tuple) or not (value or empty):
            self.add((*path, name), f"expected a list{'' if empty else ' with at least one entry'}, got {value!r:.60}")
            return []
        return [(item, (*path, name, index)) for index, item in enumerate(value)]

    def text(self, record: Mapping[str, Any], name: str, path: JsonPath) -> str:
        """Return a phrase, or an empty text."""
        return self.phrase(record.get(name, _ABSENT), (*path, name))

    def phrase(self, value: object, path: JsonPath) -> str:
        """Return a value that is a phrase, or an empty text."""
        if value is _ABSENT:
            return ""
        if (
            not isinstance(value, str)
            or not value
            or len(value) > _LONGEST
            or value != value.strip()
            or not value.isprintable()
        ):
            self.add(
                path, f"expected a phrase of 1 to {_LONGEST} characters without blanks around it, got {value!r:.60}"
            )
            return ""
        return value

    def unique(self, what: str, names: Iterable[tuple[str, JsonPath]]) -> None:
        """Note every name that occurs again."""
        first: dict[str, JsonPath] = {}
        for name, path in names:
            if not name:
                continue
            if name in first:
                self.add(
                    path, f"the {what} {name!r} occurs more than once, first at {path_text(first[name])}; rename one"
                )
            first.setdefault(name, path)

    def refuse(self, where: str, text: str = "") -> None:
        """Raise `InputError` if there are problems: the first ones, with their lines if the file's text is given."""
        problems = self.problems
        if not problems:
            return
        named = with_lines(problems[:NAMED], text)
        if len(problems) == 1:
            raise InputError(f"{where}: {named[0]}")
        more = f"\n  ... and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
        lines = "".join(f"\n  {finding}" for finding in named)
        raise InputError(f"{where}: {len(problems)} problems:{lines}{more}")


def read_json(path: Path, most: int) -> tuple[str, Any]:
    """Return the text of a file and its JSON value. Raises `InputError` for a file that is too large or no JSON."""
    try:
        if path.stat().st_size > most:
            raise InputError(f"{path}: a file of more than {most // 2**20} MiB is refused")
        text = path.read_text("utf-8-sig")
        return text, json.loads(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no JSON text ({error})") from error


def with_lines(findings: Sequence[Finding], text: str) -> list[Finding]:
    """Return findings with the lines at which their values begin; the file's text must be JSON."""
    if not text:
        return list(findings)
    places = locate(text, [finding.path for finding in findings[:MOST_LINES]])
    starts: dict[int, int] = {}
    at, line = 0, 1
    for place in sorted(set(places.values())):
        line += text.count("\n", at, place)
        at = place
        starts[place] = line
    return [Finding(f.path, f.said, f.note, starts[places[f.path]] if f.path in places else None) for f in findings]


def locate(text: str, paths: Iterable[JsonPath]) -> dict[JsonPath, int]:
    """Return the offsets at which values stand in a JSON text; a value that is not there has its container's.

    One walk, which descends only where something is wanted.

    >>> locate('{"a": [1, {"b": 2}]}', [("a", 1, "b"), ("a", 0), ("c",)])
    {('a', 1, 'b'): 16, ('a', 0): 7, ('c',): 0}
    """
    wanted = list(dict.fromkeys(paths))
    inner: dict[JsonPath, set[str | int]] = {}
    for path in wanted:
        for depth in range(len(path)):
            inner.setdefault(path[:depth], set()).add(path[depth])
    found: dict[JsonPath, int] = {}
    _walk(text, _skip(text, 0), (), inner, found)
    return {path: next(found[path[:n]] for n in range(len(path), -1, -1) if path[:n] in found) for path in wanted}


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at


def _walk(
    text: str, at: int, path: JsonPath, inner: Mapping[JsonPath, set[str | int]], found: dict[JsonPath, int]
) -> int:
    """Note where a value begins, walk it, and return its end."""
    found[path] = at
    parts, opened = inner.get(path), text[at]
    if parts is None or opened not in "{[":
        return _DECODER.raw_decode(text, at)[1]
    at, index = _skip(text, at + 1), 0
    while text[at] not in "}]":
        part: str | int = index
        if opened == "{":
            part, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # behind the colon
        at = _walk(text, at, (*path, part), inner, found) if part in parts else _DECODER.raw_decode(text, at)[1]
        at, index = _skip(text, at), index + 1
        if text[at] == ",":
            at = _skip(text, at + 1)
    return at + 1
