"""Systems under test: making them by name, and the known-answer memories."""

from memgauge.systems.registry import fingerprint, list_systems, make_system, system_name
from memgauge.systems.spec import Spec, format_spec, parse_spec

__all__ = ["Spec", "fingerprint", "format_spec", "list_systems", "make_system", "parse_spec", "system_name"]
