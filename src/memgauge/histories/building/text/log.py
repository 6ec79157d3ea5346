"""Attempts at turns, sessions and questions, counted by validator: what the report of a build shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memgauge.histories.building.text.types import Verdict


@dataclass(slots=True)
class AttemptLog:
    """Counts of checks and rejections; logs of several processes add up with `merge`.

    >>> log = AttemptLog()
    >>> log.turn("user", Verdict(False, "length", "too_short"))
    >>> log.as_dict()["rejected"]
    {'length': 1}
    """

    turns: Counter[str] = field(default_factory=Counter)
    """Attempts by role of the turn."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Rejected attempts by validator."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Rejected attempts by `validator: reason`."""
    sessions: Counter[str] = field(default_factory=Counter)
    """`written`, `redrawn` (given up, new topic) and `rejected` (no topic left)."""

    questions: Counter[str] = field(default_factory=Counter)
    """Attempts of a model at questions: `attempts`, `accepted`, `rejected` (given up)."""
    question_rejected: Counter[str] = field(default_factory=Counter)
    """Rejected attempts at questions by check."""
    question_reasons: Counter[str] = field(default_factory=Counter)
    """Rejected attempts at questions by `check: reason`."""
    replies: Counter[str] = field(default_factory=Counter)
    """Replies of models that were used, by what was asked; kept ones count, so that a resumed build has the same."""
    faults: Counter[str] = field(default_factory=Counter)
    """Replies and requests that were of no use, by kind."""

    def turn(self, role: str, verdict: Verdict) -> None:
        """Count one attempt at a turn."""
        self.turns[role] += 1
        if not verdict.ok:
            self.rejected[verdict.validator] += 1
            self.reasons[f"{verdict.validator}: {verdict.reason}"] += 1

    def question(self, check: str = "", reason: str = "") -> None:
        """Count one attempt at a question, rejected by `check` if one is named."""
        self.questions["attempts"] += 1
        if check:
            self.question_rejected[check] += 1
            self.question_reasons[f"{check}: {reason}"] += 1

    def reply(self, role: str) -> None:
        """Count a reply of a model that was used."""
        self.replies[role] += 1

    def fault(self, kind: str) -> None:
        """Count a reply or a request that was of no use."""
        self.faults[kind] += 1

    def session(self, outcome: str) -> None:
        """Count what became of one attempt at a session."""
        self.sessions[outcome] += 1

    def merge(self, other: AttemptLog) -> None:
        """Add the counts of another log."""
        for name in (*_ALWAYS, *_MODEL):
            getattr(self, name).update(getattr(other, name))

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return the counts as JSON values, sorted by name; what only models do stands there if one did it."""
        names = (*_ALWAYS, *(name for name in _MODEL if getattr(self, name)))
        return {name: dict(sorted(getattr(self, name).items())) for name in names}

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> AttemptLog:
        """Read what `as_dict` wrote."""
        return cls(**{name: Counter(counts.get(name, {})) for name in (*_ALWAYS, *_MODEL)})


_ALWAYS = ("turns", "rejected", "reasons", "sessions")
_MODEL = ("questions", "question_rejected", "question_reasons", "replies", "faults")
