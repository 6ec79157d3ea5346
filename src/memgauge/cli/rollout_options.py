"""The options of commands that measure videos, as groups of parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from memgauge.rollouts.batch import MeasureOptions

TRACK = Group("Camera track", sort_key=2)
REVISITS = Group("Revisits", sort_key=3)
FIDELITY = Group("Fidelity", sort_key=4)
FIT = Group("Fit", sort_key=5)


@Parameter(name="*")
@dataclass(frozen=True)
class TrackOptions:
    """Where the camera track is and how it is read."""

    poses: Annotated[
        Path | None,
        Parameter(group=TRACK, help="Camera track: file or folder. Found beside the video if not given."),
    ] = None
    pose_format: Annotated[
        str,
        Parameter(
            group=TRACK,
            help="auto, npy, npz, vipe, folder, tum, kitti, realestate10k, matrices, colmap, transforms, json, or "
            "import:package.module:function.",
        ),
    ] = "auto"
    pose_convention: Annotated[
        Literal["c2w", "w2c"] | None,
        Parameter(group=TRACK, help="Camera-to-world or world-to-camera; what the format means if not given."),
    ] = None
    pose_frames: Annotated[
        Path | None, Parameter(group=TRACK, help="File with the video frame number of each pose.")
    ] = None
    pose_step: Annotated[int | None, Parameter(group=TRACK, help="Pose i belongs to frame i * STEP.")] = None
    fps: Annotated[float | None, Parameter(group=TRACK, help="Frames a second; the video's own if not given.")] = None


@Parameter(name="*")
@dataclass(frozen=True)
class RevisitParameters:
    """What counts as a revisit, and how fidelity is measured."""

    max_pairs: Annotated[int, Parameter(group=REVISITS, help="Pairs kept, spread over the gaps; 0 keeps all.")] = 24
    max_distance: Annotated[float, Parameter(group=REVISITS, help="Largest pose distance of a revisit.")] = 0.15
    min_gap: Annotated[float, Parameter(group=REVISITS, help="Smallest gap, in seconds.")] = 1.0
    departure_factor: Annotated[
        float, Parameter(group=REVISITS, help="The camera has departed at this many times --max-distance.")
    ] = 3.0
    excursion_factor: Annotated[
        float, Parameter(group=REVISITS, help="Between two sights of a view it must be this many times away.")
    ] = 3.0
    rotation_weight: Annotated[float, Parameter(group=REVISITS, help="Weight of half a turn in the distance.")] = 1.0
    translation_scale: Annotated[
        float | None, Parameter(group=REVISITS, help="Translation of distance 1; the track's extent if not given.")
    ] = None
    embedder: Annotated[
        str,
        Parameter(
            group=FIDELITY, help="grid, dinov2 (with --weights), efficientnet-lite0, or import:package.module:Name."
        ),
    ] = "grid"
    weights: Annotated[Path | None, Parameter(group=FIDELITY, help="Folder with the embedder's weights.")] = None


@Parameter(name="*")
@dataclass(frozen=True)
class FitParameters:
    """How the decay is fitted and judged."""

    bounds: Annotated[
        Literal["unit", "nonneg"],
        Parameter(group=FIT, help="unit: a, b >= 0 and a + b <= 1; nonneg: a, b >= 0 only."),
    ] = "unit"
    gate: Annotated[
        Literal["strict", "seed"] | None,
        Parameter(group=FIT, help="Whose verdict is the status: strict (default) or seed, the published checks."),
    ] = None
    method: Annotated[
        Literal["profile", "swept"],
        Parameter(group=FIT, help="profile: exact least squares; swept: the public log-linear sweep, biased."),
    ] = "profile"
    permutations: Annotated[
        int | None,
        Parameter(group=FIT, help="Random orders of the test: 9999, or 999 with --responses; 0 leaves it out."),
    ] = None
    seed: Annotated[int, Parameter(group=FIT, help="Seed of the random orders.")] = 0
    t_ref: Annotated[
        float | None,
        Parameter(group=FIT, help="Reference window of the raw score: 60 s; for other units none if not given."),
    ] = None

    def chosen_gate(self) -> Any:
        """Return the gate: the published checks are all that the swept method can be judged by."""
        return self.gate or ("seed" if self.method == "swept" else "strict")

    def common(self) -> dict[str, Any]:
        """Return the arguments of a fit over seconds."""
        return {
            "bounds": self.bounds,
            "gate": self.chosen_gate(),
            "method": self.method,
            "permutations": 9999 if self.permutations is None else self.permutations,
            "seed": self.seed,
            "t_ref": 60.0 if self.t_ref is None else self.t_ref,
        }


def changed(options: TrackOptions | RevisitParameters) -> dict[str, object]:
    """Return the options that differ from their defaults, by their names on the command line."""
    return {
        f"--{item.name.replace('_', '-')}": getattr(options, item.name)
        for item in fields(options)
        if getattr(options, item.name) != item.default
    }


def measure_options(
    track: TrackOptions, revisits: RevisitParameters, fit: FitParameters, *, siblings: bool = False
) -> MeasureOptions:
    """Return the options of a measurement from those of the command line."""
    from memgauge.metrics.half_life import check_options
    from memgauge.rollouts.batch import MeasureOptions
    from memgauge.rollouts.measure import FitOptions, PoseOptions
    from memgauge.rollouts.revisits import RevisitOptions

    common = fit.common()
    check_options(**{name: common[name] for name in ("bounds", "gate", "method", "permutations", "t_ref")})
    return MeasureOptions(
        poses=PoseOptions(track.poses, track.pose_format, track.pose_convention, track.pose_frames, track.pose_step),
        revisit=RevisitOptions(
            max_distance=revisits.max_distance,
            min_gap=revisits.min_gap,
            departure_factor=revisits.departure_factor,
            excursion_factor=revisits.excursion_factor,
            rotation_weight=revisits.rotation_weight,
            scale=revisits.translation_scale,
            max_pairs=revisits.max_pairs,
        ),
        fit=FitOptions(**common),
        fps=track.fps,
        embedder=revisits.embedder,
        weights=revisits.weights,
        siblings=siblings,
    )
