"""Arms that differ in one option, on the same questions: the image ablation and the oracles (MEMLENS, Table 3, G.7)."""

from __future__ import annotations

from collections.abc import Iterator

from memgauge.metrics.exact import mcnemar
from memgauge.metrics.memlens.accuracy import grouped
from memgauge.metrics.memlens.degradation import ALPHA, bonferroni
from memgauge.metrics.memlens.document import Ablations, AblationTest, Grouping
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import Answers, Flags, Pair, Setting, pair

GROUPINGS = ("all", "answerable", "ability", "visual_need")


def ablations(answers: Answers, estimator: Estimator) -> Ablations:
    """Compare every two arms of a system of which one has exactly one option more than the other.

    An arm that shows the same at every length (an oracle, no context) is compared at its own length where it was run
    there, else at its shortest one. Bonferroni's correction is over all lines.
    """
    tests: list[AblationTest] = []
    for first, second, changed in _arms(answers):
        both = pair(first, second)
        others = {(grouping, name): inside for grouping, name, inside in grouped(answers, second)}
        for grouping, name, inside in grouped(answers, first):
            if grouping not in GROUPINGS or (grouping, name) not in others:
                continue
            part = both.cut(inside, others[grouping, name])
            if len(part.at):
                tests.append(_test(part, changed, grouping, name, estimator))
    m = len(tests)
    for test in tests:
        test["p_bonferroni"] = bonferroni(test["p"], m)
        test["significant"] = test["p_bonferroni"] < ALPHA
    return {"alpha": ALPHA, "m": m, "threshold": ALPHA / m if m else None, "tests": tests}


def _arms(answers: Answers) -> Iterator[tuple[Setting, Setting, str]]:
    """Yield (arm, arm with one option more, that option) of every system and length."""
    systems: dict[str, list[list[Setting]]] = {}
    for series in answers.series:
        systems.setdefault(series[0].system, []).append(series)
    for arms in systems.values():
        for base in arms:
            for other in arms:
                added = other[0].options - base[0].options
                if len(added) != 1 or base[0].options - other[0].options:
                    continue
                at = {setting.length: setting for setting in other}
                for setting in base:
                    partner = at.get(setting.length, None if other[0].varies else other[0])
                    if partner is not None:
                        yield setting, partner, next(iter(added))


def _test(part: Pair, changed: str, grouping: Grouping, group: str, estimator: Estimator) -> AblationTest:
    lost, gained = _count(part.right & ~part.other), _count(part.other & ~part.right)
    n = len(part.at)
    return {
        "system": part.first.system,
        "arm": part.first.arm,
        "other_arm": part.second.arm,
        "changed": changed,
        "length": part.first.length,
        "other_length": part.second.length,
        "grouping": grouping,
        "group": group,
        "n": n,
        "unpaired": part.unpaired,
        "accuracy": float(part.right.mean()),
        "accuracy_other": float(part.other.mean()),
        "difference": estimator.difference(lost, gained, n),
        "lost": lost,
        "gained": gained,
        "p": mcnemar(lost, gained).p,
        "p_bonferroni": 1.0,
        "significant": False,
    }


def _count(flags: Flags) -> int:
    return int(flags.sum())
