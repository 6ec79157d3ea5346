"""Accuracy and what stands beside it: coverage, accuracy on what was answered, outcome counts.

Abstentions count as wrong (ECCBench, 4.2). Errors are neither right nor wrong: they are left out, and the worst and the
best case say what they could have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memgauge.metrics.cells import Cell
from memgauge.metrics.document import Cell as CellDocument
from memgauge.metrics.document import Estimate
from memgauge.metrics.inference import (
    Intervals,
    Resampler,
    combination_interval,
    ratio_intervals,
    undefined,
)

if TYPE_CHECKING:
    import polars as pl


RATIOS = ("accuracy", "accuracy_yes", "accuracy_no", "coverage", "accuracy_answered", "score")


@dataclass(frozen=True, slots=True, eq=False)
class Accuracies:
    """The ratios of a cell, in the order of `RATIOS`, and its balanced accuracy."""

    ratios: Intervals
    balanced: Intervals

    @property
    def accuracy(self) -> Intervals:
        """Correct over scored, C."""
        return self.ratios.pick(0)


def accuracies(cell: Cell, resampler: Resampler) -> Accuracies:
    """Return the accuracies and the coverage of a cell (ECCBench, 3): C, C on yes and on no questions, R, C/R."""
    ones = np.ones_like(cell.correct)
    yes, no = cell.gold == 1, cell.gold == 0
    right, asked, answered = cell.sums(cell.correct), cell.sums(ones), cell.sums(cell.answered.astype(np.float64))
    pairs = (
        (right, asked),
        (cell.sums(cell.correct, yes), cell.sums(ones, yes)),
        (cell.sums(cell.correct, no), cell.sums(ones, no)),
        (answered, asked),
        # Declining can be right where nothing holds the answer; it is no answer all the same.
        (cell.sums(cell.correct, cell.answered), answered),
        (cell.sums(cell.score), asked),
    )
    numerators, denominators = (np.column_stack(side) for side in zip(*pairs, strict=True))
    return Accuracies(
        ratio_intervals(numerators, denominators, resampler),
        balanced_accuracy(cell, resampler),
    )


def balanced_accuracy(cell: Cell, resampler: Resampler) -> Intervals:
    """Return the mean of the accuracies on yes and on no questions (ECCBench, 4.2.2).

    NaN where one of the two classes has no scored question.
    """
    ones = np.ones(len(cell.episode))
    classes = [cell.gold == 1, cell.gold == 0]
    right = np.column_stack([cell.sums(cell.correct, where) for where in classes])
    asked = np.column_stack([cell.sums(ones, where) for where in classes])
    return combination_interval(right, asked, (0.5, 0.5), resampler)


def accuracy_bounds(cell: Cell) -> tuple[float | None, float | None]:
    """Return accuracy with all errors counted as wrong, and with all counted as right."""
    if not len(cell.episode):
        return None, None
    asked = np.bincount(cell.variant)
    right = np.bincount(cell.variant, cell.correct, minlength=len(asked))
    errors = np.bincount(cell.variant, ~cell.scored, minlength=len(asked))
    return float((right / asked).mean()), float(((right + errors) / asked).mean())


def table_accuracy(rows: pl.DataFrame, resampler: Resampler) -> Intervals:
    """Return the accuracy of a whole table of responses, one row a question, without building cells.

    Reads the columns `episode` and `correct`; rows without `correct` are not scored.
    """
    import polars as pl

    sums = (
        rows.lazy()
        .filter(pl.col("correct").is_not_null())
        .group_by("episode")
        .agg(pl.col("correct").sum().cast(pl.Float64), pl.len().cast(pl.Float64).alias("asked"))
        .sort("episode")
        .collect()
    )
    return ratio_intervals(sums["correct"].to_numpy(), sums["asked"].to_numpy(), resampler)


def describe_cell(cell: Cell, found: Accuracies, *, brier: Estimate, ece: Estimate, aurc: Estimate) -> CellDocument:
    """Return everything that the document says about one cell; the last three come from `confidence`."""
    numbers = {name: found.ratios.estimate(index) for index, name in enumerate(RATIOS)}
    graded = ((cell.score != 0) & (cell.score != 1)).any()
    worst, best = accuracy_bounds(cell)
    scored = int(cell.scored.sum())
    notes = []
    errors = len(cell.scored) - scored
    if errors:
        notes.append(f"{errors} of {len(cell.scored)} questions ended in an error and are neither right nor wrong")
    unpriced = int((cell.scored & (cell.flops < 0)).sum())
    if 0 < unpriced < scored:
        notes.append(f"{unpriced} scored questions have no FLOPs")
    means = cell.means
    return {
        **cell.key,
        "n": len(cell.scored),
        "scored": scored,
        "episodes": cell.episodes,
        "variants": [name for name in cell.variants if name],
        "outcomes": cell.kinds["outcome"],
        "abstain_kinds": cell.kinds["abstain_kind"],
        "refused_kinds": cell.kinds["refused_kind"],
        "accuracy": numbers["accuracy"],
        "accuracy_worst": worst,
        "accuracy_best": best,
        "balanced_accuracy": found.balanced.estimate(),
        "accuracy_yes": numbers["accuracy_yes"],
        "accuracy_no": numbers["accuracy_no"],
        "coverage": numbers["coverage"],
        "accuracy_answered": numbers["accuracy_answered"],
        "score": numbers["score"] if graded else undefined("scores are right or wrong only: see accuracy"),
        "flops_write": means["flops_write"],
        "flops_read": means["flops_read"],
        "flops_total": means["flops_total"],
        "flops_write_shared": means["flops_write_shared"],
        "flops_total_shared": means["flops_total_shared"],
        "tokens_in": means["tokens_in"],
        "tokens_out": means["tokens_out"],
        "images_in": means["images_in"],
        "t_ans": means["t_ans"],
        "seconds_write": means["seconds_write"],
        "seconds_read": means["seconds_read"],
        "state_bits": means["state_bits"],
        "state_bytes": means["state_bytes"],
        "brier": brier,
        "ece": ece,
        "aurc": aurc,
        "notes": notes,
    }
