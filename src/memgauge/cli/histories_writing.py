"""What a build prints of its writer: attempts, faults at an endpoint, and the kinds of questions that fell short."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memgauge.histories.building.selection import Selection

_OUTAGES = 3
"""Different faults of an endpoint that are shown in its own words."""


def print_writing(selection: Selection) -> None:
    """Print attempts at turns and questions by what rejected them, and bad replies by kind."""
    counts: dict[str, dict[str, int]] = {}
    for (what, name), count in sorted(selection.attempts.items()):
        counts.setdefault(what, {})[name] = count
    turns = sum(counts.get("turns", {}).values())
    if turns:
        print(f"{turns:,} attempts at turns; rejected by validator: {_shares(counts.get('rejected', {}), turns)}")
    questions = counts.get("questions", {}).get("attempts", 0)
    if questions:
        shares = _shares(counts.get("question_rejected", {}), questions)
        print(f"{questions:,} attempts at questions; rejected by check: {shares}")
    if "replies" in counts:
        print("replies of models: " + ", ".join(f"{n:,} {role}" for role, n in counts["replies"].items()))
    if "faults" in counts:
        print("replies and requests of no use: " + ", ".join(f"{kind} {n:,}" for kind, n in counts["faults"].items()))
    for said in list(dict.fromkeys(selection.outages))[:_OUTAGES]:
        print(f"no answer: {said}")
    if selection.outages:
        print(f"{len(selection.outages):,} candidates failed for that; the same command makes them again")


def _shares(rejected: dict[str, int], made: int) -> str:
    return ", ".join(f"{name} {count / made:.2%}" for name, count in rejected.items()) or "none rejected"


def print_short(selection: Selection) -> None:
    """Print which kinds of questions fell short, and by how many."""
    from memgauge.cli.output import print_table
    from memgauge.histories.building.model import BUILDERS

    there: dict[str, int] = {}
    for place, _ in selection.accepted:
        there[place.line.name] = there.get(place.line.name, 0) + 1
    rows = [
        [name, BUILDERS.get(name.removesuffix(".told"), "answer_refusal"), str(there.get(name, 0)), str(missing)]
        for name, missing in selection.short.items()
    ]
    print_table("Fell short", ["builder", "subtype", "there", "missing"], rows, left=2)
