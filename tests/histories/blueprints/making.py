"""Blueprints for tests: one call for one item, with its dates and its cast."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memgauge.histories.building.blueprints import Person, Plan, build_blueprint, draw_cast, plan_blueprint
from memgauge.histories.building.model import Blueprint
from memgauge.histories.building.seeds import rng
from memgauge.histories.building.solver import Placed
from memgauge.histories.building.timeline import timeline


@dataclass(frozen=True)
class Item:
    plan: Plan
    dates: tuple[datetime, ...]
    cast: tuple[Person, ...]
    blueprint: Blueprint

    @property
    def placed(self) -> list[Placed]:
        return [Placed(fact, self.dates[int(fact.id.rpartition("/")[2])]) for fact in self.blueprint.facts]


def make(
    builder: str,
    index: int,
    *,
    seed: int = 11,
    deck: bool = True,
    used: frozenset[tuple[str, ...]] = frozenset(),
    salt: int = 0,
    told: bool = False,
) -> Item:
    name = f"{builder}-{index}"
    plan = plan_blueprint(builder, seed=seed, path=(name,), index=index if deck else None, told=told)
    generator = rng(seed, name, "timeline")
    slots, _ = timeline(generator, 60)
    dates = tuple(sorted(generator.sample(slots, plan.slots)))
    cast = draw_cast(seed, name)
    return Item(plan, dates, cast, build_blueprint(plan, id=name, dates=dates, used=used, cast=cast, salt=salt))
