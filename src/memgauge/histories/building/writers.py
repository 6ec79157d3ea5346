"""Which writer a build uses: the procedural one, or one behind an endpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memgauge.errors import InputError, unknown_name
from memgauge.histories.building.text import AttemptLog, ProceduralWriter, Writer

MakeWriter = Callable[[AttemptLog], Writer]


def writer_factory(spec: str, work: Path) -> MakeWriter:
    """Return what makes the writer of one candidate, from `procedural` or `model:name=...,base_url=...`.

    Raises `InputError` for another form.
    """
    if spec == "procedural":
        return ProceduralWriter
    kind, _, options = spec.partition(":")
    if kind != "model":
        raise unknown_name("writer", kind, ["procedural", "model"])
    from memgauge.histories.building.text.model import model_writer_factory

    pairs = [part.partition("=") for part in options.split(",")]
    if any(not name or not value for name, _, value in pairs):
        raise InputError(f"--writer {spec!r}: write model:name=MODEL,base_url=URL")
    return model_writer_factory({name: value for name, _, value in pairs}, work / "calls")
