"""`memgauge half-life`: the decay of fidelity with the time since a view was last seen, or of any score with age."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from memgauge.metrics.half_life import HalfLifeResult


def half_life(
    *,
    pairs: Annotated[
        Path | None, Parameter(help="CSV of ready-made pairs: header gap,fidelity (gap in seconds).")
    ] = None,
    bounds: Annotated[
        Literal["unit", "nonneg"], Parameter(help="unit: a, b >= 0 and a + b <= 1; nonneg: a, b >= 0 only.")
    ] = "unit",
    gate: Annotated[
        Literal["strict", "seed"] | None,
        Parameter(help="Whose verdict is the status: strict (default) or seed, the published checks."),
    ] = None,
    method: Annotated[
        Literal["profile", "swept"],
        Parameter(help="profile: exact least squares; swept: the public log-linear sweep, biased, for comparison."),
    ] = "profile",
    permutations: Annotated[
        int, Parameter(help="Random orders of the test beyond eight pairs; 0 leaves it out.")
    ] = 9999,
    seed: Annotated[int, Parameter(help="Seed of the permutation test.")] = 0,
    t_ref: Annotated[float, Parameter(help="Reference window of the raw score, in seconds.")] = 60.0,
    json: Annotated[bool, Parameter(negative="", help="Print one JSON document.")] = False,
) -> None:
    """Fit a exp(-gap / tau) + b to revisit fidelity and report the half-life tau ln 2 with its interval and verdict."""
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.metrics.half_life import fit_half_life
    from memgauge.metrics.half_life_pairs import read_pairs

    chosen: Any = gate or ("seed" if method == "swept" else "strict")
    if pairs is None:
        raise InputError("nothing to measure: give --pairs FILE.csv")
    table = read_pairs(pairs)
    result = fit_half_life(
        table.gaps,
        table.fidelities,
        bounds=bounds,
        gate=chosen,
        method=method,
        permutations=permutations,
        seed=seed,
        t_ref=t_ref,
        events=table.events,
        names=table.names,
    )
    if json:
        print_json(result.to_dict())
    else:
        show(str(pairs), result)


def show(title: str, result: HalfLifeResult) -> None:
    """Print a result for people."""
    from memgauge.cli.output import print_table
    from memgauge.metrics.half_life_document import lines

    print_table(title, ["memory half-life", ""], lines(result))
