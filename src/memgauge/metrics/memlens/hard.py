"""Questions that hardly any system solves, and what becomes of them at other lengths (MEMLENS, G.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memgauge.metrics.inference import undefined
from memgauge.metrics.memlens.document import Hard, StillHard
from memgauge.metrics.memlens.estimates import EMPTY, Estimator
from memgauge.metrics.memlens.table import Answers, Flags, Ints, Setting

BELOW = 0.2
LISTED = 1_000


def hard_questions(answers: Answers, estimator: Estimator, below: float = BELOW) -> list[Hard]:
    """Return the questions that fewer than `below` of the systems solve, for each arm and length.

    A system counts for a question where its answer was scored. With fewer than 1 / `below` systems, hard means that
    nobody solved it, which a note says.
    """
    size = len(answers.episodes)
    solved = {(panel[0].arm, panel[0].length): _solved(panel, size) for panel in answers.panels}
    ability = np.full(size, -1, np.int64)
    for setting in answers.settings:
        ability[setting.question] = setting.codes["split"]
    found: list[Hard] = []
    for panel in answers.panels:
        arm, length = panel[0].arm, panel[0].length
        right, scored = solved[arm, length]
        hard = _hard(right, scored, below)
        asked = np.bincount(ability[scored > 0], minlength=len(answers.abilities))
        counts = np.bincount(ability[hard], minlength=len(answers.abilities))
        elsewhere = [_elsewhere(hard, at, *solved[arm, at], below, estimator) for own, at in solved if own == arm]
        found.append(
            {
                "arm": arm,
                "length": length,
                "systems": len(panel),
                "below": below,
                "n": int((scored > 0).sum()),
                "hard": int(hard.sum()),
                "abilities": [
                    {"ability": name, "n": int(asked[code]), "hard": int(counts[code])}
                    for code, name in enumerate(answers.abilities)
                    if asked[code]
                ],
                "elsewhere": elsewhere,
                "questions": answers.episodes.filter(hard).head(LISTED).to_list(),
                "note": f"with {len(panel)} system{'' if len(panel) == 1 else 's'}, hard means that none solved it"
                if len(panel) < 1 / below
                else None,
            }
        )
    return found


def _solved(panel: Sequence[Setting], size: int) -> tuple[Ints, Ints]:
    """Return how many systems solved each question, and for how many it was scored."""
    right, scored = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for setting in panel:
        right[setting.question] += setting.correct
        scored[setting.question] += setting.scored
    return right, scored


def _hard(right: Ints, scored: Ints, below: float) -> Flags:
    return np.asarray((scored > 0) & (right < below * scored - 1e-9))


def _elsewhere(hard: Flags, at: int, right: Ints, scored: Ints, below: float, estimator: Estimator) -> StillHard:
    there = hard & (scored > 0)
    return {
        "length": at,
        "n": int(there.sum()),
        "still_hard": int((there & _hard(right, scored, below)).sum()),
        "accuracy": estimator.clustered(right[there], scored[there]) if there.any() else undefined(EMPTY),
    }
