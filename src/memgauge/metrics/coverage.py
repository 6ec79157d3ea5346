"""Do the intervals hold what they promise? Simulated responses whose questions hang together within a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from memgauge.metrics.inference import Resampler, ratio_intervals
from memgauge.seeding import generator

SETTINGS: tuple[tuple[int, float], ...] = (
    *((episodes, accuracy) for episodes in (40, 80, 200) for accuracy in (0.6, 0.75, 0.9)),
    (20, 0.75),
    (20, 0.97),
    (40, 0.97),
)
"""(episodes, accuracy): the promise covers 40 and more episodes at 0.6 to 0.9; the others show its edge."""


class Coverage(TypedDict):
    """How often intervals held the truth in one setting."""

    episodes: int
    accuracy: float
    questions: int
    correlation: float
    simulations: int
    coverage: float
    standard_error: float
    """Of `coverage`, from the number of simulations."""
    too_high: float
    """Share of intervals that lie wholly above the truth."""
    too_low: float
    width: float


def simulate_coverage(
    settings: Sequence[tuple[int, float]] = SETTINGS,
    *,
    questions: int = 16,
    correlation: float = 0.2,
    simulations: int = 2000,
    redraws: int = 1000,
    seed: int = 0,
) -> list[Coverage]:
    """Return the coverage of the accuracy interval for each (episodes, accuracy).

    Each simulated episode has its own chance of a right answer, drawn from the beta distribution with mean `accuracy`
    and intra-class correlation `correlation` (0: questions are independent); its right answers out of `questions` are
    binomial. Deterministic by seed.
    """
    found: list[Coverage] = []
    for episodes, accuracy in settings:
        rng = generator(seed, "coverage", episodes, round(accuracy * 1_000_000), questions)
        shape = (episodes, simulations)
        chance: float | np.ndarray = accuracy
        if correlation > 0:
            strength = 1 / correlation - 1
            chance = rng.beta(accuracy * strength, (1 - accuracy) * strength, shape)
        right = rng.binomial(questions, chance, shape).astype(np.float64)
        # One set of weights for all simulations: only the noise of the quantiles is shared.
        intervals = ratio_intervals(right, np.full(episodes, float(questions)), Resampler(redraws, seed))
        above, below = intervals.low > accuracy, intervals.high < accuracy
        coverage = 1 - float((above | below).mean())
        found.append(
            {
                "episodes": episodes,
                "accuracy": accuracy,
                "questions": questions,
                "correlation": correlation,
                "simulations": simulations,
                "coverage": coverage,
                "standard_error": float(np.sqrt(coverage * (1 - coverage) / simulations)),
                "too_high": float(above.mean()),
                "too_low": float(below.mean()),
                "width": float((intervals.high - intervals.low).mean()),
            }
        )
    return found
