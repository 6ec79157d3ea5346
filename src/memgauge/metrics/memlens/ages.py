"""Recall by the age of the oldest evidence that a question needs, in sessions and in days, with half-lives.

Only answerable questions have evidence. At one length a question has one age, so older evidence is also other
questions; over all lengths of a system the same question is seen at several ages, but older is then longer as well.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from memgauge.metrics.forgetting import BINS, FIT_BINS, LEAST_IN_FIT_BIN, age_edges
from memgauge.metrics.half_life import fit_half_life
from memgauge.metrics.half_life_rows import fit_half_life_rows
from memgauge.metrics.inference import Floats
from memgauge.metrics.memlens.document import Ages, HalfLife
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import Answers, Ints, Setting
from memgauge.metrics.parts import AgeBin
from memgauge.progress import Progress

UNITS: dict[Literal["sessions", "days"], str] = {"sessions": "age", "days": "age_days"}
PERMUTATIONS = REDRAWS = 499
MOST_ROWS = 20_000
"""More rows than these are fitted by their age bins alone."""
MOST_FITS = 200
"""So many half-lives are fitted at most; each takes tenths of a second."""
_MANY = f"no half-life: {MOST_FITS} were fitted before it"


def recall_by_age(answers: Answers, estimator: Estimator) -> list[Ages]:
    """Return recall by age of every setting that has ages, at most ten bins with about equally many questions."""
    found: list[Ages] = []
    with Progress("recall by age", len(answers.settings)) as bar:
        for setting in answers.settings:
            for unit in UNITS:
                ages, right, without = _aged(setting, unit)
                if len(ages):
                    may_fit = len(found) < MOST_FITS
                    fit, note = _binned_fit(ages, right, unit, estimator.resampler.seed) if may_fit else (None, _MANY)
                    found.append(
                        {
                            **setting.where,  # type: ignore[typeddict-item]
                            "unit": unit,
                            "n": len(ages),
                            "without_age": without,
                            "bins": _bins(ages, right, estimator),
                            "half_life": fit,
                            "note": note,
                        }
                    )
            bar.advance()
    return found


def half_lives(answers: Answers, estimator: Estimator) -> list[HalfLife]:
    """Return the half-life over all lengths of every system that has several, questions kept together."""
    found: list[HalfLife] = []
    several = [series for series in answers.series if len(series) > 1 and series[0].varies]
    with Progress("half-lives over all lengths", len(several)) as bar:
        for series in several:
            for unit in UNITS:
                parts = [_aged(setting, unit) for setting in series]
                ages, right = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
                if not len(ages):
                    continue
                questions = np.concatenate([_questions(setting, unit) for setting in series])
                fit, note = (
                    _pooled_fit(ages, right, questions, unit, estimator.resampler.seed)
                    if len(found) < MOST_FITS
                    else (None, _MANY)
                )
                found.append(
                    {
                        "system": series[0].system,
                        "arm": series[0].arm,
                        "unit": unit,
                        "lengths": [setting.length for setting in series],
                        "rows": len(ages),
                        "questions": len(np.unique(questions)),
                        "half_life": fit,
                        "note": note,
                    }
                )
            bar.advance()
    return found


def _pooled_fit(
    ages: Floats, right: Floats, questions: Ints, unit: str, seed: int
) -> tuple[dict[str, Any] | None, str | None]:
    """Fit the half-life to rows, the rows of a question together; to age bins where there are very many."""
    if len(ages) > MOST_ROWS:
        fit, note = _binned_fit(ages, right, unit, seed)
        return fit, note or f"fitted to age bins: {len(ages):,} rows are more than {MOST_ROWS:,}"
    result = fit_half_life_rows(
        ages, right, questions, permutations=PERMUTATIONS, redraws=REDRAWS, seed=seed, unit=unit
    )
    return result.to_dict(), None


def _aged(setting: Setting, unit: Literal["sessions", "days"]) -> tuple[Floats, Floats, int]:
    """Return ages and verdicts of the answerable questions that have an age, and how many have none."""
    kept = setting.scored & ~setting.unanswerable
    ages = setting.numbers[UNITS[unit]]
    aged = kept & ~np.isnan(ages)
    return ages[aged], setting.correct[aged].astype(np.float64), int(kept.sum() - aged.sum())


def _questions(setting: Setting, unit: Literal["sessions", "days"]) -> Ints:
    kept = setting.scored & ~setting.unanswerable & ~np.isnan(setting.numbers[UNITS[unit]])
    return setting.question[kept]


def _bins(ages: Floats, right: Floats, estimator: Estimator) -> list[AgeBin]:
    edges = age_edges(ages, BINS, "quantile")
    place = np.searchsorted(edges[1:], ages, side="left").clip(0, len(edges) - 2)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    found: list[AgeBin] = []
    for part in np.split(order, starts[1:]):
        share = estimator.share(int(right[part].sum()), len(part))
        found.append(
            {
                "age_low": float(ages[part].min()),
                "age_high": float(ages[part].max()),
                "age_mean": float(ages[part].mean()),
                "n": len(part),
                "value": share["value"],
                "low": share["low"],
                "high": share["high"],
            }
        )
    return found


def _binned_fit(ages: Floats, right: Floats, unit: str, seed: int) -> tuple[dict[str, Any] | None, str | None]:
    """Fit the half-life to the recall of age bins, as the report's forgetting curves are fitted."""
    written = ages > 0
    ages, right = ages[written], right[written]
    count = min(FIT_BINS, len(ages) // LEAST_IN_FIT_BIN)
    if count < 1:
        return None, f"no half-life: {len(ages)} questions are too few for bins of {LEAST_IN_FIT_BIN}"
    edges = age_edges(ages, count, "quantile")
    place = np.searchsorted(edges[1:], ages, side="left").clip(0, len(edges) - 2)
    size = np.bincount(place, minlength=len(edges) - 1)
    full = size > 0
    means, recall = (np.bincount(place, v, minlength=len(size))[full] / size[full] for v in (ages, right))
    result = fit_half_life(means, recall, permutations=PERMUTATIONS, seed=seed, t_ref=None, unit=unit)
    return result.to_dict(), None
