"""Small answer spaces by kind of picture: banned whole, whatever the answer is, so that text stays blind to it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from memgauge.histories.building.model import ImageSpec
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.entities import CLASSES, NAMES, class_of, plural
from memgauge.histories.building.pictures.kinds import CELLS, SKIES
from memgauge.histories.building.text.validators.forms import Form, phrase
from memgauge.histories.building.text.validators.normal import unique

COUNTS = tuple(map(str, range(13)))
_COLOURED = frozenset(("badge", "scene"))


def word_forms(name: str) -> tuple[Form, ...]:
    """Return a name in singular and plural, also written as one word.

    >>> word_forms("hot dog")
    (('hot', 'dog'), ('hotdog',))
    """
    forms = [phrase(name), phrase(plural(name))]
    return unique([*forms, *(("".join(form),) for form in forms if len(form) > 1)])


@lru_cache(maxsize=256)
def space_forms(space: tuple[str, ...]) -> tuple[Form, ...]:
    """Return the ways to say any value of an answer space."""
    return unique(form for value in space for form in (word_forms(value) if value.isascii() else (phrase(value),)))


@lru_cache(maxsize=64)
def kind_space(kind: str, group: str = "") -> tuple[Form, ...]:
    """Return the ways to say any value of the small space of a kind of picture; empty for open kinds.

    `group` is the class of the thing for the kind `entity` (see `picture_group`).
    """
    names: Sequence[str] = ()
    if kind in _COLOURED:
        names = (*COLOURS, *(("grey",) if "gray" in COLOURS else ("gray",) if "grey" in COLOURS else ()))
    elif kind == "entity":
        names = CLASSES[group]
    elif kind == "tray":
        names = NAMES
    elif kind == "shelf":
        names = COUNTS
    elif kind == "weather":
        names = SKIES
    elif kind == "map":
        names = CELLS
    return space_forms(tuple(names))


def picture_group(picture: ImageSpec) -> str:
    """Return the class of the thing that an `entity` picture shows, which its text may tell; else nothing."""
    return class_of(picture.truth["entity"]) if picture.kind == "entity" else ""
