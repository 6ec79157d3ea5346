"""How often the half-life gates err, and how often the interval holds the truth: the tables of docs/half_life.md.

    python benchmarks/half_life_simulation.py [--runs 1000] [--seed 0] [--json]

Gaps lie evenly from 1 to 55 seconds, fidelities are clipped to [0, 1]. Without decay the level is 0.7; the noise is
independent, or an AR(1) process along the gap, as in one continuous sweep of the camera. With decay,
f = 0.6 exp(-gap / tau) + 0.3 and the noise has a deviation of 0.05.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from memgauge.metrics.half_life import LN2, fit_half_life
from memgauge.metrics.half_life_profile import Floats
from memgauge.progress import Progress
from memgauge.seeding import generator

PAIRS = (5, 8, 12, 24)
DEVIATIONS = (0.05, 0.1)
CORRELATIONS = (0.0, 0.8, 0.95)
TAUS = (5.0, 20.0, 60.0, 200.0)
PERMUTATIONS = 999


def noise(rng: np.random.Generator, pairs: int, deviation: float, correlation: float) -> Floats:
    """Draw a stationary AR(1) process of the given deviation, shape [pairs]."""
    drawn = rng.normal(0, deviation, pairs)
    for i in range(1, pairs):
        drawn[i] = correlation * drawn[i - 1] + np.sqrt(1 - correlation**2) * drawn[i]
    return drawn


def false_alarms(pairs: int, deviation: float, correlation: float, runs: int, seed: int) -> dict[str, Any]:
    """Return the share of constant fidelities that each gate lets pass, and of the raw scores then, the share of 1."""
    gaps = np.linspace(1, 55, pairs)
    passed = {"swept": 0, "seed": 0, "strict": 0}
    full = 0
    for run in range(runs):
        rng = generator(seed, "flat", pairs, round(1000 * deviation), round(100 * correlation), run)
        scores = np.clip(0.7 + noise(rng, pairs, deviation, correlation), 0, 1)
        result = fit_half_life(gaps, scores, gate="seed", permutations=PERMUTATIONS)
        for gate in ("seed", "strict"):
            passed[gate] += result.gates[gate].reason is None
        swept = fit_half_life(gaps, scores, gate="seed", method="swept")
        passed["swept"] += swept.status == "ok"
        full += swept.raw == 1.0
    shares = {name: count / runs for name, count in passed.items()}
    return {
        "pairs": pairs,
        "deviation": deviation,
        "correlation": correlation,
        **shares,
        "swept_full_score": full / passed["swept"] if passed["swept"] else None,
    }


def recovery(pairs: int, tau: float, runs: int, seed: int) -> dict[str, Any]:
    """Return how often the interval holds the true half-life, and how often each gate gives a number."""
    gaps = np.linspace(1, 55, pairs)
    held = fitted = seed_ok = strict_ok = strict_held = 0
    ratios = []
    for run in range(runs):
        rng = generator(seed, "decay", pairs, round(tau), run)
        scores = np.clip(0.6 * np.exp(-gaps / tau) + 0.3 + rng.normal(0, 0.05, pairs), 0, 1)
        result = fit_half_life(gaps, scores, gate="seed", permutations=PERMUTATIONS)
        fit = result.fit
        if fit is None or fit.half_life is None:
            continue
        low, high = fit.interval
        inside = (low is None or low <= tau * LN2) and (high is None or tau * LN2 <= high)
        fitted += 1
        held += inside
        seed_ok += result.status == "ok"
        if result.gates["strict"].reason is None:
            strict_ok += 1
            strict_held += inside
            ratios.append(fit.half_life / (tau * LN2))
    return {
        "pairs": pairs,
        "tau": tau,
        "coverage": held / fitted if fitted else None,
        "seed": seed_ok / runs,
        "strict": strict_ok / runs,
        "coverage_when_strict_passes": strict_held / strict_ok if strict_ok else None,
        "median_ratio_when_strict_passes": float(np.median(ratios)) if ratios else None,
    }


def cell(value: float | None) -> str:
    """Return a share as text."""
    return "-" if value is None else f"{value:.3f}"


def main() -> None:
    """Print both tables, as Markdown or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    flat = [(n, s, c) for c in CORRELATIONS for n in PAIRS for s in DEVIATIONS if c == 0.0 or s == DEVIATIONS[0]]
    decays = [(n, tau) for n in PAIRS for tau in TAUS]
    with Progress("cells", len(flat) + len(decays)) as bar:
        alarms = []
        for pairs, deviation, correlation in flat:
            alarms.append(false_alarms(pairs, deviation, correlation, options.runs, options.seed))
            bar.advance()
        recovered = []
        for pairs, tau in decays:
            recovered.append(recovery(pairs, tau, options.runs, options.seed))
            bar.advance()
    if options.json:
        print(json.dumps({"runs": options.runs, "flat": alarms, "decay": recovered}, indent=2, allow_nan=False))
        return
    print("| pairs | deviation | correlation | swept | of these raw = 1 | seed gate | strict gate |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for row in alarms:
        shares = " | ".join(cell(row[name]) for name in ("swept", "swept_full_score", "seed", "strict"))
        print(f"| {row['pairs']} | {row['deviation']} | {row['correlation']} | {shares} |")
    print()
    print("| pairs | tau, s | half-life, s | coverage | seed gate | strict gate | coverage then | median / true |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    names = ("coverage", "seed", "strict", "coverage_when_strict_passes", "median_ratio_when_strict_passes")
    for row in recovered:
        shares = " | ".join(cell(row[name]) for name in names)
        print(f"| {row['pairs']} | {row['tau']:g} | {row['tau'] * LN2:.1f} | {shares} |")


if __name__ == "__main__":
    main()
