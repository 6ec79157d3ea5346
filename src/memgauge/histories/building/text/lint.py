"""Words that free text never uses: whatever a picture could show belongs to the pictures alone."""

from __future__ import annotations

import re
from functools import cache

from memgauge.grading.typed.words import word_list
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.entities import CLASSES, NAMES
from memgauge.histories.building.pictures.kinds import SKIES
from memgauge.histories.building.text.validators.normal import GROUPS, MONTHS, SMALL, TENS, plain, singular
from memgauge.histories.building.text.validators.spaces import word_forms

IMAGE_WORDS = frozenset(
    word_list(
        "image picture photo photograph snapshot screenshot selfie camera pixel attached attachment attach depict"
    )
)
_COLOUR_WORDS = frozenset(COLOURS) | frozenset(
    word_list("red orange yellow green blue purple violet pink brown black white gray grey")
)
_DAYS = frozenset(
    word_list("monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun")
)
_YES_NO = frozenset(("yes", "no", "yeah", "yep", "nope", "nah", "none"))
_MONTHS_SHORT = frozenset(name[:3] for name in MONTHS) | frozenset(("sept",))
_WORD = re.compile(r"[a-z0-9]+")
_COMPARISON = re.compile(r"\b(?:the same|different from|another one|identical|similar to)\b")
_LABEL = re.compile(r"\b[AB]\b(?!\w)(?<!^A)(?<![.!?:] A)")


@cache
def _banned() -> dict[str, str]:
    table = dict.fromkeys(IMAGE_WORDS, "image word")
    table |= dict.fromkeys(_COLOUR_WORDS, "colour")
    table |= dict.fromkeys(_DAYS | frozenset(MONTHS) | _MONTHS_SHORT, "day or month")
    table |= dict.fromkeys(_YES_NO, "yes or no")
    table |= dict.fromkeys(frozenset(SMALL) | frozenset(TENS) | frozenset(GROUPS) | {"hundred", "thousand"}, "number")
    table |= dict.fromkeys(SKIES, "sky")
    return table


@cache
def _names() -> dict[str, tuple[tuple[str, ...], ...]]:
    table: dict[str, tuple[tuple[str, ...], ...]] = {}
    for form in dict.fromkeys(form for name in (*NAMES, *CLASSES) for form in word_forms(name)):
        table[form[0]] = (*table.get(form[0], ()), form)
    return table


def problems(text: str) -> list[str]:
    """Return what a bank or an ontology phrase says that only pictures, questions or answers may say.

    Digits, number words, colours, days and months, yes and no, words about images, names of things that pictures show,
    comparisons with earlier sessions.

    >>> problems("Put both of the owls on Monday's list.")
    ["number: 'both'", "day or month: 'monday'", "name of a thing: 'owl'"]
    """
    low = plain(text)
    found = _WORD.findall(low)
    banned = _banned()
    said = []
    for word in found:
        kind = banned.get(word) or banned.get(singular(word)) or ("digit" if any(map(str.isdigit, word)) else None)
        if kind:
            said.append(f"{kind}: {word!r}")
    stems = list(map(singular, found))
    for index, stem in enumerate(stems):
        said += [
            f"name of a thing: {' '.join(form)!r}"
            for form in _names().get(stem, ())
            if tuple(stems[index : index + len(form)]) == form
        ]
    said += [f"comparison: {hit!r}" for hit in _COMPARISON.findall(low)]
    said += [f"label: {hit!r}" for hit in _LABEL.findall(text)]
    return said
