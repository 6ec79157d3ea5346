"""The answers of the task `memlens` as arrays: one setting for each system, arm and length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memgauge.metrics.cells import one_per_key
from memgauge.metrics.inference import Floats
from memgauge.responses import OUTCOMES, SCORED

TASK = "memlens"
ABILITIES = ("IE", "MSR", "TR", "KU", "AR")
"""The paper's order; other abilities follow by name."""
UNANSWERABLE = "AR"
SAME_EVERYWHERE = ("oracle-facts", "oracle-sessions", "no-context")
"""Options of an arm that show the same at every length."""
ALL = "all"

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NUMBERS = (
    "age", "age_days", "tokens_in", "tokens_out", "images_in", "flops_write", "flops_read", "seconds_write",
    "seconds_read",
)  # fmt: skip
LABELS = ("split", "subtype", "visual_need", "kind")


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One system under one arm at one length: arrays [n] in the order of `question`, each question once."""

    system: str
    arm: str
    length: int
    question: Ints
    """The same number for the same question in every setting of the table; increasing."""
    codes: dict[str, Ints]
    """For each of `LABELS`, an index into the table's names; -1 where the data do not say."""
    outcome: Ints
    """Index into `OUTCOMES`."""
    scored: Flags
    answered: Flags
    correct: Flags
    """False where it is not scored."""
    unanswerable: Flags
    declined: Flags
    """Abstained in words."""
    no_answer: Flags
    """Abstained because the output commits to nothing (empty, unreadable, unfinished)."""
    numbers: dict[str, Floats] = field(repr=False)
    """NaN where unknown."""
    rows: pl.DataFrame = field(repr=False)
    """The responses themselves, in the same order."""

    def __len__(self) -> int:
        return len(self.question)

    def group(self, label: str, code: int) -> Flags:
        """Say which questions have this code of one of `LABELS`."""
        return np.asarray(self.codes[label] == code)

    @property
    def where(self) -> dict[str, Any]:
        """The coordinates, for the document."""
        return {"system": self.system, "arm": self.arm, "length": self.length}

    @property
    def options(self) -> frozenset[str]:
        """The options of the arm."""
        return frozenset() if self.arm == "none" else frozenset(self.arm.split("+"))

    @property
    def varies(self) -> bool:
        """Whether more is shown at a longer length."""
        return not self.options & set(SAME_EVERYWHERE)


@dataclass(frozen=True)
class Answers:
    """All settings of a table, ordered by system, arm (`none` first) and length."""

    settings: list[Setting]
    names: dict[str, list[str]]
    """For each of `LABELS`, the names that its codes index."""
    episodes: pl.Series
    """[questions]: the name of each question."""
    notes: list[str]

    @property
    def abilities(self) -> list[str]:
        """The abilities that occur, in the paper's order."""
        return self.names["split"]

    @cached_property
    def series(self) -> list[list[Setting]]:
        """Settings that differ in the length alone, shortest first."""
        return [list(group) for _, group in groupby(self.settings, key=lambda s: (s.system, s.arm))]

    @cached_property
    def panels(self) -> list[list[Setting]]:
        """Settings that differ in the system alone: what can be ranked together."""

        def place(setting: Setting) -> tuple[bool, str, int]:
            return setting.arm != "none", setting.arm, setting.length

        return [list(group) for _, group in groupby(sorted(self.settings, key=place), key=place)]

    def adjacent(self) -> Iterator[tuple[Setting, Setting]]:
        """Yield neighbouring lengths of every series whose arm shows more at the longer one."""
        for series in self.series:
            if series[0].varies:
                yield from pairwise(series)

    def groups(self, setting: Setting, label: str) -> Iterator[tuple[str, Flags]]:
        """Yield the groups of a setting by one of `LABELS`: name, and which questions are in it."""
        codes = setting.codes[label]
        for code in np.unique(codes[codes >= 0]).tolist():
            yield self.names[label][code], codes == code


def read_answers(rows: pl.DataFrame) -> Answers | None:
    """Return the answers of the task `memlens` in a responses table; None where there are none.

    Questions that a system was asked twice in one setting count once, an answer before an error. Answers with a score
    alone, neither right nor wrong, are left out. Notes say how many.
    """
    own = rows.filter(pl.col("task") == TASK)
    if not own.height:
        return None
    notes = []
    graded = own.filter(~pl.col("outcome").is_in(list(SCORED)) | pl.col("correct").is_not_null())
    if graded.height < own.height:
        notes.append(
            f"{own.height - graded.height} answers have a score but are neither right nor wrong, and are left out."
        )
    single = one_per_key(graded)
    scored = pl.col("outcome").is_in(list(SCORED))
    place = ["system", "arm", "length", "episode", "query"]
    ordered = single.with_columns(
        pl.struct("episode", "query").rank("dense").cast(pl.Int64).alias("question_code")
    ).sort("system", pl.col("arm") != "none", "arm", "length", "question_code", ~scored, "key")
    table = ordered.unique(place, keep="first", maintain_order=True)
    if table.height < graded.height:
        notes.append(
            f"{graded.height - table.height} rows ask a question again in the same setting; each counts once, an "
            "answer before an error."
        )
    if not table.height:
        return Answers([], {name: [] for name in LABELS}, pl.Series("episode", [], pl.String), notes)
    if table["episode"].n_unique() < table["question_code"].n_unique():
        notes.append(
            "Some histories have several questions. Intervals and tests about conversations take questions as "
            "independent, so they are too sure of themselves here."
        )
    names = {label: _names(table, label) for label in LABELS}
    questions = table.select("question_code", "episode").unique("question_code").sort("question_code")
    return Answers(_settings(table, names), names, questions["episode"], notes)


def _names(table: pl.DataFrame, label: str) -> list[str]:
    found: list[str] = table[label].drop_nulls().unique().sort().to_list()
    order = {name: index for index, name in enumerate(ABILITIES)}
    return sorted(found, key=lambda name: (order.get(name.partition("_")[0], len(order)), name))


def _settings(table: pl.DataFrame, names: dict[str, list[str]]) -> list[Setting]:
    """Cut the ordered table into settings; every column is turned into an array once."""
    codes = {
        label: table[label]
        .replace_strict(own, list(range(len(own))), default=-1, return_dtype=pl.Int64)
        .fill_null(-1)
        .to_numpy()
        if own
        else np.full(table.height, -1, np.int64)
        for label, own in names.items()
    }
    numbers = {name: table[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in NUMBERS}
    outcome = table["outcome"].replace_strict(list(OUTCOMES), list(range(len(OUTCOMES))), return_dtype=pl.Int64)
    arrays = {"question": table["question_code"].to_numpy() - 1, "outcome": outcome.to_numpy()}
    scored = arrays["outcome"] < len(SCORED)
    abstained = arrays["outcome"] == OUTCOMES.index("abstained")
    unread = table["abstain_kind"].is_in(["format", "overflow"]).fill_null(False).to_numpy()
    flags = {
        "scored": scored,
        "answered": arrays["outcome"] == OUTCOMES.index("answered"),
        "correct": scored & table["correct"].fill_null(False).to_numpy(),
        "unanswerable": (
            (table["split"] == UNANSWERABLE) | (table["subtype"].fill_null("") == UNANSWERABLE)
        ).to_numpy(),
        "declined": abstained & ~unread,
        "no_answer": abstained & unread,
    }
    place = table.select((pl.struct("system", "arm", "length").rle_id()).alias("setting"))["setting"].to_numpy()
    edges = np.flatnonzero(np.r_[True, np.diff(place) > 0, True])
    found = []
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = slice(start, stop)
        system, arm, length = table.row(start, named=True)["system"], table["arm"][start], int(table["length"][start])
        found.append(
            Setting(
                system=system,
                arm=arm,
                length=length,
                codes={label: code[part] for label, code in codes.items()},
                numbers={name: array[part] for name, array in numbers.items()},
                rows=table[start:stop],
                **{name: array[part] for name, array in (arrays | flags).items()},
            )
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The questions that are scored in both of two settings, arrays [n]."""

    first: Setting
    second: Setting
    at: Ints
    """Their places in the first setting."""
    right: Flags
    """Right in the first."""
    other: Flags
    """Right in the second."""
    shared: Ints
    """Places in the first setting of the questions that were asked in both, scored or not."""

    unpaired: int
    """Questions of either setting that are not paired."""

    def cut(self, inside: Flags, other: Flags) -> Pair:
        """Return the pairs of some questions: [len(first)] and [len(second)] say which these are."""
        kept = inside[self.at]
        asked = int(inside.sum()) + int(other.sum()) - int(inside[self.shared].sum())
        return Pair(
            self.first,
            self.second,
            self.at[kept],
            self.right[kept],
            self.other[kept],
            self.shared[inside[self.shared]],
            asked - int(kept.sum()),
        )


def pair(first: Setting, second: Setting) -> Pair:
    """Pair two settings by question."""
    if np.array_equal(first.question, second.question):
        a = b = np.arange(len(first.question))
    else:
        _, a, b = np.intersect1d(first.question, second.question, assume_unique=True, return_indices=True)
    both = first.scored[a] & second.scored[b]
    asked = len(first) + len(second) - len(a)
    return Pair(first, second, a[both], first.correct[a][both], second.correct[b][both], a, asked - int(both.sum()))


def same_arms(settings: Sequence[Setting]) -> list[str]:
    """Return the arms that occur, `none` first."""
    return sorted({setting.arm for setting in settings}, key=lambda arm: (arm != "none", arm))
