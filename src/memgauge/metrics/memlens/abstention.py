"""Declining where the answer is missing against declining where it is not (MEMLENS, answer refusal and G.3)."""

from __future__ import annotations

from memgauge.metrics.inference import undefined
from memgauge.metrics.memlens.document import Abstention
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import Answers


def abstentions(answers: Answers, estimator: Estimator) -> list[Abstention]:
    """Return one entry for each setting; a part is null where it has no question of that sort."""
    found: list[Abstention] = []
    for setting in answers.settings:
        missing, there = setting.scored & setting.unanswerable, setting.scored & ~setting.unanswerable
        declined, refused = int((missing & setting.correct).sum()), int((there & setting.declined).sum())
        unanswerable, answerable = int(missing.sum()), int(there.sum())
        found.append(
            {
                **setting.where,  # type: ignore[typeddict-item]
                "unanswerable": unanswerable,
                "answerable": answerable,
                "abstention": estimator.share(declined, unanswerable)
                if unanswerable
                else undefined("no unanswerable question was scored"),
                "over_refusal": estimator.share(refused, answerable)
                if answerable
                else undefined("no answerable question was scored"),
                "no_answer": estimator.share(int(setting.no_answer.sum()), int(setting.scored.sum())),
                "discrimination": estimator.apart(declined, unanswerable, refused, answerable),
            }
        )
    return found
