"""What arithmetic costs: price lists of models and backbones. Constants are data (`costs/data`), formulas are code.

Everything is exact: integers, or `Fraction` where an answer ends between two tokens. See docs/costs.md.
"""

from memgauge.costs.arithmetic import answer_tokens, parse_tokens
from memgauge.costs.backbones import (
    Backbone,
    BackboneCost,
    backbone_cost,
    backbone_flops,
    list_backbones,
)
from memgauge.costs.configs import load_price, price_from_config
from memgauge.costs.prices import VlmPrice, list_models, vlm_price
from memgauge.costs.response import TASKS, ResponseCost, parse_frame, price_response
from memgauge.costs.retrieval import RetrievalCost, embedding_flops, retrieval_cost, window_count
from memgauge.costs.tables import (
    Table9Cell,
    computed_table,
    printed_table,
    rounds_to,
    table_as_json,
    table_cells,
)

__all__ = [
    "TASKS",
    "Backbone",
    "BackboneCost",
    "ResponseCost",
    "RetrievalCost",
    "Table9Cell",
    "VlmPrice",
    "answer_tokens",
    "backbone_cost",
    "backbone_flops",
    "computed_table",
    "embedding_flops",
    "list_backbones",
    "list_models",
    "load_price",
    "parse_frame",
    "parse_tokens",
    "price_from_config",
    "price_response",
    "printed_table",
    "retrieval_cost",
    "rounds_to",
    "table_as_json",
    "table_cells",
    "vlm_price",
    "window_count",
]
