"""What longer histories cost: McNemar's exact test between adjacent lengths (MEMLENS, G.5).

The family is every (system, arm, ability, adjacent lengths) that is tested, and Bonferroni's correction is over it. The
transitions in which accuracy rises are listed apart and corrected by their own number, as the paper does.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgauge.metrics.exact import mcnemar
from memgauge.metrics.memlens.document import Degradation, Family, Transition
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import ALL, Answers, Flags, pair

ALPHA = 0.05


def bonferroni(p: float, m: int) -> float:
    """Return p corrected for a family of m tests.

    >>> bonferroni(0.022, 72)
    1.0
    """
    return min(1.0, p * m)


def degradation(answers: Answers, estimator: Estimator) -> Degradation:
    """Test every ability of every system between adjacent lengths, over the questions that are scored at both."""
    single: list[Transition] = []
    whole: list[Transition] = []
    for first, second in answers.adjacent():
        both = pair(first, second)
        where = (first.system, first.arm, first.length, second.length)
        if len(both.at):
            whole.append(_transition(where, ALL, both.right, both.other, both.unpaired, estimator))
        for code, name in enumerate(answers.abilities):
            inside, other = first.group("split", code), second.group("split", code)
            part = both.cut(inside, other)
            if len(part.at):
                single.append(_transition(where, name, part.right, part.other, part.unpaired, estimator))
    return {
        "by_ability": family(single),
        "overall": family(whole),
        "increases": family([test for test in single if test["gained"] > test["lost"]]),
    }


def _transition(
    where: tuple[str, str, int, int], ability: str, right: Flags, other: Flags, unpaired: int, estimator: Estimator
) -> Transition:
    n = len(right)
    lost, gained = int((right & ~other).sum()), int((other & ~right).sum())
    test = mcnemar(lost, gained)
    system, arm, start, stop = where
    return {
        "system": system,
        "arm": arm,
        "ability": ability,
        "length_from": start,
        "length_to": stop,
        "n": n,
        "unpaired": unpaired,
        "accuracy_from": float(right.mean()),
        "accuracy_to": float(other.mean()),
        "difference": estimator.difference(lost, gained, n),
        "lost": lost,
        "gained": gained,
        "p": test.p,
        "p_mid": test.p_mid,
        "p_bonferroni": 1.0,
        "significant": False,
    }


def family(tests: Sequence[Transition], alpha: float = ALPHA) -> Family:
    """Correct tests by their number."""
    m = len(tests)
    done: list[Transition] = []
    for test in tests:
        p = bonferroni(test["p"], m)
        done.append({**test, "p_bonferroni": p, "significant": p < alpha})
    return {
        "alpha": alpha,
        "m": m,
        "threshold": alpha / m if m else None,
        "significant": sum(test["significant"] for test in done),
        "tests": done,
    }
