"""Words that narrow down what a picture shows: adjectives of looks, comparisons with other sessions, counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from memgauge.grading.typed.words import word_list
from memgauge.histories.building.model import Fact
from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.text.validators.normal import plain

WINDOW = 4
"""Words on each side of a picture or its anaphor in which an adjective of looks counts."""

LOOKS = frozenset(COLOURS) | frozenset(
    word_list(
        """
    red orange yellow green blue purple violet pink brown black white gray grey golden silver beige turquoise crimson
    scarlet navy maroon teal magenta pale dark bright colorful colourful striped spotted dotted checkered plaid
    tiny small little mini miniature big large huge giant enormous gigantic massive tall short long slim thin thick wide
    narrow fat bulky compact oversized
    round circular square rectangular triangular oval spherical cylindrical curved flat pointed pointy curly spiky
    hollow
    wooden metal metallic plastic leather woolen cotton silk velvet glassy ceramic porcelain steel iron brass copper
    stone marble paper furry fluffy fuzzy feathered scaly hairy shiny glossy smooth rough
        """
    )
)
"""Adjectives of colour, size, shape and material; any other fits anything."""

_COMPARISONS = re.compile(
    r"\b(?:another one(?: like)?|one like (?:it|that|this|the)|(?:different|differs|distinct) from"
    r"|(?:un)?like (?:the )?(?:last|previous|other|earlier) (?:one|time)|the same(?: one| kind| sort)?|the very same"
    r"|identical|similar to|same as|yet another|one more of|as (?:last time|before)|once (?:more|again)"
    r"|(?:not|no longer) the (?:one|old)|the other one|a second one"
    r"|compared (?:to|with) (?:the )?(?:last|other|previous))\b"
)
_COUNTS = re.compile(
    r"\b(?:(?:my|the|this|that|our|his|her|their) "
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|\d+(?:st|nd|rd|th))(?! of)"
    r"|(?:third|fourth|fifth|sixth) (?:one|time|such)|for the (?:first|second|third|fourth) time"
    r"|that makes (?:two|three|four|five|six|seven|eight|\d+))\b"
)
_SENTENCE = re.compile(r"[.!?][\"')]*\s+")
_TOKEN = re.compile(r"<image>|[a-z0-9]+")
_POINTING = frozenset(("this", "that", "these", "those", "it", "here", "them"))


def disambiguation(text: str, facts: Sequence[Fact]) -> tuple[str, str] | None:
    """Return why a text narrows down what its pictures show, as (code, words), or None.

    What the facts themselves say is theirs to answer for, and does not count.

    >>> disambiguation("I met this tiny fellow <image>.", [])
    ('adjective_of_looks', 'tiny')
    """
    low = plain(text)
    for code, pattern in (("comparison", _COMPARISONS), ("count", _COUNTS)):
        said = pattern.findall(low)
        if said:
            own = Counter(hit for fact in facts for hit in pattern.findall(plain(fact.text)))
            beyond = [hit for hit, count in Counter(said).items() if count > own[hit]]
            if beyond:
                return code, beyond[0]
    if "<image>" not in low:
        return None
    own_words = Counter(token for fact in facts for token in _TOKEN.findall(plain(fact.text)) if token in LOOKS)
    for sentence in _SENTENCE.split(low):
        if "<image>" not in sentence:
            continue
        tokens = _TOKEN.findall(sentence)
        anaphors = []
        for place, token in enumerate(tokens):
            if token == "<image>":
                # The picture, and the word before it that points at it.
                anaphors += [place, *[i for i in range(place) if tokens[i] in _POINTING][-1:]]
        for index, token in enumerate(tokens):
            if token in LOOKS and any(abs(index - place) <= WINDOW for place in anaphors):
                own_words[token] -= 1
                if own_words[token] < 0:
                    return "adjective_of_looks", token
    return None
