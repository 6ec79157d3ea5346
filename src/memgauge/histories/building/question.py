"""One candidate from its place in the quota to its finished sessions: a pure function of configuration and place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from memgauge.histories.building import checks
from memgauge.histories.building.accounting import Length, TokenCounter, text_tokens, token_counter
from memgauge.histories.building.assembly import Filler, InfeasibleError, Member, choose_pictured, fill
from memgauge.histories.building.blueprints import Plan, build_blueprint, draw_cast, plan_blueprint, refuse
from memgauge.histories.building.config import BuildConfig, Line
from memgauge.histories.building.filler_pool import conversations, mean_tokens
from memgauge.histories.building.haystack import (
    SURPLUS,
    Carriers,
    Haystack,
    Need,
    Recipe,
    decoy_mix,
    draw_haystack,
    single_fact_mix,
)
from memgauge.histories.building.model import Blueprint, Session, Turn
from memgauge.histories.building.photographs import SHOWN_BY, Ledger, Wanted, ledger, mark
from memgauge.histories.building.pictures import caption, draw
from memgauge.histories.building.pictures.album import read_album
from memgauge.histories.building.profiles import PAPER_COUNTS
from memgauge.histories.building.seeds import question_id, rng, session_id
from memgauge.histories.building.solver import Placed
from memgauge.histories.building.store import put_picture
from memgauge.histories.building.text import AttemptLog, QuestionRejectedError, SessionRejectedError, Writer
from memgauge.histories.building.text.chat import NoReplyError
from memgauge.histories.building.timeline import timeline
from memgauge.histories.building.topics import draw_topics
from memgauge.histories.building.units import ENDPOINT, Header, rejected_header, write_unit
from memgauge.histories.building.writing import body_of

_SHORT_SESSION = 700
"""Text tokens of rather short sessions, and tokens of a small picture by patches: they bound the number of sessions."""
_CHEAP_PICTURE = 200
MakeWriter = Callable[[AttemptLog], Writer]


@dataclass(frozen=True, slots=True)
class Place:
    """One candidate of the plan."""

    line: Line
    index: int
    """Number in its line, from 0; those past the quota are the reserve."""
    revision: int = 0
    """How often a reviewer sent it back to the writer."""

    def question_id(self, seed: int) -> str:
        """Return the id of its question."""
        return question_id(seed, self.line.name, self.index)

    def plan(self, seed: int) -> Plan:
        """Return the first phase of its blueprint."""
        return plan_blueprint(
            self.line.builder(self.index),
            seed=seed,
            path=(self.question_id(seed),),
            index=None if self.line.refusal else self.index,
            told=self.line.told,
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A stored picture."""

    file: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Written:
    """A candidate with all of its sessions, before it is put into records."""

    place: Place
    plan: Plan
    blueprint: Blueprint
    """What is asked; of a refusal without its evidence."""
    original: Blueprint
    """With all facts."""
    counterfactual: Mapping[str, Any] | None
    question_date: datetime
    haystack: Haystack
    sessions: tuple[Session, ...]
    """By slot, those of the longest history."""
    pictures: Mapping[ImageSpecKey, Picture]
    members: Mapping[str, Member]
    needed: frozenset[str]
    """Ids of the facts that the answer needs."""
    log: AttemptLog
    photographs: tuple[Wanted, ...]
    """Pictures that shall be photographs; their files in `pictures` are marks."""


ImageSpecKey = tuple[str, int]
"""A fact's id and the number of its picture."""


class Maker:
    """Makes candidates of one build. A process makes one of these and uses it for all of its work."""

    def __init__(self, config: BuildConfig, folder: Path, make_writer: MakeWriter) -> None:
        self.config = config
        self.units = folder / ".build" / "units"
        self.images = folder / "images"
        self.make_writer = make_writer
        self.lengths = config.sizes
        self.counter: TokenCounter = token_counter(config.accounting.counter)
        self.recipe = recipe_of(config)
        self.slots = _slots(self.lengths[-1], config)
        self.ledger: Ledger | None = None
        if config.images is not None:
            self.ledger = ledger(read_album(folder / ".build"), config.seed, config.images.reuse)

    def make(self, place: Place) -> Header:
        """Make a candidate and write its file; a rejected one is written too, with its reason."""
        log = AttemptLog()
        qid = place.question_id(self.config.seed)
        try:
            written = self.write(place, log)
        except (Rejected, InfeasibleError, SessionRejectedError, QuestionRejectedError, NoReplyError) as error:
            reason = _reason(error)
            said = str(error) if isinstance(error, NoReplyError) else ""
            header = rejected_header((qid, place.line.name, place.index, place.revision), reason, log.as_dict(), said)
            write_unit(self.units, header, None)
            return header
        body = body_of(self.config, written)
        if written.blueprint.question != written.original.question:
            body["meta"]["draft"] = written.original.question
        marks = {wanted.mark for wanted in written.photographs}
        files = {key: p.file for key, p in written.pictures.items() if p.file not in marks}
        needed = tuple(dict.fromkeys(file for (fact, _), file in files.items() if fact in written.needed))
        others = dict.fromkeys(file for (fact, _), file in files.items() if fact not in written.needed)
        header = Header(
            question_id=qid,
            line=place.line.name,
            index=place.index,
            revision=place.revision,
            rejected="",
            question=written.blueprint.question,
            names=_names(written.blueprint),
            evidence_files=needed,
            other_files=tuple(others),
            attempts=log.as_dict(),
            photographs=written.photographs,
        )
        write_unit(self.units, header, body)
        return header

    def write(self, place: Place, log: AttemptLog) -> Written:
        """Make a candidate.

        Raises `Rejected`, `InfeasibleError`, `SessionRejectedError` or `QuestionRejectedError` for one that cannot be
        used, and `NoReplyError` when a model that writes does not answer.
        """
        seed, qid = self.config.seed, place.question_id(self.config.seed)
        plan = place.plan(seed)
        dates, question_date = timeline(rng(seed, qid, "timeline"), self.slots)
        cast = draw_cast(seed, qid)
        slots = sorted(rng(seed, qid, "slots").sample(range(self.slots), plan.slots))
        own = [dates[slot] for slot in slots]
        original = build_blueprint(plan, id=qid, dates=own, used=frozenset(), cast=cast)
        if plan.told:  # its text says what the pictures show, so nothing is left to protect
            original = replace(original, facts=tuple(replace(fact, protected=()) for fact in original.facts))
        asked = refuse(original) if place.line.refusal else original
        by_id = dict(zip((fact.id for fact in original.facts), slots, strict=True))
        kept = {by_id[fact.id]: fact for fact in asked.facts}
        haystack = draw_haystack(asked, kept, recipe=self.recipe, seed=seed, dates=dates, cast=cast)
        sizes = {slot: carriers.pictures for slot, carriers in haystack.carriers.items()}
        chosen = choose_pictured(haystack.required, haystack.groups, sizes, self.lengths)
        placed = [Placed(fact, dates[c.slot]) for c in haystack.carriers.values() for fact in c.facts]
        reason = checks.problem(asked, placed)
        if reason:
            raise Rejected(reason)
        photographs = self._photographs(haystack, asked, chosen[self.lengths[-1].name])
        swapped = checks.swapped(plan, original, dates=own, cast=cast)
        # A refusal is worded and screened as the item that it was, so that nothing tells the two apart.
        asked = replace(asked, question=self._worded(place, original, swapped is not None, log))
        sessions = {
            slot: self.session(place, dates, slot, haystack.carriers[slot], log)
            for slot in chosen[self.lengths[-1].name]
        }
        pictures = self._draw(haystack, sessions)
        own_words = [*(p.name for p in cast), *(text for fact in original.facts for text in fact.protected)]
        members, fillers = self._fill(place, dates, chosen, sessions, haystack, pictures, log, own_words)
        return Written(
            place=place,
            plan=plan,
            blueprint=asked,
            original=original,
            counterfactual=swapped,
            question_date=question_date,
            haystack=haystack,
            sessions=tuple(sorted([*sessions.values(), *fillers], key=lambda session: session.slot)),
            pictures=pictures,
            members=members,
            needed=frozenset(fact.id for fact in asked.facts if fact.role == "evidence"),
            log=log,
            photographs=photographs,
        )

    def _worded(self, place: Place, original: Blueprint, swap_passed: bool, log: AttemptLog) -> str:
        """Return the question as the writer words it."""
        return self.make_writer(log).question(
            original,
            rng(self.config.seed, *_path(place, self.config.seed, "question")),
            captions=[caption(spec, self.config.captions == "rich") for fact in original.facts for spec in fact.images],
            swap_passed=swap_passed,
        )

    def session(
        self, place: Place, dates: Sequence[datetime], slot: int, carriers: Carriers | None, log: AttemptLog
    ) -> Session:
        """Write the session of a slot; without carriers a filler."""
        seed, qid = self.config.seed, place.question_id(self.config.seed)
        path = _path(place, seed, "session", slot)
        turns: tuple[Turn, ...] = self.make_writer(log).session(
            draw_topics(rng(seed, *path, "topic"), self.config.ontology),
            carriers.facts if carriers else (),
            dates[slot],
            rng(seed, *path, "text"),
            self.config.text_profile,
            answer_space=carriers.answer_space if carriers else (),
        )
        return Session(session_id(seed, qid, slot), slot, dates[slot], turns, "picture" if carriers else "filler")

    def _photographs(self, haystack: Haystack, asked: Blueprint, slots: Sequence[int]) -> tuple[Wanted, ...]:
        """Return the pictures that shall be photographs; raises `TooFewPhotographs` if there are not that many."""
        if self.ledger is None:
            return ()
        own = {fact.id for fact in asked.facts}
        wanted = tuple(
            Wanted(mark(fact.id, number), spec.truth["entity"], fact.id in own)
            for slot in sorted(slots)
            for fact in haystack.carriers[slot].facts
            for number, spec in enumerate(fact.images)
            if spec.kind in SHOWN_BY
        )
        lacking = self.ledger.lacks(wanted)
        if lacking:
            raise TooFewPhotographs(f"too few photographs of {lacking}")
        return wanted

    def _draw(self, haystack: Haystack, sessions: Mapping[int, Session]) -> dict[ImageSpecKey, Picture]:
        pictures = {}
        for slot in sorted(sessions):
            for fact in haystack.carriers[slot].facts:
                for number, spec in enumerate(fact.images):
                    if self.ledger is not None and spec.kind in SHOWN_BY:
                        # Which one is decided when the candidates are selected; its price is fixed.
                        pictures[fact.id, number] = Picture(mark(fact.id, number), 0, 0)
                        continue
                    drawn = draw(spec)
                    file = put_picture(self.images, drawn.data, drawn.extension)
                    pictures[fact.id, number] = Picture(file, drawn.width, drawn.height)
        return pictures

    def _fill(
        self,
        place: Place,
        dates: Sequence[datetime],
        chosen: Mapping[str, Sequence[int]],
        sessions: Mapping[int, Session],
        haystack: Haystack,
        pictures: Mapping[ImageSpecKey, Picture],
        log: AttemptLog,
        own_words: Sequence[str],
    ) -> tuple[dict[str, Member], list[Session]]:
        """Write fillers, or take them from a file, as far as the lengths need them."""
        seed, qid = self.config.seed, place.question_id(self.config.seed)
        found = None
        if self.config.fillers != "procedural":
            found = conversations(self.config.fillers, seed, qid, own_words, ())
        free = [slot for slot in range(len(dates)) if slot not in sessions]
        rng(seed, qid, "fillers").shuffle(free)
        written: list[Session] = []

        def filler(number: int) -> Filler | None:
            if number >= len(free):
                return None
            slot = free[number]
            if found is None:
                session = self.session(place, dates, slot, None, log)
            else:
                turns = next(found, None)
                if turns is None:
                    return None
                session = Session(session_id(seed, qid, slot), slot, dates[slot], turns, "filler")
            written.append(session)
            return Filler(session.slot, self._cumulative(session))

        text = {slot: self._cumulative(session)[-1] for slot, session in sessions.items()}
        price = {
            slot: sum(
                self.config.accounting.price(pictures[fact.id, n].width, pictures[fact.id, n].height)
                for fact in haystack.carriers[slot].facts
                for n in range(len(fact.images))
            )
            for slot in sessions
        }
        members = fill(chosen, text, price, self.lengths, filler)
        used = {slot for member in members.values() for slot in member.fillers}
        return members, [session for session in written if session.slot in used]

    def _cumulative(self, session: Session) -> tuple[int, ...]:
        """Return the tokens of a session cut after each of its exchanges."""
        accounting = self.config.accounting
        each = [
            text_tokens([turn.content], accounting, self.counter) - accounting.session_tokens for turn in session.turns
        ]
        total, sums = accounting.session_tokens, []
        for place in range(0, len(each), 2):
            total += sum(each[place : place + 2])
            sums.append(total)
        return tuple(sums)


class Rejected(Exception):  # noqa: N818 - it is an outcome of a candidate, not a fault
    """A candidate that cannot be used; `reason` is a short code."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooFewPhotographs(Rejected):
    """The source has too few photographs of a name, whatever other questions take."""


def _reason(error: Exception) -> str:
    """Return the stage at which a candidate failed, and why."""
    if isinstance(error, NoReplyError):
        return f"{ENDPOINT}: {error.kind}"
    stages = {InfeasibleError: "assembly", SessionRejectedError: "text", TooFewPhotographs: "images"}
    return f"{stages.get(type(error), 'question')}: {getattr(error, 'reason', '')}"


def _path(place: Place, seed: int, *parts: int | str) -> tuple[int | str, ...]:
    """Return the random path of a part of a candidate; one that was sent back to the writer has another."""
    return (place.question_id(seed), *parts, *((f"revision {place.revision}",) if place.revision else ()))


def _names(blueprint: Blueprint) -> tuple[str, ...]:
    """Return the names of people in a question's key, whole and first, which are masked when questions are compared."""
    owners = blueprint.key[1:]
    return tuple(dict.fromkeys([*owners, *(owner.split()[0] for owner in owners if owner)]))


def _slots(longest: Length, config: BuildConfig) -> int:
    """Return the slots of a timeline: one for every session that the longest history may take, and a few more."""
    price = config.accounting.fixed
    if price is None:
        price = _CHEAP_PICTURE if config.accounting.picture == "patch" else 0
    short = _SHORT_SESSION
    if config.fillers != "procedural":
        short = min(short, mean_tokens(config.fillers) * 7 // 10)
    by_text = 0 if longest.sessions else (longest.budget - longest.pictures * price) // short
    return max(by_text, longest.pictures + SURPLUS, longest.sessions or 0) + 4


@cache
def recipe_of(config: BuildConfig) -> Recipe:
    """Work out the mixes of decoys, always from the paper's 789 questions.

    Smaller builds keep their proportions, and a question must not change when another one is added.
    """
    needs = []
    for line in replace(config, questions=sum(PAPER_COUNTS.values())).quota():
        for index in range(line.quota):
            plan = Place(line, index).plan(config.seed)
            needs.append(Need(plan.builder, plan.slots - plan.contrast, plan.contrast, line.refusal))
    longest = config.sizes[-1]
    required = sum((0 if n.refusal else n.evidence) + n.contrast for n in needs) / len(needs)
    decoys = longest.pictures / (1 + config.second_carrier) - required
    return Recipe(decoy_mix(needs, decoys), single_fact_mix(needs), config.second_carrier, longest.pictures)
