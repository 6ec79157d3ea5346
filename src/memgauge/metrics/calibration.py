"""Calibration under two payoff arms: does a system decline more when errors cost more, and the right questions?

ECCBench, 3, 4.3 and B.8 (Table 10). Both arms ask the same questions of the same streams; a question counts when it was
scored under both. All counts are of questions, without weights, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any, Literal

import numpy as np

from memgauge.episode import ARMS, Payoff
from memgauge.metrics.cells import ABSTAIN_KINDS, Cell, Ints, by_key, partner_key
from memgauge.metrics.document import Calibration, Estimate, Payoffs
from memgauge.metrics.exact import fisher_greater
from memgauge.metrics.inference import Floats, Resampler, combination_interval, ratio_intervals, total_by, undefined

LEAST_DECLINED = 5
"""The gap is shown only where arm B declined at least this many questions that arm A answered (B.8)."""

Pooling = Literal["none", "splits", "all"]


@dataclass(frozen=True, slots=True, eq=False)
class ArmPair:
    """The questions that were scored under both arms, arrays [n] of 0 and 1."""

    first: Cell
    """Any of the cells, for the names."""
    splits: tuple[str, ...]
    lengths: tuple[int, ...]
    payoffs: tuple[Payoff, Payoff]
    episode: Ints
    episodes: int
    answered: tuple[Floats, Floats]
    correct: tuple[Floats, Floats]
    abstained: tuple[dict[str, int], dict[str, int]]
    """Questions declined under each arm, by kind."""
    unpaired: int

    def sums(self, *values: Floats) -> Floats:
        """Return the sums over episodes, [episodes, values]."""
        return np.column_stack([total_by(self.episode, value, self.episodes) for value in values])


def payoff_pairs(cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """Return (cell under the lower break-even, cell under the higher) for every pair of payoff arms."""
    index = by_key(cells)
    names = sorted((name for name, payoff in ARMS.items() if payoff), key=lambda name: _payoff(name).break_even)
    pairs = []
    for low, high in combinations(names, 2):
        for cell in cells:
            partner = index.get(partner_key(cell.key, arm=high)) if cell.key["arm"] == low else None
            if partner is not None:
                pairs.append((cell, partner))
    return pairs


def calibrations(cells: Sequence[Cell], resampler: Resampler) -> list[Calibration]:
    """Return every pair of arms of every cell, and pooled over splits and lengths as the paper's table does.

    The paper pools both bands and both lengths of its synthetic rows, and both bands of each length of natural video:
    both poolings are given where there is more than one cell to pool.
    """
    found = []

    def family(pair: tuple[Cell, Cell]) -> tuple[Any, ...]:
        first, second = pair
        return (*(str(part) for part in partner_key(first.key, split="", length=0)), second.key["arm"])

    for _, group in groupby(sorted(payoff_pairs(cells), key=family), key=family):
        pairs = list(group)
        found += [calibrate(pool([pair]), "none", resampler) for pair in pairs]
        lengths = sorted({pair[0].key["length"] for pair in pairs})
        for length in lengths:
            same = [pair for pair in pairs if pair[0].key["length"] == length]
            if len(same) > 1:
                found.append(calibrate(pool(same), "splits", resampler))
        if len(lengths) > 1:
            found.append(calibrate(pool(pairs), "all", resampler))
    return found


def pool(pairs: Iterable[tuple[Cell, Cell]]) -> ArmPair:
    """Pair the questions of both arms, cell by cell, and pool the cells; streams of different cells stay different."""
    episode: list[Ints] = []
    answered: tuple[list[Floats], list[Floats]] = ([], [])
    correct: tuple[list[Floats], list[Floats]] = ([], [])
    kinds: tuple[dict[str, int], dict[str, int]] = (dict.fromkeys(ABSTAIN_KINDS, 0), dict.fromkeys(ABSTAIN_KINDS, 0))
    episodes = unpaired = 0
    every = list(pairs)
    for pair in every:
        places = [np.flatnonzero(cell.scored) for cell in pair]
        asked = [cell.question[place] for cell, place in zip(pair, places, strict=True)]
        _, *common = np.intersect1d(asked[0], asked[1], assume_unique=True, return_indices=True)
        unpaired += sum(len(place) for place in places) - 2 * len(common[0])
        for side, cell in enumerate(pair):
            rows = places[side][common[side]]
            answered[side].append(cell.answered[rows].astype(np.float64))
            correct[side].append(cell.correct[rows])
            told = cell.column("abstain_kind").gather(rows)
            for kind in ABSTAIN_KINDS:
                kinds[side][kind] += int((told == kind).sum())
            if side == 0:
                episode.append(cell.episode[rows] + episodes)
        episodes += pair[0].episodes
    first, second = every[0]
    used, codes = np.unique(np.concatenate(episode), return_inverse=True)
    return ArmPair(
        first=first,
        splits=tuple(sorted({cell.key["split"] for cell, _ in every})),
        lengths=tuple(sorted({cell.key["length"] for cell, _ in every})),
        payoffs=(_payoff(first.key["arm"]), _payoff(second.key["arm"])),
        episode=codes.astype(np.int64),
        episodes=len(used),
        answered=(np.concatenate(answered[0]), np.concatenate(answered[1])),
        correct=(np.concatenate(correct[0]), np.concatenate(correct[1])),
        abstained=kinds,
        unpaired=unpaired,
    )


def calibrate(pair: ArmPair, pooled: Pooling, resampler: Resampler) -> Calibration:
    """Return one line of Table 10."""
    (answered_a, answered_b), (correct_a, correct_b) = pair.answered, pair.correct
    count = len(answered_a)
    ones = np.ones(count)
    answers = pair.sums(answered_a, answered_b)
    asked = pair.sums(ones)
    coverages = ratio_intervals(answers, asked, resampler)
    accuracies = ratio_intervals(pair.sums(correct_a, correct_b), answers, resampler)
    change = ratio_intervals(pair.sums(answered_a - answered_b), asked, resampler, bounds=(-1.0, 1.0))
    kept, declined = answered_a * answered_b, answered_a * (1 - answered_b)
    split = [
        {"right": int((group * correct_a).sum()), "wrong": int((group * (1 - correct_a)).sum())}
        for group in (kept, declined)
    ]
    gap, fisher, stream = _gap(pair, kept, declined, resampler)
    names = [payoff.name for payoff in pair.payoffs]
    key = pair.first.key
    return {
        "system": key["system"],
        "task": key["task"],
        "subtype": key["subtype"],
        "negatives": key["negatives"],
        "pooled": pooled,
        "splits": list(pair.splits),
        "lengths": list(pair.lengths),
        "arm_a": names[0],
        "arm_b": names[1],
        "n": count,
        "episodes": pair.episodes,
        "unpaired": pair.unpaired,
        "coverage_a": coverages.estimate(0),
        "coverage_b": coverages.estimate(1),
        "abstained_a": pair.abstained[0],
        "abstained_b": pair.abstained[1],
        "accuracy_answered_a": accuracies.estimate(0),
        "accuracy_answered_b": accuracies.estimate(1),
        "responsiveness": change.estimate(),
        "kept": {"right": split[0]["right"], "wrong": split[0]["wrong"]},
        "declined": {"right": split[1]["right"], "wrong": split[1]["wrong"]},
        "taken_up": int(((1 - answered_a) * answered_b).sum()),
        "gap": gap,
        "fisher_p": fisher,
        "stream_p": stream,
        "payoffs": _payoffs(pair, resampler),
        "payoff_gain": _payoff_gain(pair, resampler),
        "note": None if count else "no question was scored under both arms",
    }


def _gap(
    pair: ArmPair, kept: Floats, declined: Floats, resampler: Resampler
) -> tuple[Estimate, float | None, float | None]:
    """Return selectivity: the gap, Fisher's one-sided p, and the share of redraws of streams without a gap."""
    right = pair.correct[0]
    number = int(declined.sum())
    if number < LEAST_DECLINED or not kept.any():
        reason = f"arm {pair.payoffs[1].name} declined {number} of the answered questions: fewer than {LEAST_DECLINED}"
        return undefined(reason if number < LEAST_DECLINED else "every answered question was declined"), None, None
    rights, sizes = pair.sums(kept * right, declined * right), pair.sums(kept, declined)
    gap = combination_interval(rights, sizes, (1.0, -1.0), resampler, bounds=(-1.0, 1.0)).estimate()
    good = rights.sum(axis=0).astype(int).tolist()
    bad = (sizes - rights).sum(axis=0).astype(int).tolist()
    fisher = fisher_greater(good[0], bad[0], good[1], bad[1])
    sums = resampler.sums(np.hstack([rights, sizes]))
    both = sums[(sums[:, 2] > 0) & (sums[:, 3] > 0)]
    stream = float((both[:, 0] / both[:, 2] <= both[:, 1] / both[:, 3]).mean()) if len(both) else None
    return gap, fisher, stream


def _points(payoff: Payoff, answered: Floats, correct: Floats) -> Floats:
    """Return the points of each question; declining earns nothing."""
    return np.asarray(payoff.right * correct - payoff.wrong * (answered - correct))


def _payoffs(pair: ArmPair, resampler: Resampler) -> list[Payoffs]:
    """Return the mean points of both arms' responses under both payoffs."""
    found: list[Payoffs] = []
    asked = pair.sums(np.ones(len(pair.episode)))
    for side, told in enumerate(pair.payoffs):
        for payoff in pair.payoffs:
            points = pair.sums(_points(payoff, pair.answered[side], pair.correct[side]))
            bounds = (-float(payoff.wrong), float(payoff.right))
            mean = ratio_intervals(points, asked, resampler, bounds=bounds).estimate()
            found.append({"responses": told.name, "scoring": payoff.name, "points": mean})
    return found


def _payoff_gain(pair: ArmPair, resampler: Resampler) -> Estimate:
    """Return what being told arm B's payoff earned under it, against being told arm A's (Figure 7, right)."""
    payoff = pair.payoffs[1]
    told, other = (_points(payoff, pair.answered[side], pair.correct[side]) for side in (1, 0))
    reach = float(payoff.right + payoff.wrong)
    asked = pair.sums(np.ones(len(pair.episode)))
    return ratio_intervals(pair.sums(told - other), asked, resampler, bounds=(-reach, reach)).estimate()


def _payoff(name: str) -> Payoff:
    payoff = ARMS[name]
    if payoff is None:
        raise ValueError(f"arm {name!r} has no payoff")
    return payoff
