"""The two phases of a blueprint: how many sessions it needs, and then the whole of it for the dates of its slots."""

from __future__ import annotations

import itertools
from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from memgauge.errors import unknown_name
from memgauge.histories.building.blueprints import entity_items, previous_items, session_items, time_items, update_items
from memgauge.histories.building.blueprints.draft import Draft, Near, Plan, Recipe
from memgauge.histories.building.blueprints.people import Person
from memgauge.histories.building.model import BUILDERS, REFUSAL_GOLD, Blueprint
from memgauge.histories.building.seeds import dealt, rng

MSR_SESSIONS = (3, 6)
"""Fewest and most sessions of a multi-session item; up to 8 fit from 64K on."""

RECIPES: dict[str, Recipe] = {
    **entity_items.RECIPES,
    **previous_items.RECIPES,
    **session_items.RECIPES,
    **time_items.RECIPES,
    **update_items.RECIPES,
}
"""What each of the 17 builders does."""


def plan_blueprint(
    builder: str,
    *,
    seed: int,
    path: Sequence[int | str],
    index: int | None = None,
    msr_sessions: tuple[int, int] = MSR_SESSIONS,
    told: bool = False,
) -> Plan:
    """Say what a blueprint needs, before its slots are drawn.

    Parameters
    ----------
    builder : one of the 17 names of `model.BUILDERS`.
    path : names the blueprint under the seed, such as (question id,) or (question id, "decoy", 3).
    index : number of a question among those of its builder (0, 1, ...). Its variant, its size and its answer then come
        from balanced decks, of which the best constant guess gets at most ceil(n / K) of n right. None for decoys and
        for refusals, which draw freely.
    msr_sessions : fewest and most sessions of a multi-session item, 2 to 8.
    told : build a multi-session item whose text suffices (the paper's 65).

    Raises `InputError` for an unknown builder, `ValueError` for sizes or `told` that the builder cannot have.

    >>> plan_blueprint("ku_update", seed=1, path=("q_1",), index=0).slots
    4
    """
    if builder not in RECIPES:
        raise unknown_name("builder", builder, BUILDERS)
    recipe = RECIPES[builder]
    if told and not builder.startswith("msr_"):
        raise ValueError(f"the text of {builder} cannot suffice; only multi-session items can be told")
    if not 2 <= msr_sessions[0] <= msr_sessions[1] <= 8:
        raise ValueError(f"a multi-session item takes 2 to 8 sessions, got {msr_sessions}")
    sizes = recipe.sizes or tuple(range(msr_sessions[0], msr_sessions[1] + 1))
    free = rng(seed, *path, "plan")
    card = index
    which = free.randrange(len(recipe.modes))
    if card is not None:
        which, card = dealt(seed, f"{builder}:mode", card, len(recipe.modes)), card // len(recipe.modes)
    mode = recipe.modes[which]
    size = free.choice(sizes)
    if card is not None and mode not in recipe.any_size:
        size, card = sizes[dealt(seed, f"{builder}:{mode}:size", card, len(sizes))], card // len(sizes)
    deck = f"{builder}:{mode}" if mode in recipe.any_size else f"{builder}:{mode}:{size}"
    return Plan(builder, mode, size, recipe.contrast, seed, tuple(path), index, told, deck, card)


def build_blueprint(
    plan: Plan,
    *,
    id: str,
    dates: Sequence[datetime],
    used: Set[tuple[str, ...]],
    cast: Sequence[Person],
    near: Near | None = None,
    salt: int = 0,
) -> Blueprint:
    """Write the question, the facts for the dates of their slots, the answer, and what the pictures show.

    Parameters
    ----------
    id : the blueprint's id; its facts are called `<id>/<index>`.
    dates : of the slots, strictly increasing, as many as the plan has slots.
    used : keys that the history already has. It is not changed: add `blueprint.key` yourself.
    cast : the people of the history, from `draw_cast`.
    near : what a hard negative shares with the question of its history.
    salt : another number draws another answer and other pictures under byte-identical texts.

    Raises `ValueError` for dates that do not fit the plan, `InputError` when the cast has no unused key left.
    """
    if len(dates) != plan.slots or any(a >= b for a, b in itertools.pairwise(dates)):
        raise ValueError(f"{plan.builder} takes {plan.slots} increasing dates, got {len(dates)}")
    return RECIPES[plan.builder].write(Draft(plan, id, tuple(dates), used, tuple(cast), near or Near(), salt))


def refuse(blueprint: Blueprint) -> Blueprint:
    """Turn an answerable item into one to refuse: its evidence is gone, its contrast siblings stay.

    `gold["kept"]` holds the indices of the facts that stay, so that each keeps its slot; the slots of the others are
    free for decoys. The text alone shows that nothing answers the question, so that its floor is 1.
    """
    kept = [index for index, fact in enumerate(blueprint.facts) if fact.role == "contrast"]
    return replace(
        blueprint,
        builder="ar",
        mode=blueprint.builder,
        answer=REFUSAL_GOLD,
        facts=tuple(blueprint.facts[index] for index in kept),
        answer_space=(),
        floor=Fraction(1),
        visual_need="sufficient",
        gold={"kept": kept, "mode": blueprint.mode, "would_be": blueprint.answer},
    )
