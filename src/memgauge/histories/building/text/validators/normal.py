"""Text as the validators compare it: plain words, numbers in digits, singular forms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from memgauge.grading.typed.words import ORDINALS, UNITS, word_list
from memgauge.grading.typed.words import TENS as CARDINAL_TENS

_WORD = re.compile(r"[a-z0-9]+")
_HYPHENATED = re.compile(r"[a-z]+(?:-[a-z]+)+")
_POSSESSIVE = re.compile(r"'s\b")
_UNIT = re.compile(r"(?<=\d)(?=(?:am|pm|st|nd|rd|th)\b)")

# Letters of other scripts that are drawn like Latin ones, in lower case.
_ALIKE = str.maketrans(
    "аеорсухіјѕԁһӏькмтвнαοριυνκτχεβ"
    "\u2018\u2019\u02bc\u2010\u2011\u2012\u2013\u2014\u2212\u2044",
    "aeopcyxijsdhlbkmtbhaopiuvktxeb" + "'''" + "-----" + "-/",
)  # fmt: skip
_ACCENTS = re.compile("[\u0300-\u036f]+")
_INVISIBLE = re.compile("[\u00ad\u034f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")

SMALL = UNITS | {word: number for word, number in ORDINALS.items() if number < 20}
"""Words for 0 to 19, also ordinals."""
TENS = CARDINAL_TENS | {"twentieth": 20, "thirtieth": 30}
GROUPS = {"dozen": 12, "couple": 2, "pair": 2, "trio": 3, "single": 1, "once": 1, "twice": 2, "both": 2, "double": 2}
"""Words that say a count without being a number."""
_SCALES = {"hundred": 100, "thousand": 1000}
_NUMBER_WORDS = frozenset(SMALL) | frozenset(TENS) | frozenset(_SCALES) | frozenset(GROUPS)
_MONTHS = word_list("january february march april may june july august september october november december")
MONTHS = {name: number for number, name in enumerate(_MONTHS, 1)}
_MONTH_FORMS = MONTHS | {name[:3]: n for name, n in MONTHS.items()} | {"sept": 9}
_SHORT_MONTHS = frozenset(_MONTH_FORMS) - frozenset(MONTHS)
_SUFFIXES = frozenset(("st", "nd", "rd", "th"))
_BREAKS = str.maketrans({c: " " for c in map(chr, range(128)) if not (c.isalpha() or c.isdigit())})
# Words that people put between the parts of a number, an amount, a time or a date.
_BETWEEN = frozenset(word_list("and dollar dollars buck bucks cent cents usd oh o of the hours euros euro"))


@lru_cache(maxsize=65536)
def singular(word: str) -> str:
    """Return a word without its plural ending, roughly: equal words get equal stems.

    >>> singular("cherries"), singular("boxes"), singular("glass"), singular("owls")
    ('cherry', 'box', 'glass', 'owl')
    """
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y" if len(word) > 4 else word[:-1]
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


def plain(text: str) -> str:
    """Return a text in lower case, without accents, look-alikes, invisible signs and 's."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold().translate(_ALIKE)
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    text = text.lower()
    return _POSSESSIVE.sub("", text).replace("'", "") if "'" in text else text


def words(text: str) -> list[str]:
    """Return the words of a text: singular, with numbers as digits.

    >>> words("The Owls' TWENTY-FIVE caf\u00e9s cost forty-eight fifty at 2:05pm.")
    ['the', 'owl', '25', 'cafe', 'cost', '48', '50', 'at', '2', '5', 'pm']
    """
    low = plain(text)
    digits = any(map(low.__contains__, "0123456789"))
    if digits:
        low = _UNIT.sub(" ", low)
    # Splitting a translated text is several times faster than matching words.
    found = low.translate(_BREAKS).split() if low.isascii() else _WORD.findall(low)
    if digits or not _NUMBER_WORDS.isdisjoint(found) or not _SHORT_MONTHS.isdisjoint(found):
        return _numbers(found)
    return list(map(singular, found))


def joined(text: str) -> list[str]:
    """Return the hyphenated words of a text as single words: "tea-pots" gives teapot."""
    return [singular(word.replace("-", "")) for word in _HYPHENATED.findall(plain(text))] if "-" in text else []


def _numbers(found: Sequence[str]) -> list[str]:
    """Put number words together, and drop leading zeros and what people say between the parts of a number."""
    result: list[str] = []
    index = 0
    after_number = False
    while index < len(found):
        word = found[index]
        if word.isdigit():
            # Longer digit strings are no amounts, days or minutes; they stay as they are.
            result.append(str(int(word)) if len(word) <= 15 else word)
        elif word in TENS and index + 1 < len(found) and 0 < SMALL.get(found[index + 1], 0) < 10:
            result.append(str(TENS[word] + SMALL[found[index + 1]]))
            index += 1
        elif word in TENS or word in SMALL:
            result.append(str(TENS.get(word, SMALL.get(word))))
        elif word in _SCALES and result and result[-1].isdigit() and after_number:
            result[-1] = str(int(result[-1]) * _SCALES[word])
        elif word in GROUPS:
            result.append(str(GROUPS[word]))
        elif after_number and (word in _SUFFIXES or (word in _BETWEEN and _number_follows(found, index))):
            index += 1
            continue
        else:
            result.append(_MONTHS[_MONTH_FORMS[word] - 1] if word in _MONTH_FORMS else singular(word))
        after_number = result[-1].isdigit()
        index += 1
    return result


def _number_follows(found: Sequence[str], index: int) -> bool:
    """Whether only filling words stand between here and the next number or month."""
    for word in found[index + 1 : index + 4]:
        if word not in _BETWEEN:
            return word.isdigit() or word in SMALL or word in TENS or word in _MONTH_FORMS
    return False


def occurrences(sequence: Sequence[str], tokens: Sequence[str]) -> int:
    """Count how often a sequence of words occurs in a text's words."""
    if len(sequence) == 1:
        return tokens.count(sequence[0])
    head, size, wanted = sequence[0], len(sequence), list(sequence)
    return sum(word == head and list(tokens[i : i + size]) == wanted for i, word in enumerate(tokens))


def unique(sequences: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Drop repeats and empty sequences, in order."""
    return tuple(dict.fromkeys(s for s in sequences if s))
