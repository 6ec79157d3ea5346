"""`memgauge audit`: the graders' own examination on labelled cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memgauge.cli.options import Json


def audit(
    file: Annotated[Path, Parameter(help="Labelled cases, one JSON object a line.")],
    /,
    *,
    strict: Annotated[bool, Parameter(negative="", help="Exit with status 1 when a case is missed.")] = False,
    json: Json = False,
) -> int:
    """Run the project's graders on labelled cases and count, for each kind, how many they agree with.

    Exit status: 0 whenever the file could be read; with --strict, 1 when a case that is not debatable is missed.
    """
    from memgauge.cli.output import print_json, print_table
    from memgauge.grading.audit import audit_file

    report = audit_file(file)
    if json:
        print_json(report.as_json())
    else:
        rows = [
            [kind, f"{k.agree} of {k.n}", f"{k.debatable_agree} of {k.debatable_n}", "yes" if k.covered else "no"]
            for kind, k in report.kinds.items()
        ]
        print_table("Labelled cases", ["kind", "agree", "debatable", "covered"], rows)
        for miss in report.misses:
            if miss.got is not None:
                print(f"{miss.id}: got {miss.got}, expected {miss.expect}")
    return 1 if strict and report.misses else 0
