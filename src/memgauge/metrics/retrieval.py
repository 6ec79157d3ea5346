"""A retrieval pipeline beside a model that reads everything: the columns of ECCBench's Table 9 (B.7).

Beside the accuracies stands the retriever's hit rate: the share of true candidates that lie wholly inside what was
retrieved. The pipeline can hardly be right on yes-questions more often than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from memgauge.errors import InputError, unknown_name
from memgauge.metrics.accuracy import RATIOS, accuracies
from memgauge.metrics.cells import Cell, build_cells, by_key, equal_weights, partner_key
from memgauge.metrics.document import Estimate, RetrievalRow
from memgauge.metrics.inference import Resampler, ratio_intervals, total_by, undefined

if TYPE_CHECKING:
    import polars as pl


def retrieval_table(
    rows: pl.DataFrame, system: str, direct: str | None = None, *, resampler: Resampler | None = None
) -> list[RetrievalRow]:
    """Return one row for each cell that `system` was asked in, in the order of the report.

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
    cells, _ = build_cells(rows.filter(pl.col("system").is_in([system, *(() if direct is None else (direct,))])))
    index = by_key(cells)
    return [
        _row(cell, None if direct is None else index.get(partner_key(cell.key, system=direct)), direct, resampler)
        for cell in cells
        if cell.key["system"] == system
    ]


def retrievals(
    cells: Sequence[Cell], resampler: Resampler, models: Mapping[str, str] | None = None
) -> list[RetrievalRow]:
    """Return a row for every cell of every retrieval system, beside each system that reads the whole stream.

    `models` names the model behind a system, where that is known: a retrieval system is then compared with the direct
    systems of the same model alone, where there are any. Cells without such a system stand alone.
    """
    models = models or {}
    retrieving = [cell for cell in cells if _retrieves(cell)]
    direct = [cell for cell in cells if cell not in retrieving and _rereads(cell)]
    found = []
    for cell in retrieving:
        same = partner_key(cell.key, system="")
        others = [other for other in direct if partner_key(other.key, system="") == same]
        model = models.get(cell.key["system"])
        alike = [other for other in others if model is not None and models.get(other.key["system"]) == model]
        chosen: list[Cell | None] = [*(alike or others)]
        for other in chosen or [None]:
            found.append(_row(cell, other, None if other is None else other.key["system"], resampler))
    return found


def _retrieves(cell: Cell) -> bool:
    """Say whether the cell is about yes-no questions, and its system told what it retrieved."""
    return bool((cell.gold >= 0).any()) and cell.column("retrieved").null_count() < len(cell.gold)


def _rereads(cell: Cell) -> bool:
    """Say whether the stream was read again for each question."""
    shared = cell.column("write_shared").drop_nulls()
    return len(shared) > 0 and not shared.any()


def _row(cell: Cell, other: Cell | None, direct: str | None, resampler: Resampler) -> RetrievalRow:
    shares = {name: accuracies(cell, resampler).ratios.estimate(index) for index, name in enumerate(RATIOS)}
    answer, index = cell.means["flops_read"], _per_stream(cell)
    whole = None
    if other is not None:
        asked = np.isin(other.question, cell.question) & (other.flops >= 0)
        whole = float(other.flops[asked].mean(dtype=np.float64)) if asked.any() else None
    gain = whole - answer if whole is not None and answer is not None else None
    scored = int(cell.scored.sum())
    return {
        **cell.key,
        "direct": direct,
        "n": scored,
        "episodes": len(np.unique(cell.episode[cell.scored])),
        "errors": len(cell.scored) - scored,
        "accuracy": shares["accuracy"],
        "accuracy_yes": shares["accuracy_yes"],
        "accuracy_no": shares["accuracy_no"],
        "accuracy_direct": undefined("no system reads the whole stream of these questions")
        if other is None
        else accuracies(other, resampler).ratios.estimate(0),
        "hit_rate": _hit_rate(cell, resampler),
        "flops_answer": answer,
        "flops_index": index,
        "flops_one_query": None if answer is None or index is None else answer + index,
        "flops_direct": whole,
        "saving": whole / answer if whole is not None and answer else None,
        "break_even": index / gain if index is not None and gain is not None and gain > 0 else None,
    }


def _per_stream(cell: Cell) -> float | None:
    """Return the mean over streams of what writing one costs: the mean of its rows that tell it."""
    writes = cell.column("flops_write").cast(float).to_numpy()
    known = ~np.isnan(writes)
    if not known.any():
        return None
    rows = np.bincount(cell.episode[known], minlength=cell.episodes)
    sums = total_by(cell.episode[known], writes[known], cell.episodes)
    return float((sums[rows > 0] / rows[rows > 0]).mean())


def _hit_rate(cell: Cell, resampler: Resampler) -> Estimate:
    """Return the share of yes-questions whose candidate lies in what was retrieved; variants have equal weight."""
    import polars as pl

    first = cell.column("retrieved").str.json_decode(pl.List(pl.String)).list.first().fill_null("")
    told = (cell.gold == 1) & first.is_in(["hit", "miss"]).to_numpy()
    weight = equal_weights(cell.variant, told, len(cell.variants))
    hits = weight * (first == "hit").to_numpy()
    hit, asked = (total_by(cell.episode, values, cell.episodes) for values in (hits, weight))
    return ratio_intervals(hit, asked, resampler).estimate()
