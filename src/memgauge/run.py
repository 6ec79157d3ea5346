"""Run: ask systems about episodes, write one row a question, and be able to go on after being stopped at any moment."""

from __future__ import annotations

import itertools
import json
import math
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
from memgauge.drive_async import drive_async
from memgauge.episode import ARMS, Episode
from memgauge.errors import InputError, unknown_name
from memgauge.files import write_whole
from memgauge.progress import Progress
from memgauge.responses import SCHEMA_VERSION, ResponseLog, read_run_json
from memgauge.rows import Asker, batch_rows, row_of, wanted_of
from memgauge.system import BatchAnswers
from memgauge.tasks import FrameStyle, Source, get_task

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
    style: FrameStyle = field(default_factory=FrameStyle)
    """How the frames of a video task are encoded."""
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
        if not 0 < self.timeout < math.inf or self.concurrency < 1:
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
                line = f"{row['system']}, episode {row['episode']}: {row['error']}"
                if len(self.first_errors) < 5 and line not in self.first_errors:
                    self.first_errors.append(line)


def execute(plan: Plan, folder: Path, *, command: Sequence[str] = (), show_progress: bool = True) -> Summary:
    """Ask every question of the plan that `folder` does not hold yet, and write the finished table.

    Rows that are already there are kept and not asked again; rows whose outcome was an error are asked again. Raises
    `InputError` when the folder belongs to other data or to another version of a system.
    """
    task = get_task(plan.task)
    modes = {subject.name: drive.mode_of(subject.system, plan.timeout) for subject in plan.subjects}
    cells = list(plan.source.cells())
    with ResponseLog(folder) as log:
        record = _open_record(plan, folder, log, command)
        summary = Summary(run=record["run"])
        total = sum(cell.questions for cell in cells) * len(plan.arms) * len(plan.subjects)
        checks = {subject.name: MutationCheck() for subject in plan.subjects}
        with Progress("questions", total if show_progress else None) as bar:
            for cell in cells:
                for episodes in _chunks(cell.episodes(task, plan.style), cell.length):
                    for subject in plan.subjects:
                        asker = Asker(record["run"], subject.name, subject.fingerprint)
                        job = _Job(plan, subject, asker, modes[subject.name], checks[subject.name], log, summary, bar)
                        job.ask(episodes)
        for subject in plan.subjects:
            notes = getattr(subject.system, "notes", None)
            summary.notes += [f"{subject.name}: {note}" for note in (notes() if callable(notes) else ())]
        for name, check in checks.items():
            if check.unchecked:
                summary.notes.append(f"{name}: not checked for reads that change the memory, as {check.unchecked}")
        log.finish()
        record.update(finished=True, notes=sorted({*record.get("notes", []), *summary.notes}), updated=_now())
        _write_record(folder, record)
    return summary


def _chunks(episodes: Iterator[Episode], length: int) -> Iterator[list[Episode]]:
    """Cut a cell into chunks that are made once and asked by every system; bounded in symbols."""
    size = max(1, min(512, BATCH_SYMBOLS // max(length, 1)))
    while chunk := list(itertools.islice(episodes, size)):
        yield chunk


@dataclass(frozen=True, slots=True)
class _Job:
    """One system asked about the episodes of one chunk."""

    plan: Plan
    subject: Subject
    asker: Asker
    mode: drive.Mode
    check: MutationCheck
    log: ResponseLog
    summary: Summary
    bar: Progress

    def ask(self, episodes: Sequence[Episode]) -> None:
        """Ask what the log does not hold yet."""
        work = []
        for episode in episodes:
            wanted = wanted_of(episode, self.asker, self.plan.arms)
            missing = [item for item in wanted if item.key not in self.log.keys]
            if len(missing) < len(wanted):
                self.summary.already_there += len(wanted) - len(missing)
                self.bar.advance(len(wanted) - len(missing))
            if missing:
                work.append((episode, missing))
        if self.mode == "aread":
            finished = drive_async(
                self.subject.system,
                iter(work),
                timeout=self.plan.timeout,
                concurrency=getattr(self.subject.system, "concurrency", None) or self.plan.concurrency,
                check=self.check,
            )
            for episode, asked in finished:
                self._keep(episode, asked)
        elif self.mode == "batch" and all(drive.batchable(episode) for episode, _ in work):
            for _, same in itertools.groupby(work, lambda item: (item[0].length, len(item[0].queries))):
                self._ask_batch(list(same))
        else:
            for episode, missing in work:
                asked, stopped = drive.ask_reading(
                    self.subject.system, episode, missing, timeout=self.plan.timeout, check=self.check
                )
                self._keep(episode, asked)
                if stopped is not None:
                    raise stopped

    def _keep(self, episode: Episode, asked: Sequence[Asked]) -> None:
        """Write the rows of one episode."""
        rows = [row_of(item, episode, self.asker) for item in asked]
        self.log.append(rows)
        self.summary.count(rows)
        self.bar.advance(len(rows))

    def _ask_batch(self, work: Sequence[drive.Work]) -> None:
        """Ask whole episodes at once; when that fails, one by one, so that the failing one is named."""
        system, timeout = self.subject.system, self.plan.timeout
        for arm in self.plan.arms:
            chosen = [(e, [item for item in missing if item.arm == arm]) for e, missing in work]
            chosen = [(e, missing) for e, missing in chosen if missing]
            if not chosen:
                continue
            batch = drive.stack([e for e, _ in chosen], arm, bool(getattr(system, "privileged", False)))
            started = time.perf_counter()
            answers = drive.ask_batch(system, batch, timeout=timeout)
            seconds = time.perf_counter() - started
            if not isinstance(answers, str):
                self._keep_batch(chosen, arm, answers, seconds)
            elif len(chosen) > 1 and seconds < timeout:
                for item in chosen:
                    self._ask_batch([item])
            else:
                for episode, missing in chosen:
                    self._keep(episode, [Asked(item, error=answers) for item in missing])

    def _keep_batch(self, chosen: Sequence[drive.Work], arm: str, answers: BatchAnswers, seconds: float) -> None:
        """Write the rows of a batch; of an episode that was cut short before, only those that are missing."""
        count = sum(len(missing) for _, missing in chosen)
        whole = all(len(missing) == len(episode.queries) for episode, missing in chosen)
        episodes = [episode for episode, _ in chosen]
        wanted = [missing for _, missing in chosen] if whole else [wanted_of(e, self.asker, (arm,)) for e in episodes]
        data = batch_rows(episodes, wanted, answers, self.asker, seconds)
        if not whole:
            keys = {item.key for _, missing in chosen for item in missing}
            lines = [line for line in data.splitlines(keepends=True) if json.loads(line)["key"] in keys]
            data = b"".join(lines)
        self.log.append_encoded(data)
        self.summary.asked += count
        self.bar.advance(count)


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
    identity = {**plan.source.identity, **get_task(plan.task).identity(plan.style)}
    data = {"identity": identity, **plan.source.describe()}
    if path.exists():
        record = read_record(folder)
        before = record.get("data", {}).get("identity")
        if before != identity:
            raise InputError(
                f"{folder} holds a run on other data ({_differences(before, identity)}); "
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
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return ", ".join(f"{name}: {before.get(name)!r} there, {now.get(name)!r} now" for name in names)


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
    record = read_run_json(folder)
    if record is None:
        raise InputError(f"{folder} holds no run.json: is it a run folder?")
    if record.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{folder / 'run.json'}: written by another version of memgauge; give another --out")
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
        probe = next(iter(cell.episodes(task, plan.style)))
        per_arm = len(plan.arms)
        for subject in plan.subjects:
            flops = None
            known = hasattr(subject.system, "expected_accuracy") and hasattr(subject.system, "read_batch")
            if known and drive.batchable(probe):
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
