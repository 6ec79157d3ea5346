"""`memgauge judge`: verdicts for a run, how far to trust a judge, and labels by people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from memgauge.cli.options import Json, names

if TYPE_CHECKING:
    from memgauge.grading.judge.files import VerdictRow
    from memgauge.metrics.verdicts import Verdicts

app = App(name="judge", help="Judge a run; how far to trust a judge: agreement, samples for labelling, labels.")


@app.command(name="run")
def run_judge(
    run: Annotated[Path, Parameter(help="A run folder of memlens.")],
    /,
    *,
    judge: Annotated[str, Parameter(help="The judge: model:name=...,base_url=... (it does not think by default).")],
    cache: Annotated[Path | None, Parameter(help="Verdicts that were paid for [RUN/judge.sqlite].")] = None,
    concurrency: Annotated[int, Parameter(help="Requests in flight.")] = 8,
    replace: Annotated[
        bool, Parameter(negative="", help="Judge answers again that another judge decided, instead of refusing.")
    ] = False,
    json: Json = False,
) -> None:
    """Give the answers of a run that rules could not decide the verdicts of a judge.

    Stopped at any moment, the same command goes on where it was. Replies without a clear verdict never count as wrong:
    the same command asks for them again.
    """
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError

    if concurrency < 1:
        raise InputError(f"--concurrency must be at least 1, got {concurrency}")
    document = judged(run, judge, cache=cache, replace=replace, concurrency=concurrency)
    if json:
        print_json(document)
    else:
        print(
            f"{document['judged']:,} of {document['waiting']:,} answers judged by {document['judge']} "
            f"({document['cached']:,} verdicts were known)"
        )


def judged(
    run: Path, judge: str, *, cache: Path | None = None, replace: bool = False, concurrency: int = 8
) -> dict[str, Any]:
    """Judge a run, tell on standard error what went wrong, and return what was done as a JSON document."""
    import sys

    from memgauge.judging import as_dict, judge_run

    summary = judge_run(run, judge, cache=cache, replace_verdicts=replace, concurrency=concurrency)
    missing = summary.unparsed + summary.judge_error
    if missing:
        print(
            f"memgauge: {missing} answers are without a verdict ({summary.unparsed} unclear replies, "
            f"{summary.judge_error} failures); `memgauge judge run` asks again:",
            file=sys.stderr,
        )
        for line in summary.first_errors:
            print(f"  {line}", file=sys.stderr)
    return as_dict(summary, run)


@app.command
def agree(
    first: Annotated[Path, Parameter(help="Verdicts of the judge in question: a run folder, CSV, JSON or JSON lines.")],
    second: Annotated[
        Path | None,
        Parameter(help="Verdicts to compare with: another judge, human labels [the typed grades of the run FIRST]."),
    ] = None,
    /,
    *,
    family: Annotated[
        list[str] | None,
        Parameter(negative="", help="NAME=PATTERN,PATTERN: systems of one model family, such as qwen=*qwen*; repeat."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare two sets of verdicts on the same answers, paired by system and question.

    Prints the agreement, Cohen's kappa with a 95 % interval, overall and by ability; false positives and negatives of
    the first, taking the second as right; the rank correlation of the systems' accuracies; where the answers are
    known, whether the first is more lenient to answers of one to three words, and the accuracies corrected for that;
    and whether it is more lenient to a family of systems.
    """
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.metrics.verdicts import agreement_document, read_families

    families = read_families(
        family or (), lambda text: InputError(f"--family {text!r}: give NAME=PATTERN,PATTERN, each name once")
    )
    if second is None and not first.is_dir():
        raise InputError(f"{first} is no run folder; name a second file of verdicts to compare it with")
    if second is None:
        rows_a, rows_b = _verdicts(first, "judge"), _verdicts(first, "rules")
    else:
        rows_a, rows_b = _verdicts(first), _verdicts(second)
    if not all(row.system for row in rows_a) or not all(row.system for row in rows_b):
        rows_a, rows_b = _without_system(rows_a, first), _without_system(rows_b, second or first)
    others = {row.key: row for row in rows_b}
    pairs = [_pair(row, others[row.key]) for row in rows_a if row.key in others]
    if not pairs:
        raise InputError(f"{first} and {second or 'its typed grades'} have no question in common")
    document = agreement_document(pairs, rated=[_pair(row, others.get(row.key)) for row in rows_a], families=families)
    document["only_first"] = len(rows_a) - len(pairs)
    document["only_second"] = len(rows_b) - len(pairs)
    if json:
        print_json(document)
    else:
        _print_agreement(document)


@app.command
def sample(
    file: Annotated[
        Path, Parameter(help="Verdicts with questions and answers: a run folder, CSV, JSON or JSON lines.")
    ],
    /,
    *,
    out: Annotated[Path, Parameter(help="The CSV to write; it must not be there yet.")],
    n: Annotated[int, Parameter(name="--n", help="How many answers to draw.")] = 100,
    by: Annotated[str, Parameter(help="Strata, separated by commas: task, system, value.")] = "task,value",
    seed: Annotated[int, Parameter(help="Of the draw.")] = 0,
    json: Json = False,
) -> None:
    """Draw a stratified sample for people to label, without the judge's verdicts.

    Fill in the column `label` with 0 or 1 (empty: not labelled), then `memgauge judge import`.
    """
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.files import write_whole
    from memgauge.grading.judge.files import labels_csv, stratified_sample

    strata = names("--by", by)
    unknown = [name for name in strata if name not in ("task", "system", "value")]
    if unknown:
        raise InputError(f"--by {by!r}: {unknown[0]!r} is no stratum; known: task, system, value")
    if n < 1:
        raise InputError(f"--n must be at least 1, got {n}")
    if seed < 0:
        raise InputError(f"--seed must not be negative, got {seed}")
    if out.exists():
        raise InputError(f"{out}: is there already, perhaps with labels in it; name another file")
    rows = _verdicts(file)
    drawn = stratified_sample(rows, n, strata, seed)
    write_whole(out, labels_csv(drawn))
    if json:
        print_json({"out": str(out), "drawn": len(drawn), "of": len(rows), "by": list(strata), "seed": seed})
    else:
        print(f"{len(drawn):,} of {len(rows):,} answers are in {out}; fill in the column 'label' with 0 or 1")


@app.command(name="import")
def import_labels(
    labels: Annotated[Path, Parameter(help="The labelled CSV.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The file of labels to write (JSON lines), for `memgauge judge agree`.")],
    verdicts: Annotated[
        Path | None, Parameter(help="The run or verdicts that the labels belong to; unknown ids are errors.")
    ] = None,
    json: Json = False,
) -> None:
    """Read labels that people filled in, check them, and write them for `memgauge judge agree`."""
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.files import write_whole
    from memgauge.grading.judge.files import labels_jsonl, read_verdicts

    rows = read_verdicts(labels)
    given = [row for row in rows if row.value is not None]
    if not given:
        raise InputError(f"{labels}: the column 'label' is empty everywhere; fill in 0 or 1")
    if verdicts is not None:
        known = {row.key for row in _verdicts(verdicts)}
        stranger = next((row for row in rows if row.key not in known), None)
        if stranger is not None:
            raise InputError(f"{labels}: question {stranger.id!r} of system {stranger.system!r} is not in {verdicts}")
    write_whole(out, labels_jsonl(given))
    if json:
        print_json({"out": str(out), "labels": len(given), "unlabelled": len(rows) - len(given)})
    else:
        print(f"{len(given):,} labels are in {out}; {len(rows) - len(given):,} rows have none")


def _without_system(rows: list[VerdictRow], path: Path) -> list[VerdictRow]:
    """Pair by question alone where a file names no systems; a question then occurs once."""
    from dataclasses import replace

    from memgauge.errors import InputError

    bare = [replace(row, system="") for row in rows]
    seen: set[str] = set()
    for row in bare:
        if row.id in seen:
            raise InputError(
                f"{path}: question {row.id!r} occurs for several systems, and the other file names none; "
                f"add a column 'system'"
            )
        seen.add(row.id)
    return bare


def _verdicts(path: Path, who: Literal["run", "judge", "rules"] = "run") -> list[VerdictRow]:
    """Read verdicts from a run folder (those of `who`) or a file."""
    from memgauge.grading.judge.files import read_verdicts
    from memgauge.judging import run_verdicts

    return run_verdicts(path, who) if path.is_dir() else read_verdicts(path)


def _pair(a: VerdictRow, b: VerdictRow | None) -> Verdicts:
    from memgauge.metrics.verdicts import Verdicts

    text = a.prediction or (b.prediction if b is not None else "")
    return Verdicts(
        a.id,
        a.system,
        a.task or (b.task if b is not None else ""),
        a.value,
        None if b is None else b.value,
        len(text.split()) if text else None,
    )


def _print_agreement(document: dict[str, Any]) -> None:
    from memgauge.cli.output import print_table

    columns = ["", "n", "agreement", "kappa", "false positives", "false negatives", "leniency"]
    rows = [_cells("all", document["overall"])]
    rows += [_cells(name, found) for name, found in document["by_ability"].items()]
    rows += [_cells(f"system {name}", found) for name, found in document["by_system"].items()]
    if document["format_bias"]:
        rows.append(_cells("answers of 1 to 3 words", document["format_bias"]["short"]))
        rows.append(_cells("longer answers", document["format_bias"]["long"]))
    print_table("First file against the second", columns, rows)
    missing = document["without_verdict"]
    print(
        f"{document['pairs']:,} answers are in both files; {missing['first']:,} have no verdict in the first and "
        f"{missing['second']:,} none in the second. {document['only_first']:,} and "
        f"{document['only_second']:,} are in one alone."
    )
    if document["systems_spearman"] is not None:
        print(f"Rank correlation of the systems' accuracies (Spearman): {document['systems_spearman']:.3f}")
    form = document["format_bias"]
    if form and form["p"] is not None:
        print(f"More false positives among short answers: one-sided p = {form['p']:.3g}")
    for name, found in (form["corrected"] if form else {}).items():
        if found["corrected"] is not None:
            print(
                f"{name or 'all'}: accuracy {100 * found['accuracy']:.1f} %, without the extra leniency to short "
                f"answers {100 * found['corrected']:.1f} %"
            )
    for found in document["families"]:
        gap = found["gap"]
        if gap["value"] is None:
            print(f"family {found['family']}: no verdict on its systems, or on others")
        else:
            limits = "" if gap["low"] is None else f" [{100 * gap['low']:+.1f}, {100 * gap['high']:+.1f}]"
            print(
                f"family {found['family']} ({', '.join(found['systems'])}): leniency {100 * gap['value']:+.1f}{limits} "
                f"points above that to the others; {100 * found['matters_above']:.0f} points matter"
            )


def _cells(name: str, found: dict[str, Any]) -> list[str]:
    kappa = "-"
    if found["kappa"] is not None:
        kappa = f"{found['kappa']:.3f}"
    if found["kappa_low"] is not None:
        kappa += f" [{found['kappa_low']:.3f}, {found['kappa_high']:.3f}]"
    leniency = "-" if found["leniency"] is None else f"{100 * found['leniency']:+.1f} points"
    return [
        name,
        f"{found['n']:,}",
        _rate(found["agreement"]),
        kappa,
        _rate(found["false_positives"]),
        _rate(found["false_negatives"]),
        leniency,
    ]


def _rate(found: dict[str, Any]) -> str:
    return "-" if found["value"] is None else f"{100 * found['value']:.1f} % ({found['hits']:,} of {found['n']:,})"
