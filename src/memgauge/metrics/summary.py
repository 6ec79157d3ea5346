"""All metrics of a table of responses, as one document."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError
from memgauge.metrics.accuracy import describe_cell
from memgauge.metrics.calibration import calibrations
from memgauge.metrics.capacity import capacity, default_budgets, is_dense
from memgauge.metrics.cells import Cell, build_cells, partner_key, regular_pairs
from memgauge.metrics.compare import compare_cells, family_pairs
from memgauge.metrics.compression import Side, compression, gauge
from memgauge.metrics.confidence import cell_numbers, confidence
from memgauge.metrics.curve import BAND_REDRAWS, curve, grid
from memgauge.metrics.document import SCHEMA, Summary
from memgauge.metrics.efficiency import ABOVE_CHANCE, efficiency
from memgauge.metrics.forgetting import forgetting
from memgauge.metrics.inference import LEVEL, REDRAWS, Resampler
from memgauge.metrics.memlens.summary import conversation_numbers
from memgauge.metrics.memlens.table import TASK
from memgauge.metrics.perception import markers, perception
from memgauge.metrics.retrieval import retrievals

if TYPE_CHECKING:
    import polars as pl

    from memgauge.progress import Progress


def summarise(
    rows: pl.DataFrame,
    *,
    redraws: int = REDRAWS,
    seed: int = 0,
    target: float = ABOVE_CHANCE,
    budgets: Sequence[int] | None = None,
    models: Mapping[str, str] | None = None,
    sizes: Mapping[str, float] | None = None,
    subset: Collection[str] | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Return every metric of a responses table as the document of `memgauge report --json`.

    Parameters
    ----------
    rows
        A table with the columns of `memgauge.responses`, of any number of systems and runs, in any order.
    redraws, seed
        Of the bootstrap. The document is a function of the rows, these two, `target` and `budgets`.
    target
        The accuracy whose price is the efficiency; default the paper's rule for above chance.
    budgets
        FLOPs budgets of capacity and of the coverage-accuracy curves. By default capacity is given at powers of ten
        that separate the systems, and the curves without limit.
    models
        The model behind each system, where known: retrieval is compared with reading everything by the same model.
    sizes, subset
        For the task `memlens` (`memgauge.metrics.memlens`): the size of the model behind each system, and the ids of a
        subset of its questions, whose ranking of systems is compared with that of all.
    progress
        Advanced once for each cell.

    Raises `InputError` for a table without these columns, or an option out of range.
    """
    if not 0 < target <= 1:
        raise InputError(f"target must be an accuracy above 0 and at most 1, got {target}")
    if redraws < 100:
        raise InputError(f"redraws must be at least 100, got {redraws}")
    if any(budget < 0 for budget in budgets or ()):
        raise InputError("a FLOPs budget cannot be negative")
    if seed < 0:
        raise InputError(f"seed must not be negative, got {seed}")
    resampler, bands = Resampler(redraws, seed), Resampler(min(redraws, BAND_REDRAWS), seed)
    cells, notes = build_cells(rows)
    document: Summary = {
        "schema": SCHEMA,
        "redraws": redraws,
        "seed": seed,
        "level": LEVEL,
        "target": target,
        "episodes": len({int(stream) for cell in cells for stream in cell.streams}),
        "cells": [],
        "curves": [],
        "capacity": [],
        "efficiency": [],
        "compression": [],
        "calibration": calibrations(cells, resampler),
        "perception": perception(cells, resampler),
        "markers": markers(cells, resampler),
        "retrieval": retrievals(cells, resampler, models),
        "confidence": [],
        "forgetting": [],
        "comparisons": [],
        "memlens": conversation_numbers(rows, resampler=resampler, sizes=sizes, subset=subset),
        "notes": notes,
    }
    groups = families(cells)
    limits = {
        partner_key(cell.key): list(budgets) if budgets is not None else default_budgets(group)
        for group in groups
        for cell in group
    }
    pairs = regular_pairs(cells)
    grids = {partner_key(cell.key): grid(*pair) for pair in pairs for cell in pair}
    sides = {}
    for cell in cells:
        key = partner_key(cell.key)
        sides[key] = gauge(cell, grids[key] if key in grids else grid(cell), resampler, bands)
        _add_cell(document, sides[key], resampler, bands, limits[key], budgets or (), target)
        if progress is not None:
            progress.advance()
    for pair in pairs:
        regular, dense = (sides[partner_key(cell.key)] for cell in pair)
        document["compression"].append(compression(regular, dense, resampler))
    for group in groups:
        chosen, kind = family_pairs(group)
        document["comparisons"] += compare_cells(group, chosen, kind, resampler)
    return document


def families(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells that differ in the system alone: they hold the same questions."""

    def rest(cell: Cell) -> tuple[Any, ...]:
        return tuple("" if part is None else part for part in partner_key(cell.key, system=""))

    return [list(group) for _, group in groupby(sorted(cells, key=rest), key=rest)]


def _add_cell(
    document: Summary,
    side: Side,
    resampler: Resampler,
    bands: Resampler,
    limits: Sequence[int],
    confidence_limits: Sequence[int],
    target: float,
) -> None:
    """Add what is said about one cell alone."""
    cell, final = side.cell, side.found.accuracy
    sure = confidence(cell, resampler, budgets=confidence_limits, band_resampler=bands)
    document["cells"].append(describe_cell(cell, side.found, **cell_numbers(sure)))
    drawn = curve(cell, side.budgets, side.band, final=final)
    document["curves"].append(drawn)
    if is_dense(cell):
        document["capacity"].append(capacity(cell, limits, resampler, accuracy=final))
    document["efficiency"].append(efficiency(cell, drawn, target))
    if sure is not None:
        document["confidence"].append(sure)
    # The evidence of conversations has sections of its own, over abilities together.
    aged = forgetting(cell, resampler) if cell.key["task"] != TASK else None
    if aged is not None:
        document["forgetting"].append(aged)
