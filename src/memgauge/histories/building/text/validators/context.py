"""What a draft is checked against: its session, and what no text of it may say, worked out before any text is seen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from memgauge.histories.building.model import Fact, Turn
from memgauge.histories.building.text.types import Profile
from memgauge.histories.building.text.validators.forms import Form, phrase, truth_forms
from memgauge.histories.building.text.validators.normal import joined, occurrences, unique, words
from memgauge.histories.building.text.validators.spaces import kind_space, picture_group, space_forms, word_forms

MARKER = "<image>"
SMALL_SPACE = 200
"""Answer spaces of up to so many values are banned whole."""
_MARKER = re.compile(re.escape(MARKER))


class Bans:
    """Sequences of words that may not occur, found by the first word.

    >>> Bans([("hot", "dog")]).found(["a", "hot", "dog"])
    {('hot', 'dog'): 1}
    """

    def __init__(self, forms: Sequence[Form]) -> None:
        self.forms = unique(forms)
        self._heads: dict[str, list[Form]] = {}
        for form in self.forms:
            self._heads.setdefault(form[0], []).append(form)

    def found(self, tokens: Sequence[str], known: frozenset[str] | set[str] | None = None) -> dict[Form, int]:
        """Return which of them occur and how often; `known` is the set of the tokens, if it is at hand."""
        heads = self._heads.keys() & (set(tokens) if known is None else known)
        hits = {form: occurrences(form, tokens) for head in heads for form in self._heads[head]}
        return {form: count for form, count in sorted(hits.items()) if count}


@dataclass(slots=True)
class Scanned:
    """A text taken apart once for all validators."""

    text: str
    length: int
    """Words, separated by white space, pictures not counted."""
    tokens: list[str]
    known: set[str]
    grams: set[tuple[str, ...]] | None = None


def scan(text: str) -> Scanned:
    """Take a text apart."""
    bare = text.replace(MARKER, " ") if MARKER in text else text
    tokens = words(bare)
    tokens += joined(bare)
    return Scanned(text, len(bare.split()), tokens, set(tokens))


@dataclass(slots=True)
class Context:
    """A session in the making, as the validators see it."""

    profile: Profile
    facts: tuple[Fact, ...] = ()
    """All that the session carries."""
    answer_space: tuple[str, ...] = ()
    turns: list[Turn] = field(default_factory=list)
    """The turns that were accepted so far."""
    named: Bans = field(init=False)
    """Protected strings and the small answer spaces: validator 3."""
    open: Bans = field(init=False)
    """What the pictures show in open spaces, in all its forms: validator 4."""
    grams: set[tuple[str, ...]] = field(default_factory=set)
    """6-grams of the accepted turns, without those of the facts."""
    _scans: dict[str, Scanned] = field(default_factory=dict)
    _said: dict[str, dict[Form, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pictures = [picture for fact in self.facts for picture in fact.images]
        spaces = tuple(dict.fromkeys((picture.kind, picture_group(picture)) for picture in pictures))
        self.named = _named(tuple(fact.protected for fact in self.facts), spaces, tuple(self.answer_space))
        self.open = Bans([form for picture in pictures for form in truth_forms(picture.kind, picture.truth)])
        for fact in self.facts:
            scanned = self.scan(fact.text)
            said = self.open.found(scanned.tokens, scanned.known)
            self._said[fact.id] = said | self.named.found(scanned.tokens, scanned.known)

    def scan(self, text: str) -> Scanned:
        """Take a text apart, once."""
        scanned = self._scans.get(text)
        if scanned is None:
            scanned = self._scans[text] = scan(text)
        return scanned

    def grams_of(self, text: str) -> set[tuple[str, ...]]:
        """Return the 6-grams of a text's words."""
        scanned = self.scan(text)
        if scanned.grams is None:
            t = scanned.tokens
            scanned.grams = set(zip(t, t[1:], t[2:], t[3:], t[4:], t[5:], strict=False))
        return scanned.grams

    def accept(self, turn: Turn) -> None:
        """Add a turn that passed; later turns are compared with it."""
        self.turns.append(turn)
        self.grams |= self.grams_of(turn.content)
        if turn.facts:
            # What two facts have in common is theirs to answer for.
            for fact in self.facts:
                self.grams -= self.grams_of(fact.text)

    def allowed(self, facts: Sequence[Fact]) -> Counter[Form]:
        """Return what the facts of a turn say themselves, and how often."""
        total: Counter[Form] = Counter()
        for fact in facts:
            total.update(self._said.get(fact.id, {}))
        return total


@lru_cache(maxsize=4096)
def _named(
    protected: tuple[tuple[str, ...], ...], spaces: tuple[tuple[str, str], ...], answer_space: tuple[str, ...]
) -> Bans:
    """Put together what validator 3 looks for; sessions of a build share most of it."""
    named = [form for texts in protected for text in texts for form in protected_forms(text)]
    named += [form for kind, group in spaces for form in kind_space(kind, group)]
    if len(answer_space) <= SMALL_SPACE:
        # The labels of a choice (A, B) are no words that a text could leak.
        named += space_forms(tuple(value for value in answer_space if len(value) > 1 or value.isdigit()))
    return Bans(named)


@lru_cache(maxsize=65536)
def protected_forms(text: str) -> tuple[Form, ...]:
    """Return what gives a protected string away: itself, its plural, each three words of a name of four or more.

    A blueprint protects small answer spaces whole, so that nothing here depends on which value is right.

    >>> protected_forms("owl"), protected_forms("Museum of Modern Art")
    ((('owl',),), (('museum', 'of', 'modern', 'art'), ('museum', 'of', 'modern'), ('of', 'modern', 'art')))
    """
    form = phrase(text)
    if not form or any(part.isdigit() for part in form):
        return (form,) if form else ()
    grams = [form[i : i + 3] for i in range(len(form) - 2)] if len(form) >= 4 else []
    return unique([form, *(word_forms(text) if len(form) <= 2 else ()), *grams])
