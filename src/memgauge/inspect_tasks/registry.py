"""What Inspect finds under the name `memgauge`: the entry point of the group `inspect_ai`.

A task of another protocol is added here: its own module beside `ecc`, its parameters in a plan like that of `plan`.
"""

from memgauge.inspect_tasks.ecc import easyhuman, ecc_text, ecc_video
from memgauge.inspect_tasks.scoring import membership

__all__ = ["easyhuman", "ecc_text", "ecc_video", "membership"]
