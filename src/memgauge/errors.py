"""What goes wrong because of an input: one family of exceptions whose text says where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MemgaugeError(Exception):
    """A problem that the user can mend. The command line prints the text and exits with status 2."""


class InputError(MemgaugeError):
    """A file, field or option that cannot be used; the text names the file, line or field."""


class SchemaVersionError(InputError):
    """Responses written by a version of memgauge whose columns mean something else."""


class RunStoppedError(MemgaugeError):
    """Raised by a system that cannot go on: a key that is refused, a server that is gone, a budget that is used up.

    The run ends: what is in flight is waited for and kept, and the same command goes on from there.
    """


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Build the error for a name that is not in `known`, with the nearest names.

    >>> str(unknown_name("system", "exct", ["exact", "window"]))
    "unknown system 'exct'; did you mean 'exact'? Known: exact, window"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=3, cutoff=0.5)
    matches = [n for low in near for n in names if n.lower() == low]
    hint = f" did you mean {' or '.join(repr(m) for m in matches)}?" if matches else ""
    known_names = ", ".join(names) if len(names) <= 40 else f"{', '.join(names[:40])}, ... ({len(names)} in all)"
    return InputError(f"unknown {kind} {name!r};{hint} Known: {known_names or '(none)'}")
