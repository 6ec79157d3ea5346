"""Tables of results made elsewhere.

A table (CSV, JSON lines or Parquet) needs the columns `system`, `length`, `episode`, `query`, `gold` and one of
`answer`, `raw_output` and `outcome`; every other column of responses may be there and is kept.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memgauge.errors import InputError, unknown_name
from memgauge.grading.answers import grade_membership
from memgauge.responses import COLUMNS, OUTCOMES, SCHEMA_VERSION, check_rows, new_row, schema
from memgauge.system import Answer

if TYPE_CHECKING:
    import polars as pl

NEEDED = ("system", "length", "episode", "query", "gold")
WORDS = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}
"""Readings of `gold` and `answer`; an empty answer or `abstain` is an abstention."""


def import_table(
    source: Path, *, task: str, split: str | None = None, template: Literal["synthetic", "natural"] = "synthetic"
) -> pl.DataFrame:
    """Read a table of results and return it as responses, graded by the rules of ECCBench.

    `task` and `split` fill the columns of that name where the table has none. Raises `InputError` that names the
    column, or the row and what is wrong with it.
    """
    import polars as pl

    table = _read(source)
    for name in NEEDED:
        if name not in table.columns:
            raise InputError(f"{source}: column {name!r} is missing; it needs {', '.join(NEEDED)}")
    if not {"answer", "raw_output", "outcome"} & set(table.columns):
        raise InputError(f"{source}: no column says what came back: give answer, raw_output or outcome")
    if split is None and "split" not in table.columns:
        raise InputError(f"{source}: column 'split' is missing (entropy band or ability); add it, or give --split")
    unknown = [name for name in table.columns if name not in COLUMNS]
    if unknown:
        raise unknown_name("column", unknown[0], COLUMNS)
    if not table.height:
        raise InputError(f"{source}: a header without rows: nothing to import")
    run = hashlib.blake2b(source.read_bytes(), digest_size=16).hexdigest()
    rows = []
    for number, given in enumerate(table.to_dicts(), 1):
        values = {name: value for name, value in given.items() if value is not None}
        for name in NEEDED:
            if name not in values:
                raise InputError(f"{source}: row {number}: {name} is empty")
        if values.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
            raise InputError(
                f"{source}: row {number}: schema_version is {values['schema_version']!r}, not {SCHEMA_VERSION}"
            )
        row = new_row(task=task, split=split, arm="none")
        row.update({name: value for name, value in values.items() if name not in ("answer", "outcome")})
        row.update(_graded(values, template, f"{source}: row {number}"))
        row["run"] = str(values.get("run", run[:12]))
        row["schema_version"] = SCHEMA_VERSION
        row["key"] = _key(row, run)
        rows.append(_typed(row, f"{source}: row {number}"))
    return check_rows(pl.DataFrame(rows, schema=schema()), str(source))


def _typed(row: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the row with values of its columns' types; a value that would have to change is refused."""
    for name, value in row.items():
        kind = COLUMNS[name]
        if value is None:
            continue
        if kind is str:
            row[name] = str(value).encode("utf-8", "replace").decode()
        elif kind is bool and not isinstance(value, bool):
            raise InputError(f"{where}: {name} is {value!r}; it is true or false")
        elif kind in (int, float):
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise InputError(f"{where}: {name} is {value!r}; it is a number")
            if kind is int and value != int(value):
                raise InputError(f"{where}: {name} is {value!r}; it is a whole number")
            if value < 0:
                raise InputError(f"{where}: {name} is {value!r}; it cannot be negative")
            row[name] = kind(value)
    return row


def _read(source: Path) -> pl.DataFrame:
    """Read CSV, JSON lines or Parquet by the file's ending."""
    import polars as pl

    if not source.is_file():
        raise InputError(f"{source}: no such file")
    try:
        if source.suffix == ".parquet":
            return pl.read_parquet(source)
        if source.suffix in (".jsonl", ".ndjson"):
            return pl.read_ndjson(source, infer_schema_length=None)
        if source.suffix == ".csv":
            return pl.read_csv(source, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{source}: cannot be read: {error}") from error
    raise InputError(f"{source}: a results table ends in .csv, .jsonl, .ndjson or .parquet")


def _word(value: Any, where: str, name: str) -> bool:
    """Read a yes/no value."""
    word = str(value).strip().lower()
    if word not in WORDS:
        raise InputError(f"{where}: {name} is {value!r}; it is yes or no")
    return WORDS[word]


def _graded(values: dict[str, Any], template: Literal["synthetic", "natural"], where: str) -> dict[str, Any]:
    """Grade one row: by its outcome when that is an error, else by its answer or its raw output."""
    gold = "yes" if _word(values["gold"], where, "gold") else "no"
    outcome = values.get("outcome")
    if outcome is not None and outcome not in OUTCOMES:
        raise InputError(f"{where}: outcome is {outcome!r}; it is one of {', '.join(OUTCOMES)}")
    if outcome not in (None, "answered", "abstained"):
        return {"gold": gold, "outcome": outcome, "correct": None, "score": None}
    if "raw_output" in values and "answer" not in values:
        back = Answer(raw=str(values["raw_output"]), finish_reason=values.get("finish_reason"))
        if values.get("tokens_out") is not None:
            back = Answer(raw=back.raw, finish_reason=back.finish_reason, tokens_out=int(values["tokens_out"]))
    else:
        word = str(values.get("answer", "abstain")).strip().lower()
        back = Answer(None if word in ("", "abstain") else _word(word, where, "answer"))
    graded = grade_membership(back, gold, template)
    if outcome is not None and outcome != graded.outcome:
        raise InputError(f"{where}: outcome is {outcome!r}, but its answer says {graded.outcome!r}")
    for name, ours in (("correct", graded.correct), ("score", graded.score)):
        given = values.get(name)
        if given is not None and given != ours:
            raise InputError(f"{where}: {name} is {given!r}, but gold and answer say {ours!r}; leave the column out")
    found = {"gold": gold, "answer": graded.answer, "outcome": graded.outcome, "correct": graded.correct}
    kind = values.get("abstain_kind", graded.abstain_kind) if graded.outcome == "abstained" else None
    return {**found, "score": graded.score, "abstain_kind": kind, "t_ans": values.get("t_ans", graded.t_ans)}


def _key(row: dict[str, Any], source: str) -> str:
    """Hash what names an imported row, and the table that it comes from: another table is another measurement."""
    names = ("system", "task", "split", "subtype", "variant", "negatives", "length", "episode", "query", "arm")
    text = json.dumps([row[name] for name in names], ensure_ascii=False, default=str)
    return hashlib.blake2b(f"imported|{source}|{text}".encode(), digest_size=16).hexdigest()
