"""Yes or no: the words themselves first, then prose that affirms or denies what was asked."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache

from memgauge.grading.typed.cues import by_cue, question_words, segments, sentences, stem
from memgauge.grading.typed.prepare import Prepared, Span
from memgauge.grading.typed.reading import UNREADABLE, Reading, nothing, refused
from memgauge.grading.typed.refusal import WEAK, refusal_in
from memgauge.grading.typed.words import word_list

_YES = (
    r"yes|yep|yeah|yup|yea|yah|aye|ya|affirmative|indeed|absolutely|definitely|certainly|of course"
    r"|for sure|correct|true|exactly|positive"
    r"|they do|it does|they did|you did|sí|si|oui|ja|jawohl|sim|da|да|так|ναι|evet|tak|igen|kyllä|hai|はい"
    r"|ええ|是的|是|对|對|没错|네|예|نعم|כן|हाँ|हां|ya"
)
_NO = (
    r"no|nope|nah|nay|negative|false|incorrect|wrong|not at all|absolutely not|definitely not"
    r"|certainly not|of course not|by no means|nein|non|não|nao|nee|нет|ні|όχι|hayır|hayir|nie|nem"
    r"|ei|いいえ|いや|不是|否|不对|不|아니요|아니오|아뇨|لا|לא|नहीं|tidak"
)
_IDIOM = re.compile(
    r"\bno (?:doubt|question|problem|worries|wonder|matter|mistake)(?: about (?:it|that))?\b"
    r"|\bwithout (?:a |any )?(?:doubt|question)\b|\byes[ -]?(?:or|/|and)[ -]?no\b(?:\s?(?:question"
    r"|answer))?\??"
    r"|\byes/no\b|\bnot (?:only|just)\b|\bno longer\b|\bno one\b|\bno matter\b|\bwhether (?:yes"
    r"|or) (?:or )?no\b|\bif (?:yes|no|so)\b|\btrue or false\b|\bnot wrong\b|\bif not\b|\bto say (?:yes"
    r"|no)\b"
)
# "No" before a noun is a determiner: only what can begin a clause, or nothing, may follow the answer.
_FOLLOW = (
    r"(?=\s{0,2}(?:$|[.,;:!?)(\[\]}\"'…—\n-]|\s(?:it|they|the|this|that|these|those|he|she|we|you|i|because"
    r"|since|as|not|but|and|both|your|my|there|is|are|in|based"
    r"|indeed|different|same|sir|for|on|according|from|one|two|their|its|then|definitely|actually"
    r"|absolutely|of course|thanks|at|neither|only|again|here)\b))"
)
_TOKEN = re.compile(
    rf"(?<![\w'])(?:(?P<yes>{_YES})(?![\w'])|(?P<no>{_NO})(?![\w']){_FOLLOW})|(?P<cjk_no>不是|不对|否)"
    rf"|(?P<cjk_yes>是的|是(?=[,.。]|$)|对(?=[,.。]|$)|没错)"
)
# These affirm or deny only where they stand as an answer: at the start of a clause.
_LOOSE = re.compile(
    r"(?:indeed|absolutely|definitely|certainly|of course|for sure|correct|true|exactly|positive|they do"
    r"|it does|they did|you did|negative|false|incorrect|wrong|si|ja|da|ya|non"
    r"|ei|nie|nem|tak|hai|так|是|不|nee)\Z"
)
_CLAUSE_START = re.compile(
    r"(?:^|[.!?;:,…—\n(\"'-])\s{0,3}(?:[\"'(])?(?:(?:well|so|and|but|then|it is|it's|that's|that is"
    r"|that would be|the answer is|answer|i'd say|i say|yes|no|a|clearly|probably|likely|almost|most|say"
    r"|is)[,:]?\s){0,3}$"
)

_SAME = (
    r"same|identical|match(?:es|ed|ing)?|alike|one and the same|equal|equivalent|share the same"
    r"|indistinguishable|coincide[sd]?|correspond(?:s|ed)?|agree[sd]?"
)
_DIFFERENT = (
    r"different|differ(?:s|ed|ent|ing)?|distinct|another|separate|unlike|not alike|unrelated|two kinds"
    r"|two species|dissimilar|mismatch(?:ed|es)?|vary|varies|differences?|other"
)
_SIGNAL = re.compile(rf"\b(?:(?P<same>{_SAME})|(?P<diff>{_DIFFERENT}))\b")
_NEGATED = re.compile(
    r"(?:\b(?:not|never|no|neither|nor|cannot|hardly|without|isn't|aren't|wasn't|weren't|don't|doesn't"
    r"|didn't|can't|fail(?:s|ed)? to|far from|nothing|unlikely|doubt(?:ful)?(?: that| if)?|hardly)\b"
    r"|n't\b)(?![^.!?;]{0,60}\b(?:but|yet)\b)[^.!?;,\n]{0,40}$"
)
_ECHO = re.compile(
    r"(?:^|[.!?;:,…—\n(\"'])\s{0,3}(?:(?:yes|no|well|so|and|but|indeed|i think|i believe|actually|in fact)[,:]?\s){0,2}"
    r"(?:it|they|this|that|these|those|he|she|both|you|we|the two)\s(?:(?P<pos>(?:is|are|was|were|do|does"
    r"|did|have|has|had|can|could|will|would|should)(?: indeed| in fact| so)?"
    r"|(?:sure|certainly|definitely|really) (?:is|are|was|were|do|does|did|have|has|had))"
    r"|(?P<neg>(?:is|are|was|were|do|does|did|have|has|had|can|could|will|would|should)(?:n't|\snot)"
    r"|cannot|'re not|'s not|isn't|aren't))(?: at all)?\s{0,2}(?=$|[.,;:!)\n—\"'])"
)
_SUBORDINATE = re.compile(
    r"\b(?:although|though|even though|while|whereas|despite|even if)\b[^.!?;\n]{0,160}?(?:,|$|(?=[.!?;\n]))"
)
_MODAL = re.compile(
    r"\b(?:might|(?<!in )(?<!of )(?<!last )may(?=\s[a-z])|could|possibly|perhaps|maybe|if|whether|unclear"
    r"|would have to)\b[^.!?;\n]{0,40}$"
)
_FLIPS = 3


@dataclass(slots=True)
class Said:
    """One yes or no, or prose that comes to it."""

    begin: int
    end: int
    yes: bool
    word: bool = True


@lru_cache(maxsize=4096)
def polarity(text: str) -> bool | None:
    """Read a reference: True for yes, False for no, None for anything else.

    >>> polarity("Yes."), polarity("no"), polarity("3")
    (True, False, None)
    """
    word = re.sub(r"[\W_]+", "", text.lower())
    return True if word in ("yes", "true") else False if word in ("no", "false") else None


def read_yes_no(prepared: Prepared, question: str, reference: str) -> Reading:
    """Read whether a text says yes or no; a statement that the information is missing is neither."""
    gold = polarity(reference)
    if gold is None:
        return UNREADABLE
    low = _IDIOM.sub(lambda m: " " * len(m[0]), prepared.low) if _IDIOM.search(prepared.low) else prepared.low
    words, opener = _words(low)
    stops = sentences(low)
    if not words:
        prose = _prose(low, question, gold)
        return _committed(opener, gold, "yes or no in words") if opener and prose.state == "none" else prose
    parts = segments(low, no_revises=False)
    flips = sum(a.yes != b.yes for a, b in itertools.pairwise(words))
    for part in reversed(parts):
        inside = [w for w in words if part[0] <= w.begin < part[1]]
        if not inside:
            gone = refusal_in(low, *part)
            if gone is not None and part[0] > 0 and not WEAK.search(low, *part):
                return refused(gone)
            prose = _prose(low[: part[1]], question, gold, begin=part[0])
            if part[0] > 0 and prose.state == "committed":
                return prose
            continue
        led = by_cue(prepared, inside, part, stops)
        if led is not None:
            chosen, rule = led.mentions[0], led.rule
            if led.rule == "explicit answer" or flips < _FLIPS or len(parts) > 1:
                return _committed(chosen, gold, rule)
        if flips >= _FLIPS:
            return nothing("flip-flopping without a final answer", (inside[-1].begin, inside[-1].end))
        if len({w.yes for w in inside}) > 1:
            chosen = inside[-1]
            if not _CLAUSE_START.search(low[max(0, chosen.begin - 40) : chosen.begin]) or _torn(low, inside):
                return nothing("both yes and no", (inside[0].begin, inside[-1].end))
            # Each stands as an answer of its own: the last one counts if a sentence ends between them.
            if not re.search(r"[.!?;\n…]", low[inside[-2].end : chosen.begin]):
                return nothing("both yes and no", (inside[0].begin, chosen.end))
            return _committed(chosen, gold, "last answer")
        gone = _against(low, inside[-1], part)
        if gone is not None:
            return refused(gone)
        return _committed(inside[-1], gold, "yes or no in words")
    return nothing("no yes or no")


def _committed(said: Said, gold: bool, rule: str) -> Reading:
    return Reading("committed", said.yes is gold, rule, (said.begin, said.end))


def _torn(low: str, inside: list[Said]) -> bool:
    return (
        sum(
            bool(re.search(r"\b(?:maybe|possibly|perhaps|either|might)\b", low[max(0, w.begin - 24) : w.begin]))
            for w in inside
        )
        > 1
    )


def _against(low: str, said: Said, part: Span) -> Span | None:
    """Return a refusal in a later sentence that stands against a yes or no said before it."""
    gone = refusal_in(low, said.end, part[1])
    if gone is None or not re.search(r"[.!?\n]", low[said.end : gone[0]]):
        return None
    return (
        gone
        if re.search(
            r"\b(?:insufficient|cannot be (?:determined|answered)|unanswerable)\b", low[gone[0] : gone[1] + 20]
        )
        else None
    )


# What says yes or no only where it is a whole clause.
_WHOLE = re.compile(
    r"(?:^|[.!?;,:—\n(\"']|\banswer is|\b(?:would|i'd) (?:be|say))\s{0,3}[\"'(]?(?:(?P<yes>y|ok|okay|sure|right"
    r"|(?:that|this|it)(?:'s| is) (?:right"
    r"|so|the case)|(?:most |very |quite |highly )?(?:likely|probably)|i (?:do )?(?:think|believe|guess"
    r"|suppose) so"
    r"|it (?:seems|appears|looks) (?:so|that way)|sì|undoubtedly|you bet|by all means|naturally)"
    r"|(?P<no>n|(?:very |highly |most )?unlikely|(?:probably|possibly|perhaps|maybe|most likely|likely|certainly"
    r"|surely|clearly"
    r"|apparently|of course|i think|i believe|i'm afraid) not|not (?:really|exactly|likely|quite|so|the case|true"
    r"|correct|right)|never|no way"
    r"|i (?:don't|do not) (?:think|believe) (?:so|it)|i doubt (?:it|that)|(?:it )?(?:doesn't|does not) (?:seem"
    r"|appear|look) (?:so|that way|to be)|(?:it )?(?:seems|appears) not|(?:that|this|it)(?:'s| is) not (?:so|true"
    r"|right|correct|the case)"
    r"|hardly))"
    r"(?=[\"')]?\s{0,2}(?:$|[.!;,:—\n]))"
)


_OPENER = re.compile(r"[\s\"'*]*(sure|ok|okay|right|of course|certainly|absolutely)[!.,:]+\s+(?=\S)")


def _words(low: str) -> tuple[list[Said], Said | None]:
    """Return what says yes or no, and apart from it what only opens: "Sure! They are different species."."""
    opener = None
    if (opens := _OPENER.match(low)) is not None:
        opener = Said(opens.start(1), opens.end(1), True)
    found = [
        Said(m.start(m.lastgroup or 0), m.end(), m["yes"] is not None)
        for m in _WHOLE.finditer(low)
        if opener is None or m.start(m.lastgroup or 0) != opener.begin
    ]
    for match in _TOKEN.finditer(low):
        yes = match["yes"] is not None or match["cjk_yes"] is not None
        if (match["yes"] or match["no"]) and _LOOSE.match(match[0]):
            before = low[max(0, match.start() - 40) : match.start()]
            if opener is not None and match.start() == opener.begin:
                continue
            if not _CLAUSE_START.search(before) or re.match(
                r"\s(?:answer|that|color|colour|name|love|if|way|one|to)\b", low[match.end() :]
            ):
                continue
            if re.match(r"(?:they|it|you) d", match[0]) and re.match(r"(?:\snot|n't)\s[a-z]", low[match.end() :]):
                continue  # "they do not differ": the verb decides
            yes = yes and not re.match(r"(?:\sindeed)?(?:\snot\b|n't\b)", low[match.end() :])
        left = low[max(0, match.start() - 16) : match.start()]
        if re.search(r"\b(?:not|n't|never|neither|nor)\s(?:a\s|an\s)?$", left):
            yes = not yes
        if match["no"] == "no" and re.match(r"\s?\.\s?\d", low[match.end() : match.end() + 4]):
            continue
        if low[match.end() : match.end() + 3].lstrip(" \"'").startswith("?"):
            continue
        if re.match(r"[\"']?\s(?:would|could|might)\b", low[match.end() :]):
            continue  # "yes would require the same leaf"
        if not any(said.begin <= match.start() < said.end for said in found):
            found.append(Said(match.start(), match.end(), yes))
    return sorted(found, key=lambda said: said.begin), opener


@lru_cache(maxsize=4096)
def _asks_difference(question: str) -> bool | None:
    """Say whether a question asks for a difference (True), for sameness (False), or for neither (None)."""
    found = list(_SIGNAL.finditer(question.lower()))
    if not found:
        return None
    return found[0]["diff"] is not None


def _prose(low: str, question: str, gold: bool, begin: int = 0) -> Reading:
    """Read prose that affirms or denies what was asked."""
    gone = refusal_in(low, begin)
    plain = low
    for match in _SUBORDINATE.finditer(low, begin):
        plain = plain[: match.start()] + " " * (match.end() - match.start()) + plain[match.end() :]
    asked = _asks_difference(question)
    nouns = question_words(question)
    found: list[tuple[int, Said]] = []
    for match in _SIGNAL.finditer(plain, begin):
        if match[0] in ("other", "another", "agrees", "agree", "agreed") and asked is None:
            continue
        left = plain[max(begin, match.start() - 60) : match.start()]
        if _MODAL.search(left):
            continue
        same = (match["same"] is not None) is (_NEGATED.search(left) is None)
        yes = same if not asked else not same
        if asked is None:
            continue
        after = re.match(r"\s([a-z]+)", plain[match.end() :])
        found.append((1 if after and stem(after[1]) in nouns else 0, Said(match.start(), match.end(), yes, word=False)))
    if asked is None:
        for said in _predicate(plain, question, begin):
            found.append((1, said))
    if asked is False:  # "they share the genus but not the species"
        for match in re.finditer(r"\bbut not (?:of )?(?:the |a )?(?:same )?([a-z]+)\b", plain[begin:]):
            if stem(match[1]) in nouns:
                found.append((1, Said(begin + match.start(), begin + match.end(), False, word=False)))
    for match in _ECHO.finditer(plain, begin):
        found.append((1, Said(match.start(), match.end(), match["pos"] is not None, word=False)))
    found.sort(key=lambda item: item[1].begin)
    if gone is not None and (not found or gone[0] >= found[-1][1].begin or gone[1] >= found[-1][1].begin - 24):
        return refused(gone)
    if not found:
        weak = WEAK.search(low, begin)
        return refused(weak.span()) if weak else nothing("no yes or no")
    best = max(score for score, _ in found)
    chosen = [said for score, said in found if score == best][-1]
    return Reading("committed", chosen.yes is gold, "prose that affirms or denies", (chosen.begin, chosen.end))


def _predicate(plain: str, question: str, begin: int) -> list[Said]:
    """Find clauses that repeat what a question asks ("Did I sell the boat?": "you sold it", "you never sold it")."""
    wanted = {_irregular(word) for word in question_words(question)}
    found = []
    for match in re.finditer(r"[^.!?;\n,]+", plain[begin:]):
        clause = match[0]
        words = {_irregular(stem(w)) for w in re.findall(r"[a-z]+", clause)}
        short = bool(words & {"it", "them", "that", "so"}) and len(clause.split()) <= 5 and bool(words & wanted)
        if not (short or (wanted and len(words & wanted) * 2 >= min(len(wanted), 4))) or _MODAL.search(clause):
            continue
        negated = re.search(r"\b(?:not|never|no|neither|nor|cannot|none)\b|n't\b", clause) is not None
        found.append(Said(begin + match.start(), begin + match.end(), not negated, word=False))
    return found


_PAST = dict(
    pair.split("/")
    for pair in word_list(
        "sold/sell bought/buy went/go gone/go saw/see seen/see took/take got/get "
        "had/have made/make met/meet gave/give told/tell kept/keep left/leave paid/pay "
        "won/win ate/eat moved/move "
    )
)


def _irregular(word: str) -> str:
    return _PAST.get(word, word[:-1] if word.endswith("e") and len(word) > 3 else word)
