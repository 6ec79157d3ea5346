"""Tasks: streams as episodes. `ecc-tokens` and `ecc-text` are the same episodes, rendered differently.

`memlens` shows conversation histories instead (`memgauge.histories.source`).

A task decides what a system sees of an item (blocks of symbols, or text) and how the question is put; what is asked,
what is right and how it is graded stay the same.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, overload

import numpy as np

from memgauge.episode import Episode, Observation, ObservationKind, Query, Question, SymbolArray
from memgauge.errors import InputError, unknown_name
from memgauge.streams.item import Band, Negatives

if TYPE_CHECKING:
    from memgauge.streams import StreamItem
    from memgauge.streams.video import LaneLaw, VideoItem
    from memgauge.streams.video_frames import ImageFormat

BLOCK = 64
"""Symbols an observation; a stream arrives piecemeal, so that no system learns its length before the end."""
OWN_NEGATIVES: tuple[Negatives, ...] = ("uniform",)
"""EasyHuman streams have negatives of their own, which no option changes."""


@dataclass(frozen=True, slots=True)
class Task:
    """How an item of the streams is shown."""

    name: str
    description: str
    kind: ObservationKind
    lane_law: LaneLaw | None = None
    """For video: which belt a letter takes (see `memgauge.streams.video`)."""

    def identity(self, style: FrameStyle) -> dict[str, object]:
        """What of the showing must not change when a run is extended: other frames are other questions."""
        if self.lane_law is None:
            return {}
        from memgauge.streams.video import LAW
        from memgauge.streams.video_frames import DESIGN

        return {
            "frames": f"{style.image_format} {style.size}",
            "video_law": LAW,
            "design": DESIGN,
            "belts": self.lane_law,
        }


@dataclass(frozen=True, slots=True)
class FrameStyle:
    """How the frames of a video task are encoded."""

    image_format: ImageFormat = "png"
    size: int = 448
    """Height and width in pixels."""


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("ecc-tokens", "blocks of symbols 0-15; the candidate as symbols", "symbols"),
        Task("ecc-text", "the same streams as comma-separated integers in words", "text"),
        Task("ecc-video", "one letter a frame on three belts; a letter keeps its belt", "frame", "fixed"),
        Task("ecc-video-free", "the same, but each frame has a belt of its own", "frame", "free"),
        Task("memlens", "dated sessions of a conversation with pictures; a question in words", "session"),
    )
}


def get_task(name: str) -> Task:
    """Return the task called `name`; an unknown name is an error that lists the nearest ones."""
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return TASKS[name]


@dataclass(frozen=True, slots=True)
class Blocks(Sequence[Observation]):
    """The observations of a stream: consecutive blocks, each made when it is reached."""

    symbols: SymbolArray
    kind: ObservationKind
    size: int = BLOCK

    def __len__(self) -> int:
        return -(-len(self.symbols) // self.size)

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Observation]: ...
    def __getitem__(self, index: int | slice) -> Observation | Sequence[Observation]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        start = (index % len(self)) * self.size
        return Observation(self.kind, self.symbols[start : start + self.size])


def hash_words(*parts: bytes) -> int:
    """Return 64 bits that depend on all of `parts`."""
    return int.from_bytes(hashlib.blake2b(b"\0".join(parts), digest_size=8).digest(), "big")


def frozen(symbols: SymbolArray) -> SymbolArray:
    """Return a copy that nobody can change or make changeable again: the next system sees what the first one saw."""
    return np.frombuffer(np.asarray(symbols, np.uint8).tobytes(), np.uint8)


def stream_episode(item: StreamItem, task: Task) -> Episode:
    """Show a stream and its queries as an episode of `task`. Ages are in symbols."""
    symbols = frozen(item.symbols)
    header = f"{task.name}|{item.band}|{item.subtype}|{item.length}|".encode()
    fingerprint = hashlib.blake2b(header + symbols.tobytes(), digest_size=16).hexdigest()
    base = fingerprint.encode()
    queries = []
    for query in item.queries:
        shown = query.candidate.tobytes()
        seed = hash_words(base, query.query_id.encode(), shown)
        queries.append(
            Query(
                id=query.query_id,
                question=Question(np.frombuffer(shown, np.uint8), seed=seed),
                gold="yes" if query.gold else "no",
                age=query.age,
                age_unit=None if query.age is None else "symbols",
                negatives=query.negatives,
                subtype=item.subtype,
            )
        )
    return Episode(
        id=item.stream_id,
        task=task.name,
        split=item.band,
        length=item.length,
        observations=Blocks(symbols, task.kind),
        queries=tuple(queries),
        fingerprint=fingerprint,
        subtype=item.subtype,
    )


def item_episode(item: StreamItem | VideoItem, task: Task, style: FrameStyle) -> Episode:
    """Show a stream, or a video that was made of one, as an episode of `task`.

    Raises `InputError` for a video that the task does not show.
    """
    from memgauge.streams import StreamItem

    if task.lane_law is None:
        if not isinstance(item, StreamItem):
            raise InputError(f"{item.video_id} is a video; the task {task.name} shows streams: give ecc-video")
        return stream_episode(item, task)
    from memgauge.streams.video import make_video, video_episode

    video = make_video(item, lane_law=task.lane_law) if isinstance(item, StreamItem) else item
    if video.lane_law != task.lane_law:
        raise InputError(f"{video.video_id} was made with the lane law {video.lane_law!r}; {task.name} has another")
    return video_episode(video, image_format=style.image_format, size=style.size)


@dataclass(frozen=True, slots=True)
class MadeStreams:
    """Streams made on the fly: every cell of lengths x bands x negatives, `count` streams each."""

    lengths: tuple[int, ...] = (256, 1024)
    bands: tuple[Band, ...] = ("low", "max")
    count: int = 20
    queries: int = 16
    negatives: tuple[Negatives, ...] = ("uniform",)
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("lengths", self.lengths), ("bands", self.bands), ("negatives", self.negatives)):
            if not value:
                raise InputError(f"--{name} is empty: give at least one")
            if len(set(value)) != len(value):
                raise InputError(f"--{name} names a value twice: {', '.join(map(str, value))}")
        if self.count < 1 or self.queries < 2:
            raise InputError("--count takes 1 or more streams, --queries 2 or more questions (both classes are needed)")
        from memgauge.streams import Cell

        for length, band in itertools.product(self.lengths, self.bands):
            for kind in self._kinds(band):
                Cell(band, length, self.count, self.queries, kind)  # raises for what cannot be made
        if self.seed < 0:
            raise InputError(f"--seed takes a non-negative integer, got {self.seed}")

    def _kinds(self, band: Band) -> tuple[Negatives, ...]:
        return self.negatives if band != "easyhuman" else OWN_NEGATIVES

    @property
    def identity(self) -> dict[str, object]:
        """What must not change when a run is extended: other values would give other items the same names."""
        from memgauge.streams.make import LAW

        return {"made": True, "seed": self.seed, "queries": self.queries, "law": LAW}

    def describe(self) -> dict[str, object]:
        """Return the cells, for `run.json`."""
        return {
            "lengths": list(self.lengths),
            "bands": list(self.bands),
            "count": self.count,
            "queries": self.queries,
            "negatives": list(self.negatives),
            "seed": self.seed,
        }

    def cells(self) -> Iterator[TaskCell]:
        """Yield the cells, shortest streams first."""
        from memgauge.streams import make_item

        for length in sorted(self.lengths):
            for band in self.bands:
                for kind in self._kinds(band):

                    def items(length: int = length, band: Band = band, kind: Negatives = kind) -> Iterator[StreamItem]:
                        for index in range(self.count):
                            yield make_item(band, length, index, seed=self.seed, queries=self.queries, negatives=kind)

                    yield TaskCell(length, band, kind, self.count, self.count * self.queries, items)


@dataclass(frozen=True, slots=True)
class StoredStreams:
    """Streams of a dataset folder, filtered by length and band."""

    folder: Path
    lengths: tuple[int, ...] | None = None
    bands: tuple[str, ...] | None = None
    _cells: list[TaskCell] = field(default_factory=list)

    @property
    def identity(self) -> dict[str, object]:
        """What must not change when a run is extended."""
        return {"made": False, "manifest_sha256": self._manifest_hash()}

    def _manifest_hash(self) -> str:
        path = self.folder / "manifest.json"
        if not path.is_file():
            raise InputError(f"{self.folder}: no manifest.json: is it a folder made by `memgauge streams make`?")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def items(self) -> Iterator[StreamItem | VideoItem]:
        """Read streams, or the videos that `memgauge video make` wrote."""
        from memgauge.streams import read_dataset
        from memgauge.streams.video_dataset import is_video_dataset, read_videos

        if is_video_dataset(self.folder):
            return read_videos(self.folder, lengths=self.lengths, bands=self.bands)
        return read_dataset(self.folder, lengths=self.lengths, bands=self.bands)

    def describe(self) -> dict[str, object]:
        """Return the cells, for `run.json`."""
        cells = list(self.cells())
        return {
            "folder": str(self.folder),
            "manifest_sha256": self._manifest_hash(),
            "lengths": sorted({cell.length for cell in cells}),
            "bands": sorted({cell.band for cell in cells}),
            "negatives": sorted({cell.negatives for cell in cells}),
        }

    def cells(self) -> Iterator[TaskCell]:
        """Yield the cells of the folder, shortest streams first. The folder is read once."""
        if not self._cells:
            groups: dict[tuple[int, str, str], list[StreamItem | VideoItem]] = {}
            for item in self.items():
                kind = item.queries[0].negatives if item.queries else "uniform"
                groups.setdefault((item.length, item.band, kind), []).append(item)
            if not groups:
                raise InputError(f"{self.folder}: no stream has the lengths and bands that were asked for")
            for (length, band, kind), items in sorted(groups.items()):
                questions = sum(len(item.queries) for item in items)
                self._cells.append(TaskCell(length, band, kind, len(items), questions, items.__iter__))
        yield from self._cells


@dataclass(frozen=True, slots=True)
class TaskCell:
    """The items of one length, band and kind of negatives."""

    length: int
    band: str
    negatives: str
    streams: int
    questions: int
    items: Callable[[], Iterator[StreamItem | VideoItem]]
    """Start over from the first item."""
    streamed: bool = False

    @property
    def known(self) -> int:
        """Number of questions."""
        return self.questions

    def episodes(self, task: Task, style: FrameStyle | None = None) -> Iterator[Episode]:
        """Yield the items as episodes of `task`; `style` is how the frames of a video task are encoded."""
        for item in self.items():
            yield item_episode(item, task, style or FrameStyle())


class Cell(Protocol):
    """Episodes of one length that are reported together."""

    @property
    def length(self) -> int:
        """In the units of the task."""
        ...

    @property
    def band(self) -> str:
        """Entropy band, or `all`."""
        ...

    @property
    def negatives(self) -> str:
        """How false candidates were drawn."""
        ...

    @property
    def streams(self) -> int:
        """Number of episodes."""
        ...

    @property
    def questions(self) -> int:
        """Number of questions; telling it may take a pass over the data."""
        ...

    @property
    def known(self) -> int | None:
        """Number of questions where that is quickly told."""
        ...

    @property
    def streamed(self) -> bool:
        """Whether episodes are too large to be kept together: each system then reads them for itself."""
        ...

    def episodes(self, task: Task, style: FrameStyle | None = None) -> Iterator[Episode]:
        """Start over from the first episode."""
        ...


class Source(Protocol):
    """Where episodes come from. It may have `notes()`, lines about what could not be used."""

    @property
    def identity(self) -> dict[str, object]:
        """What must not change when a run is extended."""
        ...

    def describe(self) -> dict[str, object]:
        """Return the cells, for `run.json`."""
        ...

    def cells(self) -> Iterator[Cell]:
        """Yield the cells, shortest first."""
        ...
