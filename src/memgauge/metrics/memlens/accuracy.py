"""Accuracy by ability, subtype, visual need and kind, and over everything (MEMLENS, experimental analysis).

The paper's overall accuracy counts every question the same (micro). Errors of the server, the judge or the parser are
neither right nor wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from memgauge.metrics.inference import undefined
from memgauge.metrics.memlens.document import Grouping, Overall, Score
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import ALL, Answers, Flags, Setting
from memgauge.responses import OUTCOMES

GROUPINGS: dict[Grouping, str] = {
    "ability": "split",
    "subtype": "subtype",
    "visual_need": "visual_need",
    "kind": "kind",
}
"""Groupings, and the column that each is by."""


def grouped(answers: Answers, setting: Setting) -> Iterator[tuple[Grouping, str, Flags]]:
    """Yield every group of questions of a setting: grouping, name, and which questions are in it."""
    everything = np.ones(len(setting), np.bool_)
    yield "all", ALL, everything
    answerable = ~setting.unanswerable
    if answerable.any() and not answerable.all():
        yield "answerable", "answerable", answerable
    for grouping, label in GROUPINGS.items():
        for name, inside in answers.groups(setting, label):
            yield grouping, name, inside


def score(setting: Setting, grouping: Grouping, group: str, inside: Flags, estimator: Estimator) -> Score:
    """Return the numbers of one group of a setting's questions."""
    n, scored = int(inside.sum()), int((inside & setting.scored).sum())
    right, answered = int((inside & setting.correct).sum()), int((inside & setting.answered).sum())
    counts = np.bincount(setting.outcome[inside], minlength=len(OUTCOMES))
    return {
        **setting.where,  # type: ignore[typeddict-item]
        "grouping": grouping,
        "group": group,
        "n": n,
        "scored": scored,
        "outcomes": {name: int(count) for name, count in zip(OUTCOMES, counts, strict=True)},
        "accuracy": estimator.share(right, scored),
        "accuracy_worst": right / n if n else None,
        "accuracy_best": (right + n - scored) / n if n else None,
        "coverage": estimator.share(answered, scored),
        "accuracy_answered": estimator.share(int((inside & setting.correct & setting.answered).sum()), answered)
        if answered
        else undefined("nothing was attempted"),
    }


def scores(answers: Answers, estimator: Estimator) -> list[Score]:
    """Return one entry for every setting and group."""
    return [
        score(setting, grouping, group, inside, estimator)
        for setting in answers.settings
        for grouping, group, inside in grouped(answers, setting)
    ]


def overall(answers: Answers, estimator: Estimator) -> list[Overall]:
    """Return micro and macro accuracy of every setting, and over all lengths where there are several."""
    found: list[Overall] = []
    for series in answers.series:
        for setting in series:
            found.append(_overall(answers, [setting], setting.length, estimator))
        if len(series) > 1:
            found.append(_overall(answers, series, None, estimator))
    return found


def _overall(answers: Answers, series: Sequence[Setting], length: int | None, estimator: Estimator) -> Overall:
    first = series[0]
    size = len(answers.episodes)
    right, scored = np.zeros(size, np.int64), np.zeros(size, np.int64)
    hits, asked = np.zeros(len(answers.abilities), np.int64), np.zeros(len(answers.abilities), np.int64)
    for setting in series:
        right[setting.question] += setting.correct
        scored[setting.question] += setting.scored
        codes = setting.codes["split"]
        hits += np.bincount(codes, setting.correct, minlength=len(hits)).astype(np.int64)
        asked += np.bincount(codes, setting.scored, minlength=len(asked)).astype(np.int64)
    present = np.flatnonzero(asked)
    return {
        "system": first.system,
        "arm": first.arm,
        "length": length,
        "n": sum(len(setting) for setting in series),
        "scored": int(scored.sum()),
        "micro": estimator.clustered(right[scored > 0], scored[scored > 0]),
        # Over several lengths the abilities' counts are of answers, not of clusters: the value alone is sound.
        "macro": estimator.mean(hits[present].tolist(), asked[present].tolist())
        if length is not None
        else undefined("given for each length"),
        "abilities": [answers.abilities[code] for code in present],
    }
