"""Which interval for an accuracy? Coverage of five methods on simulated streams: the table of docs/metrics.md.

    python benchmarks/interval_choice.py [--simulations 2000]

Each stream has its own chance of a right answer (beta distribution, intra-class correlation as given) and 16
questions. The standard error of a coverage near 95 % is 0.5 points with 2,000 simulations.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, stdtrit

from memgauge.metrics.inference import Resampler, ratio_intervals
from memgauge.seeding import generator

QUESTIONS, REDRAWS = 16, 1000
METHODS = ("percentile", "expanded", "studentised", "t", "memgauge")
Floats = NDArray[np.float64]


def ends(right: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Return the interval of each method for data sets [episodes, S]; NaN where a method has none."""
    episodes = len(right)
    resampler = Resampler(REDRAWS)
    value = right.mean(axis=0) / QUESTIONS
    moved = (right - right.mean(axis=0)) / QUESTIONS
    error = np.sqrt((moved**2).sum(axis=0) / (episodes - 1) / episodes)
    shift = resampler.sums(moved) / episodes
    square = resampler.sums(moved**2) / episodes - shift**2
    reach = stdtrit(episodes - 1, 0.975)
    wide = ndtr(-reach * np.sqrt(episodes / (episodes - 1)))
    found = {
        "percentile": tuple(value + np.quantile(shift, [0.025, 0.975], axis=0)),
        "expanded": tuple(value + np.quantile(shift, [wide, 1 - wide], axis=0)),
    }
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a data set whose streams all agree has no pivot
        room, drawn = value * (1 - value), (value + shift) * (1 - value - shift)
        pivots = (logit(value + shift) - logit(value)) * drawn / np.sqrt(square / (episodes - 1))
        pivots[~((square > 1e-9) & (drawn > 1e-7))] = np.nan
        below, above = np.nanquantile(pivots, [0.025, 0.975], axis=0)
        scale = error / room
        found["studentised"] = (expit(logit(value) - above * scale), expit(logit(value) - below * scale))
        found["t"] = (expit(logit(value) - reach * scale), expit(logit(value) + reach * scale))
    ours = ratio_intervals(right, np.full(episodes, float(QUESTIONS)), resampler)
    found["memgauge"] = (ours.low, ours.high)
    agree = moved.any(axis=0) == 0  # the other methods have nothing to say there: they get memgauge's bound
    return {
        name: (np.where(agree, ours.low, low), np.where(agree, ours.high, high)) for name, (low, high) in found.items()
    }


def main() -> None:
    """Print the table."""
    simulations = int(sys.argv[sys.argv.index("--simulations") + 1]) if "--simulations" in sys.argv else 2000
    print("| episodes | accuracy | correlation |", " | ".join(METHODS), "|")
    print("|-" * (3 + len(METHODS)) + "|")
    for episodes, accuracy in ((20, 0.75), (20, 0.97), (40, 0.6), (40, 0.75), (40, 0.9), (80, 0.9), (200, 0.9)):
        for correlation in (0.0, 0.2):
            rng = generator(0, "interval choice", episodes, round(100 * accuracy), round(10 * correlation))
            shape = (episodes, simulations)
            strength = 1 / correlation - 1 if correlation else 0.0
            chance = rng.beta(accuracy * strength, (1 - accuracy) * strength, shape) if correlation else accuracy
            found = ends(rng.binomial(QUESTIONS, chance, shape).astype(np.float64))
            shares = [((low <= accuracy) & (accuracy <= high)).mean() for low, high in found.values()]
            print(f"| {episodes} | {accuracy} | {correlation} |", " | ".join(f"{100 * s:.1f}" for s in shares), "|")


if __name__ == "__main__":
    main()
