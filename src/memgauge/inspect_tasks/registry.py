"""What Inspect finds under the name `memgauge`: the entry point of the group `inspect_ai`.

A task of another protocol is added here: its own module beside `ecc` and `memlens`, and a plan as `asked` describes it.
"""

from memgauge.inspect_tasks.conversation_scoring import conversation
from memgauge.inspect_tasks.ecc import easyhuman, ecc_text, ecc_video
from memgauge.inspect_tasks.memlens import memlens
from memgauge.inspect_tasks.scoring import membership

__all__ = ["conversation", "easyhuman", "ecc_text", "ecc_video", "membership", "memlens"]
