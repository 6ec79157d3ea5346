"""Rules that answer the text-bearing kinds of questions from a conversation whose pictures have been read.

They know how people ask and how dates and amounts are written, and nothing of how a question was made.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

from reader_server import sessions_of

from memgauge.grading.typed.dates import find_dates
from memgauge.histories.building.blueprints.wording import pairs

# What people call the same thing: (one word for it, another).
SYNONYMS = [
    (pair.said.lower(), pair.asked.lower()) for name in ("undertakings", "events", "projects") for pair in pairs(name)
]
COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
MONEY = re.compile(r"\$\s?(\d{1,3}(?:,\d{3})*|\d+)[.,\s](\d{2})(?!\d)")
BARE = re.compile(r"(?<![\d:/.])(\d{1,4})[.,](\d{2})(?![\d/.])")
PICTURE = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def answer(conversation: str, question: str) -> str | None:
    """The answer to a question, or None where nothing was found."""
    told = [(when, turn) for when, text in sessions_of(conversation) for turn in _turns(text)]
    person = re.search(r"([A-Z]\w+ [A-Z][\w'-]+?)'s", question)
    low = question.lower()
    # What is asked about goes by another name in the conversation.
    things = [said for said, asked in SYNONYMS if asked in low]
    about = [
        (when, turn)
        for when, turn in told
        if person and person[1] in turn and any(thing in turn.lower() for thing in things)
    ]
    if re.search(r"\b[ab]\. ", low) and re.search(r"longer|shorter", low):
        return _duration([(when, turn) for when, turn in told if person and person[1] in turn], question)
    if re.search(r"\bdate\b", low):
        return _date(about)
    if re.search(r"\bexpenses|money has gone|total (?:spending|expenditure|outlay)", low):
        return _sum(about)
    shown = [line for _, turn in about for part in PICTURE.findall(turn) for line in part.splitlines()]
    times = re.search(rf"\b({'|'.join(COUNTS)}) (?:portions )?of\b", low)
    if times and shown:
        return _product(shown, low, COUNTS[times[1]])
    return _said(shown, low)


def _turns(text: str) -> list[str]:
    return [part for part in re.split(r"^\[(?:User|Assistant)\]: ", text, flags=re.MULTILINE) if part.strip()]


def _cents(text: str) -> list[int]:
    return [int(m[1].replace(",", "")) * 100 + int(m[2]) for m in MONEY.finditer(text)] or [
        int(m[1]) * 100 + int(m[2]) for m in BARE.finditer(text)
    ]


def _dollars(cents: int) -> str:
    return f"${cents // 100}.{cents % 100:02d}"


def _product(shown: list[str], low: str, times: int) -> str | None:
    dish = re.search(r"portions of ([\w' -]+?) (?:cost|come to|at)\b", low)
    lines = [line for line in shown if dish is None or _alike(dish[1], line)]
    found = [cents for line in lines for cents in _cents(line)]
    return _dollars(times * found[0]) if found else None


def _alike(words: str, line: str) -> bool:
    plain = re.sub(r"[^a-z]", "", line.lower())
    return re.sub(r"[^a-z]", "", words.lower()) in plain


def _sum(about: list[tuple[str, str]]) -> str | None:
    total = 0
    for _, turn in about:
        spoken = MONEY.findall(PICTURE.sub("", turn))
        shown = PICTURE.findall(turn)
        if spoken:
            total += int(spoken[0][0]) * 100 + int(spoken[0][1])
        elif shown:
            lines = shown[0].splitlines()
            sums = [f"{a} {b}" for a, b in pairwise([*lines, ""]) if re.search(r"\btotal", a, re.IGNORECASE)]
            last = sums or lines
            found = [cents for line in last for cents in _cents(line)]
            total += max(found, default=0)
    return _dollars(total) if total else None


def _said(shown: list[str], low: str) -> str | None:
    text = "\n".join(shown)
    if re.search(r"\bdigits\b", low):
        found = re.findall(r"(?<!\d)\d{4}(?!\d)", re.sub(r"\d{1,2}:\d{2}|\$\d+[.,]\d{2}", " ", text))
        return found[0] if found else None
    if re.search(r"\btime\b|\bhour and minute\b", low):
        # A line that says something, and not the small print under it.
        said = [line for line in shown if len(re.findall(r"[A-Za-z]", line)) > 4]
        found = [t for line in said for t in re.findall(r"(?<![\d$])\d{1,2}:\d{2}", line)]
        return found[0] if found else None
    if re.search(r"how much|what amount|contribution|\bowe\b", low):
        found = _cents(text)
        return _dollars(found[0]) if found else None
    if re.search(r"degrees|temperature", low):
        found = re.findall(r"(-?\d{1,2})\s?[°oO*'\"]?\s?C?\b", re.sub(r"\d{4}|\d+[-/:]\d+", "", text))
        return found[0] if found else None
    lines = list(shown)
    # A number below its label belongs to it.
    lines += [
        f"{a} {b}" for a, b in pairwise(shown) if not re.search(r"\d", a) and re.fullmatch(r"\D{0,2}\d+\D{0,4}", b)
    ]
    rows = [(re.sub(r"[^a-z ]", "", line.lower()).strip(), re.findall(r"\d+", line)) for line in lines]
    rows = [row for row, line in zip(rows, lines, strict=True) if row[0] and row[1] and not line[:1].isdigit()]
    best = max(rows, key=lambda row: _overlap(row[0], low), default=None)
    return best[1][-1] if best and _overlap(best[0], low) else None


def _overlap(label: str, low: str) -> float:
    words = [word for word in label.split() if len(word) > 1]
    return sum(word in low or word.rstrip("s") in low for word in words) / max(1, len(words))


def _date(about: list[tuple[str, str]]) -> str | None:
    for _, turn in about:
        for part in PICTURE.findall(turn):
            day = seen_date(part)
            if day:
                return f"{day:%Y/%m/%d}"
    return None


def seen_date(text: str) -> date | None:
    """The first full date that a picture shows; of a calendar page the ringed day, which the reader marks by `(n)`."""
    page = re.search(r"([A-Z][a-z]{2,8})[a-z]*\s*,?\s*(20\d\d)", text)
    ringed = re.search(r"\(\((\d{1,2})\)\)", text)
    if page and ringed and page[1][:3].lower() in MONTHS:
        return date(int(page[2]), MONTHS.index(page[1][:3].lower()) + 1, int(ringed[1]))
    for line in [*text.splitlines(), text]:
        # Text readers leave blanks out and take O for 0.
        spaced = re.sub(r"(?<=\d)0ct", " Oct", line)
        spaced = re.sub(r"(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[A-Z][A-Za-z])|(?<=[a-zA-Z]20\d\d)(?=\d)", " ", spaced)
        spaced = re.sub(r"\b(20\d\d)(?=\d{1,2}:\d\d)", r"\1 ", spaced)
        found = _spoken(spaced.lower())
        if found is not None:
            return found
    return None


def _duration(told: list[tuple[str, str]], question: str) -> str | None:
    """Compare two spans: each begins on the day that its text names, or on its session's, and ends as pictured."""
    found = re.search(r"\bA\. (.+?)\. B\. (.+?)\.?$", question)
    if found is None:
        return None
    days: dict[str, int] = {}
    for when, turn in told:
        shown = PICTURE.findall(turn)
        text = PICTURE.sub("", turn).lower()
        named = [said for said, _ in SYNONYMS if said in text]
        if not shown or not named:
            continue
        begin = _spoken(text) or date(*map(int, when[:10].split("/")))
        end = seen_date(shown[0])
        if end is not None:
            days[max(named, key=len)] = (end - begin).days
    lengths = [
        next((days[said] for said, asked in SYNONYMS if said in days and asked in option.lower()), None)
        for option in found.groups()
    ]
    if None in lengths:
        return None
    first = lengths[0] > lengths[1]
    return "A" if first == ("longer" in question) else "B"


def _spoken(text: str) -> date | None:
    found = [next(iter(each.days)) for each in find_dates(text) if len(each.days) == 1]
    return found[0] if found else None
