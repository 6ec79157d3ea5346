"""Outputs that went wrong before they could be right or wrong, and what a question costs."""

from __future__ import annotations

import numpy as np
import polars as pl

from memgauge.metrics.inference import Floats
from memgauge.metrics.memlens.document import Cost, Mean, Outputs
from memgauge.metrics.memlens.estimates import Estimator
from memgauge.metrics.memlens.table import Answers, Setting

LONG = 500
"""Words; longer answers earn nothing (MEMLENS, judging)."""
REPEATING_FROM, DISTINCT = 50, 0.2
"""An answer of at least so many words repeats itself when fewer than this share of them are distinct."""


def outputs(answers: Answers, estimator: Estimator) -> list[Outputs]:
    """Return the shares of capped, degenerate and empty outputs of every setting."""
    return [_outputs(setting, estimator) for setting in answers.settings]


def _outputs(setting: Setting, estimator: Estimator) -> Outputs:
    rows = setting.rows
    known = rows["raw_output"].is_not_null().to_numpy()
    overflow = (rows["abstain_kind"] == "overflow").fill_null(False)
    capped = ((rows["finish_reason"] == "length").fill_null(False) | overflow).to_numpy()
    # Reasoning ends at the last closing tag; what comes after it is the answer.
    after = rows["raw_output"].fill_null("").str.split("</think>").list.last()
    words = after.str.extract_all(r"\S+")
    count = words.list.len().cast(pl.Int64).to_numpy()
    distinct = np.zeros(len(count), np.int64)
    wordy = count >= REPEATING_FROM
    if wordy.any():
        distinct[wordy] = words.filter(pl.Series(wordy)).list.n_unique().cast(pl.Int64).to_numpy()
    long, repeating = known & (count > LONG), known & wordy & (distinct < DISTINCT * count)
    n = int(known.sum())
    return {
        **setting.where,  # type: ignore[typeddict-item]
        "n": len(setting),
        "outputs": n,
        "capped": estimator.share(int((capped & known).sum()), n),
        "long": int(long.sum()),
        "repeating": int(repeating.sum()),
        "degenerate": estimator.share(int((long | repeating).sum()), n),
        "no_answer": estimator.share(int((setting.no_answer & known).sum()), n),
        "words": float(np.median(count[known])) if n else None,
    }


def costs(answers: Answers) -> list[Cost]:
    """Return the mean tokens, pictures, FLOPs and seconds of every setting."""
    return [_cost(setting) for setting in answers.settings]


def _cost(setting: Setting) -> Cost:
    numbers = setting.numbers
    total = numbers["flops_write"] + numbers["flops_read"]
    priced = setting.scored & ~np.isnan(total)
    right = int((setting.correct & priced).sum())
    return {
        **setting.where,  # type: ignore[typeddict-item]
        "n": len(setting),
        "tokens_in": _mean(numbers["tokens_in"]),
        "tokens_out": _mean(numbers["tokens_out"]),
        "images_in": _mean(numbers["images_in"]),
        "flops_write": _mean(numbers["flops_write"]),
        "flops_read": _mean(numbers["flops_read"]),
        "seconds_write": _mean(numbers["seconds_write"]),
        "seconds_read": _mean(numbers["seconds_read"]),
        "flops_total": _mean(total),
        "flops_per_right": float(total[priced].sum()) / right if right else None,
    }


def _mean(values: Floats) -> Mean:
    known = values[~np.isnan(values)]
    return {"mean": float(known.mean()) if len(known) else None, "n": len(known)}
