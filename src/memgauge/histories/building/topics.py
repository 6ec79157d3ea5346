"""Topics of a session, drawn from the built-in ontology or one of the user's."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from memgauge.histories.building.ontology import Ontology, built_in, load_ontology
from memgauge.histories.building.text import Topic

TOPICS = 3
"""A session that the validators give up on is redrawn with the next topic."""


@cache
def ontology_of(file: str) -> Ontology:
    """Return the ontology of a file, or the built-in one for an empty name."""
    return load_ontology(Path(file)) if file else built_in()


def draw_topics(generator: random.Random, file: str = "") -> tuple[Topic, ...]:
    """Draw the topics of one session, in the same way whatever it carries."""
    ontology = ontology_of(file)
    return tuple(ontology.sample(generator).session_topic() for _ in range(TOPICS))
