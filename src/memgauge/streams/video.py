"""Streams as synthetic video (ECCBench, A.3): belts for letters, the two question variants, and what must hold of them.

A video is a stream whose symbols have belts (lanes). Half of its questions are `sequential`: a false candidate is a
string that does not occur, shown with belts as if it did. The other half are `spatial`: a false candidate has the
letters of a true one, one of them on a wrong belt. True candidates are alike in both.

What the paper leaves open:

- Which belt a letter takes is the *lane law*. `fixed` (the default) gives every letter one belt for the whole video,
  as the prompt says ("ALWAYS stayed on the same conveyer belt"); all sixteen letters get one, also those that only
  candidates show. `free` draws a belt for every frame. Both draw uniformly and independently, so that belts by
  themselves say nothing about the answer.
- One letter on a wrong belt means every frame of that letter under `fixed` (a candidate never contradicts itself), and
  one frame under `free`.
- The true candidate behind a spatial false one is drawn as the stream's own true candidates are: from a uniform place,
  from the distinct strings (matched negatives), or from the deviations that are asked about (EasyHuman). It has the
  length of the false candidate whose place it takes, so that length says nothing about the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from memgauge.episode import Episode, Query, Question, SymbolArray
from memgauge.errors import InputError, unknown_name
from memgauge.seeding import generator
from memgauge.streams.item import ALPHABET, SIZES, StreamItem, StreamQuery, frozen
from memgauge.streams.video_frames import DESIGN, LANES, Frames, ImageFormat, check_style, frame_words
from memgauge.streams.video_frames import SIZE as FRAME_SIZE

LaneLaw = Literal["fixed", "free"]
Variant = Literal["sequential", "spatial"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
LAW = 1
"""Version of the law by which a video follows from (stream, seed, lane law): raised whenever a video would change."""


@dataclass(frozen=True, slots=True, eq=False)
class VideoQuery:
    """One question: did these letters occur on these belts, one after the other?"""

    query_id: str
    """Unique within the video: q00, q01, ..."""
    variant: Variant
    candidate: SymbolArray
    """Shape [k]; read-only."""
    lanes: SymbolArray
    """Shape [k]: the belt of each letter, 0 to 2; read-only."""
    gold: bool
    age: int | None
    """Frames between the end of the candidate's last occurrence and the end of the video; None where it has none."""
    negatives: str
    """How the false candidates of the stream were drawn: `uniform`, `matched` or `corruption`.

    It is the stream's law, and equal on all its queries; how a spatial false candidate is made follows from `variant`.
    """


@dataclass(frozen=True, slots=True, eq=False)
class VideoItem:
    """A stream as a video, with its questions."""

    video_id: str
    band: str
    length: int
    symbols: SymbolArray
    """Shape [length]; read-only."""
    lanes: SymbolArray
    """Shape [length]: the belt of each frame's letter, 0 to 2; read-only."""
    lane_law: LaneLaw
    queries: tuple[VideoQuery, ...]
    subtype: str | None


def task_name(lane_law: LaneLaw) -> str:
    """Return the task that videos of a lane law belong to; results of different laws are never pooled.

    >>> task_name("fixed"), task_name("free")
    ('ecc-video', 'ecc-video-free')
    """
    return "ecc-video" if lane_law == "fixed" else f"ecc-video-{lane_law}"


def make_video(item: StreamItem, *, seed: int = 0, lane_law: LaneLaw = "fixed") -> VideoItem:
    """Give a stream belts and its questions variants: a function of the stream, `seed` and `lane_law`.

    Streams that differ only in how their false candidates were drawn get the same belts.

    Raises `InputError` for an unknown law, and unless the numbers of true and of false candidates are even, so that
    both variants get half of each. The result has passed `verify_video`.
    """
    if lane_law not in get_args(LaneLaw):
        raise unknown_name("lane law", lane_law, get_args(LaneLaw))
    positives = sum(query.gold for query in item.queries)
    if positives % 2 or (len(item.queries) - positives) % 2:
        raise InputError(
            f"{item.stream_id}: {positives} true and {len(item.queries) - positives} false candidates cannot be shared "
            "evenly by the two variants; make streams with a multiple of four queries"
        )
    symbols = frozen(np.ascontiguousarray(item.symbols, np.uint8))
    path = ("video", lane_law, item.band, item.stream_id, _hash(symbols))
    belts = generator(seed, *path, "belts")
    letters = belts.integers(LANES, size=ALPHABET, dtype=np.uint8) if lane_law == "fixed" else None
    lanes = belts.integers(LANES, size=len(symbols), dtype=np.uint8) if letters is None else letters[symbols]
    law = item.queries[0].negatives if item.queries else "none"
    maker = _Maker(item, symbols, frozen(lanes), letters, generator(seed, *path, "queries", law))
    video = VideoItem(
        video_id=item.stream_id,
        band=item.band,
        length=item.length,
        symbols=symbols,
        lanes=maker.lanes,
        lane_law=lane_law,
        queries=tuple(maker.queries()),
        subtype=item.subtype,
    )
    verify_video(video)
    return video


class _Changes(NamedTuple):
    """The ways to put one frame of a true candidate on a wrong belt so that the result occurs nowhere."""

    places: NDArray[np.int64]
    frames: NDArray[np.int64]
    shifts: NDArray[np.int64]
    weights: NDArray[np.float64]


class _Maker:
    """Draws the questions about one video."""

    def __init__(
        self,
        item: StreamItem,
        symbols: SymbolArray,
        lanes: SymbolArray,
        letters: SymbolArray | None,
        rng: np.random.Generator,
    ) -> None:
        self.item, self.symbols, self.lanes, self.letters, self.rng = item, symbols, lanes, letters, rng
        self.pairs = pairs_of(symbols, lanes)
        self._changes: dict[int, _Changes] = {}
        self._weights: dict[int, NDArray[np.float64]] = {}

    def queries(self) -> list[VideoQuery]:
        """Share the queries out between the variants and show each."""
        variants = np.empty(len(self.item.queries), np.int64)
        gold = np.array([query.gold for query in self.item.queries], bool)
        for answer in (True, False):
            same = np.flatnonzero(gold == answer)
            variants[self.rng.permutation(same)] = np.arange(len(same)) % 2
        return [self._show(q, VARIANTS[v]) for q, v in zip(self.item.queries, variants.tolist(), strict=True)]

    def _show(self, query: StreamQuery, variant: Variant) -> VideoQuery:
        candidate = np.ascontiguousarray(query.candidate, np.uint8)
        if variant == "spatial" and self.letters is None:
            candidate = self._long_enough(candidate)
        if query.gold:
            lanes = self._true_lanes(candidate)
        elif variant == "sequential":
            drawn = self.rng.integers(LANES, size=len(candidate), dtype=np.uint8)
            lanes = drawn if self.letters is None else self.letters[candidate]
        else:
            candidate, lanes = self._misplaced(len(candidate))
        return VideoQuery(
            query_id=query.query_id,
            variant=variant,
            candidate=frozen(candidate.copy()),
            lanes=frozen(lanes),
            gold=query.gold,
            age=_age(self.pairs, pairs_of(candidate, lanes)) if query.gold else None,
            negatives=query.negatives,
        )

    def _true_lanes(self, candidate: SymbolArray) -> SymbolArray:
        """Return the belts of an occurrence of the candidate; under `free`, of a uniform one."""
        if self.letters is not None:
            return self.letters[candidate]
        places = np.flatnonzero((self._windows(len(candidate)) == candidate).all(axis=1))
        at = int(self.rng.choice(places))
        return self.lanes[at : at + len(candidate)].copy()

    def _windows(self, size: int) -> SymbolArray:
        return np.lib.stride_tricks.sliding_window_view(self.symbols, size)

    def _place_weights(self, size: int) -> NDArray[np.float64]:
        """Return how likely each place is to be copied from: by the law of the stream's own true candidates."""
        if size not in self._weights:
            windows = self._windows(size)
            law = self.item.queries[0].negatives
            if law == "matched":  # uniform over the distinct strings
                _, which, counts = np.unique(windows, axis=0, return_inverse=True, return_counts=True)
                weights = 1.0 / counts[which.reshape(-1)]
            elif law == "corruption":  # the deviations, as often as they are asked about
                weights = np.zeros(len(windows))
                for query in self.item.queries:
                    if query.gold and len(query.candidate) == size:
                        weights += (windows == query.candidate).all(axis=1)
                if not weights.any():  # every true candidate happens to have the other length
                    weights += 1.0
            else:
                weights = np.ones(len(windows))
            self._weights[size] = weights
        return self._weights[size]

    def _misplaced(self, size: int) -> tuple[SymbolArray, SymbolArray]:
        """Return the letters of an occurrence and its belts with one letter on a wrong one."""
        if self.letters is None:
            changes = self._wrong_frames(size)
            n = _draw(self.rng, changes.weights)
            at, frame, shift = int(changes.places[n]), int(changes.frames[n]), int(changes.shifts[n])
            candidate, lanes = self.symbols[at : at + size], self.lanes[at : at + size].copy()
            lanes[frame] = (lanes[frame] + shift) % LANES
            return candidate, lanes
        at = _draw(self.rng, self._place_weights(size))
        candidate, lanes = self.symbols[at : at + size], self.lanes[at : at + size].copy()
        letter = self.rng.choice(np.unique(candidate))
        moved = candidate == letter
        lanes[moved] = (lanes[moved] + self.rng.integers(1, LANES, dtype=np.uint8)) % LANES
        return candidate, lanes

    def _wrong_frames(self, size: int) -> _Changes:
        """List every absent candidate of a size that has one frame of an occurrence on a wrong belt (`free` only)."""
        if size not in self._changes:
            base = ALPHABET * LANES
            powers = base ** np.arange(size - 1, -1, -1, dtype=np.int64)
            pairs = np.frombuffer(self.pairs, np.uint8).astype(np.int64)
            codes = np.lib.stride_tricks.sliding_window_view(pairs, size) @ powers
            lanes = np.lib.stride_tricks.sliding_window_view(self.lanes, size).astype(np.int64)
            shifts = np.arange(1, LANES)
            change = (lanes[:, :, None] + shifts) % LANES - lanes[:, :, None]
            wrong = codes[:, None, None] + change * powers[None, :, None]
            places, frames, which = np.nonzero(~np.isin(wrong, codes))
            weights = self._place_weights(size)[places]
            self._changes[size] = _Changes(places, frames, shifts[which], weights)
        return self._changes[size]

    def _long_enough(self, candidate: SymbolArray) -> SymbolArray:
        """Return the candidate, or a longer occurrence where every change of its length occurs elsewhere (`free` only).

        True and false candidates are treated alike, so that length says nothing about the answer.
        """
        longest = min(SIZES[-1], len(self.symbols))
        for size in range(len(candidate), longest + 1):
            if self._wrong_frames(size).weights.any():
                if size == len(candidate):
                    return candidate
                at = _draw(self.rng, self._place_weights(size))
                return self.symbols[at : at + size]
        raise InputError(
            f"{self.item.stream_id}: every candidate of {longest} letters with one on another belt occurs; use the "
            "fixed lane law, or a shorter stream"
        )


def _draw(rng: np.random.Generator, weights: NDArray[np.float64]) -> int:
    """Draw an index with the given weights."""
    total = np.cumsum(weights)
    return int(np.searchsorted(total, rng.random() * total[-1], side="right"))


def _hash(symbols: SymbolArray) -> int:
    return int.from_bytes(hashlib.blake2b(symbols.tobytes(), digest_size=8).digest(), "big")


def pairs_of(symbols: SymbolArray, lanes: SymbolArray) -> bytes:
    """Return one byte a frame that tells letter and belt: what must occur for a candidate to be true."""
    return (symbols * np.uint8(LANES) + lanes).astype(np.uint8).tobytes()


def _age(pairs: bytes, candidate: bytes) -> int | None:
    at = pairs.rfind(candidate)
    return None if at < 0 else len(pairs) - (at + len(candidate))


def verify_video(video: VideoItem) -> None:
    """Check the properties that make a video need its whole stream to be kept (ECCBench, A.3).

    1. One symbol, one frame: a letter and a belt for every symbol, in the video and in every candidate.
    2. Candidates do not leak: the variants share true and false candidates evenly; under the `fixed` law no video and
       no candidate shows one letter on two belts, and all sequential candidates agree with the video about the belt of
       every letter, also of letters that it does not show.
    3. Negatives are absent: a candidate is true exactly where its letters occur on its belts; the letters of a
       sequential negative do not occur on any belts, and those of a spatial one do.

    Raises `InputError` that names the video and the query.
    """
    _check_frames(video.symbols, video.lanes, f"{video.video_id}: the video")
    if len(video.symbols) != video.length:
        raise InputError(f"{video.video_id}: {len(video.symbols)} frames, and a length of {video.length}")
    letters, pairs = video.symbols.tobytes(), pairs_of(video.symbols, video.lanes)
    belts: dict[int, int] = {}
    if video.lane_law == "fixed":
        _agree(belts, video.symbols, video.lanes, f"{video.video_id}: the video")
    for query in video.queries:
        where = f"{video.video_id}, {query.query_id}"
        _check_frames(query.candidate, query.lanes, where)
        if len(query.candidate) not in SIZES:
            raise InputError(f"{where}: a candidate has {SIZES[0]} to {SIZES[-1]} letters, not {len(query.candidate)}")
        candidate = pairs_of(query.candidate, query.lanes)
        if (candidate in pairs) != query.gold:
            raise InputError(f"{where}: the candidate {'does not occur' if query.gold else 'occurs'} in the video")
        if query.age != (_age(pairs, candidate) if query.gold else None):
            raise InputError(f"{where}: its age is not {query.age}")
        if not query.gold and (query.candidate.tobytes() in letters) != (query.variant == "spatial"):
            raise InputError(f"{where}: no false candidate of the {query.variant} variant has these letters")
        if video.lane_law == "fixed":
            misplaced = query.variant == "spatial" and not query.gold
            _agree({} if misplaced else belts, query.candidate, query.lanes, where)
            if misplaced and len({s for s, n in _shown(query) if belts.get(s) != n}) != 1:
                raise InputError(f"{where}: a spatial false candidate has exactly one letter on a wrong belt")
        elif query.variant == "spatial" and not query.gold and not _one_frame_off(video, query):
            raise InputError(f"{where}: a spatial false candidate has exactly one frame on a wrong belt")
    for gold in (True, False):
        shares = [sum(q.gold == gold and q.variant == variant for q in video.queries) for variant in VARIANTS]
        if shares[0] != shares[1]:
            raise InputError(f"{video.video_id}: the variants have {shares[0]} and {shares[1]} answers of one kind")


def _shown(query: VideoQuery) -> Sequence[tuple[int, int]]:
    return list(zip(query.candidate.tolist(), query.lanes.tolist(), strict=True))


def _check_frames(symbols: SymbolArray, lanes: SymbolArray, where: str) -> None:
    """Raise `InputError` unless there is one letter on one belt for every symbol."""
    if symbols.ndim != 1 or symbols.shape != lanes.shape or not len(symbols):
        raise InputError(f"{where} has {symbols.shape} letters and {lanes.shape} belts: one of each is needed a frame")
    if int(symbols.max()) >= ALPHABET or int(lanes.max()) >= LANES:
        raise InputError(f"{where} has a letter beyond {ALPHABET - 1} or a belt beyond {LANES - 1}")


def _agree(belts: dict[int, int], symbols: SymbolArray, lanes: SymbolArray, where: str) -> None:
    """Add the belt of every letter to `belts`; raise `InputError` for a letter that is there with another belt."""
    for symbol, lane in set(zip(symbols.tolist(), lanes.tolist(), strict=True)):
        if belts.setdefault(symbol, lane) != lane:
            raise InputError(f"{where}: a letter stands on two belts, which the fixed lane law excludes")


def _one_frame_off(video: VideoItem, query: VideoQuery) -> bool:
    """Say whether an occurrence of the letters differs from the candidate in the belt of exactly one frame."""
    size = len(query.candidate)
    view = np.lib.stride_tricks.sliding_window_view
    places = (view(video.symbols, size) == query.candidate).all(axis=1)
    return bool(((view(video.lanes, size)[places] != query.lanes).sum(axis=1) == 1).any())


def video_episode(video: VideoItem, *, image_format: ImageFormat = "png", size: int = FRAME_SIZE) -> Episode:
    """Show a video and its questions as one episode, so that one write serves the questions of both variants.

    An observation is one frame (`Frames`), and `Question.clip` is the candidate as frames; nothing is drawn before
    somebody looks. `text` says of either what it shows, letter and belt. Ages are in frames.

    Raises `InputError` for an unknown format or a size out of range.
    """
    check_style(image_format, size)
    header = f"{task_name(video.lane_law)}|{video.band}|{video.subtype}|{video.length}|{image_format}|{size}|{DESIGN}|"
    observed = header.encode() + video.symbols.tobytes() + video.lanes.tobytes()
    fingerprint = hashlib.blake2b(observed, digest_size=16).hexdigest()
    queries = []
    for query in video.queries:
        shown = pairs_of(query.candidate, query.lanes)
        key = b"\0".join([fingerprint.encode(), query.query_id.encode(), shown])
        question = Question(
            query.candidate,
            seed=int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big"),
            words=", ".join(frame_words(s, n) for s, n in _shown(query)),
            lanes=query.lanes,
            clip=Frames(query.candidate, query.lanes, image_format, size),
        )
        queries.append(
            Query(
                id=query.query_id,
                question=question,
                gold="yes" if query.gold else "no",
                age=query.age,
                age_unit=None if query.age is None else "frames",
                negatives=query.negatives,
                subtype=video.subtype,
                variant=query.variant,
            )
        )
    return Episode(
        id=video.video_id,
        task=task_name(video.lane_law),
        split=video.band,
        length=video.length,
        observations=Frames(video.symbols, video.lanes, image_format, size),
        queries=tuple(queries),
        fingerprint=fingerprint,
        subtype=video.subtype,
    )
