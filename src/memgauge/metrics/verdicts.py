"""How far to trust a judge: two verdicts on the same answers, overall and by ability, system, form and family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from memgauge.metrics.agreement import (
    SHORT_WORDS,
    by_system,
    compare_verdicts,
    corrected_accuracy,
    format_bias,
    rank_correlation,
)
from memgauge.metrics.inference import REDRAWS, Resampler, combination_interval

FAMILY_GAP = 0.03
"""A difference in leniency that matters in practice (MEMLENS, judge validation)."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One answer that two raters judged; the second is trusted more. None: no verdict."""

    question: str
    system: str
    task: str
    first: int | None
    second: int | None
    words: int | None = None
    """Length of the answer, where it is known."""


def agreement_document(
    pairs: Sequence[Verdicts],
    *,
    rated: Sequence[Verdicts] | None = None,
    families: Mapping[str, Sequence[str]] | None = None,
    redraws: int = REDRAWS,
    seed: int = 0,
) -> dict[str, Any]:
    """Return all comparisons of two raters as a JSON document.

    Parameters
    ----------
    pairs : answers that both files hold; those without a verdict on either side are counted and left out.
    rated : every answer of the first rater, paired or not, to which the correction for the form is applied; by default
        the pairs.
    families : name of a family to patterns of system names, as `fnmatch` reads them; for each, whether the first rater
        is more lenient to it than to the other systems.
    redraws, seed : of the bootstrap over questions for the families.
    """
    scored = [pair for pair in pairs if pair.first is not None and pair.second is not None]
    tasks = sorted({pair.task for pair in scored} - {""})
    systems = sorted({pair.system for pair in scored} - {""})
    means = by_system(
        {name: [p.first or 0 for p in scored if p.system == name] for name in systems},
        {name: [p.second or 0 for p in scored if p.system == name] for name in systems},
    )
    form = _form(scored, pairs if rated is None else rated, systems)
    return {
        "pairs": len(pairs),
        "without_verdict": {
            "first": sum(pair.first is None for pair in pairs),
            "second": sum(pair.second is None for pair in pairs),
        },
        "overall": _compared(scored),
        "by_ability": {task: _compared(p for p in scored if p.task == task) for task in tasks},
        "by_system": {
            name: _compared(p for p in scored if p.system == name)
            | {"accuracy_first": means[name][0], "accuracy_second": means[name][1]}
            for name in systems
        },
        "systems_spearman": rank_correlation([m[0] for m in means.values()], [m[1] for m in means.values()]),
        "mean_accuracy_delta": float(np.mean([abs(a - b) for a, b in means.values()])) if means else None,
        "format_bias": form,
        "families": [
            _family(name, patterns, scored, Resampler(redraws, seed)) for name, patterns in (families or {}).items()
        ],
    }


def _compared(pairs: Iterable[Verdicts]) -> dict[str, Any]:
    kept = list(pairs)
    found = compare_verdicts([p.first or 0 for p in kept], [p.second or 0 for p in kept])
    return asdict(found) | {"leniency": found.leniency}


def _form(scored: Sequence[Verdicts], rated: Sequence[Verdicts], systems: Sequence[str]) -> dict[str, Any] | None:
    """Compare short answers with longer ones, and take the extra leniency off each system's accuracy."""
    known = [pair for pair in scored if pair.words is not None]
    if not known:
        return None
    bias = format_bias([p.first or 0 for p in known], [p.second or 0 for p in known], [p.words or 0 for p in known])
    corrected = {}
    for name in systems or [""]:
        own = [p for p in rated if p.system == name and p.first is not None and p.words is not None]
        right = [p.words or 0 for p in own if p.first]
        short = sum(words <= SHORT_WORDS for words in right)
        corrected[name] = {
            "n": len(own),
            "accuracy": len(right) / len(own) if own else None,
            "corrected": corrected_accuracy(short, len(right) - short, len(own), bias),
        }
    return {
        "n": len(known),
        "short_words": SHORT_WORDS,
        "short": asdict(bias.short) | {"leniency": bias.short.leniency},
        "long": asdict(bias.long) | {"leniency": bias.long.leniency},
        "p": bias.p,
        "corrected": corrected,
    }


def _family(name: str, patterns: Sequence[str], scored: Sequence[Verdicts], resampler: Resampler) -> dict[str, Any]:
    """Compare the leniency to one family of systems with that to the others; questions are redrawn."""

    def inside(pair: Verdicts) -> bool:
        return any(fnmatchcase(pair.system.lower(), pattern.lower()) for pattern in patterns)

    own = [pair for pair in scored if inside(pair)]
    others = [pair for pair in scored if not inside(pair)]
    a, b = _compared(own), _compared(others)
    places = {question: index for index, question in enumerate(sorted({pair.question for pair in scored}))}
    top, bottom = np.zeros((len(places), 2)), np.zeros((len(places), 2))
    for column, group in enumerate((own, others)):
        for pair in group:
            row = places[pair.question]
            top[row, column] += (pair.first or 0) - (pair.second or 0)
            bottom[row, column] += 1
    gap = combination_interval(top, bottom, (1.0, -1.0), resampler, stratum="family", bounds=(-1.0, 1.0))
    return {
        "family": name,
        "systems": sorted({pair.system for pair in own}),
        "own": a,
        "others": b,
        "gap": gap.estimate(),
        "matters_above": FAMILY_GAP,
    }


def read_families(texts: Sequence[str], fail: Callable[[str], Exception]) -> dict[str, tuple[str, ...]]:
    """Read families of systems as `NAME=PATTERN,PATTERN`; `fail` makes the exception for a text of another form.

    >>> read_families(["qwen=qwen*,m2a*"], ValueError)
    {'qwen': ('qwen*', 'm2a*')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, _, patterns = text.partition("=")
        parts = tuple(part.strip() for part in patterns.split(","))
        if not name.strip() or not all(parts) or name.strip() in found:
            raise fail(text)
        found[name.strip()] = parts
    return found
