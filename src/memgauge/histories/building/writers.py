"""Which writer a build uses: the procedural one, or one behind an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, unknown_name
from memgauge.histories.building.text import AttemptLog, ProceduralWriter, Writer

MakeWriter = Callable[[AttemptLog], Writer]
PROCEDURAL = "procedural"


def writer_factory(spec: str, work: Path) -> MakeWriter:
    """Return what makes the writer of one candidate, from `procedural` or `model:name=...,base_url=...`.

    Raises `InputError` for another form.
    """
    if spec == PROCEDURAL:
        return ProceduralWriter
    from memgauge.histories.building.text.model import model_writer_factory

    return model_writer_factory(_pairs(spec), work / "calls")


def check_writer(spec: str) -> None:
    """Check the options of a writer before anything is made; raises `InputError`."""
    if spec != PROCEDURAL:
        from memgauge.histories.building.text.model import Options, endpoint_of

        endpoint_of(Options.read(_pairs(spec)))


def writer_checks(public: str) -> dict[str, Any] | None:
    """Return which checks of a model's text were run and which were not, for the manifest.

    `public` is the writer as the manifest names it. None for the procedural writer, whose texts are proven otherwise:
    by the swap, byte for byte.
    """
    if public == PROCEDURAL:
        return None
    from memgauge.histories.building.text.model import checks_of

    return checks_of(_pairs(public))


def _pairs(spec: str) -> Mapping[str, str]:
    kind, _, options = spec.partition(":")
    if kind != "model":
        raise unknown_name("writer", kind, [PROCEDURAL, "model"])
    pairs = [part.partition("=") for part in options.split(",")]
    if any(not name or not value for name, _, value in pairs):
        raise InputError(f"--writer {spec!r}: write model:name=MODEL,base_url=URL")
    names = [name for name, _, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f"--writer {spec!r}: an option stands there twice")
    return {name: value for name, _, value in pairs}
