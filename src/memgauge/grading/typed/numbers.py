"""Numbers in prose: where they stand, what they are worth, and in what sense they are meant.

Values are exact fractions made from decimals. A mention is flagged when it is no plain value: one end of a range, a
bound, an approximation, a label, a rejected or a questioned number.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache

from memgauge.grading.typed.units import Unit, unit_names
from memgauge.grading.typed.words import (
    CARDINAL,
    GROUPS,
    PARTS,
    SCALES,
    TENS,
    TIMES,
    UNITS,
    bordered,
    cardinal,
    decimal,
    word_list,
)

_MAX_DIGITS = 40
_FIRST_WORDS = "|".join((*UNITS, *TENS, *SCALES))
_FIRST_GROUPS = word_list("half dozen couple pair trio once twice thrice none nothing nil never")
_DIGIT_WORDS = "|".join(word for word, value in UNITS.items() if value < 10)
_VULGAR = {
    "½": (1, 2),
    "⅓": (1, 3),
    "⅔": (2, 3),
    "¼": (1, 4),
    "¾": (3, 4),
    "⅕": (1, 5),
    "⅖": (2, 5),
    "⅗": (3, 5),
    "⅘": (4, 5),
}
_VULGAR |= {"⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8)}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)"
)
# Small numbers in other languages, read where they are the whole answer.
_FOREIGN = {
    word: number
    for line in (
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici",
        "zero um dois três quatro cinco seis sete oito nove dez onze doze",
        "nul een twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
        "零 一 二 三 四 五 六 七 八 九 十 十一 十二",
    )
    for number, word in enumerate(line.split())
}
_CIRCLED = {chr(0x2460 + i): i + 1 for i in range(20)} | {chr(0x2776 + i): i + 1 for i in range(10)}


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    prefixes = sorted((n for n, us in unit_names().items() if us[0].is_money and len(n) <= 4), key=len, reverse=True)
    signs, codes = [p for p in prefixes if not p[0].isalpha()], [p for p in prefixes if p[0].isalpha()]
    letters = "".join(sorted({code[0] for code in codes}))
    prefix = (
        rf"{'|'.join(map(re.escape, signs))}"
        rf"|(?=[{letters}])(?<![^\W\d_])(?:{'|'.join(map(re.escape, codes))})(?=\s?-?[\d.{''.join(_VULGAR)}])"
    )
    vulgar = "".join(_VULGAR)
    digits = (
        r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,]*\d)|\d{1,3}(?:\.\d{3})+(?:,\d+)(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?!\d)"
        r"|\d{1,3}(?:'\d{3})+(?:[.,]\d+)?(?!\d)|\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?(?![\d,.]*\d)"
        r"|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?!\d)"
        r"|\d+(?:[.,]\d+)?|\.\d+"
    )
    # What any alternative below can begin with: all other places are passed over at once.
    start = (
        rf"(?=[-+\d{''.join(map(re.escape, signs))}]|\.\d|[^\x00-\x7f]|\s[{vulgar}]"
        rf"|(?<![^\W\d_])(?:{_MONTH}|(?:in|since|during|until|year|late|early|mid-?)\s?[12]|(?:of|by|from|to)\s[12]"
        rf"|minus|negative|(?:{'|'.join(map(re.escape, codes))})(?=\s?-?[\d.{vulgar}])"
        rf"|an?[\s-]|{_FIRST_WORDS}|{'|'.join(_FIRST_GROUPS)}"
        r"|[^\W\d_]+[-_]?\d))"
    )
    number = re.compile(
        rf"{start}(?:(?P<date>\b\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}\b(?:t\d[\d:.z+-]{{0,20}})?"
        rf"|\b\d{{1,2}}([-/.])\d{{1,2}}\3(?:\d{{4}}|\d\d)\b"
        rf"|\b(?:\d{{1,2}}(?:st|nd|rd|th)?\.?,?\s(?:of\s)?)?{_MONTH}\b\.?,?\s(?:the\s)?(?:\d{{1,2}}(?:st"
        rf"|nd|rd|th)?\b(?:,?\s(?:19|20)\d\d\b)?|(?:19|20)\d\d\b)"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s(?:of\s)?{_MONTH}\b(?!\s(?:i|we|you|be|have)\b)"
        rf"|\d{{4}}年(?:\d{{1,2}}月)?(?:\d{{1,2}}日)?"
        rf"|\b(?:in|since|during|until|year|late|early|mid|mid-)\s?(?:19|20)\d\d\b(?!\s?[%$€£]|,\d)"
        rf"|\b(?:of|by|from|to)\s(?:19|20)\d\d\b(?!\s?[%$€£a-z]|,\d)"
        rf"|\b\d{{1,2}}:\d\d(?::\d\d)?\b(?:\s?[ap]\.?m\b\.?)?|\b\d{{1,2}}\s?[ap]\.?m\b\.?)"
        r"|(?<![\w.,:])(?P<hours>\d{1,3})\s?h\s?(?P<minutes>[0-5]?\d)(?:m(?:in)?)?(?![\w%]|[.,:]\d|\s?min)"
        rf"|(?P<code>\b(?=[^\W\d_]+[-_]?\d)(?!(?:{prefix}|x)\d)[^\W\d_]+[-_]?\d[\w-]*)"
        rf"|(?P<sign>(?<![\w)\].,$€£¥%])(?<![\d)a-z%]\s)[-+](?=[\d.$€£¥])|(?<=\bis\s)-(?=[\d.$€£¥])"
        rf"|(?<![\w)]\s)\b(?:minus"
        rf"|negative)\s)?(?P<prefix>(?:{prefix})\s?)?(?P<sign2>-)?"
        rf"(?:(?P<mixed>\d{{1,6}})(?:\s|-|\s?(?:and|&)\s)(?P<mn>\d{{1,6}})/(?P<md>\d{{1,6}})(?![\d/])"
        rf"|(?P<fn>\d{{1,20}})\s?/\s?(?P<fd>\d{{1,20}})(?![\d/])"
        rf"|(?P<whole>\d{{1,9}})?\s?(?P<vulgar>[{vulgar}])|(?P<digits>{digits})|(?P<circled>[{''.join(_CIRCLED)}]))"
        r"|\b(?P<half>(?:a\s|one\s)?half\s(?:a\s|an\s)?(?P<halfof>dozen|hundred|thousand|million)"
        r"|(?:a\s)?(?:dozen|couple|pair|trio)(?=\b(?!\sof\s(?:times\sa|weeks\sago))))\b"
        rf"|\b(?P<part>(?P<partn>{CARDINAL}|an?)[\s-](?P<partd>half|halves|thirds?|quarters?"
        rf"|fifths?|sixths?|eighths?|tenths?)(?!\s(?:game|lamp|photo|session|time|party|one))"
        r"|(?P<bare>half|a quarter|a third))\b"
        r"|\b(?P<single>an?)(?=\s(?:minute|hour|day|week|month|year)\sand\b)"
        rf"|\b(?P<words>{CARDINAL})\b(?:\sand\s(?P<andpart>(?:a|one)\shalf|(?:a|one)\squarter"
        rf"|three[\s-]quarters|a\sthird)|\spoint(?P<point>(?:\s(?:{_DIGIT_WORDS})\b){{1,6}}))?"
        r"|\b(?P<times>once|twice|thrice)\b|\b(?P<none>none|nothing|nil|never)\b)"
    )
    units = sorted(unit_names(), key=len, reverse=True)
    suffix = re.compile(
        r"(?:(?P<half>\s?(?:and|&)\s(?:a|one)[\s-]half))?(?:\s?(?P<scale>k|thousand|tsd|hundred|mn|mil"
        r"|mio|million|millions|bn|billion|trillion|lakh|lakhs|crore|dozen|m)(?![\w²]))?"
        r"(?P<ordinal>(?:st|nd|rd|th)\b)?"
        rf"(?:[\s-]?\s?(?P<unit>{'|'.join(re.escape(u) + chr(92) + 'b' for u in units if u[-1].isalnum())})"
        rf"|\s?(?P<symbol>{'|'.join(re.escape(u) for u in units if not u[-1].isalnum())})(?!\s?\d))?"
    )
    return number, suffix


@cache
def _hint() -> re.Pattern[str]:
    words = "|".join((_FIRST_WORDS, r"an? (?=\w{3,6} and)", *_FIRST_GROUPS, "quarter", "third"))
    return re.compile(rf"[\d{''.join(_VULGAR)}{''.join(_CIRCLED)}]|\b(?:{words})\b")


_SCALES = {
    "k": 1000,
    "thousand": 1000,
    "tsd": 1000,
    "hundred": 100,
    "dozen": 12,
    "lakh": 10**5,
    "lakhs": 10**5,
    "crore": 10**7,
}
_SCALES |= dict.fromkeys(("mn", "mil", "mio", "million", "millions", "m"), 10**6) | {
    "bn": 10**9,
    "billion": 10**9,
    "trillion": 10**12,
}

_TOLD = word_list("told_me told_us told_you told talked talking mentioned asked spoke spoken chatted know heard wrote")
_TOLD += word_list("posted learned")
_BEFORE = re.compile(
    # What any alternative below can begin with: all other places are passed over at once.
    r"(?:^|\b(?=\w)|(?=[^\w ]|\d|\sout))(?:"
    r"(?P<bound>\b(?:at least|at most|(?:no|not) (?:more|fewer|less) than|more than|less than|fewer than"
    r"|greater than|over|under|above|below"
    r"|up to(?<!adds up to)(?<!add up to)(?<!adding up to)(?<!added up to)(?<!comes up to)(?<!sums up to)"
    r"|nearly|almost|close to|approximately"
    r"|approx\.?|around|roughly|circa|ca\.?|upwards? of"
    r"|in the (?:range|region|neighbou?rhood) of"
    r"|a (?:little|bit) (?:over|under)|just (?:over|under|shy of)|well over|exceed(?:s|ing)|minimum of"
    r"|maximum of|minimum|maximum|somewhere near"
    rf"|about{''.join(f'(?<!{verb} about)' for verb in _TOLD).replace('_', ' ')}"
    r"|ungefähr|etwa|circa|environ|presque|alrededor de|aproximadamente|mindestens|höchstens|au moins|al menos)"
    r"|[~≈<>≤≥](?<![=-].)=?|±)\s{0,2}$"
    r"|(?P<reject>\b(?:(?:down|up|reduced|increased|raised|lowered) from|previously|originally|formerly"
    r"|used to be|(?:(?:first|initially|originally|previously|earlier|mis)\s?(?:counted|thought|said|guessed|assumed"
    r"|wrote|answered))|not|isn't|aren't|wasn't|rather than|instead of|as opposed to|excluding|except|without"
    r"|minus the|n't (?:count(?:ing)?|own|have|be))"
    r"(?:\s(?:just|only|be|the|a|the full|as|these|those|all|really|exactly|have))?)\s$"
    r"|(?P<label>(?:\b(?:session|sessions|photo|picture|image|turn|step|item|number|no\.|game|lamp|day"
    r"|week|chapter|page|room|apartment|option|duration|part|question|"
    r"case|event|conversation|chat|version|level|row|line|table|figure|chapter|note|figures?|message|trip"
    r"|visit|receipt|lesson|round|stage|phase|grade|gate|platform|bus|route|"
    r"route|flight|size|highway|unit|suite|floor|type|model)\s|#)\(?)$"
    r"|(?P<among>(?:^|[.!?;:,\n\"'(])[\s\"']{0,4}(?:out\s)?of\s(?:(?:the|your|my|these|those|all|a total of)\s){0,2})$"
    r"|(?P<outof>\d\s?(?:out\s)?of\s(?:the|your|these|those|all|my)?\s?|\b(?:none|all|one|two|three|four"
    r"|five|six|seven|eight|nine|ten)\s(?:out\s)?of\s(?:the|your|these|those|all|my)?\s?"
    r"|(?<=\w)\sout\sof\s(?:the|your|these|those|all|my)?\s?)$)"
)
# What a match of `_BEFORE` ends with, blanks, points and brackets apart: a sign, or one of these words.
_LAST_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?=[\s.(]{0,4}\Z)|[~≈<>≤≥=±#][\s(]{0,3}\Z")
_LAST_WORDS = frozenset(
    word_list(
        "least most than over under above below to nearly almost approximately approx around roughly circa ca of near "
        "exceeds exceeding minimum maximum about ungefähr etwa environ presque de aproximadamente mindestens höchstens "
        "moins menos "
        "from previously originally formerly be counted thought said guessed assumed wrote answered not t rather "
        "excluding except without the count counting own have just only a full as these those all really exactly "
        "session sessions photo picture image turn step item number no game lamp day week chapter page room apartment "
        "option duration part question case event conversation chat version level row line table figure note figures "
        "message trip visit receipt lesson round stage phase grade gate platform bus route flight size highway unit "
        "suite floor type model your my"
    )
)
_AFTER = re.compile(
    r"\s?(?:\+(?!\s?[\d$€£¥])|or (?:so|more|less|fewer|thereabouts|higher|lower|above|over|under)\b"
    r"|-?ish\b|and (?:change|up|counting)\b|at (?:least|most)\b|plus(?=[\s.,!]*$)"
    r"|approximately\b|minimum\b|maximum\b|max\b|min\b(?!\w)|give or take\b|odd\b|approx|(?:as"
    r"|at) an? (?:estimate|minimum|maximum))"
)
_WRONG = re.compile(
    r"[\"')]?\s(?:is|was|would be)\s(?:wrong|incorrect|false|a mistake|an error|mistaken|not (?:right"
    r"|correct|it|the answer))\b"
)
_BETWEEN = re.compile(
    r"\s?(?:[.…]{1,3}\s?)?(?:-|to|~|or|/|\((?:maybe|perhaps|possibly)|,? ?(?:or|maybe|perhaps"
    r"|possibly)(?: (?:even|maybe|perhaps"
    r"|possibly))?|up to|through|till|vs\.?|versus|\(or)\s?\(?"
)
_OPERATOR_AFTER = re.compile(
    r"\s{0,3}(?:\)\s?)?(?:[+×*÷]|-(?=\s)|x(?=\s)|plus\b|minus\b|times\b)\s{0,3}(?:[a-z]{3}\s?)?(?=[\d$€£¥(])"
)
_OPERATOR_BEFORE = re.compile(
    rf"(?:\+|×|\*|÷|-(?<=\s-)\s|{bordered('plus|minus|times')})\s{{0,3}}\(?\s?(?:[a-z]{{3}}\s?|[$€£¥])?$"
)
_BULLET = re.compile(r"(?:^|\n)\s{0,8}[*•-]\s{1,4}$|[a-z]{3}\s-\s$")
_SENTENCE_STOP = re.compile(r"[.!?\n;](?!\d)")
_WEAK_ONE_AFTER = re.compile(r"\s(?:of|by|day|another|thing|that|which|who|is|was|more)\b")
_WEAK_ONE_BEFORE = re.compile(
    r"\b(?:the|this|that|which|each|every|any|no|another|other|same|last|first|second|third|next|new|old"
    r"|former|latter|good|only the|wrong|right|my|your"
    r"|lobby|big|small|red|blue|green)\s$"
)


@dataclass(slots=True)
class Number:
    """One number as it stands in the text."""

    begin: int
    end: int
    values: tuple[Fraction, ...]
    """Its readings: two for "1.500", which may be one and a half or fifteen hundred."""
    units: tuple[Unit, ...] = ()
    kind: str = "plain"
    """`plain`, `weak` ("one" as a pronoun), `zero` ("none"), `label`, `ordinal`, `outof`, `operand`."""
    flaw: str | None = None
    """`range`, `bound`, `rejected`, `questioned`: why it is no committed value."""
    parts: list[tuple[Fraction, tuple[Unit, ...]]] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """Whether it can be an answer at all, committed to or not."""
        return self.kind not in ("label", "ordinal", "outof", "operand") and self.flaw not in ("rejected", "questioned")


def find_numbers(low: str) -> list[Number]:
    """Return the numbers of a lower-case text in order; dates, times and codes such as "sm-2000" are none.

    >>> [(str(n.values[0]), n.flaw) for n in find_numbers("as of march 2024: 3 1/2 cups, not 4; about $1,250.50")]
    [('7/2', None), ('4', 'rejected'), ('2501/2', 'bound')]
    """
    number, suffix = _patterns()
    found: list[Number] = []
    at = 0
    # The big pattern is tried only around what can begin a number; what it needs on the left is at most a short word.
    while (hint := _hint().search(low, at)) is not None:
        match = number.search(low, max(at, hint.start() - 12))
        if match is None:
            break
        at = match.end()
        if match["date"] or match["code"]:
            continue
        item, at = _read(match, low, suffix)
        if item is not None:
            found.append(item)
    if not found:
        word = low.strip(" .!\n\"'")
        if word in _FOREIGN:
            begin = low.index(word)
            return [Number(begin, begin + len(word), (Fraction(_FOREIGN[word]),))]
    _flag(low, found)
    return _join_units(low, found)


def _read(match: re.Match[str], low: str, suffix: re.Pattern[str]) -> tuple[Number | None, int]:
    kind = "plain"
    end = match.end()
    if match["none"]:
        return Number(match.start(), end, (Fraction(0),), kind="zero"), end
    if match["hours"]:
        value = int(match["hours"]) + Fraction(int(match["minutes"]), 60)
        return Number(match.start(), end, (value,), unit_names()["h"]), end
    if match["single"]:
        value, pair = Fraction(1), re.compile(r"\s([a-z]+)(\sand\sa\shalf\b)?").match(low, end)
        assert pair is not None  # the pattern looked ahead
        value += Fraction(1, 2) if pair[2] else 0
        return Number(match.start(), pair.end(), (value,), unit_names()[pair[1]]), pair.end()
    if match["times"]:
        return Number(match.start(), end, (Fraction(TIMES[match["times"]]),)), end
    values = _values(match)
    if values is None:
        return None, end
    tail = suffix.match(low, end)
    assert tail is not None  # every part of the pattern is optional
    if match["words"] == "one" and (
        _WEAK_ONE_AFTER.match(low, end) or _WEAK_ONE_BEFORE.search(low, max(0, match.start() - 12), match.start())
    ):
        kind = "weak"
    units: tuple[Unit, ...] = ()
    if match["prefix"]:
        units = unit_names()[match["prefix"].strip()]
    scale = tail["scale"]
    if scale == "m" and not units and not (tail["unit"] and unit_names()[tail["unit"]][0].is_money):
        scale = None
        bare = re.compile(r"\s?m\b").match(low, end)
        if bare is not None and not tail["unit"]:
            return Number(match.start(), bare.end(), values, unit_names()["m"], kind), bare.end()
    if tail["half"]:
        values = tuple(v + _half_of(match) for v in values)
    if scale:
        values = tuple(v * _SCALES[scale] for v in values)
    if tail["ordinal"] and not match["words"]:
        kind = "ordinal"
    name = tail["unit"] or tail["symbol"]
    if name and kind != "ordinal":
        after = unit_names()[name]
        if not units or (after[0].is_money and _compatible(units, after)):
            units = tuple(u for u in units if u in after) or after
            end = tail.end()
        elif after[0].is_money:
            units, end = after, tail.end()
    if end == match.end():
        end = max(end, tail.end("scale"), tail.end("half"), tail.end("ordinal"))
    more = _AND_A_HALF.match(low, end) if units else None
    if more is not None:
        values, end = tuple(v + _half_of(match) for v in values), more.end()
    if (match["sign"] and match["sign"].strip() != "+") or match["sign2"]:
        values = tuple(-v for v in values)
    return Number(match.start(), end, values, units, kind), end


_AND_A_HALF = re.compile(r"\sand\s(?:a|one)\shalf\b(?!\s(?!hours?\b|dozen\b)[a-z])")


def _half_of(match: re.Match[str]) -> Fraction:
    """Return what "and a half" adds: half a dozen to a dozen, else a half."""
    return Fraction(6) if match["half"] and match["half"].endswith("dozen") else Fraction(1, 2)


def _compatible(a: tuple[Unit, ...], b: tuple[Unit, ...]) -> bool:
    return bool({u.dimension for u in a} & {u.dimension for u in b})


def _values(match: re.Match[str]) -> tuple[Fraction, ...] | None:
    if match["digits"]:
        return read_digits(match["digits"]) if len(match["digits"]) <= _MAX_DIGITS else None
    if match["mixed"]:
        return (int(match["mixed"]) + Fraction(int(match["mn"]), int(match["md"])),) if int(match["md"]) else None
    if match["fn"]:
        return (Fraction(int(match["fn"]), int(match["fd"])),) if int(match["fd"]) else None
    if match["vulgar"]:
        return (int(match["whole"] or 0) + Fraction(*_VULGAR[match["vulgar"]]),)
    if match["circled"]:
        return (Fraction(_CIRCLED[match["circled"]]),)
    if match["half"]:
        if match["halfof"]:
            return (Fraction({"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6}[match["halfof"]], 2),)
        return (Fraction(GROUPS[match["half"].split()[-1]]),)
    if match["part"]:
        if match["bare"]:
            return (Fraction(1, PARTS[match["bare"].split()[-1]]),)
        count = Fraction(1) if match["partn"] in ("a", "an") else cardinal(match["partn"])
        return None if count is None else (count / PARTS[match["partd"]],)
    if match["words"]:
        value = cardinal(match["words"])
        if value is not None and match["andpart"]:
            words = re.split(r"[\s-]", match["andpart"])
            value += Fraction(3 if words[0] == "three" else 1, PARTS[words[-1]])
        if value is not None and match["point"]:
            value += decimal("0." + "".join(str(UNITS[word]) for word in match["point"].split()))
        return None if value is None else (value,)
    return None


@lru_cache(maxsize=8192)
def read_digits(text: str) -> tuple[Fraction, ...]:
    """Read digits with separators: every reading that a careful reader may have.

    A point or comma before exactly three digits separates thousands, or, for a point, decimals too.

    >>> [[str(value) for value in read_digits(text)] for text in ("1.500,25", "1,5", "1.500")]
    [['6001/4'], ['3/2'], ['3/2', '1500']]
    """
    plain = text.replace("'", "").replace(" ", "")
    commas, points = plain.count(","), plain.count(".")
    if commas and points:
        if plain.rindex(",") > plain.rindex("."):
            return (decimal(plain.replace(".", "").replace(",", ".")),)
        return (decimal(plain.replace(",", "")),)
    if commas > 1 or points > 1:
        return (decimal(plain.replace(",", "").replace(".", "")),)
    head, _, tail = plain.replace(",", ".").partition(".")
    thousands = len(tail) == 3 and 1 <= len(head) <= 3 and head.lstrip("0") == head and head != ""
    if commas:
        return (decimal(head + tail if thousands else f"{head}.{tail}"),)
    if points and thousands:
        return decimal(f"{head}.{tail}"), decimal(head + tail)
    return (decimal(plain if not plain.startswith(".") else "0" + plain),)


_LIST = re.compile(r"\n\s{0,8}(?:[-*•]\s)?\(?(\d{1,2})[.)]\s+(?=\S)")
_INLINE = re.compile(r"\((\d{1,2})\)(?:\s(?=[a-z])|(?<=[a-z]\s\(\d\))(?=,|\s?$))|(?<![\w.,$€£¥])(\d{1,2})\)\s(?=[a-z])")


def _flag(low: str, found: list[Number]) -> None:
    """Say of each number in what sense it is meant."""
    labels = _list_labels(low)
    for i, item in enumerate(found):
        before = _before(low, item.begin)
        if item.begin in labels:
            item.kind = "label"
            continue
        if before is not None:
            if before["bound"]:
                item.flaw = "bound"
            elif before["reject"]:
                item.flaw = "rejected"
            elif before["label"] and not item.units and item.kind == "plain":
                item.kind = "label"
            elif before["outof"] or before["among"] is not None:
                item.kind = "outof"
        if _WRONG.match(low, item.end):
            item.flaw = "rejected"
        if _AFTER.match(low, item.end):
            item.flaw = item.flaw or "bound"
        if low[item.end : item.end + 12].lstrip(" .)*\"'").startswith("?") or _asked(low, item):
            item.flaw = "questioned"
        if item.kind == "plain" and (_OPERATOR_AFTER.match(low, item.end) or _operated(low, item.begin)):
            item.kind = "operand"
        if i and _ranged(low, found[i - 1], item):
            item.flaw = found[i - 1].flaw = "range"


def _before(low: str, at: int) -> re.Match[str] | None:
    """Return what is said right before a number of the sense in which it is meant."""
    last = _LAST_WORD.search(low, max(0, at - 24), at)
    if last is None or (last[0] not in _LAST_WORDS and last[0][0].isalpha()):
        return None
    return _BEFORE.search(low[max(0, at - 42) : at])


def _operated(low: str, at: int) -> bool:
    """Say whether an operator stands before a number; what `_OPERATOR_BEFORE` matches is at most 15 characters long."""
    if _OPERATOR_BEFORE.search(low, max(0, at - 16), at) is None:
        return False
    return _BULLET.search(low[max(0, at - 42) : at]) is None


def _asked(low: str, item: Number) -> bool:
    """Say whether the sentence that holds the number is a question."""
    stop = _SENTENCE_STOP.search(low, item.end, item.end + 160)
    return stop is not None and stop[0] == "?"


def _ranged(low: str, first: Number, second: Number) -> bool:
    gap = low[first.end : second.begin]
    if len(gap) > 24 or not first.usable or not second.usable:
        return False
    if second.values[0] < 0 and not gap.strip():  # "2 -4", "$225-$245" lexed with a sign
        return True
    if _BETWEEN.fullmatch(gap):
        return True
    # "between 2 and 3", "either 3 or maybe 4", "from 2 up to 4"
    left = low[max(0, first.begin - 12) : first.begin]
    return bool(re.search(r"\bbetween\s\S{0,3}$", left)) and bool(re.fullmatch(r"\s?(?:[\w$€£]{0,12}\s)?and\s?", gap))


def _list_labels(low: str) -> set[int]:
    """Return where the numbers of an enumeration stand: "1. ... 2. ..." at line starts, "(1) ... (2) ..." in a line."""
    labels: set[int] = set()
    # Two marks make an enumeration: two lines, or two brackets.
    for pattern in ([_LIST] if "\n" in low else []) + ([_INLINE] if ")" in low else []):
        marks = [(m.start(m.lastindex or 1) - 1, int(m[m.lastindex or 1])) for m in pattern.finditer(f"\n{low}")]
        for (a, x), (b, y) in itertools.pairwise(marks):
            if y == x + 1:
                labels |= {a, b}
    return labels


def _join_units(low: str, found: list[Number]) -> list[Number]:
    """Join "3 hours 30 minutes" and "12 dollars and 50 cents" into one number."""
    joined: list[Number] = []
    for item in found:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.units
            and item.units
            and not item.flaw
            and re.fullmatch(r",?\s?(?:and\s|&\s)?", low[last.end : item.begin])
        ):
            unit = next(
                ((a, b) for a in last.units for b in item.units if a.dimension == b.dimension and b.factor < a.factor),
                None,
            )
            if unit is not None and 0 <= item.values[0] * unit[1].factor < unit[0].factor:
                extra = item.values[0] * unit[1].factor / unit[0].factor
                last.values, last.units, last.end = tuple(v + extra for v in last.values), (unit[0],), item.end
                continue
        joined.append(item)
    return joined
