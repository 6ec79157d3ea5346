"""Parts that several documents of numbers share."""

from __future__ import annotations

from typing import TypedDict


class Estimate(TypedDict):
    """A number with its interval over episodes."""

    value: float | None
    low: float | None
    high: float | None
    note: str | None
    """Why a part is null, or how an unusual interval was made."""


class ConfidencePoint(TypedDict):
    """Answering only the questions of at least this confidence."""

    threshold: float
    coverage: float
    accuracy: float
    low: float | None
    high: float | None


class AgeBin(TypedDict):
    """Recall of the evidence whose age lies in [age_low, age_high]."""

    age_low: float
    age_high: float
    age_mean: float
    n: int
    value: float | None
    low: float | None
    high: float | None
