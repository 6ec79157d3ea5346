"""Reading answers to membership questions: the last option marker decides (ECCBench, B.1, B.3 and B.8)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from memgauge.costs.arithmetic import answer_tokens
from memgauge.errors import unknown_name
from memgauge.grading.outcomes import AbstainKind, Outcome
from memgauge.grading.think import TAG

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


# A marker is the innermost pair of ASCII braces around exactly one option; blanks inside are tolerated, and so are the
# backslashes of an escaped pair, as in \{0\}. No repetition crosses a brace, so a scan is linear in the text.
_MARKER = r"(?P<escaped>\\)?\{{\s*(?P<option>{options})\s*(?P<escape>\\*)\}}"


def _scanner(options: dict[str, str]) -> re.Pattern[str]:
    """Return a pattern that finds markers of one template and the tags of reasoning blocks."""
    # Letter case by classes of two: re.IGNORECASE would also take a dotless i for an i.
    words = ("".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in option) for option in options)
    return re.compile(rf"(?P<marker>{_MARKER.format(options='|'.join(words))})|(?i:{TAG})")


_SCANNERS = {template: _scanner(options) for template, options in OPTIONS.items()}


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
    scanner = _SCANNERS.get(template)
    if scanner is None:
        raise unknown_name("template", template, _SCANNERS)
    last: re.Match[str] | None = None
    inside = False
    for match in scanner.finditer(text):
        if match["marker"] is not None:
            if not inside and (match["escaped"] or not match["escape"]):
                last = match
        elif match["open"] is not None:
            inside = True
        elif match["close"] is not None:
            if not inside:  # the block began with the text, or before this closing tag's twin
                last = None
            inside = False
    if last is None:
        kind = AbstainKind.OVERFLOW if finish_reason == "length" else AbstainKind.FORMAT
        return EccParse("abstain", kind)
    position = text.rindex("{", 0, last.start("option"))
    meaning = OPTIONS[template][last["option"].lower()]
    if meaning == "abstain":
        return EccParse("abstain", AbstainKind.EXPLICIT, position)
    return EccParse("yes" if meaning == "yes" else "no", None, position)


def commit_cost(text: str, t_out: int, template: Template = "synthetic") -> CommitCost:
    """Return T_ans of a response of `t_out` tokens: the share of them before the deciding marker (ECCBench, B.3).

    T_ans = max(1, t_out * i / l) with the marker's brace at character i of l, and t_out / 2 without a marker. Characters
    are code points of the raw text.

    >>> commit_cost("A {1} xyzw", 25).t_ans
    Fraction(5, 1)
    """
    marker = parse_ecc(text, template).marker_char
    return CommitCost(answer_tokens(t_out, marker, len(text)), marker, len(text))
