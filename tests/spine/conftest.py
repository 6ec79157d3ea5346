from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def plan():
    """Make a plan over small streams made on the fly."""
    from memgauge.run import Plan, Subject
    from memgauge.tasks import MadeStreams

    def make(*systems, task="ecc-tokens", lengths=(64, 100), bands=("max",), count=4, queries=8, **options):
        negatives = options.pop("negatives", ("uniform",))
        source = MadeStreams(lengths=lengths, bands=bands, count=count, queries=queries, negatives=negatives, seed=3)
        subjects = [s if isinstance(s, Subject) else Subject(s, s.name, f"{s.name} v1") for s in systems]
        return Plan(task=task, source=source, subjects=tuple(subjects), **options)

    return make
