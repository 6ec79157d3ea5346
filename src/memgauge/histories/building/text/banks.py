"""The banks of sentences: package data, one sentence a line, `[a|b]` for alternatives, `{t}` and the like for slots.

Slots: `{t}` the topic, `{a}` another phrase for it, `the {u}` a part of it, `{s}` its domain. Lines
that begin with `>` take up what was said before, so that nothing of the same message can stand in front of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Line = tuple[str, ...]
"""The variants of one line of a bank."""

MINIMUM = {
    "openers": 180,
    "followups": 310,
    "acknowledgements": 200,
    "general": 780,
    "questions": 240,
    "connectors": 50,
    "picture_acknowledgements": 45,
}
"""Fewest lines of each bank; each sub-attribute has at least 36 sentences of advice."""

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(.*?)\}")
_SLOTS = frozenset("taus")


@dataclass(frozen=True, slots=True)
class Banks:
    """All sentences of the procedural writer."""

    openers: tuple[Line, ...]
    followups: tuple[Line, ...]
    """Lines that may stand behind another sentence of the message."""
    reactions: tuple[Line, ...]
    """Lines that take up what the assistant said."""
    acknowledgements: tuple[Line, ...]
    picture_acknowledgements: tuple[Line, ...]
    connectors: tuple[Line, ...]
    returns: tuple[Line, ...]
    markers: tuple[Line, ...]
    pronouns: tuple[Line, ...]
    """What may stand for a topic that was named already."""
    general: tuple[Line, ...]
    questions: tuple[Line, ...]
    advice: Mapping[str, tuple[Line, ...]]
    """By sub-attribute."""
    domains: Mapping[str, str]
    """Noun phrase of each sub-attribute."""


def variants(line: str) -> Line:
    """Return every way to read a line of a bank.

    >>> variants("It [helps|pays] to ask.")
    ('It helps to ask.', 'It pays to ask.')
    """
    unknown = {slot for slot in _SLOT.findall(line) if slot not in _SLOTS}
    parts = _CHOICE.split(line)
    if line.count("{u}") != line.count("the {u}"):
        raise ValueError(f"a bank line in which {{u}} does not follow 'the': {line}")
    if unknown or any(sign in part for part in parts for sign in "[]"):
        raise ValueError(f"a bank line with an unknown slot or a stray bracket: {line}")
    # Odd parts are alternatives, even ones plain text.
    choices = [part.split("|") if index % 2 else [part] for index, part in enumerate(parts)]
    return tuple("".join(chosen) for chosen in itertools.product(*choices))


def read_lines(name: str) -> list[str]:
    """Return the lines of one file of the package data, without comments."""
    text = files(__package__).joinpath("data", f"{name}.txt").read_text("utf-8")
    return [line for line in text.split("\n") if line.strip() and not line.startswith("# ")]


@cache
def banks() -> Banks:
    """Read all banks; once for each process."""
    advice: dict[str, list[Line]] = {}
    domains: dict[str, str] = {}
    for line in read_lines("advice"):
        if line.startswith("## "):
            name, domain = line[3:].split(": ", 1)
            domains[name] = domain
            advice[name] = []
        else:
            advice[name].append(variants(line))
    follow = read_lines("followups")

    def bank(name: str) -> tuple[Line, ...]:
        return tuple(map(variants, read_lines(name)))

    return Banks(
        openers=bank("openers"),
        followups=tuple(variants(line) for line in follow if not line.startswith(">")),
        reactions=tuple(variants(line[1:].strip()) for line in follow if line.startswith(">")),
        acknowledgements=bank("acknowledgements"),
        picture_acknowledgements=bank("picture_acknowledgements"),
        connectors=bank("connectors"),
        returns=bank("returns"),
        markers=bank("markers"),
        pronouns=bank("pronouns"),
        general=bank("general"),
        questions=bank("questions"),
        advice={name: tuple(lines) for name, lines in advice.items()},
        domains=domains,
    )
