"""From what a system returned to what is written down: outcome, answer, right or wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Literal

from memgauge.grading.ecc import commit_cost, parse_ecc
from memgauge.system import Answer

REFUSALS = ("too_long", "filtered", "empty")


@dataclass(frozen=True, slots=True)
class Graded:
    """The graded columns of a row. `correct` is None where the outcome cannot be scored."""

    outcome: str
    answer: str | None = None
    correct: bool | None = None
    abstain_kind: str | None = None
    refused_kind: str | None = None
    t_ans: float | None = None
    error: str | None = None
    commitment: Fraction | None = None
    """`t_ans` of a model's text, exact."""
    marker_char: int | None = None
    """Where the deciding marker of a model's text opens."""
    rule: str | None = None
    """For answers in words: the rule that decided, or that gave the first reading of a pending one."""
    rule_correct: bool | None = None
    span: tuple[int, int] | None = None
    """For answers in words: where the committed answer stands in the raw text."""
    grading: str | None = None
    """For answers in words: `strict` or `official`."""

    @property
    def score(self) -> float | None:
        """1.0 for right, 0.0 for wrong and for an abstention, None where nothing can be scored."""
        return None if self.correct is None else float(self.correct)


def grade_membership(answer: object, gold: str, template: Literal["synthetic", "natural"] = "synthetic") -> Graded:
    """Grade the answer to a yes/no membership question (ECCBench, B.1 and B.8).

    `answer` is whatever the system returned. Anything but an `Answer` whose value is True, False or None, or whose
    `raw` is text, is a `model_error` that says what came back.
    """
    if not isinstance(answer, Answer):
        return Graded("model_error", error=f"read returned {short_repr(answer)} instead of memgauge.Answer")
    problem = malformed_answer(answer)
    if problem:
        return Graded("model_error", error=problem)
    if answer.refused is not None:
        return Graded("refused_by_server", refused_kind=answer.refused)
    if answer.raw is not None:
        parsed = parse_ecc(answer.raw, template, finish_reason=answer.finish_reason)
        exact = None if answer.t_ans is None else Fraction(answer.t_ans)
        if exact is None and answer.tokens_out is not None:
            exact = commit_cost(answer.raw, answer.tokens_out, template).t_ans
        found = Graded(
            "abstained",
            correct=False,
            abstain_kind=parsed.abstain_kind,
            t_ans=None if exact is None else float(exact),
            commitment=exact,
            marker_char=parsed.marker_char,
        )
        if parsed.answer == "abstain":
            return found
        return replace(found, outcome="answered", answer=parsed.answer, correct=parsed.answer == gold)
    if answer.value is None:
        return Graded("abstained", correct=False, abstain_kind="explicit", t_ans=answer.t_ans)
    word = "yes" if answer.value else "no"
    return Graded("answered", word, word == gold, t_ans=answer.t_ans)


def malformed_answer(answer: Answer, *, words: bool = False) -> str | None:
    """Say what is wrong with an answer, or None. `words`: its value is a text instead of True or False."""
    if answer.refused is not None and answer.refused not in REFUSALS:
        return f"Answer.refused is {short_repr(answer.refused)}; it is one of {', '.join(REFUSALS)} or None"
    raw: object = answer.raw  # whatever the annotation says, it comes from somebody else's code
    if raw is not None and not isinstance(raw, str):
        return f"Answer.raw is {short_repr(raw)}; it is the model's text or None"
    value: object = answer.value
    if words and answer.raw is None and not isinstance(value, str | None):
        return f"Answer.value is {short_repr(value)}; a question in words takes a text or None (abstain)"
    # A numpy bool is as good as Python's own, and many systems return one.
    if not words and answer.raw is None and value is not None and type(value).__name__ not in ("bool", "bool_"):
        return f"Answer.value is {short_repr(answer.value)}; a membership question takes True, False or None (abstain)"
    for name, most in (("confidence", 1.0), ("t_ans", math.inf)):
        number = getattr(answer, name)
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, Real) or not 0 <= float(number) <= most
        ):
            what = "a probability in [0, 1]" if name == "confidence" else "a non-negative number"
            return f"Answer.{name} is {short_repr(number)}; it is {what} or None"
    for name in ("flops_read", "flops_write", "tokens_in", "tokens_out", "images_in"):
        problem = not_a_count(f"Answer.{name}", getattr(answer, name))
        if problem is not None:
            return problem
    for name in ("finish_reason", "prompt_hash"):
        if not isinstance(getattr(answer, name), str | None):
            return f"Answer.{name} is {short_repr(getattr(answer, name))}; it is a text or None"
    for name in ("evidence", "retrieved"):
        parts: object = getattr(answer, name)
        if not isinstance(parts, tuple | list) or not all(isinstance(part, str) for part in parts):
            return f"Answer.{name} is {short_repr(parts)}; it is a tuple of texts"
    return None


def not_a_count(name: str, value: object) -> str | None:
    """Say what is wrong with a count that a system gave, or None: it is an integer in 0 .. 2^63-1, or missing."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**63:
        return f"{name} is {short_repr(value)}; it is an integer in 0 .. 2^63-1 or None"
    return None


def short_repr(value: object) -> str:
    """Name a value's type and the beginning of its text."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a foreign object's own repr may do anything; its type still says what it is
        text = "(without a readable repr)"
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
