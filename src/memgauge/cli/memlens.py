"""`memgauge memlens`: why answers about conversations are wrong, and results of the public evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from memgauge.cli.options import Json

app = App(name="memlens", help="Kinds of errors, and results of the public evaluator, for MEMLENS.")


@app.command
def errors(
    run: Annotated[Path, Parameter(help="A run folder of memlens.")],
    /,
    *,
    data: Annotated[
        Path | None, Parameter(help="The histories, which tell the evidence [those that the run says it used].")
    ] = None,
    judge: Annotated[
        str | None, Parameter(help="Who labels what rules leave open: model:name=...,base_url=... [nobody].")
    ] = None,
    cache: Annotated[Path | None, Parameter(help="Replies that were paid for [RUN/judge.sqlite].")] = None,
    check: Annotated[int, Parameter(help="Answers labelled by rule that the judge labels too, for comparison.")] = 100,
    seed: Annotated[int, Parameter(help="Of that draw.")] = 0,
    concurrency: Annotated[int, Parameter(help="Requests in flight.")] = 8,
    redraws: Annotated[int, Parameter(help="Redraws of the bootstrap.")] = 4000,
    json: Json = False,
) -> int:
    """Label the wrong answers of a run by the kind of error, and write the labels into the run.

    Prints the shares of the seven labels by ability, what failed (seeing, reasoning, or both), how they shift with the
    length, and how far rules and judge agree. `memgauge report` shows the same. Stopped at any moment, the same command
    goes on where it was.
    """
    import sys
    from dataclasses import asdict

    from memgauge.cli.output import print_json
    from memgauge.error_labels import label_run
    from memgauge.metrics.cells import one_per_question
    from memgauge.metrics.inference import Resampler
    from memgauge.metrics.wrong_answers import wrong_answers
    from memgauge.responses import load_responses

    if redraws < 100:
        from memgauge.errors import InputError

        raise InputError(f"--redraws must be at least 100, got {redraws}")
    summary = label_run(run, data=data, judge=judge, cache=cache, check=check, seed=seed, concurrency=concurrency)
    document = wrong_answers(one_per_question(load_responses(run)), Resampler(redraws, seed))
    missing = summary.unparsed + summary.judge_error
    if missing:
        print(
            f"memgauge: the judge gave {missing} answers no label ({summary.unparsed} unclear replies, "
            f"{summary.judge_error} failures); the same command asks again:",
            file=sys.stderr,
        )
        for line in summary.first_errors:
            print(f"  {line}", file=sys.stderr)
    if json:
        print_json({"labelled": asdict(summary), "errors": document})
    else:
        _print_errors(asdict(summary), document)
    return 0


@app.command(name="compare-public")
def compare_public(
    files: Annotated[list[Path], Parameter(help="Result files and judge files of the public evaluator, in any order.")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="Write the regraded results here, as a run that `report` reads.")
    ] = None,
    data: Annotated[
        Path | None, Parameter(help="The histories: ids, questions and references are compared with theirs.")
    ] = None,
    grading: Annotated[Literal["strict", "official"], Parameter(help="How answers are graded.")] = "strict",
    length: Annotated[str | None, Parameter(help="Of all result files, such as 32k [what they say].")] = None,
    show: Annotated[int, Parameter(help="Differences that are printed.")] = 20,
    strict: Annotated[bool, Parameter(negative="", help="Stop at the first record that cannot be used.")] = False,
    json: Json = False,
) -> int:
    """Regrade results of the public evaluator, and show where verdicts differ and why.

    A result file is an object with `args` and `data`, a judge file a list of verdicts. With judge files the two
    verdicts are compared by ability; without them only our grades are given.
    """
    import sys

    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.public_comparison import compare, write_comparison

    if show < 0:
        raise InputError(f"--show must not be negative, got {show}")
    found = compare(files, data=data, mode=grading, length=length, strict=strict)
    for note in found.notes:
        print(f"memgauge: {note}", file=sys.stderr)
    if out is not None:
        write_comparison(found, out)
    document = found.document() | ({} if out is None else {"out": str(out)})
    if json:
        print_json(document)
    else:
        _print_public(document, show)
        if out is not None:
            print(f"{found.rows.height:,} rows: {out}\nnext: memgauge report {out} --out {out / 'report.html'}")
    return 0


def _print_errors(summary: dict[str, Any], document: dict[str, Any] | None) -> None:
    from memgauge.cli.output import print_table
    from memgauge.report.text import plain

    print(
        f"{summary['wrong']:,} wrong answers, the evidence of {summary['with_evidence']:,} is known: "
        f"{summary['by_rules']:,} labelled by rules, {summary['by_judge']:,} by the judge, "
        f"{summary['unlabelled']:,} without a label"
    )
    if document is None:
        return
    settings: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for group in document["groups"]:
        if group["grouping"] != "subtype":
            settings.setdefault((group["system"], group["arm"], group["length"]), []).append(group)
    for (system, arm, length), groups in settings.items():
        lines = [["labelled of wrong", *(f"{group['labelled']:,} of {group['wrong']:,}" for group in groups)]]
        lines += [
            [label.replace("_", " "), *(_percent(group["shares"][label]) for group in groups)]
            for label in document["labels"]
            if any(group["shares"][label]["hits"] for group in groups)
        ]
        lines.append(["near misses", *(_percent(group["near_miss"]) for group in groups)])
        lines += [
            [f"failed: {cause}", *(_percent(group["causes"][cause]) for group in groups)]
            for cause in document["causes"]
        ]
        where = f"{plain(system)}{'' if arm == 'none' else f', {arm}'}, L = {length:,}"
        print_table(f"{where}: shares, %", ["", *(plain(group["group"]) for group in groups)], lines)
    shifts = [s for s in document["shifts"] if s["grouping"] == "all" and s["difference"]["value"] is not None]
    if shifts:
        rows = [
            [
                f"{plain(s['system'])}: {s['label'].replace('_', ' ')}",
                f"{s['length_from']:,} to {s['length_to']:,}",
                _points(s["difference"]),
            ]
            for s in shifts
        ]
        print_table("Shift of the shares with the length", ["", "L", "points"], rows)
    agreement = document["agreement"]
    for part, what in (("label", "label"), ("group", "near or total miss"), ("cause", "what failed")):
        found = agreement[part]
        if found["n"]:
            kappa = "-" if found["kappa"] is None else f"{found['kappa']:.3f}"
            same = _percent(found["agreement"])
            print(f"Rules and judge, {what}: the same in {same} % of {found['n']:,}, kappa {kappa}")


def _percent(rate: dict[str, Any]) -> str:
    return "-" if rate["value"] is None else f"{100 * rate['value']:.1f}"


def _points(estimate: dict[str, Any]) -> str:
    limits = "" if estimate["low"] is None else f" [{100 * estimate['low']:+.1f}, {100 * estimate['high']:+.1f}]"
    return f"{100 * estimate['value']:+.1f}{limits}"


def _print_public(document: dict[str, Any], show: int) -> None:
    from memgauge.cli.output import print_table
    from memgauge.report.text import plain, short

    rows = [
        [
            f"{plain(file['system'])} ({plain(file['results'])})",
            f"{file['length']:,}",
            f"{file['records']:,}",
            f"{file['judged']:,}",
            _share(file["accuracy_ours"]),
            _share(file["accuracy_theirs"]),
        ]
        for file in document["files"]
    ]
    print_table("Results", ["system (file)", "L", "records", "judged", "our accuracy", "their accuracy"], rows)
    for part, title in (("decided", "Decided by rule"), ("first_reading", "First reading, where a judge decides")):
        found = document[part]
        if not found["overall"]["n"]:
            continue
        lines = [_agreed("all", found["overall"])]
        lines += [_agreed(name, one) for name, one in found["by_ability"].items()]
        columns = ["", "n", "agreement", "kappa", "right for them alone", "right for us alone"]
        print_table(f"{title}: their verdicts against ours", columns, lines)
    if document["reasons"]:
        lines = [[one["reason"], f"{one['n']:,}", one["means"]] for one in document["reasons"]]
        print_table("Why verdicts differ", ["reason", "n", "meaning"], lines, left=3)
    for one in document["differences"][:show]:
        said = short(plain(one["committed"] or ""), 60)
        print(
            f"{one['question_id']} ({one['subtype']}, {plain(one['system'])}): theirs {one['theirs']}, ours "
            f"{one['ours']}; {one['reason']}; rule: {one['rule']}; read {said!r} at {one['span']}, right is "
            f"{short(plain(one['reference']), 60)!r}"
        )
    left = len(document["differences"]) - show
    if left > 0 and show:
        print(f"{left:,} more differences are in the document of --json")


def _agreed(name: str, found: dict[str, Any]) -> list[str]:
    kappa = "-" if found["kappa"] is None else f"{found['kappa']:.3f}"
    return [
        name,
        f"{found['n']:,}",
        f"{_percent(found['agreement'])} %",
        kappa,
        f"{found['first_only']:,}",
        f"{found['second_only']:,}",
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
