"""Text-only sessions from a file of real conversations instead of the procedural writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from memgauge.errors import InputError, unknown_name
from memgauge.files import file_sha256
from memgauge.histories.building.model import Turn
from memgauge.histories.building.seeds import rng
from memgauge.histories.building.text.fillers import Filler, FillerFilter, read_fillers, token_count

FORMS = ("ultrachat", "oasst", "sharegpt")
POOL = 4000
"""Conversations that are kept of a file: the first that pass the filters."""


def split_spec(spec: str) -> tuple[str, Path]:
    """Read `FORM:FILE`. Raises `InputError` for another form or a file that is not there.

    >>> split_spec("ultrachat")
    Traceback (most recent call last):
    ...
    memgauge.errors.InputError: --fillers 'ultrachat': write procedural, or FORM:FILE such as ultrachat:train.jsonl
    """
    form, colon, name = spec.partition(":")
    if not colon or not name:
        raise InputError(f"--fillers {spec!r}: write procedural, or FORM:FILE such as ultrachat:train.jsonl")
    if form not in FORMS:
        raise unknown_name("form of conversations", form, FORMS)
    path = Path(name).expanduser()
    if not path.is_file():
        raise InputError(f"--fillers {spec!r}: no such file")
    return form, path


@cache
def public_name(spec: str) -> str:
    """Return what a manifest says of the source: its form and the hash of the file, never its path."""
    if spec == "procedural":
        return spec
    form, path = split_spec(spec)
    return f"{form}:{file_sha256(path)}"


@cache
def pool(spec: str) -> tuple[Filler, ...]:
    """Return the conversations of a file that can stand in a history. Raises `InputError` where there are too few."""
    form, path = split_spec(spec)
    usable = FillerFilter()
    found = tuple(islice((f for f in read_fillers(path, form) if usable.accepts(f.turns)), POOL))
    if len(found) < 100:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in usable.reasons.most_common())
        raise InputError(
            f"{path}: {len(found)} conversations can be used, at least 100 are needed"
            f"{f' (left out: {reasons})' if reasons else ''}; give a larger file, or --fillers procedural"
        )
    return found


@cache
def mean_tokens(spec: str) -> int:
    """Return the mean length of the conversations of a file, in words and signs."""
    found = pool(spec)
    return sum(token_count(turn.content) for filler in found for turn in filler.turns) // len(found)


def conversations(
    spec: str, seed: int, question: str, names: Sequence[str], protected: Sequence[str]
) -> Iterator[tuple[Turn, ...]]:
    """Yield the conversations of a history in random order, none twice, none that names its people or answers."""
    found = pool(spec)
    usable = FillerFilter(names, protected)
    for place in rng(seed, question, "conversations").sample(range(len(found)), len(found)):
        if usable.accepts(found[place].turns):
            yield found[place].turns
