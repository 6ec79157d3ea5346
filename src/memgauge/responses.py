"""Responses: one row a question, the only thing that metrics read.

A run folder holds `responses.jsonl` while it runs (append-only, whole lines), `responses.parquet` when it is finished,
and `run.json`, which says what was run. A row's `key` is the hash of all that determines it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError, SchemaVersionError

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 1
INT64_MAX = 2**63 - 1

COLUMNS: dict[str, type] = {
    "key": str,  # hash of all that determines the row
    "run": str,  # the run that asked it
    "system": str,
    "task": str,
    "split": str,  # entropy band or ability
    "subtype": str,
    "variant": str,
    "negatives": str,  # how false candidates were drawn
    "length": int,
    "episode": str,
    "query": str,
    "query_length": int,  # symbols of the candidate (ECC tasks)
    "arm": str,  # payoff arm or ablation
    "gold": str,
    "answer": str,  # null: none
    "outcome": str,  # one of OUTCOMES
    "abstain_kind": str,  # explicit | format | overflow, for abstained
    "refused_kind": str,  # too_long | filtered | empty, for refused_by_server
    "correct": bool,  # null where the outcome cannot be scored, or the task gives a score alone; an abstention is false
    "score": float,  # in [0, 1]; 1.0 and 0.0 for right and wrong
    "confidence": float,
    "age": float,  # how long before the question the evidence was written
    "age_unit": str,
    "flops_write": int,  # the episode's whole write, repeated on each of its rows
    "write_shared": bool,  # one write serves all questions of the episode
    "flops_read": int,
    "tokens_in": int,
    "tokens_out": int,
    "images_in": int,
    "t_ans": float,  # answer tokens up to the point of commitment
    "finish_reason": str,
    "seconds_write": float,
    "seconds_read": float,
    "state_bits": int,
    "state_bytes": int,
    "evidence": str,  # JSON list
    "retrieved": str,  # JSON list
    "prompt_hash": str,
    "raw_output": str,
    "error": str,
    "kind": str,  # a finer kind than the subtype, where the data name one
    "visual_need": str,  # essential | supportive | sufficient, where the data say so
    "age_days": float,  # the age in days, for observations that have dates
    "question": str,  # for questions in words
    "old_answer": str,  # for knowledge updates: the answer that no longer holds
    "rule": str,  # the rule that decided, or that gave the first reading where a judge decides
    "rule_correct": bool,  # what the rules say, also where a judge decides
    "span": str,  # JSON list: where the committed answer stands in raw_output, [begin, end)
    "grading": str,  # strict | official
    "judge": str,  # the judge that decided; null: the rules did
    "judge_output": str,
    "error_label": str,  # of wrong answers: why, one of the seven labels of `memgauge.grading.taxonomy`
    "error_cause": str,  # visual | reasoning | mixed
    "error_by": str,  # rules | judge: whose label that is
    "error_rule": str,  # the rule that gave the label, or why none did
    "error_judge": str,  # the judge that was asked
    "error_judge_label": str,  # its label, also where the rules decided
    "error_judge_cause": str,
    "schema_version": int,
}
"""Name and type of every column, in order. Every column may be null except those of `REQUIRED`."""

ERROR_COLUMNS = tuple(name for name in COLUMNS if name.startswith("error_"))
"""Why a wrong answer is wrong."""

REQUIRED = ("key", "run", "system", "task", "split", "length", "episode", "query", "arm", "outcome", "schema_version")

OUTCOMES = ("answered", "abstained", "unparsed", "judge_error", "model_error", "refused_by_server", "pending")
"""How a question ended; `pending` has an answer that waits for its judge."""
SCORED = ("answered", "abstained")
"""The outcomes that count as right or wrong; the others are neither."""


COUNTS = ("flops_write", "flops_read", "tokens_in", "tokens_out", "images_in", "state_bits", "length", "age")
"""Columns that cannot be negative."""


def schema() -> dict[str, Any]:
    """Return the polars schema of a responses table."""
    import polars as pl

    kinds: dict[type, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
    return {name: kinds[kind] for name, kind in COLUMNS.items()}


def new_row(**values: Any) -> dict[str, Any]:
    """Return a row with `values` set and every other column null; unknown columns raise `KeyError`."""
    unknown = values.keys() - COLUMNS.keys()
    if unknown:
        raise KeyError(f"no such column: {', '.join(sorted(unknown))}")
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row["schema_version"] = SCHEMA_VERSION
    row.update(values)
    return row


def conform(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return `rows` with all columns in order and of their types.

    Raises `SchemaVersionError` for another schema version, `InputError` for a missing column or a wrong type.
    """
    import polars as pl

    if "schema_version" in rows.columns and rows.height:
        versions = sorted({v for v in rows["schema_version"].unique().to_list() if v != SCHEMA_VERSION}, key=str)
        if versions:
            raise SchemaVersionError(
                f"{source}: responses of schema version {versions[0]}, this memgauge reads version {SCHEMA_VERSION}; "
                "run it again, or read it with the version of memgauge that wrote it (see its run.json)"
            )
    missing = [name for name in REQUIRED if name not in rows.columns]
    if missing:
        raise InputError(f"{source}: not a responses table: column {missing[0]!r} is missing")
    target = schema()
    try:
        return rows.select(
            pl.col(name).cast(kind) if name in rows.columns else pl.lit(None, kind).alias(name)
            for name, kind in target.items()
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{source}: a column has the wrong type: {error}") from error


def check_rows(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return `rows`, or raise an `InputError` that names the row and what is wrong with it.

    Wrong are: a missing required value, an unknown outcome, an answered row with neither `correct` nor `score`, an
    abstained one without `correct`, an error row with one, a number out of its range, a repeated key.
    """
    import polars as pl

    col = pl.col
    scored = col("outcome").is_in(list(SCORED))
    rules: dict[str, pl.Expr] = {
        **{f"{name} is empty": col(name).is_null() for name in REQUIRED},
        f"outcome is not one of {', '.join(OUTCOMES)}": ~col("outcome").is_in(list(OUTCOMES)),
        "a scored row needs `correct`": (
            scored & col("correct").is_null() & ((col("outcome") == "abstained") | col("score").is_null())
        ),
        "an error is neither right nor wrong": ~scored & col("correct").is_not_null(),
        # To decline is right where the conversation does not hold the answer.
        "an abstention cannot be correct": (
            (col("outcome") == "abstained") & col("correct") & (col("subtype").fill_null("") != "AR")
        ),
        "confidence is not in [0, 1]": col("confidence").is_nan() | ~col("confidence").is_between(0, 1),
        "score is not in [0, 1]": col("score").is_nan() | ~col("score").is_between(0, 1),
        **{f"{name} is negative": col(name) < 0 for name in COUNTS},
        "the key occurs twice": col("key").is_duplicated(),
    }
    broken = rows.select(bad.fill_null(False).any().alias(what) for what, bad in rules.items()).row(0, named=True)
    for what, bad in rules.items():
        if broken[what]:
            found = rows.with_row_index("row_number").filter(bad).row(0, named=True)
            raise InputError(f"{source}: row {found['row_number']} (query {found['query']!r}): {what}")
    return rows


def encode_rows(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as JSON lines; an integer beyond 64 bits is an error, since other readers cannot read it."""
    lines = []
    for row in rows:
        for name in ("flops_write", "flops_read", "tokens_in", "tokens_out", "state_bits"):
            value = row[name]
            if value is not None and not 0 <= value <= INT64_MAX:
                raise InputError(f"{name} of query {row['query']!r} is {value}: it must lie in 0 .. 2^63-1")
        lines.append(json.dumps(row, allow_nan=False, ensure_ascii=False, separators=(",", ":")))
    return ("\n".join(lines) + "\n").encode("utf-8", "replace") if lines else b""


ASK_AGAIN = ("model_error", "judge_error", "unparsed")
"""Outcomes that say nothing about the memory: a resumed run asks these questions again, unless only a judge failed."""
JUDGE_AGAIN = ("pending", "judge_error", "unparsed")
"""Outcomes of an answer that still needs a judge's verdict (where `rule` says how it was read)."""


def _settled() -> pl.Expr:
    """Say of each row whether its question need not be asked again."""
    import polars as pl

    judged = pl.col("outcome").is_in(JUDGE_AGAIN) & pl.col("rule").is_not_null()
    return judged | ~pl.col("outcome").is_in(ASK_AGAIN)


class ResponseLog:
    """The append-only log of a running run: whole lines only, one writer at a time.

    Opening cuts a last line that a killed process left unfinished. `keys` are the rows that need not be asked again,
    those of a finished table in the same folder among them.
    """

    def __init__(self, folder: Path) -> None:

        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error
        self.folder = folder
        self.path = folder / "responses.jsonl"
        self._lock = _lock(folder)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            _cut_torn_line(self._file)
            rows = load_responses(folder)
            self.keys: set[str] = set(rows.filter(_settled())["key"].to_list())
        except BaseException:
            os.close(self._lock)
            raise

    def drop(self, systems: set[str]) -> None:
        """Drop every row of the named systems."""
        import polars as pl

        rows = load_responses(self.folder).filter(~pl.col("system").is_in(systems))
        write_parquet(rows, self.folder / "responses.parquet")
        os.ftruncate(self._file, 0)
        self.keys = set(rows.filter(_settled())["key"].to_list())

    def finish(self) -> None:
        """Turn all rows into `responses.parquet` and remove the log. A kill in between loses nothing."""
        # The rows are this program's own, so only the last row of each question is chosen; readers check them.
        write_parquet(_last_rows(self.folder), self.folder / "responses.parquet")
        self.path.unlink()

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows; they are on their way to the disk when this returns."""
        self.append_encoded(encode_rows(rows))

    def append_encoded(self, data: bytes) -> None:
        """Append rows that are JSON lines already."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            _cut_torn_line(self._file)
            raise InputError(
                f"cannot write {self.path}: {error.strerror}; what was written is whole: free some space and give the "
                "same command again to go on"
            ) from error

    def close(self) -> None:
        """Flush to the disk and release the folder."""
        os.fsync(self._file)
        os.close(self._file)
        os.close(self._lock)

    def __enter__(self) -> ResponseLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _lock(folder: Path) -> int:
    import fcntl

    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise InputError(f"{folder} is being written by another run; wait for it, or choose another --out") from error
    return handle


def _cut_torn_line(file: int) -> None:
    """Cut what follows the last newline: a line that a killed process or a full disk left unfinished."""
    end = os.lseek(file, 0, os.SEEK_END)
    position = end
    while position > 0:
        start = max(0, position - 65536)
        block = os.pread(file, position - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            position = start + newline + 1
            break
        position = start
    if position < end:
        os.ftruncate(file, position)


def read_log(path: Path) -> pl.DataFrame:
    """Read a JSONL log, leaving out an unfinished last line. Raises `InputError` that names a line that is no row."""
    import io

    import polars as pl

    data = path.read_bytes()
    data = data[: data.rfind(b"\n") + 1]
    if not data:
        return pl.DataFrame(schema=schema())
    first = data.split(b"\n", 1)[0]
    try:
        version = json.loads(first).get("schema_version", SCHEMA_VERSION)
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path}: line 1 is not a response: {error}") from error
    if version != SCHEMA_VERSION:
        raise SchemaVersionError(
            f"{path}: responses of schema version {version}, this memgauge reads version {SCHEMA_VERSION}; "
            "choose another --out, or read it with the version of memgauge that wrote it (see its run.json)"
        )
    try:
        return pl.read_ndjson(io.BytesIO(data), schema=schema())
    except pl.exceptions.PolarsError as error:
        for number, line in enumerate(data.split(b"\n")[:-1], 1):
            try:
                json.loads(line)
            except ValueError as broken:
                raise InputError(f"{path}: line {number} is not JSON: {broken}; remove that line to go on") from broken
        raise InputError(f"{path}: {error}") from error


def load_responses(path: Path | str) -> pl.DataFrame:
    """Read responses from a run folder, a `.parquet` or a `.jsonl` file, and check them.

    In a run folder the log and the finished table are read together, so that an unfinished run can be looked at; where
    a question was asked again after an error, its last row counts.
    """
    return check_rows(_last_rows(Path(path)), str(path))


def _last_rows(path: Path) -> pl.DataFrame:
    """Read responses and keep the last row of each key, in order."""
    import polars as pl

    if path.is_dir():
        parquet, log = path / "responses.parquet", path / "responses.jsonl"
        parts = [_read_file(p) for p in (parquet, log) if p.exists()]
        if not parts:
            raise InputError(f"{path} holds no responses.parquet or responses.jsonl: is it a run folder?")
        rows = pl.concat([part for part in parts if part.height] or parts[:1])
    elif path.exists():
        rows = _read_file(path)
    else:
        raise InputError(f"{path}: no such file or run folder")
    return rows.unique("key", keep="last", maintain_order=True)


def _read_file(path: Path) -> pl.DataFrame:
    import polars as pl

    if path.suffix != ".parquet":
        return read_log(path)
    try:
        rows = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file: {error}") from error
    return conform(rows, str(path))


RECORD_LIMIT = 16 << 20
"""Bytes of a `run.json`; a larger one was not written by memgauge."""


def read_run_json(folder: Path) -> dict[str, Any] | None:
    """Read the `run.json` of a run folder; None where there is none.

    Raises `InputError` for a file that is too large, or is not a JSON object.
    """
    path = folder / "run.json"
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > RECORD_LIMIT:
            raise InputError(f"{path}: larger than {RECORD_LIMIT >> 20} MiB; this is no run.json that memgauge wrote")
        record = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError(f"{path}: not a JSON object; this is no run.json that memgauge wrote")
    return record


def write_parquet(rows: pl.DataFrame, path: Path) -> None:
    """Write a responses table whole: a temporary file first, then a rename."""
    temporary = path.with_name(f".{path.name}.part")
    rows.write_parquet(temporary)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
