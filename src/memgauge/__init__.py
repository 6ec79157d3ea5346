"""memgauge gauges the memory of AI systems.

Here is what you need to write a system of your own or to read responses; the rooms below have the rest. The names are
imported when they are first used, so that `memgauge --help` does not wait for numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memgauge.episode import ARMS, Episode, Observation, Payoff, Query, Question
    from memgauge.errors import InputError, MemgaugeError
    from memgauge.responses import COLUMNS, load_responses
    from memgauge.system import Answer, BatchAnswers, BatchSystem, Memory, MemorySystem, SymbolBatch, WriteCost

__version__ = "0.1.0"

_HOMES = {
    "memgauge.episode": ("ARMS", "Episode", "Observation", "Payoff", "Query", "Question"),
    "memgauge.errors": ("InputError", "MemgaugeError"),
    "memgauge.responses": ("COLUMNS", "load_responses"),
    "memgauge.system": (
        "Answer",
        "BatchAnswers",
        "BatchSystem",
        "Memory",
        "MemorySystem",
        "SymbolBatch",
        "WriteCost",
    ),
}

__all__ = [
    "ARMS",
    "COLUMNS",
    "Answer",
    "BatchAnswers",
    "BatchSystem",
    "Episode",
    "InputError",
    "MemgaugeError",
    "Memory",
    "MemorySystem",
    "Observation",
    "Payoff",
    "Query",
    "Question",
    "SymbolBatch",
    "WriteCost",
    "__version__",
    "load_responses",
]


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'memgauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
