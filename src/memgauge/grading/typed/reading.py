"""What a reader of one type of answer hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memgauge.grading.typed.prepare import Span

State = Literal["committed", "refused", "none", "unreadable"]


@dataclass(frozen=True, slots=True)
class Reading:
    """The committed answer of a text, and whether it is the reference's."""

    state: State
    """`committed`; `refused`: says that the information is not there; `none`: commits to nothing (a range, two
    candidates, a bound, flip-flopping, no value); `unreadable`: the reference is not of this type."""
    correct: bool
    rule: str
    span: Span | None = None
    """Where the committed answer stands in the prepared text."""
    sure: bool = True
    """False where words were compared that can be said in other words: a first reading, on which a judge decides."""


def nothing(rule: str, span: Span | None = None) -> Reading:
    """Return the reading of a text that commits to nothing."""
    return Reading("none", False, rule, span)


def refused(span: Span) -> Reading:
    """Return the reading of a text that declines."""
    return Reading("refused", False, "refusal", span)


UNREADABLE = Reading("unreadable", False, "the reference is not of this type")
