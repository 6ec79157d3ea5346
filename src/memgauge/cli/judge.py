"""`memgauge judge`: verdicts for a run, how far to trust a judge, and labels by people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from memgauge.cli.options import Json, names

if TYPE_CHECKING:
    from memgauge.grading.judge.files import VerdictRow
    from memgauge.metrics.agreement import Agreement, Rate

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
    first: Annotated[Path, Parameter(help="Verdicts of the judge in question: CSV, JSON or JSON lines.")],
    second: Annotated[Path, Parameter(help="Verdicts to compare with: another judge, typed grades, human labels.")],
    /,
    *,
    json: Json = False,
) -> None:
    """Compare two files of verdicts on the same answers, paired by system and question.

    Prints the agreement, Cohen's kappa with a 95 % interval, overall and by ability; false positives and negatives of
    the first, taking the second as right; the rank correlation of the systems' accuracies; and, where the files hold
    the answers, whether the first is more lenient to answers of one to three words, and by how much to each system.
    """
    from memgauge.cli.output import print_json
    from memgauge.errors import InputError
    from memgauge.grading.judge.files import read_verdicts

    rows_a, rows_b = read_verdicts(first), read_verdicts(second)
    if not all(row.system for row in rows_a) or not all(row.system for row in rows_b):
        rows_a, rows_b = _without_system(rows_a, first), _without_system(rows_b, second)
    others = {row.key: row for row in rows_b}
    pairs = [(row, others[row.key]) for row in rows_a if row.key in others]
    if not pairs:
        raise InputError(f"{first} and {second} have no question in common")
    document = _agreement(pairs)
    document["only_first"] = len(rows_a) - len(pairs)
    document["only_second"] = len(rows_b) - len(pairs)
    if json:
        print_json(document)
    else:
        _print_agreement(document)


@app.command
def sample(
    file: Annotated[Path, Parameter(help="Verdicts with questions and answers: CSV, JSON or JSON lines.")],
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
    from memgauge.grading.judge.files import labels_csv, read_verdicts, stratified_sample

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
    rows = read_verdicts(file)
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
        Path | None, Parameter(help="Verdicts that the labels belong to; unknown ids are errors.")
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
        known = {row.key for row in read_verdicts(verdicts)}
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


def _agreement(pairs: Sequence[tuple[VerdictRow, VerdictRow]]) -> dict[str, Any]:
    from memgauge.metrics.agreement import by_system, compare_verdicts, format_bias, rank_correlation

    scored = [(a, b) for a, b in pairs if a.value is not None and b.value is not None]

    def compared(kept: Sequence[tuple[VerdictRow, VerdictRow]]) -> Agreement:
        return compare_verdicts([a.value or 0 for a, _ in kept], [b.value or 0 for _, b in kept])

    tasks = sorted({a.task or b.task for a, b in scored} - {""})
    systems = sorted({a.system for a, _ in scored} - {""})
    means = by_system(
        {name: [a.value or 0 for a, _ in scored if a.system == name] for name in systems},
        {name: [b.value or 0 for a, b in scored if a.system == name] for name in systems},
    )
    texts = [(a, b, len((a.prediction or b.prediction).split())) for a, b in scored if a.prediction or b.prediction]
    bias = format_bias(
        [a.value or 0 for a, _, _ in texts], [b.value or 0 for _, b, _ in texts], [n for _, _, n in texts]
    )
    return {
        "pairs": len(pairs),
        "without_verdict": {
            "first": sum(a.value is None for a, _ in pairs),
            "second": sum(b.value is None for _, b in pairs),
        },
        "overall": _plain(compared(scored)),
        "by_ability": {
            task: _plain(compared([(a, b) for a, b in scored if (a.task or b.task) == task])) for task in tasks
        },
        "by_system": {
            name: _plain(compared([(a, b) for a, b in scored if a.system == name]))
            | {"accuracy_first": means[name][0], "accuracy_second": means[name][1]}
            for name in systems
        },
        "systems_spearman": rank_correlation([m[0] for m in means.values()], [m[1] for m in means.values()]),
        "format_bias": {"short": _plain(bias.short), "long": _plain(bias.long), "p": bias.p, "n": len(texts)}
        if texts
        else None,
    }


def _plain(found: Agreement) -> dict[str, Any]:
    return asdict(found) | {"leniency": found.leniency}


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
    if document["format_bias"] and document["format_bias"]["p"] is not None:
        print(f"More false positives among short answers: one-sided p = {document['format_bias']['p']:.3g}")


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


def _rate(rate: dict[str, Any] | Rate) -> str:
    found = rate if isinstance(rate, dict) else asdict(rate)
    return "-" if found["value"] is None else f"{100 * found['value']:.1f} % ({found['hits']:,} of {found['n']:,})"
