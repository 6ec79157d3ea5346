"""What a report about conversations can be given beside runs: model sizes, and a subset of the questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from memgauge.errors import InputError
from memgauge.responses import read_run_json

LARGEST_FILE = 16 << 20
AGENT = "agent"


def read_sizes(path: Path) -> dict[str, float]:
    """Read a JSON object of system names and model sizes (positive numbers, all in one unit). Raises `InputError`."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: larger than {LARGEST_FILE >> 20} MiB; this is no table of model sizes")
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict) or not document:
        raise InputError(f'{path}: give a JSON object such as {{"my-model": 8, "another": 30}}')
    sizes: dict[str, float] = {}
    for name, size in document.items():
        if isinstance(size, bool) or not isinstance(size, int | float) or not 0 < size < 1e300:
            raise InputError(f"{path}: the size of {name!r} is {size!r}; it must be a number above 0")
        sizes[name] = float(size)
    return sizes


def question_ids(subset: str, runs: Sequence[Path]) -> frozenset[str]:
    """Return the ids of a subset file, or of the agents' subset of the data that the runs were made with.

    Raises `InputError` for a file that holds no ids, and where `agent` is asked for and the data are not there.
    """
    from memgauge.histories.subsets import agent_subset, read_subset

    if subset != AGENT:
        return frozenset(read_subset(Path(subset)))
    for run in runs:
        record = read_run_json(run) if run.is_dir() else None
        data = record.get("data") if record else None
        folder = data.get("folder") if isinstance(data, dict) else None
        if isinstance(folder, str) and Path(folder).is_dir():
            return frozenset(read_subset(agent_subset(Path(folder))))
    raise InputError("--subset agent: no run says where its data are, or they are gone; name a file of question ids")
