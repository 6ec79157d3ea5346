"""Two systems on the same questions: the difference with its interval, and tests that respect the pairing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from memgauge.errors import InputError, unknown_name
from memgauge.metrics.cells import Cell, build_cells, equal_weights, partner_key
from memgauge.metrics.document import SCHEMA, Comparison
from memgauge.metrics.exact import holm, mcnemar, sign_flip
from memgauge.metrics.inference import Floats, Resampler, finite, ratio_intervals, total_by

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

MOST_SYSTEMS = 12
"""Up to this many systems every pair is compared; beyond it each is compared with the best."""

Pairs = Literal["all pairs", "against the best", "given pair"]


class RunComparison(TypedDict):
    """What `memgauge compare --json` prints."""

    schema: int
    run_a: str
    run_b: str
    redraws: int
    seed: int
    comparisons: list[Comparison]
    """One for each pair of systems and cell: the family that Holm's correction is over."""
    overall: list[Comparison]
    """One for each pair of systems, task, kind of negatives and arm, over its splits and lengths; a family of their
    own."""
    notes: list[str]


def family_pairs(cells: Sequence[Cell]) -> tuple[list[tuple[int, int]], Pairs]:
    """Return the pairs of cells (same questions, different systems) that are compared."""
    count = len(cells)
    if count <= MOST_SYSTEMS:
        return [(first, second) for first in range(count) for second in range(first + 1, count)], "all pairs"
    means = [float((cell.correct * cell.weight).sum() / max(1.0, cell.weight.sum())) for cell in cells]
    best = int(np.argmax(means))
    return [(best, other) for other in range(count) if other != best], "against the best"


def compare_cells(
    cells: Sequence[Cell], pairs: Sequence[tuple[int, int]], kind: Pairs, resampler: Resampler
) -> list[Comparison]:
    """Compare pairs of cells that hold the same questions; corrected by Holm over these pairs.

    Where each system is compared with the best, the data chose the best, and with it the pairs: the correction is over
    all k (k - 1) / 2 pairs that could have been chosen.

    Only questions that were scored for both systems of a pair count. The interval is a bootstrap over streams of the
    mean paired difference. McNemar's test takes questions as independent; the sign-flip test takes streams as
    independent (extension). Raises `InputError` where one question has another answer, age or length in another cell:
    such cells are not of the same questions.
    """
    if not pairs:
        return []
    table = _Table(cells)
    moves, asked, tests, sides, counts = [], [], [], [], []
    for first, second in pairs:
        both = table.scored[first] & table.scored[second]
        weight = equal_weights(table.variant, both, table.variants)
        right, other = table.right[first], table.right[second]
        change = weight * (right - other) * both
        moves.append(total_by(table.stream, change, table.streams))
        asked.append(total_by(table.stream, weight, table.streams))
        a_only, b_only = int((both & (right > other)).sum()), int((both & (other > right)).sum())
        tests.append((a_only, b_only, mcnemar(a_only, b_only)))
        total = max(float(weight.sum()), 1e-300)
        sides.append((float((weight * right).sum() / total), float((weight * other).sum() / total)))
        counts.append(
            (
                int(both.sum()),
                len(np.unique(table.stream[both])),
                int((table.asked[first] | table.asked[second]).sum() - both.sum()),
            )
        )
    differences = np.column_stack(moves)
    intervals = ratio_intervals(differences, np.column_stack(asked), resampler, bounds=(-1.0, 1.0))
    streams = sign_flip(differences, resampler.redraws, resampler.seed)
    found: list[Comparison] = []
    for index, (first, second) in enumerate(pairs):
        a_only, b_only, test = tests[index]
        count, episodes, unpaired = counts[index]
        key = cells[first].key
        found.append(
            {
                "system_a": key["system"],
                "system_b": cells[second].key["system"],
                "task": key["task"],
                "split": key["split"],
                "subtype": key["subtype"],
                "length": key["length"],
                "arm": key["arm"],
                "negatives": key["negatives"],
                "n": count,
                "episodes": episodes,
                "unpaired": unpaired,
                "accuracy_a": sides[index][0] if count else None,
                "accuracy_b": sides[index][1] if count else None,
                "difference": intervals.estimate(index),
                "mcnemar": {"a_only": a_only, "b_only": b_only, "p": test.p, "p_mid": test.p_mid},
                "p_holm": test.p,
                "p_stream": finite(streams[index]) if count else None,
                "p_stream_holm": None,
                "m": 1,
                "family": "cell",
                "pairs": kind,
                "note": None if count else "no question was scored for both",
            }
        )
    correct(found, "cell", len(cells) * (len(cells) - 1) // 2 if kind == "against the best" else len(found))
    return found


def correct(compared: Sequence[Comparison], family: Literal["cell", "printed"], size: int) -> None:
    """Set the corrected p-values of comparisons out of a family of `size`, by Holm."""
    streams = [1.0 if item["p_stream"] is None else item["p_stream"] for item in compared]
    corrected = zip(holm([item["mcnemar"]["p"] for item in compared], size), holm(streams, size), strict=True)
    for item, (p, p_stream) in zip(compared, corrected, strict=True):
        item["p_holm"], item["m"], item["family"] = p, size, family
        item["p_stream_holm"] = None if item["p_stream"] is None else p_stream


class _Table:
    """Right and wrong by system and question: arrays [systems, questions], and the stream of each question."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        questions, place = np.unique(np.concatenate([cell.question for cell in cells]), return_inverse=True)
        size = len(questions)
        self.right: Floats = np.zeros((len(cells), size))
        self.scored = np.zeros((len(cells), size), np.bool_)
        self.asked = np.zeros((len(cells), size), np.bool_)
        stream = np.zeros(size, np.int64)
        names = sorted({name for cell in cells for name in cell.variants})
        self.variant, self.variants = np.zeros(size, np.int64), len(names)
        facts = {name: np.full(size, np.nan) for name in FACTS}
        start = 0
        for index, cell in enumerate(cells):
            columns = place[start : start + len(cell.question)]
            start += len(cell.question)
            for name, known in facts.items():
                _agree(name, known, columns, cell, cells)
            self.right[index, columns] = cell.correct
            self.scored[index, columns] = cell.scored
            self.asked[index, columns] = True
            stream[columns] = cell.streams[cell.episode]
            self.variant[columns] = np.array([names.index(name) for name in cell.variants])[cell.variant]
        used, codes = np.unique(stream, return_inverse=True)
        self.stream, self.streams = codes.astype(np.int64), len(used)


FACTS = {
    "gold_code": "the right answer",
    "age": "the age of the evidence",
    "query_length": "the length of the candidate",
}
"""What belongs to a question, whoever is asked."""


def _agree(name: str, known: Floats, columns: NDArray[np.intp], cell: Cell, cells: Sequence[Cell]) -> None:
    """Add what `cell` says of its questions to `known` [questions]; refuse where it says something else."""
    told = getattr(cell, name).astype(np.float64)
    if name == "gold_code":
        told[told < 0] = np.nan
    before = known[columns]
    wrong = np.flatnonzero((told != before) & ~np.isnan(told) & ~np.isnan(before))
    if len(wrong):
        first = int(wrong[0])
        where = f"question {cell.question[first]}"
        if cell.source is not None:
            episode, query = (cell.column(part)[first] for part in ("episode", "query"))
            where = f"query {query!r} of episode {episode!r}"
        key = cell.key
        systems = " and ".join(dict.fromkeys(repr(other.key["system"]) for other in cells))
        raise InputError(
            f"{where} ({key['task']} {key['split']}, L = {key['length']}) is not the same question for {systems}: "
            f"{FACTS[name]} differs, here and in {len(wrong) - 1} more of their questions. Names are equal, the data "
            "is not: compare answers to the same data"
        )
    known[columns] = np.where(np.isnan(told), before, told)


def same_data(
    record_a: Mapping[str, Any], record_b: Mapping[str, Any], *, run_a: str = "A", run_b: str = "B"
) -> str | None:
    """Make sure that two runs are of the same data, by the `data.identity` of their `run.json`.

    Raises `InputError` that says what differs. Returns a note where a run does not say what its data is.
    """
    sides = []
    for record, run in ((record_a, run_a), (record_b, run_b)):
        data = record.get("data")
        identity = data.get("identity") if isinstance(data, dict) else None
        if not isinstance(identity, dict):
            return (
                f"{run} does not say what its data is (no run.json): questions are paired by the names of their "
                "episodes and queries"
            )
        sides.append(identity)
    first, second = sides
    parts = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    if not parts:
        return None
    if "made" in parts or "imported" in parts:
        what = f"{run_a} is of {_kind(first)}, {run_b} of {_kind(second)}"
    else:
        what = "; ".join(f"{name} {first.get(name)} in {run_a}, {second.get(name)} in {run_b}" for name in parts)
    raise InputError(
        f"the two runs are of different data: {what}. Equal names there are not equal questions; run both systems on "
        "the same data"
    )


def _kind(identity: Mapping[str, Any]) -> str:
    if identity.get("imported"):
        return "imported answers"
    return "streams made from a seed" if identity.get("made") else "the streams of a folder"


def pair_runs(
    rows_a: pl.DataFrame, rows_b: pl.DataFrame, system_a: str, system_b: str
) -> tuple[list[tuple[Cell, Cell]], list[str]]:
    """Return the cells that both tables have, (of system A in the first, of system B in the second), and notes."""
    import polars as pl

    sides = [
        rows.filter(pl.col("system") == system).with_columns(
            pl.lit(label).alias("system"), pl.concat_str(pl.lit(label), "key").alias("key")
        )
        for rows, system, label in ((rows_a, system_a, "a"), (rows_b, system_b, "b"))
    ]
    cells, notes = build_cells(pl.concat(sides))
    named = {"a": system_a, "b": system_b}
    index = {partner_key(cell.key): cell for cell in cells}
    pairs, alone = [], 0
    for cell in cells:
        label = cell.key["system"]
        partner = index.get(partner_key(cell.key, system="b" if label == "a" else "a"))
        if partner is None:
            alone += len(cell.question)
        elif label == "a":
            pairs.append((cell, partner))
    for cell in cells:
        cell.key["system"] = named[cell.key["system"]]
    if alone:
        notes.append(f"{alone} rows lie in cells that the other run does not have; they are left out")
    return pairs, notes


def match_systems(
    systems_a: Sequence[str], systems_b: Sequence[str], *, system_a: str | None = None, system_b: str | None = None
) -> list[tuple[str, str]]:
    """Return the pairs of systems to compare: those named, those of equal name, or the only one of each side.

    Raises `InputError` for a system that is not there, and where it is open which systems to compare.
    """
    for name, known in ((system_a, systems_a), (system_b, systems_b)):
        if name is not None and name not in known:
            raise unknown_name("system", name, known)
    if system_a is not None and system_b is not None:
        return [(system_a, system_b)]
    left = [system_a] if system_a is not None else list(systems_a)
    right = [system_b] if system_b is not None else list(systems_b)
    same = [(name, name) for name in left if name in right]
    if same:
        return same
    if len(left) == 1 and len(right) == 1:
        return [(left[0], right[0])]
    raise InputError(
        "the two runs share no system: name one of each with --system-a and --system-b. "
        f"First: {', '.join(systems_a)}. Second: {', '.join(systems_b)}"
    )


def compare_runs(
    rows_a: pl.DataFrame,
    rows_b: pl.DataFrame,
    systems: Sequence[tuple[str, str]],
    *,
    resampler: Resampler,
    run_a: str = "A",
    run_b: str = "B",
) -> RunComparison:
    """Compare systems of one table with systems of another (or the same), cell by cell and over all cells.

    Holm's correction is over everything that is compared. Raises `InputError` where no cell is common to both, or where
    a question of one name is not the same question.
    """
    found: list[Comparison] = []
    overall: list[Comparison] = []
    notes: list[str] = []
    for system_a, system_b in systems:
        pairs, more = pair_runs(rows_a, rows_b, system_a, system_b)
        notes += [f"{system_a} and {system_b}: {note}" for note in more]
        found += [compare_cells(pair, [(0, 1)], "given pair", resampler)[0] for pair in pairs]
        together: dict[tuple[Any, ...], list[tuple[Cell, Cell]]] = {}
        for pair in pairs:
            together.setdefault(tuple(pair[0].key[name] for name in ALIKE), []).append(pair)
        overall += [_overall(group, resampler) for group in together.values()]
    if not found:
        raise InputError(
            "the two runs have no cell of questions in common: task, split, length, arm and kind of negatives must be "
            "the same"
        )
    correct(found, "printed", len(found))
    correct(overall, "printed", len(overall))
    return {
        "schema": SCHEMA,
        "run_a": run_a,
        "run_b": run_b,
        "redraws": resampler.redraws,
        "seed": resampler.seed,
        "comparisons": found,
        "overall": overall,
        "notes": notes,
    }


ALIKE: tuple[Literal["task", "negatives", "arm"], ...] = ("task", "negatives", "arm")
"""Cells that differ in these are never taken together: they ask different things of a system."""


def _overall(pairs: Sequence[tuple[Cell, Cell]], resampler: Resampler) -> Comparison:
    """Compare over the splits and lengths of one task, kind of negatives and arm: all questions count alike."""
    sides = [_joined([pair[side] for pair in pairs]) for side in (0, 1)]
    found = compare_cells(sides, [(0, 1)], "given pair", resampler)[0]
    for name in ("split", "subtype", "length"):
        if len({pair[0].key[name] for pair in pairs}) > 1:
            found[name] = None
    found["note"] = found["note"] or f"all {len(pairs)} cells together"
    return found


def _joined(cells: Sequence[Cell]) -> Cell:
    """Lay cells end to end; questions of different cells are different."""
    starts = np.cumsum([0, *(cell.episodes for cell in cells)])
    names = tuple(sorted({name for cell in cells for name in cell.variants}))
    names_of_arrays = (
        "streams", "outcome", "scored", "answered", "correct", "weight", "gold", "gold_code", "flops", "score",
        "confidence", "age", "query_length",
    )  # fmt: skip
    arrays: dict[str, Any] = {name: np.concatenate([getattr(c, name) for c in cells]) for name in names_of_arrays}
    return Cell(
        key=cells[0].key,
        episodes=int(starts[-1]),
        episode=np.concatenate([cell.episode + start for cell, start in zip(cells, starts[:-1], strict=True)]),
        question=np.concatenate([cell.question * len(cells) + index for index, cell in enumerate(cells)]),
        variant=np.concatenate([np.array([names.index(n) for n in cell.variants])[cell.variant] for cell in cells]),
        variants=names,
        **arrays,
    )
