"""The scorer `memgauge/conversation`: the rules of `memgauge run memlens`, and a judge where they cannot decide."""

from __future__ import annotations

from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model, model_roles
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState
from inspect_ai.util import LimitExceededError

from memgauge.grading.answers import Graded
from memgauge.grading.conversation import grade_conversation
from memgauge.grading.judge.verdict import parse_verdict
from memgauge.inspect_tasks.conversations import MAX_TOKENS, ConversationPlan
from memgauge.inspect_tasks.replies import NoReply, clean, read_output
from memgauge.inspect_tasks.verdicts import ATTEMPTS, judged_row, request_about
from memgauge.system import Answer

ROLE = "judge"
"""The model role that decides: `--model-role judge=...`."""


@metric
def attempted() -> Metric:
    """Share of the scored questions that can be answered and were; with epochs, in the first one."""

    def measure(scores: list[SampleScore]) -> float:
        outcomes = [about["outcome"] for s in scores if (about := s.score.metadata or {}).get("subtype") != "AR"]
        return outcomes.count("answered") / len(outcomes) if outcomes else float("nan")

    return measure


@scorer(
    metrics=[
        accuracy(),
        stderr(cluster="episode"),
        attempted(),
        grouped(accuracy(), "cell", all=False, name_template="accuracy at {group_name}"),
    ]
)
def conversation(check_truncation: bool = True) -> Scorer:
    """Grade an answer in words by rule (MEMLENS, typed grades), or by the model of the role `judge`.

    Correct `C`, wrong `I`, abstained `N`, which counts as not correct; an abstention from a question that cannot be
    answered is correct. What rules cannot decide is left unscored where there is no judge, and so is what a judge was
    unclear about, what the server refused, and what came back as an error. `check_truncation` treats as refused what a
    server cut short: an answer to fewer prompt tokens than the request has words and pictures.
    """

    async def score(state: TaskState, target: Target) -> Score:
        seen = state.metadata
        back = read_output(
            state.output.model_dump(mode="json"),
            images=int(seen["images"]),
            least_tokens=int(seen["least_tokens"]) if check_truncation else None,
            counted=ConversationPlan.counted,
        )
        details: dict[str, Any] = {**ConversationPlan.scored, "subtype": seen["subtype"]}
        if isinstance(back, NoReply):
            graded = Graded("model_error", error=back.said)
        else:
            graded = grade_conversation(
                back,
                subtype=seen["subtype"],
                question=seen["question"],
                reference=target.text,
                old_answer=seen["old_answer"],
                mode=seen["grading"],
            )
        row = _row(state, target.text, back, graded)
        if graded.outcome == "pending" and model_roles().get(ROLE) is not None:
            details |= await _ask_judge(row)
            row |= judged_row(row, details) or {}
        correct, text = row["correct"], row["raw_output"]
        details |= {"outcome": row["outcome"], "refused_kind": graded.refused_kind, "rule": graded.rule}
        if correct is None:
            said = row["error"] or text
            return Score.unscored(reason=row["outcome"], answer=row["answer"], explanation=said, metadata=details)
        value = CORRECT if correct else NOANSWER if row["outcome"] == "abstained" else INCORRECT
        return Score(value=value, answer=row["answer"], explanation=text, metadata=details)

    return score


def _row(state: TaskState, reference: str, back: Answer | NoReply, graded: Graded) -> dict[str, Any]:
    """Return the columns that a judge and its verdict need."""
    seen = state.metadata
    return {
        "key": str(state.sample_id),
        "subtype": seen["subtype"],
        "question": seen["question"],
        "gold": reference,
        "old_answer": seen["old_answer"],
        "grading": seen["grading"],
        "raw_output": None if isinstance(back, NoReply) else back.raw,
        "finish_reason": None if isinstance(back, NoReply) else back.finish_reason,
        "outcome": str(graded.outcome),
        "answer": graded.answer,
        "abstain_kind": graded.abstain_kind,
        "correct": graded.correct,
        "error": graded.error,
    }


async def _ask_judge(row: dict[str, Any]) -> dict[str, Any]:
    """Ask the judge about an answer, again where it is unclear; returns what the score tells of it."""
    # What the role's own model was given comes before these settings.
    judge = get_model(role=ROLE, config=GenerateConfig(temperature=0.0, max_tokens=MAX_TOKENS))
    request = request_about(row)
    system, user = (message["content"] for message in request.messages)
    messages: list[ChatMessage] = [ChatMessageSystem(content=system), ChatMessageUser(content=user)]
    told: dict[str, Any] = {"judge": str(judge), "judge_output": None, "judge_error": None}
    for _ in range(ATTEMPTS):
        try:
            output = await judge.generate(messages)
        except LimitExceededError:
            raise
        except Exception as error:  # noqa: BLE001 - each provider has its own errors; whichever it is, the judge failed
            told["judge_error"] = clean(f"{type(error).__name__}: {error}")[:500]
            continue
        back = read_output(output.model_dump(mode="json"), images=0, least_tokens=None)
        if isinstance(back, NoReply) or back.refused is not None:
            told["judge_error"] = back.said if isinstance(back, NoReply) else f"refused as {back.refused}: {back.raw}"
            continue
        told |= {"judge_output": back.raw, "judge_error": None}
        if parse_verdict(back.raw or "", request.fence).value is not None:
            break
    return told
