"""Files of MEMLENS's public evaluator: results (`args` and `data`), and lists of judge verdicts.

Both are untrusted. A record that cannot be used is named by its id and counted, and the rest goes on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from memgauge.errors import InputError
from memgauge.grading.subtypes import infer_subtype
from memgauge.histories.reading import Faults, tokens_of
from memgauge.histories.records import FaultKind, RecordError

MAX_BYTES = 1 << 30
MAX_TOKENS = 1 << 40
_TEXTS = ("raw_prediction", "prediction", "parsed_output")
"""What an output may stand in; the first that is there is graded."""
_MODEL = ("model", "model_name", "model_name_or_path", "model_id", "system", "agent")
_LENGTH = ("length", "context_length", "input_length", "input_max_length", "max_length")
_KEPT = (*_MODEL, *_LENGTH, "temperature", "top_p", "max_tokens", "generation_max_length", "thinking", "seed")
"""What is kept of `args`; the rest may hold paths and keys of somebody's machine."""
_SIZE = re.compile(r"(?<![A-Za-z0-9])(\d{1,4}[km])(?![A-Za-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PublicAnswer:
    """One record of a result file."""

    id: str
    question: str
    question_type: str
    subtype: str
    """One of `memgauge.grading.SUBTYPES`."""
    reference: str
    raw: str | None
    """The output that is graded; None where the file holds none."""
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class PublicResults:
    """A result file."""

    path: Path
    answers: tuple[PublicAnswer, ...]
    args: Mapping[str, Any]
    system: str
    length: int
    length_from: str
    """What told the length."""


@dataclass(frozen=True, slots=True)
class PublicVerdict:
    """One record of a judge file."""

    id: str
    task_key: str
    score: int | None
    """None: no verdict."""
    auto_zero: bool = False
    was_truncated: bool = False
    is_degenerate: bool = False
    parsed_words: int | None = None


@dataclass(frozen=True, slots=True)
class PublicVerdicts:
    """A judge file."""

    path: Path
    verdicts: Mapping[str, PublicVerdict]


def read_public(path: Path, faults: Faults, length: str | None = None) -> PublicResults | PublicVerdicts:
    """Read a file of the public evaluator, whichever it is.

    Parameters
    ----------
    path : a JSON file: an object with `data`, or a list of verdicts.
    faults : takes the records that cannot be used; raises for the first where it is strict.
    length : of the histories, such as `32k`; by default the file's name, its `args` or its token counts tell.

    Raises `InputError` for a file that is neither, or in which no record can be used.

    """
    document = _load(path)
    if isinstance(document, dict):
        if not isinstance(document.get("data"), list):
            raise InputError(
                f"{path}: an object without a list 'data'; a result file is {{'args': ..., 'data': [...]}}"
            )
        return _results(path, document, faults, length)
    if not isinstance(document, list):
        raise InputError(f"{path}: neither a result file (an object with 'data') nor a judge file (a list)")
    first = next((item for item in document if isinstance(item, dict)), {})
    if "judge_score" not in first:
        raise InputError(f"{path}: a list whose records have no judge_score; a judge file has one in each record")
    return _verdicts(path, document, faults)


def _load(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MiB; the public evaluator's files are not")
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error


class _Record:
    """Reads the fields of one record."""

    def __init__(self, raw: Any, path: Path, number: int) -> None:
        self.where = f"{path.name}, record {number}"
        if not isinstance(raw, dict):
            raise RecordError("not_an_object", self.where, f"{type(raw).__name__}, not an object")
        self.raw = raw
        self.id = self._id()
        self.where = f"{self.where} ({self.id})"

    def fail(self, kind: FaultKind, said: str) -> RecordError:
        return RecordError(kind, self.where, said)

    def _id(self) -> str:
        value = self.raw.get("question_id")
        if value is None or value == "":
            raise self.fail("missing_field", "question_id is missing")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or len(value) > 300 or not value.isprintable() or not value.strip():
            raise self.fail(
                "wrong_field", f"question_id {value!r:.80} is no name: a printable text of at most 300 letters"
            )
        return value

    def text(self, name: str) -> str:
        value = self.raw.get(name)
        if value is None:
            raise self.fail("missing_field", f"{name} is missing")
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            raise self.fail("wrong_field", f"{name} is {value!r:.60}; it is a text")
        return storable(str(value))

    def optional(self, name: str) -> str:
        value = self.raw.get(name)
        if value is not None and not isinstance(value, str):
            raise self.fail("wrong_field", f"{name} is {value!r:.60}; it is a text")
        return storable(value or "")

    def output(self) -> str | None:
        """Return the output; None where every field that could hold it is empty."""
        if not any(name in self.raw for name in _TEXTS):
            raise self.fail("missing_field", f"none of {', '.join(_TEXTS)} is there")
        for name in _TEXTS:
            value = self.raw.get(name)
            if isinstance(value, str):
                return storable(value)
            if value is not None and name == _TEXTS[0]:
                raise self.fail("wrong_field", f"{name} is {type(value).__name__}; it is a text")
        return None

    def count(self, name: str) -> int | None:
        value = self.raw.get(name)
        if value is None:
            return None
        whole = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not whole or value != int(value) or not 0 <= value <= MAX_TOKENS:
            raise self.fail("wrong_field", f"{name} is {value!r:.40}; it is a count")
        return int(value)

    def flag(self, name: str) -> bool:
        value = self.raw.get(name)
        if value is None:
            return False
        if not isinstance(value, bool) and value not in (0, 1):
            raise self.fail("wrong_field", f"{name} is {value!r:.40}; it is true or false")
        return bool(value)

    def score(self) -> int | None:
        if "judge_score" not in self.raw:
            raise self.fail("missing_field", "judge_score is missing")
        value = self.raw["judge_score"]
        if value is None:
            return None
        if isinstance(value, str):
            value = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}.get(value.strip(), value)
        if not isinstance(value, int | float) or value not in (0, 1):
            raise self.fail("wrong_field", f"judge_score is {value!r:.40}; it is 0, 1 or null")
        return int(value)


def storable(text: str) -> str:
    """Replace what no file can hold (half of a surrogate pair), character for character."""
    return text.encode("utf-8", "replace").decode()


def _results(path: Path, document: Mapping[str, Any], faults: Faults, length: str | None) -> PublicResults:
    found: dict[str, PublicAnswer] = {}
    for number, raw in enumerate(document["data"], 1):
        try:
            record = _Record(raw, path, number)
            answer = _answer(record)
            if answer.id in found:
                raise record.fail("duplicate_id", "its question_id occurs before")
        except RecordError as error:
            faults.add(error)
            continue
        found[answer.id] = answer
    if not found:
        raise InputError(f"{path}: no record can be used: {'; '.join(faults.lines()) or 'data is empty'}")
    args = document.get("args")
    args = {name: args[name] for name in _KEPT if _plain(args.get(name))} if isinstance(args, dict) else {}
    answers = tuple(found.values())
    size, told = _size(path, document.get("args"), answers, length)
    return PublicResults(path, answers, args, _system(path, args), size, told)


def _answer(record: _Record) -> PublicAnswer:
    question, reference = record.text("question"), record.text("reference_answer")
    kind, named = record.text("question_type"), record.optional("question_subtype")
    try:
        subtype = "AR" if record.id.endswith("_abs") else infer_subtype(kind, question, reference, named)
    except InputError as error:
        raise record.fail("unknown_type", str(error)) from error
    return PublicAnswer(
        record.id,
        question,
        kind,
        subtype,
        reference,
        record.output(),
        record.count("input_len"),
        record.count("output_len"),
    )


def _verdicts(path: Path, document: Sequence[Any], faults: Faults) -> PublicVerdicts:
    found: dict[str, PublicVerdict] = {}
    for number, raw in enumerate(document, 1):
        try:
            record = _Record(raw, path, number)
            verdict = PublicVerdict(
                record.id,
                record.optional("task_key"),
                record.score(),
                record.flag("auto_zero"),
                record.flag("was_truncated"),
                record.flag("is_degenerate"),
                record.count("parsed_words"),
            )
            if verdict.id in found:
                raise record.fail("duplicate_id", "its question_id occurs before")
        except RecordError as error:
            faults.add(error)
            continue
        found[verdict.id] = verdict
    if not found:
        raise InputError(f"{path}: no record can be used: {'; '.join(faults.lines()) or 'the list is empty'}")
    return PublicVerdicts(path, found)


def _plain(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return bool(value.strip()) and len(value) <= 300 and value.isprintable()
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < MAX_TOKENS)


def _system(path: Path, args: Mapping[str, Any]) -> str:
    """Name the system: what `args` call it, without the folders of a local path; else the file's name."""
    for name in _MODEL:
        value = args.get(name)
        if isinstance(value, str):
            cut = value.rstrip("/").rsplit("/", 1)[-1] if value.startswith(("/", ".", "~")) else value
            if cut.strip():
                return cut.strip()
    return path.stem


def _size(path: Path, args: Any, answers: Sequence[PublicAnswer], length: str | None) -> tuple[int, str]:
    """Return the length of the histories in tokens, and what told it."""
    if length is not None:
        return tokens_of(length), "--length"
    given = args if isinstance(args, dict) else {}
    texts = [("the file's name", path.stem), *((f"args.{k}", v) for k, v in given.items() if isinstance(v, str))]
    for told, text in texts:
        sizes = {tokens_of(size) for size in _SIZE.findall(text[:500]) if int(size[:-1])}
        if len(sizes) == 1 and min(sizes) >= 1024:
            return sizes.pop(), told
    for name in _LENGTH:
        value = given.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 1024 <= value < MAX_TOKENS:
            return value, f"args.{name}"
    counts = [answer.tokens_in for answer in answers if answer.tokens_in]
    if not counts:
        raise InputError(
            f"{path}: neither its name, its args nor input_len tell how long the histories are; give --length"
        )
    return 1 << max(10, (int(median(counts)) - 1).bit_length()), "the median of input_len, up to a power of two"
