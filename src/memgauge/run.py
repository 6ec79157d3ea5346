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
from memgauge.tasks import FrameStyle, Source, Task, get_task

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
        conversation = get_task(self.task).kind == "session"  # its arms are ablations, which the source knows
        for arm in self.arms:
            if not conversation and arm not in ARMS:
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
    modes = {subject.name: _mode(subject, task, plan.timeout) for subject in plan.subjects}
    cells = list(plan.source.cells())
    with ResponseLog(folder) as log:
        record = _open_record(plan, folder, log, command)
        summary = Summary(run=record["run"])
        known = [cell.known for cell in cells]
        total = None if None in known else sum(filter(None, known)) * len(plan.arms) * len(plan.subjects)
        checks = {subject.name: MutationCheck() for subject in plan.subjects}
        with Progress("questions", total if show_progress else None) as bar:
            jobs = []
            for subject in plan.subjects:
                asker = Asker(record["run"], subject.name, subject.fingerprint)
                mode, check = modes[subject.name], checks[subject.name]
                jobs.append(_Job(plan, subject, asker, mode, check, log, summary, bar))
            for cell in cells:
                if cell.streamed:
                    for job in jobs:
                        job.ask(cell.episodes(task, plan.style))
                    continue
                for episodes in _chunks(cell.episodes(task, plan.style), cell.length):
                    for job in jobs:
                        job.ask(episodes)
        source_notes = getattr(plan.source, "notes", None)
        summary.notes += source_notes() if callable(source_notes) else []
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


def _mode(subject: Subject, task: Task, timeout: float) -> drive.Mode:
    """Say how a system answers. Of the batched systems, which take symbols, those read that declare `conversations`."""
    mode = drive.mode_of(subject.system, timeout)
    if task.kind != "session" or mode != "batch":
        return mode
    if not getattr(subject.system, "conversations", False):
        raise InputError(
            f"{subject.name} takes streams of symbols only; {task.name} needs a system that reads sessions"
        )
    return "read"


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

    def ask(self, episodes: Iterable[Episode]) -> None:
        """Ask what the log does not hold yet."""
        if self.mode == "batch":
            work = list(self._missing(episodes))
            if all(drive.batchable(episode) for episode, _ in work):
                for _, same in itertools.groupby(work, lambda item: (item[0].length, len(item[0].queries))):
                    self._ask_batch(list(same))
            else:
                self._ask_reading(work)
        elif self.mode == "aread":
            finished = drive_async(
                self.subject.system,
                self._missing(episodes),
                timeout=self.plan.timeout,
                concurrency=getattr(self.subject.system, "concurrency", None) or self.plan.concurrency,
                check=self.check,
            )
            for episode, asked in finished:
                self._keep(episode, asked)
        else:
            self._ask_reading(self._missing(episodes))

    def _ask_reading(self, work: Iterable[drive.Work]) -> None:
        """Ask one episode after the other."""
        for episode, missing in work:
            asked, stopped = drive.ask_reading(
                self.subject.system, episode, missing, timeout=self.plan.timeout, check=self.check
            )
            self._keep(episode, asked)
            if stopped is not None:
                raise stopped

    def _missing(self, episodes: Iterable[Episode]) -> Iterator[drive.Work]:
        """Yield the episodes with those of their questions that the log does not hold yet."""
        for episode in episodes:
            wanted = wanted_of(episode, self.asker, self.plan.arms)
            missing = [item for item in wanted if item.key not in self.log.keys]
            if len(missing) < len(wanted):
                self.summary.already_there += len(wanted) - len(missing)
                self.bar.advance(len(wanted) - len(missing))
            if missing:
                yield episode, missing

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
            "facts": _facts(subject.system, plan),
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
        record["systems"] = [_joined(old.get(name), systems.get(name)) for name in {**old, **systems}]
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


def _joined(before: dict[str, Any] | None, now: dict[str, Any] | None) -> dict[str, Any]:
    """Join two descriptions of one system: what is told by length stays for the lengths that were asked before."""
    if before is None or now is None:
        return now or before or {}
    if before["fingerprint"] != now["fingerprint"]:
        return now

    def lengths(first: Any, second: Any) -> Any:
        if isinstance(first, dict) and isinstance(second, dict):
            return {**first, **{name: lengths(first.get(name), value) for name, value in second.items()}}
        return first if second is None else second

    return {**now, **{name: lengths(before.get(name), now.get(name)) for name in ("expected", "facts")}}


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
    for length in sorted({cell.length for cell in source.cells() if not cell.streamed}):
        expected = form(length)
        if expected is not None:
            found[str(length)] = {"value": expected.value, "exact": expected.exact, "note": expected.note}
    return found or None


def _facts(system: Any, plan: Plan) -> dict[str, Any] | None:
    """Return what a system says about itself for the report, such as how long a context it was trained on, or None."""
    facts = getattr(system, "facts", None)
    if not callable(facts):
        return None
    kind = get_task(plan.task).kind
    frame = (plan.style.size, plan.style.size) if kind == "frame" else None
    found: dict[str, Any] = facts(kind, sorted({cell.length for cell in plan.source.cells()}), frame)
    return found


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
