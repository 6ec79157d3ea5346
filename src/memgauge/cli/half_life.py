"""`memgauge half-life`: the decay of fidelity with the time since a view was last seen, or of any score with age."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from memgauge.cli.options import Json
from memgauge.cli.rollout_options import FitParameters, RevisitParameters, TrackOptions, changed

if TYPE_CHECKING:
    from memgauge.metrics.half_life import HalfLifeResult

OTHER = Group("Other inputs", sort_key=1)
BY = "system,task,arm"


def half_life(
    videos: Annotated[
        tuple[Path, ...],
        Parameter(help="One video; or several, or folders of them (a batch: needs --out).", negative=""),
    ] = (),
    /,
    *,
    pairs: Annotated[
        Path | None, Parameter(group=OTHER, help="CSV of ready-made pairs: header gap,fidelity (gap in seconds).")
    ] = None,
    responses: Annotated[
        Path | None, Parameter(group=OTHER, help="A run folder or responses table: scores by age of the evidence.")
    ] = None,
    unit: Annotated[
        str | None, Parameter(group=OTHER, help="With --responses: the unit of age (tokens, sessions, days, ...).")
    ] = None,
    by: Annotated[
        str, Parameter(group=OTHER, help="With --responses: columns that part the rows, comma-separated.")
    ] = BY,
    out: Annotated[
        Path | None, Parameter(help="Folder of a batch: results.jsonl, results.csv, report.html; the same goes on.")
    ] = None,
    html: Annotated[Path | None, Parameter(help="Write the report as a page to this file.")] = None,
    jobs: Annotated[int | None, Parameter(help="Videos measured at a time; one a core if not given.")] = None,
    track: TrackOptions = TrackOptions(),  # noqa: B008
    revisits: RevisitParameters = RevisitParameters(),  # noqa: B008
    fit: FitParameters = FitParameters(),  # noqa: B008
    json: Json = False,
) -> int:
    """Fit a exp(-gap / tau) + b to revisit fidelity and report the half-life tau ln 2 with its interval and verdict.

    A verdict of any kind exits with 0; an input that cannot be read with 2.
    """
    from memgauge.errors import InputError

    if sum([bool(videos), pairs is not None, responses is not None]) != 1:
        raise InputError("give videos, --pairs FILE.csv or --responses RUN: one of them")
    if not videos:
        _refuse({"--out": out, "--jobs": jobs}, "is for videos")
        _refuse(changed(track) | changed(revisits), "is for videos")
    if responses is None:
        _refuse({"--unit": unit, "--by": None if by == BY else by}, "is for --responses")
    if pairs is not None:
        return _of_pairs(pairs, html, fit, json)
    if responses is not None:
        return _of_responses(responses, unit, by, html, fit, json)
    if out is not None or len(videos) > 1 or videos[0].is_dir():
        if out is None:
            raise InputError("a batch of videos needs --out FOLDER for its results")
        _refuse({"--html": html}, "is for one video; a batch writes report.html into --out")
        return _of_batch(videos, out, jobs, track, revisits, fit, json)
    _refuse({"--jobs": jobs}, "is for a batch of videos")
    return _of_video(videos[0], html, track, revisits, fit, json)


def _refuse(options: dict[str, object], why: str) -> None:
    """Raise for the first option that was given but would do nothing."""
    from memgauge.errors import InputError

    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} {why}")


def _of_pairs(path: Path, html: Path | None, fit: FitParameters, json: bool) -> int:
    from memgauge.metrics.half_life import fit_half_life
    from memgauge.metrics.half_life_pairs import read_pairs

    table = read_pairs(path)
    result = fit_half_life(table.gaps, table.fidelities, events=table.events, names=table.names, **fit.common())
    if html is not None:
        from memgauge.report.half_life import write_pairs_report

        write_pairs_report(html, path.name, result, table.gaps, table.fidelities)
    _print(str(path), result, json)
    return 0


def _of_responses(path: Path, unit: str | None, by: str, html: Path | None, fit: FitParameters, json: bool) -> int:
    from memgauge.cli.options import names
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.metrics.half_life_responses import fit_responses
    from memgauge.responses import load_responses

    if fit.method == "swept":
        raise InputError("--method swept is for pairs: it knows no episodes")
    groups = fit_responses(
        load_responses(path),
        unit=unit,
        by=names("--by", by),
        bounds=fit.bounds,
        gate=fit.chosen_gate(),
        permutations=999 if fit.permutations is None else fit.permutations,
        seed=fit.seed,
        t_ref=fit.t_ref,
    )
    if html is not None:
        from memgauge.report.half_life import write_responses_report

        write_responses_report(html, path.name, groups)
    if json:
        documents = [group.to_dict() for group in groups]
        alone = documents[0] if len(documents) == 1 else {}
        print_json({"source": str(path), "groups": documents, **alone})
        return 0
    for group in groups:
        left = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in group.left_out.items() if count)
        more = [("rows left out", left)] if left else []
        show(" / ".join(str(value) for value in group.key.values()), group.result, more)
    return 0


def _of_video(
    video: Path,
    html: Path | None,
    track: TrackOptions,
    revisits: RevisitParameters,
    fit: FitParameters,
    json: bool,
) -> int:
    from memgauge.cli.output import print_json
    from memgauge.cli.rollout_options import measure_options
    from memgauge.rollouts.measure import measure

    options = measure_options(track, revisits, fit)
    thumbnails = None
    if html is not None:
        from memgauge.report.half_life_pictures import Thumbnails

        thumbnails = Thumbnails()
    rollout = measure(
        video,
        poses=options.poses,
        fps=options.fps,
        revisit=options.revisit,
        fit=options.fit,
        embedder=options.make_embedder(),
        observers=(thumbnails,) if thumbnails else (),
        progress=True,
    )
    if html is not None and thumbnails is not None:
        from memgauge.report.half_life import write_video_report

        write_video_report(html, rollout, thumbnails)
    if json:
        print_json(rollout.to_dict())
        return 0
    floor, fidelity = rollout.chance_floor, rollout.fidelity
    more = [("embedder", rollout.embedder)]
    if fidelity is not None:
        more.append(("mean revisit fidelity", f"{fidelity:.4g}"))
    if floor is not None:
        more.append(("unrelated views score", f"{floor:.4g}"))
    show(str(video), rollout.result, more + [("warning", warning) for warning in rollout.warnings])
    return 0


def _of_batch(
    videos: tuple[Path, ...],
    out: Path,
    jobs: int | None,
    track: TrackOptions,
    revisits: RevisitParameters,
    fit: FitParameters,
    json: bool,
) -> int:
    import sys
    from dataclasses import replace

    from memgauge.cli.output import print_json, print_table
    from memgauge.cli.rollout_options import measure_options
    from memgauge.errors import InputError
    from memgauge.report.half_life import write_batch_report
    from memgauge.rollouts.batch import plan, run_batch
    from memgauge.rollouts.leaderboard import leaderboard, leaderboard_rows

    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs must be at least 1, got {jobs}")
    plans = plan(videos, track.poses)
    records = run_batch(plans, measure_options(replace(track, poses=None), revisits, fit), out, workers=jobs)
    board = leaderboard(records)
    write_batch_report(out / "report.html", records, board)
    for record in records:
        if record["status"] == "error":
            print(f"memgauge: error: {record['detail']}", file=sys.stderr)
    if json:
        print_json({"out": str(out), "leaderboard": board, "videos": records})
    else:
        print_table("memory half-life", *leaderboard_rows(board))
        for model in board["models"]:
            refused = ", ".join(f"{count} {reason}" for reason, count in model["refused"].items())
            errors = f"{model['errors']} could not be read" if model["errors"] else ""
            if refused or errors:
                print(f"{model['model']}: {'; '.join(part for part in (refused, errors) if part)}")
        print(f"{out / 'report.html'}  {out / 'results.csv'}  {out / 'results.jsonl'}")
    return 0


def _print(title: str, result: HalfLifeResult, json: bool) -> None:
    from memgauge.cli.output import print_json

    if json:
        print_json(result.to_dict())
    else:
        show(title, result)


def show(title: str, result: HalfLifeResult, more: list[tuple[str, str]] | None = None) -> None:
    """Print a result for people."""
    from memgauge.cli.output import print_table
    from memgauge.metrics.half_life_document import lines

    print_table(title, ["memory half-life", ""], [*lines(result), *(more or [])])
