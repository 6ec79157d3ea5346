"""Models compared over a batch: what each remembers, with intervals over cases, and paired tests on shared cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from memgauge.metrics.inference import Resampler, finite, ratio_intervals
from memgauge.seeding import generator

_FLIPS = 9999
_ALL_FLIPS = 12
COLUMNS = ("model", "ok", "raw [95 %]", "half-life (median)", "fidelity [95 %]")


def leaderboard(records: Sequence[dict[str, Any]], seed: int = 0) -> dict[str, Any]:
    """Return the models of a batch, best mean raw first, and their pairwise comparisons.

    `raw` is averaged over the videos that the gate lets pass; how many were refused, and why, stands beside it. Revisit
    fidelity is there for every video with a pair. A comparison is over the cases that both models have, by a
    sign-flip test of the paired differences, corrected by Holm over the pairs of models.
    """
    names = sorted({record["model"] for record in records})
    resampler = Resampler(seed=seed)
    models = [_model(name, [r for r in records if r["model"] == name], resampler) for name in names]
    models.sort(key=lambda m: (m["raw"]["value"] is None, -(m["raw"]["value"] or 0.0), m["model"]))
    embedders = sorted({record["embedder"] for record in records if record.get("embedder")})
    pairs = [
        _comparison(a, b, records, metric, seed)
        for metric in ("memory_revisit_fidelity", "raw")
        for a, b in combinations([model["model"] for model in models], 2)
    ]
    for metric in ("memory_revisit_fidelity", "raw"):
        _holm([pair for pair in pairs if pair["metric"] == metric])
    return {"models": models, "comparisons": pairs, "embedders": embedders}


def _model(name: str, records: Sequence[dict[str, Any]], resampler: Resampler) -> dict[str, Any]:
    passed = [r for r in records if r["status"] == "ok"]
    halves = [r["half_life_seconds"] for r in passed]
    fidelities = [r["memory_revisit_fidelity"] for r in records if r.get("memory_revisit_fidelity") is not None]
    reasons = Counter(r["reason"] for r in records if r["status"] == "not_applicable")
    return {
        "model": name,
        "videos": len(records),
        "ok": len(passed),
        "refused": dict(sorted(reasons.items())),
        "errors": sum(r["status"] == "error" for r in records),
        "raw": _mean([r["raw"] for r in passed if r["raw"] is not None], resampler),
        "half_life_seconds_median": float(np.median(halves)) if halves else None,
        "memory_revisit_fidelity": _mean(fidelities, resampler),
    }


def _mean(values: Sequence[float], resampler: Resampler) -> dict[str, Any]:
    if not values:
        return {"value": None, "low": None, "high": None, "n": 0, "note": "no video"}
    found = ratio_intervals(np.array(values), np.ones(len(values)), resampler).estimate()
    return {**found, "n": len(values)}


def _comparison(first: str, second: str, records: Sequence[dict[str, Any]], metric: str, seed: int) -> dict[str, Any]:
    def scores(model: str) -> dict[str, float]:
        return {r["case"]: r[metric] for r in records if r["model"] == model and r.get(metric) is not None}

    a, b = scores(first), scores(second)
    shared = sorted(a.keys() & b.keys())
    difference = np.array([a[case] - b[case] for case in shared])
    return {
        "metric": metric,
        "model_a": first,
        "model_b": second,
        "cases": len(shared),
        "difference": finite(difference.mean()) if len(shared) else None,
        "p": sign_flip_p(difference, seed) if len(shared) > 1 else None,
        "p_holm": None,
    }


def sign_flip_p(differences: np.ndarray[Any, Any], seed: int = 0) -> float:
    """Return the two-sided p of a mean difference under random signs: all of them up to 12 differences, else 9,999.

    >>> sign_flip_p(np.array([1.0, 1.0, 1.0]))
    0.25
    """
    count = len(differences)
    observed = abs(differences.sum()) * (1 - 1e-12)
    if count <= _ALL_FLIPS:
        signs = 1 - 2 * ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1)
        return float((np.abs(signs @ differences) >= observed).mean())
    signs = generator(seed, "leaderboard").choice([-1.0, 1.0], (_FLIPS, count))
    return float((1 + (np.abs(signs @ differences) >= observed).sum()) / (1 + _FLIPS))


def _holm(pairs: Sequence[dict[str, Any]]) -> None:
    """Write `p_holm` into the comparisons that have a p."""
    tested = sorted((pair for pair in pairs if pair["p"] is not None), key=lambda pair: pair["p"])
    least = 0.0
    for rank, pair in enumerate(tested):
        least = max(least, min(1.0, pair["p"] * (len(tested) - rank)))
        pair["p_holm"] = least


def leaderboard_rows(board: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the leaderboard as columns and rows of text."""

    def estimate(found: dict[str, Any]) -> str:
        if found["value"] is None:
            return "-"
        ends = "" if found["low"] is None else f" [{found['low']:.2f}, {found['high']:.2f}]"
        return f"{found['value']:.3f}{ends}"

    rows: list[tuple[str, ...]] = []
    for model in board["models"]:
        half = model["half_life_seconds_median"]
        rows.append(
            (
                model["model"],
                f"{model['ok']} of {model['videos']}",
                estimate(model["raw"]),
                "-" if half is None else f"{half:.3g} s",
                estimate(model["memory_revisit_fidelity"]),
            )
        )
    return COLUMNS, rows
