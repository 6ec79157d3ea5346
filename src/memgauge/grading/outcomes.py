"""How a question can end: exactly one outcome each, and the kinds of abstention and of refusal by a server.

An error is never a wrong answer and never an abstention: only `SCORED` outcomes are right or wrong.
"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What became of a question."""

    ANSWERED = "answered"
    """An option or a value was committed to."""
    ABSTAINED = "abstained"
    """No answer was given, in one of the ways of `AbstainKind`; counts as not correct."""
    UNPARSED = "unparsed"
    """A judge's verdict, or an answer that a grader must read, could not be read; it is retried and never becomes 0."""
    JUDGE_ERROR = "judge_error"
    """The judge failed."""
    MODEL_ERROR = "model_error"
    """The system raised, hung, or returned what is no answer."""
    REFUSED_BY_SERVER = "refused_by_server"
    """The server declined to take the question or to return an answer, in one of the ways of `RefusedKind`."""
    PENDING = "pending"
    """The answer is there and waits for a judge, whose verdict replaces this."""


class AbstainKind(StrEnum):
    """Three ways to abstain (ECCBench, B.8)."""

    EXPLICIT = "explicit"
    """The abstain option was written."""
    FORMAT = "format"
    """No option marker was written."""
    OVERFLOW = "overflow"
    """The token budget was used up before a marker came."""


class RefusedKind(StrEnum):
    """Why a server refused."""

    TOO_LONG = "too_long"
    FILTERED = "filtered"
    EMPTY = "empty"


SCORED = frozenset({Outcome.ANSWERED, Outcome.ABSTAINED})
"""Outcomes that count as right or wrong."""
