"""The build: candidates over processes, selection, export. The same command goes on where a killed one stopped.

What is on the disk decides what is left to do: finished candidates stand in `.build/units`, one file each. The manifest
is written last; after it `.build` is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, MemgaugeError
from memgauge.files import write_whole
from memgauge.histories.building.accounting import token_counter
from memgauge.histories.building.config import FORMAT, FORMAT_VERSION, BuildConfig, differences
from memgauge.histories.building.filler_pool import pool
from memgauge.histories.building.photographs import Ledger, ledger
from memgauge.histories.building.pictures.album import Album, gather, gathered, read_album
from memgauge.histories.building.publish import publish
from memgauge.histories.building.question import Maker, Place
from memgauge.histories.building.review import Reviews
from memgauge.histories.building.room import check_room, check_writable, disk_faults, nearest
from memgauge.histories.building.selection import Selection, select
from memgauge.histories.building.store import sweep
from memgauge.histories.building.units import Header, drop_unanswered, read_header, unit_path
from memgauge.histories.building.writers import PROCEDURAL, check_writer, writer_factory
from memgauge.progress import Progress

WORK = ".build"
_BYTES_A_TOKEN = 2.4
_BYTES_A_PICTURE = 40_000
_LESS = "make room, choose a folder on another disk, or ask for fewer questions or lengths"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call of `build` came to."""

    status: str
    """`built`, `short` (a line of the quota is not full, nothing exported) or `review` (candidates wait for it)."""
    manifest: dict[str, Any] | None
    selection: Selection | None
    """None when the folder was finished before."""
    album: Album | None = None
    """What became of the candidates for photographs, where the build uses any."""


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
    check_writer(config.writer)
    finished = _begin(out, config, array)
    if finished is not None:
        return Outcome("built", finished, None)
    with locked(out), disk_faults(out):
        sweep(out)
        drop_unanswered(out / WORK / "units")
        _check_disk(out, config, array)
        album = _gather(out, config)
        reviews = Reviews.read(out / WORK)
        selection = _select(out, config, reviews, jobs or len(os.sched_getaffinity(0)), album)
        if (selection.short and not allow_short) or not selection.accepted:
            return Outcome("short", None, selection, album)
        if config.review and reviews.waiting(header for _, header in selection.accepted):
            return Outcome("review", None, selection, album)
        manifest = publish(out, out / WORK, config, selection, reviews, array=array, album=album)
    shutil.rmtree(out / WORK)
    return Outcome("built", manifest, selection, album)


def _gather(out: Path, config: BuildConfig) -> Album | None:
    """Gather the photographs, unless that is done. A source or model that cannot be used leaves no folder behind."""
    if config.images is None:
        return None
    if not gathered(out / WORK):
        try:
            gather(out / "images", out / WORK, config.images.gathering())
        except InputError:
            if not any((out / WORK).glob("photographs/*.json")):
                shutil.rmtree(out / WORK)
                if not any(out.iterdir()):
                    out.rmdir()
            raise
    return read_album(out / WORK)


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
    """Check what the folder holds and whether it can be filled; returns the manifest when the build is finished.

    Nothing is written where the build cannot begin, be it for the folder, the token counter or the file of fillers.
    """
    # Another version gives other files for the same options, so that a build is never continued across versions.
    asked = {"format_version": FORMAT_VERSION, **config.to_dict(), "array": array}
    manifest_file, config_file = out / "manifest.json", out / WORK / "config.json"
    if not os.access(nearest(out), os.X_OK) or not nearest(out).is_dir():
        check_writable(out)
    if manifest_file.exists():
        manifest = _read_manifest(manifest_file)
        options = {"format_version": manifest.get("format_version"), **manifest.get("config", {})}
        _refuse_other(out, options, asked)
        shutil.rmtree(out / WORK, ignore_errors=True)
        return manifest
    check_writable(out)
    token_counter(config.accounting.counter)
    if config.fillers != PROCEDURAL:
        pool(config.fillers)
    if config_file.exists():
        _refuse_other(out, read_config(out), asked)
        return None
    there = [path.name for path in (out, out / WORK) if path.is_dir() for path in path.iterdir()]
    strange = sorted(name for name in there if name not in (WORK, "units", "lock"))
    if strange:
        named = ", ".join(strange[:3]) + (" ..." if len(strange) > 3 else "")
        raise InputError(f"{out}: exists and holds other files ({named}); choose another folder")
    check_room(out, estimated_bytes(config, array), _LESS)
    try:
        (out / WORK / "units").mkdir(parents=True, exist_ok=True)
        write_whole(config_file, json.dumps(asked, indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); choose another folder") from error
    return None


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); choose another folder, or remove this one") from error
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
    """Keep other processes out of a build; the lock goes with the process.

    Raises `InputError` when no build is under way in the folder, or another process holds it.
    """
    import fcntl

    try:
        handle = os.open(out / WORK / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        what = "cannot be locked" if (out / WORK).is_dir() else "no build is under way there"
        raise InputError(f"{out}: {what} ({error.strerror or error})") from error
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
    check_room(out, int(estimated_bytes(config, array) * max(left, 0.4)), _LESS)


def _select(out: Path, config: BuildConfig, reviews: Reviews, jobs: int, album: Album | None) -> Selection:
    given: Ledger | None = None
    if album is not None and config.images is not None:
        given = ledger(album, config.seed, config.images.reuse)
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
            ledger=given,
        )


@contextmanager
def _workers(config: BuildConfig, out: Path, jobs: int) -> Iterator[Any]:
    """Yield a function that makes candidates, in any order."""
    if jobs == 1:
        maker = Maker(config, out, writer_factory(config.writer, out / WORK))
        yield lambda places: map(maker.make, places)
        return
    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker, (config, out))

    def make_all(places: Sequence[Place]) -> Iterator[Header]:
        try:
            for future in as_completed([executor.submit(_work, place) for place in places]):
                yield future.result()
        except BrokenProcessPool as error:
            raise MemgaugeError(
                "a process of the build was ended from outside (out of memory?); the same command goes on from there, "
                "with fewer processes if you add -j 1"
            ) from error

    try:
        yield make_all
    except KeyboardInterrupt:
        for worker in active_children():
            worker.terminate()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


_maker: Maker | None = None


def _start_worker(config: BuildConfig, out: Path) -> None:
    global _maker
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all processes; only the first one speaks
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
