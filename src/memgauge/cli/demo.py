"""`memgauge demo`: ten memories whose numbers are known, gauged in a minute."""

from __future__ import annotations

import sys
from importlib.util import find_spec
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
BACKBONE_LENGTHS = (256, 1024)


def demo(
    *,
    out: Annotated[Path, Parameter(help="The run folder.")] = Path("runs/demo"),
    seed: Annotated[int, Parameter(help="All streams and questions follow from it.")] = 0,
) -> int:
    """Gauge ten memories whose numbers are known, on regular and incompressible streams of up to 4,096 symbols.

    Prints the table and writes OUT/report.html. Nothing is downloaded; given again, it only draws the report anew.
    Where torch is installed, the trained backbones that ship are asked too, about streams of up to 1,024 symbols.
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
    runs = [out]
    backbones = _backbones()
    if backbones:
        print(f"asking {len(backbones)} trained backbones", file=sys.stderr)
        source = MadeStreams(lengths=BACKBONE_LENGTHS, negatives=("uniform", "matched"), seed=seed)
        subjects = subjects_of(backbones, "ecc-tokens")
        runs.append(out / "backbones")
        execute(Plan(task="ecc-tokens", source=source, subjects=subjects), runs[1], command=["memgauge", "demo"])
    report(runs, out=out / "report.html")
    return 0


def _backbones() -> list[str]:
    """Return the systems of the checkpoints that ship, or none where torch is missing."""
    from memgauge.systems.backbones.shipped import shipped_checkpoints

    if find_spec("torch") is None or find_spec("safetensors") is None:
        print("the trained backbones are left out: torch is not installed (memgauge[backbones])", file=sys.stderr)
        return []
    return [f"backbone:shipped={name}" for name in shipped_checkpoints()]
