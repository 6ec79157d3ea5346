"""Grade an answer to a question about a conversation: by rule where rules decide, else left to a judge."""

from __future__ import annotations

from fractions import Fraction

from memgauge.grading.answers import Graded, malformed_answer, short_repr
from memgauge.grading.outcomes import Outcome
from memgauge.grading.typed.grade import NO_ANSWER, TypedGrade, grade_typed
from memgauge.grading.typed.prepare import Mode, answer_span
from memgauge.system import Answer

VERSION = 2
"""Raised whenever equal answers may be graded otherwise than before."""


def grade_conversation(
    answer: object,
    *,
    subtype: str,
    question: str,
    reference: str,
    old_answer: str | None = None,
    mode: Mode = "strict",
) -> Graded:
    """Grade what a system returned for a question in words (MEMLENS, LLM-as-Judge scoring and its typed audit).

    In `strict` mode the rules decide wherever they can: the seven typed subtypes, outputs that commit to nothing,
    refusals, and for information extraction and knowledge updates references that are dates, amounts or yes and no,
    and answers that are the reference itself. What is left is `pending`, with the rules' first reading beside it. In
    `official` mode, the paper's pipeline, a judge decides on everything that is not empty, unfinished or too long.

    `answer` is whatever the system returned; what is no `Answer` with a text is a `model_error`.

    >>> asked = {"subtype": "IE", "question": "What do I drink?", "reference": "green tea"}
    >>> grade_conversation(Answer("Green tea."), **asked).outcome, grade_conversation(Answer("Matcha"), **asked).outcome
    ('answered', 'pending')
    """
    if not isinstance(answer, Answer):
        return Graded("model_error", error=f"read returned {short_repr(answer)} instead of memgauge.Answer")
    problem = malformed_answer(answer, words=True)
    if problem:
        return Graded("model_error", error=problem)
    if answer.refused is not None:
        return Graded("refused_by_server", refused_kind=answer.refused, grading=mode)
    if answer.raw is None and answer.value is None:
        right = subtype == "AR"
        return Graded(
            "abstained", None, right, abstain_kind="explicit", rule="an abstention", rule_correct=right, grading=mode
        )
    raw = answer.raw if answer.raw is not None else str(answer.value)
    grade = grade_typed(
        raw,
        subtype=subtype,
        question=question,
        reference=reference,
        old_answer=old_answer,
        mode=mode,
        finish_reason=answer.finish_reason,
    )
    waits = needs_judge(grade)
    return Graded(
        str(Outcome.PENDING if waits else grade.outcome),
        answer=grade.committed if grade.outcome is Outcome.ANSWERED else None,
        correct=None if waits else grade.correct,
        abstain_kind=None if grade.abstain_kind is None else str(grade.abstain_kind),
        refused_kind=None if grade.refused_kind is None else str(grade.refused_kind),
        t_ans=answer.t_ans,
        # MEMLENS has no point of commitment: a whole answer is decoded.
        commitment=None if answer.tokens_out is None else Fraction(int(answer.tokens_out)),
        rule=grade.rule,
        rule_correct=grade.correct,
        span=grade.span,
        grading=mode,
    )


def needs_judge(grade: TypedGrade) -> bool:
    """Say whether a judge has to decide on an answer that the rules have read."""
    if grade.refused_kind is not None or grade.rule in NO_ANSWER.values():
        return False
    return grade.mode == "official" or not grade.sure


def judged_text(raw: str, mode: Mode = "strict") -> str:
    """Return the part of a raw output that a judge is shown: without reasoning; in official mode a long one's tail.

    >>> judged_text("<think>4?</think>It is 3.")
    'It is 3.'
    """
    span = answer_span(raw, mode)
    return "" if span is None else raw[slice(*span)].strip()
