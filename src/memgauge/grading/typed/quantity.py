"""Counts and amounts: the committed number, compared exactly with the reference."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from memgauge.grading.typed.cues import (
    SO_AT_LAST,
    STOP_WORDS,
    TURNED_DOWN,
    Chosen,
    by_cue,
    cores,
    question_words,
    segments,
    sentences,
    stem,
)
from memgauge.grading.typed.numbers import Number, find_numbers
from memgauge.grading.typed.prepare import Prepared, Span
from memgauge.grading.typed.reading import UNREADABLE, Reading, nothing, refused
from memgauge.grading.typed.refusal import WEAK, refusal_in
from memgauge.grading.typed.units import Unit, unit_names
from memgauge.grading.typed.words import bordered

_MONEY = re.compile(
    r"\b(?:costs?|price[ds]?|pay|paid|paying|spend|spent|spending|fees?|money|owed?|owes|earn(?:ed)?"
    r"|bill(?:ed)?|charged?|budget|refund\w*"
    r"|income|salary|expenses?|revenue|savings?|dollars?|euros?|pounds? sterling|worth|total amount)\b"
)
_ASKED = re.compile(r"\b(?:how many|number of|how much)\s(?:more\s|fewer\s|total\s|of\s|full\s|whole\s)?([a-z°%]+)")
_EQUALS = re.compile(r"(?:=|\bequals?\b|→|\bmakes\b)\s{0,3}[($€£¥a-z.]{0,4}\s?$")
_TOTAL = re.compile(
    "(?:"
    + bordered(
        r"totals?|totall?ed|totall?ing|sum|altogether|in all|combined|overall|amounts? to|amounted to|amounting to"
        r"|c[oa]mes? to|c[oa]mes? out to|coming to|adds? up to|adding up to|leaves|leaving|left with"
        r"|brings? it to|brings? that to|brings? the \w+ to|bringing|making|gives|giving"
        r"|all told|count is|tally|remaining|zusammen|insgesamt|au total|en total|in totale|no total"
    )
    + r")\b"
)
_TOTAL_AFTER = re.compile(
    r"[^.!?\n\d$€£¥,;:]{0,40}?\b(?:in total|total|altogether|in all|overall|all together|combined"
    r"|together|all told|insgesamt|au total|en total|in totale)\b"
    r"(?!\s?(?:of|is|was|=|comes?|came|then|amounts?)(?!\w))"
)
_LEAD = re.compile(
    r"(?:[\s\"'*(-]|\b(?:you|i|we|it|there|that|they|she|he|only|just|exactly|have|own|owns|has|had|is"
    r"|are|were|was|did|do|'s|'ve|yes|sure|well"
    r"|currently|now|right|at present|a|total|of|counted?|counts?|see|find|found|the|your|my|paid|spent"
    r"|bought|read|visited|practi[sc]ed|used|so|far|by|count|final"
    r"|cost|costs|mentioned|named|altogether|in|all|i'd say|would|say|think|believe|probably|likely|maybe"
    r"|perhaps|possibly|approximately)\b[,:]?)*"
)
_LISTED = re.compile(r"(?:\s?[a-z'-]+){0,6}?\s?(?:,|and|&|plus|,\s?and|;)\s?(?:[a-z'-]+\s){0,6}?[($€£¥]?\s?")
_ANY = re.compile(
    r"(?:n't|\bnot|\bnever|\bwithout)\b[^.!?;\n\d]{0,40}?\b(?:any|a single (?:one|\w+)|a (?:cent|penny"
    r"|thing|dime)|one)\b|\bnot (?:a single \w+|one)\b|\bneither\b|\bzilch\b"
    r"|\bzip\b|\bfree(?: of charge)?\b|\b(?:keine?[rns]?|nichts|aucune?|rien|ningun[oa]?|ninguno|nada"
    r"|nessun[oa]?|niente|nenhum[a]?|geen)\b|没有|零"
)
_MAY_SAY_NONE = re.compile(rf"n't|without|没|零|{bordered('no|ne|ni[enc]|nad|free|ze|zi|kein|auc|rien|geen')}")
_CONCESSION = re.compile(r"\b(?:though|although|while|whilst|despite|even if|albeit)\b[^.!?\n]{0,60}$")
_HEDGED = re.compile(
    r"\b(?:probably|likely|perhaps|maybe|possibly|guess|think|believe|say|would be|estimate|assume"
    r"|suppose|suspect|seems?|appears?|might|could|may|should|must"
    r"|if i had to|go with|presumably|wahrscheinlich|vielleicht|peut-être|quizás|forse|talvez|probablement\w*)\b"
)
_NOW = re.compile(r"\b(?:now|currently|these days|nowadays|at present|at the moment|today|remain(?:s|ing)?|still)\b")
_OPENED = re.compile(r"[\s\"'*(-]*(?:[^.;]{0,60}[,:]\s*)?")
_TAKEN_OFF = re.compile(r"\b(?:less|minus|refund\w*|discount\w*|returned|sold|gave|back|off|lost)\b")
# Operands that are worked out before a colon: "2 lamps at $117.50 each: $235".
_WORKED = re.compile(r"\b(?:each|per|apiece|times|minus|plus|less|multiplied)\b[^:\n]{0,40}[:→]\s?\S?$")
_PICKED = re.compile(r"(?:\bof (?:which|them|these|those|whom)\s(?:only\s)?|(?:[;,]|\bbut)\sonly\s)\Z")
_IF_ELSE = re.compile(r"\bif\b[^.!?\n]{0,160}(?:\botherwise\b|[,;]\s?(?:or )?else\b|\bif not\b)")
_FLIPS = 3


@lru_cache(maxsize=4096)
def asked_unit(question: str) -> tuple[Unit, ...]:
    """Return the unit that a question asks for ("How many hours"), empty where it asks for things or says nothing.

    Money of an unknown currency is `money:` with no code.
    """
    low = question.lower()
    if re.search(r"\bpercent(?:age)?\b|%|\bper cent\b", low):
        return unit_names()["%"]
    match = _ASKED.search(low)
    if match is not None and len(match[1]) > 2 and match[1] in unit_names():
        return unit_names()[match[1]]
    if match is not None and match[0].startswith(("how many", "number of")):
        return ()
    return (Unit("money:"),) if _MONEY.search(low) else ()


@lru_cache(maxsize=4096)
def reference_number(reference: str) -> Number | None:
    """Return the number that a reference is, or None where it is something else."""
    low = reference.strip().lower()
    found = [n for n in find_numbers(low) if n.usable or n.kind == "label"]
    if len(found) != 1 or found[0].flaw:
        return None
    rest = re.sub(r"[\W_]+", " ", low[: found[0].begin] + " " + low[found[0].end :]).split()
    return found[0] if len(rest) <= 4 else None


def read_quantity(prepared: Prepared, question: str, reference: str, *, counting: bool) -> Reading:
    """Read the number that a text commits to and compare it exactly with the reference's.

    A unit or currency that contradicts the reference's (or the question's) is wrong; an omitted one is fine.
    """
    gold = reference_number(reference)
    if gold is None:
        return UNREADABLE
    wanted = gold.units or asked_unit(question)
    found = find_numbers(prepared.low) or _clock(prepared, wanted)
    if (
        found
        and all(n.flaw == "questioned" for n in found if n.kind != "label")
        and not TURNED_DOWN.search(prepared.low, found[-1].end)
    ):
        found[-1].flaw = None  # "maybe 3?" is a hedged answer when nothing else is said
    numbers = [n for n in found if n.usable]
    numbers = _typed(numbers, wanted, counting=counting)
    zeros = _zeros(prepared.low, question, numbers)
    plain = [n for n in numbers if n.kind != "zero" and not any(z.begin <= n.begin < z.end for z in zeros)]
    numbers = sorted(plain + zeros, key=lambda n: n.begin)
    stops = sentences(prepared.low)
    chosen, rule = _commit(prepared, numbers, question, stops, counting=counting)
    if isinstance(chosen, tuple):
        return refused(chosen) if rule == "refusal" else nothing(rule, chosen)
    if chosen is None:
        gone = refusal_in(prepared.low, broad=True) or _weak(prepared.low)
        return refused(gone) if gone and rule == "no value" else nothing(rule)
    span = (chosen.begin, chosen.end)
    if not chosen.units and any(u.is_money for u in wanted) and _counts_things(prepared.low, chosen, question):
        return nothing("a count of things is no amount of money", span)
    if chosen.flaw:
        return nothing(
            {"range": "a range or two candidates", "bound": "a bound or an approximation"}[chosen.flaw], span
        )
    return Reading("committed", same_quantity(chosen, gold, wanted), rule, span)


_CLOCK = re.compile(r"[\s\"'(*]*(\d{1,3}):([0-5]\d)(?::([0-5]\d))?[\s\"').*]*")


def _clock(prepared: Prepared, wanted: Sequence[Unit]) -> list[Number]:
    """Read "1:30" as hours and minutes where a stretch of time is asked for and nothing else is said."""
    timed = any(unit.dimension == "time" for unit in wanted)
    spans = [*cores(prepared), *sentences(prepared.low)[:1]] if timed else []
    match = next((m for span in spans if (m := _CLOCK.fullmatch(prepared.low, *span))), None)
    if match is None:
        return []
    seconds = 3600 * int(match[1]) + 60 * int(match[2]) + int(match[3] or 0)
    return [Number(match.start(1), match.end(match.lastindex or 2), (Fraction(seconds),), unit_names()["seconds"])]


def _weak(low: str) -> Span | None:
    match = WEAK.search(low)
    return match.span() if match else None


def same_quantity(found: Number, gold: Number, wanted: Sequence[Unit]) -> bool:
    """Say whether two numbers are the same amount, exactly; `wanted` is the reference's unit or the question's."""
    if not found.units:
        plain = any(v == g for v in found.values for g in gold.values[:1])
        share = any(u.dimension == "percent" for u in gold.units) and found.values[0] * 100 == gold.values[0]
        return plain or share
    for unit in found.units:
        for other in wanted or (None,):
            if other is None:
                factor = unit.factor if unit.dimension == "percent" else Fraction(1)
            elif unit.dimension == other.dimension:
                factor = unit.factor / other.factor
            elif (other.dimension == "money:" and unit.is_money) or (unit.dimension == "percent" and not gold.units):
                factor = unit.factor
            else:
                continue
            # "1.500" is fifteen hundred where the point separates thousands, which it never does beside $ or £.
            english = unit.dimension in ("money:USD", "money:GBP")
            if any(v * factor == gold.values[0] for v in (found.values[:1] if english else found.values)):
                return True
    return False


def _typed(numbers: list[Number], wanted: Sequence[Unit], *, counting: bool) -> list[Number]:
    """Leave out numbers of another dimension where some number has the wanted one, or where things are counted."""
    dimensions = {u.dimension for u in wanted}

    def fits(number: Number) -> bool:
        return any(u.dimension in dimensions or ("money:" in dimensions and u.is_money) for u in number.units)

    if dimensions and any(fits(n) for n in numbers):
        return [n for n in numbers if fits(n) or n.kind == "zero"]
    if dimensions and any(not n.units for n in numbers):
        other = {"time", "calendar"} if any(d.startswith("money") for d in dimensions) else set()
        return [n for n in numbers if not any(u.dimension in other for u in n.units)]
    if counting and not dimensions:
        return [
            n for n in numbers if not n.units or all(u.dimension in ("cup", "spoon", "temperature") for u in n.units)
        ]
    return numbers


def _counts_things(low: str, number: Number, question: str) -> bool:
    """Say whether the word after a number is a thing of the question: "235 lamps" is no price."""
    after = re.match(r"\s([a-z]+)", low[number.end : number.end + 40])
    return after is not None and after[1].endswith("s") and stem(after[1]) in question_words(question)


def _zeros(low: str, question: str, numbers: Sequence[Number]) -> list[Number]:
    """Return the places that say "none", as numbers; "none mentioned" is a refusal and no zero."""
    times = "how many times" in question.lower() or "how often" in question.lower()
    spans = [
        (n.begin, n.end)
        for n in numbers
        if n.kind == "zero" and (low[n.begin : n.end] != "never" or times) and not low.startswith(" else", n.end)
    ]
    if _MAY_SAY_NONE.search(low):
        spans += [m.span() for m in _ANY.finditer(low)]
        nouns = question_words(question)
        for match in re.finditer(r"\bno\s((?:[a-z-]+\s?){1,4})", low):
            if any(stem(word) in nouns for word in match[1].split()):
                spans.append(match.span())
    return [Number(a, b, (Fraction(0),), kind="zero") for a, b in sorted(spans) if not _refuses(low, a, b)]


def _refuses(low: str, begin: int, end: int) -> bool:
    found = refusal_in(low, max(0, begin - 1), min(len(low), end + 50))
    return found is not None and found[0] < end


@lru_cache(maxsize=4096)
def _nouns(question: str) -> frozenset[str]:
    """Return the stems of what is counted: the words after "how many", up to the verb."""
    match = re.search(r"\b(?:how many|number of|how much)\s((?:[\w'-]+\s?){1,6})", question.lower())
    words = re.findall(r"[\w-]+", match[1]) if match else re.findall(r"[\w-]+", question.lower())
    nouns: list[str] = []
    for word in words:
        if match and word in STOP_WORDS and word not in ("different", "of") and nouns:
            break
        if word not in STOP_WORDS:
            nouns.append(stem(word))
    return frozenset(nouns)


def _commit(
    prepared: Prepared, numbers: list[Number], question: str, stops: Sequence[Span], *, counting: bool
) -> tuple[Number | Span | None, str]:
    """Return the committed number and why, or the refusal that came last, or None and why."""
    low = prepared.low
    parts = segments(low)
    values = []
    for part in parts:
        values += [n.values[0] for n in numbers if part[0] <= n.begin < part[1] and n.kind == "plain"][:1]
    flips = sum(a != b for a, b in itertools.pairwise(values))
    for part in reversed(parts):
        inside = [n for n in numbers if part[0] <= n.begin < part[1]]
        if any(n.kind != "weak" for n in inside):
            inside = [n for n in inside if n.kind != "weak"]
        if not inside:
            if (gone := _refused_after(low, part)) is not None:
                return gone, "refusal"
            continue
        led = by_cue(prepared, inside, part, stops)
        if len({n.values[0] for n in inside}) > 1 and _IF_ELSE.search(low, *part):
            return None, "depends on a condition"
        if led is None and flips >= _FLIPS:
            return None, "flip-flopping without a final answer"
        chosen, rule = (
            _pick_led(low, led, question, part, stops, counting=counting)
            if led
            else _pick(low, inside, question, part, stops, counting=counting)
        )
        if chosen is not None and (gone := _outweighed(low, chosen, led is not None, part)) is not None:
            return gone, "refusal"
        return chosen, rule
    return None, "no value"


def _refused_after(low: str, part: Span) -> Span | None:
    return refusal_in(low, *part)


def _outweighed(low: str, chosen: Number, led: bool, part: Span) -> Span | None:
    """Return the refusal that stands against a number: after it, or before it when nothing marks it as a guess."""
    after = refusal_in(low, chosen.end, part[1])
    if after is not None and not led:
        between = low[chosen.end : after[0]]
        doubt = WEAK.search(low, after[0], min(len(low), after[1] + 24))
        if not _CONCESSION.search(between) and not doubt and not re.match(r"\s?\)?[.,;:]?\s?\(", between):
            return after
    before = refusal_in(low, part[0], chosen.begin)
    if before is not None and not led and before[1] <= chosen.begin:
        gap = low[before[1] : chosen.begin]
        clause = max((gap.rfind(c) for c in ".!?;,:\n—"), default=-1)
        bare = len(gap[clause + 1 :].split()) <= 1 and clause >= 0
        if not bare and not _HEDGED.search(gap) and not re.search(r"\bbut\b", gap):
            return before
    return None


_STATED = ("the current value", "counts what is asked", "the sum of the others", "what is left", "the result")


def _pick_led(
    low: str, led: Chosen[Number], question: str, part: Span, stops: Sequence[Span], *, counting: bool
) -> tuple[Number | None, str]:
    """Choose among the numbers that an answer cue leads to: the total, what a clause says is asked, else the first."""
    best = _equated(low, led.mentions) or _total(low, led.mentions)
    if best is None and len({n.values[0] for n in led.mentions}) > 1:
        found, rule = _pick(low, led.mentions, question, (led.at, part[1]), stops, counting=counting)
        best = found if rule in _STATED else None
        last = led.mentions[-1]
        if best is None and SO_AT_LAST.search(low, led.at, last.begin) and not low[last.end :].strip(" .!*)\"'\n"):
            best = last
    return best or led.mentions[0], led.rule


def _equated(low: str, mentions: Sequence[Number]) -> Number | None:
    hits = [n for n in mentions if _EQUALS.search(low, max(0, n.begin - 12), n.begin)]
    return hits[-1] if hits else None


def _total(low: str, mentions: Sequence[Number]) -> Number | None:
    """Return the number that is called the total."""
    at = 0
    found = None
    for i, number in enumerate(mentions):
        cues = list(_TOTAL.finditer(low, max(at, number.begin - 60), number.begin))
        cue = cues[-1] if cues else None
        stop = re.search(r"[.!?\n](?=\s)", low[cue.end() : number.begin]) if cue else None
        if cue is not None and stop is None:
            copula = re.search(r"\b(?:is|was|are|were|of|to|=|:)\s?\S{0,2}$", low[cue.end() : number.begin])
            later = mentions[i + 1] if i + 1 < len(mentions) else None
            gap = low[number.end : later.begin] if later is not None else "."
            rest = low[number.end : mentions[-1].begin]
            if (
                copula
                and copula[0].startswith("of")
                and re.search(r"(?:\b(?:is|was|equals|gives|makes|are|comes to)|=)\s?\S?$", rest)
            ):
                continue  # "the sum of $95 and $140 is $235"
            if copula or not re.search(r"\b(?:is|was|are|were|to|=)\s?\S?$", gap) or len(gap) > 40:
                found = number
                at = number.end
            continue
        after = _TOTAL_AFTER.match(low, number.end)
        if after is not None:
            found = number
        at = number.end if after is None else after.end()
    return found


def _pick(
    low: str, inside: Sequence[Number], question: str, part: Span, stops: Sequence[Span], *, counting: bool
) -> tuple[Number | None, str]:
    """Choose a number where no cue names the answer."""
    plain = [n for n in inside if n.kind != "zero"]
    if not plain:
        return inside[-1], "the only value"
    opens = max((a for a, b in stops if a <= inside[0].begin < b), default=part[0])
    if inside[0].kind == "zero" and _OPENED.fullmatch(low, max(part[0], opens), inside[0].begin):
        return inside[0], "leading value"
    named = _equated(low, plain) or _total(low, plain)
    if named is not None:
        return named, "the total"
    if len({(n.values[0], n.units) for n in plain}) == 1:
        return plain[-1], "the only value"
    apart = len(plain) > 2 and re.search(r"[a-z]", low[plain[-2].end : plain[-1].begin])
    if apart and sum(n.values[0] for n in plain[:-1]) == plain[-1].values[0]:
        return plain[-1], "the sum of the others"
    if apart and sum(n.values[0] for n in plain[1:]) == plain[0].values[0]:
        if _TAKEN_OFF.search(low, plain[0].end, plain[-1].begin):
            return plain[-1], "what is left"
        return plain[0], "the sum of the others"
    if not low[plain[-1].end : part[1]].strip(" .!*)\"'\n") and _WORKED.search(low[part[0] : plain[-1].begin]):
        return plain[-1], "the result"
    picked = [n for n in plain if _PICKED.search(low, max(0, n.begin - 24), n.begin)]
    if picked:
        return picked[-1], "counts what is asked"
    current = [n for n in plain if _NOW.search(_clause_of(low, n, part))]
    if current and len({n.values[0] for n in current}) == 1:
        return current[-1], "the current value"
    lead = _LEAD.match(low, part[0])
    leads = lead is not None and lead.end() >= plain[0].begin
    leads = leads and not _LISTED.fullmatch(low[plain[0].end : plain[1].begin])
    if counting and not (leads and re.match(r"\s?(?:$|[.,:;(!\n—-])", low[plain[0].end :])):
        matched = _counting(low, plain, _nouns(question))
        if len({n.values[0] for n in matched}) == 1:
            return matched[-1], "counts what is asked"
    if leads or plain[0].flaw == "range":
        return plain[0], "leading value"
    if not counting:
        return None, "operands without a total"
    for begin, end in reversed(stops):
        here = [n for n in plain if begin <= n.begin < end]
        if here:
            return (here[-1], "last value") if len({n.values[0] for n in here}) == 1 else (None, "several values")
    return None, "several values"


def _clause_of(low: str, number: Number, part: Span) -> str:
    """Return the clause around a number: to the nearest comma, "but", "and" or stop on either side."""
    begin = max(part[0], *(m.end() for m in _EDGE.finditer(low, max(part[0], number.begin - 80), number.begin)), 0)
    limit = min(part[1], number.end + 80)
    after = _EDGE.search(low, number.end, limit)
    return low[begin : after.start() if after else limit]


_EDGE = re.compile(r"[,;:!?\n]|\.(?!\d)|\b(?:but|and|while|then)\b")


def _counting(low: str, plain: Sequence[Number], nouns: frozenset[str]) -> list[Number]:
    """Return the numbers whose next words are closest to what is asked ("3 educational games and 2 other games")."""
    scores: list[int] = []
    for i, number in enumerate(plain):
        end = plain[i + 1].begin if i + 1 < len(plain) else len(low)
        words = [stem(word) for word in re.findall(r"[a-z]+", low[number.end : min(end, number.end + 48)])[:4]]
        score = len(set(words) & nouns)
        if words[:1] == ["of"] and words[1:2] and words[1] in ("which", "those", "these", "them", "whom"):
            score += max(1, scores[-1] if scores else 1)  # "5 board games, 3 of which are educational"
        scores.append(score)
    best = max(scores, default=0)
    return [n for n, score in zip(plain, scores, strict=True) if score == best] if best else []
