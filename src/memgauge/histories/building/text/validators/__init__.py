"""Six validators that screen every turn, in one order, for every role of a session (MEMLENS, C.4)."""

from memgauge.histories.building.text.validators.checks import Validator, chain
from memgauge.histories.building.text.validators.context import Context

__all__ = ["Context", "Validator", "chain"]
