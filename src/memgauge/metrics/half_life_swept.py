"""The swept-offset fit of public Memory Half-Life code, re-derived for comparison only.

The floor b is swept over 41 values between 0 and just under the smallest fidelity, then over 41 around the best; for
each, a straight line is laid through log(f - b), and the b whose curve has the best R2 in fidelity wins. The
logarithm blows up residuals that the offset grid cannot resolve, so short half-lives come out far too long, even
without noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memgauge.metrics.half_life_profile import Floats

_STEPS = 41
_MARGIN = 1e-6
_LONGEST = 10.0  # times the gap span
_LEAST_VARIANCE = 1e-12
_LARGEST_EXPONENT = 709.0


@dataclass(frozen=True)
class SweptFit:
    """The winning curve of the sweep."""

    tau: float
    a: float
    b: float
    rss: float


def swept_fit(gaps: Floats, scores: Floats) -> SweptFit | None:
    """Return the swept-offset log-linear fit of scores [n] over gaps [n], or None when no swept floor gives a decay."""
    if float(scores.var()) <= _LEAST_VARIANCE:
        return None
    top = max(float(scores.min()) - _MARGIN, 0.0)
    coarse = np.linspace(0.0, top, _STEPS)
    best = _best(gaps, scores, coarse)
    if best is None:
        return None
    step = top / (_STEPS - 1)
    fine = np.linspace(max(best.b - step, 0.0), min(best.b + step, top), _STEPS)
    return min((fit for fit in (best, _best(gaps, scores, fine)) if fit is not None), key=lambda fit: fit.rss)


def _best(gaps: Floats, scores: Floats, floors: Floats) -> SweptFit | None:
    left = scores - floors[:, None]
    floors, left = floors[(left > 0).all(axis=1)], left[(left > 0).all(axis=1)]
    logs = np.log(left)
    centred = gaps - gaps.mean()
    slopes = logs @ centred / (centred @ centred)
    falling = slopes < 0
    falling[falling] = -1.0 / slopes[falling] <= _LONGEST * float(np.ptp(gaps))
    if not falling.any():
        return None
    slopes, floors, logs = slopes[falling], floors[falling], logs[falling]
    starts = logs.mean(axis=1) - slopes * gaps.mean()
    fitted = np.exp(starts[:, None] + slopes[:, None] * gaps) + floors[:, None]
    rss = ((scores - fitted) ** 2).sum(axis=1)
    i = int(rss.argmin())
    start = float(starts[i])
    amplitude = math.exp(start) if start < _LARGEST_EXPONENT else math.inf
    return SweptFit(-1.0 / float(slopes[i]), amplitude, float(floors[i]), float(rss[i]))
