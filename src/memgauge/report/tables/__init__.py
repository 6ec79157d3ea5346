"""The tables of a report: each takes parts of the document and returns a `memgauge.report.page.Table`."""

from memgauge.report.tables.evidence import comparison_table, confidence_table, forgetting_table, payoff_table
from memgauge.report.tables.forms import ALL, Lookup, has_bands, main_groups
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
    "axes_table",
    "capacity_table",
    "cells_table",
    "comparison_table",
    "compression_table",
    "confidence_table",
    "cost_table",
    "dicts",
    "forgetting_table",
    "has_bands",
    "known_answer_table",
    "main_groups",
    "outcome_table",
    "payoff_table",
    "recall_table",
    "size",
    "worst_case_table",
]
