"""Cells: the rows that belong together, as arrays that every metric works on.

A cell holds the questions that agree in system, task, split, subtype, length, arm and kind of negatives. Where a task
asks its questions in several variants, they are pooled with equal weight. Whatever the order of the rows, the arrays
are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.metrics.document import Key
from memgauge.metrics.inference import Floats, total_by
from memgauge.responses import OUTCOMES, SCORED, schema

KEY = ("system", "task", "split", "subtype", "length", "arm", "negatives")
QUESTION = ("task", "split", "subtype", "length", "negatives", "episode", "query", "variant")
"""What tells questions apart, whoever is asked under whatever arm."""
ABSTAIN_KINDS = ("explicit", "format", "overflow")
REFUSED_KINDS = ("too_long", "filtered", "empty")
MEANS = (
    "flops_write", "flops_read", "tokens_in", "tokens_out", "images_in", "t_ans", "seconds_write", "seconds_read",
    "state_bits", "state_bytes",
)  # fmt: skip
DENSE = {"max": "low", "high": "low"}
"""Splits of incompressible input, and their regular counterparts: entropy bands of streams, density bands of video."""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The rows of one cell, arrays [n] ordered by episode and query.

    `weight` gives every variant the same total and is 0 on rows that are not scored; it sums to the number of scored
    rows. FLOPs are -1 where unknown, other numbers NaN.
    """

    key: Key
    episodes: int
    episode: Ints
    """Number of the row's episode, 0 .. episodes - 1."""
    streams: Ints
    """[episodes]: the same for the same episode in every cell of the table."""
    question: Ints
    """The same for the same question in every cell of the table; once in each cell."""
    outcome: Ints
    """Index into `OUTCOMES`."""
    scored: Flags
    answered: Flags
    correct: Floats
    """1.0 for right, 0.0 for wrong, abstained and not scored."""
    weight: Floats
    variant: Ints
    gold: Ints
    """1 for yes, 0 for no, -1 for anything else."""
    gold_code: Ints
    """The right answer as a number, the same in every cell of the table; -1 for none."""
    flops: Ints
    """Write and read of each response: one query per stream."""
    score: Floats
    confidence: Floats
    age: Floats
    query_length: Floats
    variants: tuple[str, ...] = ("",)
    """Names of the variants, in the order of their numbers; empty for a question that has none."""
    unit: str | None = None
    means: dict[str, float | None] = field(default_factory=dict)
    kinds: dict[str, dict[str, int]] = field(default_factory=dict)
    source: pl.DataFrame | None = field(default=None, repr=False)
    """The table that the cell was made from, one row a question; None where cells were joined."""
    place: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """[n]: where each row stands in `source`."""

    def column(self, name: str) -> pl.Series:
        """Return a column of the responses for the rows of the cell, [n]."""
        if self.source is None:
            raise ValueError("a joined cell has no rows of responses")
        return self.source[name].gather(pl.Series(self.place))

    def sums(self, values: Floats, where: Flags | None = None) -> Floats:
        """Return the weighted sum of `values` [n] over each episode, [episodes]."""
        weights = values * self.weight
        if where is not None:
            weights = weights * where
        return total_by(self.episode, weights, self.episodes)

    def binned(self, values: Floats, bins: Ints, count: int, where: Flags) -> Floats:
        """Return the weighted sums of `values` by episode and bin, [episodes, count]."""
        flat = total_by((self.episode * count + bins)[where], (values * self.weight)[where], self.episodes * count)
        return flat.reshape(self.episodes, count)


def build_cells(rows: pl.DataFrame) -> tuple[list[Cell], list[str]]:
    """Return the cells of a responses table, in the order of their keys, and notes about the table as a whole.

    Answers that are neither right nor wrong (`correct` null, a score alone) are left out, since every metric of a cell
    counts right answers; a note says how many. A row that occurs twice (equal `key` and system: the same run given
    twice) counts once, and so does a question that a system answered twice under other keys (see `one_per_question`).
    Raises `InputError` for a table without the columns of `memgauge.responses`.
    """
    target = schema()
    missing = [name for name in target if name not in rows.columns]
    if missing:
        raise InputError(f"not a responses table: column {missing[0]!r} is missing (see memgauge.responses)")
    notes = []
    graded = rows.filter(~pl.col("outcome").is_in(SCORED) | pl.col("correct").is_not_null())
    if graded.height < rows.height:
        notes.append(
            f"{rows.height - graded.height} answers have a score but are neither right nor wrong, and are left out; "
            "`memgauge half-life --responses` fits them"
        )
    single = one_per_key(graded)
    if single.height < graded.height:
        notes.append(f"{graded.height - single.height} rows occur more than once and are counted once")
    asked = single.height
    single = one_per_question(single)
    if single.height < asked:
        notes.append(
            f"{asked - single.height} rows ask a system a question again under another key; each question counts once"
        )
    if not single.height:
        return [], notes
    table = single.select(
        *KEY,
        pl.struct(KEY).rank("dense").cast(pl.Int64).alias("cell"),
        pl.struct(QUESTION).rank("dense").cast(pl.Int64).alias("question"),
        pl.struct("task", "split", "length", "episode").rank("dense").cast(pl.Int64).alias("stream"),
        pl.int_range(pl.len(), dtype=pl.Int64).alias("place"),
        "key", "write_shared", "age_unit", *MEANS,
        _code("outcome", OUTCOMES), _code("abstain_kind", ABSTAIN_KINDS), _code("refused_kind", REFUSED_KINDS),
        _code("gold", ("no", "yes")),
        pl.col("gold").rank("dense").cast(pl.Int64).fill_null(-1).alias("gold_code"),
        pl.col("variant").fill_null("").rank("dense").cast(pl.Int64).alias("variant_code"),
        pl.col("variant").fill_null(""),
        pl.col("correct").fill_null(False).cast(pl.Float64),
        pl.col("score").fill_null(pl.col("correct").cast(pl.Float64)).fill_null(0.0),
        *(pl.col(name).cast(pl.Float64).fill_null(float("nan")) for name in ("confidence", "age", "query_length")),
        (pl.col("flops_write").cast(pl.Int128) + pl.col("flops_read")).fill_null(-1).alias("flops"),
    ).sort("cell", "question", "key")  # fmt: skip
    if table["flops"].max() > 2**63 - 1:  # type: ignore[operator]
        raise InputError("flops_write + flops_read of a response is beyond 2^63 - 1")
    edges = np.flatnonzero(np.diff(table["cell"].to_numpy(), prepend=0, append=-1))
    arrays = {name: table[name].to_numpy() for name in table.columns if table[name].dtype in (pl.Int64, pl.Float64)}
    arrays["flops"] = table["flops"].cast(pl.Int64).to_numpy()
    return [
        _cell(table[start:stop], {name: array[start:stop] for name, array in arrays.items()}, single)
        for start, stop in pairwise(edges.tolist())
    ], notes


def one_per_key(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each key and system, whatever the order of the rows: an answer before an error."""
    return _first_of(rows, ["key", "system"])


def one_per_question(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each question that a system was asked under an arm: an answer before an error."""
    return _first_of(rows, ["system", "arm", *QUESTION])


def _first_of(rows: pl.DataFrame, same: list[str]) -> pl.DataFrame:
    twice = rows.select(pl.struct(same).is_duplicated()).to_series()
    if not twice.any():
        return rows
    # All columns take part in the order, so that rows that it leaves equal are equal.
    again = rows.filter(twice).sort(~pl.col("outcome").is_in(list(SCORED)), *rows.columns, nulls_last=True)
    return pl.concat([rows.filter(~twice), again.unique(same, keep="first", maintain_order=True)])


def _cell(table: pl.DataFrame, arrays: dict[str, Any], source: pl.DataFrame) -> Cell:
    """Make one cell from its sorted rows."""
    first = table.row(0, named=True)
    key: Key = {name: first[name] for name in KEY}  # type: ignore[assignment]
    streams, episode = np.unique(arrays["stream"], return_inverse=True)
    outcome = arrays["outcome"]
    scored = outcome < len(SCORED)
    variants = table["variant"].unique().sort()
    _, variant = np.unique(arrays["variant_code"], return_inverse=True)
    units = table["age_unit"].drop_nulls().unique().sort().to_list()
    return Cell(
        key=key,
        episodes=len(streams),
        episode=episode.astype(np.int64),
        streams=streams,
        question=arrays["question"],
        outcome=outcome,
        scored=scored,
        answered=outcome == 0,
        correct=np.where(scored, arrays["correct"], 0.0),
        weight=equal_weights(variant, scored, len(variants)),
        variant=variant.astype(np.int64),
        gold=arrays["gold"],
        gold_code=arrays["gold_code"],
        flops=arrays["flops"],
        score=np.where(scored, arrays["score"], 0.0),
        confidence=arrays["confidence"],
        age=arrays["age"],
        query_length=arrays["query_length"],
        variants=tuple(variants),
        unit=", ".join(units) or None,
        means=_means(table, arrays, episode),
        kinds={
            "outcome": _counts(outcome, OUTCOMES),
            "abstain_kind": _counts(arrays["abstain_kind"], ABSTAIN_KINDS),
            "refused_kind": _counts(arrays["refused_kind"], REFUSED_KINDS),
        },
        source=source,
        place=arrays["place"],
    )


def _code(column: str, names: Sequence[str]) -> pl.Expr:
    """Turn names into their index, anything else into -1."""
    return pl.col(column).replace_strict(
        list(names), list(range(len(names))), default=-1, return_dtype=pl.Int64
    )  # fmt: skip


def _counts(codes: Ints, names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    return {name: int(count) for name, count in zip(names, counts, strict=True)}


def equal_weights(variant: NDArray[np.integer[Any]], scored: Flags, count: int) -> Floats:
    """Give each variant the same share of the total number of scored rows; 0 to rows that are not scored."""
    present = np.bincount(variant[scored], minlength=count)
    used = max(1, int((present > 0).sum()))
    per_row = scored.sum() / (used * np.maximum(present, 1))
    return np.asarray(np.where(scored, per_row[variant], 0.0))


def _means(table: pl.DataFrame, arrays: dict[str, Any], episode: NDArray[np.intp]) -> dict[str, float | None]:
    """Return the plain means of costs over the rows that have them."""
    means: dict[str, float | None] = dict(table.select(pl.col(*MEANS).cast(pl.Float64).mean()).row(0, named=True))
    flops = arrays["flops"]
    known = flops >= 0
    means["flops_total"] = float(flops[known].mean(dtype=np.float64)) if known.any() else None
    means["flops_write_shared"] = means["flops_total_shared"] = None
    writes = table.with_columns(pl.Series("episode_number", episode)).filter(pl.col("flops_write").is_not_null())
    if writes.height and writes["write_shared"].all(ignore_nulls=False):
        once = writes.group_by("episode_number").agg(pl.col("flops_write").cast(pl.Float64).mean())
        # A question that failed was served by the write as well, so all rows of these episodes share it.
        served = int(np.bincount(episode)[once["episode_number"].to_numpy()].sum())
        shared = float(once.sort("episode_number")["flops_write"].sum()) / served
        means["flops_write_shared"] = shared
        if means["flops_read"] is not None:
            means["flops_total_shared"] = shared + means["flops_read"]
    return means


def partner_key(key: Key, **changes: Any) -> tuple[Any, ...]:
    """Return the key as a tuple, with some parts replaced; None leaves a part out."""
    parts = {**key, **changes}
    return tuple(parts[name] for name in KEY)


def by_key(cells: Iterable[Cell]) -> dict[tuple[Any, ...], Cell]:
    """Index cells by their keys."""
    return {partner_key(cell.key): cell for cell in cells}


def regular_pairs(cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """Return (cell of regular input, cell of incompressible input) for every pair that differs in the split alone."""
    index = by_key(cells)
    pairs = []
    for cell in cells:
        regular = DENSE.get(cell.key["split"])
        partner = index.get(partner_key(cell.key, split=regular)) if regular else None
        if partner is not None:
            pairs.append((partner, cell))
    return pairs
