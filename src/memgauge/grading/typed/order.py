"""An order of events: indices or labels as a tuple, a list, a chain of "then", or the events' own names."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cache, lru_cache

from memgauge.grading.typed.cues import STOP_WORDS, explicit_ends, segments, stem
from memgauge.grading.typed.numbers import _MONTH
from memgauge.grading.typed.prepare import Prepared, Span
from memgauge.grading.typed.reading import UNREADABLE, Reading, nothing, refused
from memgauge.grading.typed.refusal import refusal_in
from memgauge.grading.typed.words import ORDINALS, UNITS

Order = tuple[str, ...]

_NOISE = re.compile(
    # What any alternative below can begin with: all other places are passed over at once.
    rf"(?:(?=\d)|\b(?=[jfmasondpitwycr]))(?:\b\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:t[\d:]+z?)?|\b\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}"
    rf"|\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?)?{_MONTH}\b\.?,?\s(?:the\s)?\d{{1,2}}(?!\d)(?:st|nd|rd"
    rf"|th)?(?:,?\s\d{{4}})?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}\b(?:,?\s\d{{4}})?|\b{_MONTH}\s\d{{4}}"
    rf"|\b\d{{1,2}}:\d\d(?:\s?[ap]m)?|\b\d{{4}}\b|\b\d+(?:st|nd|rd|th)\b|\d{{4}}年\d{{1,2}}月\d{{1,2}}日"
    r"|\b(?:session|photo|image|turn|step|day|week|month|year|chat|on day|place|position|rank)s?\s#?\d+\b"
    r"|\b\d+\s(?:days?|weeks?|months?|years?|hours?|events?|items?)\b)"
)
_GLUED = re.compile(r"(?<![\w.,$€£/:-])((?:\d\.?){2,9}(?![\d%])|[A-J]{2,9}|(?:^|(?<=\n))[a-j]{2,9})(?![\w%])")
_ITEM = r"(?:\(\s?{0}\s?\)|\[\s?{0}\s?\]|#?{0}(?![\w]))"
_GAP = (
    r"[\s,;>→<|/)\]}.\"'=-]{0,6}(?:(?:and|then|and then|followed by|before|next|finally|lastly|&"
    r"|to)\b[\s,]{0,2}){0,2}[(\[#\"'-]{0,2}"
)
_CIRCLED = {chr(first + i): str(i + 1) for first in (0x2460, 0x2776, 0x2780, 0x278A) for i in range(9)}


@dataclass(frozen=True, slots=True)
class Events:
    """The events that a question lists."""

    labels: Order
    words: tuple[frozenset[str], ...]
    """For each label the content words that no other event has."""
    latest_first: bool


@lru_cache(maxsize=4096)
def read_events(question: str) -> Events:
    """Return the labelled events of a question.

    >>> events = read_events("Order from earliest to latest: (1) the pottery class (2) the dentist visit.")
    >>> events.labels, [sorted(w) for w in events.words]
    (('1', '2'), [['class', 'pottery'], ['dentist', 'visit']])
    """
    low = question.lower()
    marks = list(re.finditer(r"(?:\(|\[|(?<=\s)|^)(\d{1,2}|[A-J])[.):\]]\s?(?=\S)", question))
    kept = [m for i, m in enumerate(marks) if m[1].isdigit() or i < 26]
    texts = [low[m.end() : kept[i + 1].start() if i + 1 < len(kept) else len(low)] for i, m in enumerate(kept)]
    bags = [{stem(w) for w in re.findall(r"[^\W\d_]+", t) if w not in STOP_WORDS} for t in texts]
    words = tuple(
        frozenset(bag - set().union(*(o for j, o in enumerate(bags) if j != i))) for i, bag in enumerate(bags)
    )
    return Events(tuple(m[1] for m in kept), words, _latest_first(low) is True)


def _latest_first(low: str) -> bool | None:
    """Say in which direction a text puts its events, None where it does not say."""
    if re.search(
        r"\b(?:latest|newest|last|most recent|recent)(?: one)?(?: event)? (?:to|first|→|->|down to)\b"
        r"|\b(?:reverse chronological|latest first|backwards|in reverse)",
        low,
    ):
        return True
    return False if re.search(r"\b(?:earliest|oldest|first) (?:to|first)\b|\bchronological", low) else None


def read_order(prepared: Prepared, question: str, reference: str) -> Reading:
    """Read the order that a text commits to; every item must be there, once, in its place."""
    events = read_events(question)
    gold = _reference(reference, events)
    if gold is None:
        return UNREADABLE
    text = _plain(prepared, len(gold))
    low = text.lower() if len(text.lower()) == len(text) else prepared.low
    ends = explicit_ends(prepared)
    for part in reversed(segments(low)):
        found = _in_part(text, low, part, events, gold, [e for e in ends if part[0] <= e <= part[1]])
        if found is not None:
            order, span, rule = found
            stated = _latest_first(low[part[0] : span[0] + 1])
            if stated is not None and stated is not events.latest_first:
                order = tuple(reversed(order))
            gone = refusal_in(low, span[1], part[1])
            if (
                gone is not None
                and rule != "explicit answer"
                and re.search(r"\b(?:insufficient|cannot be determined)\b", low[gone[0] : gone[1] + 16])
            ):
                return refused(gone)
            after, before = low[span[1] : span[1] + 8], low[max(0, span[0] - 14) : span[0]]
            if (
                re.match(r"[)\]\s]{0,3},?\s?or\s", after)
                or re.search(r"\bor\s[(\[]?$", before)
                or re.search(r"\bor\b", low[span[0] : span[1]])
            ):
                return nothing("two candidates", span)
            if re.search(r"\b(?:not|isn't|rather than|instead of)\s[(\[\"']?$", before):
                return nothing("a rejected order", span)
            return Reading("committed", order == gold, rule, span)
        gone = refusal_in(low, *part)
        if gone is not None:
            return refused(gone)
    gone = refusal_in(low, broad=True)
    return refused(gone) if gone else nothing("no order")


def _plain(prepared: Prepared, size: int) -> str:
    """Blank out dates, times and ordinals, whose numbers are no indices, and write circled numbers as plain ones."""
    text = prepared.text
    for match in _NOISE.finditer(prepared.low):
        text = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
    marks = list(re.finditer(r"(?:^|(?<=\n))\s{0,8}(\d{1,2})[.):](?=[^\n]*[\s(\[#](?:\d{1,2}|[A-J])(?![\w.]))", text))
    if len(marks) > 1 and [m[1] for m in marks] == [str(n + 1) for n in range(len(marks))]:
        for match in marks:  # the numbers of lines whose items have indices of their own
            text = text[: match.start(1)] + " " * len(match[1]) + text[match.end(1) :]
    else:
        marks = list(re.finditer(r"(?<![\w(])(\d{1,2})[.):]\s+(?=[(\[#]?(?:\d{1,2}|[A-J])[)\]]?(?:[\s,;]|$))", text))
        if [m[1] for m in marks] == [str(n + 1) for n in range(size)]:  # "1) 3 2) 1 3) 2"
            for match in marks:
                text = text[: match.start(1)] + " " * len(match[1]) + text[match.end(1) :]
    if not text.isascii() and any(c in _CIRCLED for c in text):
        text = "".join(_CIRCLED.get(c, c) for c in text)
    return text


@lru_cache(maxsize=4096)
def _reference(reference: str, events: Events) -> Order | None:
    digits = re.findall(r"\d+", reference)
    if len(digits) > 1 and not re.search(r"[^\W\d_]{3,}", reference):
        return tuple(digits)
    letters = re.findall(r"(?<![^\W_])[A-Ja-j](?![^\W_])", reference)
    if len(letters) > 1 and not re.search(r"[^\W\d_]{2,}", reference):
        return tuple(letter.upper() for letter in letters)
    glued = reference.strip().upper()
    if len(glued) > 1 and len(glued) == len(events.labels) and set(glued) == set(events.labels):
        return tuple(glued)
    parts = [p.strip(" .()") for p in re.split(r"\s*(?:,|;|→|->|>|\n|\bthen\b)\s*", reference) if p.strip(" .()")]
    if len(parts) > 1 and events.labels:
        named = [_named(part.lower(), events) for part in parts]
        if all(len(n) == 1 for n in named):
            return tuple(n[0][1] for n in named)
    return tuple(part.lower() for part in parts) if len(parts) > 1 else None


def _named(low: str, events: Events) -> list[tuple[int, str, int]]:
    """Return where events are named by their own words: (begin, label, end), a run of them once."""
    owner = {word: label for label, words in zip(events.labels, events.words, strict=True) for word in words}
    runs: list[tuple[int, str, int]] = []
    for match in re.finditer(r"[^\W\d_]+", low):
        label = owner.get(stem(match[0]))
        if label is not None:
            if runs and runs[-1][1] == label:
                runs[-1] = (runs[-1][0], label, match.end())
            else:
                runs.append((match.start(), label, match.end()))
    return runs


def _in_part(
    text: str, low: str, part: Span, events: Events, gold: Order, ends: list[int]
) -> tuple[Order, Span, str] | None:
    for at in reversed(ends):
        found = _tuple_at(text, low, at, part[1], gold)
        if found is not None:
            return (*found, "explicit answer")
    if not all(len(label) <= 2 for label in gold):
        return _by_text(low, part, gold)
    paired = _pairs(low, part, gold)
    if paired is not None:
        return paired
    tight = [run for run in _tuples(text, part, gold) if not _TAKEN_BACK.search(low, part[0], run[1][0])] or _tuples(
        text, part, gold
    )
    tight = [(_once(order, gold), span) for order, span in tight]
    items = _items(text, low, part, gold)
    if tight and (len(tight[-1][0]) >= len(gold) or len(tight[-1][0]) == len(items)):
        return (*tight[-1], "tuple")
    for glued in reversed(list(_GLUED.finditer(text, *part))):
        joined = glued[1].replace(".", "").upper()
        if len(joined) == len(gold) == len(set(joined)) and set(joined) <= set(gold):
            return tuple(joined), glued.span(1), "tuple"
    names = [n for n in _named(low, events) if part[0] <= n[0] < part[1]] if events.labels else []
    if len(items) >= len(gold) and not _counts_up(text, part, items, names):
        order = tuple(item[1] for item in items)
        # What restates the question before giving the order names everything twice: the second time is the order.
        order = (
            order[-len(gold) :]
            if len(order) == 2 * len(gold) and set(order[: len(gold)]) == set(order[len(gold) :])
            else order
        )
        if len(set(order)) == len(order) == len(items):
            order = _arranged(low, items)
        return order, (items[-len(order)][0], items[-1][2]), "items in order"
    named: list[tuple[int, str, int]] = []
    for name in names:
        if name[1] not in {n[1] for n in named}:
            named.append(name)
    if len(named) == len(gold) and len(names) == len(named):
        return _arranged(low, named), (named[0][0], named[-1][2]), "events named in order"
    if len(names) == 2 * len(gold) and len({n[1] for n in names[len(gold) :]}) == len(gold):
        return tuple(n[1] for n in names[len(gold) :]), (names[len(gold)][0], names[-1][2]), "events named in order"
    if items:
        return tuple(item[1] for item in items), (items[0][0], items[-1][2]), "items in order"
    if names:
        return tuple(n[1] for n in names), (names[0][0], names[-1][2]), "events named in order"
    return None


_TAKEN_BACK = re.compile(
    r"\b(?:not|isn't|rather than|instead of|(?:first|initially|originally|previously) (?:thought|said|guessed|assumed"
    r"|answered|had|wrote))\s(?:it was\s|of\s)?[(\[\"']?\Z"
)


def _once(order: Order, gold: Order) -> Order:
    """Return an order that is said twice, once."""
    half = len(gold)
    return order[half:] if len(order) == 2 * half and order[:half] == order[half:] else order


_LAST = 9
_RANKS = (
    (0, r"\b(?:first|earliest|initially|started it|at the beginning)\b"),
    (1, r"\b(?:second|in between|in the middle|middle|between the two|next)\b"),
    (2, r"\bthird\b"),
    (_LAST, r"\b(?:last|latest|final|finally|most recent|at the end)\b"),
)


def _arranged(low: str, named: list[tuple[int, str, int]]) -> Order:
    """Return the order of events that are each named once: as they stand, or as "after" and "was last" say."""
    order = tuple(n[1] for n in named)
    ranks = _ranks(low, named)
    if None not in ranks.values() and len(set(ranks.values())) == len(ranks):
        return tuple(sorted(order, key=lambda label: ranks[label] or 0))
    before: set[tuple[str, str]] = set()
    subject = named[0][1]
    for previous, this in itertools.pairwise(named):
        gap = low[previous[2] : this[0]]
        if re.search(r"[.;]", gap):
            subject = this[1]
        elif re.search(r"\b(?:after|following|later than|preceded by)\b", gap):
            before.add((this[1], previous[1] if re.search(r"\bwhich\b", gap) else subject))
        elif re.search(r"\b(?:before|prior to|earlier than|followed by)\b", gap):
            before.add((subject, this[1]))
            subject = subject if re.search(r"\band\b", gap) else this[1]
    if not before:
        return order
    for label, rank in ranks.items():
        if rank in (0, _LAST):
            before |= {(label, other) if rank == 0 else (other, label) for other in order if other != label}
    return _sorted(order, before)


def _ranks(low: str, named: list[tuple[int, str, int]]) -> dict[str, int | None]:
    """Return what is said of each event's place: "(2) came last", "the earliest is (3)", "the road trip first"."""
    ranks: dict[str, int | None] = {}
    for i, (begin, label, end) in enumerate(named):
        stop = named[i + 1][0] if i + 1 < len(named) else len(low)
        after = re.match(r"[)\]\"']?[^.;,\n]{0,60}", low[end:stop])
        head = low[max(named[i - 1][2] if i else 0, begin - 80) : begin]
        before = re.split(r"[.;,\n]", head)[-1]
        ranks[label] = next(
            (
                rank
                for rank, pattern in _RANKS
                if (after and re.match(rf"\W{{0,3}}(?:[^,]*\b(?:is|was|were|came|comes)\b[^,]*?)?{pattern}", after[0]))
                or re.search(rf"{pattern} (?:\w+ )?(?:is|was|comes|came)\b[^,]*$", before)
            ),
            None,
        )
    return ranks


def _sorted(order: Order, before: set[tuple[str, str]]) -> Order:
    """Return the one order that agrees with all pairs; the order as it stands where there is none, or several."""
    arranged: list[str] = []
    while len(arranged) < len(order):
        free = [
            label
            for label in order
            if label not in arranged and not any(b == label and a not in arranged for a, b in before)
        ]
        if len(free) != 1:
            return order
        arranged += free
    return tuple(arranged)


def _by_text(low: str, part: Span, gold: Order) -> tuple[Order, Span, str] | None:
    """Read an order of free labels by where each first stands."""
    places = sorted((low.find(label, *part), label) for label in gold)
    places = [p for p in places if p[0] >= 0]
    if not places:
        return None
    return tuple(p[1] for p in places), (places[0][0], places[-1][0] + len(places[-1][1])), "labels in order"


def _label(gold: Order) -> str:
    return r"(\d{1,3})" if gold[0].isdigit() else r"([A-Ja-j])"


@cache
def _item(label: str) -> re.Pattern[str]:
    return re.compile(_ITEM.format(label))


_BETWEEN = re.compile(_GAP)


def _tuples(text: str, part: Span, gold: Order) -> list[tuple[Order, Span]]:
    """Return the runs of at least two items with nothing but separators between them."""
    item = _item(_label(gold))
    folded = text.lower()
    runs: list[tuple[Order, Span]] = []
    current: list[str] = []
    begin = end = -1
    for match in item.finditer(text, *part):
        label = next(g for g in match.groups() if g is not None).upper()
        if (label.islower() or label in ("A", "I")) and not gold[0].isdigit() and _word_like(text, match):
            continue
        if match.start() and (text[match.start() - 1].isalnum() or text[match.start() - 1] in "$€£."):
            continue
        if current and _BETWEEN.fullmatch(folded, end, match.start()) and "\n\n" not in text[end : match.start()]:
            current.append(label)
        else:
            if len(current) > 1:
                runs.append((tuple(current), (begin, end)))
            current, begin = [label], match.start()
        end = match.end()
    if len(current) > 1:
        runs.append((tuple(current), (begin, end)))
    return runs


def _word_like(text: str, match: re.Match[str]) -> bool:
    return (
        bool(re.match(r"\s(?!(?:then|and|before|followed)\b)[a-z]{2,}", text[match.end() : match.end() + 10]))
        and "(" not in match[0]
        and "[" not in match[0]
    )


def _tuple_at(text: str, low: str, at: int, end: int, gold: Order) -> tuple[Order, Span] | None:
    runs = [
        run
        for run in _tuples(text, (at, end), gold)
        if not re.search(r"[.!?]\s", text[at : run[1][0]])
        and not _TAKEN_BACK.search(low, at, run[1][0])
        and not re.match(r"[)\]\"'\s]{0,3}(?:is|was) (?:wrong|incorrect|not)\b", low[run[1][1] :])
    ]
    # A short run followed by more items is a part of an order: "(3); then (1); latest: (2)".
    return runs[0] if runs and len(runs[0][0]) >= min(len(gold), len(_items(text, low, (at, end), gold))) else None


@cache
def _ordinals_row(size: int) -> re.Pattern[str]:
    ordinal = "|".join(list(ORDINALS)[:9])
    return re.compile(rf"\b(?:{ordinal})(?:,? (?:and |then )?(?:{ordinal})){{{size - 1}}}(?=[\s.!\"']*(?:$|\n|[.!]\s))")


def _items(text: str, low: str, part: Span, gold: Order) -> list[tuple[int, str, int]]:
    """Return every index in the part; number words count where they stand as an index ("event three")."""
    found = []
    for match in re.finditer(
        r"(?<![\w.$€£#])[(\[#]?" + _label(gold) + r"(?![\w])(?!\.\d)(?!%)", text[part[0] : part[1]]
    ):
        label = match[1].upper()
        if (
            not gold[0].isdigit()
            and label in ("A", "I")
            and "(" not in match[0]
            and re.match(r"\s(?!(?:then|and|before|followed)\b)[a-z]", text[part[0] + match.end() :][:10])
        ):
            continue
        found.append((part[0] + match.start(1), label, part[0] + match.end(1)))
    if not found and gold[0].isdigit():
        listed = _ordinals_row(len(gold)).search(low, *part)
        if listed is not None:  # "third, first, second"
            return [
                (m.start(), str(ORDINALS[m[0]]), m.end())
                for m in re.compile(r"[a-z]+").finditer(low, *listed.span())
                if m[0] in ORDINALS
            ]
        words = {word: str(n) for word, n in UNITS.items() if 0 < n < 11}
        for match in re.finditer(r"\b(" + "|".join(words) + r")\b", low[part[0] : part[1]]):
            found.append((part[0] + match.start(1), words[match[1]], part[0] + match.end(1)))
        found = found if len(found) == len(gold) else []
    return found


def _counts_up(text: str, part: Span, items: list[tuple[int, str, int]], names: list[tuple[int, str, int]]) -> bool:
    """Say whether the numbers only count lines ("1. the road trip, 2. ...") whose names then tell the order."""
    if len(names) < len(items) or [i[1] for i in items] != [str(n + 1) for n in range(len(items))]:
        return False
    starts = all(not text[max(part[0], text.rfind("\n", 0, i[0]) + 1) : i[0]].strip(" (-*") for i in items)
    marks = all(re.match(r"[.):]", text[i[2] : i[2] + 1]) for i in items)
    return starts or (marks and not all(text[i[0] - 1 : i[0]] == "(" for i in items))


def _pairs(low: str, part: Span, gold: Order) -> tuple[Order, Span, str] | None:
    """Read "3 before 1, 1 before 2" and "2 after 1" when the pairs chain everything."""
    if not gold[0].isdigit():
        return None
    number = r"(?:event\s|item\s|#)?\(?(\d{1,2})\)?"
    matches = list(
        re.finditer(
            rf"{number}\s(?:(?:is|was|comes?|came|happen(?:s|ed)|occur(?:s|red)|took place"
            rf"|goes)\s)?(before|after)\s(?=(?:event\s|item\s|#)?\(?(\d{{1,2}})\)?)",
            low[part[0] : part[1]],
        )
    )
    edges = {(m[1], m[3]) if m[2] == "before" else (m[3], m[1]) for m in matches}
    if len(edges) < len(gold) - 1 or len(gold) < 2:
        return None
    after = dict(edges)
    firsts = set(after) - set(after.values())
    if len(firsts) != 1 or len(after) != len(edges):
        return None
    order = [firsts.pop()]
    while order[-1] in after and len(order) <= len(gold):
        order.append(after[order[-1]])
    return tuple(order), (part[0] + matches[0].start(), part[0] + matches[-1].end()), "pairs"
