"""Histories as the source of a run: one cell a length, episodes made one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from memgauge.episode import Episode
from memgauge.errors import InputError
from memgauge.files import file_sha256
from memgauge.grading.typed.prepare import Mode
from memgauge.histories.ablations import Ablation
from memgauge.histories.episodes import record_episode
from memgauge.histories.reading import Faults, Histories, Split, count_of, open_histories
from memgauge.histories.records import Record, RecordError
from memgauge.histories.subsets import agent_subset, matching, outline, read_subset, stratified_subset
from memgauge.tasks import FrameStyle, Task

AGENT = "agent"
"""The value of `subset` that stands for the dataset's own agent_subset*.json."""
LISTED = 1000
"""Missing questions of a subset that are counted at most."""


@dataclass(frozen=True)
class HistorySource:
    """Questions about histories on disk.

    Of a faulty record the rest goes on, and `notes` names it; `strict` stops at the first.
    """

    data: Path
    lengths: tuple[str, ...] = ()
    """Names of splits, such as 32k; all by default."""
    ablation: Ablation = field(default_factory=Ablation)
    mode: Mode = "strict"
    """How answers are graded (`memgauge.grading.conversation`)."""
    only: tuple[str, ...] = ()
    """Abilities, subtypes or kinds of questions; all by default."""
    subset: str | None = None
    """A file of question ids, or `agent`."""
    count: int | None = None
    """A stratified draw of so many questions, the same at every length."""
    seed: int = 0
    images: Path | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise InputError(f"--count takes 1 or more questions, not {self.count}")
        if len(set(self.splits)) != len(self.splits):  # 32k and 32768 are one split
            raise InputError(f"--length names a value twice: {', '.join(self.lengths)}")

    @cached_property
    def faults(self) -> Faults:
        """What was wrong with records so far."""
        return Faults(self.strict)

    @cached_property
    def histories(self) -> Histories:
        """The dataset."""
        path = self.data.expanduser()
        length = self.lengths[0] if path.is_file() and len(self.lengths) == 1 else None
        return open_histories(path, length=length, images=self.images)

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """The splits that are asked about, shortest first."""
        if not self.lengths:
            return self.histories.splits
        found = [self.histories.split(name) for name in self.lengths]
        return tuple(sorted(found, key=lambda split: (split.length, split.name)))

    @cached_property
    def chosen(self) -> frozenset[str] | None:
        """The ids of the questions that are asked; None for all of them."""
        if self.subset is None and self.count is None and not self.only:
            return None
        ids = None
        if self.subset is not None:
            folder = self.data if self.data.is_dir() else self.data.parent
            ids = frozenset(read_subset(agent_subset(folder) if self.subset == AGENT else Path(self.subset)))
            if self.count is None and not self.only:
                return ids
        entries = outline(self.histories, self.splits[0])
        if ids is not None:
            entries = [entry for entry in entries if entry.question_id in ids]
        if self.only:
            entries = matching(entries, self.only)
        if not entries:
            raise InputError(f"{self.data}: none of its questions is in the subset that was asked for")
        if self.count is None:
            return frozenset(entry.question_id for entry in entries)
        return frozenset(stratified_subset(entries, self.count, self.seed))

    @property
    def identity(self) -> dict[str, object]:
        """What must not change when a run is extended: the dataset, and how answers are graded."""
        return {"made": False, "histories": self._digest, "grading": self.mode}

    @cached_property
    def _digest(self) -> str:
        """The dataset, told by its manifest, which holds the digests of its files, or by what its files hold."""
        folder = self.data if self.data.is_dir() else self.data.parent
        manifest = folder / "manifest.json"
        if self.data.is_dir() and manifest.is_file():
            return hashlib.sha256(manifest.read_bytes()).hexdigest()
        paths = [split.path for split in self.histories.splits]
        paths += [path for path in (folder / "meta.jsonl",) if path.is_file()]
        told = [(path.name, path.stat().st_size, file_sha256(path)) for path in paths]
        return hashlib.sha256(repr(told).encode()).hexdigest()

    def describe(self) -> dict[str, object]:
        """Return the cells, for `run.json`."""
        found = {
            "folder": str(self.data.absolute()),
            "lengths": [split.length for split in self.splits],
            "splits": [split.name for split in self.splits],
            "subset": self.subset,
            "count": self.count,
            "seed": self.seed,
            "only": list(self.only),
            "images": None if self.images is None else str(self.images.absolute()),
        }
        return {name: value for name, value in found.items() if value is not None}

    def notes(self) -> list[str]:
        """Say which records were left out, and why."""
        return self.faults.lines()

    def cells(self) -> Iterator[HistoryCell]:
        """Yield one cell a length, shortest histories first."""
        for split in self.splits:
            yield HistoryCell(self, split)


@dataclass(frozen=True)
class HistoryCell:
    """The questions of one split."""

    source: HistorySource
    split: Split
    band: str = "all"
    negatives: str = "none"
    streamed: bool = True
    """Episodes are read from the disk when they are reached, never kept together."""

    @property
    def length(self) -> int:
        """Tokens of a history."""
        return self.split.length

    @cached_property
    def known(self) -> int | None:
        """Number of questions, where that is quickly told."""
        chosen = self.source.chosen
        return count_of(self.split) if chosen is None else len(chosen)

    @cached_property
    def questions(self) -> int:
        """Number of questions that can be asked; reads the split where nothing else tells."""
        return self.known if self.known is not None else sum(1 for _ in self._records(Faults()))

    @property
    def streams(self) -> int:
        """As many as questions."""
        return self.questions

    def _records(self, faults: Faults) -> Iterator[Record]:
        return self.source.histories.records(self.split, faults, keep=self.source.chosen)

    def episodes(self, task: Task, style: FrameStyle | None = None) -> Iterator[Episode]:
        """Yield the questions as episodes; what cannot be asked goes to the source's faults."""
        source, faults = self.source, self.source.faults
        found: set[str] = set()
        for record in self._records(faults):
            found.add(record.question_id)
            try:
                episode = record_episode(
                    record, source.histories.pictures, self.length, ablation=source.ablation, mode=source.mode
                )
            except RecordError as error:
                if error.kind == "no_evidence":  # an unanswerable question, say: nothing is wrong with the record
                    faults.note(error.kind, str(error))
                else:
                    faults.add(error)
                continue
            yield episode
        for name in sorted((source.chosen or frozenset()) - found)[:LISTED]:
            faults.note("not_in_data", f"{self.split.path.name} ({name}): is not there, or cannot be read")
        if not found:
            raise InputError(
                f"{self.split.path}: no question can be asked: {'; '.join(faults.lines()) or 'it is empty'}"
            )


def lengths_of(text: str | None) -> tuple[str, ...]:
    """Read `--length 32k,64k`."""
    return () if text is None else tuple(part.strip().lower() for part in text.split(",") if part.strip())
