"""Answer refusal: does a whole text decline, or does it answer after all?

A refusal of any wording is a success, a hedged or guessed answer a failure, a withdrawn guess a success. So clauses are
labelled, and the last position counts: what refuses, what guesses, what answers, and what does neither.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memgauge.grading.typed.cues import EXPLICIT, STOP_WORDS, question_words, revisions, sentences, stem
from memgauge.grading.typed.prepare import Prepared, Span
from memgauge.grading.typed.reading import Reading
from memgauge.grading.typed.refusal import WEAK, refusal_in

Label = Literal["refuse", "weak", "guess", "answer", "fragment", "neutral", "plain"]

_CLAUSE = re.compile(
    r"\s?\((?=[^()]{0,80}\)[\s.!?\"']*$)|\s(?:because|since)\s|(?<=mentioned),\s|\s?[;:—](?=\s|[^\W\d_])"
    r"|,?\s(?:but|however|although|though|yet|nevertheless|still,|except that|while|aber|jedoch|mais|pero"
    r"|sino|ma|però|mas|porém|maar|men|ale|но|однако|но)\b,?"
    r"|,\s(?=(?:so|therefore|i|it|my|maybe|perhaps|probably|possibly|likely|most likely|wahrscheinlich"
    r"|vielleicht|peut-être|quizás|forse|talvez|si je|je|yo|ich)\b)"
    r"|(?:,|\s)(?=(?:但|不过|不過|しかし|ただ|하지만|그러나))|,(?=[^\x00-\x7f])"
)
_GUESS = re.compile(
    r"\b(?:guess(?:es|ing)?|probably|likely|perhaps|maybe|might(?: well)? (?:be|have)|may(?: well)? be"
    r"|could(?: well)? be|i think|i believe|i'd say|i would say|presumably|i assume|assuming|i suspect"
    r"|seems (?:to be|like)|appears to be|suppose|estimate|possibly|if i had to|i imagine|i'd bet"
    r"|chances are|in all likelihood|looks like|should be|must be|apparently|roughly|approximately"
    r"|i recall (?:it|that)|i'd go (?:with|for)|my money is on|hazard|plausibl[ye]|supposedly|inferred"
    r"|typically|usually|generally|commonly|often|educated|the closest (?:match |one |thing )?(?:is|would be)"
    r"|most\s(?:[a-z]+\s){1,6}?(?:have|are|use|come with|carry)"
    r"|wahrscheinlich|vermutlich|vielleicht|womöglich|ich schätze|ich glaube|ich denke|probablemente"
    r"|quizás?|tal vez|creo que|supongo|seguramente|probablement|peut-être|je pense|je crois|je suppose"
    r"|sans doute"
    r"|probabilmente|forse|penso|credo|provavelmente|talvez|acho que|waarschijnlijk|misschien|ik denk"
    r"|vermoedelijk|förmodligen|kanske|nok|sannsynligvis|måske|prawdopodobnie|może|chyba)\b"
    r"|(?<!\w)(?:возможно|наверное|вероятно|думаю|скорее всего|может быть|мабуть|ймовірно|ίσως"
    r"|πιθανώς)(?!\w)|可能|也许|也許|大概|估计|估計|应该是|應該是|猜|我想|たぶん|おそらく|恐らく|かもしれ|と思|でしょう|아마|같습니다|같아요|추측|ربما"
    r"|من المحتمل|शायद|संभवतः"
)
_NO_GUESS = re.compile(
    r"\b(?:(?:could|would|can|will|may|might|should) (?:only )?(?:be )?(?:\w+ )?(?:guess|guessing"
    r"|speculat\w*|estimate|assum\w*)|(?:without|no|not|n't|avoid|rather than|instead of|than|refuse to"
    r"|won't|will not) (?:\w+ ){0,2}?(?:guess\w*|speculat\w*|estimat\w*|assum\w*|want to guess)"
    r"|only (?:guess|speculate))\b"
    r"|\b(?:might|may|could|should|can) (?:be (?:able|found|worth|printed|written|visible|listed|located"
    r"|checked|helpful|in|on|under|somewhere|seen)|have been (?:discussed|mentioned|shared|deleted|lost)"
    r"|help|find|check|want|wish|look|ask|try|not|need|share|provide|upload|send|tell)\b"
    r"|\b(?:usually|typically|often|generally|commonly) (?:found|printed|located|written|stamped|engraved"
    r"|on|under|listed|placed|appears?|visible|shown)\b|\bi (?:think|believe|assume|suppose|guess) (?:not"
    r"|this (?:was|is)|you (?:haven't|have not|didn't|did not|never)|we (?:haven't|didn't|never)"
    r"|that (?:was|is) not)\b"
    r"|\bseems? (?:to be )?(?:no|not|missing|that (?:it|this|you|we) (?:\w+ )?(?:not|never|haven't"
    r"|didn't))\b|\bappears? (?:to be )?(?:no|not|missing|nowhere|that (?:it|this|you|we) (?:\w+ )?(?:not"
    r"|never|haven't|didn't))\b"
)
_NEUTRAL = re.compile(
    r"[\s\"'(*-]{0,6}(?:sources?:|see (?:also )?session|note:|sessions? \d|let me (?:think|see|check|look)"
    r"|(?:sure|certainly|of course)[!.]|looking (?:at|through|over|back)|(?:i'm |i am |we're )?(?:very |so "
    r"|really |truly )?(?:sorry|afraid)|apologies"
    r"|my apologies|unfortunately|regrettably|sadly|hello|hi|thanks?|thank you|please|let me know"
    r"|feel free|happy to|i'd be (?:happy|glad)|i can help|if you|"
    r"(?:you|one) (?:can|could|may|might|should|would|will|want|need)|could you|can you|would you|do you"
    r"|did you|check|try|consider|look (?:at|for|on|up)|perhaps you|maybe you|maybe check|perhaps check"
    r"|based on|according to|from (?:the|our|what)|in (?:the|our|this|these|all)|after (?:reviewing"
    r"|checking|looking|reading|searching)|having (?:reviewed|checked|looked|read)"
    r"|i (?:have )?(?:checked|searched|reviewed|looked|read|went|see|only see|can see|found|could find"
    r"|scanned|examined)|(?:the|our|this|these|those|your|all|none of the|neither of the) (?:chats?"
    r"|conversations?|history|histories|sessions?|photos?|pictures?|images?|messages?|dialogues?|context"
    r"|records?|discussions?|text|transcripts?|logs?|notes?|provided|available|given|only)"
    r"|(?:you|we) (?:only |also |did |have |just |once |never )?(?:mention|mentioned|shared?|talked"
    r"|discuss(?:ed)?|told|said|asked|showed|posted|sent|described|spoke|uploaded|have)|there (?:is|are"
    r"|was|were)|the only\b[^.]{0,40}\b(?:mentioned|given|shared|shown|visible|there)|as an ai|for (?:more|this"
    r"|that)|regarding|concerning|hope|it (?:may|might|could"
    r"|can) be (?:on|in|under|found|printed|written|listed|worth|helpful)|it only|it just|they only"
    r"|the user (?:only|mention|just|share|talk|discuss)"
    r"|es tut mir leid|leider|tut mir leid|entschuldigung|désolée?|je suis désolée?|malheureusement"
    r"|lo siento|lamentablemente|desafortunadamente|mi dispiace|purtroppo|desculpe|infelizmente|lamento"
    r"|sinto muito|het spijt me|helaas|tyvärr|desværre|dessverre|przykro mi|niestety|к сожалению|извините"
    r"|простите|на жаль"
    r"|抱歉|对不起|對不起|很遗憾|很抱歉|申し訳|すみません|ごめん|残念|죄송|미안|유감|آسف|عذرا|क्षमा|माफ़)"
)
_CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|final(?:ly)?|answer|in conclusion|overall|to conclude|on reflection"
    r"|actually|however|instead|correct response|in the end|no)\b[,:]?[^.!?\n]{0,40}$"
)
_WITHDRAWN = re.compile(
    r"\b(?:no|actually|wait|correction|scratch that|on (?:second thought|reflection)|sorry|that (?:was|is"
    r"|isn't|wasn't|belongs?|would be)|never ?mind|not (?:that|right|it)|but that|i take (?:it|that) back"
    r"|i was wrong|however|checking|rechecking|looking again|i withdraw|retract|disregard|ignore)\b"
)


_VALUE = re.compile(
    r"\b(?:[Ii]t|[Tt]hat|[Tt]his|[Nn]umber|[Ll]abel|[Aa]nswer|[Pp]late|one|[Ss]ticker|[Tt]ag)(?:'s| is"
    r"| was| reads| says| shows| would be)\s(?:the |a |an )?[\"']?(?=[^\s.]*\d|[A-Z])"
)
_ADVICE = re.compile(
    r"\s*(?:so |but |and |perhaps |maybe |or )?(?:(?:you|one)(?:'d| would| will|'ll)? (?:can|could|should"
    r"|need|may (?:want|wish|find|be able)|might (?:want|wish|find|be able|check|try))|please|check|try"
    r"|look (?:at|for|on|under)|feel free|let me know|if you)\b"
)
_ASKS_FOR_MORE = re.compile(
    r"\b(?:sorry|apolog\w+|afraid|please|could you|can you|would you|provide|share|clarify|let me know"
    r"|if you)\b|抱歉|对不起|申し訳|すみません|죄송|désolé|lo siento|mi dispiace|desculpe|leider|извините"
)
_BLANK = re.compile(
    r"[\s\"'(\[]*(?:n\.?\s?/?\s?a\.?|null|none|nothing|nil|void|no answer|tbd|blank|not applicable"
    r"|(?:the )?(?:(?:requested |needed |required )?(?:information|info|data|details?) )?missing)[\s\"').\]!]*"
)
_CONTEXT = (
    r"(?:i|we|you|chats?|conversations?|history|sessions?|messages?|photos?|pictures?|images?|records?"
    r"|context|logs?|notes?|dialogues?|text|there|it|nobody|no one|user|transcripts?|discussions?)"
)


@dataclass(slots=True)
class _Part:
    begin: int
    end: int
    sentence: int
    label: Label
    asked: bool = False


def read_refusal(prepared: Prepared, question: str) -> Reading:
    """Say whether a text declines to answer; the reading is correct where it does."""
    low = prepared.low
    parts = _parts(prepared, question)
    refusing = [i for i, p in enumerate(parts) if p.label == "refuse"]
    if not refusing:
        weak = [p for p in parts if p.label == "weak"]
        substance = [p for p in parts if p.label in ("answer", "guess", "fragment", "plain")]
        if weak and not substance:
            return Reading("refused", True, "doubt and no answer", _span(weak[-1]))
        if not substance and any(_ASKS_FOR_MORE.search(low, p.begin, p.end) for p in parts):
            return Reading("refused", True, "an apology or a request and no answer", _span(parts[-1]))
        if substance:
            return Reading("committed", False, "a hedged answer" if weak else "an answer", _span(substance[-1]))
        return Reading("none", False, "neither an answer nor a refusal", (0, len(low)))
    last = refusing[-1]
    after = [p for p in parts[last + 1 :] if p.label in ("guess", "answer", "fragment")]
    if after:
        return Reading("committed", False, "an answer after a refusal", _span(after[-1]))
    if prepared.boxes:
        begin, end = prepared.boxes[-1]
        if refusal_in(low, begin, end, broad=True):
            return Reading("refused", True, "explicit refusal", (begin, end))
    refusal = parts[last]
    stated = [p for p in parts[:last] if p.label in ("guess", "answer", "fragment")]
    if not stated:
        return Reading("refused", True, "refusal", _span(refusal))
    guess = stated[-1]
    between = low[guess.end : refusal.begin] + low[refusal.begin : refusal.end]
    asked = guess.asked
    takes_back = bool(_WITHDRAWN.search(between)) or any(guess.end <= at <= refusal.end for at in revisions(low))
    concludes = EXPLICIT.search(low, guess.end, refusal.end) is not None or _CONCLUDES.search(between) is not None
    if refusal.sentence == guess.sentence and not asked:
        wanted = _wanted_words(question)
        if guess.label == "answer" and wanted and _about(low, refusal, wanted) and not _about(low, guess, wanted):
            return Reading("refused", True, "refusal", _span(refusal))  # "it is a Singer, but its number was not given"
        if re.search(r"\b(?:so|therefore|thus|hence|final answer|answer is)\b", between):
            return Reading("refused", True, "a withdrawn guess", _span(refusal))
        return Reading("committed", False, "a hedged answer", _span(guess))
    if asked or takes_back or concludes or guess.label == "fragment":
        return Reading("refused", True, "a withdrawn guess", _span(refusal))
    return Reading("committed", False, "a hedged answer", _span(guess))


@lru_cache(maxsize=4096)
def _wanted_words(question: str) -> frozenset[str]:
    """Return the words that name what is asked for: "Which serial number is on ..." asks for a serial number."""
    match = re.match(
        r"\s*(?:which|what|whose)\s((?:[\w-]+\s){1,4}?)(?:is|are|was|were|did|do|does|has|have)\b", question.lower()
    )
    return question_words(match[1]) if match else frozenset()


def _about(low: str, part: _Part, words: frozenset[str]) -> bool:
    return bool({stem(w) for w in re.findall(r"[^\W_]+", low[part.begin : part.end])} & words)


def _span(part: _Part) -> Span:
    return part.begin, part.end


def _parts(prepared: Prepared, question: str) -> list[_Part]:
    low = prepared.low
    parts: list[_Part] = []
    for number, (begin, end) in enumerate(sentences(low)):
        asks = low[begin:end].rstrip(" \"')").endswith("?")
        cuts = [begin, *(m.end() for m in _CLAUSE.finditer(low, begin, end)), end]
        for a, b in itertools.pairwise(cuts):
            if low[a:b].strip(" .,;:!?\"'()-*—\n"):
                label = _label(prepared, question, a, b, begin, asks=asks)
                if label == "refuse" and asks and low[end:].strip():
                    label = "neutral"  # "Insufficient information? No, ..."
                if label in ("fragment", "plain") and any(
                    a - 1 <= m.end() <= a + 2 for m in EXPLICIT.finditer(low, begin, b)
                ):
                    label = "answer"
                refused_before = any(p.label == "refuse" and p.sentence == number for p in parts)
                contrast = (
                    re.match(r"\s*(?:however|but|no|still|yet|wait|actually|correction|sorry|oh|hmm+)\b", low[begin:b])
                    is not None
                )
                if (
                    label in ("neutral", "plain")
                    and (refused_before or contrast)
                    and _VALUE.search(prepared.text, a, b)
                ):
                    label = "answer"
                parts.append(_Part(a, b, number, label, asks))
    return parts


@lru_cache(maxsize=4096)
def _key_words(question: str) -> frozenset[str]:
    return question_words(question)


def _label(prepared: Prepared, question: str, begin: int, end: int, sentence: int, *, asks: bool) -> Label:
    low = prepared.low
    clause = low[begin:end]
    counts = question.lower().startswith("how many")
    if _denies_having(clause, question):
        return "answer"
    found = refusal_in(low, begin, end, broad=True) or _lacks(clause, question, begin, counts=counts)
    bare = re.sub(r"^\s*(?:(?:based on|according to|looking at|from)\b[^,]{0,60},|the answer is)\s", "", clause)
    if not counts and (_BLANK.fullmatch(low) or _BLANK.fullmatch(bare)):
        return "refuse"
    guess = _GUESS.search(clause)
    if guess is not None and _NO_GUESS.search(clause):
        guess = None
    weak = WEAK.search(clause)
    if found is not None:
        # "I don't know for sure" doubts; "not mentioned" refuses. An answer named in the same clause stands.
        doubt = (
            weak is not None
            and begin + weak.start() < found[1] + 24
            and not re.search(r"mention|specif|information|discuss", clause)
        )
        named = _named(clause)
        if named is not None and begin + named.end() > found[1] and clause[named.end() :].strip(" .,!?:\"'"):
            return "guess"
        if guess is not None and begin + guess.start() > found[1] and len(clause[guess.end() :].split()) > 0:
            return "guess"
        return "weak" if doubt else "refuse"
    if re.match(r"\s*(?:never|not|nothing|none|nor|without)\b", clause) and {
        stem(w) for w in re.findall(r"\w+", clause)
    } & _key_words(question):
        return "refuse"  # "... but never its serial number"
    if _ADVICE.match(clause):
        return "neutral"
    if re.fullmatch(
        r"[\s\"'(*-]*(?:(?:so|and|then|the|my|your|final|best|correct|actual) ){0,3}(?:answer|guess"
        r"|conclusion|verdict|correction|wait|actually|no|edit|update|hmm+|result|note"
        r"|(?:my |the )?(?:final |best )?answer is)[\s\"')*.,:…-]*",
        clause,
    ):
        return "neutral"
    if asks:
        if _NEUTRAL.match(clause) or re.match(
            r"\s*(?:could|can|would|do|did|are|is there|shall|have|which|what|may|perhaps you|maybe you)\b", clause
        ):
            return "neutral"
        return "guess"
    if weak is not None:
        return "weak"
    if guess is not None and _substance(clause):
        return "guess"
    if _NEUTRAL.match(clause):
        return "neutral" if not _states(prepared, clause, question, begin) else "plain"
    named = _named(clause)
    if named is not None and clause[named.end() :].strip(" .,!?:\"'"):
        return "answer"
    if _states(prepared, clause, question, begin):
        return "answer"
    words = clause.split()
    content = {stem(w) for w in re.findall(r"[^\W_]+", clause)} - STOP_WORDS
    if content and content <= _key_words(question):
        return "neutral"  # "Serial number: ..." only repeats what is asked
    if len(words) <= 6 and not re.search(
        r"\b(?:is|are|was|were|be|has|have|had|do|does|did|can|could|will|would|should|i|you|we|know|hope"
        r"|help|need|note|info|information|details?|answer|question|sorry|reason|reasoning|that|this)\b",
        clause,
    ):
        return "fragment" if begin == sentence or clause.strip() else "plain"
    return "plain"


def _denies_having(clause: str, question: str) -> bool:
    """Say whether a clause states that the thing has none: "the sewing machine does not have a serial number"."""
    found = re.match(
        r"\s*(?:(?:no|so|the|your|my|this|that)[,\s]\s?)*((?:[a-z-]+ ){1,4}?)(?:does|do) ?(?:n't|not) have\b", clause
    )
    if found is None or re.search(rf"\b{_CONTEXT}\b", found[1]):
        return False
    keys = _key_words(question)
    said = {stem(word) for word in re.findall(r"[a-z]+", clause[found.end() :])}
    return bool({stem(word) for word in found[1].split()} & keys) and bool(said & keys)


def _lacks(clause: str, question: str, begin: int, *, counts: bool) -> Span | None:
    """Find "no serial number": the thing asked for is not there. Of counted things "no lamps" is a count."""
    for match in re.finditer(r"\bno\s((?:[^\W_]+[\s-]?){1,4})", clause):
        words = {stem(w) for w in re.findall(r"[^\W_]+", match[1])}
        if not words & _key_words(question):
            continue
        left = clause[: match.start()]
        located = re.search(
            rf"\b(?:in|from|across|within) (?:the|our|any|these|this|all|your)\b[^.]{{0,20}}\b{_CONTEXT}\b", clause
        )
        owned = re.search(r"\b(?:has|have|had)\s$", left) and not re.search(rf"\b{_CONTEXT}\s(?:have|has|had)\s$", left)
        if located or (not counts and not owned):
            return begin + match.start(), begin + match.end()
    return None


def _named(clause: str) -> re.Match[str] | None:
    """Return where a clause names its answer; the bare word "answer" names none."""
    for match in EXPLICIT.finditer(clause):
        if re.search(r"[:=→是は]|\b(?:is|was|are|be|guess|say|go with|estimate|pick|choose)\b", match[0]):
            return match
    return None


def _substance(clause: str) -> bool:
    """Say whether a hedge hedges something: more than the hedge itself."""
    rest = _GUESS.sub(" ", clause)
    return any(
        w not in ("i", "it", "is", "it's", "that", "the", "a", "my", "best", "be", "so", "not", "would", "but")
        for w in re.findall(r"[^\W_]+", rest)
    )


def _states(prepared: Prepared, clause: str, question: str, begin: int) -> bool:
    """Say whether a clause states a value of what is asked: "the serial number is X", "two lamps hang there"."""
    keys = _key_words(question)
    copula = re.search(r"\b(?:is|are|was|were|reads?|says?|shows?|equals?|costs?)\b|[=:]", clause)
    if re.search(r"\bnot\b|n't\b|\bnever\b|\bno\b", clause):
        return False
    head = {stem(w) for w in re.findall(r"[^\W_]+", clause[: copula.start()])} if copula else set()
    context = re.match(
        r"\s*(?:the|our|your|this|these) (?:chat|conversation|photo|picture|image|history|session|message|context)",
        clause,
    )
    if (
        copula
        and len(head & keys) >= min(2, len(keys))
        and len(clause[copula.end() :].split()) >= 1
        and context is None
    ):
        return True
    counted = re.search(r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|several|many)\s([a-z]+)", clause)
    return bool(
        question.lower().startswith("how many")
        and counted
        and stem(counted[1]) in keys
        and context is None
        and "mention" not in clause
    )
