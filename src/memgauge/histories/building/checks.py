"""Screens of a candidate before any text is written: the question, the solver over the whole history, the swap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memgauge.histories.building.blueprints import Person, Plan
from memgauge.histories.building.model import REFUSAL_GOLD, Blueprint
from memgauge.histories.building.pictures import caption
from memgauge.histories.building.solver import Placed, solve
from memgauge.histories.building.swap import counterfactual
from memgauge.histories.building.text.questions import answer_problems, ngram_problems, rule_problems


def problem(asked: Blueprint, history: Sequence[Placed]) -> str:
    """Return why a candidate is rejected, or an empty string.

    The solver must find the gold in the facts of the whole history (of a refusal, nothing), and the question must be
    well formed. In open answer spaces neither the question nor the facts and captions may say the answer. In closed
    ones nothing is rejected because of its answer, since what is left would tell by what is missing: there the swap,
    which every item passes, shows that the text says nothing about the answer.
    """
    open_space = not asked.answer_space and asked.visual_need != "sufficient"
    worded = asked if open_space else replace(asked, answer=REFUSAL_GOLD, answer_space=())
    found = [*rule_problems(worded), *answer_problems(asked, lambda item: solve(item, history))]
    if open_space:
        found += ngram_problems(asked, [caption(spec) for fact in asked.facts for spec in fact.images])
    return f"{found[0].check}, {found[0].reason}" if found else ""


def swapped(
    plan: Plan, original: Blueprint, *, dates: Sequence[datetime], cast: Sequence[Person]
) -> Mapping[str, Any] | None:
    """Return another answer that the same texts allow, with the pictures that give it; None where the text suffices.

    The texts are compared byte for byte, so that it proves that the pictures are necessary.
    """
    if plan.told:
        return None
    other = counterfactual(plan, original, dates=dates, used=frozenset(), cast=cast)
    return {
        "answer": other.answer,
        "pictures": [
            {"fact": fact.id, "kind": spec.kind, "truth": spec.truth, "seed": spec.seed}
            for fact in other.facts
            for spec in fact.images
        ],
    }
