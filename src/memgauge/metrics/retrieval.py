"""A retrieval pipeline beside a model that reads everything: the columns of ECCBench's Table 9 (B.7).

Beside the accuracies stands the retriever's hit rate: the share of true candidates that lie wholly inside what was
retrieved. The pipeline can hardly be right on yes-questions more often than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from memgauge.errors import InputError, unknown_name
from memgauge.metrics.document import Estimate
from memgauge.metrics.inference import Resampler, ratio_intervals, total_by

if TYPE_CHECKING:
    import polars as pl

CELL = ("task", "split", "length", "negatives", "arm")


class RetrievalRow(TypedDict):
    """One cell of the table; FLOPs are means over its questions, None where nothing has a price."""

    task: str
    split: str
    length: int
    negatives: str | None
    arm: str
    n: int
    """Scored questions."""
    episodes: int
    errors: int
    """Questions that cannot be scored."""
    accuracy: Estimate
    accuracy_yes: Estimate
    accuracy_no: Estimate
    hit_rate: Estimate
    """Over yes-questions for which the system told what it retrieved."""
    flops_answer: float | None
    """Reading what was retrieved, and answering."""
    flops_index: float | None
    """Embedding a stream, once."""
    flops_one_query: float | None
    """The whole index charged to one question."""
    flops_direct: float | None
    """The other system's answer to the same questions, its write included."""
    saving: float | None
    """flops_direct / flops_answer."""
    break_even: float | None
    """Questions a stream must serve before index and answers cost less than reading it for each; None: never."""


def retrieval_table(
    rows: pl.DataFrame, system: str, direct: str | None = None, *, resampler: Resampler | None = None
) -> list[RetrievalRow]:
    """Return one row for each cell that `system` was asked in, shortest streams first.

    Parameters
    ----------
    rows : responses (see `load_responses`).
    system : the retrieval system's name.
    direct : a system that reads the whole stream for each question; its costs are taken over the same questions.
    resampler : redraws for the intervals, over episodes.

    Raises `InputError` for a system that the responses do not hold, or that retrieved nothing.
    """
    import polars as pl

    known = rows["system"].unique().to_list()
    for name in (system, *(() if direct is None else (direct,))):
        if name not in known:
            raise unknown_name("system", name, known)
    mine = rows.filter(pl.col("system") == system)
    if mine["retrieved"].null_count() == mine.height:
        raise InputError(f"system {system!r} retrieved nothing: its rows have no `retrieved`")
    resampler = resampler or Resampler()
    other = None if direct is None else rows.filter(pl.col("system") == direct)
    cells = mine.select(CELL).unique().sort(CELL, nulls_last=True)
    return [_row(_where(mine, cell), None if other is None else _where(other, cell), cell, resampler)
            for cell in cells.iter_rows(named=True)]  # fmt: skip


def _where(rows: pl.DataFrame, cell: dict[str, object]) -> pl.DataFrame:
    import polars as pl

    return rows.filter(*(pl.col(name).eq_missing(pl.lit(value)) for name, value in cell.items()))


def _row(mine: pl.DataFrame, other: pl.DataFrame | None, cell: dict[str, object], resampler: Resampler) -> RetrievalRow:
    import polars as pl

    scored = mine.filter(pl.col("correct").is_not_null())
    hits = mine.filter(pl.col("gold") == "yes", pl.col("retrieved").is_not_null()).with_columns(
        hit=pl.col("retrieved").str.json_decode(pl.List(pl.String)).list.first()
    )
    hits = hits.filter(pl.col("hit").is_in(["hit", "miss"])).with_columns(hit=pl.col("hit") == "hit")
    answer, index = _mean(mine, "flops_read"), _mean(mine.unique("episode"), "flops_write")
    whole = None
    if other is not None:
        asked = other.join(mine.select("episode", "query"), on=["episode", "query"], how="semi")
        whole = _mean(asked.with_columns(total=pl.col("flops_write") + pl.col("flops_read")), "total")
    gain = whole - answer if whole is not None and answer is not None else None
    made: RetrievalRow = {
        **cell,  # type: ignore[typeddict-item]
        "n": scored.height,
        "episodes": scored["episode"].n_unique(),
        "errors": mine.height - scored.height,
        "accuracy": _share(scored, "correct", resampler),
        "accuracy_yes": _share(scored.filter(pl.col("gold") == "yes"), "correct", resampler),
        "accuracy_no": _share(scored.filter(pl.col("gold") == "no"), "correct", resampler),
        "hit_rate": _share(hits, "hit", resampler),
        "flops_answer": answer,
        "flops_index": index,
        "flops_one_query": None if answer is None or index is None else answer + index,
        "flops_direct": whole,
        "saving": whole / answer if whole is not None and answer else None,
        "break_even": index / gain if index is not None and gain is not None and gain > 0 else None,
    }
    return made


def _mean(rows: pl.DataFrame, column: str) -> float | None:
    value = rows[column].cast(float).mean()
    return float(value) if isinstance(value, float) else None


def _share(rows: pl.DataFrame, column: str, resampler: Resampler) -> Estimate:
    """Return the share of true values, with an interval over episodes."""
    names, codes = np.unique(rows["episode"].to_numpy(), return_inverse=True)
    true = total_by(codes, rows[column].cast(float).to_numpy(), len(names))
    return ratio_intervals(true, total_by(codes, np.ones(rows.height), len(names)), resampler).estimate()
