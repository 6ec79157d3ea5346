"""Attempts at turns and sessions, counted by validator: what the report of a build shows."""

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

    def turn(self, role: str, verdict: Verdict) -> None:
        """Count one attempt at a turn."""
        self.turns[role] += 1
        if not verdict.ok:
            self.rejected[verdict.validator] += 1
            self.reasons[f"{verdict.validator}: {verdict.reason}"] += 1

    def session(self, outcome: str) -> None:
        """Count what became of one attempt at a session."""
        self.sessions[outcome] += 1

    def merge(self, other: AttemptLog) -> None:
        """Add the counts of another log."""
        for name in ("turns", "rejected", "reasons", "sessions"):
            getattr(self, name).update(getattr(other, name))

    def as_dict(self) -> dict[str, dict[str, int]]:
        """Return the counts as JSON values, sorted by name."""
        return {
            name: dict(sorted(getattr(self, name).items())) for name in ("turns", "rejected", "reasons", "sessions")
        }

    @classmethod
    def from_dict(cls, counts: Mapping[str, Any]) -> AttemptLog:
        """Read what `as_dict` wrote."""
        return cls(*(Counter(counts[name]) for name in ("turns", "rejected", "reasons", "sessions")))
