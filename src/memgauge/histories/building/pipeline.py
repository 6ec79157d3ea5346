"""The build: candidates over processes, selection, export. The same command goes on where a killed one stopped.

What is on the disk decides what is left to do: finished candidates stand in `.build/units`, one file each. The manifest
is written last; after it `.build` is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, MemgaugeError
from memgauge.files import write_whole
from memgauge.histories.building.config import FORMAT, BuildConfig, differences
from memgauge.histories.building.publish import publish
from memgauge.histories.building.question import Maker, Place
from memgauge.histories.building.review import Reviews
from memgauge.histories.building.selection import Selection, select
from memgauge.histories.building.store import sweep
from memgauge.histories.building.units import Header, read_header, unit_path
from memgauge.histories.building.writers import writer_factory
from memgauge.progress import Progress

WORK = ".build"
_BYTES_A_TOKEN = 2.4
_BYTES_A_PICTURE = 40_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call of `build` came to."""

    status: str
    """`built`, `short` (a line of the quota is not full, nothing exported) or `review` (candidates wait for it)."""
    manifest: dict[str, Any] | None
    selection: Selection | None
    """None when the folder was finished before."""


def build(
    out: Path,
    config: BuildConfig,
    *,
    jobs: int = 0,
    allow_short: bool = False,
    array: bool = False,
) -> Outcome:
    """Build a dataset into `out`, or go on with one that was begun with the same options.

    Parameters
    ----------
    jobs : processes; 0 takes one for each core. The files do not depend on it.
    allow_short : export fewer questions when a line of the quota cannot be filled.
    array : also write dataset_<length>.json, a list of the records.

    Raises `InputError` when the folder holds something else or the disk is too small, `MemgaugeError` when a process
    was ended from outside.
    """
    out = out.expanduser().absolute()
    finished = _begin(out, config, array)
    if finished is not None:
        return Outcome("built", finished, None)
    with locked(out):
        sweep(out)
        _check_disk(out, config, array)
        reviews = Reviews.read(out / WORK)
        selection = _select(out, config, reviews, jobs or len(os.sched_getaffinity(0)))
        if selection.short and not allow_short:
            return Outcome("short", None, selection)
        if config.review and reviews.waiting(header for _, header in selection.accepted):
            return Outcome("review", None, selection)
        manifest = publish(out, out / WORK, config, selection, reviews, array=array)
    shutil.rmtree(out / WORK)
    return Outcome("built", manifest, selection)


def read_config(out: Path) -> dict[str, Any]:
    """Return the options of a build that is under way. Raises `InputError` when there is none in the folder."""
    try:
        fields = json.loads((out / WORK / "config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{out}: no build is under way there ({error})") from error
    if not isinstance(fields, dict):
        raise InputError(f"{out / WORK / 'config.json'}: not the options of a build")
    return fields


def _begin(out: Path, config: BuildConfig, array: bool) -> dict[str, Any] | None:
    """Check what the folder holds; returns the manifest when the build is finished."""
    asked = {**config.to_dict(), "array": array}
    manifest_file, config_file = out / "manifest.json", out / WORK / "config.json"
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file is in the way; choose another folder")
    if manifest_file.exists():
        manifest = _read_manifest(manifest_file)
        _refuse_other(out, manifest.get("config", {}), asked)
        shutil.rmtree(out / WORK, ignore_errors=True)
        return manifest
    if config_file.exists():
        _refuse_other(out, read_config(out), asked)
        return None
    if out.exists() and any(path.name != WORK for path in out.iterdir()):
        raise InputError(f"{out}: exists and holds other files; choose another folder")
    (out / WORK / "units").mkdir(parents=True, exist_ok=True)
    write_whole(config_file, json.dumps(asked, indent=2) + "\n")
    return None


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{path.parent}: holds another kind of dataset; choose another folder")
    return manifest


def _refuse_other(out: Path, there: dict[str, Any], asked: dict[str, Any]) -> None:
    if there != asked:
        raise InputError(
            f"{out}: was begun with other options ({'; '.join(differences(there, asked))}); choose another folder, or "
            "remove this one"
        )


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep other processes out of a build; the lock goes with the process."""
    import fcntl

    handle = os.open(out / WORK / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise InputError(f"{out} is being built by another process; wait for it, or choose another folder") from error
    try:
        yield
    finally:
        os.close(handle)


def estimated_bytes(config: BuildConfig, array: bool = False) -> int:
    """Return about how much room a build takes, work files included."""
    copies = 1.7 + array  # JSONL, Parquet, and the candidate's own file
    text = sum(length.budget for length in config.sizes) * _BYTES_A_TOKEN * copies
    return int(config.questions * (text + config.sizes[-1].pictures * _BYTES_A_PICTURE))


def _check_disk(out: Path, config: BuildConfig, array: bool) -> None:
    done = sum(1 for _ in (out / WORK / "units").iterdir())
    left = max(config.questions - done, 0) / config.questions
    need, free = int(estimated_bytes(config, array) * max(left, 0.4)), shutil.disk_usage(out).free
    if need > free:
        raise InputError(
            f"{out}: the build needs about {need / 1e9:.1f} GB and the disk has {free / 1e9:.1f} GB free; make room, "
            "or ask for fewer questions or lengths"
        )


def _select(out: Path, config: BuildConfig, reviews: Reviews, jobs: int) -> Selection:
    lines = config.quota()
    units = out / WORK / "units"

    def question_id(place: Place) -> str:
        return place.question_id(config.seed)

    with Progress("questions", sum(line.quota for line in lines)) as bar, _workers(config, out, jobs) as make_all:

        def make(places: Sequence[Place]) -> list[Header]:
            paths = [unit_path(units, question_id(place), place.revision) for place in places]
            missing = [place for place, path in zip(places, paths, strict=True) if not path.exists()]
            bar.total = bar.done + len(places)  # replacements come on top of the quota
            bar.advance(len(places) - len(missing))
            for _ in make_all(missing):
                bar.advance()
            return [read_header(path) for path in paths]

        return select(
            lines,
            make,
            reviewed=reviews.rejected,
            revisions=reviews.revisions,
            question_id=question_id,
        )


@contextmanager
def _workers(config: BuildConfig, out: Path, jobs: int) -> Iterator[Any]:
    """Yield a function that makes candidates, in any order."""
    if jobs == 1:
        maker = Maker(config, out, writer_factory(config.writer, out / WORK))
        yield lambda places: map(maker.make, places)
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker, (config, out))

    def make_all(places: Sequence[Place]) -> Iterator[Header]:
        try:
            for future in as_completed([pool.submit(_work, place) for place in places]):
                yield future.result()
        except BrokenProcessPool as error:
            raise MemgaugeError(
                "a process of the build was ended from outside (out of memory?); the same command goes on from there, "
                "with fewer processes if you add -j 1"
            ) from error

    try:
        yield make_all
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_maker: Maker | None = None


def _start_worker(config: BuildConfig, out: Path) -> None:
    global _maker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _maker = Maker(config, out, writer_factory(config.writer, out / WORK))


def _end_with_parent() -> None:
    """Workers of a killed build would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(place: Place) -> Header:
    assert _maker is not None
    return _maker.make(place)
