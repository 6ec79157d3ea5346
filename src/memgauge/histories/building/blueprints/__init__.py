"""Blueprints: a question with its answer, its facts and their pictures, complete (MEMLENS, question construction).

How the other stages use it::

    cast = draw_cast(seed, question_id)                                  # the people of one history
    plan = plan_blueprint("ku_update", seed=seed, path=(question_id,), index=17)
    plan.slots, plan.contrast                                            # sessions it needs, how many are siblings
    blueprint = build_blueprint(plan, id=question_id, dates=dates, used=used, cast=cast)
    other = counterfactual(plan, blueprint, dates=dates, used=used, cast=cast)   # histories.building.swap
    used.add(blueprint.key)                                              # building never changes `used`
    decoy = build_blueprint(plan_blueprint("tr_order", seed=seed, path=(question_id, "decoy", 3)), id="d3", ...)

Text is drawn from the generator (seed, *path, "text"), answer and pictures from (seed, *path, "image", salt): with
another salt every text stays byte-identical while the pictures, and with them the answer, change. So no reader of the
text alone can beat the prior of the answers.
"""

from __future__ import annotations

from memgauge.histories.building.blueprints.api import MSR_SESSIONS, build_blueprint, plan_blueprint, refuse
from memgauge.histories.building.blueprints.draft import Near, Plan
from memgauge.histories.building.blueprints.people import Person, draw_cast

__all__ = [
    "MSR_SESSIONS",
    "Near",
    "Person",
    "Plan",
    "build_blueprint",
    "draw_cast",
    "plan_blueprint",
    "refuse",
]
