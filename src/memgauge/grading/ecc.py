"""Reading answers to membership questions: the last option marker decides (ECCBench, B.1, B.3 and B.8)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from memgauge.costs.arithmetic import answer_tokens
from memgauge.errors import unknown_name
from memgauge.grading.outcomes import AbstainKind, Outcome
from memgauge.grading.think import visible_spans

Template = Literal["synthetic", "natural"]

OPTIONS: dict[str, dict[str, str]] = {
    "synthetic": {"0": "yes", "1": "no", "2": "abstain"},
    "natural": {"0": "yes", "1": "no", "uncertain": "abstain"},
}
"""What each template offers, and what it means."""


@dataclass(frozen=True, slots=True)
class EccParse:
    """What a response says."""

    answer: Literal["yes", "no", "abstain"]
    abstain_kind: AbstainKind | None = None
    """How it abstained; None for yes and no."""
    marker_char: int | None = None
    """0-based code-point index of the deciding marker's opening brace; None without a marker."""

    @property
    def outcome(self) -> Outcome:
        """`answered`, or `abstained` in any of the three ways."""
        return Outcome.ABSTAINED if self.answer == "abstain" else Outcome.ANSWERED


@dataclass(frozen=True, slots=True)
class CommitCost:
    """What a response is charged for."""

    t_ans: Fraction
    """Answer tokens up to the point of commitment."""
    marker_char: int | None
    n_chars: int


def _marker(options: dict[str, str]) -> re.Pattern[str]:
    r"""Return a pattern of one template's markers: braces around exactly one option, blanks tolerated.

    The backslashes of an escaped pair, as in \{0\}, are tolerated too. No repetition crosses a brace, so the innermost
    pair is found and a scan is linear in the text. Letter case is spelled out: re.IGNORECASE would take a dotless i
    for an i.
    """
    words = ("".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in option) for option in options)
    return re.compile(rf"\{{\s*(?P<option>{'|'.join(words)})\s*(?P<escape>\\*)\}}")


_MARKERS = {template: _marker(options) for template, options in OPTIONS.items()}


def parse_ecc(text: str, template: Template = "synthetic", *, finish_reason: str | None = None) -> EccParse:
    r"""Read a response: the last option marker outside reasoning blocks decides, and prose never does.

    Parameters
    ----------
    text
        The raw response. Its reasoning blocks and special tokens stay in: positions count in the raw text.
    template
        `synthetic` offers {0} yes, {1} no and {2} abstain; `natural` offers {uncertain} to abstain.
    finish_reason
        `length` says that the token budget was used up: a response without a marker then overflowed.

    A response without a marker abstains, of kind `format` or `overflow`; the abstain option is kind `explicit`.

    >>> parse_ecc("My first guess was {1}. I answer \\boxed{0}.")
    EccParse(answer='yes', abstain_kind=None, marker_char=39)
    >>> parse_ecc("<think>{0}?", finish_reason="length").abstain_kind.value
    'overflow'
    """
    pattern = _MARKERS.get(template)
    if pattern is None:
        raise unknown_name("template", template, _MARKERS)
    marker = _last_marker(text, pattern)
    if marker is None:
        return EccParse("abstain", AbstainKind.OVERFLOW if finish_reason == "length" else AbstainKind.FORMAT)
    meaning = OPTIONS[template][marker["option"].lower()]
    if meaning == "abstain":
        return EccParse("abstain", AbstainKind.EXPLICIT, marker.start())
    return EccParse("yes" if meaning == "yes" else "no", None, marker.start())


def _last_marker(text: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return the last marker outside reasoning blocks."""
    for begin, end in reversed(visible_spans(text)):
        last = None
        for match in pattern.finditer(text, begin, end):
            # A closing brace is escaped only where the opening one is.
            if not match["escape"] or text[match.start() - 1 : match.start()] == "\\":
                last = match
        if last is not None:
            return last
    return None


def commit_cost(text: str, t_out: int, template: Template = "synthetic") -> CommitCost:
    """Return T_ans of a response of `t_out` tokens: the share of them before the deciding marker (ECCBench, B.3).

    T_ans = max(1, t_out * i / l) with the marker's brace at character i of l, and t_out / 2 without a marker.
    Characters are code points of the raw text.

    >>> commit_cost("A {1} xyzw", 25).t_ans
    Fraction(5, 1)
    """
    marker = parse_ecc(text, template).marker_char
    return CommitCost(answer_tokens(t_out, marker, len(text)), marker, len(text))
