"""The tables of a report: each takes parts of the document and returns a `memgauge.report.page.Table`."""

from memgauge.report.tables.evidence import comparison_table, confidence_table, forgetting_table, payoff_table
from memgauge.report.tables.forms import ALL, Lookup, has_bands, main_groups
from memgauge.report.tables.models import (
    abstention_table,
    break_even,
    how_retrieved,
    markers_table,
    perception_table,
    retrieval_costs_table,
    retrieval_table,
)
from memgauge.report.tables.recall import (
    axes_table,
    capacity_table,
    cells_table,
    compression_table,
    cost_table,
    dicts,
    known_answer_table,
    outcome_table,
    recall_table,
    size,
    worst_case_table,
)

__all__ = [
    "ALL",
    "Lookup",
    "abstention_table",
    "axes_table",
    "break_even",
    "capacity_table",
    "cells_table",
    "comparison_table",
    "compression_table",
    "confidence_table",
    "cost_table",
    "dicts",
    "forgetting_table",
    "has_bands",
    "how_retrieved",
    "known_answer_table",
    "main_groups",
    "markers_table",
    "outcome_table",
    "payoff_table",
    "perception_table",
    "recall_table",
    "retrieval_costs_table",
    "retrieval_table",
    "size",
    "worst_case_table",
]
