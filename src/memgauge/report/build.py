"""The report document: the metrics of one or more runs, what was run, and what the reader must be warned of."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError, unknown_name
from memgauge.metrics.document import Markers, Summary
from memgauge.progress import Progress
from memgauge.report.text import plain, short, storable
from memgauge.responses import SCORED, load_responses, read_run_json

if TYPE_CHECKING:
    import polars as pl

FEW_EPISODES = 20
CELL = ("system", "task", "split", "subtype", "length", "arm", "negatives")
QUESTION = (*CELL, "variant", "episode", "query")


class Report(Summary):
    """What `memgauge report --json` prints: the metrics (see `memgauge.metrics.document`) and their provenance."""

    systems: dict[str, dict[str, Any]]
    """What `run.json` keeps of what systems say about themselves (model, context, how it retrieves), by their names in
    this document; only of systems that say something."""
    runs: list[dict[str, Any]]
    """The `run.json` of each run, and the `folder` that it was read from; only the latter where there is none."""
    wrong_answers: dict[str, Any] | None
    """Kinds of errors (`memgauge.metrics.wrong_answers`); null where no wrong answer is labelled."""
    warnings: list[str]
    """Sentences: errors, unfinished runs, small cells, systems of one name that differ, mixed versions."""


def build_report(
    sources: Sequence[Path],
    *,
    redraws: int | None = None,
    seed: int = 0,
    target: float | None = None,
    sizes: Mapping[str, float] | None = None,
    subset: Collection[str] | None = None,
    show_progress: bool = True,
) -> Report:
    """Return the document of one or more runs.

    Runs are pooled: a system of one name and one fingerprint is one system, and a question that several runs hold
    counts once, its answer before an error. Episodes of runs on different data stay different episodes, whatever they
    are called. A name that stands for different things (other fingerprints, another judge or embedder, or two answers
    to the same question) becomes one system a run, named after it: such answers are never put into one number.

    Parameters
    ----------
    sources
        Run folders, or single `.parquet` or `.jsonl` response tables.
    redraws, seed, target
        As `memgauge.metrics.summary.summarise` takes them; None is its default.
    sizes, subset
        For the task `memlens`: sizes of the models behind systems, and ids of a subset of the questions.

    Raises `InputError` for a source that is not readable, and for the size of a system that was not asked.
    """
    import polars as pl

    from memgauge.metrics.cells import one_per_key, one_per_question
    from memgauge.metrics.inference import Resampler
    from memgauge.metrics.summary import summarise
    from memgauge.metrics.wrong_answers import wrong_answers

    if not sources:
        raise InputError("no run to report: give one or more run folders")
    tables = [load_responses(path) for path in sources]
    records = [read_record(path) for path in sources]
    labels = _labels(sources)
    tables, warnings = _data_apart(tables, records, labels)
    tables, more = _systems_apart(tables, records, labels)
    warnings += more
    rows = pl.concat(tables)
    pooled = one_per_key(rows)
    if pooled.height < rows.height:
        count = rows.height - pooled.height
        warnings.append(f"{count:,} questions stand in more than one run with the same answer key; each counts once.")
    single = one_per_question(pooled)
    if single.height < pooled.height:
        again = (
            pooled.join(single, on=["key", "system"], how="anti").sort("system", "episode", "query").row(0, named=True)
        )
        warnings.append(
            f"{pooled.height - single.height:,} rows ask a system the same question again under another key (the "
            f"first: {again['system']}, query {again['query']} of episode {again['episode']}): each question counts "
            "once, an answer before an error."
        )
    pooled = single
    options: dict[str, Any] = {"seed": seed}
    if redraws is not None:
        options["redraws"] = redraws
    if target is not None:
        options["target"] = target
    cells = pooled.select(CELL).n_unique() if pooled.height else 0
    known = set(pooled["system"].unique().to_list())
    for name in sizes or ():
        if name not in known:
            raise unknown_name("system", name, sorted(known))
    systems = {
        name: facts
        for record, label in zip(records, labels, strict=True)
        for name, facts in _named_facts(record, label)
        if name in known
    }
    with Progress("cells", cells if show_progress else None) as bar:
        models = {name: facts["model"] for name, facts in systems.items() if isinstance(facts.get("model"), str)}
        summary = summarise(
            pooled, models=models, sizes=sizes, subset=subset, progress=bar if show_progress else None, **options
        )
    warnings += [*_run_warnings(records), *_row_warnings(pooled), *_context_warnings(pooled, systems)]
    warnings += _marker_warnings(summary["markers"])
    resampler = Resampler(summary["redraws"], seed)
    document: Report = {
        **summary,
        "systems": systems,
        "runs": records,
        "wrong_answers": wrong_answers(pooled, resampler),
        "warnings": [plain(text) for text in warnings],
    }
    return document


def read_record(source: Path) -> dict[str, Any]:
    """Return a run's `run.json` and its folder; only the folder where there is no such file.

    Raises `InputError` for a file that is too large, or is not a JSON object.
    """
    record = read_run_json(source) or {}
    result: dict[str, Any] = storable({**record, "folder": str(source)})
    return result


def _labels(sources: Sequence[Path]) -> list[str]:
    """Name each source as shortly as they can be told apart: the folder, else the whole path, else a number too."""
    names = [path.name or str(path) for path in sources]
    if len(set(names)) < len(names):
        names = [str(path) for path in sources]
    return [name if names.count(name) == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]


def _data_apart(
    tables: Sequence[pl.DataFrame], records: Sequence[dict[str, Any]], labels: Sequence[str]
) -> tuple[list[pl.DataFrame], list[str]]:
    """Rename the episodes of runs on different data: equal names there are not equal streams."""
    import polars as pl

    first: dict[str, str] = {}
    owners = []
    for record, label in zip(records, labels, strict=True):
        data = record.get("data")
        identity = json.dumps(
            data.get("identity", data) if isinstance(data, dict) else data, sort_keys=True, default=str
        )
        owners.append(first.setdefault(identity, label))
    if len(first) == 1:
        return list(tables), []
    apart = [
        table.with_columns(pl.concat_str(pl.col("episode"), pl.lit(f" @ {owner}")).alias("episode"))
        for table, owner in zip(tables, owners, strict=True)
    ]
    return apart, ["The runs are of different data: a cell pools the episodes of all of them, and none are paired."]


def _systems_apart(
    tables: Sequence[pl.DataFrame], records: Sequence[dict[str, Any]], labels: Sequence[str]
) -> tuple[list[pl.DataFrame], list[str]]:
    """Rename the systems whose one name stands for several things, and say so."""
    import polars as pl

    sources: dict[str, list[int]] = {}
    for number, table in enumerate(tables):
        for name in table["system"].unique().to_list():
            sources.setdefault(name, []).append(number)
    renamed: dict[str, str] = {}
    for name in sorted(sources):
        numbers = sources[name]
        if len(numbers) == 1:
            continue
        if len({_identity(records[number], name) for number in numbers}) > 1:
            renamed[name] = "differ in version, judge or embedder"
        elif _answered_twice([tables[number].filter(pl.col("system") == name) for number in numbers]):
            renamed[name] = "give different answers to the same questions"
    if not renamed:
        return list(tables), []
    warnings = [
        f"Systems called {name!r} in several runs {what}: they are shown apart, each with the name of its run."
        for name, what in renamed.items()
    ]
    apart = [
        table.with_columns(
            pl.when(pl.col("system").is_in(list(renamed)))
            .then(pl.concat_str(pl.col("system"), pl.lit(f" @ {label}")))
            .otherwise(pl.col("system"))
            .alias("system")
        )
        for table, label in zip(tables, labels, strict=True)
    ]
    return apart, warnings


def _identity(record: dict[str, Any], name: str) -> str:
    """What must be equal for answers to be pooled: the system's fingerprint, and who judged or embedded."""
    systems = record.get("systems")
    own = [s for s in systems if isinstance(s, dict) and s.get("name") == name] if isinstance(systems, list) else []
    parts = [own[0].get("fingerprint") if own else None, *(record.get(part) for part in ("judge", "embedder"))]
    return json.dumps(parts, sort_keys=True, default=str)


def _answered_twice(tables: Sequence[pl.DataFrame]) -> bool:
    """Whether a question occurs under two keys, which means that something unrecorded made the runs differ."""
    import polars as pl

    rows = pl.concat(tables).select(*QUESTION, "key").unique()
    return rows.select(QUESTION).is_duplicated().any()


def _run_warnings(records: Sequence[dict[str, Any]]) -> Iterable[str]:
    for record in records:
        if "run" not in record and "schema_version" not in record:
            yield f"{record['folder']} has no run.json: what was run, and with which versions, is not known."
        elif record.get("finished") is False:
            yield f"{record['folder']} is not finished: its numbers will change. Give its `memgauge run` command again."
        notes = record.get("notes")
        yield from (f"{record['folder']}: {note}" for note in (notes if isinstance(notes, list) else []))
    versions: dict[str, set[str]] = {}
    for record in records:
        own = record.get("versions")
        for name, version in own.items() if isinstance(own, dict) else ():
            versions.setdefault(name, set()).add(str(version))
    mixed = [f"{name} {' and '.join(sorted(found))}" for name, found in sorted(versions.items()) if len(found) > 1]
    if mixed:
        yield f"The runs were made with different versions: {'; '.join(mixed)}."


def _row_warnings(rows: pl.DataFrame) -> Iterable[str]:
    import polars as pl

    if not rows.height:
        yield "There are no responses: nothing was measured."
        return
    asked = dict(rows.group_by("system").len().iter_rows())
    unscored = rows.filter(~pl.col("outcome").is_in(list(SCORED)))
    waiting = pl.col("outcome") == "pending"
    for name, counts in _by_system(unscored.filter(waiting)):
        total = sum(count for _, count in counts)
        yield (
            f"{name}: {total:,} of {asked[name]:,} answers wait for a judge (`memgauge judge run`). Until then they "
            "are neither right nor wrong: accuracy leaves them out, the worst case counts them."
        )
    errors = unscored.filter(~waiting)
    for name, counts in _by_system(errors):
        kinds = ", ".join(f"{kind.replace('_', ' ')} {count:,}" for kind, count in counts)
        total = sum(count for _, count in counts)
        text = f"{name}: {total:,} of {asked[name]:,} questions ended in an error ({kinds})"
        raised = errors.filter((pl.col("system") == name) & pl.col("error").is_not_null())
        if raised.height:
            first = raised.row(0, named=True)
            text += f"; the first, in episode {first['episode']}: {short(first['error'].strip().splitlines()[0], 200)}"
        yield f"{text}. Errors are neither right nor wrong: accuracy leaves them out, the worst case counts them."
    cells = rows.group_by(CELL).agg(pl.col("episode").n_unique().alias("episodes"))
    small = cells.filter(pl.col("episodes") < FEW_EPISODES)
    if small.height:
        least = small["episodes"].min()
        yield (
            f"{small.height:,} of {cells.height:,} cells have fewer than {FEW_EPISODES} episodes (the smallest "
            f"{least!s}): their intervals are wide, and may be too narrow all the same."
        )


def _marker_warnings(checks: Sequence[Markers]) -> Iterable[str]:
    """Say whose yes and no markers look swapped, and under which arms."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in checks:
        if row["note"] is not None:
            found.setdefault((row["system"], row["task"], row["note"]), []).append(row["arm"])
    for (name, task, note), arms in found.items():
        asked = list(dict.fromkeys(arms))
        yield f"{name}, {task}, arm{'' if len(asked) == 1 else 's'} {', '.join(asked)}: {note}."


def _named_facts(record: Mapping[str, Any], label: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the facts of each system of a run under both names that it may have in the report."""
    systems = record.get("systems")
    for system in systems if isinstance(systems, list) else ():
        facts = system.get("facts") if isinstance(system, dict) else None
        if isinstance(facts, dict):
            yield str(system.get("name")), facts
            yield f"{system.get('name')} @ {label}", facts


def _context_warnings(rows: pl.DataFrame, systems: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """Say where a model was asked about more than the context that it was trained on.

    The server's own count of tokens decides where it gives one; else the paper's, which is less than what is read.
    """
    import polars as pl

    sizes = (
        rows.group_by("system", "task", "length")
        .agg((pl.col("tokens_in") + pl.col("tokens_out").fill_null(0)).max().alias("tokens"))
        .sort("system", "task", "length")
    )
    for name, task, length, tokens in sizes.iter_rows():
        own = systems.get(name, {})
        trained, counted = own.get("context"), own.get("prompt_tokens")
        if type(trained) is not int:  # it came from a file, and true is no number of tokens
            continue
        least = counted.get(str(length)) if isinstance(counted, dict) else None
        used = tokens if tokens is not None else least
        if type(used) is not int or used <= trained:
            continue
        whose = "prompt and answer, by the server's count" if tokens is not None else "by the paper's count, at least"
        origin = own.get("context_from")
        known = "" if not isinstance(origin, str) else f" ({origin})" if origin != "context=" else " (as given)"
        yield (
            f"{name}, {task}, L = {length:,}: up to {used:,} tokens ({whose}) are beyond the {trained:,} that the "
            f"model was trained on{known}: a loss there may be one of position, not of memory."
        )


def _by_system(errors: pl.DataFrame) -> Iterable[tuple[str, list[tuple[str, int]]]]:
    counts: dict[str, list[tuple[str, int]]] = {}
    for name, outcome, count in errors.group_by("system", "outcome").len().sort("system", "outcome").iter_rows():
        counts.setdefault(name, []).append((outcome, count))
    return counts.items()
