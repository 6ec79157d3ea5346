"""Whether systems that are good at one ability are good at another: rank correlations (MEMLENS, Figs. 5 and 6)."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np

from memgauge.metrics.inference import Floats
from memgauge.metrics.memlens.document import Correlation
from memgauge.metrics.memlens.ranks import LEAST, spearman
from memgauge.metrics.memlens.table import Answers, Setting

OF: dict[Literal["ability", "subtype"], str] = {"ability": "split", "subtype": "subtype"}


def correlations(answers: Answers) -> list[Correlation]:
    """Return Spearman's correlation of every two abilities, and of every two subtypes, for each arm and length.

    Each is over the systems that were scored on both; an arm and length with fewer than four systems has no entry.
    """
    found: list[Correlation] = []
    for panel in answers.panels:
        if len(panel) < LEAST:
            continue
        for of, label in OF.items():
            names = answers.names[label]
            table = np.array([_accuracies(setting, label, len(names)) for setting in panel])
            present = np.flatnonzero(~np.isnan(table).all(axis=0))
            for a, b in combinations(present.tolist(), 2):
                both = ~np.isnan(table[:, a]) & ~np.isnan(table[:, b])
                ranked = spearman(table[both, a].tolist(), table[both, b].tolist())
                found.append(
                    {
                        "arm": panel[0].arm,
                        "length": panel[0].length,
                        "of": of,
                        "a": names[a],
                        "b": names[b],
                        "n": ranked.n,
                        "rho": ranked.rho,
                        "p": ranked.p,
                        "note": ranked.note,
                    }
                )
    return found


def _accuracies(setting: Setting, label: str, size: int) -> Floats:
    """Return a setting's accuracy in each group, [size]; NaN where nothing was scored."""
    known = setting.scored & (setting.codes[label] >= 0)
    codes = setting.codes[label][known]
    asked = np.bincount(codes, minlength=size)
    right = np.bincount(codes, setting.correct[known], minlength=size)
    return np.asarray(np.divide(right, asked, out=np.full(size, np.nan), where=asked > 0))
