"""Wrong answers by the kind of error: shares of the labels, what failed, and how both shift with the length.

MEMLENS, G.4: Figure 16 (labels), Figure 17 (shift), Figure 4b (what failed). Shares are over the labelled answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from memgauge.metrics.agreement import compare_labels, exact_rate
from memgauge.metrics.inference import Resampler, combination_interval, undefined

if TYPE_CHECKING:
    import polars as pl

LABELS = (
    "grounding_failure",
    "computation_slip",
    "incomplete_evidence",
    "outdated_value",
    "wrong_evidence",
    "unsupported_answer",
    "no_commitment",
)
"""Near misses first, then total misses."""
NEAR_MISSES = LABELS[:4]
CAUSES = ("visual", "reasoning", "mixed")
ALL = "all"
FEWEST = 5
"""Wrong answers that a group needs at both lengths before a shift is given."""


def wrong_answers(rows: pl.DataFrame, resampler: Resampler) -> dict[str, Any] | None:
    """Return the kinds of errors as a JSON document; None where no answer is labelled.

    Parameters
    ----------
    rows : responses, each question once a setting; only wrong answers count.
    resampler : of the bootstrap over questions, for the shifts.

    `groups` has one entry for each system, arm and length (all systems together as `all`, where there are several),
    over all questions, by ability and by subtype. `shifts` compares every longer length with the shortest one.
    `agreement` compares rules and judge where both gave a label.
    """
    import polars as pl

    wrong = rows.filter(pl.col("rule").is_not_null() & ~pl.col("correct").fill_null(True))
    if not wrong["error_label"].drop_nulls().len():
        return None
    if wrong["system"].n_unique() > 1:
        wrong = pl.concat([wrong.with_columns(system=pl.lit(ALL)), wrong])
    groups = []
    for (system, arm, length), setting in wrong.group_by("system", "arm", "length", maintain_order=True):
        groups += [
            {"system": system, "arm": arm, "length": length, "grouping": grouping, "group": group, **_shares(part)}
            for grouping, group, part in _grouped(setting)
        ]
    groups.sort(key=lambda g: (g["system"] != ALL, g["system"], g["arm"] != "none", g["arm"], g["length"]))
    return {
        "labels": list(LABELS),
        "near_misses": list(NEAR_MISSES),
        "causes": list(CAUSES),
        "groups": groups,
        "shifts": [shift for series in _series(wrong) for shift in _shifts(series, resampler)],
        "agreement": _agreement(wrong.filter(pl.col("system") != ALL)),
    }


def _grouped(rows: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    yield ALL, ALL, rows
    for grouping, column in (("ability", "split"), ("subtype", "subtype")):
        for (name,), part in rows.drop_nulls(column).group_by(column, maintain_order=True):
            # A subtype that is a whole ability would say the same again.
            if grouping == "ability" or "_" in str(name):
                yield grouping, str(name), part


def _shares(rows: pl.DataFrame) -> dict[str, Any]:
    labels, causes = rows["error_label"].drop_nulls().to_list(), rows["error_cause"].drop_nulls().to_list()
    by = rows["error_by"].drop_nulls().to_list()
    return {
        "wrong": rows.height,
        "labelled": len(labels),
        "by_rules": by.count("rules"),
        "by_judge": by.count("judge"),
        "shares": {label: asdict(exact_rate(labels.count(label), len(labels))) for label in LABELS},
        "near_miss": asdict(exact_rate(sum(label in NEAR_MISSES for label in labels), len(labels))),
        "caused": len(causes),
        "causes": {cause: asdict(exact_rate(causes.count(cause), len(causes))) for cause in CAUSES},
    }


def _series(rows: pl.DataFrame) -> Iterator[tuple[str, str, list[tuple[int, pl.DataFrame]]]]:
    """Yield what differs in the length alone, shortest first."""
    for (system, arm), part in rows.group_by("system", "arm", maintain_order=True):
        lengths = sorted(part["length"].unique().to_list())
        if len(lengths) > 1:
            yield str(system), str(arm), [(length, part.filter(part["length"] == length)) for length in lengths]


def _shifts(series: tuple[str, str, list[tuple[int, pl.DataFrame]]], resampler: Resampler) -> Iterator[dict[str, Any]]:
    system, arm, parts = series
    (short, before), *longer = parts
    first = {(grouping, group): rows for grouping, group, rows in _grouped(before)}
    for length, after in longer:
        for grouping, group, rows in _grouped(after):
            base = first.get((grouping, group))
            if base is None:
                continue
            sides = [side.drop_nulls("error_label") for side in (base, rows)]
            for label in (*LABELS, "near_miss"):
                names = NEAR_MISSES if label == "near_miss" else (label,)
                shares = [exact_rate(int(s["error_label"].is_in(names).sum()), s.height).value for s in sides]
                yield {
                    "system": system,
                    "arm": arm,
                    "length_from": short,
                    "length_to": length,
                    "grouping": grouping,
                    "group": group,
                    "label": label,
                    "n_from": sides[0].height,
                    "n_to": sides[1].height,
                    "share_from": shares[0],
                    "share_to": shares[1],
                    "difference": _difference(sides, names, resampler),
                }


def _difference(sides: Sequence[pl.DataFrame], names: Sequence[str], resampler: Resampler) -> Any:
    """Return the difference of two shares, the longer minus the shorter; whole questions are redrawn."""
    if min(side.height for side in sides) < FEWEST:
        return undefined(f"fewer than {FEWEST} labelled answers")
    questions = {name: at for at, name in enumerate(sorted({e for side in sides for e in side["episode"]}))}
    top, bottom = np.zeros((len(questions), 2)), np.zeros((len(questions), 2))
    for column, side in enumerate(sides):
        places = np.array([questions[name] for name in side["episode"]], dtype=np.int64)
        np.add.at(bottom[:, column], places, 1.0)
        np.add.at(top[:, column], places, side["error_label"].is_in(names).cast(float).to_numpy())
    shares = top.sum(0) / bottom.sum(0)
    if shares[0] == shares[1] and shares[0] in (0.0, 1.0):
        return undefined("no answer differs") | {"value": 0.0}
    return combination_interval(
        top, bottom, (-1.0, 1.0), resampler, stratum="wrong answers", bounds=(-1.0, 1.0)
    ).estimate()


def _agreement(rows: pl.DataFrame) -> dict[str, Any]:
    """Compare what the rules say with what the judge says, where both do."""
    import polars as pl

    both = rows.filter((pl.col("error_by") == "rules") & pl.col("error_judge_label").is_not_null())
    rules, judge = both["error_label"].to_list(), both["error_judge_label"].to_list()
    causes = both.drop_nulls(["error_cause", "error_judge_cause"])
    return {
        "judges": sorted(both["error_judge"].drop_nulls().unique().to_list()),
        "label": asdict(compare_labels(rules, judge)),
        "group": asdict(compare_labels(_groups(rules), _groups(judge))),
        "cause": asdict(compare_labels(causes["error_cause"].to_list(), causes["error_judge_cause"].to_list())),
    }


def _groups(labels: Sequence[str]) -> list[str]:
    return ["near-miss" if name in NEAR_MISSES else "total-miss" for name in labels]
