"""Logs of memgauge's own Inspect tasks, together, as one run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError
from memgauge.importers.folder import write_folder
from memgauge.importers.inspect_log import InspectLog, find_logs
from memgauge.importers.inspect_rows import Options, Reading
from memgauge.responses import check_rows, schema

if TYPE_CHECKING:
    import polars as pl


@dataclass(slots=True)
class Imported:
    """What logs have become."""

    rows: pl.DataFrame
    files: list[dict[str, Any]]
    systems: list[dict[str, Any]]
    data: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write a finished run folder. Raises `InputError` when the folder holds something."""
        write_folder(self.rows, folder, imported=self.files, systems=self.systems, data=self.data, notes=self.notes)


def import_inspect(paths: Sequence[Path], options: Options | None = None) -> Imported:
    """Read Inspect logs, or folders of them, as one run.

    Raises `InputError` that names the log, and the sample, for: a log of another task or of another version of ours; an
    evaluation that did not succeed, or samples that are missing, unless `partial` is set; several epochs, unless one is
    chosen; a request, target or score that is not the task's own; the same question answered in two logs.
    """
    import polars as pl

    options = options or Options()
    rows: list[dict[str, Any]] = []
    found = Imported(pl.DataFrame(schema=schema()), [], [], {})
    origin: dict[str, Path] = {}
    for path in find_logs(list(paths)):
        with InspectLog(path) as log:
            reading = Reading(log, options)
            new = reading.rows()
        for row in new:
            if row["key"] in origin:
                raise InputError(
                    f"{path}: {row['system']} answers question {row['episode']}/{row['query']} (arm {row['arm']}) in "
                    f"{origin[row['key']]} already; import one of the two, or each into a run of its own"
                )
            origin[row["key"]] = path
        rows += new
        _join(found, reading)
    run = hashlib.blake2b(json.dumps(found.files, sort_keys=True).encode(), digest_size=6).hexdigest()
    for row in rows:
        row["run"] = run
    found.rows = check_rows(pl.DataFrame(rows, schema=schema()), "the imported logs")
    return found


def _join(found: Imported, reading: Reading) -> None:
    """Add one log to what the others have become."""
    path, system = reading.log.path, reading.system
    data = {"identity": reading.plan.identity, **reading.plan.describe()}
    if found.data and found.data["identity"] != data["identity"]:
        raise InputError(
            f"{path}: its data is not that of the logs before it (seed, queries, or how frames are shown differ); "
            "import it into a run of its own"
        )
    for known in found.systems:
        if known["name"] == system["name"] and known["fingerprint"] != system["fingerprint"]:
            raise InputError(
                f"{path}: {system['name']} ran with other settings than in the logs before it; import it into a run of "
                "its own, with --label to tell the two apart"
            )
    if system not in found.systems:
        found.systems.append(system)
    for name, value in data.items():
        before = found.data.get(name)
        if isinstance(value, list) and isinstance(before, list):
            value = sorted({*before, *value})
        elif name == "count" and isinstance(before, int) and isinstance(value, int):
            value = max(before, value)
        found.data[name] = value
    found.files.append(reading.source)
    found.notes += reading.notes
