"""Choosing questions: the agents' subset of a dataset, a stratified draw by seed, and kinds of questions by name."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.reading import Faults, Histories, Split, raw_records
from memgauge.histories.records import id_of, kind_of, subtype_of

MAX_SUBSET = 64 << 20
_FIELDS = ["question_id", "question_type", "question_subtype", "question", "answer"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A question by name and kind."""

    question_id: str
    subtype: str
    kind: str | None = None

    @property
    def ability(self) -> str:
        """IE, MSR, TR, KU or AR."""
        return self.subtype.partition("_")[0]

    @property
    def names(self) -> frozenset[str]:
        """What `--only` can call it."""
        return frozenset(name for name in (self.ability, self.subtype, self.kind) if name)


def outline(histories: Histories, split: Split) -> list[Entry]:
    """Return the questions of a split with their kinds; records that cannot be told are passed over.

    Of a Parquet file only the columns that say so are read.
    """
    found: dict[str, Entry] = {}
    for raw in raw_records(split.path, Faults(), _FIELDS):
        if not isinstance(raw, Mapping):
            continue
        values = {name: raw.get(name) for name in _FIELDS}
        name = id_of(raw)
        if name is None:
            continue
        side: Mapping[str, Any] = histories.sidecar.get(name, {})
        named = values["question_subtype"] or side.get("subtype") or ""
        if not (isinstance(named, str) and isinstance(values["question_type"], str)):
            continue
        try:
            subtype = subtype_of(name, values["question_type"], str(values["question"]), str(values["answer"]), named)
        except InputError:
            continue
        found.setdefault(name, Entry(name, subtype, kind_of(side, named)))
    return list(found.values())


def stratified_subset(entries: Sequence[Entry], size: int, seed: int = 0) -> list[str]:
    """Draw questions so that every ability, and in it every kind, keeps its share (MEMLENS, canonical subset).

    Largest remainder over the abilities, then over the kinds within each; every kind gets at least one where `size`
    allows it. Within a kind the lowest digests of (seed, id) are taken, so that a draw depends on nothing else.

    Returns ids in the order of `entries`. Raises `InputError` for a size below 1.

    >>> entries = [Entry(f"q{i}", "AR" if i % 4 == 0 else "IE") for i in range(40)]
    >>> chosen = stratified_subset(entries, 8, seed=1)
    >>> len(chosen), sum(int(name[1:]) % 4 == 0 for name in chosen)
    (8, 2)
    """
    if size < 1:
        raise InputError(f"a subset has at least 1 question, not {size}")
    strata: dict[str, dict[str, list[str]]] = {}
    for entry in entries:
        strata.setdefault(entry.ability, {}).setdefault(entry.kind or entry.subtype, []).append(entry.question_id)
    size = min(size, len(entries))
    kinds = {ability: len(groups) for ability, groups in strata.items()}
    totals = {ability: sum(map(len, groups.values())) for ability, groups in strata.items()}
    every_kind = size >= sum(kinds.values())
    least = kinds if every_kind else dict.fromkeys(strata, 1 if size >= len(strata) else 0)
    chosen: set[str] = set()
    for ability, share in apportion(totals, size, least).items():
        groups = strata[ability]
        inner = apportion(
            {kind: len(ids) for kind, ids in groups.items()},
            share,
            dict.fromkeys(groups, 1 if share >= len(groups) else 0),
        )
        for kind, count in inner.items():
            chosen.update(sorted(groups[kind], key=lambda name: _rank(seed, name))[:count])
    return [entry.question_id for entry in entries if entry.question_id in chosen]


def _rank(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}|subset|{name}".encode("utf-8", "replace")).digest()


def apportion(sizes: Mapping[str, int], total: int, least: Mapping[str, int] | None = None) -> dict[str, int]:
    """Share `total` seats out in proportion to `sizes` by largest remainder; ties go to the first name.

    Each gets at least `least` of it and at most its size; `total` is at most the sum of `sizes` and at least that of
    `least`.

    >>> apportion({"IE": 246, "MSR": 143, "TR": 194, "KU": 116, "AR": 90}, 195)
    {'IE': 61, 'MSR': 35, 'TR': 48, 'KU': 29, 'AR': 22}
    """
    everything = sum(sizes.values())
    floor = {name: min(size, (least or {}).get(name, 0)) for name, size in sizes.items()}
    # In whole numbers: shares are multiples of 1 / everything.
    exact = {name: size * total for name, size in sizes.items()}
    seats = {name: max(floor[name], exact[name] // everything if everything else 0) for name in sizes}
    while (left := total - sum(seats.values())) != 0:
        if left > 0:
            open_names = [name for name in sizes if seats[name] < sizes[name]]
            chosen = min(open_names, key=lambda name: (seats[name] * everything - exact[name], name))
            seats[chosen] += 1
        else:
            open_names = [name for name in sizes if seats[name] > floor[name]]
            chosen = min(open_names, key=lambda name: (exact[name] - seats[name] * everything, name))
            seats[chosen] -= 1
    return seats


def read_subset(path: Path) -> list[str]:
    """Read a subset file: `{"n_questions", "question_ids"}`, or a list of ids. Raises `InputError`."""
    try:
        if path.stat().st_size > MAX_SUBSET:
            raise InputError(f"{path}: larger than {MAX_SUBSET >> 20} MiB; this is no list of questions")
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    ids = document.get("question_ids") if isinstance(document, dict) else document
    if not isinstance(ids, list) or not ids or not all(isinstance(name, str) for name in ids):
        raise InputError(f"{path}: holds no list of question ids under 'question_ids'")
    twice, times = Counter(ids).most_common(1)[0]
    if times > 1:
        raise InputError(f"{path}: {twice!r} occurs twice")
    count = document.get("n_questions") if isinstance(document, dict) else None
    if count is not None and count != len(ids):
        raise InputError(f"{path}: says n_questions {count!r} but lists {len(ids)} questions")
    return ids


def agent_subset(folder: Path) -> Path:
    """Return the agents' subset file of a dataset folder. Raises `InputError` where there is none, or several."""
    found = sorted(folder.glob("agent_subset*.json"))
    if len(found) != 1:
        raise InputError(f"{folder}: holds {len(found) or 'no'} agent_subset*.json; name one by --subset FILE")
    return found[0]


def matching(entries: Iterable[Entry], only: Sequence[str]) -> list[Entry]:
    """Keep the questions of the named abilities, subtypes or kinds. Raises `InputError` for a name that none has."""
    listed = list(entries)
    known = {name.lower(): name for entry in listed for name in entry.names}
    for name in only:
        if name.lower() not in known:
            there = ", ".join(sorted(known.values()))
            raise InputError(f"--only {name!r}: no question is of that kind; there are {there}")
    wanted = {known[name.lower()] for name in only}
    return [entry for entry in listed if entry.names & wanted]
