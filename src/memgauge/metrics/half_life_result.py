"""What a half-life fit returns: the curve, its support, and the verdict of each gate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from memgauge.metrics.half_life_profile import Bounds, Floats

Gate = Literal["strict", "seed"]
Method = Literal["profile", "swept"]
Status = Literal["ok", "not_applicable"]


@dataclass(frozen=True)
class Verdict:
    """What one gate says: `reason` is None when the status is "ok"."""

    reason: str | None

    @property
    def status(self) -> Status:
        """Return "ok" or "not_applicable"."""
        return "ok" if self.reason is None else "not_applicable"


@dataclass(frozen=True)
class Support:
    """The observations behind a fit; gaps in the unit of the result."""

    pairs: int
    distinct_gaps: int
    gap_min: float
    gap_max: float
    score_min: float
    score_max: float
    score_mean: float
    events: int | None = None

    @property
    def gap_span(self) -> float:
        """Return the distance between the smallest and the largest gap."""
        return self.gap_max - self.gap_min


@dataclass(frozen=True)
class DecayFit:
    """A fitted curve. `tau` and `half_life` are None when nothing decays (`edge` names an end of the tau grid)."""

    tau: float | None
    half_life: float | None
    raw: float | None
    a: float | None  # None when a exp(...) at gap zero overflows, far before the first gap
    b: float
    at_smallest_gap: float
    rss: float
    r2: float | None
    f_statistic: float | None
    p_permutation: float | None
    interval: tuple[float | None, float | None] = (None, None)
    one_sided: tuple[float | None, float | None] = (None, None)  # each end alone at 95 %, where a gate needs it
    active: str = "interior"
    edge: str | None = None

    def value(self, age: ArrayLike) -> Floats:
        """Return the curve at the given ages (same unit as the gaps)."""
        ages = np.asarray(age, dtype=np.float64)
        if self.tau is None or self.a is None:
            return np.full(ages.shape, self.b)
        return self.a * np.exp(-ages / self.tau) + self.b

    def time_to(self, level: float) -> float | None:
        """Return the age at which the curve falls to `level`, or None when it starts below it or never gets there."""
        if self.tau is None or not self.a or not self.b < level <= self.a + self.b:
            return None
        return -self.tau * math.log((level - self.b) / self.a)


@dataclass(frozen=True)
class HalfLifeResult:
    """The verdict of a gate on a fit, with the numbers whether refused or not.

    `half_life`, `tau` and `raw` are None unless the chosen gate says "ok"; `fit` keeps what was refused. Ages are in
    `unit`.
    """

    gate: Gate
    gates: dict[str, Verdict]
    method: Method
    bounds: Bounds
    t_ref: float | None
    unit: str = "seconds"
    detail: str | None = None
    fit: DecayFit | None = None
    support: Support | None = None
    warnings: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> str | None:
        """Return why the chosen gate refuses, or None."""
        return self.gates[self.gate].reason

    @property
    def status(self) -> Status:
        """Return "ok" or "not_applicable" by the chosen gate."""
        return self.gates[self.gate].status

    def _accepted(self) -> DecayFit | None:
        return self.fit if self.reason is None else None

    @property
    def half_life(self) -> float | None:
        """Return tau ln 2, or None when the chosen gate refuses."""
        fit = self._accepted()
        return fit.half_life if fit else None

    @property
    def tau(self) -> float | None:
        """Return the decay time, or None when the chosen gate refuses."""
        fit = self._accepted()
        return fit.tau if fit else None

    @property
    def raw(self) -> float | None:
        """Return clamp(half-life / t_ref, 0, 1), or None when the chosen gate refuses."""
        fit = self._accepted()
        return fit.raw if fit else None

    @property
    def lower_bound(self) -> float | None:
        """Return "more than this" (one-sided, 95 %) when the interval has no upper end; 0 when nothing short is
        excluded.
        """
        return (self.fit.one_sided[0] or 0.0) if self.fit and self.reason == "unbounded_interval" else None

    @property
    def upper_bound(self) -> float | None:
        """Return "less than this" (one-sided, 95 %) when the half-life lies below the smallest gap; None when
        unlimited.
        """
        return self.fit.one_sided[1] if self.fit and self.reason == "resolution_limited" else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as one JSON-ready document (no NaN, no infinity)."""
        from memgauge.metrics.half_life_document import document

        return document(self)
