"""The run folder of imported responses: laid out as one that `memgauge run` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError
from memgauge.files import file_sha256, write_whole
from memgauge.responses import SCHEMA_VERSION, write_parquet

if TYPE_CHECKING:
    import polars as pl


def write_run(rows: pl.DataFrame, folder: Path, source: Path) -> None:
    """Write imported responses as a finished run folder. Raises `InputError` when the folder holds something."""
    digest = file_sha256(source)
    write_folder(
        rows,
        folder,
        imported={"file": source.name, "sha256": digest},
        systems=[
            {"name": name, "spec": "imported", "fingerprint": f"imported sha256={digest}"}
            for name in sorted(rows["system"].unique())
        ],
        data={"identity": {"made": False, "imported": True}},
    )


def write_folder(
    rows: pl.DataFrame,
    folder: Path,
    *,
    imported: object,
    systems: Sequence[Mapping[str, Any]],
    data: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> None:
    """Write `responses.parquet` and `run.json`. Raises `InputError` when the folder holds something."""
    try:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} is not empty; give another --out")
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "schema_version": SCHEMA_VERSION,
            "run": rows["run"][0] if rows.height else "imported",
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "finished": True,
            "imported": imported,
            "tasks": sorted(rows["task"].unique().to_list()),
            "arms": sorted(rows["arm"].unique().to_list()),
            "systems": list(systems),
            "data": dict(data),
            "commands": [],
            "notes": list(notes),
        }
        if judges := sorted(rows["judge"].drop_nulls().unique().to_list()):
            record["judges"] = judges
        write_parquet(rows, folder / "responses.parquet")
        write_whole(folder / "run.json", json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
