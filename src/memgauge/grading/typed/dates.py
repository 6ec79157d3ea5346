"""Dates: a full date with one reading, in many ways of writing it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache

from memgauge.grading.typed.cues import TURNED_DOWN, by_cue, question_words, segments, sentences, stem
from memgauge.grading.typed.prepare import Prepared
from memgauge.grading.typed.reading import UNREADABLE, Reading, nothing, refused
from memgauge.grading.typed.refusal import refusal_in
from memgauge.grading.typed.words import CARDINAL, ORDINALS, bordered, cardinal

# English first: short forms are English only, since "mai" and "mars" are words elsewhere.
_MONTHS = """
january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct|\
november nov|december dec
januar jänner|februar|märz maerz|april|mai|juni|juli|august|september|oktober okt|november|dezember dez
janvier|février fevrier|mars|avril|mai|juin|juillet|août aout|septembre|octobre|novembre|décembre decembre
enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre setiembre|octubre|noviembre|diciembre
gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre
janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro
januari|februari|maart|april|mei|juni|juli|augustus augusti|september|oktober|november|december
января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря
stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|grudnia
"""


@cache
def _month_numbers() -> dict[str, int]:
    table: dict[str, int] = {}
    for line in _MONTHS.split("\n"):
        for number, names in enumerate(line.split("|"), 1):
            for name in names.split():
                table.setdefault(name, number)
    return table


@cache
def _pattern() -> re.Pattern[str]:
    month = "|".join(sorted(_month_numbers(), key=len, reverse=True))
    ordinal = "|".join(sorted((*ORDINALS, *(o.replace("-", " ") for o in ORDINALS if "-" in o)), key=len, reverse=True))
    day = rf"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|º|ª|\.)?|{ordinal}"
    year = r"(?:1[5-9]|2[01])\d\d|'\d\d"
    said = rf"(?:two thousand(?: and)?|nineteen|twenty)[ -](?:{CARDINAL})"
    begins = rf"(?=\d|{bordered(f'{month}|{ordinal}')})"  # so does every alternative: other places are passed over
    return re.compile(
        rf"{begins}(?:"
        r"(?<![\d./-])(?P<y1>\d{4})\s?(?P<s1>[-/._])\s?(?P<m1>\d{1,2})\s?(?P=s1)\s?(?P<d1>\d{1,2})(?![\d])(?![/-]\d)"
        r"|(?<![\d./-])(?P<a2>\d{1,2})\s?(?P<s2>[-/.])\s?(?P<b2>\d{1,2})\s?(?P=s2)\s?(?P<y2>\d{4}|\d\d)(?!\d)(?![/-]\d)"
        r"|(?P<y3>\d{4})\s?[年년]\s?(?P<m3>\d{1,2})\s?[月월]\s?(?P<d3>\d{1,2})(?:\s?[日号號일])?"
        r"|(?<![\d./-])(?P<y4>(?:19|20)\d\d)\s?(?P<m4>0[1-9]|1[0-2])\s?(?P<d4>[0-2]\d|3[01])(?:t\d{4,6}z?)?(?![\d])"
        rf"|\b(?P<d5>{day})(?!\d)\s?(?:day\s)?(?:of|de|di|-|/)?\s?(?P<m5>{month})(?![^\W\d_])\.?(?:,|\s?-"
        rf"|\s?/|\s(?:of|de|del|di|in|(?:in |of )?the year(?: of)?))?\s?(?P<y5>{year}|{said})(?!\d)"
        rf"|\b(?P<m6>{month})(?![^\W\d_])\.?[\s-]?(?:the\s)?(?P<d6>{day})(?!\d)\b,?\s?(?:[,/-]|(?:in "
        rf"|of )?the year\s(?:of\s)?|of\s"
        rf"|in\s)?\s?(?P<y6>{year}|{said})(?!\d)"
        rf"|\b(?P<y7>(?:1[5-9]|2[01])\d\d)(?:,|\s?-|\s?/)?\s?(?P<m7>{month})\b\.?[\s-]?(?:the\s)?(?P<d7>{day})(?!\d)"
        rf"|\b(?P<y8>(?:1[5-9]|2[01])\d\d)(?:,|\s?-|\s?/)?\s(?:the\s)?(?P<d8>{day})\s(?:of\s)?(?P<m8>{month})\b)"
    )


@dataclass(slots=True)
class Dated:
    """One full date in the text; `days` are its readings, `flaw` says why it is none that was committed to."""

    begin: int
    end: int
    days: frozenset[date]
    flaw: str | None = None


def find_dates(low: str) -> list[Dated]:
    """Return the full dates of a lower-case text in order.

    >>> [sorted(map(str, d.days)) for d in find_dates("on mon., the 15th of jan., 2024 (05/04/2024)")]
    [['2024-01-15'], ['2024-04-05', '2024-05-04']]
    """
    if not any(map(str.isdigit, low)) and "thousand" not in low and "twenty" not in low:
        return []
    found: list[Dated] = []
    for match in _pattern().finditer(low):
        days = _days(match)
        if days:
            found.append(Dated(match.start(), match.end(), days))
    for i, item in enumerate(found):
        left, right = low[max(0, item.begin - 40) : item.begin], low[item.end : item.end + 24]
        if _SECOND_DAY.search(left) or _SECOND_AFTER.match(right):
            item.flaw = "a range or two candidates"
        elif _BOUND.search(left) or _BOUND_AFTER.match(right):
            item.flaw = "a bound or an approximation"
        elif _REJECT.search(left):
            item.flaw = "rejected"
        if (i and _JOINED.fullmatch(low[found[i - 1].end : item.begin])) or (
            i and re.search(r"\bbetween\s\S{0,3}(?:the\s)?$", low[max(0, found[i - 1].begin - 14) : found[i - 1].begin])
        ):
            item.flaw = found[i - 1].flaw = "a range or two candidates"
    clear = {day for item in found if len(item.days) == 1 for day in item.days}
    for item in found:
        if len(item.days) == 2 and len(item.days & clear) == 1:  # another date in the text says which reading is meant
            item.days &= clear
    for match in re.finditer(r"\?", low) if found else ():
        for item in found:
            if item.end <= match.start() <= item.end + 40 and not re.search(r"[.!?;\n]", low[item.end : match.start()]):
                item.flaw = item.flaw or "questioned"
    return found


_SECOND_DAY = re.compile(
    r"(?<![\d/.-])(?<!session\s)(?<!photo\s)(?<!image\s)(?<!picture\s)(?<!chat\s)(?<!message\s)(?<!turn\s)(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\s?(?:-|/|,|or|and|to|until|through|&"
    r"|~)\s?(?:the\s)?$"
    r"|\b(?:jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*)\.?\s(?:3[01]"
    r"|[12]\d|0?[1-9])(?:st|nd|rd|th)?\s?(?:-|/|or|and|to)\s?$"
)
_SECOND_AFTER = re.compile(
    r"\s?(?:,?\sor\s(?:the\s)?(?:a day|\d|so\b|thereabouts|earlier|later|maybe|possibly)|\s?-\s?\d{1,2}\b(?!:)|\s?~)"
)
_BOUND = re.compile(
    r"(?:\b(?:before|after|by|until|till|since|around|about|approximately|approx\.?|roughly|circa|ca\.?"
    r"|prior to|no later than|not later than"
    r"|no earlier than|not before|not after|on or (?:before|after|around|about)|at or around|as early as"
    r"|as late as|near|close to|shortly (?:before|after)|sometime (?:in|around|between)|the week of"
    r"|week of"
    r"|early|late|mid|day (?:before|after)|days? (?:before|after)|weeks? (?:before|after)|following"
    r"|preceding|some time)|[~≈<>≤≥])"
    r"[\s-]{0,2}(?:the\s)?(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s(?:the\s)?)?$"
)
_BOUND_AFTER = re.compile(
    r"\s?,?\s?(?:or (?:so|thereabouts|earlier|later|around then|before|after)\b|\(?approx"
    r"|at the (?:latest|earliest)|\(?approximately|give or take|-?ish\b|at the (?:latest|earliest)"
    r"|\(?estimated)"
)
_REJECT = re.compile(
    r"\b(?:not|isn't|wasn't|rather than|instead of|as opposed to|neither|nor)\s(?:(?:on|the|in|be"
    r"|exactly)\s){0,2}(?:[a-z]{3,9}day,?\s)?$"
)
_JOINED = re.compile(
    r",?\s?\(?(?:or|-|to|~|/|until|till|through|thru|vs\.?|,? ?(?:or|maybe|perhaps|possibly) (?:on "
    r"|maybe |perhaps |possibly |even |the )?(?:the )?)\s?(?:on\s|the\s)?\(?"
)


@lru_cache(maxsize=16384)
def _make(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _days(match: re.Match[str]) -> frozenset[date]:
    """Return the readings of one match: two where the order of day and month is open."""
    number = (match.lastgroup or "d1")[-1]
    for key in "1234":
        if match[("a" if key == "2" else "y") + key]:
            number = key
            break
    if number == "2":
        first, second = int(match["a2"]), int(match["b2"])
        year = int(match["y2"]) if len(match["y2"]) == 4 else 2000 + int(match["y2"])
        pairs = [(second, first)] if match["s2"] == "." else [(second, first), (first, second)]
        if len(match["y2"]) == 2 and match["s2"] == "." and not _make(year, *pairs[0]):
            return frozenset()
        return frozenset(d for m, day in pairs if (d := _make(year, m, day)) is not None)
    if number in "134":
        found = _make(*(int(match[part + number]) for part in "ymd"))
        return frozenset() if found is None else frozenset({found})
    number = next(k for k in "5678" if match["m" + k])
    said, of, numbered = _day(match["d" + number]), _month_numbers()[match["m" + number]], _year(match["y" + number])
    made = None if said is None or numbered is None else _make(numbered, of, said)
    return frozenset() if made is None else frozenset({made})


def _day(text: str) -> int | None:
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else ORDINALS.get(text, ORDINALS.get(text.replace(" ", "-")))


def _year(text: str) -> int | None:
    if text.isdigit():
        return int(text)
    if text.startswith("'"):
        return 2000 + int(text[1:])
    for head, base in (("two thousand and ", 2000), ("two thousand ", 2000), ("nineteen", 1900), ("twenty", 2000)):
        if text.startswith(head):
            rest = cardinal(text[len(head) :].strip(" -"))
            return None if rest is None or not 0 < rest < 100 else base + int(rest)
    return None


_SYNONYMS = {
    word: root
    for root, words in {
        "finish": "end complete completion conclude done completed complet conclud ended finish graduat graduate",
        "start": "begin began begun commence commenc",
        "purchase": "buy bought purchas",
        "meet": "met",
        "go": "went",
        "sell": "sold",
        "move": "mov",
        "arrive": "arriv",
        "get": "got received receiv",
        "leave": "left",
        "take": "took",
        "visit": "visited",
        "see": "saw",
        "sign": "signed",
        "adopt": "adopt",
        "send": "sent",
        "join": "join",
        "marry": "married wedding",
        "birth": "born birthday",
    }.items()
    for word in words.split()
}
"""Words of events by one name each, so that "completed" answers "finish"."""


def _root(word: str) -> str:
    found = stem(word)
    return _SYNONYMS.get(word, _SYNONYMS.get(found, found[:-1] if found.endswith("e") and len(found) > 4 else found))


@lru_cache(maxsize=4096)
def _asked(question: str) -> frozenset[str]:
    return frozenset(_root(word) for word in question_words(question))


@lru_cache(maxsize=4096)
def _reference_days(reference: str) -> frozenset[date] | None:
    """Return the one day that a reference is, None where it is no date or has two readings."""
    gold = find_dates(reference.strip().lower())
    return gold[0].days if len(gold) == 1 and len(gold[0].days) == 1 else None


def read_date(prepared: Prepared, question: str, reference: str) -> Reading:
    """Read the date that a text commits to; a date that is partial or has two readings is none."""
    gold = _reference_days(reference)
    if gold is None:
        return UNREADABLE
    low = prepared.low
    found = find_dates(low)
    if found and all(d.flaw == "questioned" for d in found) and not TURNED_DOWN.search(low, found[-1].end):
        found[-1].flaw = None  # "maybe 2024/01/15?" is a hedged answer when nothing else is said
    dates = [d for d in found if d.flaw not in ("rejected", "questioned")]
    stops = sentences(low)
    for part in reversed(segments(low)):
        inside = [d for d in dates if part[0] <= d.begin < part[1]]
        if not inside:
            gone = refusal_in(low, *part)
            if gone is not None:
                return refused(gone)
            if _PARTIAL.search(low, *part):
                return nothing("a part of a date", part)
            continue
        led = by_cue(prepared, inside, part, stops)
        if led is not None:
            chosen, rule = next((d for d in led.mentions if d.flaw is None), led.mentions[0]), led.rule
            asked, why = _pick(low, list(led.mentions), question)
            if why == "the date of what is asked" or re.search(
                r"=\s?$|\b(?:now|but)\s\S{0,4}$", low[asked.begin - 8 : asked.begin]
            ):
                chosen = asked
        else:
            chosen, rule = _pick(low, inside, question)
        after = refusal_in(low, chosen.end, part[1]) if led is None else None
        if after is not None and not re.search(r"\b(?:though|although|even if|while)\b", low[chosen.end : after[0]]):
            return refused(after)
        span = (chosen.begin, chosen.end)
        if chosen.flaw:
            return nothing(chosen.flaw, span)
        if len(chosen.days) != 1:
            return nothing("a date with two readings", span)
        return Reading("committed", chosen.days == gold, rule, span)
    gone = refusal_in(low, broad=True)
    return refused(gone) if gone else nothing("no full date")


_PARTIAL = re.compile(
    r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|\b\d{1,2}[/-]\d{1,4}\b|\b(?:19|20)\d\d\b"
)


def _pick(low: str, inside: list[Dated], question: str) -> tuple[Dated, str]:
    """Choose the date: the only one, the one said beside the words of the question, else the last without a flaw."""
    sound = [d for d in inside if d.flaw is None] or inside
    if len({d.days for d in sound}) == 1:
        return sound[-1], "the only date"
    asked = _asked(question)
    scores = []
    before = 0
    for i, item in enumerate(sound):
        begin = max(
            before, *(low.rfind(mark, before, item.begin) for mark in (".", ";", "\n", ",", " and ", " but ")), 0
        )
        end = sound[i + 1].begin if i + 1 < len(sound) else len(low)
        tail = re.search(r"[.;,\n]| and | but ", low[item.end : end])
        stop = item.end + tail.start() if tail else end
        words = {_root(w) for w in re.findall(r"[^\W\d_]+", low[begin : item.begin] + " " + low[item.end : stop])}
        scores.append(len(words & asked))
        before = item.end
    best = max(scores)
    if best and scores.count(best) == 1:
        return sound[scores.index(best)], "the date of what is asked"
    aside = [d for d in sound if low.rfind("(", 0, d.begin) > low.rfind(")", 0, d.begin)]
    if len({d.days for d in sound if d not in aside}) == 1:
        return next(d for d in sound if d not in aside), "the date outside the brackets"
    return sound[-1], "last date"
