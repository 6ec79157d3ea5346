"""Does a text say that the information is not there? Phrases, in many languages; `abstention.py` weighs whole answers.

English is composed, a denial next to a word of telling or of information, so that no phrase list need be complete;
other languages are patterns in refusals.json.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from memgauge.grading.typed.prepare import Span
from memgauge.grading.typed.words import bordered

_NOT = (
    r"(?:\b(?:not|never|cannot|cant|nor|neither|nowhere|nothing|without|unable|no(?![,.!:])|dont|doesnt"
    r"|didnt|isnt|wasnt|hasnt|havent|couldnt"
    r"|fails? to|failed to|impossible|difficult|hard|lacks?|lacking|no one|nobody|none)\b|n't\b)"
)
# No digit in the gap, and no "as": "not 4, as I said" takes a number back and refuses nothing.
_GAP = r"(?:(?! as )[^.!?;\n\d]){0,70}?"
_TELL = (
    r"\b(?:mention\w*|specif(?:y|ies|ied|ically state\w*|ied\w*)|stat(?:e|es|ed|ing)|say|says|said"
    r"|discuss\w*|disclos\w+|reveal\w*"
    r"|indicat(?:e|es|ed|ing|ion|ions)|provided?|provides|clarif\w+|determin(?:e|ed|able)|tell|tells|told"
    r"|ascertain\w*|identif\w+"
    r"|infer(?:red)?|deduc\w+|establish(?:ed)?|recall|remember|answer(?:ed|able|s)?|respond"
    r"|inform(?:ation|ed)?|info|evidence|data"
    r"|details?|trace|reference[sd]?|documented|available|known|know|clear|given|listed|found|find|locate"
    r"|visible|legible|described?"
    r"|describes|noted?|talk(?:ed)? about|spoken? (?:of|about)|spoke (?:of|about)|shared|supplied|come up"
    r"|came up|comes up|brought up"
    r"|covered|enough|sufficient|idea|clue|clues|way (?:to|of)|basis|access|address(?:ed|es)?|explain\w*"
    r"|outlined|captured|logged"
    r"|recorded|records?|written down|readable|pinpoint|work out|figure|touch(?:ed|es)? (?:on|upon)"
    r"|cite[sd]?|divulge\w*|detailed"
    r"|elaborat\w*|certain from|see any|see (?:it|that|this)|spot|retrieve|context|memory of|recollection"
    r"|knowledge|hint\w*|help you with)\b"
)
_INFO = r"(?:information|info|data|context|details?|evidence|mentions?|records?|knowledge|references?|memory|clues?)"
_PHRASES = (
    rf"\b(?:insufficient|inadequate|incomplete|scant|scarce|lack of|lacks?|lacking|missing|absence of"
    rf"|absent|limited|too little"
    rf"|not enough|no)\b[^.!?;\n\d]{{0,30}}?\b{_INFO}\b",
    rf"\b{_INFO}\b[^.!?;\n\d]{{0,40}}?\b(?:is|are|was|were|remains?|seems?|appears?)\b[^.!?;\n\d]{{0,20}}?"
    r"\b(?:missing|absent|lacking|unavailable|unknown|unclear|insufficient|inadequate|incomplete|limited)\b",
    r"\b(?:unknown|unspecified|unclear|undetermined|indetermina\w+|unanswerable|unavailable|undisclosed"
    r"|unmentioned|unstated"
    r"|undocumented|unrecorded|unidentifiable|unknowable|inconclusive|omitted|undefined|unsaid|untold"
    r"|unanswered|unreadable|illegible|indiscernible|unreported|unlisted|unshared"
    r"|unrevealed|indistinct)\b",
    r"\b(?:need|needs|require|requires) (?:some )?(?:more|additional|further) (?:information|info"
    r"|details?|context|specifics|data)\b"
    r"|\brather not (?:guess|say|speculate|answer)\b|\bafraid not\b|\b(?:'d|would) need to (?:see|check"
    r"|look|know|have|read)\b",
    r"\bnot[_ -]mentioned\b|\bn/a\b|\bno (?:idea|clue|answer|mention|way to (?:know|tell|say))\b"
    r"|\bdunno\b|\bidk\b|\bbeats me\b"
    r"|\bwho knows\b|\bmystery to me\b|\b(?:your|anyone's) guess\b|\bsilent (?:on|about|regarding)\b"
    r"|\bomits?\b|\bleft out\b",
    r"\b(?:i|i'll|i'd|we) (?:\w+ )?(?:have to |must |will |would |need to |'ll )?(?:abstain|pass on"
    r"|decline|refrain)\b|\bi pass\b"
    r"|\bdeclin(?:e|ing) to answer\b|\brefus(?:e|ing) to (?:answer|guess)\b",
    r"\b(?:don't|do not|dont|didn't|did not) (?:really |actually |honestly )?(?:know|recall|remember"
    r"|have (?:that|this|it|the answer|any))\b",
    r"\b(?:can't|cannot|can not|couldn't|could not|unable to|not able to|not possible to|impossible to) (?:\w+ ){0,2}?"
    r"(?:say|tell|answer|know|determine|find|locate|help|assist|see|provide|give|extract|read|retrieve|guess)\b",
    r"\b(?:would|will) (?:only )?(?:need|require) (?:more|additional|further) (?:information|info|context|details?)\b",
    r"\b(?:could|would) be (?:pure|mere|just|only)? ?(?:a guess|guess(?:ing|work)|speculation)\b",
    r"\b(?:you|we|they|user) (?:have |has |had )?(?:did not|didn't|never|not) (?:\w+ )?(?:share|show|mention|tell"
    r"|say|provide"
    r"|give|specify|discuss|upload|send|post|describe|state)\b",
    r"\bhaven't (?:mentioned|told|shared|said|discussed|talked|specified|given|seen)\b",
)
_BROAD = (
    rf"{_NOT}{_GAP}\b(?:contain\w*|includ\w+|show|shows|shown|list|lists|display\w*|appear\w*|present|give"
    rf"|gives|have|has|had|record"
    r"|depict\w*|featur\w*|report\w*|ever|anything|anywhere|any)\b",
    r"\b(?:missing|absent) from\b|\btoo (?:blurry|blurred|dark|small|faint|far|unclear|pixelated|grainy|fuzzy|low)\b",
    r"(?:\bnot|n't) (?:there|here|in (?:the|our|this|any|these|those|my)\s\w+)\b",
    r"\b(?:can't|cannot|can not|could not|couldn't|unable to|not able to|not in a position to|won't"
    r"|will not)\s(?!be (?:wrong|anything|anyone)|help but|deny|wait)\w+",
    r"\bno (?:such|relevant|corresponding|matching)\b|\b(?:nothing|nowhere"
    r"|no answer)\b[^.!?;\n]{0,30}\b(?:chats?|conversations?|history|sessions?|messages?|photos?|records?"
    r"|there|found)\b",
    r"\bnothing (?:about|on|regarding|concerning|of the kind|of that)\b",
)
# Every pattern begins with the border of a word, before a letter or "'d", or with "n't": tell so first, and cheaply.
_START = r"(?:\b(?=[\w'])|(?=n't))"
_STRONG_RE = re.compile(f"{_START}(?:{'|'.join((*_PHRASES, f'{_NOT}{_GAP}{_TELL}'))})")
_BROAD_RE = re.compile(f"{_START}(?:{'|'.join(_BROAD)})")
_IDIOMS = re.compile(
    r"\b(?:no doubt|not only|not to mention|nothing but|no question about|no wonder|without (?:a )?doubt|if not)\b"
)
WEAK = re.compile(
    r"\b(?:(?:not|isn't|n't|never|hardly) (?:be )?(?:entirely |completely |fully |100% |absolutely "
    r"|totally |quite |too |so |really |very )?"
    r"(?:sure|certain|confident|positive|exact|definite|definitive)|unsure|uncertain|(?:can't|cannot"
    r"|could not|couldn't|can not"
    r"|unable to|not able to) (?:fully |really |independently )?(?:be (?:sure|certain|exact)|confirm"
    r"|verify|guarantee|promise|swear"
    r"|vouch)|don't quote me|i could be wrong|i may be wrong|i might be (?:wrong|mistaken)|with (?:full "
    r"|complete |absolute )?certainty"
    r"|for (?:sure|certain)|exactly how)\b"
)
"""Doubt about one's own answer: it refuses where nothing is answered, and takes no answer back."""
# Each part begins with a letter of its own kind, so that places without such a letter are passed over at once.
_QUICK = re.compile(
    r"n(?:'t|ot|ever|/a|eed|(?<=\bn)o)|un|i(?:n|dk|lleg|mpossible)|cannot|cant|lack|l(?:imited|eft out)"
    r"|m(?:issing|ystery)|a(?:bsen|bstain)|too |w(?:ho knows|on't|ithout)|guess|s(?:ilent|pecul|cant|carce)|omit|beats"
    r"|r(?:equir|ather not|efrain|efus)|pass|d(?:eclin|ifficult|ont)|fail|hard"
)


@cache
def _foreign() -> re.Pattern[str]:
    data = json.loads(files(__package__).joinpath("refusals.json").read_text("utf-8"))
    return re.compile(
        "|".join(f"(?:{pattern})" for name, patterns in data.items() if name != "about" for pattern in patterns)
    )


# What can only stand in a refusal in another language, if anything does: words in ASCII, or any other letter.
_FOREIGN_WORDS = bordered(
    r"nicht|kein|keine|pas|aucune?|jamais|no se|no hay|no lo|nunca|ningun|non|mai"
    r"|nessun\w*|nao|niet|geen|nooit"
    r"|inte|aldrig|ikke|ei|nie|brak|nu|nem|nincs|belirtilm\w*|bilm\w*|bilgi|tidak|belum|inconnue?"
    r"|impossible de|desconocid\w*|unbekannt"
    r"|onbekend|onvoldoende|insuf\w+|otill\w+|unzu\w+|sconosciut\w+|riitt\w+|nezn\w+|neuv\w+|nescio"
    r"|informaz\w+|dati|datos|dados"
    r"|ukendt|ukjent|informac\w+|erw\w+|sin|sem|senza|zonder|ohne|impos\w+|falta\w*|tak|fehlen|elegtelen"
    r"|no|nije|nisu|nema|ni|ne|nedovoljno|hindi|walang|wala|haijatajwa|haikutajwa|sijui|hakuna|taarifa"
    r"|nav|nezinu|nepietiek|ez|ekki|engar"
)
_FOREIGN_HINT = re.compile(rf"(?:{_FOREIGN_WORDS})\b")
_FOREIGN_LETTER = re.compile(r"[^\x00-\x7f]")


def refusal_in(low: str, begin: int = 0, end: int | None = None, *, broad: bool = False) -> Span | None:
    """Return the first statement of missing information in a stretch of lower-case text, or None.

    `broad` also takes a denial next to "contain", "show", "any" and the like: right where a refusal is expected, too
    much where "does not show the same fern" is an answer.

    >>> text = "the chats never touch on that"
    >>> refusal_in(text) is not None, refusal_in("das wurde nie erwähnt") is not None, refusal_in("sm-2000") is None
    (True, True, True)
    """
    stop = len(low) if end is None else end
    if _QUICK.search(low, begin, stop):
        for pattern in (_STRONG_RE, _BROAD_RE) if broad else (_STRONG_RE,):
            for match in pattern.finditer(low, begin, stop):
                idiom = _IDIOMS.search(low, max(begin, match.start() - 1), match.end())
                if idiom is None or not idiom.start() <= match.start() + 1:
                    return match.span()
    if _FOREIGN_HINT.search(low, begin, stop) or (not low.isascii() and _FOREIGN_LETTER.search(low, begin, stop)):
        found = _foreign().search(low, begin, stop)
        if found is not None:
            return found.span()
    return None
