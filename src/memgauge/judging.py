"""Judge a run: answers that rules could not decide get the verdict of a model, one after the other, resumably."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memgauge.errors import InputError
from memgauge.files import write_whole
from memgauge.grading.conversation import judged_text
from memgauge.grading.judge.asking import Asking, Judge, Judged, JudgeFailedError, judge_all
from memgauge.grading.judge.cache import JudgeCache
from memgauge.grading.judge.files import VerdictRow
from memgauge.grading.judge.prompts import Message
from memgauge.grading.subtypes import BY_RULE
from memgauge.progress import Progress
from memgauge.responses import JUDGE_AGAIN, ResponseLog, load_responses
from memgauge.run import read_record
from memgauge.systems.models.conversing import chat
from memgauge.systems.models.endpoint import NoAnswerError
from memgauge.systems.models.faults import Refused
from memgauge.systems.models.system import ModelSystem
from memgauge.systems.registry import make_system
from memgauge.systems.spec import format_spec, parse_spec
from memgauge.verdict_rows import item_of, with_verdict

if TYPE_CHECKING:
    import polars as pl

CACHE = "judge.sqlite"
"""The cache of verdicts in a run folder."""
BLOCK = 64
"""Verdicts from the cache that are written together."""
ATTEMPTS = 3
"""How often a judge is asked about one answer, when its replies are unclear or it fails."""
WAIT_S = 1.0
"""Seconds before it is asked again after a failure; doubled each time."""


@dataclass(slots=True)
class JudgeSummary:
    """What a judge did."""

    judge: str
    waiting: int = 0
    """Answers that needed a verdict."""
    judged: int = 0
    cached: int = 0
    """Of these, verdicts that the cache knew."""
    unparsed: int = 0
    judge_error: int = 0
    first_errors: list[str] = field(default_factory=list)


def make_judge(spec: str) -> ModelSystem:
    """Make a judge of a system specification; it does not think unless the specification says so.

    Raises `InputError` for anything but a model behind an endpoint.
    """
    parsed = parse_spec(spec)
    if parsed.name != "model":
        raise InputError(f"--judge {spec!r}: a judge is a model behind an endpoint: model:name=...,base_url=...")
    if "thinking" not in parsed.parameters:
        spec = format_spec(parsed.name, {**parsed.parameters, "thinking": "off"})
    judge = make_system(spec)
    assert isinstance(judge, ModelSystem)
    return judge


def judge_run(
    folder: Path,
    spec: str,
    *,
    cache: Path | None = None,
    replace_verdicts: bool = False,
    concurrency: int = 8,
    show_progress: bool = True,
) -> JudgeSummary:
    """Ask a judge about every answer of a run that waits for one, and write the verdicts into the run.

    Verdicts are written as they come, so that a run that was stopped goes on where it was. What the judge did not
    answer clearly stays without a verdict and is asked again the next time.

    Parameters
    ----------
    folder : a run folder.
    spec : the judge, as `model:name=...,base_url=...`.
    cache : a SQLite file of verdicts; `judge.sqlite` in the run folder by default.
    replace_verdicts : ask again about answers that another judge decided; without it two judges are not mixed.

    Raises `InputError`, and `RunStoppedError` where the judge cannot be asked at all.
    """
    judge = make_judge(spec)
    record = read_record(folder)
    with ResponseLog(folder) as log, JudgeCache(cache or folder / CACHE) as kept:
        rows = waiting_rows(load_responses(folder), judge.name, folder, replace_verdicts)
        summary = JudgeSummary(judge.name, waiting=len(rows))
        asking = Asking(
            asker(judge),
            judge.model,
            {"identity": judge.identity, "version": judge.version},
            concurrency=judge.concurrency or concurrency,
            attempts=ATTEMPTS,
            wait_s=WAIT_S,
        )
        with Progress("verdicts", len(rows) if show_progress else None) as bar:
            run_to_end(_judge(rows, asking, kept, log, summary, bar, judge))
        log.finish()
        record["judges"] = sorted({*record.get("judges", []), judge.name})
        write_whole(folder / "run.json", json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    return summary


def waiting_rows(rows: pl.DataFrame, judge: str, folder: Path, replace_verdicts: bool) -> list[dict[str, Any]]:
    """Return the rows that this judge has to decide on. Raises `InputError` where another judge has decided."""
    import polars as pl

    graded = rows.filter(pl.col("rule").is_not_null())
    others = graded.filter(pl.col("judge").is_not_null() & (pl.col("judge") != judge) & pl.col("correct").is_not_null())
    if others.height and not replace_verdicts:
        raise InputError(
            f"{folder} holds {others.height} verdicts of {others['judge'][0]}; verdicts of two judges are not mixed: "
            "give --replace to judge these answers again"
        )
    wanted = graded.filter(pl.col("outcome").is_in(JUDGE_AGAIN))
    return pl.concat([wanted, others]).to_dicts()


def asker(judge: ModelSystem) -> Judge:
    """Return a judge that asks a model; what it cannot answer raises `JudgeFailedError`."""

    async def ask(messages: Sequence[Message]) -> str:
        try:
            outcome = await chat(judge, messages)
        except NoAnswerError as error:
            raise JudgeFailedError(str(error)) from error
        if isinstance(outcome, Refused):
            raise JudgeFailedError(f"refused as {outcome.kind}: {outcome.said}")
        return outcome.raw

    return ask


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, also in a notebook, where a loop runs in this thread already."""
    if asyncio._get_running_loop() is None:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


async def _judge(
    rows: Sequence[dict[str, Any]],
    asking: Asking,
    cache: JudgeCache,
    log: ResponseLog,
    summary: JudgeSummary,
    bar: Progress,
    judge: ModelSystem,
) -> None:
    by_key = {row["key"]: row for row in rows}
    done: list[dict[str, Any]] = []
    try:
        async for judged in judge_all(map(item_of, rows), asking, cache):
            row = with_verdict(by_key[judged.id], judged, summary.judge)
            done.append(row)
            _count(summary, judged, row)
            if len(done) >= BLOCK or not judged.cached:
                log.append(done)
                done.clear()
            bar.advance()
    finally:
        log.append(done)
        await judge.aclose()


def _count(summary: JudgeSummary, judged: Judged, row: Mapping[str, Any]) -> None:
    if judged.value is not None:
        summary.judged += 1
        summary.cached += judged.cached
        return
    if row["outcome"] == "unparsed":
        summary.unparsed += 1
    else:
        summary.judge_error += 1
    if len(summary.first_errors) < 5:
        summary.first_errors.append(f"{row['system']}, {row['episode']}: {row['error']}")


def run_verdicts(folder: Path, who: Literal["run", "judge", "rules"] = "run") -> list[VerdictRow]:
    """Return verdicts of a run on questions in words, for comparison with others and for labelling by people.

    Parameters
    ----------
    folder : a run folder.
    who : `run`, what counted in the run, by rule or judge; `judge`, only what a judge was asked about; `rules`, the
        typed grades of the subtypes that rules decide alone (MEMLENS, typed audit). In a run of `official` grading the
        last two are of the same answers.

    A question is named by its episode, length and arm. Raises `InputError` where there is none.
    """
    import polars as pl

    rows = load_responses(folder).filter(pl.col("rule").is_not_null() & pl.col("raw_output").is_not_null())
    if who == "judge":
        rows = rows.filter(pl.col("judge").is_not_null())
    elif who == "rules":
        rows = rows.filter(pl.col("subtype").is_in(sorted(BY_RULE)) & pl.col("rule_correct").is_not_null())
    if not rows.height:
        what = {"run": "answers in words", "judge": "verdicts of a judge", "rules": "answers that rules decide"}[who]
        raise InputError(f"{folder} holds no {what}")
    verdict = pl.col("rule_correct" if who == "rules" else "correct").cast(pl.Int8)
    return [
        VerdictRow(
            f"{row['episode']}/{row['length']}/{row['arm']}",
            row["verdict"],
            row["subtype"] or "",
            row["system"],
            row["question"] or "",
            row["gold"] or "",
            judged_text(row["raw_output"] or "", row["grading"] or "strict"),
        )
        for row in rows.with_columns(verdict=verdict).to_dicts()
    ]


def as_dict(summary: JudgeSummary, out: Path) -> dict[str, Any]:
    """Return a summary as a JSON document."""
    return {
        "out": str(out),
        "judge": summary.judge,
        "waiting": summary.waiting,
        "judged": summary.judged,
        "cached": summary.cached,
        "unparsed": summary.unparsed,
        "judge_error": summary.judge_error,
        "first_errors": summary.first_errors,
    }
