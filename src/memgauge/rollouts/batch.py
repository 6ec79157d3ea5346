"""Many videos: measured in parallel, one JSON line each as soon as it is done, and nothing measured twice.

A line's key is the hash of everything that determines it: the bytes of the video and of its camera track, the
options, the embedder and the version of the measurement. So a batch that was killed, moved or extended goes on where
it was.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, MemgaugeError
from memgauge.files import write_whole
from memgauge.progress import Progress
from memgauge.responses import write_parquet
from memgauge.rollouts.embedders import ImageEmbedder, make_embedder
from memgauge.rollouts.measure import FitOptions, PoseOptions, measure
from memgauge.rollouts.pose_files import find_sidecar, track_files
from memgauge.rollouts.responses import revisit_rows
from memgauge.rollouts.revisits import RevisitOptions
from memgauge.rollouts.siblings import SiblingObservers, sibling_scores
from memgauge.rollouts.video import find_videos

MEASUREMENT = 1
"""Raised whenever the same video would give other numbers: part of every key."""

COLUMNS = (
    "model", "case", "video", "status", "reason", "half_life_seconds", "half_life_low", "half_life_high", "tau_seconds",
    "raw", "a", "b", "r2", "p_permutation", "half_life_lower_bound_seconds", "half_life_upper_bound_seconds",
    "seed_gate", "strict_gate", "pair_count", "revisit_pair_count", "event_count", "gap_min", "gap_max",
    "memory_revisit_fidelity", "chance_floor", "frame_count", "fps", "embedder", "pose_source", "detail",
)  # fmt: skip
_POSE_ENDINGS = ("_poses_c2w.npy", "_poses.npy", "_vipe_ann", ".npy", ".npz", ".txt", ".json")


@dataclass(frozen=True)
class Job:
    """A video of a model, showing a case; the case is what videos of several models have in common."""

    video: Path
    model: str
    case: str
    poses: Path | None


@dataclass(frozen=True)
class MeasureOptions:
    """Everything that a measurement depends on besides the files."""

    poses: PoseOptions = field(default_factory=PoseOptions)
    revisit: RevisitOptions = field(default_factory=RevisitOptions)
    fit: FitOptions = field(default_factory=FitOptions)
    fps: float | None = None
    embedder: str = "grid"
    weights: Path | None = None
    siblings: bool = False

    def make_embedder(self) -> ImageEmbedder:
        """Return the embedder that these options name."""
        return make_embedder(self.embedder, self.weights)


def plan(paths: Sequence[Path], poses: Path | None = None) -> list[Job]:
    """Return the jobs for videos and folders of videos.

    In a folder, the first level of subfolders names the models; videos that lie in it directly belong to a model of the
    folder's name. `poses` is a folder with the camera tracks, named and placed like the videos; without it they are
    looked for beside the videos.
    """
    if poses is not None and not poses.is_dir():
        raise InputError(f"{poses}: for several videos --poses is a folder with one camera track for each")
    jobs = []
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such video or folder")
        videos = find_videos(path) if path.is_dir() else [path]
        if not videos:
            raise InputError(f"{path}: no videos in this folder")
        for video in videos:
            inner = video.relative_to(path) if path.is_dir() else Path(video.name)
            nested = len(inner.parts) > 1
            model = inner.parts[0] if nested else (path if path.is_dir() else video.parent).resolve().name
            case = Path(*inner.parts[1:]) if nested else inner
            track = find_sidecar(video) if poses is None else _track_in(poses, inner)
            jobs.append(Job(video, model, case.with_suffix("").as_posix(), track))
    twice, count = Counter((job.model, job.case) for job in jobs).most_common(1)[0]
    if count > 1:
        raise InputError(
            f"two videos of the model {twice[0]!r} show the case {twice[1]!r}; put them in folders of their own"
        )
    return jobs


def _track_in(folder: Path, inner: Path) -> Path | None:
    for base in (folder / inner.parent, folder):
        for ending in _POSE_ENDINGS:
            if (base / f"{inner.stem}{ending}").exists():
                return base / f"{inner.stem}{ending}"
    return None


def key_of(job: Job, options: MeasureOptions, embedder: str) -> str:
    """Return the hash of all that determines the result of a job."""
    digest = hashlib.blake2b(digest_size=16)
    settings = asdict(options)
    settings["poses"].pop("path")
    frames = settings["poses"].pop("frames")
    settings.pop("weights")
    settings["embedder"] = embedder
    head = {"measurement": MEASUREMENT, "model": job.model, "case": job.case, "options": settings}
    digest.update(json.dumps(head, sort_keys=True).encode())
    tracks = () if job.poses is None else track_files(job.poses)
    for part in ((job.video,), tracks, () if frames is None else (frames,)):
        digest.update(b"\0part")
        for file in part:
            # A reader goes by the name of a track; the name of a video means nothing beyond model and case.
            digest.update(b"" if file is job.video else file.name.encode() + b"\0")
            try:
                with file.open("rb") as stream:
                    while block := stream.read(1 << 20):
                        digest.update(block)
            except OSError:
                digest.update(b"\0unreadable")  # measuring the video says why
    return digest.hexdigest()


def measure_job(job: Job, options: MeasureOptions, embedder: ImageEmbedder) -> dict[str, Any]:
    """Return the report of one video; a video or track that cannot be read is a report with the status "error"."""
    head = {"model": job.model, "case": job.case}
    observers = SiblingObservers() if options.siblings else None
    try:
        rollout = measure(
            job.video,
            poses=replace(options.poses, path=job.poses, search=False),
            fps=options.fps,
            revisit=options.revisit,
            fit=options.fit,
            embedder=embedder,
            observers=observers.all if observers else (),
        )
        siblings = {"siblings": sibling_scores(rollout, observers)} if observers else {}
    except MemgaugeError as error:
        return {**head, "video": str(job.video), "status": "error", "reason": "unreadable", "detail": str(error)}
    return {**head, **rollout.to_dict(), **siblings}


def run_batch(
    jobs: Sequence[Job], options: MeasureOptions, folder: Path, *, workers: int | None = None
) -> list[dict[str, Any]]:
    """Measure the jobs that `folder`/results.jsonl does not hold yet, and return the records of all of them in order.

    Writes results.jsonl line by line, and at the end results.csv and responses.parquet, which has a row a revisit
    pair. Records with the status "error" are measured again.
    """
    embedder = options.make_embedder()
    log = folder / "results.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        known = _read(log)
    except OSError as error:
        raise InputError(f"{folder}: cannot be used for results ({error.strerror or error})") from error
    keys = []
    with Progress("fingerprints", len(jobs)) as bar:
        for job in jobs:
            keys.append(key_of(job, options, embedder.name))
            bar.advance()
    again = {key for key in keys if known.get(key, {}).get("status") == "error"}
    done = {key: record for key, record in known.items() if key not in again}
    if again:
        write_whole(log, "".join(_line(record) for record in done.values()))
    todo = [(key, job) for key, job in zip(keys, jobs, strict=True) if key not in done]
    workers = min(workers or os.cpu_count() or 1, max(len(todo), 1))
    with log.open("a", encoding="utf-8") as file, Progress("videos", len(todo)) as bar:
        for key, record in _measured(todo, options, embedder, workers):
            done[key] = {"key": key, **record}
            file.write(_line(done[key]))
            file.flush()
            bar.advance()
    records = [{**done[key], "video": str(job.video)} for key, job in zip(keys, jobs, strict=True)]
    write_whole(folder / "results.csv", table(records))
    write_parquet(revisit_rows(records), folder / "responses.parquet")
    return records


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n"


def _measured(
    todo: Sequence[tuple[str, Job]], options: MeasureOptions, embedder: ImageEmbedder, workers: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    if workers == 1:
        for key, job in todo:
            yield key, measure_job(job, options, embedder)
        return
    left = dict(todo)
    with _pool(options, workers) as pool:
        waiting: dict[Future[dict[str, Any]], str] = {pool.submit(_work, job): key for key, job in todo}
        for future in as_completed(waiting):
            try:
                record = future.result()
            except BrokenProcessPool:
                break
            left.pop(waiting[future])
            yield waiting[future], record
    # A video that kills its process takes the pool with it: the rest go one by one, and the culprit is named.
    for key, job in left.items():
        with _pool(options, 1) as pool:
            try:
                yield key, pool.submit(_work, job).result()
            except BrokenProcessPool:
                yield key, _died(job)


def _died(job: Job) -> dict[str, Any]:
    head = {"model": job.model, "case": job.case, "video": str(job.video)}
    return {**head, "status": "error", "reason": "process_died", "detail": "decoding it ended the process"}


def _pool(options: MeasureOptions, workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin, (options, workers))


_worker: tuple[MeasureOptions, ImageEmbedder] | None = None


def _begin(options: MeasureOptions, workers: int) -> None:
    global _worker
    import cv2

    threading.Thread(target=_end_with_parent, daemon=True).start()
    cv2.setNumThreads(max((os.cpu_count() or 1) // workers, 1))
    _worker = (options, options.make_embedder())


def _end_with_parent() -> None:
    """End this process when the one that started it is gone: a killed batch leaves nobody waiting for work."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _work(job: Job) -> dict[str, Any]:
    assert _worker is not None
    return measure_job(job, *_worker)


def _read(log: Path) -> dict[str, dict[str, Any]]:
    """Return the records by key, the last of each; cuts an unfinished last line off the file."""
    if not log.exists():
        return {}
    data = log.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with log.open("r+b") as file:
            file.truncate(whole)
    records: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(data[:whole].splitlines(), 1):
        try:
            record = json.loads(line)
            records[record["key"]] = record
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{log}, line {number}: not a result: {error}; remove that line to go on") from error
    return records


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return the records as CSV, one row a video, empty cells where there is no number."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        ends = record.get("interval_half_life_seconds") or (None, None)
        gates = record.get("gates") or {}
        row = {
            **record,
            "half_life_low": ends[0],
            "half_life_high": ends[1],
            **{
                f"{name}_gate": gates.get(name, {}).get("reason") or gates.get(name, {}).get("status") for name in gates
            },
        }
        writer.writerow([_cell(row.get(name)) for name in COLUMNS])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    """Return a cell; text that a spreadsheet would run as a formula is quoted."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None else value
