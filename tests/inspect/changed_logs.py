"""Logs with one field changed to something that has no business there."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator

VALUES = (None, 0, -1, True, "x", "\ud800\x00", [], {}, [1], {"a": 1}, float("inf"), float("nan"), 10**400)


def with_one_field_changed(content: dict, count: int, seed: int) -> Iterator[tuple[dict, random.Random]]:
    """Yield copies of a log, each with another value in one field, and what draws."""
    content = copy.deepcopy(content)
    for sample in content["samples"]:
        for large in ("events", "events_data", "attachments"):
            sample.pop(large, None)

    def paths(node, at=()):
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for name, value in inner:
            yield (*at, name)
            yield from paths(value, (*at, name))

    rng = random.Random(seed)
    known = [path for path in paths(content) if path[0] not in ("results", "stats", "reductions")]
    for _ in range(count):
        changed = copy.deepcopy(content)
        path, node = rng.choice(known), changed
        for name in path[:-1]:
            node = node[name]
        node[path[-1]] = rng.choice(VALUES)
        yield changed, rng
