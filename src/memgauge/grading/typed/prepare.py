"""What of a raw answer may be read: reasoning blocks, special tokens and mark-up go, positions in the raw text stay.

Every later module works on `Prepared.text`, whose characters are folded one by one (typographic quotes, full-width
forms, digits of any script), and on `Prepared.low`, the same in lower case. `Prepared.raw_span` leads back.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from memgauge.grading.think import visible_spans

Mode = Literal["strict", "official"]
Status = Literal["ok", "empty", "filtered", "unfinished", "too_long", "degenerate"]
Span = tuple[int, int]

WORD_LIMIT = 500
"""An answer of more words commits to nothing (MEMLENS, judging)."""
TAIL_FROM = 6000
"""Official mode: of a longer output only the last 30 % is kept."""
TAIL_SHARE = 0.3
_LONG_WORD = 24  # an unspaced run counts as one word for each so many characters, so that no blob passes for one word
_REPEATS = 10  # a phrase said so often in a row, ...
_LOOP_WORDS = 30  # ... over so many words in all, is a loop


@dataclass(slots=True)
class Prepared:
    """The readable part of a raw answer."""

    status: Status
    text: str = ""
    low: str = ""
    boxes: list[Span] = field(default_factory=list)
    """Stretches of `text` that were in a box or an answer tag: explicit answers."""
    cues: list[int] | None = None
    """Kept by `cues.explicit_ends`."""
    index: list[int] | None = None
    """Raw position of each character of `text`, None where they are equal plus `shift`."""
    shift: int = 0

    def raw_span(self, begin: int, end: int) -> Span:
        """Lead a stretch of `text` back to the raw answer."""
        if self.index is None:
            return begin + self.shift, end + self.shift
        if not self.index or begin >= end:
            return 0, 0
        return self.index[begin], self.index[end - 1] + 1


# Special tokens. The first alternative ends the turn: whatever follows it was said by nobody that was asked.
_END = re.compile(
    r"<[|｜](?:im_end|endoftext|eot_id|eom_id|end|end[_▁]of[_▁]sentence|eos|return|call|end_of_turn"
    r"|END_OF_TURN_TOKEN)[|｜]>"
    r"|</s>|<eos>|<end_of_turn>|<end_of_utterance>|<\|im_start\|>\s{0,4}user"
    r"|\n\s{0,8}\[?(?:User|Human)\]?\s?:",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"<\|im_start\|>\s{0,4}(?:assistant|system)?|<\|?start_of_turn\|?>\s{0,4}(?:model)?|</?s>|<(?:bos|pad|unk|eos)>"
    r"|<[|｜][\w▁/-]{1,40}[|｜]>|\[/?INST\]|</?(?:final|response|output|b|strong|i|em|u|p|br|sup|sub)\s?/?>",
    re.IGNORECASE,
)
_BOX_OPENS = re.compile(r"<\|begin_of_box\|>|<(?:final_)?answer>", re.IGNORECASE)
_BOX_CLOSES = re.compile(r"<\|end_of_box\|>|</(?:final_)?answer>", re.IGNORECASE)
_SPEAKER = re.compile(r"\s*\[?Assistant\]?\s?:", re.IGNORECASE)
_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0e\ufe0f]+")
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~|<(?:s|del|strike)>[^<\n]{1,400}</(?:s|del|strike)>")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?(\d{1,20})\s?\}\s?\{\s?(\d{1,20})\s?\}")
_LATEX_MARK = re.compile(r"\\(?=[$%#&_{}/])|\\[,;:! ]|\\[()\[\]]|\\(?:left|right|quad|,)(?![a-z])|\{(?=,\})|(?<=,)\}")
_ARROW = re.compile(r"\\(?:to|rightarrow|Rightarrow|longrightarrow|implies)(?![a-z])")
_MACRO = re.compile(r"\\(boxed|fbox|text|textbf|textit|mathrm|mathbf|mathit|emph|underline)\s?\{")
_MATH = re.compile(r"\$\$?(?=\S)([^$\n]{0,80}?[^$\s])\$\$?(?!\d)")
_MARK = re.compile(
    r"\*\*+|__+(?=\S)|(?<=\S)__+|`+|(?:^|(?<=\n))[ \t]{0,8}#{1,6}[ \t]|(?<!\S)\*(?=\S)|(?<=\S)\*(?!\S)", re.M
)
_ITALIC = re.compile(r"(?<![\w_])_(?=[^\s_])|(?<=[^\s_])_(?![\w_])")
_SAYS = re.compile(r"[^\W_]|[^\x00-\x7f]")
_FILTERED = re.compile(
    r"[\s\[<(]*(?:content[ _-]?filter(?:ed)?|(?:response|output|content|answer|message|text)s?"
    r"(?: (?:was|has been|is|were))? (?:filtered|blocked|removed|withheld|redacted)"
    r"(?: (?:by|due to|because of)[^.\n]{0,80})?|filtered|blocked|redacted|safety[ _]block(?:ed)?"
    r"|blocked by (?:the )?(?:content|safety) (?:filter|policy))[\s\])>.]*",
    re.IGNORECASE,
)


def prepare(raw: str, mode: Mode = "strict", finish_reason: str | None = None) -> Prepared:
    r"""Return the readable part of `raw`.

    Parameters
    ----------
    raw : the model's text, as it came.
    mode : `strict`, or `official`: the last 30 % of what is longer than 6,000 characters, then the limit of 500 words.
    finish_reason : `content_filter` says that a server held the answer back.

    >>> prepared = prepare("<think>4?</think> **3**<|im_end|>")
    >>> prepared.text.strip(), prepared.raw_span(*prepared.boxes[0]) if prepared.boxes else None
    ('3', None)
    >>> prepare(r"So \boxed{3}").boxes
    [(3, 4)]
    """
    if finish_reason == "content_filter":
        return Prepared("filtered")
    found = answer_span(raw, mode)
    if found is None:
        spans = visible_spans(raw)
        return Prepared("unfinished" if len(raw) > (spans[-1][1] if spans else 0) and raw.strip() else "empty")
    begin, end = found
    if _words(raw, begin, end) > WORD_LIMIT:
        return Prepared("too_long")
    prepared = _clean(raw, begin, end)
    if _SAYS.search(prepared.text) is None and not prepared.text.strip(" \n\t.?!-"):
        return Prepared("empty")
    if _FILTERED.fullmatch(prepared.text):
        return Prepared("filtered")
    if mode == "strict" and _loops(prepared.text):
        return Prepared("degenerate")
    return prepared


def answer_span(raw: str, mode: Mode = "strict") -> Span | None:
    """Return where the answer proper stands in a raw text, without reasoning; None where nothing does.

    In official mode only the last 30 % of what is longer than 6,000 characters.

    >>> said = "<think>4?</think> 3"
    >>> said[slice(*answer_span(said))]
    ' 3'
    """
    spans = visible_spans(raw)
    begin, end = spans[-1] if spans else (0, 0)
    if len(spans) > 1:
        # The answer is what stands after the last block; only where nothing does, what stood before it. A block that
        # was never closed is no answer, and does not take away the one before it.
        begin, end = next(((a, b) for a, b in reversed(spans) if _has_content(raw, a, b)), (begin, end))
    if not spans or not _has_content(raw, begin, end):
        return None
    if mode == "official" and end - begin > TAIL_FROM:
        begin = end - int((end - begin) * TAIL_SHARE)
    return begin, end


def _has_content(raw: str, begin: int, end: int) -> bool:
    piece = raw[begin : min(end, begin + 100_000)]
    first = piece.lstrip()[:1]
    if first and first not in "<[uUhH":
        return True  # every end and token begins with "<", "[" or, after line ends, with "User" or "Human"
    return bool(_TOKEN.sub("", _END.sub("", piece)).strip()) or end - begin > 100_000


def _words(raw: str, begin: int, end: int) -> int:
    """Count words, or more than there are where even those are within the limit; any count over it is over it."""
    if end - begin > WORD_LIMIT * _LONG_WORD:
        return WORD_LIMIT + 1
    if end - begin <= WORD_LIMIT:
        return end - begin  # no word counts for more than its characters
    return sum(1 + len(word) // (_LONG_WORD * 4) for word in raw[begin:end].split())


def _loops(text: str) -> bool:
    """Say whether one phrase is repeated over and over and makes up most of the text."""
    words = text.lower().split()
    size = len(words)
    if size < _LOOP_WORDS or len(set(words)) * 2 > size:
        return False
    for period in range(1, min(41, size // _REPEATS + 1)):
        run = longest = 0
        for i in range(period, size):
            run = run + 1 if words[i] == words[i - period] else 0
            longest = max(longest, run)
        covered = longest + period
        if covered >= period * _REPEATS and covered >= _LOOP_WORDS and covered * 2 > size:
            return True
    return False


class _Editor:
    """A text under deletion, with the raw position of each character once anything was deleted."""

    def __init__(self, text: str, shift: int) -> None:
        self.text, self.shift = text, shift
        self.index: list[int] | None = None

    def sub(self, pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str] = "") -> None:
        """Replace every match; what a replacement keeps of its match keeps its positions."""
        matches = list(pattern.finditer(self.text))
        if not matches:
            return
        if self.index is None:
            self.index = list(range(self.shift, self.shift + len(self.text)))
        parts: list[str] = []
        index: list[int] = []
        at = 0
        for match in matches:
            new = replacement if isinstance(replacement, str) else replacement(match)
            begin, end = match.span()
            parts += [self.text[at:begin], new]
            index += self.index[at:begin]
            offset = begin + max(0, match[0].find(new))
            index += [self.index[min(offset + i, end - 1)] for i in range(len(new))] if end > begin else []
            at = end
        parts.append(self.text[at:])
        index += self.index[at:]
        self.text, self.index = "".join(parts), index


# Marks of private use stand for the borders of a box until all edits are done.
_OPEN, _CLOSE = "\ue000", "\ue001"
_BORDERS = re.compile("[\ue000\ue001]")


def _clean(raw: str, begin: int, end: int) -> Prepared:
    edit = _Editor(_fold(raw[begin:end].replace(_OPEN, " ").replace(_CLOSE, " ")), begin)
    if not edit.text.isalnum():
        _strip_marks(edit)
    boxes: list[Span] = []
    if _OPEN in edit.text:
        text, opened, kept = edit.text, [], 0
        for char in text:
            if char == _OPEN:
                opened.append(kept)
            elif char == _CLOSE:
                if opened:
                    boxes.append((opened.pop(), kept))
            else:
                kept += 1
        boxes += [(start, kept) for start in opened]
        edit.sub(_BORDERS)
        boxes.sort()
    low = edit.text.lower()
    if len(low) != len(edit.text):  # a few capitals have lower-case forms of two characters
        low = "".join(c.lower() if len(c.lower()) == 1 else c for c in edit.text)
    return Prepared("ok", edit.text, low, boxes, index=edit.index, shift=edit.shift)


def _strip_marks(edit: _Editor) -> None:
    text = edit.text
    if not text.isascii():
        edit.sub(_HIDDEN)
    speaker = _SPEAKER.match(edit.text) if ":" in edit.text else None
    if speaker is not None:
        edit.sub(re.compile(re.escape(speaker[0])), lambda m: " " if m.start() == 0 else m[0])
    if "<" in text or "[" in text or "\n" in text:
        lead = len(edit.text) - len(_TOKEN.sub("", edit.text).lstrip()) if "<" in text else 0
        # Every end holds "<", or a line end and a colon.
        ends = _END.finditer(edit.text, lead) if "<" in text or ("\n" in text and ":" in text) else ()
        stop = next((m.start() for m in ends if edit.text[: m.start()].strip()), None)
        if stop is not None:
            edit.text = edit.text[:stop]
            edit.index = None if edit.index is None else edit.index[:stop]
    if "<" in edit.text or "[" in edit.text:
        edit.sub(_STRUCK, " ")
        edit.sub(_BOX_OPENS, _OPEN)
        edit.sub(_BOX_CLOSES, _CLOSE)
        edit.sub(_TOKEN, " ")
    elif "~~" in text:
        edit.sub(_STRUCK, " ")
    if "\\" in text:
        edit.sub(_FRACTION, lambda m: f"{m[1]}/{m[2]} ")
        edit.sub(_ARROW, "→")
        edit.sub(_LATEX_MARK)
        _macros(edit)
    if text.count("$") > 1:
        edit.sub(_MATH, lambda m: m[1])
    if "*" in text or "_" in text or "`" in text or "#" in text:
        edit.sub(_MARK)
    if "_" in text:
        edit.sub(_ITALIC)


def _macros(edit: _Editor) -> None:
    r"""Unwrap \boxed{...} and \text{...}: the borders of a box become marks, those of other macros go."""
    text = edit.text
    opens = {m.end() - 1: m for m in _MACRO.finditer(text)}
    if not opens:
        return
    closing: dict[int, str] = {}
    starts: dict[int, tuple[int, str]] = {}
    stack: list[re.Match[str] | None] = []
    for at, char in enumerate(text):
        if char == "{":
            stack.append(opens.get(at))
        elif char == "}" and stack:
            match = stack.pop()
            if match is not None:
                closing[at] = _CLOSE if match[1] in ("boxed", "fbox") else ""
    for at, match in opens.items():
        starts[match.start()] = (at, _OPEN if match[1] in ("boxed", "fbox") else "")
    pieces = re.compile(_MACRO.pattern + r"|\}")

    def unwrap(match: re.Match[str]) -> str:
        if match[0] == "}":
            return closing.get(match.start(), "}")
        return starts[match.start()][1]

    edit.sub(pieces, unwrap)


@cache
def _folding() -> dict[int, str]:
    """Return the character folding, one for one: blanks, quotes, dashes, full-width forms, digits of every script."""
    table = dict.fromkeys((160, 5760, 8239, 8287, 12288, 8232, 8233, *range(8192, 8203), 9, 13, 11, 12), " ")
    table |= dict.fromkeys((0x2018, 0x2019, 0x201B, 0x2032, 0x02BC, 0xB4, 0x2BB), "'")
    table |= dict.fromkeys((0x201C, 0x201D, 0x201E, 0x201F, 0xAB, 0xBB, 0x2033, 0x300C, 0x300D), '"')
    table |= dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212, 0xFE63), "-")
    table |= {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    table |= {
        0xFFE5: "¥",
        0xFFE1: "£",
        0x2044: "/",
        0x2215: "/",
        0xD7: "×",
        0x2026: "…",
        0x3002: ".",
        0xFF61: ".",
        0x3001: ",",
    }
    for code in range(0x80, sys.maxunicode + 1 if sys.maxunicode < 0x20000 else 0x20000):
        if code not in table and unicodedata.category(chr(code)) == "Nd":
            table[code] = str(unicodedata.decimal(chr(code)))
    return table


def _fold(text: str) -> str:
    if text.isascii():
        return text.replace("\t", " ").replace("\r", " ") if "\t" in text or "\r" in text else text
    return text.translate(_folding())
