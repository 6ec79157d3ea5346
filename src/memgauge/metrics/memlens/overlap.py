"""Whether the right answers at two lengths are the same questions: Jaccard overlap against chance (MEMLENS, G.6).

A system that is right equally often at two lengths may be right on the same questions (robust) or on other ones (its
accuracy is a floor, redrawn each time). Chance is what two random sets of these sizes share.
"""

from __future__ import annotations

from memgauge.metrics.exact import fisher_greater, hypergeometric
from memgauge.metrics.inference import undefined
from memgauge.metrics.memlens.document import Overlap
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import ALL, Answers, Pair, pair


def expected_jaccard(first: int, second: int, n: int) -> float | None:
    """Return the exact mean Jaccard overlap of random sets of `first` and `second` out of `n` questions.

    Their intersection K is hypergeometric, and the overlap is K / (first + second - K). None for two empty sets.

    >>> expected_jaccard(1, 1, 4), round(expected_jaccard(2, 2, 4), 6)
    (0.25, 0.388889)
    """
    if not first + second:
        return None
    shared, mass = hypergeometric(first, second, n)
    return float((mass * shared / (first + second - shared)).sum())


def overlaps(answers: Answers, estimator: Estimator) -> list[Overlap]:
    """Return the overlap of every system between adjacent lengths, over all questions and for each ability."""
    found: list[Overlap] = []
    for first, second in answers.adjacent():
        both = pair(first, second)
        parts = [(ALL, both)]
        for code, name in enumerate(answers.abilities):
            parts.append((name, both.cut(first.group("split", code), second.group("split", code))))
        found += [_overlap(name, part, estimator) for name, part in parts if len(part.at)]
    return found


def _overlap(ability: str, part: Pair, estimator: Estimator) -> Overlap:
    n, first, second = len(part.at), int(part.right.sum()), int(part.other.sum())
    both = int((part.right & part.other).sum())
    either = first + second - both
    expected = expected_jaccard(first, second, n)
    full = first in (0, n) or second in (0, n)
    return {
        "system": part.first.system,
        "arm": part.first.arm,
        "ability": ability,
        "length_from": part.first.length,
        "length_to": part.second.length,
        "n": n,
        "right_from": first,
        "right_to": second,
        "both": both,
        "jaccard": estimator.share(both, either) if either else undefined("nothing was right at either length"),
        "expected": expected,
        "ratio": both / either / expected if either and expected else None,
        "p": None if full else fisher_greater(both, first - both, second - both, n - either),
        "note": "one of the sets is empty or holds every question: there is only one possible overlap"
        if full
        else None,
    }
