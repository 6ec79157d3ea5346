"""The scorer `memgauge/membership`: the grader of `memgauge run`, and metrics that know what an abstention is."""

from __future__ import annotations

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

from memgauge.grading.answers import Graded, grade_membership
from memgauge.inspect_tasks.plan import VERSION
from memgauge.inspect_tasks.replies import NoReply, read_output


@metric
def coverage() -> Metric:
    """Share of the scored questions that were answered rather than abstained from; with epochs, in the first one."""

    def measure(scores: list[SampleScore]) -> float:
        if not scores:
            return float("nan")
        # Inspect has turned the values into numbers by now, in which an abstention and a wrong answer are alike.
        return sum(score.score.answer is not None for score in scores) / len(scores)

    return measure


@scorer(
    metrics=[
        accuracy(),
        stderr(cluster="stream"),
        coverage(),
        grouped(accuracy(), "cell", all=False, name_template="accuracy at {group_name}"),
    ]
)
def membership(check_truncation: bool = True) -> Scorer:
    """Grade a membership answer by the last option marker (ECCBench, B.1, B.8).

    Correct `C`, wrong `I`, abstained `N`, which counts as not correct. A question that the server refused, or that came
    back as an error, is left unscored: it is neither. `check_truncation` treats as refused what a server cut short: an
    answer to fewer prompt tokens than the stream has symbols or frames.
    """

    async def score(state: TaskState, target: Target) -> Score:
        seen = state.metadata
        back = read_output(
            state.output.model_dump(mode="json"),
            images=int(seen["images"]),
            least_tokens=int(seen["least_tokens"]) if check_truncation else None,
        )
        if isinstance(back, NoReply):
            graded = Graded("model_error", error=back.said)
        else:
            graded = grade_membership(back, target.text)
        details = {
            "version": VERSION,
            "outcome": str(graded.outcome),
            "abstain_kind": None if graded.abstain_kind is None else str(graded.abstain_kind),
            "refused_kind": graded.refused_kind,
        }
        text = None if isinstance(back, NoReply) else back.raw
        if graded.correct is None:
            return Score.unscored(reason=str(graded.outcome), explanation=graded.error or text, metadata=details)
        value = NOANSWER if graded.answer is None else CORRECT if graded.correct else INCORRECT
        return Score(value=value, answer=graded.answer, explanation=text, metadata=details)

    return score
