"""What a check says: one line a gate, with what was measured, what it may be, and what failed where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["holds", "fails", "warns", "too few", "shown", "not checked"]
Kind = Literal["structural", "statistical", "shown"]

ENOUGH = 300
"""Evidence sessions from which on statistical gates decide."""
Z = 2.3263478740408408
"""Normal quantile of the one-sided 99 % bounds."""
NAMED = 10
"""Problems that a gate names; all are counted."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The outcome of one gate."""

    name: str
    kind: Kind
    verdict: Verdict
    what: str
    """What must hold."""
    n: int
    """How many things were looked at: questions, sessions, files, as `unit` says."""
    unit: str
    measured: float | None = None
    """The figure; of a structural gate the number of problems."""
    threshold: float | None = None
    bound: float | None = None
    """The one-sided 99 % bound of the figure on the side of the threshold, or a p-value (`what` says which)."""
    problems: tuple[str, ...] = ()
    """The first problems; each names its question or file."""
    advice: str = ""
    """What to do when it fails."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further figures, JSON values."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; figures that are not finite become null."""
        return {
            "name": self.name,
            "kind": self.kind,
            "measured": _number(self.measured),
            "threshold": _number(self.threshold),
            "bound": _number(self.bound),
            "n": self.n,
            "unit": self.unit,
            "verdict": self.verdict,
            "what": self.what,
            "problems": list(self.problems),
            "advice": self.advice if self.verdict in ("fails", "warns", "not checked") else "",
            "details": {name: _plain(value) for name, value in self.details.items()},
        }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 6)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return _number(value) if isinstance(value, float) else value


@dataclass(slots=True)
class Structural:
    """A structural gate in the making: it counts what was looked at, and keeps the first problems."""

    name: str
    what: str
    unit: str
    advice: str
    n: int = 0
    count: int = 0
    named: list[str] = field(default_factory=list)
    skipped: str = ""
    """Why it could not be checked at all."""

    def look(self, number: int = 1) -> None:
        """Count things that were looked at."""
        self.n += number

    def add(self, problem: str) -> None:
        """Note a problem; its text begins with the question or file."""
        self.count += 1
        if len(self.named) < NAMED:
            self.named.append(problem[:400])

    def gate(self) -> Gate:
        """Return the outcome. A gate that looked at nothing was not checked."""
        verdict: Verdict = "fails" if self.count else "holds" if self.n and not self.skipped else "not checked"
        return Gate(
            self.name,
            "structural",
            verdict,
            self.what,
            self.n,
            self.unit,
            measured=float(self.count),
            threshold=0.0,
            problems=tuple(self.named),
            advice=self.skipped or self.advice,
        )


def statistical(
    name: str,
    what: str,
    *,
    measured: float,
    threshold: float,
    bound: float,
    n: int,
    unit: str,
    enough: bool,
    advice: str,
    below: bool = False,
    warn: bool = False,
    problems: tuple[str, ...] = (),
    details: Mapping[str, Any] | None = None,
) -> Gate:
    """Decide a statistical gate: it fails only when the bound itself passes the threshold.

    Parameters
    ----------
    bound : lower 99 % bound of a figure that must not be larger than the threshold; with `below`, a p-value or an upper
        bound that must not be smaller.
    enough : whether there are enough evidence sessions; without, the verdict is `too few`.
    warn : a gate that warns instead of failing.
    """
    passed = bound >= threshold if below else bound <= threshold
    broken: Verdict = "warns" if warn else "fails"
    verdict: Verdict = "holds" if passed else broken
    if not enough:
        verdict = "too few"
    elif math.isnan(bound):
        verdict = "not checked"
    return Gate(
        name, "statistical", verdict, what, n, unit, measured, threshold, bound, problems, advice, details or {}
    )


def shown(name: str, what: str, measured: float, n: int, unit: str, details: Mapping[str, Any] | None = None) -> Gate:
    """Return a figure that is printed and decides nothing."""
    return Gate(name, "shown", "shown", what, n, unit, measured=measured, details=details or {})
