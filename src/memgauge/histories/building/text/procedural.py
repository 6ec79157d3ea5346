"""Template text from the package's banks: no network, no model, every draw from the session's generator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime

from memgauge.histories.building.model import Blueprint, Fact, Turn
from memgauge.histories.building.text.banks import Line, banks
from memgauge.histories.building.text.log import AttemptLog
from memgauge.histories.building.text.types import Plan, Topic
from memgauge.histories.building.text.validators.checks import Validator, chain
from memgauge.histories.building.text.writer import write_session

OWN_ADVICE = 0.55
"""Share of advice that comes from the topic's sub-attribute; the rest is general."""
MARKED = 0.3
"""Share of later sentences of advice that begin with a marker such as "In practice,"."""
GOAL = (0.05, 0.5)
"""Range of the words that an assistant turn aims for, as shares of the profile's range; it ends with the sentence that
reaches its goal."""
NAMED = 2
"""How often a message names its topic; after that it says "this" and the like."""
TOPIC_SLOTS = ("{t}", "{a}")
PART = "the {u}"


class ProceduralWriter:
    """Writes sessions from templates; see `Writer.session`.

    >>> from random import Random
    >>> topic = Topic("retail", "the cereal aisle", "breakfast shelves", "bulk bins")
    >>> turns = ProceduralWriter().session(topic, [], datetime(2023, 5, 1), Random(1))
    >>> turns[0].role, turns[-1].role, turns[-1].content[-1]
    ('user', 'assistant', '?')
    """

    name = "procedural"

    def __init__(self, log: AttemptLog | None = None, validators: Sequence[Validator] | None = None) -> None:
        self.log = log if log is not None else AttemptLog()
        self.validators = tuple(validators) if validators is not None else chain()

    def question(
        self,
        blueprint: Blueprint,
        rng: random.Random,
        *,
        captions: Sequence[str] = (),
        swap_passed: bool = False,
    ) -> str:
        """Return the blueprint's own question, which came from templates."""
        return blueprint.question

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
        """See `Writer.session`."""
        return write_session(
            ProceduralScribe,
            topic,
            carriers,
            date,
            rng,
            profile,
            validators=self.validators,
            log=self.log,
            answer_space=answer_space,
        )


class ProceduralScribe:
    """The state of one session: what of the banks it has used. No sentence of advice comes twice."""

    def __init__(self, plan: Plan, rng: random.Random) -> None:
        self.plan, self.rng, self.banks = plan, rng, banks()
        topic = plan.topic
        domain = topic.domain or self.banks.domains.get(topic.sub_attribute, "everyday life")
        self._slots = {"{t}": topic.say, "{a}": topic.alt, PART: part(topic.subtopic), "{s}": domain}
        self._named: list[str] = []
        own = self.banks.advice.get(topic.sub_attribute, ())
        self._own = rng.sample(own, len(own))
        self._general = rng.sample(self.banks.general, min(len(self.banks.general), 40))
        self._questions = rng.sample(self.banks.questions, plan.exchanges)
        self._acknowledgements = rng.sample(self.banks.acknowledgements, plan.exchanges)
        self._used: set[Line] = set()

    def turn(self, turns: Sequence[Turn], hints: Sequence[str]) -> str:
        """See `Scribe`. A hint to write shorter or longer is followed; after any other, everything is drawn anew."""
        shorter = any(hint.startswith("Write shorter") for hint in hints)
        if len(turns) % 2:
            longer = any(hint.startswith("Write longer") for hint in hints)
            return self._assistant(len(turns) // 2, shorter - longer)
        return self._user(len(turns) // 2, shorter)

    def _say(self, line: Line) -> str:
        return self._fill(self._variant(line))

    def _variant(self, line: Line) -> str:
        return line[0] if len(line) == 1 else self.rng.choice(line)

    def _fill(self, text: str) -> str:
        if "{" not in text:
            return text
        for slot in TOPIC_SLOTS:
            if slot in text:
                text = text.replace(slot, self._topic(slot))
        if PART in text:
            text = text.replace(PART, self._slots[PART] if PART not in self._named else "that part")
            self._named.append(PART)
        return text.replace("{s}", self._slots["{s}"])

    def _topic(self, slot: str) -> str:
        """Name the topic in one way, then in the other, then with a pronoun: nobody repeats it in every sentence."""
        if sum(name in TOPIC_SLOTS for name in self._named) == NAMED:
            return self.rng.choice(self.banks.pronouns)[0]
        if slot in self._named:
            slot = TOPIC_SLOTS[slot == TOPIC_SLOTS[0]]
        self._named.append(slot)
        return self._slots[slot]

    def _fresh(self, bank: Sequence[Line]) -> Line:
        """Draw a line that this session has not used yet."""
        for _ in range(50):
            line = self.rng.choice(bank)
            if line not in self._used:
                break
        self._used.add(line)
        return line

    def _user(self, exchange: int, shorter: bool) -> str:
        fact = self.plan.carriers.get(exchange)
        first = self.plan.carrier_first.get(exchange, False)
        library = self.banks
        self._named = []
        if exchange == 0:
            bank: Sequence[Line] = library.openers
        elif fact is not None and first:
            bank = library.followups
        else:
            bank = library.reactions if self.rng.random() < 0.45 else library.followups
        topical = self._say(self._fresh(bank))
        if fact is None:
            return topical
        carried = self._carried(fact)
        room = self.plan.profile.user[1] - _count(carried)
        for _ in range(8 if shorter else 4):
            # A long fact leaves room for a short topical sentence only.
            if _count(topical) <= room - 4:
                break
            other = self._say(self._fresh(bank))
            topical = min(topical, other, key=len)
        if not first:
            return f"{topical} {carried}"
        back = self._say(self.rng.choice(library.returns))
        return f"{carried} {back} {topical}" if _count(topical) + _count(back) <= room else f"{carried} {topical}"

    def _carried(self, fact: Fact) -> str:
        text = fact.text if fact.text[-1] in ".?!" else f"{fact.text}."
        return f"{self._say(self.rng.choice(self.banks.connectors))} {text}"

    def _assistant(self, exchange: int, shorter: int) -> str:
        low, high = self.plan.profile.assistant
        self._named = []
        if exchange in self.plan.carriers:
            start = self._say(self.rng.choice(self.banks.picture_acknowledgements))
        else:
            start = self._say(self._acknowledgements[exchange])
        # Its slots are filled last, so that it does not name what the advice then calls "this".
        question = self._variant(self._questions[exchange])
        parts = [start]
        length = _count(start) + _count(question)
        # From the lower half of the range, so that neither end is cut off and no length tells anything.
        goal = low + (high - low) * self.rng.uniform(*GOAL) - 12 * shorter
        while length < max(goal, low):
            advice = self._advice()
            size = _count(advice)
            if length + size > high:
                break
            if len(parts) > 1 and length + size + 6 <= high and ":" not in advice and self.rng.random() < MARKED:
                marker = self._say(self.rng.choice(self.banks.markers))
                advice = f"{marker} {advice[0].lower()}{advice[1:]}"
                size += _count(marker)
            parts.append(advice)
            length += size
        parts.append(self._fill(question))
        return " ".join(parts)

    def _advice(self) -> str:
        if self._own and self.rng.random() < OWN_ADVICE:
            return self._say(self._own.pop())
        return self._say(self._general.pop() if self._general else self._fresh(self.banks.general))


def part(subtopic: str) -> str:
    """Return a subtopic with an article where it takes one: plurals and verbs do not.

    >>> part("dairy section"), part("bulk bins"), part("cleaning up")
    ('the dairy section', 'bulk bins', 'cleaning up')
    """
    words = subtopic.split()
    plural = words[-1].endswith("s") and not words[-1].endswith("ss")
    return subtopic if plural or words[0].endswith("ing") else f"the {subtopic}"


def _count(text: str) -> int:
    """Words of a bank's sentence, which has single spaces."""
    return text.count(" ") + 1
