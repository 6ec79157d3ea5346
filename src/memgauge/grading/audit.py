"""The graders' own examination: labelled cases, one JSON object a line, against what the graders say.

A case is `{"id", "kind", "tag", "input", "expect", "why", "source"}`, with `"debatable": true` where a careful reader
could differ. A kind is covered when it stands in `GRADERS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.grading.ecc import commit_cost, parse_ecc
from memgauge.grading.judge.verdict import parse_verdict
from memgauge.grading.subtypes import infer_subtype
from memgauge.grading.typed.grade import grade_typed
from memgauge.progress import Progress

Grader = Callable[[Mapping[str, Any]], dict[str, Any]]
"""From a case's `input` to what its `expect` is compared with."""

TOLERANCE = 1e-9


def _ecc_parse(given: Mapping[str, Any]) -> dict[str, Any]:
    finish = given.get("finish_reason")
    parsed = parse_ecc(_text(given, "text"), _template(given), finish_reason=finish)
    return {"answer": parsed.answer, "abstain_kind": parsed.abstain_kind, "marker_char": parsed.marker_char}


def _commit_cost(given: Mapping[str, Any]) -> dict[str, Any]:
    t_out = given.get("T_out")
    if isinstance(t_out, bool) or not isinstance(t_out, int):
        raise InputError("input.T_out must be a whole number")
    cost = commit_cost(_text(given, "text"), t_out, _template(given))
    return {
        "T_ans": float(cost.t_ans),
        "T_ans_exact": f"{cost.t_ans.numerator}/{cost.t_ans.denominator}",
        "marker_char": cost.marker_char,
        "n_chars": cost.n_chars,
    }


def _memlens_score(given: Mapping[str, Any]) -> dict[str, Any]:
    question, reference = _text(given, "question"), _text(given, "reference")
    named, old = _optional(given, "question_subtype") or "", _optional(given, "old_answer")
    subtype = infer_subtype(_text(given, "question_type"), question, reference, named)
    grade = grade_typed(
        _text(given, "prediction"),
        subtype=subtype,
        question=question,
        reference=reference,
        old_answer=old,
        mode="official" if given.get("mode") == "official" else "strict",
        finish_reason=_optional(given, "finish_reason"),
    )
    return {
        "subtype": subtype,
        "correct": bool(grade.correct),
        "rule_decidable": grade.by_rule,
        "outcome": str(grade.outcome),
        "rule": grade.rule,
        "committed": grade.committed,
        "span": list(grade.span) if grade.span else None,
    }


def _judge_parse(given: Mapping[str, Any]) -> dict[str, Any]:
    verdict = parse_verdict(_text(given, "raw"))
    return {"verdict": "unparseable" if verdict.value is None else verdict.value, "rule": verdict.rule}


def _subtype_infer(given: Mapping[str, Any]) -> dict[str, Any]:
    found = infer_subtype(
        _text(given, "question_type"),
        _text(given, "question"),
        _text(given, "reference"),
        _optional(given, "question_subtype") or "",
    )
    return {"subtype": found}


GRADERS: dict[str, Grader] = {
    "ecc_parse": _ecc_parse,
    "commit_cost": _commit_cost,
    "memlens_score": _memlens_score,
    "judge_parse": _judge_parse,
    "subtype_infer": _subtype_infer,
}
"""The project's graders by kind of case. A new kind is one function and one line here."""


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise InputError(f"input.{name} must be text")
    return value


def _optional(given: Mapping[str, Any], name: str) -> str | None:
    return None if given.get(name) is None else _text(given, name)


def _template(given: Mapping[str, Any]) -> Any:
    return _text(given, "template")


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled case."""

    id: str
    kind: str
    input: dict[str, Any]
    expect: dict[str, Any]
    debatable: bool


@dataclass(slots=True)
class KindReport:
    """Counts of one kind; `n` and `agree` are of the cases that are not debatable."""

    covered: bool
    n: int = 0
    agree: int = 0
    debatable_n: int = 0
    debatable_agree: int = 0


@dataclass(frozen=True, slots=True)
class Miss:
    """A case that is not debatable and on which the grader differs; `got` is None where no grader covers its kind."""

    id: str
    got: dict[str, Any] | None
    expect: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What `memgauge audit` prints."""

    kinds: dict[str, KindReport]
    misses: tuple[Miss, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as one JSON object."""
        return {
            "kinds": {
                kind: {
                    "n": report.n,
                    "agree": report.agree,
                    "debatable_n": report.debatable_n,
                    "debatable_agree": report.debatable_agree,
                    "covered": report.covered,
                }
                for kind, report in self.kinds.items()
            },
            "misses": [{"id": miss.id, "got": miss.got, "expect": miss.expect} for miss in self.misses],
        }


def audit_file(path: Path, graders: Mapping[str, Grader] | None = None) -> AuditReport:
    """Run the graders on a file of labelled cases.

    A case agrees only if every key of its `expect` is equal (`agrees`). Raises `InputError` that names the line for a
    line that is no case, and for an input that its grader cannot take.
    """
    graders = GRADERS if graders is None else graders
    kinds: dict[str, KindReport] = {}
    misses: list[Miss] = []
    with Progress("cases", total=None) as bar:
        for number, case in read_cases(path):
            grader = graders.get(case.kind)
            report = kinds.setdefault(case.kind, KindReport(covered=grader is not None))
            try:
                got = grader(case.input) if grader is not None else None
            except InputError as error:
                raise InputError(f"{path}: line {number} ({case.id}): {error}") from error
            agreed = got is not None and agrees(got, case.expect)
            if case.debatable:
                report.debatable_n += 1
                report.debatable_agree += agreed
            else:
                report.n += 1
                report.agree += agreed
                if not agreed:
                    misses.append(Miss(case.id, got, case.expect))
            bar.advance()
    return AuditReport(dict(sorted(kinds.items())), tuple(misses))


def agrees(got: Mapping[str, Any], expect: Mapping[str, Any]) -> bool:
    """Say whether every key of `expect` is there with an equal value.

    Numbers are equal to 1e-9 where either is a float; a key that ends in `_exact` holds a fraction.

    >>> agrees({"T_ans_exact": "2/1", "n": 3}, {"T_ans_exact": "4/2"})
    True
    """
    return all(
        key in got and (_same_fraction(got[key], value) if key.endswith("_exact") else _same(got[key], value))
        for key, value in expect.items()
    )


def _same(got: Any, expect: Any) -> bool:
    if isinstance(got, bool) or isinstance(expect, bool):
        return got is expect
    if isinstance(got, int | float) and isinstance(expect, int | float):
        if isinstance(got, int) and isinstance(expect, int):
            return got == expect
        return math.isclose(got, expect, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(got, dict) and isinstance(expect, dict):
        return got.keys() == expect.keys() and all(_same(got[key], value) for key, value in expect.items())
    if isinstance(got, list) and isinstance(expect, list):
        return len(got) == len(expect) and all(map(_same, got, expect))
    return bool(got == expect)


def _same_fraction(got: Any, expect: Any) -> bool:
    try:
        return Fraction(got) == Fraction(expect)
    except (TypeError, ValueError, ZeroDivisionError):
        return bool(got == expect)


def read_cases(path: Path) -> Iterator[tuple[int, Case]]:
    """Yield the cases of a file with their line numbers (from 1); blank lines are left out."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _case(line, f"{path}: line {number}")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _case(line: bytes, where: str) -> Case:
    try:
        record = json.loads(line.decode("utf-8-sig"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError(f"{where} is no JSON object; a case has id, kind, input and expect")
    for name, kind, what in (("id", str, "text"), ("kind", str, "text"), ("input", dict, "an object")):
        if not isinstance(record.get(name), kind):
            raise InputError(f"{where}: the field {name!r} must be {what}")
    expect = record.get("expect")
    if not isinstance(expect, dict) or not expect:
        raise InputError(f"{where}: the field 'expect' must be an object with at least one key")
    debatable = record.get("debatable", False)
    if not isinstance(debatable, bool):
        raise InputError(f"{where}: the field 'debatable' must be true or false")
    return Case(record["id"], record["kind"], record["input"], expect, debatable)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
