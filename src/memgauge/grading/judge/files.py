"""Files of verdicts: judges' results, typed grades, human labels; JSON, JSON lines or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.seeding import generator

MAX_BYTES = 1 << 30
_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("question_id", "id", "key", "query"),
    "value": ("label", "human", "verdict", "judge_score", "answer_score", "correct", "score", "value"),
    "task": ("task_key", "subtype", "ability", "task", "split", "question_subtype"),
    "system": ("system", "model", "judge_of"),
    "question": ("question",),
    "reference": ("reference", "reference_answer", "gold", "answer_gold"),
    "prediction": ("prediction", "raw_prediction", "raw_output", "parsed_output"),
}
_MISSING = frozenset({"", "none", "null", "unparsed", "unparseable", "judge_error", "model_error", "nan", "?"})
LABEL_COLUMNS = ("question_id", "system", "task", "question", "reference", "prediction", "label", "note")


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One verdict on one answer; `value` is None where there is none."""

    id: str
    value: int | None
    task: str = ""
    system: str = ""
    question: str = ""
    reference: str = ""
    prediction: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What pairs two files: system and question."""
        return self.system, self.id


def read_verdicts(path: Path) -> list[VerdictRow]:
    """Read a file of verdicts.

    CSV with a header, JSON lines, a JSON list, or a JSON object whose `data` is a list; the public evaluator's judge
    files are such lists. Fields are found under their usual names: question_id, label or verdict or judge_score,
    task_key or subtype, system or model. A verdict is 0 or 1, true or false; empty, null, `unparsed` and
    `judge_error` are none.

    Raises `InputError` that names file, record and field.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MiB; split it")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from error
    rows: list[VerdictRow] = []
    seen: dict[tuple[str, str], str] = {}
    for where, record in _records(path, text):
        row = _row(record, f"{path}: {where}")
        if row.key in seen:
            named = f" of system {row.system!r}" if row.system else ""
            raise InputError(f"{path}: {where}: question {row.id!r}{named} is there already ({seen[row.key]})")
        seen[row.key] = where
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: holds no verdicts")
    return rows


def _records(path: Path, text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if path.suffix.lower() in (".csv", ".tsv"):
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        try:
            for record in reader:
                yield f"line {reader.line_num}", {name: _active(cell) for name, cell in record.items() if name}
        except csv.Error as error:
            raise InputError(f"{path}: line {reader.line_num} is not CSV: {error}") from error
        return
    start = text.lstrip()[:1]
    if start == "[" or (start == "{" and path.suffix.lower() == ".json"):
        document = _json(text, str(path))
        items = document.get("data") if isinstance(document, dict) else document
        if not isinstance(items, list):
            raise InputError(f"{path}: neither a list of records nor an object whose 'data' is one")
        for number, item in enumerate(items, 1):
            yield f"record {number}", _object(item, f"{path}: record {number}")
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            where = f"{path}: line {number}"
            yield f"line {number}", _object(_json(line, where), where)


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} is no object with a question_id and a verdict")
    return value


def _row(record: Mapping[str, Any], where: str) -> VerdictRow:
    found: dict[str, Any] = {}
    for name, aliases in _NAMES.items():
        alias = next((a for a in aliases if a in record), None)
        if alias is not None:
            found[name] = record[alias]
        elif name in ("id", "value"):
            raise InputError(
                f"{where}: no field for the {'question' if name == 'id' else 'verdict'}; name it {', '.join(aliases)}"
            )
    row_id = str(found["id"] if found["id"] is not None else "").strip()
    if not row_id:
        raise InputError(f"{where}: the question's id is empty")
    texts = {name: str(found.get(name) or "") for name in ("task", "system", "question", "reference", "prediction")}
    return VerdictRow(row_id, _value(found["value"], where), **texts)


def _value(value: Any, where: str) -> int | None:
    text = str(value if value is not None else "").strip().lower()
    if text in _MISSING:
        return None
    if text in ("1", "1.0", "true", "yes", "right", "correct"):
        return 1
    if text in ("0", "0.0", "false", "no", "wrong", "incorrect"):
        return 0
    raise InputError(f"{where}: {value!r} is no verdict; give 0 or 1, or leave it empty")


def stratified_sample(rows: Sequence[VerdictRow], size: int, strata: Sequence[str], seed: int) -> list[VerdictRow]:
    """Draw rows so that each stratum has its share, and every stratum at least one where `size` allows it.

    Parameters
    ----------
    rows : the verdicts.
    size : how many to draw; all where there are not more.
    strata : any of `task`, `system` and `value`.
    seed : of the draw; a stratum's draw does not depend on the other strata.

    Returns the drawn rows in the order of the file.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(tuple(str(getattr(row, name)) for name in strata), []).append(index)
    shares = _shares({key: len(members) for key, members in groups.items()}, min(size, len(rows)))
    drawn: list[int] = []
    for key, members in groups.items():
        order = generator(seed, "judge-sample", *key).permutation(len(members))[: shares[key]]
        drawn += [members[int(i)] for i in order]
    return [rows[i] for i in sorted(drawn)]


def _shares(sizes: Mapping[tuple[str, ...], int], total: int) -> dict[tuple[str, ...], int]:
    """Share `total` out in proportion, by largest remainders, after one for each group where there are enough."""
    least = 1 if total >= len(sizes) else 0
    everything, rest = sum(sizes.values()), total - least * len(sizes)
    room = {key: size - least for key, size in sizes.items()}
    open_room = everything - least * len(sizes)
    exact = {key: rest * r / open_room if open_room else 0.0 for key, r in room.items()}
    shares = {key: min(room[key], int(value)) for key, value in exact.items()}
    for key in sorted(exact, key=lambda k: (shares[k] - exact[k], k)):
        if sum(shares.values()) >= rest:
            break
        if shares[key] < room[key]:
            shares[key] += 1
    return {key: share + least for key, share in shares.items()}


def labels_csv(rows: Sequence[VerdictRow]) -> str:
    """Return a CSV for human labelling: the answers without their verdicts, and an empty column `label`.

    A cell that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(LABEL_COLUMNS)
    for row in rows:
        cells = (row.id, row.system, row.task, row.question, row.reference, row.prediction, "", "")
        writer.writerow([_inert(cell) for cell in cells])
    return out.getvalue()


def _inert(cell: str) -> str:
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def _active(cell: Any) -> Any:
    """Undo `_inert`."""
    return cell[1:] if isinstance(cell, str) and cell[:1] == "'" and _inert(cell[1:]) == cell else cell


def labels_jsonl(rows: Sequence[VerdictRow]) -> str:
    """Return human labels as JSON lines that `read_verdicts` reads; rows without a label are left out."""
    lines = []
    for row in rows:
        if row.value is not None:
            record = {"question_id": row.id, "system": row.system, "task": row.task, "label": row.value}
            lines.append(json.dumps(record, ensure_ascii=False))
    return "".join(line + "\n" for line in lines)
