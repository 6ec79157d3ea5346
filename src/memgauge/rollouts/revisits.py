"""Revisit pairs of a camera track: two frames that see the same view, with an excursion between them.

The pose distance of two frames is D = |t_i - t_j| / extent + w angle / 180 (degrees), the extent being the largest
distance from the first camera. A pair (i, j) is a revisit when j sees the view of i again (D at most 0.15) after at
least one second during which the camera was away (some D_ik between them at least 0.45). Each j has at most one pair,
with the nearest i.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.rollouts.track import CameraTrack, Floats

_BLOCK = 14_000  # pose distances held at once
_SLACK = 1e-9  # the bars are inclusive, also for distances that miss them by rounding
_NEAR_TIE = 1e-6  # distances by inner products are no more exact than this near zero
_DEGENERATE = 1e-6
_LARGEST = 1e50  # of an option: squares stay within double precision
_JITTER_TURN = 1.3  # white jitter turns back: second differences are about 1.7 times as long as first ones
_JITTER_REACH = 6.0  # and reaches only a few steps from where it began


@dataclass(frozen=True)
class RevisitOptions:
    """What counts as a revisit. Distances are in units of D, gaps in seconds."""

    max_distance: float = 0.15
    min_gap: float = 1.0
    departure_factor: float = 3.0
    excursion_factor: float = 3.0
    rotation_weight: float = 1.0
    scale: float | None = None  # what one unit of D is in translation; None: the extent of the track
    max_pairs: int = 24  # 0 keeps all

    def __post_init__(self) -> None:
        for name in ("max_distance", "min_gap", "departure_factor", "excursion_factor"):
            if not 0 < getattr(self, name) <= _LARGEST:
                raise InputError(f"{name} must be a positive number, got {getattr(self, name)}")
        if not 0 <= self.rotation_weight <= _LARGEST:
            raise InputError(f"rotation_weight must be zero or more, got {self.rotation_weight}")
        if self.scale is not None and not 1 / _LARGEST <= self.scale <= _LARGEST:
            raise InputError(f"scale must be a positive number, got {self.scale}")
        if self.max_pairs < 0:
            raise InputError(f"max_pairs must be zero (all) or more, got {self.max_pairs}")


@dataclass(frozen=True)
class RevisitPair:
    """Two rows of a track that see one view; `event` numbers the sweep that the pair belongs to."""

    first_index: int
    revisit_index: int
    first_frame: int
    revisit_frame: int
    gap_seconds: float
    pose_distance: float
    translation_distance: float
    rotation_degrees: float
    excursion: float
    event: int


@dataclass(frozen=True)
class Revisits:
    """The revisit pairs of a track and the gate: did the camera leave, and did it come back?"""

    pairs: tuple[RevisitPair, ...]  # all of them, by revisit index
    kept: tuple[RevisitPair, ...]  # thinned, by gap
    translation_extent: float
    rotation_extent_degrees: float
    scale: float  # what translations were divided by; 0 where they do not count
    scale_is_degenerate: bool
    departure_distance: float
    required_departure_distance: float
    turnaround_index: int
    event_count: int

    @property
    def departed(self) -> bool:
        """Return whether the camera ever was a departure away from its first pose."""
        return self.departure_distance >= self.required_departure_distance - _SLACK

    @property
    def returned(self) -> bool:
        """Return whether any view was seen again after an excursion."""
        return bool(self.pairs)

    @property
    def reason(self) -> str | None:
        """Return why the return gate is not passed, or None."""
        if not self.departed:
            return "never_departed"
        return None if self.returned else "never_returned"


class PoseDistance:
    """Pose distances D within a track of N poses, computed in blocks."""

    def __init__(self, track: CameraTrack, options: RevisitOptions) -> None:
        self.rotation = track.rotation.reshape(len(track), 9)
        offset = track.centre - track.centre[0]
        reach = np.linalg.norm(offset, axis=1)
        self.extent = float(reach.max())
        self.degenerate = options.scale is None and (self.extent <= _DEGENERATE or is_jitter(track.centre))
        self.scale = 0.0 if self.degenerate else options.scale or self.extent
        self.offset = offset / self.scale if self.scale else np.zeros_like(offset)
        self.weight = options.rotation_weight
        self._squares = (self.offset**2).sum(axis=1)

    def translation(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Return normalised translation distances of paired rows."""
        distance: Floats = np.linalg.norm(self.offset[first] - self.offset[second], axis=-1)
        return distance

    def degrees(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Return rotation angles of paired rows in degrees, exact also near zero (from the chord, not the trace)."""
        chord = np.linalg.norm(self.rotation[first] - self.rotation[second], axis=-1)
        angle: Floats = np.degrees(2.0 * np.arcsin(np.minimum(chord / math.sqrt(8.0), 1.0)))
        return angle

    def exact(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Return D of paired rows."""
        return self.translation(first, second) + self.weight * self.degrees(first, second) / 180.0

    def squares(self, rows: NDArray[np.int64], columns: slice) -> tuple[Floats, Floats]:
        """Return squared translation distances and squared chords |R_i - R_j|^2 / 8 by inner products, [rows, columns].

        Both are exact to rounding of their scale, so that distances near zero are exact to about 1e-7.
        """
        chord = 0.75 - 0.25 * (self.rotation[rows] @ self.rotation[columns].T)
        np.maximum(chord, 0.0, out=chord)
        if not self.scale:
            return np.zeros_like(chord), chord
        moved = self.offset[rows] @ self.offset[columns].T
        moved *= -2.0
        moved += self._squares[rows][:, None]
        moved += self._squares[columns]
        np.maximum(moved, 0.0, out=moved)
        return moved, chord

    def combine(self, moved: Floats, chord: Floats) -> Floats:
        """Return D from what `squares` returns."""
        angle: Floats = np.arcsin(np.minimum(np.sqrt(chord), 1.0))
        angle *= 2.0 * self.weight / math.pi
        angle += np.sqrt(moved)
        return angle


def is_jitter(centre: Floats) -> bool:
    """Return whether camera centres [N, 3] are a resting camera seen through noise, whose size is then no scale.

    White noise turns back at every step and never gets far from its start; a moving camera does neither. Estimated
    tracks of a camera that only rotates look like this, and dividing by their noise would make the noise look like
    motion.
    """
    if len(centre) < 8:
        return False
    steps = np.diff(centre, axis=0)
    length = float(np.median(np.linalg.norm(steps, axis=1)))
    turn = float(np.median(np.linalg.norm(np.diff(steps, axis=0), axis=1)))
    reach = float(np.linalg.norm(centre - centre[0], axis=1).max())
    return length > 0 and turn >= _JITTER_TURN * length and reach <= _JITTER_REACH * length


def find_revisits(track: CameraTrack, times: Floats, fps: float, options: RevisitOptions) -> Revisits:
    """Return the revisit pairs of a track.

    Parameters
    ----------
    track
        N poses on native frames.
    times
        Seconds of each pose's frame, shape [N]: frame / fps, or the video's own timestamps when its rate varies.
    fps
        Frames a second; the smallest gap is rounded to whole frames, as published.
    """
    distance = PoseDistance(track, options)
    least = max(round(options.min_gap * fps), 1) / fps
    # Half a frame of slack: timestamps of a container are rounded.
    allowed = np.searchsorted(times, times - least + 0.5 / fps, side="left").astype(np.int64)
    first, revisit, nearest = _nearest(distance, allowed, options.max_distance + _SLACK)
    excursion = _excursions(distance, first, revisit)
    bar = options.excursion_factor * options.max_distance
    away = excursion >= bar - _SLACK
    first, revisit, nearest, excursion = first[away], revisit[away], nearest[away], excursion[away]
    events = _events(times, first, revisit)
    translation, degrees = distance.translation(first, revisit), distance.degrees(first, revisit)
    pairs = tuple(
        RevisitPair(
            first_index=int(i),
            revisit_index=int(j),
            first_frame=int(track.frames[i]),
            revisit_frame=int(track.frames[j]),
            gap_seconds=float(times[j] - times[i]),
            pose_distance=float(nearest[k]),
            translation_distance=float(translation[k]),
            rotation_degrees=float(degrees[k]),
            excursion=float(excursion[k]),
            event=int(events[k]),
        )
        for k, (i, j) in enumerate(zip(first, revisit, strict=True))
    )
    start = distance.exact(np.zeros(len(track), dtype=np.int64), np.arange(len(track)))
    everything = np.arange(len(track))
    return Revisits(
        pairs=pairs,
        kept=thin(pairs, options.max_pairs),
        translation_extent=distance.extent,
        rotation_extent_degrees=float(distance.degrees(np.zeros_like(everything), everything).max()),
        scale=distance.scale,
        scale_is_degenerate=distance.degenerate,
        departure_distance=float(start.max()),
        required_departure_distance=options.departure_factor * options.max_distance,
        turnaround_index=int(start.argmax()),
        event_count=len(np.unique(events)),
    )


def _row_blocks(widths: NDArray[np.int64]) -> Iterator[slice]:
    """Cut rows into runs whose rectangle up to the widest row stays within the memory for one block."""
    start = 0
    while start < len(widths):
        stop, widest = start + 1, int(widths[start])
        while stop < len(widths) and max(widest, int(widths[stop])) * (stop + 1 - start) <= _BLOCK:
            widest = max(widest, int(widths[stop]))
            stop += 1
        yield slice(start, stop)
        start = stop


def _nearest(
    distance: PoseDistance, allowed: NDArray[np.int64], limit: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return rows i, rows j and D: for each j the nearest of its first allowed[j] rows, where D is at most `limit`.

    The first i wins among equals.
    """
    rows = np.flatnonzero(allowed > 0)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []
    reach = limit + _NEAR_TIE
    # Both parts of D must be within reach; an angle is at least its chord. Few entries pass, and only they are worked
    # out.
    widest_chord = min(0.5 * math.pi * reach / distance.weight, 1.0) ** 2 if distance.weight else 1.0
    for block in _row_blocks(allowed[rows]):
        j, count = rows[block], allowed[rows[block]]
        moved, chord = distance.squares(j, slice(0, int(count.max())))
        near = (moved <= reach**2) & (chord <= widest_chord) & (np.arange(moved.shape[1]) < count[:, None])
        at, i = np.nonzero(near)
        if not at.size:
            continue
        rough = distance.combine(moved[near], chord[near])
        starts = np.flatnonzero(np.r_[True, np.diff(at) > 0])
        least = np.repeat(np.minimum.reduceat(rough, starts), np.diff(np.r_[starts, len(at)]))
        # Near ties are decided by exact distances.
        tied = rough <= least + _NEAR_TIE
        at, i = at[tied], i[tied]
        exact = distance.exact(i, j[at])
        # Equal up to rounding is equal.
        order = np.lexsort((i, np.rint(exact / _SLACK), at))
        winners = order[np.r_[True, np.diff(at[order]) > 0]]
        winners = winners[exact[winners] <= limit]
        found.append((i[winners], j[at[winners]], exact[winners]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    first, revisit, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return first, revisit, value


def _excursions(distance: PoseDistance, first: NDArray[np.int64], revisit: NDArray[np.int64]) -> Floats:
    """Return the largest D from the first row to the rows strictly between the two, 0 where there are none."""
    excursion = np.zeros(len(first))
    starts, group = np.unique(first, return_inverse=True)
    last = np.zeros(len(starts), dtype=np.int64)
    np.maximum.at(last, group, revisit)
    for block in _row_blocks(np.full(len(starts), int(last.max(initial=0)))):
        i = starts[block]
        away = distance.combine(*distance.squares(i, slice(0, int(last[block].max()))))
        away[np.arange(away.shape[1]) <= i[:, None]] = 0.0
        np.maximum.accumulate(away, axis=1, out=away)
        here = np.flatnonzero((group >= block.start) & (group < block.stop))
        excursion[here] = away[group[here] - block.start, revisit[here] - 1]
    return excursion


def _events(times: Floats, first: NDArray[np.int64], revisit: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the events: pairs whose frames both lie within a second belong to one sweep of the camera.

    Such pairs are joined, and pairs joined through others too: where the nearest view alternates between two earlier
    passes, these are two events and not one at every change.
    """
    count = len(first)
    i, j = times[first], times[revisit]
    links: list[NDArray[np.int64]] = [np.zeros((0, 2), dtype=np.int64)]
    for lag in range(1, count):
        near = np.flatnonzero(j[lag:] - j[:-lag] <= 1.0 + _SLACK)
        if not near.size:
            break
        near = near[np.abs(i[near + lag] - i[near]) <= 1.0 + _SLACK]
        links.append(np.stack([near, near + lag], axis=1))
    one, other = np.concatenate(links).T
    parent = list(range(count))

    def root(pair: int) -> int:
        while parent[pair] != pair:
            parent[pair] = pair = parent[parent[pair]]
        return pair

    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        parent[root(b)] = root(a)
    return np.unique([root(pair) for pair in range(count)], return_inverse=True)[1].astype(np.int64)


def thin(pairs: tuple[RevisitPair, ...], most: int) -> tuple[RevisitPair, ...]:
    """Return at most `most` pairs spread over the gaps: the nearest pair of each of `most` gap bins of equal width.

    The first bin gives the shortest gap and the last the longest; empty bins give none. `most` = 0 keeps all.
    """
    ordered = sorted(pairs, key=lambda pair: pair.gap_seconds)
    if most <= 0 or len(ordered) <= most:
        return tuple(ordered)
    shortest, longest = ordered[0].gap_seconds, ordered[-1].gap_seconds
    if longest <= shortest or most == 1:
        return (min(ordered, key=lambda pair: pair.pose_distance),)
    bins: dict[int, RevisitPair] = {}
    for pair in ordered:
        place = min(int((pair.gap_seconds - shortest) / (longest - shortest) * most), most - 1)
        if place not in bins or pair.pose_distance < bins[place].pose_distance:
            bins[place] = pair
    bins[0], bins[most - 1] = ordered[0], ordered[-1]
    return tuple(bins[place] for place in sorted(bins))
