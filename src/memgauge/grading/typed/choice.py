"""A or B: the chosen option, named by its letter, by its number, or by its content. Never a letter inside a word."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from memgauge.grading.typed.cues import SO_AT_LAST, STOP_WORDS, Chosen, by_cue, cores, segments, sentences, stem
from memgauge.grading.typed.prepare import Prepared, Span
from memgauge.grading.typed.reading import UNREADABLE, Reading, nothing, refused
from memgauge.grading.typed.refusal import refusal_in
from memgauge.grading.typed.words import word_list

_OPTION = re.compile(
    r"(?:^|[\s.;,?:(])\(?([A-D])(?:[.):]|\s-)\)?\s+([^?]*?)(?=(?:[\s.;,(])\(?[B-D](?:[.):]|\s-)\)?\s+|\Z|\n)", re.S
)
_DURATION = re.compile(
    r"\b(?:duration|period|event|interval|span|option)\s([1-4])\s?[:=(-]\s?([^.;\n]+)", re.IGNORECASE
)
_LETTER = re.compile(r"(?:(?<![^\W_])|(?<=[\u2e80-\u9fff]))(?<!')([A-Da-d])(?![^\W_])(?!')(?!\.[a-z]\.)")
_NUMBERED = re.compile(
    r"\b(?:duration|period|event|interval|span|option|number|no\.?)\s?#?\(?(?P<n>[1-4]|one|two|three|four)\b"
    r"|\bthe (?P<o>first|second|third|fourth|former|latter|1st|2nd|3rd|4th)\b(?! of)(?! (?:day|week|month"
    r"|time|photo|session|chat|one was mentioned))"
)
_NUMBERS = {
    word: number
    for number, words in enumerate(
        ("1 one first former 1st", "2 two second latter 2nd", "3 three third 3rd", "4 four fourth 4th"), 1
    )
    for word in words.split()
}
# What may follow a capital A that is an option; a lower-case word that is none of these makes it an article.
_AFTER_A = re.compile(
    r"\s(?:is|was|has|had|lasted|lasts|took|takes|ran|runs|wins?|because|since|as|over|rather|and|or"
    r"|vs\.?|versus|than|appears?|seems?|would|must|should|clearly"
    r"|definitely|certainly|obviously|by|with|then|for|being|not|it|if|but|spans?|spanned|exceeds?"
    r"|exceeded|outlasts?|outlasted|comes?|came|looks?|will|the|in|on|at|to|so|too|again|covers?"
    r"|covered|goes|went|ended|ends|started|starts|edges|still|only|isn't|wasn't|instead|which|where"
    r"|while|when|though|although|cannot|can|could|might|may|according|based)\b"
)
_BEFORE_A = re.compile(
    r"(?:\b(?:option|answer|choice|letter|choose|pick|select|say|with|answer is|is|be|so|not|than|and|or"
    r"|to|therefore|thus|hence|both|neither|nor|either|go for|it's|it is)\b[:\s\"'(]{0,3}|[(\[\"':=→])$"
)
_LONGER = (
    r"longer|longest|greater|more time|exceed(?:s|ed)?|outlast(?:s|ed)?|lengthier|larger|wins?|more (?:days"
    r"|weeks|months|years|hours|minutes)|further|last(?:s|ed) the most"
)
_SHORTER = (
    r"not last as long as|n't last as long as|shorter|shortest|briefer|less time"
    r"|fewer (?:days|weeks|months|years|hours|minutes)|less than|quicker|faster"
)
_COMPARED = re.compile(rf"\b(?:(?P<more>{_LONGER})|(?P<less>{_SHORTER}))\b|(?<=\s)(?:(?P<gt>>)|(?P<lt><))(?=\s)")
_EQUAL = re.compile(
    r"\b(?:equal(?:ly)?|same (?:length|duration|amount|time)|equally long|identical|a tie|tied"
    r"|no difference|neither|both (?:a|of|are|were|last|durations|options|took)|exactly as long"
    r"|(?<!not last )(?<!n't last )as long as)\b|\bboth[\s.!]*$"
)
_REJECT_BEFORE = re.compile(
    r"\b(?:not|isn't|wasn't|rather than|instead of|n't be|cannot be|never|rul(?:e|es|ed|ing) out"
    r"|eliminat(?:e|es|ed|ing)|exclud(?:e|es|ed|ing)|reject(?:s|ed|ing)?|unlike|as opposed to|neither|nor"
    r"|n't (?:choose|pick))\s(?:(?:option|answer|the|duration|for)\s){0,2}[(\"']?$"
)
_REJECT_AFTER = re.compile(
    r"[)\"']?\s(?:is|was|can be|must be)\s(?:wrong|incorrect|out|ruled out|not (?:it|right|correct"
    r"|the (?:answer|longer|one))|false|eliminated|excluded)\b|[)\"']?\s(?:is|was) not[\s\"')]*(?:[.!;,\n]|$)"
    r"|[)\"']?\s(?:isn't|wasn't|is not"
    r"|was not) (?:it|right|correct|the (?:answer|one))\b"
)
_THAN = re.compile(
    r"\b(?:than|versus|vs\.?|compared (?:to|with)|over|against|exceed(?:s|ed)?|outlast(?:s|ed)?"
    r"|beats?)\s(?:(?:option|the|my|your|duration|that of|for)\s){0,2}[(\"']?$"
)
_JOINED = re.compile(
    r"[)\"'.]?\s?(?:or|/|and|&|,|,? ?or(?: maybe| possibly| perhaps)?|vs\.?|versus)\s?(?:(?:option"
    r"|duration|maybe|perhaps|possibly)\s){0,2}[(\"']?"
)


@dataclass(frozen=True, slots=True)
class Options:
    """What a question offers."""

    letters: tuple[str, ...]
    order: tuple[str, ...]
    """The letter of duration 1, 2, ..."""
    words: tuple[frozenset[str], ...]
    """For each letter the content words that no other option has."""
    wants_longer: bool


@dataclass(slots=True)
class Pick:
    """An option named in the text."""

    begin: int
    end: int
    letter: str
    how: str
    flaw: str | None = None


@lru_cache(maxsize=4096)
def read_options(question: str) -> Options:
    """Return the options of a question.

    >>> asked = "Which is longer? Duration 1: my stay. Duration 2: the project."
    >>> options = read_options(f"{asked} A. Duration 2 is longer. B. Duration 1 is longer.")
    >>> options.order, [sorted(w) for w in options.words]
    (('B', 'A'), [['project'], ['stay']])
    """
    low = question.lower()
    texts = {m[1]: m[2].strip(" .;,") for m in _OPTION.finditer(question)}
    durations = {int(m[1]): m[2].strip(" .,") for m in _DURATION.finditer(question)}
    letters = tuple(sorted(texts)) if len(texts) > 1 else ("A", "B")
    if len(texts) < 2:
        versus = re.search(r"[:,?]\s*(.+?)\s*(?:,\s*)?\b(?:vs\.?|versus|or|compared to)\b\s*(.+?)[?.]", question)
        texts = (
            {"A": durations.get(1, ""), "B": durations.get(2, "")}
            if durations
            else {"A": versus[1], "B": versus[2]}
            if versus
            else {}
        )
    order = list(letters)
    full: dict[str, str] = {}
    for letter in letters:
        named = re.search(r"\b(?:duration|period|event|interval|span|option)\s([1-4])\b", texts.get(letter, "").lower())
        full[letter] = texts.get(letter, "")
        if named and int(named[1]) <= len(order):
            order[int(named[1]) - 1] = letter
            full[letter] = durations.get(int(named[1]), "")
    bags = {
        k: {stem(w) for w in re.findall(r"[^\W\d_]+", v.lower()) if w not in _PLAIN and len(w) > 1}
        for k, v in full.items()
    }
    words = tuple(frozenset(bags[k] - set().union(*(bags[o] for o in letters if o != k))) for k in letters)
    asked = re.search(rf"\b(?:(?P<more>{_LONGER})|(?P<less>{_SHORTER}))\b", low)
    return Options(letters, tuple(order), words, asked is None or asked["more"] is not None)


_PLAIN = STOP_WORDS | frozenset(
    word_list(
        "duration period event interval span option longer shorter long time first second lasted took was "
        "between until from start end spent "
    )
)


def read_choice(prepared: Prepared, question: str, reference: str) -> Reading:
    """Read which option a text selects."""
    gold = re.fullmatch(r"\s*\(?([A-Da-d])[.)]?\s*", reference) or re.match(r"\s*\(?([A-D])[.):]\s", reference)
    if gold is None:
        return UNREADABLE
    options = read_options(question)
    low = prepared.low
    picks = _picks(prepared, options)
    stops = sentences(low)
    parts = segments(low)
    flips = [p.letter for p in picks if p.how == "letter" and p.flaw is None]
    for part in reversed(parts):
        inside = [p for p in picks if part[0] <= p.begin < part[1]]
        if not inside:
            gone = refusal_in(low, *part)
            if gone is not None:
                return refused(gone)
            if _EQUAL.search(low, *part):
                return nothing("no selection", part)
            continue
        sound = [p for p in inside if p.flaw is None]
        led = by_cue(prepared, [p for p in sound if p.how != "content"] or sound, part, stops)
        if led is None and len(parts) > 2 and sum(a != b for a, b in itertools.pairwise(flips)) >= 3:
            return nothing("flip-flopping without a final answer")
        if len(picks) == 1 and picks[0].flaw == "questioned":
            picks[0].flaw, sound = None, inside  # "A?" is a hedged answer where nothing else is said
        return _decide(low, inside, sound, led, options, part, gold[1].upper())
    gone = refusal_in(low, broad=True)
    return refused(gone) if gone else nothing("no selection")


def _decide(
    low: str, inside: list[Pick], sound: list[Pick], led: Chosen[Pick] | None, options: Options, part: Span, gold: str
) -> Reading:
    won = _comparison(low, inside, options, part)
    if led is not None and led.rule == "explicit answer":
        chosen, rule = led.mentions[0], led.rule
        if won is not None and (chosen.how != "letter" or won.begin == chosen.begin):
            chosen = won  # "Answer: Lyon was shorter"
        elif SO_AT_LAST.search(low, led.at, led.mentions[-1].begin) and _bare(low, led.mentions[-1]):
            chosen = led.mentions[-1]  # "Answer: B took 2 weeks, so A"
    elif won is not None:
        chosen, rule = won, "the comparison"
        letters = [p for p in sound if p.how == "letter" and p.begin != won.begin]
        leading = [p for p in letters if not low[part[0] : p.begin].strip(" \"'*(-")]
        closing = [p for p in letters if p.begin > won.begin and _bare(low, p)]
        if led is not None and led.mentions[0].how == "letter":
            chosen, rule = led.mentions[0], led.rule
        elif leading and leading[0].letter != won.letter:
            return nothing("letter and text contradict each other", (leading[0].begin, won.end))
        elif closing:
            chosen, rule = closing[-1], "last letter"
    elif led is not None:
        chosen, rule = led.mentions[0], led.rule
    else:
        equal = _EQUAL.search(low, *part)
        if equal is not None or not sound:
            rejected = {p.letter for p in inside if p.flaw == "rejected"}
            left = [k for k in options.letters if k not in rejected]
            if equal is None and rejected and len(left) == 1 and not any(p.flaw == "joined" for p in inside):
                span = (inside[-1].begin, inside[-1].end)
                return Reading("committed", left[0] == gold, "elimination", span)
            return nothing("no selection", (inside[0].begin, inside[-1].end))
        letters = [p for p in sound if p.how == "letter"]
        best = [p for p in letters if _bare(low, p)] or letters or [p for p in sound if p.how == "number"] or sound
        if best[0].how == "content" and len({p.letter for p in best}) > 1:
            return nothing("no selection", (best[0].begin, best[-1].end))
        if len({p.letter for p in best}) > 1 and not re.search(r"[.!?;\n]", low[best[-2].end : best[-1].begin]):
            return nothing("no selection", (best[0].begin, best[-1].end))
        chosen, rule = best[-1], "the selected option"
    if won is not None and chosen.letter != won.letter and chosen.how == "letter" and won.begin > chosen.end:
        return nothing("letter and text contradict each other", (chosen.begin, won.end))
    gone = refusal_in(low, chosen.end, part[1]) if led is None or led.rule != "explicit answer" else None
    if (
        gone is not None
        and won is None
        and not re.search(r"\b(?:though|although|even if|while)\b", low[chosen.end : gone[0]])
    ):
        return refused(gone)
    return Reading("committed", chosen.letter == gold, rule, (chosen.begin, chosen.end))


def _bare(low: str, pick: Pick) -> bool:
    """Say whether a letter stands by itself, as an answer does, and is not the subject of a sentence about it."""
    left = low[max(0, pick.begin - 12) : pick.begin]
    return bool(re.match(r"[)\]\"']{0,2}\s{0,2}(?:$|[.,;:!)\n—-])", low[pick.end : pick.end + 6])) and not re.search(
        r"\b(?:for|of|against|in|than|unlike|about)\s[\"'(]?$", left
    )


_LONE_LETTER = re.compile(r"[\s\"'(\[]*([a-d])[\s\"').\]!]*")
_LONE_NUMBER = re.compile(r"[\s\"'(]*(?:number |option )?([12]|first|second|former|latter)[\s\"').]*")


def _alone(low: str, spans: Sequence[Span], options: Options) -> list[Pick] | None:
    """Read a stretch that is a letter or a number and nothing else; empty for a letter that is no option."""
    for span in spans:
        if (letter := _LONE_LETTER.fullmatch(low, *span)) is not None:
            known = letter[1].upper() in options.letters
            return [Pick(letter.start(1), letter.end(1), letter[1].upper(), "letter")] if known else []
        if (number := _LONE_NUMBER.fullmatch(low, *span)) is not None:
            return [Pick(number.start(1), number.end(1), options.order[_NUMBERS[number[1]] - 1], "number")]
    return None


def _picks(prepared: Prepared, options: Options) -> list[Pick]:
    text, low = prepared.text, prepared.low
    picks: list[Pick] = []
    alone = _alone(low, cores(prepared), options)
    if alone is not None:
        return alone
    for match in _LETTER.finditer(text):
        letter = match[1].upper()
        if letter in options.letters and _is_option(text, low, match):
            picks.append(Pick(match.start(), match.end(), letter, "letter"))
    for match in _NUMBERED.finditer(low):
        number = _NUMBERS[match["n"] or match["o"]]
        if number <= len(options.order):
            picks.append(Pick(match.start(), match.end(), options.order[number - 1], "number"))
    picks += _contents(low, options)
    if not picks:
        return _alone(low, sentences(low)[:1], options) or []
    picks.sort(key=lambda p: p.begin)
    for i, pick in enumerate(picks):
        left = low[max(0, pick.begin - 40) : pick.begin]
        if _REJECT_BEFORE.search(left) or _REJECT_AFTER.match(low, pick.end):
            pick.flaw = "rejected"
        elif _THAN.search(left) or re.search(r"[<>]\s?$", left):
            pick.flaw = "compared"
        elif low[pick.end : pick.end + 4].lstrip(" .)\"'").startswith("?"):
            pick.flaw = "questioned"
        before = picks[i - 1] if i else None
        if (
            before is not None
            and before.letter != pick.letter
            and before.how == pick.how != "content"
            and before.flaw is None
        ) and _JOINED.fullmatch(low[before.end : pick.begin]):
            before.flaw, pick.flaw = "joined", pick.flaw or "joined"
    return picks


def _is_option(text: str, low: str, match: re.Match[str]) -> bool:
    """Tell an option's letter from an article and from a list marker of something else."""
    char, begin, end = match[1], match.start(), match.end()
    left, right = low[max(0, begin - 24) : begin], text[end : end + 24]
    if re.match(r"\.\s?m\b", right.lower()):
        return False
    if char in "BCD":
        return re.search(r"\b(?:plan|vitamin|grade|hepatitis|gate|block|side|type|exhibit)\s$", left) is None
    if char in "bcd":
        return char == "b" or bool(re.match(r"[).]|$", right)) or bool(_BEFORE_A.search(left))
    enclosed = bool(re.match(r"[)\]\"']", right))
    if char == "a":
        named = re.search(r"\b(?:option|answer|choice|letter|answer is)\b[:\s\"'(]{0,3}$", left) is not None
        return (enclosed and left[-1:] in "([\"' " and left != "") or (
            named and re.match(r"\s*(?:$|[.,;:!?)\n]|\s(?:is|because)\b)", right) is not None
        )
    if re.match(r"\s*(?:$|[.,;:!?)\]\"'\n=<>…—-])", right) or enclosed:
        return True
    if not re.match(r"\s[a-z]", right):
        return True
    return bool(_AFTER_A.match(right))


def _contents(low: str, options: Options) -> list[Pick]:
    """Find where an option is named by its own words; a run of them is one mention."""
    picks: list[Pick] = []
    owner = {word: letter for letter, words in zip(options.letters, options.words, strict=True) for word in words}
    if not owner:
        return []
    for match in re.finditer(r"[^\W\d_]+", low):
        letter = owner.get(stem(match[0]))
        if letter is None:
            continue
        last = picks[-1] if picks else None
        if (
            last is not None
            and last.letter == letter
            and match.start() - last.end <= 16
            and not re.search(r"[.;,!?\n]", low[last.end : match.start()])
        ):
            last.end = match.end()
        else:
            picks.append(Pick(match.start(), match.end(), letter, "content"))
    return picks


def _comparison(low: str, inside: Sequence[Pick], options: Options, part: Span) -> Pick | None:
    """Return the option that the last comparison of a part makes the answer: "B lasted longer than A"."""
    two = len(options.letters) == 2
    winner = None
    for match in _COMPARED.finditer(low, *part):
        begin = max(part[0], *(low.rfind(mark, part[0], match.start()) + 1 for mark in (". ", "!", "?", ";", "\n")))
        before = [p for p in inside if begin <= p.begin < match.start() and p.flaw not in ("compared", "joined")]
        stop = re.compile(r"[.!?;\n](?!\d)").search(low, match.end(), part[1])
        end = stop.start() if stop else part[1]
        after = [p for p in inside if match.end() <= p.begin < end]
        said_of = re.compile(
            r"\s?(?:one|duration|period|of the two|option|time|event)?\s?(?:\w+\s)?(?:is|was|:|=|would be"
            r"|belongs to)\s?(?:the\s|my\s|your\s|option\s)?"
        ).match(low, match.end())
        more = match["more"] is not None or match["gt"] is not None
        found: Pick | None
        if before and before[-1].flaw in (None, "rejected"):
            found = before[-1]
            # The option's own letter may stand before its words: "B. Duration 2 is longer".
            negated = (
                re.search(r"\b(?:not|never|isn't|wasn't|n't)\s(?:\w+\s){0,2}$", low[found.end : match.start()])
                is not None
            )
            flipped = (not more) is options.wants_longer
            if negated is not flipped or found.flaw == "rejected":
                found = _other(found, options, low) if two else None
        elif after and said_of is not None and said_of.end() >= after[0].begin - 4 and after[0].flaw is None:
            found = after[0] if more is options.wants_longer else (_other(after[0], options, low) if two else None)
        elif after and after[0].flaw == "compared" and two and not before:
            found = _other(after[0], options, low)
            if (not more) is options.wants_longer:
                found = after[0]
        else:
            found = None
        winner = found or winner
    return winner


def _other(pick: Pick, options: Options, low: str) -> Pick:
    letter = next(k for k in options.letters if k != pick.letter)
    return Pick(pick.begin, pick.end, letter, "content")
