"""Charts of a report document: one altair specification each, for the page and for PNG, SVG and PDF files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memgauge.report.charts.calibration import confidence_charts, payoff_charts
from memgauge.report.charts.compression import compression_charts
from memgauge.report.charts.forgetting import forgetting_charts
from memgauge.report.charts.outcomes import outcome_charts
from memgauge.report.charts.recall import capacity_charts, flops_curves, state_charts
from memgauge.report.charts.theme import Labels
from memgauge.report.memlens.charts import ability_charts, age_charts, arm_charts, risk_charts
from memgauge.report.page import Block

FAMILIES: dict[str, Callable[[Mapping[str, Any], Labels], Sequence[Block]]] = {
    "capacity": capacity_charts,
    "state": state_charts,
    "flops": flops_curves,
    "compression": compression_charts,
    "payoff": payoff_charts,
    "confidence": confidence_charts,
    "forgetting": forgetting_charts,
    "outcomes": outcome_charts,
    "abilities": ability_charts,
    "arms": arm_charts,
    "ages": age_charts,
    "risk": risk_charts,
}
"""Every family of charts: from a document and the labels of its systems to charts, or a sentence that says why none."""


def draw(document: Mapping[str, Any]) -> dict[str, Sequence[Block]]:
    """Return all charts of a document, by family. A family with nothing to draw holds a sentence instead."""
    labels = Labels([cell["system"] for cell in document["cells"]])
    parts = {name: document if name in WHOLE else streams_only(document) for name in FAMILIES}
    return {name: family(parts[name], labels) for name, family in FAMILIES.items()}


WHOLE = ("outcomes", "abilities", "arms", "ages", "risk")
"""Families that take the whole document; the others are about streams."""
_ABOUT_CELLS = ("cells", "curves", "capacity", "efficiency", "compression", "calibration", "confidence", "forgetting")


def streams_only(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document without the cells about conversations, which have sections of their own."""
    if document.get("memlens") is None:
        return document
    return {
        name: [row for row in part if row["task"] != "memlens"] if name in _ABOUT_CELLS else part
        for name, part in document.items()
    }
