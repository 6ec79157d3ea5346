"""`memgauge run`: ask memory systems about streams."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from memgauge.cli.options import Json, integers, names

if TYPE_CHECKING:
    from memgauge.run import Plan, Subject
    from memgauge.tasks import FrameStyle, Source


def run(
    task: Annotated[str, Parameter(help="ecc-tokens, ecc-text or ecc-video; see `memgauge list tasks`.")],
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
        Path | None, Parameter(help="A folder made by `memgauge streams make`, instead of --count ...")
    ] = None,
    lengths: Annotated[str | None, Parameter(help="Stream lengths, comma-separated [256,1024; all of --data].")] = None,
    bands: Annotated[
        str | None, Parameter(help="low, max, easyhuman, comma-separated [low,max; all of --data].")
    ] = None,
    count: Annotated[int | None, Parameter(help="Streams in each cell, when they are made on the fly [20].")] = None,
    queries: Annotated[int | None, Parameter(help="Questions a stream, half of them positive [16].")] = None,
    negatives: Annotated[
        str | None, Parameter(help="How false candidates are drawn: uniform (the paper's), matched, or both [uniform].")
    ] = None,
    seed: Annotated[int | None, Parameter(help="All streams and questions follow from it [0].")] = None,
    arms: Annotated[str, Parameter(help="Payoff arms: none, A (+3/-1), B (+1/-4), comma-separated.")] = "none",
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
    json: Json = False,
) -> int:
    """Ask memory systems about streams, and write one row a question to OUT/responses.parquet.

    Stopped at any moment (Ctrl-C, kill -9, a full disk), the same command goes on where it was; questions that ended in
    an error are asked again. Exit status: 0, or 2 for an input that cannot be used.
    """
    from memgauge import run as runner
    from memgauge.errors import InputError

    with contextlib.redirect_stdout(sys.stderr):
        subjects = subjects_of(system, task)
    plan = runner.Plan(
        task=task,
        source=_source(data, lengths, bands, count, queries, negatives, seed),
        subjects=subjects,
        style=_style(task, frame_format, frame_size),
        arms=names("--arms", arms),
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
            }
        )
    else:
        print(f"{summary.asked} questions asked, {summary.already_there} were there: {out}")
        print(f"next: memgauge report {out} --out {out / 'report.html'}")
    return 0


def _source(
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
    from memgauge.cli.output import print_json, print_table
    from memgauge.run import estimate

    cells = estimate(plan)
    flops = [cell["flops"] for cell in cells]
    total = {
        "questions": sum(cell["questions"] for cell in cells),
        "stream_tokens": sum(cell["stream_tokens"] for cell in cells),
        "question_tokens": sum(cell["question_tokens"] for cell in cells),
        "flops": None if None in flops else sum(flops),
    }
    if json:
        print_json({"total": total, "cells": cells})
        return 0
    keys = ("questions", "stream_tokens", "question_tokens", "flops")
    rows = []
    for subject in plan.subjects:
        own = [cell for cell in cells if cell["system"] == subject.name]
        sums = {k: None if any(c[k] is None for c in own) else sum(c[k] for c in own) for k in keys}
        rows.append([subject.name, *(_cell(sums[key]) for key in keys)])
    rows.append(["all", *(_cell(total[key]) for key in keys)])
    print_table(
        f"would ask in {len(cells) // len(plan.subjects)} cells (FLOPs estimated from one stream a cell)",
        ("system", "questions", "stream tokens", "question tokens", "FLOPs"),
        rows,
    )
    return 0


def _cell(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
