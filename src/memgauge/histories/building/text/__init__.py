"""The text of sessions: writers, validators, judges, question checks, filler adapters (MEMLENS, C.4 and 3.3).

One generator writes evidence, contrast, decoy and filler sessions; the same six validators screen each of their turns.

    writer = ProceduralWriter(log=AttemptLog())
    turns = writer.session(topic, carriers, date, rng, "compact")      # 0 carriers: a filler

The model family has the same call on `ModelWriter(user_chat, assistant_chat, judge=...)`.
"""

from memgauge.histories.building.text.log import AttemptLog
from memgauge.histories.building.text.procedural import ProceduralWriter
from memgauge.histories.building.text.types import PROFILES, Plan, Profile, Topic, Verdict
from memgauge.histories.building.text.writer import (
    QuestionRejectedError,
    SessionRejectedError,
    Writer,
    write_session,
)

__all__ = [
    "PROFILES",
    "AttemptLog",
    "Plan",
    "ProceduralWriter",
    "Profile",
    "QuestionRejectedError",
    "SessionRejectedError",
    "Topic",
    "Verdict",
    "Writer",
    "write_session",
]
