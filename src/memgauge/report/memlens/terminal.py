"""What a terminal shows of the task `memlens`: blocks of lines in at most 100 columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memgauge.report import text as write
from memgauge.report.memlens.scores import ABILITY_NAMES, arms_of, brief
from memgauge.report.text import NONE, named

Row = Mapping[str, Any]
Line = list[str]


@dataclass(frozen=True, slots=True)
class Listing:
    """A table for a terminal: lines under headings."""

    title: str
    columns: Sequence[str]
    blocks: dict[str, list[Line]]


LINES_SHOWN = 40


def listings(document: Row) -> list[Listing]:
    """Return the tables in order; empty ones are left out."""
    found = [
        *(_accuracy(document, arm) for arm in arms_of(document["overall"])),
        *(_declining(document, arm) for arm in arms_of(document["abstention"])),
        _degradation(document),
        _churn(document),
        _arms(document),
        _outputs(document),
        _half_lives(document),
        _rankings(document),
    ]
    return [listing for listing in found if any(listing.blocks.values())]


def _share(estimate: Row | None, digits: int = 0) -> str:
    if estimate is None or estimate["value"] is None:
        return NONE
    return write.percent(estimate["value"], digits)


def _brief(estimate: Row, form: Callable[[float | None, int], str] = write.percent) -> str:
    if estimate["value"] is None:
        return NONE
    low, high = estimate["low"], estimate["high"]
    ends = "" if low is None or high is None else f" [{form(low, 0)},{form(high, 0)}]"
    return f"{form(estimate['value'], 1)}{ends}"


def _blocks(rows: Sequence[Row], line: Callable[[Row], Line]) -> dict[str, list[Line]]:
    """Group lines by length."""
    found: dict[str, list[Line]] = {}
    for row in sorted(rows, key=lambda row: row["length"]):
        found.setdefault(f"{brief(row['length'])} tokens", []).append(line(row))
    return found


def _tagged(row: Row) -> str:
    """Return the system, and its arm where it has one."""
    return named(row["system"]) + ("" if row["arm"] == "none" else f" / {named(row['arm'])}")


def _titled(text: str, arm: str) -> str:
    return text if arm == "none" else f"{text}, arm {named(arm)}"


def _accuracy(document: Row, arm: str) -> Listing:
    cells = {
        (row["system"], row["length"], row["group"]): row["accuracy"]
        for row in document["scores"]
        if row["arm"] == arm and row["grouping"] == "ability"
    }
    abilities = [name for name in ABILITY_NAMES if any(key[2] == name for key in cells)]

    def line(row: Row) -> Line:
        parts = [_share(cells.get((row["system"], row["length"], ability))) for ability in abilities]
        return [named(row["system"]), write.count(row["scored"]), _brief(row["micro"]), _share(row["macro"]), *parts]

    rows = [row for row in document["overall"] if row["arm"] == arm and row["length"] is not None]
    return Listing(
        _titled("conversations: accuracy (%)", arm), ["system", "n", "all", "mean", *abilities], _blocks(rows, line)
    )


def _declining(document: Row, arm: str) -> Listing:
    tried = {
        (row["system"], row["length"]): row
        for row in document["scores"]
        if row["arm"] == arm and row["grouping"] in ("all", "answerable")
    }

    def line(row: Row) -> Line:
        own = tried[row["system"], row["length"]] if row["answerable"] else None
        return [
            named(row["system"]),
            _share(own["coverage"] if own else None, 1),
            _share(own["accuracy_answered"] if own else None, 1),
            _brief(row["abstention"]),
            _brief(row["over_refusal"]),
            _brief(row["discrimination"], write.points),
        ]

    columns = ["system", "coverage", "per answer", "abstention", "over-refusal", "difference"]
    return Listing(
        _titled("conversations: declining (%)", arm),
        columns,
        _blocks([row for row in document["abstention"] if row["arm"] == arm], line),
    )


def _degradation(document: Row) -> Listing:
    found = document["degradation"]
    family, whole, rises = found["by_ability"], found["overall"], found["increases"]
    tests = [*whole["tests"], *(test for test in family["tests"] if test["significant"])]
    lines = [
        [
            _tagged(row),
            named(row["ability"]),
            f"{brief(row['length_from'])}-{brief(row['length_to'])}",
            write.count(row["n"]),
            _brief(row["difference"], write.points),
            f"{row['lost']:,}/{row['gained']:,}",
            write.p_value(row["p"]),
            write.p_value(row["p_bonferroni"]),
        ]
        for row in tests[:LINES_SHOWN]
    ]
    title = (
        f"conversations: longer histories (m = {whole['m']:,} for all; by ability m = {family['m']:,}, "
        f"{family['significant']:,} significant; rises m = {rises['m']:,}, {rises['significant']:,})"
    )
    columns = ["system", "ability", "lengths", "n", "change (points)", "lost/gained", "p", "p corrected"]
    return Listing(title, columns, {"": lines})


def _churn(document: Row) -> Listing:
    lines = [
        [
            _tagged(row),
            "-".join(map(brief, row["lengths"])),
            write.count(row["flipped"]),
            write.count(row["back"]),
            _brief(row["share"]),
        ]
        for row in document["flip_back"][:LINES_SHOWN]
    ]
    columns = ["system", "lengths", "changed", "back", "share (%)"]
    return Listing("conversations: verdicts that change back", columns, {"": lines})


def _arms(document: Row) -> Listing:
    found = document["ablations"]
    tests = [row for row in found["tests"] if row["grouping"] == "all"][:LINES_SHOWN]

    def line(row: Row) -> Line:
        return [
            named(row["system"]),
            f"{named(row['arm'])} > {named(row['other_arm'])}",
            write.count(row["n"]),
            f"{write.percent(row['accuracy'])} > {write.percent(row['accuracy_other'])}",
            _brief(row["difference"], write.points),
            write.p_value(row["p_bonferroni"]),
        ]

    title = f"conversations: arms on the same questions (m = {found['m']:,})"
    columns = ["system", "arms", "n", "accuracy (%)", "change (points)", "p corrected"]
    return Listing(title, columns, _blocks(tests, line))


def _outputs(document: Row) -> Listing:
    costs = {(row["system"], row["arm"], row["length"]): row for row in document["costs"]}

    def line(row: Row) -> Line:
        cost = costs[row["system"], row["arm"], row["length"]]
        return [
            _tagged(row),
            _share(row["capped"], 1),
            _share(row["degenerate"], 1),
            _share(row["no_answer"], 1),
            write.count(cost["tokens_in"]["mean"]),
            write.count(cost["tokens_out"]["mean"]),
            write.flops(cost["flops_total"]["mean"]),
        ]

    columns = ["system", "capped (%)", "degenerate (%)", "no answer (%)", "tokens in", "tokens out", "FLOPs"]
    return Listing("conversations: outputs, and costs a question", columns, _blocks(document["outputs"], line))


def _half_lives(document: Row) -> Listing:
    lines = [
        [
            _tagged(row),
            write.count(row["rows"]),
            _life(row["half_life"] or {}, row["unit"]),
        ]
        for row in document["half_lives"][:LINES_SHOWN]
    ]
    return Listing(
        "conversations: half-life of recall by age, all lengths", ["system", "answers", "half-life"], {"": lines}
    )


def _life(fit: Row, unit: str) -> str:
    value = fit.get("half_life")
    if value is None:
        return f"none ({unit}: {str(fit.get('reason') or 'not fitted').replace('_', ' ')})"
    return f"{value:.3g} {unit}"


def _rankings(document: Row) -> Listing:
    lines = [
        [
            f"{brief(row['length'])}{'' if row['arm'] == 'none' else ' / ' + named(row['arm'])}",
            write.count(row["n"]),
            f"{row['subset']:,}/{row['rest']:,}",
            *(write.decimal(row[key], 2) for key in ("spearman", "kendall", "spearman_rest", "kendall_rest")),
        ]
        for row in document["rankings"]
        if row["spearman"] is not None
    ]
    columns = ["length", "systems", "subset/rest", "rho all", "tau all", "rho rest", "tau rest"]
    return Listing("conversations: does the subset rank as all questions do", columns, {"": lines})
