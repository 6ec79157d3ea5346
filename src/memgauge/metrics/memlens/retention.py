"""Retention: accuracy at a longer length over accuracy at the shortest (MEMLENS, Figure 18), and model size."""

from __future__ import annotations

from collections.abc import Mapping

from memgauge.metrics.memlens.document import Correlation, Retention
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.ranks import spearman
from memgauge.metrics.memlens.table import ALL, Answers, Pair, pair


def retentions(answers: Answers, estimator: Estimator, sizes: Mapping[str, float]) -> list[Retention]:
    """Return the ratio of every system from its shortest length to each longer one, over all and for each ability."""
    found: list[Retention] = []
    for series in answers.series:
        first = series[0]
        if not first.varies:
            continue
        for later in series[1:]:
            both = pair(first, later)
            parts: list[tuple[str, Pair]] = [(ALL, both)]
            for code, name in enumerate(answers.abilities):
                parts.append((name, both.cut(first.group("split", code), later.group("split", code))))
            for name, part in parts:
                n = len(part.at)
                if not n:
                    continue
                found.append(
                    {
                        "system": first.system,
                        "arm": first.arm,
                        "ability": name,
                        "length_from": first.length,
                        "length_to": later.length,
                        "n": n,
                        "accuracy_from": float(part.right.mean()),
                        "accuracy_to": float(part.other.mean()),
                        "ratio": estimator.ratio(part.right, part.other),
                        "size": sizes.get(first.system),
                    }
                )
    return found


def size_correlations(found: list[Retention]) -> list[Correlation]:
    """Return the rank correlation of retention over all questions with model size, for each arm and span of lengths."""
    groups: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
    for row in found:
        value = row["ratio"]["value"]
        if row["ability"] == ALL and row["size"] is not None and value is not None:
            groups.setdefault((row["arm"], row["length_from"], row["length_to"]), []).append((value, row["size"]))
    result: list[Correlation] = []
    for (arm, start, stop), pairs in groups.items():
        ranked = spearman(*zip(*pairs, strict=True))
        result.append(
            {
                "arm": arm,
                "length": stop,
                "of": "retention and size",
                "a": f"accuracy at {stop:,} / at {start:,} tokens",
                "b": "model size",
                "n": ranked.n,
                "rho": ranked.rho,
                "p": ranked.p,
                "note": ranked.note,
            }
        )
    return result
