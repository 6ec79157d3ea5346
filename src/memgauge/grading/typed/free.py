"""Short free text (information extraction, knowledge update): a stand-in where a judge decides in a run.

The reference must be said whole, as words and not inside others, not denied, not said of the past, and in the clause
that answers the question.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache

from memgauge.grading.typed.cues import explicit_ends, question_words, revisions, sentences, stem
from memgauge.grading.typed.dates import find_dates, read_date
from memgauge.grading.typed.numbers import find_numbers
from memgauge.grading.typed.prepare import Prepared, Span
from memgauge.grading.typed.quantity import asked_unit, read_quantity, reference_number
from memgauge.grading.typed.reading import Reading, nothing, refused
from memgauge.grading.typed.refusal import refusal_in
from memgauge.grading.typed.words import UNITS, word_list
from memgauge.grading.typed.yesno import polarity, read_yes_no

_WORD = re.compile(r"[^\W_]+(?:['.][^\W_]+)*|[$€£¥%°#]")
_SMALL = frozenset(
    word_list(
        "a an the to of in on at by for from with is are was it its my your their his her our and or some "
        "this that these those dr mr mrs ms prof "
    )
)
_SPELLING = dict(
    pair.split("/")
    for pair in word_list(
        "grey/gray colour/color colou/color favourite/favorite theatre/theater centre/center tyre/tire "
        "pyjama/pajama mum/mom litre/liter metre/meter aluminium/aluminum doughnut/donut yoghurt/yogurt "
        "whisky/whiskey &/and photo/photograph pic/photograph tv/television bike/bicycle ok/okay "
    )
)
_DENIED = re.compile(
    r"(?:\b(?:not|no longer|never|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|used to (?:be|like"
    r"|drink|eat|bake|love|have|use|own|order|prefer)?|formerly|previously|before that|instead of"
    r"|rather than"
    r"|stopped|quit|gave up|given up|no more|moved (?:on|away) from|switched (?:away )?from|changed from"
    r"|went from|instead of|tired of|replaced|neither|nor|other than|except|but not|away from|originally"
    r"|initially|once|at first|was|were|earlier)\b|n't\b)"
    r"[^.!?;,\n]{0,24}$"
)
_PAST_AFTER = re.compile(
    r"[\s\"')]{0,3}(?:(?:any ?more|any longer|no longer|before|previously|earlier|originally|at first"
    r"|was (?:the |your |my )?(?:old|previous|former|earlier|first|original)|in the past|used to"
    r"|was replaced|was before|until|to (?=\w)|is (?:the )?(?:old|outdated|former)|is (?:wrong|not)|isn't"
    r"|wasn't|but (?:now|then|later|changed|switched)|then (?:switched|changed|moved))\b|→|->)"
)
_FROM_TO = re.compile(r"\b(?:from|instead of|replac(?:ed|es|ing)|over)\s(?:the\s|a\s|an\s)?[\"']?$")
_NOW = re.compile(
    r"\b(?:now|currently|most recently|latest|these days|nowadays|at present|as of now|today"
    r"|at the moment|finally|lately|recently|current(?:ly)?|new(?:est)?|ended up|settled on|switched to"
    r"|changed (?:it )?to|moved (?:on )?to|updated to|replaced (?:it|that|them) with|present)\b"
)


def tokens(text: str) -> list[tuple[str, int, int]]:
    """Return the words of a lower-case text as (normal form, begin, end): stems, digits, no accents."""
    found = []
    for match in _WORD.finditer(text):
        word = match[0]
        if not word.isascii():
            word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).lower()
        word = word.replace("'s", "").replace("'", "").rstrip(".")
        if word in UNITS:
            word = str(UNITS[word])
        word = _SPELLING.get(word, word)
        word = stem(word) if word.isalpha() else word
        found.append((_SPELLING.get(word, word), match.start(), match.end()))
    return found


@dataclass(frozen=True, slots=True)
class _Wanted:
    words: tuple[str, ...]
    """All words without articles."""
    content: frozenset[str]
    joined: str
    upper: bool


@lru_cache(maxsize=8192)
def _wanted(reference: str) -> _Wanted:
    plain = re.sub(r"\s*\([^)]*\)\s*$", "", reference).strip() or reference
    words = tuple(w for w, _, _ in tokens(plain.lower()) if w not in ("a", "an", "the"))
    content = frozenset(w for w in words if w not in _SMALL) or frozenset(words)
    return _Wanted(words, content, "".join(words), plain.isupper() and len(plain) > 1)


def read_free(prepared: Prepared, question: str, reference: str, old_answer: str | None = None) -> Reading:
    """Read whether a text's committed answer is the reference, in other words at most in small things.

    A reference that is a date, an amount, or yes or no is read as such. That, a refusal, and an answer that is nothing
    but the reference are sure; whether other words mean the same is not.
    """
    typed = _typed(prepared, question, reference)
    if typed is not None:
        if typed.correct or old_answer is None:
            return typed
        left = _without_old(prepared, question, old_answer)
        return typed if left is None else _typed(left, question, reference) or typed
    wanted = _wanted(reference)
    found = _read_words(prepared, question, reference, wanted, old_answer)
    if found.state == "refused" or (found.correct and _nothing_else(prepared.low, wanted)):
        return found
    return replace(found, sure=False)


# What a change leaves behind: "from 2 to", "(originally 2)", "2, later".
_LEFT_BEHIND = re.compile(
    r"\bfrom\s(?P<a>[^.!?;\n]{1,40}?)\s(?=(?:to|→|->)\s)"
    r"|\((?:it |this )?(?:originally|previously|formerly|before|was|used to be|up from|down from|changed from"
    r"|moved from)"
    r"[\s:](?P<b>[^()\n]{1,40})\)"
    r"|(?:^|[.!?;\n]\s)(?P<c>[^.!?;\n]{1,40}?),?\s(?:and |but )?(?=(?:later|then|now|most recently)\s)"
)


def _without_old(prepared: Prepared, question: str, old_answer: str) -> Prepared | None:
    """Blank out where the old answer is said to have been replaced; None where it is nowhere."""
    text, low = prepared.text, prepared.low
    for match in _LEFT_BEHIND.finditer(prepared.low):
        said = match[match.lastgroup or "a"]
        old = _typed(Prepared("ok", said, said.lower()), question, old_answer)
        if old is not None and old.correct:
            blank = " " * (match.end() - match.start())
            text = text[: match.start()] + blank + text[match.end() :]
            low = low[: match.start()] + blank + low[match.end() :]
    return None if text == prepared.text else replace(prepared, text=text, low=low, cues=None)


def _nothing_else(low: str, wanted: _Wanted) -> bool:
    """Say whether a text is the reference and nothing more, but for articles, case and punctuation."""
    if not wanted.words:
        return True
    if len(low) > 2 * sum(map(len, wanted.words)) + 40:
        return False
    return tuple(word for word, _, _ in tokens(low) if word not in ("a", "an", "the")) == wanted.words


def _read_words(prepared: Prepared, question: str, reference: str, wanted: _Wanted, old_answer: str | None) -> Reading:
    low = prepared.low
    if not wanted.words:
        exact = prepared.text.strip() == reference.strip()
        return Reading("committed", exact, "the same text") if exact else nothing("no words to compare")
    said = [(w, a, b) for w, a, b in tokens(low) if w not in ("a", "an", "the")]
    part = _committed(prepared, question, said, wanted)
    gone = refusal_in(low, *part)
    places = _occurrences(said, wanted, part)
    good = [p for p in places if not _denied(low, p, part)]
    old = _wanted(old_answer) if old_answer else None
    olds = (
        [p for p in _occurrences(said, old, part) if not _denied(low, p, part)]
        if old and old.joined != wanted.joined
        else []
    )
    if not good:
        if gone is not None and not places:
            return refused(gone)
        rule = "the reference is denied or said of the past" if places else "the reference is not said"
        return Reading("committed", False, rule, part)
    chosen = good[-1]
    if gone is not None and gone[0] > chosen[1]:
        return refused(gone)
    if olds and _joined(low, chosen, olds[-1]):
        return nothing("two candidates", chosen)
    if olds and not _current(low, chosen, olds, part):
        return Reading("committed", False, "another value is said to be current", olds[-1])
    if _alternative(low, chosen, part):
        return nothing("two candidates", chosen)
    if wanted.upper and _longer_sign(prepared.text, chosen, reference):
        return Reading("committed", False, "part of a longer text", chosen)
    if old_answer and _overtaken(low, chosen, part):
        return Reading("committed", False, "another value is said to be current", chosen)
    return Reading("committed", True, "the reference in words", chosen)


@lru_cache(maxsize=4096)
def _is_date(low: str) -> bool:
    """Say whether a reference is a date and nothing else."""
    dates = find_dates(low)
    return len(dates) == 1 and not re.search(r"[^\W\d_]", low[: dates[0].begin] + low[dates[0].end :])


def _typed(prepared: Prepared, question: str, reference: str) -> Reading | None:
    """Read a reference that is a date, an amount or a yes or no; None for any other."""
    low = reference.strip().lower()
    if _is_date(low):
        return read_date(prepared, question, reference)
    if polarity(reference) is not None and not re.match(r"\s*(?:what|which|who|where|how)\b", question.lower()):
        return read_yes_no(prepared, question, reference)
    clock = None if re.fullmatch(r"\d+\.\d+", low) else _TIME.fullmatch(low)
    if clock is not None:
        return _read_time(prepared, _minutes(clock))
    if low in ("none", "nothing", "never", "once", "twice", "half") or re.search(r"\d+:\d\d|\d\s?[ap]\.?m\b", low):
        return None
    number = reference_number(reference)
    if number is None:
        return None
    rest = re.findall(r"[^\W\d_]{2,}", low[: number.begin] + " " + low[number.end :])
    asked = re.match(r"\s*how (?:many|much)\b", question.lower()) is not None
    if rest and not asked:
        return None
    if any(c.isalpha() for c in reference[: number.begin]) or not (
        number.units or asked or asked_unit(question) or find_numbers(prepared.low)
    ):
        return None
    return read_quantity(prepared, question, reference, counting=not number.units and not asked_unit(question))


_TIME = re.compile(
    r"(?P<h>\d{1,2})(?:[:.h](?P<m>\d\d))(?::\d\d)?(?:\s?(?P<half>[ap])\.?\s?m\b\.?)?"
    r"|(?P<h2>\d{1,2})\s?(?P<half2>[ap])\.?\s?m\b\.?"
)


def _minutes(match: re.Match[str]) -> frozenset[int]:
    """Return the minutes after midnight that a time can mean: two where morning or afternoon is left out."""
    hour, minute, half = int(match["h"] or match["h2"]), int(match["m"] or 0), match["half"] or match["half2"]
    if hour > 24 or minute > 59:
        return frozenset()
    if half:
        return frozenset({(hour % 12 + (12 if half == "p" else 0)) * 60 + minute})
    return frozenset({hour * 60 + minute, (hour + 12) % 24 * 60 + minute} if hour <= 12 else {hour * 60 + minute})


def _read_time(prepared: Prepared, gold: frozenset[int]) -> Reading:
    low = prepared.low
    found = [m for m in _TIME.finditer(low) if not _denied(low, m.span(), (0, len(low)))]
    found = [m for m in found if ":" in m[0] or m["half"] or m["h2"]] or found  # 12.50 is a price beside a time
    if not found:
        gone = refusal_in(low, broad=True)
        return refused(gone) if gone else nothing("no time of day")
    ends = [at for at in explicit_ends(prepared) if any(m.start() >= at for m in found)]
    led = [m for m in found if m.start() >= ends[-1]][:1] if ends else []
    starts = revisions(low)
    last = [m for m in found if not starts or m.start() >= starts[-1]] or found
    chosen = led or last
    if len({_minutes(m) for m in chosen}) > 1:
        return nothing("two candidates", (chosen[0].start(), chosen[-1].end()))
    return Reading("committed", bool(_minutes(chosen[-1]) & gold), "the time of day", chosen[-1].span())


def _committed(prepared: Prepared, question: str, said: list[tuple[str, int, int]], wanted: _Wanted) -> Span:
    """Return the stretch that answers: after an answer cue or a revision, or closest to the question."""
    low = prepared.low
    size = len(low)
    starts = [at for at in revisions(low) if low[at:].strip(" .,:;!?")]
    begin = starts[-1] if starts else 0
    if (
        begin
        and not _occurrences(said, wanted, (begin, size))
        and refusal_in(low, begin) is None
        and len(low[begin:].split()) < 2
    ):
        begin = 0
    ends = [at for at in explicit_ends(prepared) if at >= begin and low[at:].strip(" .,:;!?")]
    stops = sentences(low)
    if ends:
        at = ends[-1]
        stop = next((b for _, b in stops if at < b and low[b - 1 : b] != ";"), size)
        boxed = next((b for a, b in prepared.boxes if a == at), None)
        return at, boxed if boxed is not None else stop
    pieces = list(_clauses(low, begin, size))
    keys = question_words(question)
    scored = [len({w for w, a, _ in said if p[0] <= a < p[1]} & keys) for p in pieces]
    best = max(scored, default=0)
    if len(pieces) > 1 and best > 0 and scored.count(best) == 1 and min(scored) < best:
        piece = pieces[scored.index(best)]
        rest = [w for w, a, _ in said if piece[0] <= a < piece[1] and w not in keys and w not in _SMALL]
        others = [p for p in pieces if p != piece and _occurrences(said, wanted, p)]
        if (
            rest
            and others
            and not _occurrences(said, wanted, piece)
            and re.search(r"\b(?:is|are|says?|reads?|shows?)\b", low[piece[0] : piece[1]])
        ):
            return piece
    return begin, size


def _clauses(low: str, begin: int, end: int) -> list[Span]:
    cuts = [
        begin,
        *(m.end() for m in re.finditer(r"[.!?;\n](?=\s)|\s(?:but|while|whereas)\s", low[begin:end])),
        end - begin,
    ]
    return [
        (begin + a if i else a, begin + b)
        for i, (a, b) in enumerate(itertools.pairwise(cuts))
        if b > (a if i else a - begin)
    ]


def _occurrences(said: list[tuple[str, int, int]], wanted: _Wanted, part: Span) -> list[Span]:
    """Return where the reference is said: its words in order or as one word, or its content words close by."""
    inside = [t for t in said if part[0] <= t[1] < part[1]]
    size = len(wanted.words)
    found: list[Span] = []
    for i in range(len(inside)):
        joined = ""
        for j in range(i, min(len(inside), i + size + 2)):
            joined += inside[j][0]
            if joined == wanted.joined or (
                j == i + size - 1 and all(_close(a[0], b) for a, b in zip(inside[i : j + 1], wanted.words, strict=True))
            ):
                found.append((inside[i][1], inside[j][2]))
                break
            if len(joined) > len(wanted.joined) + 4:
                break
    if found or (len(wanted.content) < 2 and size < 2):
        return found
    # All the content words, in any order, within a window of three times as many words and a few more.
    window = 3 * len(wanted.content) + 4
    places = [(k, t) for k, t in enumerate(inside) if any(_close(t[0], w) for w in wanted.content)]
    for n in range(len(places)):
        seen: set[str] = set()
        for k, t in places[n:]:
            if k - places[n][0] > window:
                break
            seen |= {w for w in wanted.content if _close(t[0], w)}
            if seen == wanted.content:
                found.append((places[n][1][1], t[2]))
                break
        if found:
            break
    return found


@lru_cache(maxsize=65536)
def _close(word: str, other: str) -> bool:
    """Say whether two words are one, but for a slip in a long one."""
    if word == other:
        return True
    if (
        min(len(word), len(other)) < 7
        or not (word.isalpha() and other.isalpha())
        or word[0] != other[0]
        or abs(len(word) - len(other)) > 1
    ):
        return False
    if len(word) == len(other) and sorted(word) == sorted(other) and word[-1] == other[-1]:
        return True  # letters changed places
    i = next((k for k, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    return word[i + 1 :] == other[i + 1 :] or word[i:] == other[i + 1 :] or word[i + 1 :] == other[i:]


def _denied(low: str, place: Span, part: Span) -> bool:
    left = low[max(part[0], place[0] - 48) : place[0]]
    right = low[place[1] : min(part[1], place[1] + 48)]
    if re.search(r"\banything but\s(?:the |a )?$", left):
        return True
    unsure = re.search(r"\b(?:whether|if)\b[^.!?;\n]{0,30}$", left)
    if unsure is not None and refusal_in(low, part[0], place[0], broad=True) is not None:
        return True
    if re.search(r"\b(?:not only|used to \w+ \w+ and now)\b[^.!?;]{0,24}$", left):
        return False
    if re.search(r"\b(?:now|currently|to|with|is)\s(?:the\s|a\s|an\s|your\s|my\s)?[\"']?$", left) and not re.search(
        r"\bnot\b[^.!?;,\n]{0,16}$|\b(?:used|prior|close) to\s[\"']?$|\bn't\b[^,.;]{0,16}$", left
    ):
        return bool(re.match(r"[\s\"')]{0,3}(?:any ?more|any longer)\b", right))
    if re.search(r"\b(?:gave|given|giving|give) up [^.!?;,\n]{1,24} for\s(?:the |a )?[\"']?$", left) or re.search(
        r"\b(?:swapped|traded|exchanged|dropped|abandoned) [^.!?;,\n]{1,24} for\s(?:the |a )?[\"']?$", left
    ):
        return False
    if _FROM_TO.search(left) or _PAST_AFTER.match(right):
        return True
    match = _DENIED.search(left)
    if match is None:
        return False
    # "was" marks the past only where something else is said to hold now.
    word = match[0].split()[0]
    return word not in ("was", "were", "once", "at", "earlier", "initially", "originally") or bool(
        _NOW.search(low, place[1], part[1])
    )


def _current(low: str, chosen: Span, olds: list[Span], part: Span) -> bool:
    """Say whether the reference, rather than the old answer that is also said, is the current value."""
    last_old = olds[-1]
    if chosen[0] > last_old[0]:
        return True
    return bool(
        re.match(
            r"[\s\"')]{0,3}(?:has |have )?(?:replac\w+|instead of|rather than|took over from|not"
            r"|,? (?:and )?not|after|\(?(?:previously|formerly|before|was|up from|it was|used to|earlier"
            r"|changed from|no longer))",
            low[chosen[1] : chosen[1] + 24],
        )
    ) or bool(
        re.search(
            r"\b(?:before|previously|earlier|used to|was|were|old|former|originally|not|until|replac\w+"
            r"|instead of|rather than|over|from|after|had been)\b[^.!?;\n]{0,24}$",
            low[max(chosen[1], last_old[0] - 36) : last_old[0]],
        )
    )


def _joined(low: str, place: Span, other: Span) -> bool:
    """Say whether two values stand side by side and neither is marked as the current one."""
    first, second = sorted((place, other))
    return (
        re.fullmatch(
            r"[\s\"')]{0,2}(?:,|&|/|and|as well as|,? and)[\s\"'(]{0,2}(?:the |a )?", low[first[1] : second[0]]
        )
        is not None
    )


def _alternative(low: str, place: Span, part: Span) -> bool:
    """Say whether the reference is only one of two candidates."""
    after = re.match(
        r"[\s\"')]{0,2},?\s?(?:or|/|or maybe|or perhaps|or possibly)\s(?!(?:so|rather|more)\b)\w",
        low[place[1] : min(part[1], place[1] + 24)],
    )
    before = re.search(
        r"\w[\"']?(?:\s?,?\s(?:or|or maybe|or perhaps|or possibly|or else)|\s?/)\s(?:the\s|a\s|an\s|maybe\s)?[\"']?$",
        low[max(part[0], place[0] - 24) : place[0]],
    )
    return bool(after or before)


def _longer_sign(text: str, place: Span, reference: str) -> bool:
    """Say whether a word in capitals stands inside a longer run of capitals."""
    after = re.match(r"\s([A-Z]{2,})\b", text[place[1] :][:40])
    before = re.search(r"\b([A-Z]{2,})\s$", text[max(0, place[0] - 40) : place[0]])
    return bool((after or before) and text[place[0] : place[1]].isupper() and not text.isupper()) or bool(
        (after or before) and text.isupper() and len(text.split()) <= 3
    )


def _overtaken(low: str, chosen: Span, part: Span) -> bool:
    """Say whether something else is said to have come after the reference: "focaccia, then rye"."""
    right = low[chosen[1] : min(part[1], chosen[1] + 60)]
    return bool(
        re.match(
            r"[\s\"')]{0,2},?\s?(?:and\s|but\s)?(?:then|later|afterwards|next|followed by|most recently"
            r"|now|before (?:switching|changing|moving) to)\s(?!(?:you|it|and|that|this|have|as|for|your"
            r"|because|since|every|each|on)\b)\w",
            right,
        )
    )
