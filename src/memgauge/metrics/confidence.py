"""What a system's own confidence is worth: coverage against accuracy, AURC, Brier score, calibration error.

ECCBench, 4.4, Figure 8 and C.3: a system that answers only its surest questions should be right more often. Answers of
equal confidence are one group, answered together or not at all, so that no number depends on the order of the rows.
An abstention is never answered at any threshold: it lowers coverage and is in no other number here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memgauge.episode import ARMS
from memgauge.metrics.cells import Cell, Flags, Ints
from memgauge.metrics.document import Confidence, ConfidenceBudget, ConfidencePoint, Estimate, ReliabilityBin, Threshold
from memgauge.metrics.inference import (
    Floats,
    Resampler,
    finite,
    percentile_interval,
    ratio_intervals,
    total_by,
    undefined,
)

POINTS = 64
BINS = 15
"""Equal-width bins of the expected calibration error (Guo et al. 2017)."""
GROUPS = 50
"""Groups of confidence in the redraws of AURC; its value is exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The answers of a cell that have a confidence."""

    cell: Cell
    used: Flags
    """[n]"""
    asked: Flags
    """[n]: scored, without the answers that lack a confidence."""

    def columns(self, *values: Floats, where: Flags | None = None) -> Floats:
        """Return weighted sums over episodes of the answers with a confidence, [episodes, values]."""
        rows = self.used if where is None else self.used & where
        return np.column_stack([self.cell.sums(value, rows) for value in values])

    @property
    def total(self) -> Floats:
        """Return the questions of each episode, [episodes]."""
        return self.cell.sums(np.ones_like(self.cell.correct), self.asked)


def ranked(cell: Cell) -> Ranked:
    """Return the answers of a cell that have a confidence."""
    known = ~np.isnan(cell.confidence)
    return Ranked(cell, cell.answered & known, cell.scored & ~(cell.answered & ~known))


def aurc(confidence: Floats, wrong: Floats, weight: Floats | None = None) -> float:
    """Return the area under the risk-coverage curve: the mean error rate over all coverages from 0 to 1.

    Arrays [n]: confidence, 1.0 for a wrong answer, and optionally a weight. Inside a group of equal confidence the
    errors are spread evenly, which is the expectation over all orders of the group. The integral is exact; the mean
    over the n coverages k/n, which some papers call AURC, differs by less than (1 + log n) / n.

    >>> round(aurc(np.array([0.9, 0.8, 0.7]), np.array([0.0, 1.0, 0.0])), 6)
    0.237439
    """
    sizes = np.ones_like(confidence) if weight is None else weight
    groups, place = np.unique(-confidence, return_inverse=True)
    mass, errors = (total_by(place, values, len(groups)) for values in (sizes, sizes * wrong))
    return float(_areas(mass[None], errors[None])[0])


def _areas(mass: Floats, errors: Floats) -> Floats:
    """Return AURC for groups in order of falling confidence, arrays [B, G]."""
    covered, missed = np.cumsum(mass, axis=1), np.cumsum(errors, axis=1)
    before, missed_before = covered - mass, missed - errors
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(mass > 0, errors / np.where(mass > 0, mass, 1.0), 0.0)
        # Inside a group the errors grow linearly: (missed_before + rate * (x - before)) / x, integrated over x.
        level = missed_before - rate * before
        logs = np.where((before > 1e-12) & (mass > 0), np.log(covered / np.where(before > 1e-12, before, 1.0)), 0.0)
        return np.asarray((rate * mass + level * logs).sum(axis=1) / covered[:, -1])


def aurc_interval(answers: Ranked, resampler: Resampler) -> Estimate:
    """Return AURC over the answers of a cell; the redraws hold confidences in at most 50 groups."""
    cell, used = answers.cell, answers.used
    wrong = 1 - cell.correct
    exact = aurc(cell.confidence[used], wrong[used], cell.weight[used])
    edges = _falling(cell.confidence[used], GROUPS)
    bins = _groups(cell, used, edges)
    mass, errors = (cell.binned(value, bins, len(edges), used) for value in (np.ones_like(wrong), wrong))
    some = mass.sum(axis=1) > 0
    sums = resampler.sums(np.hstack([mass, errors])[some])
    redrawn = _areas(sums[:, : len(edges)], sums[:, len(edges) :])
    grouped = float(_areas(mass.sum(axis=0)[None], errors.sum(axis=0)[None])[0])
    found = percentile_interval(exact, redrawn + (exact - grouped), int(some.sum())).estimate()
    if found["low"] is not None:
        found["low"] = max(0.0, found["low"])
    return found


def reliability(answers: Ranked) -> tuple[list[ReliabilityBin], Floats]:
    """Return the reliability bins, and the sums by episode that they rest on: [episodes, 3 * BINS]."""
    cell, used = answers.cell, answers.used
    edges = np.arange(1, BINS + 1) / BINS
    bins = np.searchsorted(edges, np.nan_to_num(cell.confidence) - 1e-12, side="left").clip(0, BINS - 1)
    values = (np.ones_like(cell.correct), np.nan_to_num(cell.confidence), cell.correct)
    sums = np.hstack([cell.binned(value, bins, BINS, used) for value in values])
    mass, sure, right = np.split(sums.sum(axis=0), 3)
    counts = np.bincount(bins[used], minlength=BINS)
    found: list[ReliabilityBin] = [
        {
            "low": index / BINS,
            "high": (index + 1) / BINS,
            "n": int(counts[index]),
            "confidence": float(sure[index] / mass[index]) if mass[index] > 0 else None,
            "accuracy": float(right[index] / mass[index]) if mass[index] > 0 else None,
        }
        for index in range(BINS)
    ]
    return found, sums


def calibration_error(sums: Floats, resampler: Resampler) -> Estimate:
    """Return the expected calibration error from the sums of `reliability`: mean |accuracy - confidence| over bins.

    It is biased upwards when bins are small, and more so in redraws; the redraws are moved to centre on the value.
    """
    some = sums[:, :BINS].sum(axis=1) > 0

    def error(rows: Floats) -> Floats:
        mass, sure, right = rows[:, :BINS], rows[:, BINS : 2 * BINS], rows[:, 2 * BINS :]
        return np.asarray(np.abs(right - sure).sum(axis=1) / mass.sum(axis=1))

    redrawn = error(resampler.sums(sums[some]))
    value = float(error(sums.sum(axis=0)[None])[0])
    found = percentile_interval(value, redrawn, int(some.sum()), centred=True).estimate()
    if found["low"] is not None:
        found["low"] = max(0.0, found["low"])
    return found


def coverage_accuracy(answers: Ranked, resampler: Resampler, budget: int | None = None) -> list[ConfidencePoint]:
    """Return accuracy against coverage as the threshold falls, at most 64 points.

    With a `budget`, responses that cost more FLOPs (or have none) are declined (ECCBench, C.3).
    """
    cell = answers.cell
    used = answers.used if budget is None else answers.used & (cell.flops >= 0) & (cell.flops <= budget)
    if not used.any():
        return []
    edges = _falling(cell.confidence[used], POINTS)
    bins = _groups(cell, used, edges)
    right, given = (
        np.cumsum(cell.binned(value, bins, len(edges), used), axis=1)
        for value in (cell.correct, np.ones_like(cell.correct))
    )
    intervals = ratio_intervals(right, given, resampler)
    share = given.sum(axis=0) / answers.total.sum()
    points: list[ConfidencePoint] = []
    for index, edge in enumerate(edges):
        points.append(
            {
                "threshold": float(edge),
                "coverage": float(share[index]),
                "accuracy": float(intervals.value[index]),
                "low": finite(intervals.low[index]),
                "high": finite(intervals.high[index]),
            }
        )
    return points


def scores(answers: Ranked, resampler: Resampler) -> tuple[Estimate, list[Threshold]]:
    """Return the Brier score, and what answering above each threshold gives.

    The Brier score is the mean squared distance between confidence and outcome, over the answers. A threshold is
    tau = lambda / (1 + lambda) where a wrong answer costs lambda in units of a right one, for each payoff arm: the
    system answers exactly when its confidence exceeds it (ECCBench, 3).
    """
    cell = answers.cell
    ones, asked = np.ones_like(cell.correct), answers.total
    payoffs = sorted((payoff for payoff in ARMS.values() if payoff), key=lambda payoff: payoff.break_even)
    costs = [payoff.wrong / payoff.right for payoff in payoffs]
    squares = answers.columns(np.nan_to_num((cell.confidence - cell.correct) ** 2), ones)
    top, bottom, least = [squares[:, 0]], [squares[:, 1]], [0.0]
    for payoff, cost in zip(payoffs, costs, strict=True):
        given = np.nan_to_num(cell.confidence, nan=-1.0) > float(payoff.break_even)
        points = cell.correct - cost * (ones - cell.correct)
        answered, right, earned = answers.columns(ones, cell.correct, points, where=given).T
        top += [answered, right, earned]
        bottom += [asked, answered, asked]
        least += [0.0, 0.0, -cost]
    found = ratio_intervals(
        np.column_stack(top), np.column_stack(bottom), resampler, bounds=(np.array(least), np.ones(len(least)))
    )
    return found.estimate(0), [
        {
            "wrong_cost": cost,
            "tau": float(payoff.break_even),
            "coverage": found.estimate(1 + 3 * index),
            "accuracy": found.estimate(2 + 3 * index),
            "points": found.estimate(3 + 3 * index),
        }
        for index, (payoff, cost) in enumerate(zip(payoffs, costs, strict=True))
    ]


def confidence(
    cell: Cell, resampler: Resampler, *, budgets: Sequence[int] = (), band_resampler: Resampler | None = None
) -> Confidence | None:
    """Return everything about the confidence of a cell, or None for a cell without any."""
    answers = ranked(cell)
    if not answers.used.any():
        return None
    bands = band_resampler or resampler
    curves: list[ConfidenceBudget] = [{"flops": None, "points": coverage_accuracy(answers, bands)}]
    for budget in sorted(set(budgets)):
        curves.append({"flops": budget, "points": coverage_accuracy(answers, bands, budget)})
    bins, sums = reliability(answers)
    brier, thresholds = scores(answers, resampler)
    missing = int((cell.answered & ~answers.used).sum())
    return {
        **cell.key,
        "n": int(answers.used.sum()),
        "missing": missing,
        "abstained": int((cell.scored & ~cell.answered).sum()),
        "curves": curves,
        "thresholds": thresholds,
        "aurc": aurc_interval(answers, resampler),
        "brier": brier,
        "ece": calibration_error(sums, resampler),
        "bins": bins,
        "note": f"{missing} answers without a confidence are left out" if missing else None,
    }


def cell_numbers(found: Confidence | None) -> dict[str, Estimate]:
    """Return the three numbers that stand in the cell table."""
    if found is None:
        none = "the system gives no confidence"
        return {name: undefined(none) for name in ("brier", "ece", "aurc")}
    return {"brier": found["brier"], "ece": found["ece"], "aurc": found["aurc"]}


def _falling(values: Floats, count: int) -> Floats:
    """Return at most `count` of the distinct values, from the largest down, the smallest included."""
    distinct, counts = np.unique(-values, return_counts=True)
    if len(distinct) > count:
        share = np.cumsum(counts)
        wanted = np.linspace(share[0], share[-1], count)
        distinct = distinct[np.unique(np.searchsorted(share, wanted - 1e-9).clip(0, len(distinct) - 1))]
    return -distinct


def _groups(cell: Cell, used: Flags, edges: Floats) -> Ints:
    """Return for each row the first of the falling `edges` that its confidence reaches."""
    sure = np.where(used, cell.confidence, edges[-1])
    return np.searchsorted(-edges, -sure, side="left").clip(0, len(edges) - 1).astype(np.int64)
