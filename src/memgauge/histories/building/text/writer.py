"""The contract of writers, and the loop that regenerates what the validators reject."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from memgauge.errors import MemgaugeError
from memgauge.histories.building.model import Blueprint, Fact, Turn
from memgauge.histories.building.text.log import AttemptLog
from memgauge.histories.building.text.types import PASSED, Draft, Plan, Profile, Scribe, Topic, Verdict, profile_named
from memgauge.histories.building.text.validators.checks import Validator
from memgauge.histories.building.text.validators.context import Context

ATTEMPTS = 4
"""At each turn."""
SESSIONS = 3
"""At each session, each with the next topic."""
FACT_FIRST = 0.6
"""Share of carriers that stand before the topical sentence of their message (not in the opening message)."""


class SessionRejectedError(MemgaugeError):
    """No attempt passed the validators; `reason` is `validator: code` of the last rejection."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no session passed the validators; the last rejection was {reason}")
        self.reason = reason


class QuestionRejectedError(MemgaugeError):
    """No attempt at a question passed its checks; `reason` is `check, reason` of the last rejection."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no wording of the question passed its checks; the last rejection was {reason}")
        self.reason = reason


class Writer(Protocol):
    """Writes whole sessions, and words questions: `ProceduralWriter` and `ModelWriter`."""

    log: AttemptLog

    def question(
        self,
        blueprint: Blueprint,
        rng: random.Random,
        *,
        captions: Sequence[str] = (),
        swap_passed: bool = False,
    ) -> str:
        """Return the question of a blueprint, worded anew by a writer that can do that.

        Parameters
        ----------
        blueprint : the answerable item, of a refusal too, so that both are screened alike.
        captions : of its pictures, as they are exported.
        swap_passed : whether other pictures under the same texts were shown to give another answer.

        Raises `QuestionRejectedError` after four attempts.
        """
        ...

    def session(
        self,
        topic: Topic | Sequence[Topic],
        carriers: Sequence[Fact],
        date: datetime,
        rng: random.Random,
        profile: str = "compact",
        *,
        answer_space: Sequence[str] = (),
    ) -> tuple[Turn, ...]:
        """Write one session of user and assistant turns in turn, 5 to 7 exchanges.

        Parameters
        ----------
        topic : what it is about; with several, each redrawn session takes the next one (three are enough).
        carriers : the facts that it carries, usually 0 to 2; none gives a text-only session (filler).
        date : day and time of the session.
        rng : all randomness comes from it.
        profile : `compact` or `paper`.
        answer_space : all possible answers (`Blueprint.answer_space` of every carrier); no text may say any of them
            beyond what the facts say themselves, whatever the gold is.

        Raises `SessionRejectedError` after four attempts at a turn in each of three sessions.
        """
        ...


def draw_plan(topic: Topic, carriers: Sequence[Fact], date: datetime, rng: random.Random, profile: Profile) -> Plan:
    """Draw the skeleton of a session: exchanges, places of the facts (uniform), and which stand before the topic.

    Raises `ValueError` for more facts than the smallest number of exchanges.
    """
    if len(carriers) > min(profile.exchanges):
        raise ValueError(f"a session carries at most {min(profile.exchanges)} facts, got {len(carriers)}")
    exchanges = rng.choice(profile.exchanges)
    places = rng.sample(range(exchanges), len(carriers))
    # A fact never opens the session as its announced topic.
    first = {place: rng.random() < FACT_FIRST and place > 0 for place in places}
    return Plan(topic, profile, date, exchanges, dict(zip(places, carriers, strict=True)), first)


def write_session(
    begin: Callable[[Plan, random.Random], Scribe],
    topic: Topic | Sequence[Topic],
    carriers: Sequence[Fact],
    date: datetime,
    rng: random.Random,
    profile: str,
    *,
    validators: Sequence[Validator],
    log: AttemptLog,
    answer_space: Sequence[str] = (),
) -> tuple[Turn, ...]:
    """Plan a session, write its turns with the scribe that `begin` gives, and screen each (see `Writer.session`)."""
    topics = (topic,) if isinstance(topic, Topic) else tuple(topic)
    ranges = profile_named(profile)
    verdict = PASSED
    for attempt in range(SESSIONS):
        plan = draw_plan(topics[min(attempt, len(topics) - 1)], carriers, date, rng, ranges)
        context = Context(ranges, tuple(carriers), tuple(answer_space))
        scribe = begin(plan, rng)
        for index in range(2 * plan.exchanges):
            verdict = _turn(scribe, plan, index, context, validators, log)
            if not verdict.ok:
                break
        else:
            log.session("written")
            return tuple(context.turns)
        log.session("redrawn" if attempt < SESSIONS - 1 else "rejected")
    raise SessionRejectedError(f"{verdict.validator}: {verdict.reason}")


def _turn(
    scribe: Scribe, plan: Plan, index: int, context: Context, validators: Sequence[Validator], log: AttemptLog
) -> Verdict:
    """Write one turn into the context; return the last rejection if no attempt passes."""
    fact = plan.carriers.get(index // 2) if index % 2 == 0 else None
    facts = (fact,) if fact is not None else ()
    hints: list[str] = []
    verdict = PASSED
    for _ in range(ATTEMPTS):
        draft = Draft("assistant" if index % 2 else "user", scribe.turn(context.turns, hints), facts)
        verdict = next((v for v in (check.check(draft, context) for check in validators) if not v.ok), PASSED)
        log.turn(draft.role, verdict)
        if verdict.ok:
            images = tuple(image for fact in facts for image in fact.images)
            context.accept(Turn(draft.role, draft.content, images, tuple(fact.id for fact in facts)))
            break
        hints.append(verdict.hint)
    return verdict
