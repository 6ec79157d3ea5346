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
}
"""Every family of charts: from a document and the labels of its systems to charts, or a sentence that says why none."""


def draw(document: Mapping[str, Any]) -> dict[str, Sequence[Block]]:
    """Return all charts of a document, by family. A family with nothing to draw holds a sentence instead."""
    labels = Labels([cell["system"] for cell in document["cells"]])
    return {name: family(document, labels) for name, family in FAMILIES.items()}
