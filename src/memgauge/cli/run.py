"""`memgauge run`: ask memory systems about streams."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from memgauge.cli.conversation_options import (
    ConversationOptions,
    refuse_conversation_options,
    refuse_stream_options,
)
from memgauge.cli.options import Json, integers, names

if TYPE_CHECKING:
    from memgauge.run import Plan, Subject
    from memgauge.tasks import FrameStyle, Source


def run(
    task: Annotated[str, Parameter(help="ecc-tokens, ecc-text, ecc-video or memlens; see `memgauge list tasks`.")],
    /,
    *,
    system: Annotated[
        list[str],
        Parameter(
            negative="",
            help="A system: NAME[:k=v,...] (see `memgauge list systems`), or your own as import:package.module:Name. "
            "Give it once for each system.",
        ),
    ],
    out: Annotated[
        Path | None, Parameter(help="The run folder. A folder with the same data is extended or resumed.")
    ] = None,
    data: Annotated[
        Path | None,
        Parameter(
            help="A folder made by `memgauge streams make`, instead of --count ...; for memlens a folder or a file of "
            "histories."
        ),
    ] = None,
    lengths: Annotated[
        str | None,
        Parameter(
            name=("--lengths", "--length"),
            help="Stream lengths, comma-separated [256,1024; all of --data]; for memlens 32k,64k,...",
        ),
    ] = None,
    bands: Annotated[
        str | None, Parameter(help="low, max, easyhuman, comma-separated [low,max; all of --data].")
    ] = None,
    count: Annotated[
        int | None,
        Parameter(
            help="Streams in each cell, when they are made on the fly [20]; for memlens a stratified draw of so many "
            "questions."
        ),
    ] = None,
    queries: Annotated[int | None, Parameter(help="Questions a stream, half of them positive [16].")] = None,
    negatives: Annotated[
        str | None, Parameter(help="How false candidates are drawn: uniform (the paper's), matched, or both [uniform].")
    ] = None,
    seed: Annotated[int | None, Parameter(help="All streams and questions follow from it [0].")] = None,
    arms: Annotated[
        str | None, Parameter(help="Payoff arms: none, A (+3/-1), B (+1/-4), comma-separated [none].")
    ] = None,
    timeout: Annotated[
        float,
        Parameter(
            help="Seconds that one call of a system may take (models behind an endpoint have their own deadline=...)."
        ),
    ] = 300.0,
    concurrency: Annotated[
        int,
        Parameter(
            help="Questions in flight, for systems that answer asynchronously and name no concurrency of their own."
        ),
    ] = 16,
    frame_format: Annotated[
        Literal["png", "jpeg"] | None, Parameter(help="How frames are encoded, for video tasks [png].")
    ] = None,
    frame_size: Annotated[int | None, Parameter(help="Height and width of frames, for video tasks [448].")] = None,
    max_requests: Annotated[
        int | None, Parameter(help="Requests that each model behind an endpoint may be sent, tries included.")
    ] = None,
    max_tokens: Annotated[
        int | None, Parameter(help="Tokens, read and written, that each model behind an endpoint may spend.")
    ] = None,
    max_inflight_mb: Annotated[
        int | None, Parameter(help="MiB of requests in memory, for models behind an endpoint [512].")
    ] = None,
    replace: Annotated[
        bool,
        Parameter(negative="", help="Drop rows of an earlier version of a system instead of refusing to mix them."),
    ] = False,
    dry_run: Annotated[
        bool, Parameter(negative="", help="Say how many questions, tokens and FLOPs it would be, and stop.")
    ] = False,
    conversation: ConversationOptions | None = None,
    json: Json = False,
) -> int:
    """Ask memory systems about streams or conversations, and write one row a question to OUT/responses.parquet.

    Stopped at any moment (Ctrl-C, kill -9, a full disk), the same command goes on where it was; questions that ended in
    an error are asked again. Exit status: 0, or 2 for an input that cannot be used.
    """
    from memgauge import run as runner
    from memgauge.errors import InputError

    options = conversation or ConversationOptions()
    with contextlib.redirect_stdout(sys.stderr):
        subjects = subjects_of(system, task)
    source, shown = _source(task, data, lengths, bands, count, queries, negatives, seed, arms, options)
    if options.judge is not None:
        from memgauge.judging import make_judge

        make_judge(options.judge)  # a mistake is told before anything is asked
    plan = runner.Plan(
        task=task,
        source=source,
        subjects=subjects,
        style=_style(task, frame_format, frame_size),
        arms=shown,
        timeout=timeout,
        concurrency=concurrency,
        replace=replace,
    )
    limits = {"max_requests": max_requests, "max_total_tokens": max_tokens, "max_inflight_mb": max_inflight_mb}
    _limit(plan.subjects, {name: value for name, value in limits.items() if value is not None})
    if dry_run:
        return _dry_run(plan, json)
    if out is None:
        raise InputError("where to? give --out FOLDER (only --dry-run does without)")
    # What a system prints must not end up in the one document on standard output.
    with contextlib.redirect_stdout(sys.stderr):
        summary = runner.execute(plan, out.absolute(), command=["memgauge", *sys.argv[1:]])
    verdicts = None
    if options.judge is not None:
        from memgauge.cli.judge import judged

        verdicts = judged(out.absolute(), options.judge)
    for line in summary.notes:
        print(f"memgauge: note: {line}", file=sys.stderr)
    if summary.errors:
        print(
            f"memgauge: {summary.errors} of {summary.asked} questions ended in an error; the same command asks them "
            "again:",
            file=sys.stderr,
        )
        for line in summary.first_errors:
            print(f"  {line}", file=sys.stderr)
    if json:
        from memgauge.cli.output import print_json

        print_json(
            {
                "run": summary.run,
                "out": str(out),
                "asked": summary.asked,
                "already_there": summary.already_there,
                "errors": summary.errors,
                "first_errors": summary.first_errors,
                "notes": summary.notes,
                **({} if verdicts is None else {"verdicts": verdicts}),
            }
        )
    else:
        print(f"{summary.asked} questions asked, {summary.already_there} were there: {out}")
        print(f"next: memgauge report {out} --out {out / 'report.html'}")
    return 0


def _source(
    task: str,
    data: Path | None,
    lengths: str | None,
    bands: str | None,
    count: int | None,
    queries: int | None,
    negatives: str | None,
    seed: int | None,
    arms: str | None,
    options: ConversationOptions,
) -> tuple[Source, tuple[str, ...]]:
    """Return the episodes that the options describe, and the arms; options that the task has no use for are refused."""
    from memgauge.tasks import get_task

    if get_task(task).kind == "session":
        refuse_stream_options({"--bands": bands, "--queries": queries, "--negatives": negatives, "--arms": arms})
        histories = options.source(data, lengths, count, seed)
        return histories, (histories.ablation.arm,)
    refuse_conversation_options(options, task)
    return _streams(data, lengths, bands, count, queries, negatives, seed), names("--arms", arms) or ("none",)


def _streams(
    data: Path | None,
    lengths: str | None,
    bands: str | None,
    count: int | None,
    queries: int | None,
    negatives: str | None,
    seed: int | None,
) -> Source:
    """Return the streams that the options describe; options that a folder decides for itself are refused beside it."""
    from memgauge.errors import InputError
    from memgauge.tasks import MadeStreams, StoredStreams

    if data is not None:
        given = {"--count": count, "--queries": queries, "--negatives": negatives, "--seed": seed}
        useless = [name for name, value in given.items() if value is not None]
        if useless:
            raise InputError(f"{', '.join(useless)}: the folder of --data decides that; leave it out")
        return StoredStreams(data, integers("--lengths", lengths) or None, names("--bands", bands) or None)
    default = MadeStreams()
    options: dict[str, Any] = {
        "lengths": integers("--lengths", lengths) or default.lengths,
        "bands": names("--bands", bands) or default.bands,
        "count": default.count if count is None else count,
        "queries": default.queries if queries is None else queries,
        "negatives": names("--negatives", negatives) or default.negatives,
        "seed": default.seed if seed is None else seed,
    }
    return MadeStreams(**options)


def _style(task: str, frame_format: Literal["png", "jpeg"] | None, frame_size: int | None) -> FrameStyle:
    """Return how frames are encoded; refuse options that the task has no use for."""
    from memgauge.errors import InputError
    from memgauge.tasks import FrameStyle, get_task

    given = {"--frame-format": frame_format, "--frame-size": frame_size}
    useless = [name for name, value in given.items() if value is not None]
    if useless and get_task(task).kind != "frame":
        raise InputError(f"{', '.join(useless)}: the task {task} shows no frames; leave it out, or ask for ecc-video")
    return FrameStyle(frame_format or "png", 448 if frame_size is None else frame_size)


def subjects_of(specs: Sequence[str], task: str) -> tuple[Subject, ...]:
    """Make the systems that the specifications name.

    About video, a known-answer system keeps the belts of letters as well: its name then says so.
    """
    from memgauge.run import Subject
    from memgauge.systems.known.lane_map import with_lanes
    from memgauge.systems.registry import fingerprint, make_system, system_name
    from memgauge.tasks import get_task

    subjects = []
    for spec in specs:
        named = make_system(spec)
        system = with_lanes(named) if get_task(task).kind == "frame" else named
        suffix = "" if system is named else f" as {system.name} version={system.version}"
        subjects.append(
            Subject(
                system=system,
                name=system_name(system, spec),
                fingerprint=fingerprint(named, spec) + suffix,
                spec=spec,
                description=str(getattr(system, "description", "")),
            )
        )
    return tuple(subjects)


def _limit(subjects: Sequence[Subject], limits: dict[str, int]) -> None:
    """Hand limits to the systems that take them; a limit that none of them takes is refused."""
    from memgauge.errors import InputError

    if not limits:
        return
    takers = [subject.system.limit for subject in subjects if callable(getattr(subject.system, "limit", None))]
    if not takers:
        raise InputError(
            "--max-requests, --max-tokens and --max-inflight-mb are for models behind an endpoint (model:...)"
        )
    for limit in takers:
        limit(**limits)


def _dry_run(plan: Plan, json: bool) -> int:
    """Print how much a run would ask."""
    from memgauge.cli.output import print_json
    from memgauge.estimate import FORECAST, estimate

    cells = estimate(plan)
    names = ("questions", "stream_tokens", "question_tokens", *FORECAST, "flops")
    total = _sums(cells, names)
    if json:
        print_json({"total": total, "cells": cells})
        return 0
    _print_sums(
        plan,
        cells,
        f"would ask in {len(cells) // len(plan.subjects)} cells (estimated from one stream a cell)",
        {"questions": "questions", "stream_tokens": "stream tokens", "question_tokens": "question tokens",
         "flops": "FLOPs"},
    )  # fmt: skip
    sending = [cell for cell in cells if cell["requests"] is not None]
    if sending:
        _print_sums(
            plan,
            sending,
            "would send",
            {"requests": "requests", "prompt_tokens": "prompt tokens", "most_answer_tokens": "answer tokens, at most",
             "images": "pictures", "request_bytes": "MiB"},
        )  # fmt: skip
    for line in dict.fromkeys(line for cell in cells for line in cell["assumed"]):
        print(f"note: {line}")
    return 0


def _print_sums(plan: Plan, cells: Sequence[dict[str, Any]], title: str, columns: dict[str, str]) -> None:
    """Print the sums of each system and of all."""
    from memgauge.cli.output import print_table

    rows = []
    for name in (subject.name for subject in plan.subjects):
        own = [cell for cell in cells if cell["system"] == name]
        if own:
            rows.append([name, *(_cell(key, value) for key, value in _sums(own, list(columns)).items())])
    rows.append(["all", *(_cell(key, value) for key, value in _sums(cells, list(columns)).items())])
    print_table(title, ("system", *columns.values()), rows)


def _sums(cells: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, int | None]:
    """Add cells up; of what only systems that send requests have, theirs. None where a part is not known."""
    from memgauge.estimate import FORECAST

    found: dict[str, int | None] = {}
    for name in names:
        values = [cell[name] for cell in cells if name not in FORECAST or cell["requests"] is not None]
        found[name] = None if None in values or not values else sum(values)
    return found


def _cell(name: str, value: int | None) -> str:
    if value is None:
        return "unknown"
    if name.endswith("_bytes"):
        return f"{value / 2**20:,.1f}"
    if name == "flops":
        from memgauge.report.text import flops

        return flops(value)
    return f"{value:,}"
