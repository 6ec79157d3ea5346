"""How a text says that something is its answer, that it takes an answer back, and where a sentence ends.

All patterns are for lower-case text and have bounded gaps, so a scan is linear in the text.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from memgauge.grading.typed.prepare import Prepared, Span
from memgauge.grading.typed.words import bordered, word_list

# A stop before a blank, or a run of line ends; behind other letters than English ones a stop needs no blank.
_CLOSED = r"[.!?;…]*[\"')\]]*(?=\s|$)"
_STOP = re.compile(rf"[.!?;…\n](?:(?<=\n)\n*|(?<!\n){_CLOSED})")
_STOP_WIDE = re.compile(rf"[.!?;…\n](?:(?<=\n)\n*|(?<!\n){_CLOSED}|(?<=[^\x00-\x7f][.!?;]))")
_EXPLICIT_HINT = re.compile(
    "answer|final|guess|estimate|conclu|verdict|go with|say|choose|pick|settle"
    "|antwo|réponse|respuesta|risposta|resposta|ответ|відповідь|答|답"
)
_SHORT_FORMS = bordered(
    r"a\.m|p\.m|e\.g|i\.e|approx|ca|vs|mr|mrs|dr|st|etc|incl|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|mon|tues?|wed|thurs?|fri|sat|sun|rs"
)
_ABBREVIATED = re.compile(rf"(?:{_SHORT_FORMS})\Z")
_LISTED = re.compile(r"(?:^|\n)\s{0,8}\(?\d{1,2}\Z")

EXPLICIT = re.compile(
    r"\b(?:answer|final (?:count|total|tally|number|order|verdict|value|result|date)|best (?:guess"
    r"|estimate)|conclusion|guess"
    r"|verdict|i(?:'d| would| will|'ll|) (?:go with|say|answer|choose|pick|settle on|guess)|i conclude(?: that)?"
    r"|antwort|réponse|respuesta|risposta|resposta|antwoord|ответ|відповідь)\b"
    r"(?: to (?:the|your|this) question| here| therefore| thus| now| then)?"
    r"\s{0,3}(?:is|was|are|would be|should be|must be|will be|remains|becomes|ist|lautet|est|es|è|é|is dus)?\b"
    r"\s{0,3}(?:[:=→]|-(?=\s))?\s{0,3}(?:(?:therefore|thus|that|now|still|simply|just|clearly|most likely"
    r"|probably|likely)\b,?"
    r"\s{0,3}(?:is\s)?)*[:\"'( \n]{0,4}"
    r"|(?:答案|回答|答え|답|정답)(?:应该|應該)?(?:是|为|為|は|은|는)?\s{0,3}:?\s{0,3}"
)
"""Names what follows as the answer. The end of a match is where the answer begins."""

_LEADING = bordered(
    r"so|therefore|thus|hence|consequently|accordingly|in conclusion|to conclude|to sum up|to summari[sz]e|in summary"
    r"|overall|in the end|all in all|finally|which means|which makes|which gives|which leaves|which brings"
    r"|that means|that makes|that gives|that leaves|that brings"
    r"|it makes?|this makes?|they makes?|these makes?|those makes?|and makes?|making|giving|leaving"
    r"|also|donc|por lo tanto|quindi|portanto|dus|daher"
)
CONCLUDE = re.compile(rf"(?:{_LEADING})\b,?|所以|因此|⇒|∴|=>")
"""Draws a conclusion: weaker than naming the answer, stronger than a bare mention."""

_STARTS = r"[.!?;,:…—\n(\[-]"
_OPENED = r"[\s\"']{0,4}(?:(?:no|but|oh|and|well|hmm+|ah|ok|okay|or|yes|then)[,.…]{0,3}\s)?"
_WORDS = (
    r"actually|correction|corrected|wait|sorry|apologies|my apologies|scratch that|strike that"
    r"|on (?:second thoughts?|reflection)"
    r"|hold on|let me (?:re[- ]?\w+|correct|fix|check|think|count)|i (?:made a mistake|misspoke|was wrong"
    r"|stand corrected"
    r"|misread|miscounted|take that back|need to correct|must correct|should correct)|my (?:mistake|bad"
    r"|error)|oops|whoops"
    r"|hmm+|rather|i mean|more precisely|edit|(?:update|updated|revised)(?!\s(?:from|on|in|since)\b)|re-?checking"
    r"|recounting|looking again"
    r"|never ?mind|that(?:'s| is| was) (?:wrong|incorrect|not right)|or rather|checking again"
    r"|looking closer|double-checking"
    r"|strike that|make that|i meant"
)
_FIRST = (
    r"(?=[aiomef])\b(?:at first|initially|originally|i (?:first |initially |originally |had )?(?:thought|assumed|said"
    r"|guessed|counted|believed)"
    r"|my (?:first|initial|original) (?:guess|thought|count|answer|impression)|earlier i said|first i thought)\b"
    r"[^.!?\n]{0,120}?[,;]?\s(?:but|then|however|yet|though)\b"
)
_NO = r"no(?!\.\s?\d)(?=[,.!:—-]|\s(?:it|that|the|there|not|wait)\b)"
_REVISE = re.compile(rf"(?:^|{_STARTS}){_OPENED}(?:{_WORDS})\b|{_FIRST}")
_REVISE_NO = re.compile(rf"(?:^|{_STARTS}){_OPENED}(?:{_WORDS}|{_NO})\b|{_FIRST}")
# The same for a text that begins with a line end and has nothing like "at first I thought ... but": several times
# faster, since the search passes over all places without a stop.
_RETRACT = re.compile(rf"{_STARTS}{_OPENED}(?:{_WORDS})\b")
_RETRACT_NO = re.compile(rf"{_STARTS}{_OPENED}(?:{_WORDS}|{_NO})\b")
_CHANGED = re.compile(_FIRST)
_QUICK = re.compile(
    r"actually|correct|wait|sorry|apolog|scratch|strike|second thought|reflection|hold on|let me|i m"
    r"|wrong|stand|take that"
    r"|my |oops|hmm|rather|precise|edit|updat|revis|check|count|look|never|no\b|first|initial|origin"
    r"|thought|said|guess|make that|assumed|believed|not right"
)


def sentences(low: str) -> list[Span]:
    """Return the sentences, as stretches that cover the text; the stop belongs to the sentence that it ends.

    >>> [text[a:b] for text in ("it was 3.5 a.m. in may. then 4",) for a, b in sentences(text)]
    ['it was 3.5 a.m. in may.', ' then 4']
    """
    found: list[Span] = []
    begin = 0
    for match in (_STOP if low.isascii() else _STOP_WIDE).finditer(low):
        at = match.start()
        if match[0] == "." and low[at - 1 : at].isalnum():
            no_stop = _LISTED if low[at - 1].isdigit() else _ABBREVIATED
            if no_stop.search(low, max(begin, at - 12), at):
                continue
        if low[begin : match.end()].strip():
            found.append((begin, match.end()))
            begin = match.end()
    if low[begin:].strip():
        found.append((begin, len(low)))
    return found or [(0, len(low))]


def revisions(low: str, *, no_revises: bool = True) -> list[int]:
    """Return where the text takes back what came before: the ends of "actually", "correction", "wait", "sorry", ...

    `no_revises` counts "no" among them; where yes and no are the answers, it is none.
    """
    if _QUICK.search(low) is None:
        return []
    if _CHANGED.search(low) is None:
        return [match.end() - 1 for match in (_RETRACT_NO if no_revises else _RETRACT).finditer(f"\n{low}")]
    return [match.end() for match in (_REVISE_NO if no_revises else _REVISE).finditer(low)]


def segments(low: str, *, no_revises: bool = True) -> list[Span]:
    """Return the stretches between revisions: what the last one commits to counts."""
    cuts = [0, *revisions(low, no_revises=no_revises), len(low)]
    return [(a, b) for a, b in itertools.pairwise(cuts) if b > a] or [(0, len(low))]


def explicit_ends(prepared: Prepared) -> list[int]:
    """Return where an answer that is named as such begins: boxes, answer tags, "the answer is"."""
    if prepared.cues is None:
        low = prepared.low
        ends = [match.end() for match in EXPLICIT.finditer(low)] if _EXPLICIT_HINT.search(low) else []
        prepared.cues = sorted(ends + [begin for begin, _ in prepared.boxes])
    return prepared.cues


class Spanned:
    """Anything with a place in the text."""

    begin: int
    end: int


M = TypeVar("M", bound=Any)


@dataclass(frozen=True, slots=True)
class Chosen(Generic[M]):
    """The mentions to which a text commits, and why: several of them where it leaves the choice open."""

    mentions: tuple[M, ...]
    rule: str
    at: int = 0
    """Where the cue ends."""


def by_cue(prepared: Prepared, mentions: Sequence[M], span: Span, stops: Sequence[Span]) -> Chosen[M] | None:
    """Choose the mentions of the sentence part that an answer cue leads to, within `span`; None without a cue.

    An explicit cue outranks a conclusion, and the last cue of the stronger kind counts. `mentions` are in order.
    """
    begin, end = span
    named = [m for m in mentions if _NAMED_AFTER.match(prepared.low, m.end)]
    if named:
        return Chosen((named[-1],), "explicit answer", named[-1].begin)
    starts = [mention.begin for mention in mentions]
    for rule in ("explicit answer", "conclusion"):
        places = (
            [at for at in explicit_ends(prepared) if begin <= at <= end]
            if rule == "explicit answer"
            else _conclusions(prepared.low, begin, end)
        )
        for at in reversed(places):
            limit = min(end, _sentence_end(prepared.low, stops, at))
            first = bisect_right(starts, at - 1)
            led = tuple(m for m in mentions[first:] if m.begin < limit)
            if led:
                return Chosen(led, rule, at)
    return None


_NAMED_AFTER = re.compile(
    r"[\s\"')]{0,2}\s?(?:is|are|was|would be|must be|should be)\s(?:the|my)\s(?:final |correct |right "
    r"|overall |best )?(?:answer|total|count|sum|choice|tally)\b(?!\s(?:to|of|for)\s(?:another"
    r"|a different))"
)


TURNED_DOWN = re.compile(r"\b(?:no|not|wrong|nope)\b|n't\b")
"""Takes back what was asked before: "3? No."."""


SO_AT_LAST = re.compile(r"\b(?:so|hence|therefore|thus)\s(?:it is |it's |that is |the answer is )?\W?\Z")
"""Stands right before what is concluded: "$250, but you got $15 back, so $235"."""


def _conclusions(low: str, begin: int, end: int) -> list[int]:
    return [match.end() for match in CONCLUDE.finditer(low, begin, end)]


def _sentence_end(low: str, stops: Sequence[Span], at: int) -> int:
    """Return the end of the sentence at a place; a semicolon does not end what an answer cue leads to."""
    for begin, end in stops:
        if at < end:
            if at < begin:
                return begin
            if not low[begin:end].rstrip("\"')]").endswith(";"):
                return end
            at = end
    return at


def cores(prepared: Prepared) -> list[Span]:
    """Return what may be a bare answer: all, what follows an answer cue or an opening, the last line and sentence."""
    low = prepared.low
    found = [(0, len(low))]
    if ends := explicit_ends(prepared):
        found.append((ends[-1], next((b for a, b in prepared.boxes if a == ends[-1]), len(low))))
    if (opening := _OPENING.match(low)) is not None:
        found.append((opening.end(), len(low)))
    lines = [m.span() for m in re.finditer(r"[^\n]+", low) if m[0].strip()]
    return found + lines[-1:] + sentences(low)[-1:]


_OPENING = re.compile(r"\s*(?:based on|according to|looking at|from)\b[^,.!?\n]{0,60},\s")


@lru_cache(maxsize=4096)
def question_words(question: str) -> frozenset[str]:
    """Return the content words of a question, stemmed."""
    return frozenset(stem(word) for word in re.findall(r"[^\W_]+", question.lower()) if word not in STOP_WORDS)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Cut endings so that plural and singular, and the common tenses of a verb, are one word.

    >>> stem("finished") == stem("finish"), stem("berries") == stem("berry"), stem("boxes") == stem("box")
    (True, True, True)
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
        return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word
    if len(word) > 4 and word.endswith("ed"):
        word = word[:-2]
        return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word


STOP_WORDS = frozenset(
    word_list(
        "a an the of to in on at by for from with and or but if is are was were be been being am do does did "
        "done have has had i me my mine we us our you your he she it its they them their this that these "
        "those there here what which who whom whose when where why how many much so as than then now just "
        "only also very can could will would shall should may might must not no yes about into over under up "
        "down out off again right still ever any some all both each so far these days currently please answer "
        "give format yyyy mm dd "
    )
)
