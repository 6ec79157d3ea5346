"""`memgauge rollouts`: score generated videos by their camera tracks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from memgauge.cli.options import Json
from memgauge.cli.rollout_options import FitParameters, RevisitParameters, TrackOptions

app = App(name="rollouts", help="Score generated videos by their camera tracks.")


@app.command
def score(
    videos: Annotated[tuple[Path, ...], Parameter(help="Videos, each with its camera track beside it.", negative="")],
    /,
    *,
    track: TrackOptions = TrackOptions(),  # noqa: B008
    revisits: RevisitParameters = RevisitParameters(),  # noqa: B008
    fit: FitParameters = FitParameters(),  # noqa: B008
    json: Json = False,
) -> int:
    """Print every rollout metric of each video: half-life, return gate, revisit fidelity, closure, rendering, scene F1.

    A metric that does not apply says why. Exits with 2 when a video or camera track cannot be read; the others are
    scored.
    """
    import sys
    from dataclasses import replace

    from memgauge.cli.output import print_json, print_table
    from memgauge.cli.rollout_options import measure_options
    from memgauge.errors import InputError
    from memgauge.progress import Progress
    from memgauge.rollouts.batch import Job, measure_job
    from memgauge.rollouts.pose_files import find_sidecar

    if track.poses is not None and len(videos) > 1:
        raise InputError("--poses is for one video; for several put each track beside its video")
    options = measure_options(replace(track, poses=None), revisits, fit, siblings=True)
    embedder = options.make_embedder()
    records = []
    with Progress("videos", len(videos)) as bar:
        for video in videos:
            job = Job(video, video.parent.name, video.stem, track.poses or find_sidecar(video))
            record = measure_job(job, options, embedder)
            records.append({name: value for name, value in record.items() if name not in ("model", "case")})
            bar.advance()
    for record in records:
        if record["status"] == "error":
            print(f"memgauge: error: {record['detail']}", file=sys.stderr)
        elif not json:
            print_table(record["video"], ["metric", "score", "reason or note"], _lines(record))
    if json:
        print_json({"embedder": embedder.name, "videos": records})
    return 2 if any(record["status"] == "error" for record in records) else 0


def _lines(record: dict[str, object]) -> list[list[str]]:
    from typing import Any, cast

    siblings = cast("dict[str, dict[str, Any]]", record["siblings"])
    raw = cast("float | None", record["raw"])
    lines = [["memory_half_life (raw)", "-" if raw is None else f"{raw:.4f}", str(record["reason"] or "")]]
    for name, found in siblings.items():
        value = found["score"]
        lines.append([name, "-" if value is None else f"{value:.4f}", str(found["reason"] or found.get("note", ""))])
    return lines
