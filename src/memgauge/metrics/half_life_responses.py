"""Which rows of a responses table make a forgetting curve, and the fit of each group of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError, unknown_name
from memgauge.metrics.half_life import T_REF
from memgauge.metrics.half_life_result import HalfLifeResult
from memgauge.metrics.half_life_rows import fit_half_life_rows

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class GroupFit:
    """The half-life of one group of rows; `key` names it, `left_out` counts the rows that say nothing about
    forgetting.
    """

    key: dict[str, str | None]
    result: HalfLifeResult
    left_out: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as one JSON-ready document."""
        return {**self.key, **self.result.to_dict(), "rows_left_out": self.left_out}


def fit_responses(
    rows: pl.DataFrame, *, unit: str | None = None, by: Sequence[str] = ("system", "task", "arm"), **fit: Any
) -> list[GroupFit]:
    """Fit the half-life of each group of a responses table.

    Left out are rows without a score (errors), rows without an age, and, where all golds are yes or no, rows whose
    gold is no: what was never written cannot be forgotten. Ages must be in one unit: `unit`, or the only one there
    is. `fit` goes to `fit_half_life_rows`; the reference window of seconds is the published one, if none is given.
    """
    import polars as pl

    for column in by:
        if column not in rows.columns:
            raise unknown_name("column", column, rows.columns)
    units = sorted(rows.filter(pl.col("age").is_not_null())["age_unit"].fill_null("").unique().to_list())
    if unit is None:
        if len(units) != 1:
            raise InputError(
                f"ages are in several units ({', '.join(units)}): choose one with --unit" if units else _NONE
            )
        unit = units[0]
    elif unit not in units:
        raise InputError(f"no ages in {unit!r}: this run has {', '.join(units)}" if units else _NONE)
    if unit == "seconds" and fit.get("t_ref") is None:
        fit = {**fit, "t_ref": T_REF}
    found = []
    for group in rows.partition_by(list(by), maintain_order=True):
        aged = group.filter(pl.col("age").is_not_null() & (pl.col("age_unit") == unit))
        scored = aged.filter(pl.col("score").is_not_null())
        membership = scored.height > 0 and bool(scored["gold"].is_in(["yes", "no"]).fill_null(False).all())
        kept = scored.filter(pl.col("gold") == "yes") if membership else scored
        if not aged.height:
            continue
        result = fit_half_life_rows(
            kept["age"].to_numpy(), kept["score"].to_numpy(), kept["episode"].to_numpy(), unit=unit, **fit
        )
        left_out = {
            "without_age": group.height - aged.height,
            "without_score": aged.height - scored.height,
            "never_written": scored.height - kept.height,
        }
        found.append(GroupFit({column: group[column][0] for column in by}, result, left_out))
    return found


_NONE = "no row of this run has an age: its tasks do not say when the evidence was written"
