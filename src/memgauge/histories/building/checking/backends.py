"""What the manifest says of the checks that a model's text went through: which were run, how often they rejected, and
which were not run. A check of a folder reads files only and asks no model again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memgauge.histories.building.card_text import rates
from memgauge.histories.building.checking.gates import Gate, shown


def backend_gates(manifest: Mapping[str, Any]) -> list[Gate]:
    """Return a figure for each check that was run, and a gate that was not checked for each other one.

    A folder of the procedural writer has none.
    """
    checks = manifest.get("text_checks")
    if not isinstance(checks, Mapping):
        return []
    attempts = manifest.get("attempts", {})
    return [*_run(checks.get("checked", {}), attempts), *_not_run(checks.get("not_run", {}))]


def _run(checked: Mapping[str, str], attempts: Mapping[str, Mapping[str, int]]) -> Iterator[Gate]:
    for name, rejected, made in rates(checked, attempts):
        what = f"share of attempts that this check rejected: {checked[name]}"
        yield shown(name, what, rejected / max(made, 1), made, "attempts", {"rejected": rejected})


def _not_run(names: Mapping[str, str]) -> Iterator[Gate]:
    for name, why in names.items():
        yield Gate(name, "shown", "not checked", "", 0, "attempts", advice=why)
