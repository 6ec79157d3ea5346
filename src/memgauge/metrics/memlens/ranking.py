"""Whether a subset of the questions ranks systems as all questions do (MEMLENS, G.2)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from memgauge.metrics.memlens.document import Ranking, SubsetScore
from memgauge.metrics.memlens.ranks import kendall, spearman
from memgauge.metrics.memlens.table import Answers, Flags, Setting


def rankings(answers: Answers, subset: Collection[str]) -> list[Ranking]:
    """Compare the systems' accuracies on a subset with those on all questions and on the rest, by arm and length.

    `subset` names questions. The comparison with the rest is the honest one: the subset is part of all questions.
    """
    # Reports of several data sets name the run after the question.
    names = answers.episodes.str.split(" @ ").list.first()
    inside = (names.is_in(list(subset)) | answers.episodes.is_in(list(subset))).to_numpy()
    found: list[Ranking] = []
    for panel in answers.panels:
        scores = [row for setting in panel if (row := _scores(setting, inside)) is not None]
        asked = np.unique(np.concatenate([setting.question for setting in panel]))
        part, full = [row["subset"] for row in scores], [row["full"] for row in scores]
        pairs = [(row["subset"], row["rest"]) for row in scores if row["rest"] is not None]
        mine, rest = [a for a, _ in pairs], [b for _, b in pairs]
        ranked = spearman(part, full)
        count = int(inside[asked].sum())
        notes = [ranked.note] if ranked.note else []
        if not count:
            notes = ["no question of the subset was asked"]
        found.append(
            {
                "arm": panel[0].arm,
                "length": panel[0].length,
                "n": ranked.n,
                "subset": count,
                "rest": int(len(asked) - count),
                "spearman": ranked.rho,
                "kendall": kendall(part, full),
                "spearman_rest": spearman(mine, rest).rho,
                "kendall_rest": kendall(mine, rest),
                "scores": scores,
                "note": "; ".join(notes) or None,
            }
        )
    return found


def _scores(setting: Setting, inside: Flags) -> SubsetScore | None:
    own = inside[setting.question] & setting.scored
    other = ~inside[setting.question] & setting.scored
    if not own.any():
        return None
    return {
        "system": setting.system,
        "subset": float(setting.correct[own].mean()),
        "rest": float(setting.correct[other].mean()) if other.any() else None,
        "full": float(setting.correct[own | other].mean()),
    }
