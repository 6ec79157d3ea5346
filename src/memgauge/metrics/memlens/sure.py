"""What a system's own confidence is worth, where it gives one: the risk-coverage curve over all its questions."""

from __future__ import annotations

import polars as pl

from memgauge.metrics.cells import build_cells
from memgauge.metrics.confidence import confidence
from memgauge.metrics.inference import Resampler
from memgauge.metrics.memlens.document import Sure
from memgauge.metrics.memlens.table import Answers


def confidences(answers: Answers, resampler: Resampler) -> list[Sure]:
    """Return one entry for each setting with confidences (`memgauge.metrics.confidence` has the definitions)."""
    found: list[Sure] = []
    for setting in answers.settings:
        rows = setting.rows
        if rows["confidence"].null_count() == len(rows):
            continue
        pooled = rows.select(pl.exclude("question_code")).with_columns(
            pl.lit("all").alias("split"), pl.lit(None, pl.String).alias("subtype")
        )
        cells, _ = build_cells(pooled)
        for cell in cells:
            sure = confidence(cell, resampler)
            if sure is not None:
                found.append(
                    {
                        **setting.where,  # type: ignore[typeddict-item]
                        "n": sure["n"],
                        "missing": sure["missing"],
                        "abstained": sure["abstained"],
                        "aurc": sure["aurc"],
                        "brier": sure["brier"],
                        "ece": sure["ece"],
                        "points": sure["curves"][0]["points"],
                    }
                )
    return found
