"""What a datasheet says of the text: templates, or a chat model with the checks that were run on it."""

# ruff: noqa: E501 - rows of Markdown tables cannot be broken
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memgauge.histories.building.writers import PROCEDURAL

_QUESTIONS = {
    "question_rules": ("form", "rule", "kept", "new", "format", "reply"),
    "question_meaning": ("meaning",),
    "question_text_only": ("text_only",),
}
_TURNS = {
    "session_leak": ("semantic: judge", "semantic: judge_failed"),
    "session_disambiguation": ("ambiguity: judge", "ambiguity: judge_failed"),
}
NOT_TWICE = "the text is a model's, so that another build with the same options need not give the same bytes"


def collection(manifest: Mapping[str, Any], pictures: str) -> str:
    """Return how questions and sessions were made; `pictures` says it of the pictures."""
    if manifest["config"]["writer"] == PROCEDURAL:
        return f"""Text comes from templates, {pictures}, answers are computed. For each question the text is drawn first,
then the answer, then the picture, so that the text alone says nothing about the answer beyond the floor that the sidecar states."""
    return f"""Questions are drafted from templates with the facts of their sessions, {pictures}, answers are computed: text first, then the
answer, then the picture. A chat model has reworded the drafts (`draft` in `meta.jsonl`) and has written the sessions around the
facts, which stand in them as they were given. It was told no answer and shown no picture.

{_attempts(manifest)}

{_checks(manifest["text_checks"])}
"""


def _attempts(manifest: Mapping[str, Any]) -> str:
    attempts = manifest["attempts"]
    rows = [
        f"| {name} | {rejected:,} | {_share(rejected, made)} |"
        for name, rejected, made in rates(manifest["text_checks"]["checked"], attempts)
    ]
    turns = sum(attempts.get("turns", {}).values())
    rows += [f"| turn_rules: {name} | {n:,} | {_share(n, turns)} |" for name, n in attempts.get("rejected", {}).items()]
    made = attempts.get("questions", {}).get("attempts", 0)
    rows += [
        f"| question: {name} | {n:,} | {_share(n, made)} |" for name, n in attempts.get("question_rejected", {}).items()
    ]
    faults = attempts.get("faults", {})
    table = "\n".join(rows)
    replies = ", ".join(f"{n:,} {role}" for role, n in attempts.get("replies", {}).items())
    wrong = ", ".join(f"{name} {n:,}" for name, n in faults.items()) or "none"
    return f"""| check or validator | attempts rejected | share |
|---|---|---|
{table}

Attempts: {made:,} at questions, {turns:,} at turns. Replies of models by role: {replies}. Replies and requests of no use: {wrong}."""


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else ""


def _checks(checks: Mapping[str, Any]) -> str:
    run = "\n".join(f"| {name} | run | {what} |" for name, what in checks["checked"].items())
    left = "\n".join(f"| {name} | not run | {what} |" for name, what in checks["not_run"].items())
    return f"| check of the text | | |\n|---|---|---|\n{run}\n{left}"


def limits(manifest: Mapping[str, Any]) -> str:
    """Return what the text does not show."""
    if manifest["config"]["writer"] == PROCEDURAL:
        return "- The text is templated. It tests memory and the binding of text and picture, not naturalness."
    return """- The facts in the sessions are templated; what stands around them is a model's, whose style and errors it has.
- That pictures are necessary is proven for drafts and facts (the swap), and judged, not proven, for the model's own text."""


def rates(checked: Mapping[str, str], attempts: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Yield (check, attempts that it rejected, attempts that were made) of the checks that count attempts."""
    turns, reasons = sum(attempts.get("turns", {}).values()), attempts.get("reasons", {})
    questions, rejected = attempts.get("questions", {}).get("attempts", 0), attempts.get("question_rejected", {})
    judged = {name: sum(reasons.get(reason, 0) for reason in names) for name, names in _TURNS.items()}
    for name in checked:
        if name in _QUESTIONS:
            yield name, sum(rejected.get(check, 0) for check in _QUESTIONS[name]), questions
        elif name in judged:
            yield name, judged[name], turns
        elif name == "turn_rules":
            yield name, sum(attempts.get("rejected", {}).values()) - sum(judged.values()), turns


def licence_row(writer: str) -> str:
    """Return the rows of the table of licences for what a model wrote, and for what it was given."""
    name = writer.partition("name=")[2].partition(",")[0]
    return (
        "| drafts of questions, facts, answers, sidecar | written by memgauge from its own banks of text | CC0 1.0 |\n"
        f"| questions, dialogues | written by the model {name} | see the terms of the model |\n"
    )


def written_by_model(described: Mapping[str, Any], writer: str) -> dict[str, Any]:
    """Return a machine-readable description (Croissant) with what differs where a model wrote the text."""
    name = writer.partition("name=")[2].partition(",")[0]
    licence = described["license"]
    return {
        **described,
        "description": described["description"].replace(
            "built by the procedural pipeline of memgauge", f"built by memgauge with text of the model {name}"
        ),
        "license": [
            *(licence if isinstance(licence, list) else [licence]),
            f"the terms of the model {name} for its text",
        ],
        "rai:dataCollection": f"{described['rai:dataCollection']} Questions were reworded and conversations written by the "
        f"language model {name}, around facts from templates.",
        "rai:dataLimitations": [
            "The facts are templated; the text around them is a model's, with its style and errors.",
            *described["rai:dataLimitations"][1:],
        ],
        "rai:dataReleaseMaintenancePlan": "The text is a model's: another build need not give the same data.",
    }
