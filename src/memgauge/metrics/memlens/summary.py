"""All numbers of the task `memlens`, as one document."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from memgauge.metrics.inference import REDRAWS, Resampler
from memgauge.metrics.memlens.ablation import ablations
from memgauge.metrics.memlens.abstention import abstentions
from memgauge.metrics.memlens.accuracy import overall, scores
from memgauge.metrics.memlens.ages import half_lives, recall_by_age
from memgauge.metrics.memlens.churn import churn, flip_back
from memgauge.metrics.memlens.correlation import correlations
from memgauge.metrics.memlens.degradation import degradation
from memgauge.metrics.memlens.document import Memlens
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.hard import hard_questions
from memgauge.metrics.memlens.outputs import costs, outputs
from memgauge.metrics.memlens.overlap import overlaps
from memgauge.metrics.memlens.ranking import rankings
from memgauge.metrics.memlens.ranks import LEAST
from memgauge.metrics.memlens.retention import retentions, size_correlations
from memgauge.metrics.memlens.sure import confidences
from memgauge.metrics.memlens.table import Answers, read_answers, same_arms

if TYPE_CHECKING:
    import polars as pl


def conversation_numbers(
    rows: pl.DataFrame,
    *,
    resampler: Resampler | None = None,
    sizes: Mapping[str, float] | None = None,
    subset: Collection[str] | None = None,
) -> Memlens | None:
    """Return every number of the task `memlens` in a responses table; None where it holds no such answer.

    Parameters
    ----------
    rows : responses (see `memgauge.responses`), of any systems, arms, lengths and tasks, in any order.
    resampler : redraws of questions for the intervals.
    sizes : the size of the model behind a system, in any unit, where it is known: for retention against size.
    subset : ids of questions whose ranking of systems is compared with that of all questions.
    """
    answers = read_answers(rows)
    if answers is None:
        return None
    resampler = resampler or Resampler(REDRAWS)
    estimator = Estimator(resampler)
    retained = retentions(answers, estimator, sizes or {})
    settings = answers.settings
    return {
        "systems": list(dict.fromkeys(setting.system for setting in settings)),
        "arms": same_arms(settings),
        "lengths": sorted({setting.length for setting in settings}),
        "questions": len(answers.episodes),
        "overall": overall(answers, estimator),
        "scores": scores(answers, estimator),
        "abstention": abstentions(answers, estimator),
        "degradation": degradation(answers, estimator),
        "churn": churn(answers, estimator),
        "flip_back": flip_back(answers, estimator),
        "overlap": overlaps(answers, estimator),
        "retention": retained,
        "correlations": [*correlations(answers), *size_correlations(retained)],
        "hard": hard_questions(answers, estimator),
        "ablations": ablations(answers, estimator),
        "rankings": rankings(answers, subset) if subset else [],
        "outputs": outputs(answers, estimator),
        "costs": costs(answers),
        "ages": recall_by_age(answers, estimator),
        "half_lives": half_lives(answers, estimator),
        "confidence": confidences(answers, resampler),
        "notes": [*answers.notes, *_notes(answers)],
    }


def _notes(answers: Answers) -> list[str]:
    """Say what could not be told, and why."""
    notes = []
    most = max((len(panel) for panel in answers.panels), default=0)
    if most < LEAST:
        notes.append(
            f"No rank correlations over systems: they need {LEAST} systems under one arm at one length, and there "
            f"{'is' if most == 1 else 'are'} {most}."
        )
    if not any(len(series) > 1 and series[0].varies for series in answers.series):
        notes.append("No system was asked at two lengths, so nothing is said about longer histories.")
    return notes
