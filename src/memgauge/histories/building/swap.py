"""The counterfactual of an item: the same texts over other pictures, with another answer (structural necessity).

No model is needed to show that a picture is necessary: if every text is byte-identical and the answer changes, then no
reader of the text alone can know the answer.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime

from memgauge.histories.building.blueprints import Near, Person, Plan, build_blueprint
from memgauge.histories.building.model import Blueprint

TRIES = 1000


def counterfactual(
    plan: Plan,
    blueprint: Blueprint,
    *,
    dates: Sequence[datetime],
    used: Set[tuple[str, ...]],
    cast: Sequence[Person],
    near: Near | None = None,
) -> Blueprint:
    """Rebuild an item from other image seeds until its answer differs, with every text unchanged.

    The arguments are those of `build_blueprint`; `used` may meanwhile hold the item's own key and later ones.
    Raises `ValueError` for an item whose text suffices, `RuntimeError` if a text depends on the pictures or no seed
    changes the answer; both would be faults of a builder.
    """
    if plan.told:
        raise ValueError(f"{blueprint.id}: its text says the answer, so no other pictures change it")
    for salt in range(1, TRIES + 1):
        other = build_blueprint(
            plan, id=blueprint.id, dates=dates, used=used - {blueprint.key}, cast=cast, near=near, salt=salt
        )
        if texts(other) != texts(blueprint):
            raise RuntimeError(f"{blueprint.id}: the texts of {blueprint.builder} depend on its pictures")
        if other.answer != blueprint.answer:
            return other
    raise RuntimeError(f"{blueprint.id}: {TRIES} image seeds leave the answer of {blueprint.builder} unchanged")


def texts(blueprint: Blueprint) -> tuple[object, ...]:
    """Return all that a reader of the text alone sees of an item: question, keys, texts, mentions."""
    return (
        blueprint.question,
        blueprint.key,
        *((fact.id, fact.key, fact.text, dict(fact.mentions)) for fact in blueprint.facts),
    )
