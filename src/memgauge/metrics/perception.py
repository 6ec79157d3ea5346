"""The perception check: what a model gets right at L = 8, where hardly any memory is needed (ECCBench, B.5).

It concerns systems that are shown their stream in a prompt. A model that fails at L = 8 fails for another reason than
memory: it cannot read the stream, or it writes its answers in another way than asked for. One such way is to write the
yes and no markers swapped, as the paper found of one model; that is said here and never corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from memgauge.metrics.accuracy import accuracies
from memgauge.metrics.cells import Cell, Flags, by_key, partner_key
from memgauge.metrics.document import Estimate, Markers, Perception, VariantCheck
from memgauge.metrics.exact import fisher_greater
from memgauge.metrics.inference import (
    Intervals,
    Resampler,
    combination_interval,
    difference_of_independent,
    total_by,
    undefined,
)

SHORT = 8
"""Symbols or frames of the check."""
LEVEL = 0.01
"""Below this p, answers at L = 8 are significantly worse than chance."""


def is_prompted(cell: Cell) -> bool:
    """Say whether the rows are those of a model that was shown its stream in a prompt, about yes-no questions."""
    prompted = cell.column("prompt_hash").null_count() < len(cell.scored) or cell.means.get("tokens_in") is not None
    return bool(prompted and (cell.gold >= 0).any())


def perception(cells: Sequence[Cell], resampler: Resampler) -> list[Perception]:
    """Return, for every cell of a prompted model at L > 8, its accuracy beside that at L = 8.

    The check is that of the same split, negatives and arm; where a payoff arm was not asked at L = 8, the one without a
    payoff stands in. Other streams are asked at another length, so the drop is a difference of independent numbers.
    """
    prompted = [cell for cell in cells if is_prompted(cell)]
    index = by_key(prompted)
    found: list[Perception] = []
    for cell in prompted:
        if cell.key["length"] <= SHORT:
            continue
        long = accuracies(cell, resampler).accuracy
        own = index.get(partner_key(cell.key, length=SHORT))
        check = own or index.get(partner_key(cell.key, length=SHORT, arm="none"))
        short: Intervals | None = None if check is None else accuracies(check, resampler).accuracy
        found.append(
            {
                **cell.key,
                "short_length": SHORT,
                "accuracy": long.estimate(),
                "short": _missing() if short is None else short.estimate(),
                "short_n": 0 if check is None else int(check.scored.sum()),
                "short_arm": None if check is None else check.key["arm"],
                "drop": _missing() if short is None else difference_of_independent(short, long).estimate(),
                "variants": _variants(cell, check),
                "note": _note(cell, check),
            }
        )
    return found


def _missing() -> Estimate:
    return undefined(f"L = {SHORT} was not run")


def _note(cell: Cell, check: Cell | None) -> str | None:
    if check is None:
        return f"L = {SHORT} was not run: whether errors are memory or perception is not known"
    if check.key["arm"] != cell.key["arm"]:
        return f"at L = {SHORT} it was asked without a payoff only"
    return None


def _variants(cell: Cell, check: Cell | None) -> list[VariantCheck]:
    names = [name for name in cell.variants if name]
    return [{"variant": name, "short": _accuracy(check, name), "accuracy": _accuracy(cell, name)} for name in names]


def _accuracy(cell: Cell | None, variant: str) -> float | None:
    """Return the accuracy on the questions of one variant."""
    if cell is None or variant not in cell.variants:
        return None
    asked = cell.scored & (cell.variant == cell.variants.index(variant))
    return float(cell.correct[asked].mean()) if asked.any() else None


def markers(cells: Sequence[Cell], resampler: Resampler) -> list[Markers]:
    """Test whether each prompted model is worse than chance at L = 8; one entry for each arm, splits pooled.

    Only answers count: abstentions are no swapped markers. The test holds the numbers of yes and no questions that were
    answered, and of yes and no answers, fixed, so that a bias towards one answer looks like chance. Questions of one
    stream hang together, so the interval over streams must lie below 50 % as well.
    """

    def rest(cell: Cell) -> tuple[Any, ...]:
        return tuple("" if part is None else part for part in partner_key(cell.key, split=""))

    short = sorted((c for c in cells if c.key["length"] == SHORT and is_prompted(c)), key=rest)
    return [_markers(list(group), resampler) for _, group in groupby(short, key=rest)]


def _markers(cells: Sequence[Cell], resampler: Resampler) -> Markers:
    starts = np.cumsum([0, *(cell.episodes for cell in cells)])
    episode = np.concatenate([cell.episode + start for cell, start in zip(cells, starts[:-1], strict=True)])
    answered, correct, gold = (
        np.concatenate([getattr(cell, name) for cell in cells]) for name in ("answered", "correct", "gold")
    )
    told: Flags = answered & (gold >= 0)
    classes = [told & (gold == 1), told & (gold == 0)]
    right, asked = (
        np.column_stack([total_by(episode, where * values, int(starts[-1])) for where in classes])
        for values in (correct, np.ones_like(correct))
    )
    balanced = combination_interval(right, asked, (0.5, 0.5), resampler).estimate()
    (yes_right, no_right), (yes, no) = (values.sum(axis=0).astype(int).tolist() for values in (right, asked))
    # Said yes where no is right, against said yes where yes is right.
    p = fisher_greater(no - no_right, no_right, yes_right, yes - yes_right) if yes and no else None
    below = p is not None and p < LEVEL
    high = balanced["high"]
    swapped = below and high is not None and high < 0.5
    streams = int((asked.sum(axis=1) > 0).sum())
    key = cells[0].key
    return {
        "system": key["system"],
        "task": key["task"],
        "subtype": key["subtype"],
        "negatives": key["negatives"],
        "arm": key["arm"],
        "length": SHORT,
        "n": yes + no,
        "episodes": streams,
        "accuracy_answered": (yes_right + no_right) / (yes + no) if yes + no else None,
        "balanced_answered": balanced,
        "p": p,
        "swapped": swapped,
        "note": _swapped_note(swapped, below, streams),
    }


def _swapped_note(swapped: bool, below: bool, streams: int) -> str | None:
    if swapped:
        return (
            f"answers at L = {SHORT} are significantly worse than chance: the model seems to write its yes and no "
            "markers swapped. Nothing was corrected"
        )
    if below:
        return (
            f"answers at L = {SHORT} are worse than chance, question by question: the yes and no markers may be "
            f"swapped, but {streams} {'stream is' if streams == 1 else 'streams are'} too few, or too uneven, to tell"
        )
    return None
