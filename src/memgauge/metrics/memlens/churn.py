"""Churn: verdicts that change between lengths in both directions, and those that change back (MEMLENS, G.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memgauge.metrics.inference import undefined
from memgauge.metrics.memlens.document import Churn, FlipBack
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import Answers, Ints, Setting, pair


def churn(answers: Answers, estimator: Estimator) -> list[Churn]:
    """Return lost and gained questions of every system between adjacent lengths."""
    found: list[Churn] = []
    for first, second in answers.adjacent():
        both = pair(first, second)
        n = len(both.at)
        if not n:
            continue
        lost, gained = int((both.right & ~both.other).sum()), int((both.other & ~both.right).sum())
        held = int((both.right & both.other).sum())
        found.append(
            {
                "system": first.system,
                "arm": first.arm,
                "length_from": first.length,
                "length_to": second.length,
                "n": n,
                "both_right": held,
                "both_wrong": n - held - lost - gained,
                "lost": lost,
                "gained": gained,
                "net": gained - lost,
                "churn": estimator.share(lost + gained, n),
            }
        )
    return found


def flip_back(answers: Answers, estimator: Estimator) -> list[FlipBack]:
    """Return, for every run of three lengths, how many changed verdicts change back; then all runs together."""
    found: list[FlipBack] = []
    for series in answers.series:
        if not series[0].varies:
            continue
        runs = [_counts(three, len(answers.episodes)) for three in zip(series, series[1:], series[2:], strict=False)]
        for three, counts in zip(zip(series, series[1:], series[2:], strict=False), runs, strict=False):
            found.append(_entry(three, counts, estimator))
        if len(runs) > 1:
            found.append(_entry(series, np.sum(runs, axis=0), estimator))
    return found


def _counts(three: Sequence[Setting], size: int) -> Ints:
    """Return the questions scored at three lengths, [size, 5]: scored, lost, lost and back, gained, gained and back."""
    state = np.full((3, size), -1, np.int64)
    for row, setting in zip(state, three, strict=True):
        row[setting.question[setting.scored]] = setting.correct[setting.scored]
    a, b, c = state
    all_three = (state >= 0).all(axis=0)
    lost, gained = all_three & (a > b), all_three & (b > a)
    columns = (all_three, lost, lost & (c == a), gained, gained & (c == a))
    return np.column_stack(columns).astype(np.int64)


def _entry(settings: Sequence[Setting], counts: Ints, estimator: Estimator) -> FlipBack:
    n, lost, lost_back, gained, gained_back = (int(total) for total in counts.sum(axis=0))
    flipped, back = counts[:, 1] + counts[:, 3], counts[:, 2] + counts[:, 4]
    moved = flipped > 0
    return {
        "system": settings[0].system,
        "arm": settings[0].arm,
        "lengths": [setting.length for setting in settings],
        "n": n,
        "flipped": lost + gained,
        "back": lost_back + gained_back,
        # Over several runs one question can change more than once: it is redrawn with all of its changes.
        "share": estimator.clustered(back[moved], flipped[moved])
        if moved.any()
        else undefined("no verdict changed between the first two lengths"),
        "lost": lost,
        "lost_back": lost_back,
        "gained": gained,
        "gained_back": gained_back,
    }
