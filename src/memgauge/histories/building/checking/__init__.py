"""Gates on a built folder: invariants that always hold, and bounds on what leaks (MEMLENS, C.4 and C.8)."""

from memgauge.histories.building.checking.gates import Gate
from memgauge.histories.building.checking.run import Report, check_folder

__all__ = ["Gate", "Report", "check_folder"]
