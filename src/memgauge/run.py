"""Run: ask systems about episodes, write one row a question, and be able to go on after being stopped at any moment."""

from __future__ import annotations

import itertools
import json
import os
import platform
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memgauge import drive
from memgauge.drive import Asked, MutationCheck
from memgauge.episode import ARMS, Episode
from memgauge.errors import InputError, unknown_name
from memgauge.files import write_whole
from memgauge.progress import Progress
from memgauge.responses import SCHEMA_VERSION, ResponseLog
from memgauge.rows import Asker, batch_rows, row_of, wanted_of
from memgauge.tasks import Cell, Source, Task, get_task

BATCH_SYMBOLS = 1 << 21
"""At most so many symbols in one batch: bounded memory whatever the lengths."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A system in a run: the object, its name in the tables, and what changes when it changes."""

    system: Any
    name: str
    fingerprint: str
    spec: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that determines a run."""

    task: str
    source: Source
    subjects: tuple[Subject, ...]
    arms: tuple[str, ...] = ("none",)
    timeout: float = 300.0
    """Seconds one call of a system may take."""
    concurrency: int = 16
    """Questions in flight, for systems that answer asynchronously."""
    replace: bool = False
    """Drop the rows of an earlier version of a system instead of refusing to mix them."""

    def __post_init__(self) -> None:
        get_task(self.task)
        for arm in self.arms:
            if arm not in ARMS:
                raise unknown_name("arm", arm, ARMS)
        if not self.subjects:
            raise InputError("no system to ask: give --system NAME (see `memgauge list systems`)")
        names = [subject.name for subject in self.subjects]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"two systems are called {name!r}: give one of them another name or other parameters")
        if len(set(self.arms)) != len(self.arms) or not self.arms:
            raise InputError("--arms takes each arm once: none, A, B")
        if self.timeout <= 0 or self.concurrency < 1:
            raise InputError("--timeout takes a number of seconds over 0, --concurrency 1 or more")


@dataclass(slots=True)
class Summary:
    """What a run did."""

    run: str
    asked: int = 0
    already_there: int = 0
    errors: int = 0
    first_errors: list[str] = field(default_factory=list)
    """The first few errors, each naming its system and episode."""
    notes: list[str] = field(default_factory=list)

    def count(self, rows: Iterable[dict[str, Any]]) -> None:
        """Count rows and keep the first errors."""
        for row in rows:
            self.asked += 1
            if row["outcome"] == "model_error":
                self.errors += 1
                if len(self.first_errors) < 5:
                    self.first_errors.append(f"{row['system']}, episode {row['episode']}: {row['error']}")


def execute(plan: Plan, folder: Path, *, command: Sequence[str] = (), show_progress: bool = True) -> Summary:
    """Ask every question of the plan that `folder` does not hold yet, and write the finished table.

    Rows that are already there are kept and not asked again; rows whose outcome was an error are asked again. Raises
    `InputError` when the folder belongs to other data or to another version of a system.
    """
    task = get_task(plan.task)
    modes = {subject.name: drive.mode_of(subject.system) for subject in plan.subjects}
    cells = list(plan.source.cells())
    with ResponseLog(folder) as log:
        record = _open_record(plan, folder, log, command)
        summary = Summary(run=record["run"])
        total = sum(cell.questions for cell in cells) * len(plan.arms) * len(plan.subjects)
        with Progress("questions", total if show_progress else None) as bar:
            for cell in cells:
                for subject in plan.subjects:
                    asker = Asker(record["run"], subject.name, subject.fingerprint)
                    _ask_cell(plan, task, cell, subject, asker, modes[subject.name], log, summary, bar)
        summary.notes = sorted(set(summary.notes))
        log.finish()
        record.update(finished=True, notes=sorted({*record.get("notes", []), *summary.notes}), updated=_now())
        _write_record(folder, record)
    return summary


def _ask_cell(
    plan: Plan,
    task: Task,
    cell: Cell,
    subject: Subject,
    asker: Asker,
    mode: drive.Mode,
    log: ResponseLog,
    summary: Summary,
    bar: Progress,
) -> None:
    """Ask one system about the streams of one cell."""

    def work() -> Iterator[drive.Work]:
        for episode in cell.episodes(task):
            wanted = wanted_of(episode, asker, plan.arms)
            missing = [item for item in wanted if item.key not in log.keys]
            if len(missing) < len(wanted):
                summary.already_there += len(wanted) - len(missing)
                bar.advance(len(wanted) - len(missing))
            if missing:
                yield episode, missing

    def keep(episode: Episode, asked: Sequence[Asked]) -> None:
        rows = [row_of(item, episode, asker) for item in asked]
        log.append(rows)
        summary.count(rows)
        bar.advance(len(rows))

    check = MutationCheck()
    if mode == "aread":
        finished = drive.drive_async(
            subject.system, work(), timeout=plan.timeout, concurrency=plan.concurrency, check=check
        )
        for episode, asked in finished:
            keep(episode, asked)
    else:
        for ready in _groups(work(), mode):
            if mode == "batch" and all(drive.batchable(episode) for episode, _ in ready):
                _ask_batch(plan, subject, asker, ready, log, summary, bar)
            else:
                for episode, wanted in ready:
                    keep(
                        episode,
                        drive.ask_reading(subject.system, episode, wanted, timeout=plan.timeout, check=check),
                    )
    if check.unchecked:
        summary.notes.append(f"{subject.name}: not checked for reads that change the memory, as {check.unchecked}")


def _groups(work: Iterator[drive.Work], mode: drive.Mode) -> Iterator[list[drive.Work]]:
    """Group episodes for the batched path: equal length and question count, bounded in symbols."""
    if mode != "batch":
        yield from ([item] for item in work)
        return

    def kind(item: drive.Work) -> tuple[int, int]:
        return item[0].length, len(item[0].queries)

    for (length, _), same in itertools.groupby(work, kind):
        size = max(1, min(512, BATCH_SYMBOLS // max(length, 1)))
        while batch := list(itertools.islice(same, size)):
            yield batch


def _ask_batch(
    plan: Plan,
    subject: Subject,
    asker: Asker,
    ready: Sequence[drive.Work],
    log: ResponseLog,
    summary: Summary,
    bar: Progress,
) -> None:
    """Ask a batched system about a group of episodes; when it fails, one by one, so that the failing one is named."""
    privileged = bool(getattr(subject.system, "privileged", False))
    for arm in plan.arms:
        chosen = [(e, [w for w in wanted if w.arm == arm]) for e, wanted in ready]
        # A batch holds whole episodes; of one that was cut short before, the rows that are there are asked again but
        # not written again.
        chosen = [(e, w) for e, w in chosen if w]
        if not chosen:
            continue
        episodes = [e for e, _ in chosen]
        started = time.perf_counter()
        answers = drive.ask_batch(subject.system, drive.stack(episodes, arm, privileged), timeout=plan.timeout)
        seconds = time.perf_counter() - started
        if isinstance(answers, str) and len(chosen) > 1 and seconds < plan.timeout:
            for item in chosen:
                _ask_batch(plan, subject, asker, [item], log, summary, bar)
            continue
        count = sum(len(w) for _, w in chosen)
        if isinstance(answers, str):
            for episode, missing in chosen:
                rows = [row_of(Asked(item, error=answers), episode, asker) for item in missing]
                log.append(rows)
                summary.count(rows)
        else:
            full = [wanted_of(e, asker, (arm,)) for e in episodes]
            data = batch_rows(episodes, full, answers, asker, seconds)
            if count < sum(map(len, full)):
                data = _only(data, {w.key for _, wanted in chosen for w in wanted})
            log.append_encoded(data)
            summary.asked += count
        bar.advance(count)


def _only(data: bytes, keys: set[str]) -> bytes:
    """Keep the JSON lines whose key is in `keys`."""
    return b"".join(line + b"\n" for line in data.splitlines() if json.loads(line)["key"] in keys)


def _open_record(plan: Plan, folder: Path, log: ResponseLog, command: Sequence[str]) -> dict[str, Any]:
    """Read or make `run.json`; refuse a folder that belongs to other data or to other versions of the systems."""
    path = folder / "run.json"
    systems = {
        subject.name: {
            "name": subject.name,
            "spec": subject.spec,
            "fingerprint": subject.fingerprint,
            "description": subject.description,
            "expected": _expected(subject.system, plan.source),
        }
        for subject in plan.subjects
    }
    data = {"identity": plan.source.identity, **plan.source.describe()}
    if path.exists():
        record = read_record(folder)
        before = record.get("data", {}).get("identity")
        if before != plan.source.identity:
            raise InputError(
                f"{folder} holds a run on other data ({_differences(before, plan.source.identity)}); "
                "give another --out, or the same data to extend it"
            )
        old = {system["name"]: system for system in record["systems"]}
        changed = [n for n in systems if n in old and old[n]["fingerprint"] != systems[n]["fingerprint"]]
        if changed and not plan.replace:
            raise InputError(
                f"{folder} holds answers of an earlier version of {', '.join(changed)}; give --replace to drop them, "
                "or another --out to keep them"
            )
        if changed:
            log.drop(set(changed))
        record["systems"] = list({**old, **systems}.values())
        record["arms"] = sorted({*record["arms"], *plan.arms})
        record["tasks"] = sorted({*record["tasks"], plan.task})
        record["data"] = _merged(record["data"], data)
        record["commands"].append(list(command))
    else:
        if log.keys:
            raise InputError(f"{folder} holds responses but no run.json; give another --out")
        record = {
            "schema_version": SCHEMA_VERSION,
            "run": uuid.uuid4().hex[:12],
            "created": _now(),
            "tasks": [plan.task],
            "arms": sorted(plan.arms),
            "data": data,
            "systems": list(systems.values()),
            "commands": [list(command)],
            "notes": [],
        }
    record.update(finished=False, versions=_versions(), machine=_machine(), updated=_now())
    _write_record(folder, record)
    return record


def _merged(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Join the cells of two descriptions of the same data."""
    merged = dict(before)
    for name, value in now.items():
        if isinstance(value, list) and isinstance(before.get(name), list):
            merged[name] = sorted({*before[name], *value})
        elif name == "count":
            merged[name] = max(value, before.get(name, 0))
        else:
            merged[name] = value
    return merged


def _differences(before: Any, now: dict[str, Any]) -> str:
    """Name what differs between the identities of two sources."""
    if not isinstance(before, dict) or before.get("made") != now["made"]:
        return "one is made on the fly, the other comes from a folder"
    names = [name for name in now if before.get(name) != now[name]]
    return ", ".join(f"{name}: {before.get(name)!r} there, {now[name]!r} now" for name in names)


def _expected(system: Any, source: Source) -> dict[str, Any] | None:
    """Return the closed-form accuracies of a known-answer system by length, or None."""
    form = getattr(system, "expected_accuracy", None)
    if not callable(form):
        return None
    found = {}
    for length in sorted({cell.length for cell in source.cells()}):
        expected = form(length)
        if expected is not None:
            found[str(length)] = {"value": expected.value, "exact": expected.exact, "note": expected.note}
    return found or None


def read_record(folder: Path) -> dict[str, Any]:
    """Read `run.json`. Raises `InputError` when it is missing, broken, or of another version."""
    path = folder / "run.json"
    try:
        record = json.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{folder} holds no run.json: is it a run folder?") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{path}: written by another version of memgauge; give another --out")
    return record


def _write_record(folder: Path, record: dict[str, Any]) -> None:
    write_whole(folder / "run.json", json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("memgauge", "numpy", "numba", "polars")}


def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "platform": f"{sys.platform}-{platform.machine()}",
        "cores": os.cpu_count(),
    }


def estimate(plan: Plan) -> list[dict[str, Any]]:
    """Say how much a run would ask, without asking it: one entry per system and cell.

    FLOPs are estimated from one stream of each cell for batched known-answer systems; None where nothing is known.
    """
    task = get_task(plan.task)
    found = []
    for cell in plan.source.cells():
        probe = next(iter(cell.episodes(task)))
        per_arm = len(plan.arms)
        for subject in plan.subjects:
            flops = None
            if hasattr(subject.system, "expected_accuracy") and hasattr(subject.system, "read_batch"):
                privileged = bool(getattr(subject.system, "privileged", False))
                answers = subject.system.read_batch(drive.stack([probe], plan.arms[0], privileged))
                if answers.flops_write is not None and answers.flops_read is not None:
                    reads = int(answers.flops_read.sum()) * per_arm
                    flops = (int(answers.flops_write[0]) + reads) * cell.streams
            found.append(
                {
                    "system": subject.name,
                    "task": plan.task,
                    "split": cell.band,
                    "length": cell.length,
                    "negatives": cell.negatives,
                    "streams": cell.streams,
                    "questions": cell.questions * per_arm,
                    "stream_tokens": cell.length * cell.streams,
                    "question_tokens": sum(len(q.question.candidate) for q in probe.queries) * per_arm * cell.streams,
                    "flops": flops,
                }
            )
    return found
