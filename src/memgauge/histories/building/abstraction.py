"""Names replaced by phrases that only a picture resolves: "Golden Gate Bridge" becomes "the bridge shown in <image>".

The dictionary has 55 categories with 170 phrases (MEMLENS, entity abstraction). The category of a name comes from a
list of names, then from its head word, then from a model if one is handed in, then it is the fallback "thing".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

from memgauge.grading.typed.words import word_list
from memgauge.histories.building.findings import Findings, JsonPath, read_json
from memgauge.histories.building.text.lint import problems

FALLBACK = "thing"
GROUPS = ("places", "organisations", "objects", "fallbacks")
LARGEST_FILE = 4 * 2**20
FEWEST = {"fallbacks": 4}
"""Phrases of a category at least, 3 where its group is not named."""

_DETERMINERS = ("the ", "that ", "this ")
# Words that would narrow down what the picture shows.
_NARROWING = frozenset(
    (
        *("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "grey", "gray"),
        *("big", "large", "huge", "small", "tiny", "little", "tall", "short", "long", "old", "new", "young", "ancient"),
        *("modern", "wooden", "golden", "silver", "metal", "plastic", "glass", "stone", "leather", "paper-made"),
        *("round", "square-shaped", "american", "british", "french", "german", "italian", "japanese", "chinese"),
    )
)
_BEFORE = r"(?:(?P<det>\b(?:the|an?|this|that|these|those|my|our|your|his|her|their|its)\s+)?)"
_PREPOSITION = re.compile(r"\b(?P<word>at|in|to|into)\s+$", re.IGNORECASE)
_AMOUNT = re.compile(r"\b(?:two|three|four|five|six|several|many|some|both|few|all)\s+$", re.IGNORECASE)
# A possessed noun phrase ends before one of these.
_END = frozenset(
    word_list(
        "is are was were be been has have had do does did will would can could may might must should in on at to of "
        "for from with by and or but that which who when where while as than because if so after before near not"
    )
)


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of thing with the phrases that may stand for one of its kind."""

    id: str
    group: str
    heads: Mapping[str, str]
    """Head nouns of the phrases, singular: plural."""
    phrases: tuple[str, ...]

    def plural(self, phrase: str) -> str:
        """Return a phrase for several of the kind.

        >>> built_in().categories["plant"].plural("this specimen <image>")
        'these specimens <image>'
        """
        for head, heads in self.heads.items():
            if re.search(rf"\b{head}\b", phrase):
                phrase = re.sub(rf"\b{head}\b", heads, phrase, count=1)
                break
        return re.sub(r"^(this|that)\b", lambda m: {"this": "these", "that": "those"}[m[1]], phrase)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """All categories, and which names and head words belong to them."""

    categories: Mapping[str, Category]
    names: Mapping[str, str]
    words: Mapping[str, str]

    def category_of(self, name: str, ask: Callable[[str, Sequence[str]], str | None] | None = None) -> str:
        """Return the category of a name.

        `ask` is a model: it gets the name and the categories, and returns one of them or None.

        >>> [built_in().category_of(name) for name in ("Portland Art Museum", "Bank of Finland", "Guernica", "Zyx")]
        ['museum', 'bank', 'painting', 'thing']
        """
        low = " ".join(re.findall(r"[\w'’-]+", name.lower()))
        plain = low.removeprefix("the ")
        if low in self.names or plain in self.names:
            return self.names.get(low) or self.names[plain]
        words = re.split(r" (?:of|for|at|in) ", plain)[0].split()
        # "Mount Fuji" and "Palace Hotel": the head stands last, and only where it says nothing does the first decide.
        for word in (words[-1], words[0]) if words else ():
            for form in (word, word.removesuffix("s")):
                if form in self.words:
                    return self.words[form]
        answer = ask(name, tuple(self.categories)) if ask else None
        return answer if answer is not None and answer in self.categories else FALLBACK

    def phrase(self, category: str, generator: Random) -> str:
        """Draw a phrase of a category."""
        return generator.choice(self.categories[category].phrases)


@cache
def built_in() -> Dictionary:
    """Return the dictionary of the package: 55 categories, 170 phrases."""
    text = (files("memgauge.histories.building") / "data" / "abstraction.json").read_text("utf-8")
    return parse_dictionary(json.loads(text), "abstraction.json")


def load_dictionary(path: Path) -> Dictionary:
    """Read a dictionary of one's own.

    Raises `InputError` naming the file, and line, entry and field of what is missing or wrong, or the phrase that
    breaks a rule.
    """
    text, content = read_json(path, LARGEST_FILE)
    dictionary, findings = examine(content)
    findings.refuse(str(path), text)
    return dictionary


def parse_dictionary(content: object, where: str) -> Dictionary:
    """Read the JSON form. Raises `InputError` whose text names the field or the phrase."""
    dictionary, findings = examine(content)
    findings.refuse(where)
    return dictionary


def examine(content: object) -> tuple[Dictionary, Findings]:
    """Read the JSON form, and return it with everything that is wrong with it; use it only if there are no problems."""
    found = Findings()
    record = found.record(content, (), ("categories", "names", "words"))
    entries = [(_category(item, at, found), at) for item, at in found.items(record, "categories", ())]
    found.unique("category", ((category.id, (*at, "id")) for category, at in entries))
    categories = {category.id: category for category, _ in entries if category.id}
    if entries and FALLBACK not in categories:
        found.add(("categories",), f"the fallback {FALLBACK!r} is missing; every name without a category falls to it")
    names, words = (_owners(record, field, categories, found) for field in ("names", "words"))
    return Dictionary(categories, names, words), found


def _category(item: object, path: JsonPath, found: Findings) -> Category:
    record = found.record(item, path, ("id", "group", "heads", "phrases"))
    name, group = found.text(record, "id", path), record.get("group", GROUPS[0])
    if group not in GROUPS:
        found.add((*path, "group"), f"expected one of {', '.join(GROUPS)}, got {group!r:.60}")
    heads = record.get("heads", {})
    if not isinstance(heads, Mapping) or not all(
        isinstance(word, str) and word.strip() for pair in heads.items() for word in pair
    ):
        found.add((*path, "heads"), "expected an object of singular: plural")
        heads = {}
    phrases = [(found.phrase(phrase, at), at) for phrase, at in found.items(record, "phrases", path)]
    category = Category(name, str(group), dict(heads), tuple(phrase for phrase, _ in phrases if phrase))
    least = FEWEST.get(category.group, 3)
    if phrases and len(set(category.phrases)) < least:
        found.add(
            (*path, "phrases"),
            f"{name} has {len(set(category.phrases))} different phrases, {least} are needed; add some",
        )
    found.unique(f"phrase of {name}", phrases)
    for phrase, at in phrases:
        for problem in phrase_problems(phrase, heads) if phrase else ():
            found.add(at, f"{phrase!r} of {name} {problem}")
    return category


def _owners(
    record: Mapping[str, Any], field: str, categories: Mapping[str, Category], found: Findings
) -> dict[str, str]:
    content = record.get(field, {})
    if not isinstance(content, Mapping):
        found.add((field,), "expected an object of category: list of words")
        return {}
    owners: dict[str, str] = {}
    for category, words in content.items():
        path = (field, str(category))
        if category not in categories:
            found.add(path, f"{category!r} is no category of this file")
        if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
            found.add(path, "expected a list of texts")
            continue
        for index, word in enumerate(words):
            if owners.setdefault(word.lower(), category) != category:
                found.add((*path, index), f"{word!r} belongs to {owners[word.lower()]!r} already; keep it in one")
    return owners


def phrase_problems(phrase: str, heads: Iterable[str]) -> list[str]:
    """Return which rules a phrase breaks: one `<image>`, a determiner in front, a head noun, nothing that narrows.

    >>> phrase_problems("the old bridge", ["bridge"])
    ['must hold <image> exactly once, where the picture stands', "says more than the category; leave 'old' out"]
    """
    plain = phrase.replace("<image>", " ")
    words = re.findall(r"[\w-]+", plain.lower())
    narrow = [word for word in words if word in _NARROWING]
    heads = [head for head in heads if re.search(rf"\b{re.escape(head)}\b", phrase)]
    things = [p for p in problems(" ".join(w for w in words if w not in heads)) if p.startswith("name of a thing")]
    checks = (
        ("must hold <image> exactly once, where the picture stands", phrase.count("<image>") != 1),
        ("must begin with the, that or this", not phrase.startswith(_DETERMINERS)),
        ("names no head noun of its category (`heads`)", not heads),
        (f"says more than the category; leave {', '.join(map(repr, narrow))} out", bool(narrow)),
        (
            "holds a name or a digit; say the kind of thing only",
            any(letter.isupper() or letter.isdigit() for letter in plain),
        ),
        (f"holds the {', '.join(things)}; say the kind of thing only", bool(things)),
    )
    return [said for said, wrong in checks if wrong]


def lint(dictionary: Dictionary) -> list[str]:
    """Return which phrases break a rule, each with its category."""
    return [
        f"{category.id}: {phrase!r} {problem}"
        for category in dictionary.categories.values()
        for phrase in category.phrases
        for problem in phrase_problems(phrase, category.heads)
    ]


def abstract(text: str, names: Sequence[str], category: Category, phrase: str) -> str:
    """Replace a name (and its aliases) by a phrase with a picture.

    The first mention becomes the phrase, later ones "it" or "there", so that the text holds `<image>` once. A leading
    article is taken along; plurals stay plural; a possessive first mention becomes "of ...", a later one "its". Raises
    `ValueError` if no name occurs in the text or the text already holds `<image>`.

    >>> bridge = built_in().categories["bridge"]
    >>> abstract("Golden Gate Bridge's towers are lit. I met Emma at the Golden Gate Bridge.",
    ...          ["Golden Gate Bridge"], bridge, "the bridge shown in <image>")
    'The towers of the bridge shown in <image> are lit. I met Emma there.'
    """
    if "<image>" in text:
        raise ValueError("the text already holds a picture")
    ordered = sorted({name for name in names if name.strip()}, key=len, reverse=True)
    found = "|".join(re.escape(name) for name in ordered)
    pattern = re.compile(
        rf"{_BEFORE}(?<!\w)(?P<name>{found})(?P<plural>e?s)?(?P<owns>['’]s|(?<=s)['’](?!\w))?(?!\w)", re.IGNORECASE
    )
    out, at, first = "", 0, True
    for match in pattern.finditer(text):
        if match.start() < at:
            continue
        before = out + text[at : match.start()]
        plural = bool(match["plural"])
        at = match.end()
        if first:
            said = category.plural(phrase) if plural else phrase
            if match["owns"]:
                owned = _owned(text[at:])
                said, at = (f"the{owned} of {said}", at + len(owned)) if owned else (said, at)
            elif plural and _AMOUNT.search(before):
                said = f"of {said}"
        elif match["owns"]:
            said = "their" if plural else "its"
        else:
            place = _PREPOSITION.search(before) if category.group == "places" and not plural else None
            if place is not None:
                before, said = before[: place.start()], "there"
            else:
                said = ("they" if _opens(before) else "them") if plural else "it"
        out = before + (said[:1].upper() + said[1:] if _opens(before) else said)
        first = False
    if first:
        raise ValueError(f"the text does not mention {ordered[0] if ordered else 'any name'}")
    return out + text[at:]


def _owned(rest: str) -> str:
    """Return the noun phrase that follows a possessive: up to three words before a verb, a preposition or a stop."""
    taken = ""
    for match in re.finditer(r"\s+[\w-]+", rest):
        if match.start() != len(taken) or match[0].strip().lower() in _END or len(taken.split()) == 3:
            break
        taken += match[0]
    return taken


def _opens(before: str) -> bool:
    """Say whether what follows begins a sentence."""
    return not before.strip() or bool(re.search(r"[.!?]['\"”’)]?\s+$", before))
