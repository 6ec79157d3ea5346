"""The JSON document of a half-life result: the published report fields, and those that memgauge adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memgauge.metrics.half_life_result import DecayFit, HalfLifeResult

SECONDS = {"seconds": 1.0, "days": 86400.0}


def document(result: HalfLifeResult) -> dict[str, Any]:
    """Return the report of `result`. Times are in seconds where the unit is a time; other units keep their own
    fields.
    """
    fit, support = result.fit, result.support
    scale = SECONDS.get(result.unit)
    smallest = support.gap_min if support else None
    largest = support.gap_max if support else None
    half_life = fit.half_life if fit else None
    return {
        "status": result.status,
        "reason": result.reason,
        "detail": result.detail,
        "gate": result.gate,
        "gates": {name: {"status": v.status, "reason": v.reason} for name, v in result.gates.items()},
        "backend": "exponential_fit",
        "method": _METHODS[result.method],
        "bounds": result.bounds,
        "unit": result.unit,
        "half_life": result.half_life,
        "half_life_seconds": _times(result.half_life, scale),
        "tau": result.tau,
        "tau_seconds": _times(result.tau, scale),
        "raw": result.raw,
        "t_ref": result.t_ref,
        "half_life_reference_seconds": _times(result.t_ref, scale),
        "a": fit.a if fit else None,
        "b": fit.b if fit else None,
        "r2": fit.r2 if fit else None,
        "interval_half_life": list(fit.interval) if fit else None,
        "interval_half_life_seconds": [_times(end, scale) for end in fit.interval] if fit and scale else None,
        "p_permutation": fit.p_permutation if fit else None,
        "f_statistic": fit.f_statistic if fit else None,
        "half_life_lower_bound": result.lower_bound,
        "half_life_lower_bound_seconds": _times(result.lower_bound, scale),
        "half_life_upper_bound": result.upper_bound,
        "half_life_upper_bound_seconds": _times(result.upper_bound, scale),
        "beyond_largest_gap": half_life > largest if half_life is not None and largest is not None else None,
        "below_smallest_gap": half_life < smallest if half_life is not None and smallest is not None else None,
        "fit": _fit(result, fit, scale) if fit else None,
        "pair_count": support.pairs if support else 0,
        "distinct_gap_count": support.distinct_gaps if support else 0,
        "gap_min": smallest,
        "gap_max": largest,
        "gap_span": support.gap_span if support else None,
        "fidelity_min": support.score_min if support else None,
        "fidelity_max": support.score_max if support else None,
        "fidelity_mean": support.score_mean if support else None,
        "event_count": support.events if support else None,
        "event_independence_verified": False,
        "warnings": list(result.warnings),
        **result.extra,
    }


_METHODS = {"profile": "profile_least_squares", "swept": "swept_offset_log_linear"}


def _fit(result: HalfLifeResult, fit: DecayFit, scale: float | None) -> dict[str, Any]:
    total = None if fit.a is None else fit.a + fit.b
    return {
        "half_life": fit.half_life,
        "half_life_seconds": _times(fit.half_life, scale),
        "tau": fit.tau,
        "tau_seconds": _times(fit.tau, scale),
        "raw": fit.raw,
        "interval_raw": [
            None if end is None or not result.t_ref else min(end / result.t_ref, 1.0) for end in fit.interval
        ],
        "a": fit.a,
        "b": fit.b,
        "fidelity_at_smallest_gap": fit.at_smallest_gap,
        "loss_share": fit.a / total if fit.a is not None and total else None,
        "r2": fit.r2,
        "rss": fit.rss,
        "f_statistic": fit.f_statistic,
        "p_permutation": fit.p_permutation,
        "interval_half_life": list(fit.interval),
        "interval_half_life_seconds": [_times(end, scale) for end in fit.interval] if scale else None,
        "active_bound": fit.active,
        "grid_end": fit.edge,
    }


def _times(value: float | None, scale: float | None) -> float | None:
    return None if value is None or scale is None else value * scale


def lines(result: HalfLifeResult) -> list[tuple[str, str]]:
    """Return the report of `result` as rows (what, value) for people."""
    unit = _SHORT.get(result.unit, f" {result.unit}")
    fit, support = result.fit, result.support
    rows = [("status", result.status if result.reason is None else f"{result.status}: {result.reason}")]
    if result.detail:
        rows.append(("why", result.detail))
    rows += [(f"gate {name}", v.reason or "ok") for name, v in result.gates.items()]
    if fit:
        refused = "" if result.reason is None else " (refused)"
        rows.append((f"half-life{refused}", _time(fit.half_life, unit)))
        if fit.tau is not None and result.method == "profile":
            low, high = _time(fit.interval[0], unit, "0"), _time(fit.interval[1], unit, "no end")
            rows.append(("95 % interval", f"{low} to {high}"))
        if result.lower_bound is not None:
            rows.append(("half-life is more than", _time(result.lower_bound, unit)))
        if result.upper_bound is not None:
            rows.append(("half-life is less than", _time(result.upper_bound, unit)))
        rows.append((f"raw{refused}", _digits(fit.raw)))
        if fit.tau is not None:
            rows.append(("curve", f"{_digits(fit.a)} exp(-t / {_time(fit.tau, unit)}) + {_digits(fit.b)}"))
        rows.append(("R2", _digits(fit.r2)))
        rows.append(("permutation p", _digits(fit.p_permutation)))
    if support:
        # Rows of responses come in episodes and have ages, pairs come in events and have gaps.
        what, group, time = ("rows", "episode", "ages") if "bins" in result.extra else ("pairs", "event", "gaps")
        groups = "" if support.events is None else f" in {support.events} {group}{'s' if support.events != 1 else ''}"
        rows.append((what, f"{support.pairs}{groups}, {support.distinct_gaps} distinct {time}"))
        rows.append((time, f"{_time(support.gap_min, unit)} to {_time(support.gap_max, unit)}"))
        rows.append(("scores", f"{_digits(support.score_min)} to {_digits(support.score_max)}"))
    rows.append(("method", f"{_METHODS[result.method]}, bounds {result.bounds}"))
    rows += [("warning", WARNINGS.get(warning, warning)) for warning in result.warnings]
    return rows


WARNINGS = {
    "pairs_not_independent": "pairs_not_independent: fewer than five events, so the permutation p is not to be trusted"
}
"""Warnings by name, as sentences."""


_SHORT = {"seconds": " s", "days": " d"}


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _time(value: float | None, unit: str, missing: str = "-") -> str:
    return missing if value is None else f"{value:.4g}{unit}"
