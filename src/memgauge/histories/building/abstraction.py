"""Names replaced by phrases that only a picture resolves: "Golden Gate Bridge" becomes "the bridge shown in <image>".

The dictionary has 55 categories with 170 phrases (MEMLENS, entity abstraction). The category of a name comes from a
list of names, then from its head word, then from a model if one is handed in, then it is the fallback "thing".
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random

from memgauge.errors import InputError
from memgauge.grading.typed.words import word_list

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

    Raises `InputError` naming the file and the field that is missing or wrong, or the phrase that breaks a rule.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: a dictionary of more than {LARGEST_FILE // 2**20} MiB is refused")
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no JSON text ({error})") from error
    return parse_dictionary(content, str(path))


def parse_dictionary(content: object, where: str) -> Dictionary:
    """Read the JSON form. Raises `InputError` whose text names the field or the phrase."""
    if not isinstance(content, Mapping):
        raise InputError(f"{where}: expected an object with categories")
    for field in ("categories", "names", "words"):
        if field not in content:
            raise InputError(f"{where}: the field {field!r} is missing")
    if not isinstance(content["categories"], list):
        raise InputError(f"{where}.categories: expected a list")
    categories: dict[str, Category] = {}
    for index, item in enumerate(content["categories"]):
        category = _category(item, f"{where}.categories[{index}]")
        if category.id in categories:
            raise InputError(f"{where}: the category {category.id!r} occurs more than once")
        categories[category.id] = category
    if FALLBACK not in categories:
        raise InputError(f"{where}.categories: the fallback {FALLBACK!r} is missing")
    dictionary = Dictionary(
        categories,
        _owners(content["names"], categories, f"{where}.names"),
        _owners(content["words"], categories, f"{where}.words"),
    )
    found = lint(dictionary)
    if found:
        raise InputError(f"{where}: reword these phrases: {'; '.join(found[:10])}")
    return dictionary


def _category(item: object, where: str) -> Category:
    if not isinstance(item, Mapping):
        raise InputError(f"{where}: expected an object with id, group, heads and phrases")
    for field in ("id", "group", "heads", "phrases"):
        if field not in item:
            raise InputError(f"{where}: the field {field!r} is missing")
    if not isinstance(item["id"], str) or item["group"] not in GROUPS:
        raise InputError(f"{where}: expected a text as id and one of {', '.join(GROUPS)} as group")
    heads, phrases = item["heads"], item["phrases"]
    if not isinstance(heads, Mapping) or not all(
        isinstance(word, str) and word for pair in heads.items() for word in pair
    ):
        raise InputError(f"{where}.heads: expected an object of singular: plural")
    if not isinstance(phrases, list) or not all(isinstance(phrase, str) for phrase in phrases):
        raise InputError(f"{where}.phrases: expected a list of texts")
    least = FEWEST.get(item["group"], 3)
    if len(set(phrases)) < least:
        raise InputError(f"{where}.phrases: {item['id']} has {len(set(phrases))} different phrases, {least} are needed")
    return Category(item["id"], item["group"], dict(heads), tuple(phrases))


def _owners(content: object, categories: Mapping[str, Category], where: str) -> dict[str, str]:
    if not isinstance(content, Mapping):
        raise InputError(f"{where}: expected an object of category: list of words")
    owners: dict[str, str] = {}
    for category, words in content.items():
        if category not in categories:
            raise InputError(f"{where}: {category!r} is no category of this file")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError(f"{where}.{category}: expected a list of texts")
        owners.update((word.lower(), category) for word in words)
    return owners


def lint(dictionary: Dictionary) -> list[str]:
    """Return which phrases break a rule: one `<image>`, a determiner in front, a head noun, nothing that narrows."""
    found = []
    counts = Counter(phrase for category in dictionary.categories.values() for phrase in category.phrases)
    for category in dictionary.categories.values():
        for phrase in category.phrases:
            words = re.findall(r"[\w-]+", phrase.replace("<image>", " ").lower())
            problems = [
                ("must hold <image> exactly once", phrase.count("<image>") != 1),
                ("must begin with the, that or this", not phrase.startswith(_DETERMINERS)),
                ("names no head noun", not any(re.search(rf"\b{head}\b", phrase) for head in category.heads)),
                ("says more than the category", bool(_NARROWING & set(words))),
                ("holds a name or a digit", bool(re.search(r"[A-Z0-9]", phrase))),
                ("occurs twice in its category", counts[phrase] > 1 and category.phrases.count(phrase) > 1),
            ]
            found += [f"{category.id}: {phrase!r} {what}" for what, wrong in problems if wrong]
    return found


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
