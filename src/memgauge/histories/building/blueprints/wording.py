"""Banks of words and sentences: pairs with two phrasings, and a small grammar that composes texts.

Whatever a fact and a question both speak of (events, projects, places, ...) has two phrasings without a common content
word: one for dialogue, one for questions. Otherwise a lexical retriever would find the evidence by its wording.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

_TOKEN = re.compile(r"\[|\]|\||[^\[\]|]+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A thing in both phrasings."""

    id: str
    said: str
    """In dialogue."""
    asked: str
    """In questions."""
    more: str = ""
    """What else its bank says of it: a plural, or the kind of picture that ends it."""


@cache
def bank(name: str) -> Any:
    """Return the bank `name` of the package data, parsed."""
    return json.loads((files(__package__) / "data" / f"{name}.json").read_text("utf-8"))


@cache
def names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first and the last names of which casts are drawn."""
    found = bank("names")
    return tuple(found["first"].split()), tuple(found["last"].split())


@cache
def pairs(name: str) -> tuple[Pair, ...]:
    """Return a bank of pairs: `events`, `projects`, `goods`, `series`, `undertakings` or `places`."""
    return tuple(pair(*row) for row in bank(name))


def pair(said: str, asked: str, more: str = "") -> Pair:
    """Make a pair; its id is its dialogue phrasing.

    >>> pair("book club evening", "reading circle").id
    'book club evening'
    """
    return Pair(said, said, asked, more)


def compose(name: str, generator: Random, slots: Mapping[str, str]) -> str:
    """Choose a template of the bank `wordings` and its alternatives `[a|b]`, and fill in the slots."""
    return _choose(generator.choice(_templates(name)), generator).format(**slots)


def sentence(text: str) -> str:
    """Return the text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def variants(name: str) -> int:
    """Return how many texts the templates of `name` can make with fixed slots."""
    return sum(_count(template) for template in _templates(name))


# A template is a sequence of texts and of choices, a choice is a tuple of alternatives, each again a sequence.
Sequence_ = tuple[Any, ...]


@cache
def _templates(name: str) -> tuple[Sequence_, ...]:
    return tuple(_parse(text) for text in bank("wordings")[name])


def _parse(text: str) -> Sequence_:
    """Parse `a [b|c [d|e]]` into nested tuples. Raises `ValueError` for brackets that do not match."""
    tokens = _TOKEN.findall(text)
    parts, at = _sequence(tokens, 0)
    if at < len(tokens):
        raise ValueError(f"brackets do not match in {text!r}")
    return parts


def _sequence(tokens: list[str], at: int) -> tuple[Sequence_, int]:
    parts: list[Any] = []
    while at < len(tokens) and tokens[at] not in "]|":
        if tokens[at] == "[":
            choice: list[Sequence_] = []
            while True:
                branch, at = _sequence(tokens, at + 1)
                choice.append(branch)
                if at >= len(tokens):
                    raise ValueError(f"a bracket is not closed in {''.join(tokens)!r}")
                if tokens[at] == "]":
                    break
            parts.append(tuple(choice))
        else:
            parts.append(tokens[at])
        at += 1
    return tuple(parts), at


def _choose(parts: Sequence_, generator: Random) -> str:
    return "".join(part if isinstance(part, str) else _choose(generator.choice(part), generator) for part in parts)


def _count(parts: Sequence_) -> int:
    total = 1
    for part in parts:
        total *= 1 if isinstance(part, str) else sum(_count(branch) for branch in part)
    return total
