"""`memgauge demo`: ten memories whose numbers are known, gauged in a minute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

SYSTEMS = (
    "exact",
    "window:bits=1024",
    "blocks:bits=1024",
    "bloom:bits=4096",
    "trigram-bloom:bits=1024",
    "ngram-set:n=2",
    "lz78:bits=1024",
    "codec:bits=1024,codec=zlib",
    "oracle:accuracy=0.9",
    "coin",
)
LENGTHS = (256, 1024, 4096)


def demo(
    *,
    out: Annotated[Path, Parameter(help="The run folder.")] = Path("runs/demo"),
    seed: Annotated[int, Parameter(help="All streams and questions follow from it.")] = 0,
) -> int:
    """Gauge ten memories whose numbers are known, on regular and incompressible streams of up to 4,096 symbols.

    Prints the table and writes OUT/report.html. Nothing is downloaded; given again, it only draws the report anew.
    """
    from memgauge.cli.report import report
    from memgauge.cli.run import subjects_of
    from memgauge.run import Plan, execute
    from memgauge.tasks import MadeStreams

    plan = Plan(
        task="ecc-tokens",
        source=MadeStreams(lengths=LENGTHS, negatives=("uniform", "matched"), seed=seed),
        subjects=subjects_of(SYSTEMS, "ecc-tokens"),
        arms=("none", "A", "B"),
    )
    print(f"asking {len(SYSTEMS)} memories about streams of {', '.join(map(str, LENGTHS))} symbols", file=sys.stderr)
    execute(plan, out, command=["memgauge", "demo"])
    report([out], out=out / "report.html")
    return 0
