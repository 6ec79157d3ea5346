"""Sections of the report page about the task `memlens`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from memgauge.report.memlens import lengths, others, scores
from memgauge.report.memlens.guide import READING
from memgauge.report.memlens.scores import GROUPINGS, Row, arms_of, brief
from memgauge.report.page import Block, Fold, Section, Table, Terms, Text
from memgauge.report.text import named

ROWS_SHOWN = 400
"""Longer tables show this many lines on the page; the document holds all."""


def memlens_sections(document: Row, drawn: Mapping[str, Sequence[Block]]) -> list[Section]:
    """Return the sections about conversations, in order."""
    return [
        Section("Abilities", [*drawn["abilities"], *_abilities(document)]),
        Section("Declining to answer", _declining(document)),
        Section("Longer histories", _lengths(document)),
        Section("Pictures and oracles", [*drawn["arms"], *_arms(document)]),
        Section("Across systems", _systems(document)),
        Section("Age of the evidence", [*drawn["ages"], *_ages(document)]),
        Section("Risk and coverage", [*drawn["risk"], *_risk(document)]),
        Section("Outputs and costs", _outputs(document)),
        Section("How to read the numbers about conversations", [Terms(READING)]),
    ]


def _abilities(document: Row) -> list[Block]:
    if not document["scores"]:
        return [Text("No question was asked.")]
    blocks: list[Block] = [
        Text(
            "All questions weigh the same in `all questions`, as in the paper; the mean of abilities weighs the five "
            "abilities equally. Errors of the server, the judge or the parser are neither right nor wrong."
        )
    ]
    for number, (arm, table) in enumerate(
        scores.each_arm(document["overall"], lambda arm: scores.overall_table(document, arm))
    ):
        blocks.append(table if number == 0 else Fold(f"Arm {named(arm)}", [table]))
    for grouping, title in GROUPINGS.items():
        if grouping == "ability":
            continue
        tables = scores.each_arm(document["scores"], partial(scores.group_table, document, grouping))
        if any(len(table.columns) > 2 for _, table in tables):
            blocks.append(Fold(f"Accuracy by {title}", [_cut(table) for _, table in tables]))
    outcomes = scores.each_arm(document["scores"], lambda arm: scores.outcome_table(document, arm))
    blocks.append(Fold("What became of the questions, by ability", [_cut(table) for _, table in outcomes]))
    return blocks


def _declining(document: Row) -> list[Block]:
    if not document["scores"]:
        return [Text("No question was asked.")]
    blocks: list[Block] = [
        Text(
            "Coverage is the share of answerable questions that are attempted, per-answer accuracy the share of those "
            "that are right (MEMLENS, Table 17). Abstention is over the questions whose answer the conversation does "
            "not hold, over-refusal over the others; their difference is 0 for whoever declines without looking."
        )
    ]
    tables = scores.each_arm(document["abstention"], lambda arm: scores.coverage_table(document, arm))
    blocks += [table if not i else Fold(f"Arm {named(arm)}", [table]) for i, (arm, table) in enumerate(tables)]
    attempts = scores.each_arm(document["scores"], lambda arm: scores.attempts_table(document, arm))
    if attempts:
        blocks.append(Fold("Coverage and per-answer accuracy by ability", [_cut(table) for _, table in attempts]))
    return blocks


def _lengths(document: Row) -> list[Block]:
    found = document["degradation"]
    family, overall, rises = found["by_ability"], found["overall"], found["increases"]
    if not overall["m"]:
        return [Text("No system answered the same questions at two lengths, so nothing can be said about length.")]
    blocks: list[Block] = [
        Text(
            f"McNemar's exact test on the same questions at neighbouring lengths. The family is every system, ability "
            f"and pair of neighbouring lengths that is tested: m = {family['m']:,}, so that p must lie below "
            f"{_threshold(family)}; in {family['significant']:,} of them it does. "
            f"All abilities together are a family of their own, m = {overall['m']:,} (below {_threshold(overall)}): "
            f"{overall['significant']:,}."
        ),
        _cut(lengths.transition_table(overall["tests"], overall["m"], "all abilities together")),
    ]
    if family["tests"]:
        blocks.append(
            Fold(
                f"By ability: {family['m']:,} tests, {family['significant']:,} significant",
                [_cut(lengths.transition_table(family["tests"], family["m"]))],
            )
        )
    if rises["tests"]:
        blocks.append(
            Fold(
                f"Nominal increases with length: m = {rises['m']:,}, {rises['significant']:,} significant",
                [
                    Text("The transitions of the family whose accuracy rises, corrected by their own number."),
                    _cut(lengths.transition_table(rises["tests"], rises["m"])),
                ],
            )
        )
    else:
        blocks.append(Text("No accuracy of an ability rises with length."))
    blocks += [
        Text("Verdicts change in both directions; the change of accuracy is what is left of that."),
        _cut(lengths.churn_table(document["churn"])),
    ]
    if document["flip_back"]:
        blocks.append(Fold("Changed verdicts that change back", [_cut(lengths.flip_table(document["flip_back"]))]))
    whole = [row for row in document["overlap"] if row["ability"] == "all"]
    blocks.append(
        Fold(
            "Are the same questions right? Overlap against chance",
            [
                _cut(lengths.overlap_table(whole)),
                Fold("By ability", [_cut(lengths.overlap_table([r for r in document["overlap"] if r not in whole]))]),
            ],
        )
    )
    whole = [row for row in document["retention"] if row["ability"] == "all"]
    retained: list[Block] = [
        _cut(lengths.retention_table(whole)),
        Fold("By ability", [_cut(lengths.retention_table([r for r in document["retention"] if r not in whole]))]),
    ]
    sizes = [row for row in document["correlations"] if row["of"] == "retention and size"]
    if sizes:
        retained.insert(1, others.size_table(sizes))
    blocks.append(Fold("Retention: accuracy relative to the shortest length", retained))
    return blocks


def _arms(document: Row) -> list[Block]:
    found = document["ablations"]
    if not found["tests"]:
        return [
            Text(
                "An ablation is another run of the same questions, such as `--text-only` or `--oracle sessions`, into "
                "the same folder. No system has two arms that differ in one option."
            )
        ]
    whole = [row for row in found["tests"] if row["grouping"] in ("all", "answerable")]
    rest = [row for row in found["tests"] if row not in whole]
    blocks: list[Block] = [
        Text(
            "The same questions under two arms that differ in one option, with McNemar's exact test, corrected over "
            f"all {found['m']:,} lines. A question that is right without pictures does not need them; what an oracle "
            "answers and the full history does not was lost in finding the evidence."
        ),
        _cut(others.ablation_table(whole, found["m"])),
    ]
    if rest:
        blocks.append(Fold("By ability, and by need of pictures", [_cut(others.ablation_table(rest, found["m"]))]))
    return blocks


def _systems(document: Row) -> list[Block]:
    blocks: list[Block] = []
    rows = [row for row in document["correlations"] if row["of"] in ("ability", "subtype")]
    if not rows:
        blocks.append(Text("Rank correlations over systems need at least four systems with the same arm and length."))
    for of in ("ability", "subtype"):
        places = dict.fromkeys((row["arm"], row["length"]) for row in rows if row["of"] == of)
        made = []
        for arm, length in places:
            members = [row for row in rows if (row["of"], row["arm"], row["length"]) == (of, arm, length)]
            title = f"Spearman's ρ over systems, {brief(length)} tokens" + (
                "" if arm == "none" else f", arm {named(arm)}"
            )
            made.append(others.correlation_matrix(members, title))
        if made:
            blocks += made[:1] if of == "ability" else []
            folded = made[1:] if of == "ability" else made
            if folded:
                blocks.append(
                    Fold(f"Correlations of every {of}, other settings" if of == "ability" else "By subtype", folded)
                )
    if document["hard"]:
        blocks += [
            Text(
                "Hard are the questions that fewer than 20 % of the systems solve. Where they were chosen, their "
                "accuracy is low by choice; only the other lengths tell whether they stay hard."
            ),
            _cut(others.hard_table([row for row in document["hard"] if row["arm"] == arms_of(document["hard"])[0]])),
        ]
    if document["rankings"]:
        blocks += [
            Text(
                "Does a subset of the questions rank the systems as all do? The subset is part of all questions, so "
                "the comparison with the rest says more."
            ),
            others.ranking_table(document["rankings"]),
        ]
    return blocks or [Text("There is nothing to compare.")]


def _ages(document: Row) -> list[Block]:
    if not document["ages"]:
        return []
    return [
        Text(
            "The age is that of the oldest evidence that a question needs. At one length, older evidence is also "
            "evidence for other questions; over all lengths, it also lies in longer histories. A half-life is given "
            "only where the fall with age is larger than chance makes it."
        ),
        _cut(lengths.ages_table(document["ages"], document["half_lives"])),
        Fold("Recall of every age bin", [_cut(lengths.bins_table(document["ages"]))]),
    ]


def _risk(document: Row) -> list[Block]:
    return [others.confidence_table(document["confidence"])] if document["confidence"] else []


def _outputs(document: Row) -> list[Block]:
    if not document["outputs"]:
        return [Text("No question was asked.")]
    return [
        Text(
            "Capped outputs stopped at the token budget; degenerate ones have over 500 words or repeat themselves. "
            "Both count as wrong where they commit to nothing, which is not a failure of memory."
        ),
        _cut(others.outputs_table(document["outputs"])),
        Text("Means per question. Each question pays for its whole history."),
        _cut(others.cost_table(document["costs"])),
    ]


def _threshold(family: Row) -> str:
    return "–" if family["threshold"] is None else f"{family['threshold']:.2g}"


def _cut(table: Table) -> Table:
    """Return at most 400 lines, and say what is left out."""
    if len(table.rows) <= ROWS_SHOWN:
        return table
    left = f"{len(table.rows) - ROWS_SHOWN:,} more lines are in `memgauge report --json`"
    caption = "; ".join(part for part in (table.caption, left) if part)
    return Table(table.columns, table.rows[:ROWS_SHOWN], caption, table.headings, table.wordy)
