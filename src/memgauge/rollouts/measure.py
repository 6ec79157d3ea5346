"""The half-life of one generated video: camera track, revisit pairs, fidelity, decay fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from memgauge.metrics.half_life import T_REF, Bounds, Gate, HalfLifeResult, Method, fit_half_life, not_applicable
from memgauge.rollouts.embedders import ImageEmbedder, make_embedder
from memgauge.rollouts.fidelity import FrameFeatures, FrameObserver, Looks, unrelated_pairs
from memgauge.rollouts.pose_files import find_sidecar, read_poses, with_frames
from memgauge.rollouts.revisits import PoseDistance, RevisitOptions, RevisitPair, Revisits, find_revisits
from memgauge.rollouts.track import CameraTrack, Clock, Convention, Floats, InvalidPosesError, place
from memgauge.rollouts.video import VideoInfo, probe

# How many digits the published report gives.
_DIGITS = {"pose_distance": 6, "translation_distance": 6, "rotation_degrees": 4, "gap_seconds": 4, "excursion": 6}


@dataclass(frozen=True)
class PoseOptions:
    """Where the camera track is and how to read it.

    Without a path it is looked for beside the video, if `search`; without a convention it is read as its format says.
    """

    path: Path | None = None
    format: str = "auto"
    convention: Convention | None = None
    frames: Path | None = None
    step: int | None = None
    search: bool = True


@dataclass(frozen=True)
class FitOptions:
    """How the decay is fitted and judged (see `fit_half_life`)."""

    bounds: Bounds = "unit"
    gate: Gate = "strict"
    method: Method = "profile"
    permutations: int = 9999
    seed: int = 0
    t_ref: float = T_REF

    def refuse(self, reason: str, detail: str | None) -> HalfLifeResult:
        """Return the result of a measurement that ended before the fit."""
        return not_applicable(reason, detail, bounds=self.bounds, gate=self.gate, method=self.method, t_ref=self.t_ref)


@dataclass(frozen=True)
class ScoredPair:
    """A revisit pair and how alike its frames look."""

    pair: RevisitPair
    looks: Looks

    def to_dict(self) -> dict[str, Any]:
        """Return the pair as JSON-ready fields, rounded as published."""
        fields = {name: round(value, _DIGITS.get(name, 9)) for name, value in asdict(self.pair).items()}
        usable = self.looks.usable
        return {
            **fields,
            "similarity": self.looks.similarity if usable else None,
            "ssim": self.looks.ssim if usable else None,
            "fidelity": self.looks.fidelity if usable else None,
        }


@dataclass(frozen=True)
class Rollout:
    """A video measured: the verdict and everything it rests on, as far as the measurement got."""

    video: Path
    result: HalfLifeResult
    embedder: str
    info: VideoInfo
    track: CameraTrack | None = None
    revisits: Revisits | None = None
    pairs: tuple[ScoredPair, ...] = ()
    floor: tuple[Looks, ...] = ()
    warnings: tuple[str, ...] = ()
    times: Floats | None = field(default=None, repr=False)

    @property
    def fidelity(self) -> float | None:
        """Return the mean revisit fidelity over the scored pairs."""
        scores = [scored.looks.fidelity for scored in self.pairs if scored.looks.usable]
        return float(np.mean(scores)) if scores else None

    @property
    def chance_floor(self) -> float | None:
        """Return the mean fidelity of pairs of frames that see different views."""
        scores = [looks.fidelity for looks in self.floor if looks.usable]
        return float(np.mean(scores)) if scores else None

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as one JSON-ready document."""
        track, revisits = self.track, self.revisits
        document: dict[str, Any] = {"video": str(self.video), **self.result.to_dict()}
        document.update(
            embedder=self.embedder,
            fps=float(self.info.fps),
            frame_count=self.info.frames,
            variable_frame_rate=self.info.variable,
            gap_source="timestamps" if self.info.variable else "frame_index_over_fps",
            pose_source=track.source if track else None,
            pose_format=track.format if track else None,
            pose_convention=track.convention if track else None,
            pose_count=len(track) if track else None,
            memory_revisit_fidelity=self.fidelity,
            chance_floor=self.chance_floor,
            chance_floor_pairs=sum(looks.usable for looks in self.floor),
            fidelity_pose_correlation=self._pose_correlation(),
            metric_uses_vlm=False,
            metric_uses_llm_as_judge=False,
        )
        if revisits:
            document.update(
                revisit_pair_count=len(revisits.pairs),
                revisit_event_count=revisits.event_count,
                turnaround_index=revisits.turnaround_index,
                translation_extent=revisits.translation_extent,
                rotation_extent_degrees=revisits.rotation_extent_degrees,
                departure_distance=revisits.departure_distance,
                required_departure_distance=revisits.required_departure_distance,
                departed=revisits.departed,
                returned=revisits.returned,
                scale=revisits.scale,
                scale_is_degenerate=revisits.scale_is_degenerate,
            )
        document["warnings"] = [*document["warnings"], *self.warnings]
        document["pairs"] = [scored.to_dict() for scored in self.pairs]
        return document

    def _pose_correlation(self) -> float | None:
        """Return the correlation of fidelity with pose distance; near -1, poses and not memory drive it."""
        points = [(s.looks.fidelity, s.pair.pose_distance) for s in self.pairs if s.looks.usable]
        if len(points) < 3 or min(np.ptp(np.array(points), axis=0)) <= 0:
            return None
        return float(np.corrcoef(np.array(points).T)[0, 1])


def measure(
    video: Path,
    *,
    poses: PoseOptions | None = None,
    fps: float | None = None,
    revisit: RevisitOptions | None = None,
    fit: FitOptions | None = None,
    embedder: ImageEmbedder | None = None,
    observers: Sequence[FrameObserver] = (),
    progress: bool = False,
) -> Rollout:
    """Measure the memory half-life of a video with a camera track.

    `observers` see each frame of the kept pairs during the one decoding pass. Raises `InputError` for a video or pose
    file that cannot be read; whatever else goes wrong is a verdict with its reason.
    """
    poses, revisit, fit = poses or PoseOptions(), revisit or RevisitOptions(), fit or FitOptions()
    embedder = embedder or make_embedder("grid")
    info = probe(video, fps)
    blank = Rollout(video, fit.refuse("no_poses", None), embedder.name, info)
    path = poses.path or (find_sidecar(video) if poses.search else None)
    if path is None:
        detail = f"no camera track beside {video.name}: give --poses FILE"
        return replace(blank, result=fit.refuse("no_poses", detail))
    read = with_frames(read_poses(path, poses.format), frames=poses.frames, step=poses.step)
    try:
        track = place(read, Clock(info.frames, float(info.fps), info.width, info.height), poses.convention)
    except InvalidPosesError as error:
        return replace(blank, result=fit.refuse("invalid_poses", str(error)))
    times = info.seconds(track.frames)
    revisits = find_revisits(track, times, float(info.fps), revisit)
    warnings = (*track.warnings, *_warnings(info, revisits))
    blank = replace(blank, track=track, revisits=revisits, times=times, warnings=warnings)
    if revisits.reason:
        other = find_revisits(track.inverted(), times, float(info.fps), revisit)
        if other.reason is None:
            hint = f"read as {track.inverted().convention} the same poses make a loop: check --pose-convention"
            blank = replace(blank, warnings=(*warnings, hint))
        return replace(blank, result=fit.refuse(revisits.reason, _why(revisits)))
    return _scored(blank, revisits, embedder, fit, PoseDistance(track, revisit), observers, progress)


def _scored(
    blank: Rollout,
    revisits: Revisits,
    embedder: ImageEmbedder,
    fit: FitOptions,
    distance: PoseDistance,
    observers: Sequence[FrameObserver],
    progress: bool,
) -> Rollout:
    info = blank.info
    wanted = {frame for pair in revisits.kept for frame in (pair.first_frame, pair.revisit_frame)}
    features = FrameFeatures(info, [frame for frame in wanted if frame < info.frames], embedder, observers, progress)
    there = [pair for pair in revisits.kept if pair.first_frame in features and pair.revisit_frame in features]
    lost = len(revisits.kept) - len(there)
    if lost:
        note = f"{lost} of {len(revisits.kept)} pairs left out: their frames are not in the video or cannot be decoded"
        blank = replace(blank, warnings=(*blank.warnings, note))
    if not there:
        detail = f"no revisit pair maps onto a decoded frame ({info.frames} frames)"
        return replace(blank, result=fit.refuse("no_decoded_pair", detail))
    looks = features.compare([(pair.first_frame, pair.revisit_frame) for pair in there])
    scored = tuple(ScoredPair(pair, look) for pair, look in zip(there, looks, strict=True))
    usable = [one for one in scored if one.looks.usable]
    if len(usable) < len(scored):
        note = f"{len(scored) - len(usable)} of {len(scored)} pairs left out: {embedder.name} gave no finite vector"
        blank = replace(blank, warnings=(*blank.warnings, note))
    if not usable:
        detail = f"the embedder {embedder.name} gave no finite vectors"
        result = fit.refuse("fidelity_unavailable", detail)
        return replace(blank, pairs=scored, result=result)
    assert blank.times is not None
    apart = [
        (p.first_frame, q.revisit_frame)
        for p, q in unrelated_pairs(replace(revisits, kept=tuple(there)), distance, blank.times)
    ]
    result = fit_half_life(
        [one.pair.gap_seconds for one in usable],
        [one.looks.fidelity for one in usable],
        events=[one.pair.event for one in usable],
        names=[f"frames {one.pair.first_frame} and {one.pair.revisit_frame}" for one in usable],
        **asdict(fit),
    )
    return replace(blank, pairs=scored, floor=tuple(features.compare(apart)), result=result)


def _warnings(info: VideoInfo, revisits: Revisits) -> list[str]:
    warnings = []
    if info.variable:
        warnings.append("the frame rate varies: gaps are differences of the video's own timestamps")
    if revisits.scale_is_degenerate:
        warnings.append("the camera centres do not move beyond their noise: only rotation counts as motion")
    return warnings


def _why(revisits: Revisits) -> str:
    bar = revisits.required_departure_distance
    if not revisits.departed:
        return f"the camera never was {bar:.2f} away from its first pose (farthest {revisits.departure_distance:.3f})"
    return f"no view was seen again after an excursion of {bar:.2f}"
