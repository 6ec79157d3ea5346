"""Say of every wrong answer of a run why it is wrong: by rule where the evidence is known, else by a judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.files import write_whole
from memgauge.grading.conversation import judged_text
from memgauge.grading.judge.asking import Asking, Heard, Read, ask_all
from memgauge.grading.judge.cache import JudgeCache
from memgauge.grading.judge.prompts import Request
from memgauge.grading.taxonomy import CAUSES, Cause, Evidence, Label, Labelled, cause_of, label_by_rules
from memgauge.grading.taxonomy_judge import error_request, parse_error
from memgauge.histories.evidence import read_evidence
from memgauge.judging import ATTEMPTS, BLOCK, CACHE, WAIT_S, asker, make_judge, run_to_end
from memgauge.progress import Progress
from memgauge.responses import ERROR_COLUMNS, ResponseLog, load_responses
from memgauge.run import read_record
from memgauge.systems.models.system import ModelSystem

CHECK = 100
"""Answers labelled by rule that a judge labels too, so that the two can be compared."""


@dataclass(slots=True)
class ErrorSummary:
    """What was labelled."""

    data: str | None
    """Where the evidence came from."""
    judge: str | None = None
    wrong: int = 0
    with_evidence: int = 0
    by_rules: int = 0
    by_judge: int = 0
    unlabelled: int = 0
    asked: int = 0
    """Answers that the judge was asked about in this call; `cached` of them were known."""
    cached: int = 0
    unparsed: int = 0
    judge_error: int = 0
    first_errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Case:
    """A wrong answer."""

    row: dict[str, Any]
    evidence: Evidence | None
    rules: Labelled


Said = tuple[Label, Cause]


class _Labels:
    """Clear labels in the cache of verdicts."""

    def __init__(self, cache: JudgeCache) -> None:
        self._cache = cache

    def find(self, key: str) -> tuple[Said, str] | None:
        """Return a kept label and the text it was read from."""
        kept = self._cache.get_reply(key)
        if kept is None:
            return None
        found = json.loads(kept)
        return (Label(found["label"]), next(c for c in CAUSES if c == found["cause"])), found["raw"]

    def keep(self, key: str, value: Said, raw: str) -> None:
        """Keep a label."""
        self._cache.put_reply(key, json.dumps({"label": str(value[0]), "cause": value[1], "raw": raw}))


def label_run(
    folder: Path,
    *,
    data: Path | None = None,
    judge: str | None = None,
    cache: Path | None = None,
    check: int = CHECK,
    seed: int = 0,
    concurrency: int = 8,
    show_progress: bool = True,
) -> ErrorSummary:
    """Label the wrong answers of a run on conversations and write the labels into the run.

    The rules label what they can. A judge labels the rest, and `check` of those that the rules decided, drawn by seed.
    Labels are written as they come: the same command goes on where it was.

    Parameters
    ----------
    folder : a run folder of memlens, or of imported results.
    data : the histories; by default those that the run says it used, where they still are.
    judge : `model:name=...,base_url=...`.
    cache : a SQLite file of replies; `judge.sqlite` in the run folder by default.

    Raises `InputError`, and `RunStoppedError` where the judge cannot be asked at all.
    """
    if check < 0 or concurrency < 1:
        raise InputError(f"--check must be at least 0 and --concurrency at least 1, got {check} and {concurrency}")
    model = None if judge is None else make_judge(judge)
    record = read_record(folder)
    source = data if data is not None else _named_data(record)
    with ResponseLog(folder) as log:
        rows = _wrong_rows(folder)
        evidence = {} if source is None else read_evidence(source, {row["episode"] for row in rows})
        if data is not None and rows and not evidence:
            raise InputError(f"{data} holds none of the questions of {folder}")
        summary = ErrorSummary(None if source is None else str(source), wrong=len(rows))
        cases = []
        with Progress("wrong answers", len(rows) if show_progress else None) as bar:
            for row in rows:
                known = evidence.get(row["episode"])
                summary.with_evidence += known is not None
                cases.append(_Case(row, known, _by_rules(row, known)))
                bar.advance()
        written = _Written(log, summary)
        if model is not None:
            summary.judge = model.name
            chosen = _to_ask(cases, model.name, check, seed)
            summary.asked = len(chosen)
            with JudgeCache(cache or folder / CACHE) as kept, Progress("labels", len(chosen)) as bar:
                asking = Asking(
                    asker(model),
                    model.model,
                    {"identity": model.identity, "version": model.version},
                    concurrency=model.concurrency or concurrency,
                    attempts=ATTEMPTS,
                    wait_s=WAIT_S,
                )
                run_to_end(_ask(chosen, asking, kept, written, bar, model))
        for case in cases:
            written.settle(case)
        written.flush()
        log.finish()
        if model is not None:
            record["judges"] = sorted({*record.get("judges", []), model.name})
            write_whole(folder / "run.json", json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    return summary


def _named_data(record: Mapping[str, Any]) -> Path | None:
    data = record.get("data")
    named = data.get("folder") if isinstance(data, dict) else None
    return Path(named) if isinstance(named, str) and Path(named).exists() else None


def _wrong_rows(folder: Path) -> list[dict[str, Any]]:
    import polars as pl

    rows = load_responses(folder)
    if not rows["rule"].drop_nulls().len():
        raise InputError(f"{folder} holds no answers in words: only those of memlens are sorted by the kind of error")
    return rows.filter(pl.col("rule").is_not_null() & ~pl.col("correct")).to_dicts()


def _by_rules(row: Mapping[str, Any], evidence: Evidence | None) -> Labelled:
    raw = row["raw_output"] or ""
    found = label_by_rules(
        row["answer"] or judged_text(raw, row["grading"] or "strict"),
        raw,
        subtype=row["subtype"] or "",
        reference=row["gold"] or "",
        evidence=evidence,
        old_answer=row["old_answer"],
        abstained=row["outcome"] == "abstained",
    )
    if found.label is not None and found.cause is None and row["visual_need"] is not None:
        shown = Evidence(shown=row["visual_need"] != "sufficient")
        return Labelled(found.label, found.rule, cause_of(found.label, row["subtype"] or "", shown))
    return found


def _to_ask(cases: Sequence[_Case], judge: str, check: int, seed: int) -> list[_Case]:
    """Return those that the rules left open, and a draw of the others."""

    def rank(case: _Case) -> bytes:
        return hashlib.blake2b(f"{seed}|error-check|{case.row['key']}".encode(), digest_size=16).digest()

    drawn = sorted((case for case in cases if case.rules.label is not None), key=rank)[:check]
    wanted = [*(case for case in cases if case.rules.label is None), *drawn]
    return [case for case in wanted if not (case.row["error_judge"] == judge and case.row["error_judge_label"])]


class _Written:
    """Writes the rows whose labels have changed."""

    def __init__(self, log: ResponseLog, summary: ErrorSummary) -> None:
        self.log, self.summary = log, summary
        self.waiting: list[dict[str, Any]] = []
        self.judged: dict[str, tuple[str, Said]] = {}

    def heard(self, case: _Case, judge: str, said: Said) -> None:
        """Take in what a judge said of a case, and write it at once."""
        self.judged[case.row["key"]] = (judge, said)
        self._put(case)

    def settle(self, case: _Case) -> None:
        """Count a case, and write it unless that was done."""
        found = self._columns(case)
        summary = self.summary
        summary.by_rules += found["error_by"] == "rules"
        summary.by_judge += found["error_by"] == "judge"
        summary.unlabelled += found["error_label"] is None
        if case.row["key"] not in self.judged:
            self._put(case)

    def _put(self, case: _Case) -> None:
        found = self._columns(case)
        if any(case.row[name] != value for name, value in found.items()):
            self.waiting.append({**case.row, **found})
        if len(self.waiting) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        self.log.append(self.waiting)
        self.waiting.clear()

    def _columns(self, case: _Case) -> dict[str, Any]:
        row, rules = case.row, case.rules
        judge, label, cause = row["error_judge"], row["error_judge_label"], row["error_judge_cause"]
        if row["key"] in self.judged:
            judge, (label, cause) = self.judged[row["key"]]
        decided = rules.label is not None
        label = None if label is None else str(label)
        found = {
            "error_label": str(rules.label) if decided else label,
            "error_cause": rules.cause if decided else cause,
            "error_by": "rules" if decided else None if label is None else "judge",
            "error_rule": rules.rule,
            "error_judge": judge,
            "error_judge_label": label,
            "error_judge_cause": cause,
        }
        assert found.keys() == set(ERROR_COLUMNS)
        return found


async def _ask(
    cases: Sequence[_Case], asking: Asking, cache: JudgeCache, written: _Written, bar: Progress, judge: ModelSystem
) -> None:
    def requests() -> Iterator[tuple[_Case, Request]]:
        for case in cases:
            row = case.row
            request = error_request(
                row["question"] or "",
                row["gold"] or "",
                judged_text(row["raw_output"] or "", row["grading"] or "strict"),
                evidence=case.evidence.texts if case.evidence else (),
                old_answer=row["old_answer"],
            )
            yield case, request

    try:
        async for heard in ask_all(requests(), _read, asking, _Labels(cache)):
            _take(heard, written, judge.name)
            bar.advance()
    finally:
        written.flush()
        await judge.aclose()


def _read(raw: str, request: Request) -> Read[Said]:
    found = parse_error(raw, request.fence)
    if found.label is None or found.cause is None:
        return Read(None, found.rule)
    return Read((found.label, found.cause), found.rule)


def _take(heard: Heard[_Case, Said], written: _Written, judge: str) -> None:
    summary = written.summary
    if heard.value is not None:
        written.heard(heard.item, judge, heard.value)
        summary.cached += heard.attempts == 0
        return
    if heard.error is None:
        summary.unparsed += 1
    else:
        summary.judge_error += 1
    if len(summary.first_errors) < 5:
        row = heard.item.row
        summary.first_errors.append(f"{row['system']}, {row['episode']}: {heard.error or heard.rule}")
