"""Numbers in words, English: cardinals, dozens, fractions, ordinals."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache


def word_list(text: str) -> tuple[str, ...]:
    """Return the words of a text: a list that is easier to read, and to add to, than one of quoted words."""
    return tuple(text.split())


def bordered(words: str) -> str:
    r"""Return a pattern for any of `words`, joined by "|", where a word begins; each begins with a letter of its own.

    It finds what `\b(?:words)` finds, several times faster: its first letters stand outside, so that the search passes
    over places that hold none of them.

    >>> bordered("so|thus|since")
    's(?<=\\bs)(?:o|ince)|t(?<=\\bt)(?:hus)'
    """
    rests: dict[str, list[str]] = {}
    for word in words.split("|"):
        rests.setdefault(word[0], []).append(word[1:])
    return "|".join(rf"{first}(?<=\b{first})(?:{'|'.join(rest)})" for first, rest in rests.items())


_UNITS = word_list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
UNITS = {word: number for number, word in enumerate(_UNITS)}
_TENS = word_list("twenty thirty forty fifty sixty seventy eighty ninety")
TENS = {word: 10 * number for number, word in enumerate(_TENS, 2)} | {"fourty": 40}
SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "lakh": 100_000,
    "million": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "trillion": 10**12,
}
GROUPS = {"dozen": 12, "couple": 2, "pair": 2, "score": 20, "trio": 3}
PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4}
PARTS |= {"fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10}
_ORDINALS = word_list(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
ORDINALS = {word: number for number, word in enumerate(_ORDINALS, 1)}
ORDINALS |= {f"twenty-{w}": 20 + n for w, n in list(ORDINALS.items())[:9]} | {"thirtieth": 30, "thirty-first": 31}
TIMES = {"once": 1, "twice": 2, "thrice": 3}

_SMALL = "|".join(sorted([*UNITS, *TENS], key=len, reverse=True))
_SCALE = "|".join(SCALES)
CARDINAL = (
    rf"(?:(?:hundred|thousand)[- ]and[- ](?:{_SMALL})|(?:an?"
    rf"|{_SMALL})(?:[- ](?:and[- ])?(?:{_SMALL}))?[- ](?:{_SCALE})|{_SMALL})"
    rf"(?:(?:,?[- ](?:and[- ])?)(?:{_SMALL}|{_SCALE})){{0,12}}"
)
"""Pattern of a number in words, for lower-case text."""


@lru_cache(maxsize=4096)
def cardinal(text: str) -> Fraction | None:
    """Read a number in words exactly; None for words that make none ("two three").

    >>> cardinal("one hundred and five"), cardinal("twenty-one"), cardinal("two three")
    (Fraction(105, 1), Fraction(21, 1), None)
    """
    total = group = 0
    for word in re.split(r"[-,\s]+", text):
        if word in ("", "and"):
            continue
        if word in SCALES and SCALES[word] == 100:
            if group >= 100:
                return None
            group = (group or 1) * 100  # "hundred and five" is a hundred and five
        elif word in SCALES:
            total, group = total + (group or 1) * SCALES[word], 0
        else:
            value = 1 if word in ("a", "an") else UNITS.get(word, TENS.get(word))
            if value is None:
                return None
            # What follows a hundred is below it, what follows a ten is below ten, and nothing follows anything else.
            room = 100 if group % 100 == 0 else 10 if group % 10 == 0 and group % 100 >= 20 else 1
            if group and value >= room:
                return None
            group += value
    return Fraction(total + group)


def decimal(text: str) -> Fraction:
    """Read digits with a decimal point, exactly."""
    return Fraction(Decimal(text))
