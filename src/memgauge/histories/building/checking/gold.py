"""Structural gates on the gold side: the sidecar against the records, solver, counterfactuals, grader, captions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from memgauge.errors import InputError
from memgauge.grading.subtypes import infer_subtype
from memgauge.grading.typed.grade import grade_typed
from memgauge.histories.building.checking.folder import Folder, Item, fact_of, sessions_of
from memgauge.histories.building.checking.gates import Structural
from memgauge.histories.building.checking.schema import Meta, MetaFact, Record, Turn
from memgauge.histories.building.model import BUILDERS, REFUSAL_GOLD, Blueprint, Fact, ImageSpec
from memgauge.histories.building.pictures.entities import NAMES
from memgauge.histories.building.pictures.kinds import caption, check
from memgauge.histories.building.solver import Placed, oracle
from memgauge.histories.building.text.questions import NearDuplicates, ngram_problems, rule_problems
from memgauge.histories.building.text.types import profile_named
from memgauge.histories.building.text.validators.context import Bans, Context
from memgauge.histories.building.text.validators.forms import truth_forms
from memgauge.histories.building.text.validators.normal import words
from memgauge.histories.building.text.validators.spaces import kind_space, word_forms
from memgauge.histories.building.timeline import read_stamp

_BROKEN = (LookupError, ValueError, TypeError, AttributeError, StopIteration, InputError)
"""What structured truth raises that is not what its builder wrote."""
_INDEX = re.compile(r"(.+)/(\d+)")


class GoldGates:
    """Takes one question after the other; every gate keeps its own problems."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.rich = folder.config["captions"] == "rich"
        self.sidecar = Structural(
            "sidecar",
            "meta.jsonl and the records agree: sessions by slot, pictures of each session in order, the texts of its "
            "facts, has_answer on the turns that carry evidence",
            "sessions",
            "one of the two files was changed: build the folder again",
        )
        self.chains = Structural(
            "chains",
            "facts of one blueprint keep their order in time, and no two blueprints of a history share a key",
            "questions",
            "the slots of a blueprint must be sorted, and decoys must draw fresh keys",
        )
        self.oracle = Structural(
            "oracle",
            "the structured truth of the question's own facts gives the gold answer, that of a refusal nothing",
            "questions",
            "answer, key, mentions or picture truth of the question are wrong",
        )
        self.solver = Structural(
            "solver",
            "all facts with the question's key in the whole history, at every length, give the gold answer; in the "
            "history of a refusal there are none that answer",
            "records",
            "another fact of the history answers the question too, or evidence is missing",
        )
        self.swap = Structural(
            "counterfactual",
            "every question that needs its pictures stores others under the same texts, which give another answer",
            "questions",
            "the builder must redraw the image side until the answer flips",
        )
        self.grader = Structural(
            "grader",
            "the grader accepts the gold answer as its own and not the counterfactual one; the answer is in its space",
            "questions",
            "the form of the answer and the wording of the question do not fit the grader: see `memgauge judge`",
        )
        self.untold = Structural(
            "answer_not_told",
            "neither the question nor the texts of its sessions say what only the pictures should",
            "questions",
            "validators 3 and 4 did not run on this text, or a bank says a protected value",
        )
        self.captions = Structural(
            "captions",
            "captions say the kind of a picture (with `rich` also the names of things) and no value that it shows",
            "pictures",
            "captions must come from the kind alone",
        )
        self.questions = Structural(
            "questions_unique",
            "no two questions have the same text, nor the same but for names",
            "questions",
            "drop one of the two; the reserve of its line replaces it",
        )
        self._near = NearDuplicates()
        self._texts: dict[str, str] = {}

    @property
    def gates(self) -> tuple[Structural, ...]:
        """All gates, in the order in which they are printed."""
        return (
            *(self.sidecar, self.chains, self.oracle, self.solver, self.swap),
            *(self.grader, self.untold, self.captions, self.questions),
        )

    def add(self, item: Item) -> None:
        """Check one question."""
        self._sidecar(item)
        self._chains(item)
        self._questions(item)
        meta = item.meta
        if meta.builder not in BUILDERS:
            self.oracle.add(f"{item.id}: unknown builder {meta.builder!r}")
            return
        for fact in (fact for session in meta.sessions for fact in session.facts):
            for picture in fact.pictures:
                try:
                    check(ImageSpec(picture.kind, picture.truth, picture.seed))
                except InputError as error:
                    self.oracle.add(f"{item.id}: picture {picture.file}: {error}")
                    return
        self._solve(item)
        self._grade(item)
        self._untold(item)
        self._captions(item)

    def _sidecar(self, item: Item) -> None:
        slots = [session.slot for session in item.meta.sessions]
        if slots != sorted(set(slots)):
            self.sidecar.add(f"{item.id}: the slots of meta.jsonl do not increase")
        for name, record in item.records.items():
            inside = set(record.haystack_session_ids)
            order = [s.session_id for s in item.meta.sessions if s.session_id in inside]
            if order != record.haystack_session_ids:
                self.sidecar.add(f"{item.id} at {name}: sessions that meta.jsonl lacks, or has in another order")
        if {s.session_id for s in item.meta.sessions} != set(item.longest.haystack_session_ids):
            self.sidecar.add(f"{item.id}: meta.jsonl has sessions that no length holds")
        for session_id, turns in sessions_of(item.longest):
            session = item.by_session.get(session_id)
            if session is None:
                continue
            self.sidecar.look()
            for problem in _disagree(session.kind, session.facts, turns, self.folder):
                self.sidecar.add(f"{item.id}: session {session_id}: {problem}")

    def _chains(self, item: Item) -> None:
        self.chains.look()
        keys: dict[tuple[str, ...], str] = {}
        last: dict[str, int] = {}
        own: dict[str, tuple[str, ...]] = {}
        for session in item.meta.sessions:
            for fact in session.facts:
                found = _INDEX.fullmatch(fact.id)
                if found is None:
                    self.chains.add(f"{item.id}: fact {fact.id!r:.80} is not <blueprint>/<number>")
                    continue
                blueprint, place, key = found[1], int(found[2]), tuple(fact.key)
                if place <= last.get(blueprint, -1):
                    self.chains.add(f"{item.id}: fact {fact.id} comes after fact {last[blueprint]} of its blueprint")
                last[blueprint] = place
                if own.setdefault(blueprint, key) != key:
                    self.chains.add(f"{item.id}: the facts of blueprint {blueprint} have several keys")
                if keys.setdefault(key, blueprint) != blueprint:
                    self.chains.add(f"{item.id}: the key {', '.join(key)} belongs to {keys[key]} and {blueprint}")
                if (fact.role == "decoy") == (blueprint == item.id):
                    self.chains.add(f"{item.id}: fact {fact.id} has the role {fact.role}")

    def _solve(self, item: Item) -> None:
        meta = item.meta
        dates = {}
        for name, text in zip(item.longest.haystack_session_ids, item.longest.haystack_dates, strict=False):
            try:
                dates[name] = read_stamp(text)
            except InputError:
                return  # the gate of the dates names it
        want = None if meta.refusal else item.longest.answer
        self.oracle.look()
        own = _placed(item, dates, lambda fact: fact.role != "decoy")
        for fact in item.own_facts:
            if fact.role == "evidence" and meta.refusal:
                self.oracle.add(f"{item.id}: the history of a refusal holds the evidence {fact.id}")
        problem = _wrong(meta, own, want)
        if problem:
            self.oracle.add(f"{item.id}: {problem}")
        key = tuple(meta.key)
        for name, record in item.records.items():
            inside = set(record.haystack_session_ids)
            found = _placed(item, dates, lambda fact: tuple(fact.key) == key, inside)
            self.solver.look()
            problem = _wrong(meta, found, want)
            if problem:
                self.solver.add(f"{item.id} at {name}: {problem}")
        self._swap(item, own, want)

    def _swap(self, item: Item, own: Sequence[Placed], want: str | None) -> None:
        meta, other = item.meta, item.meta.counterfactual
        if meta.visual_need == "sufficient" and not meta.refusal:
            return
        self.swap.look()
        if other is None:
            self.swap.add(f"{item.id}: none is stored")
            return
        if other.answer in (want, meta.gold.get("would_be"), REFUSAL_GOLD, ""):
            self.swap.add(f"{item.id}: its answer {other.answer!r} is no other answer")
        if meta.refusal:
            return
        pictures: dict[str, list[ImageSpec]] = {}
        for picture in other.pictures:
            pictures.setdefault(picture.fact, []).append(ImageSpec(picture.kind, picture.truth, picture.seed))
        if {name: len(specs) for name, specs in pictures.items()} != {
            placed.fact.id: len(placed.fact.images) for placed in own
        }:
            self.swap.add(f"{item.id}: its pictures are not those of the question's facts")
            return
        swapped = [Placed(replace(p.fact, images=tuple(pictures[p.fact.id])), p.date) for p in own]
        problem = _wrong(meta, swapped, other.answer)
        if problem:
            self.swap.add(f"{item.id}: with its pictures, {problem}")

    def _grade(self, item: Item) -> None:
        meta, record = item.meta, item.longest
        self.grader.look()
        gold = record.answer
        if meta.answer_space and gold not in meta.answer_space and not meta.refusal:
            self.grader.add(f"{item.id}: the answer {gold!r} is not in its space")
        try:
            subtype = infer_subtype(record.question_type, record.question, gold, meta.subtype)
        except InputError as error:
            self.grader.add(f"{item.id}: {error}")
            return

        def accepts(answer: str) -> bool | None:
            return grade_typed(answer, subtype=subtype, question=record.question, reference=gold).correct

        if accepts(gold) is not True:
            self.grader.add(f"{item.id}: as {subtype} the grader does not accept {gold!r} for itself")
        other = meta.counterfactual.answer if meta.counterfactual else None
        if other is not None and not meta.refusal and accepts(other) is True:
            self.grader.add(f"{item.id}: as {subtype} the grader accepts {other!r} for {gold!r}")

    def _untold(self, item: Item) -> None:
        self.untold.look()
        blueprint = _blueprint(item)
        for found in (*rule_problems(blueprint), *ngram_problems(blueprint)):
            self.untold.add(f"{item.id}: {found.reason}")
        if item.meta.visual_need == "sufficient":
            return
        profile = profile_named(self.folder.config["text_profile"])
        space = tuple(item.meta.answer_space)
        turns = dict(sessions_of(item.longest))
        for name in item.meta.answer_session_ids:
            if name not in turns or name not in item.by_session:
                continue
            facts = item.by_session[name].facts
            context = Context(profile, tuple(map(fact_of, facts)), space)
            for turn in turns[name]:
                for said in _beyond(context, facts, turn):
                    self.untold.add(f"{item.id}: session {name} says {said!r}")

    def _captions(self, item: Item) -> None:
        specs = {
            p.file: ImageSpec(p.kind, p.truth, p.seed) for s in item.meta.sessions for f in s.facts for p in f.pictures
        }
        for _, turns in sessions_of(item.longest):
            for image in (image for turn in turns for image in turn.images):
                if image.file not in specs:
                    continue
                self.captions.look()
                problem = _told_by(image.blip_caption, specs[image.file], self.rich)
                if problem:
                    self.captions.add(f"{item.id}: {image.file}: {problem}")

    def _questions(self, item: Item) -> None:
        self.questions.look()
        text = " ".join(item.longest.question.casefold().split())
        if self._texts.setdefault(text, item.id) != item.id:
            self.questions.add(f"{item.id}: has the text of {self._texts[text]}")
            return
        owners = item.meta.key[1:]
        names = [*owners, *(owner.split()[0] for owner in owners if owner.strip())]
        kind = item.meta.seed_path.line.removesuffix(".told")
        alike = self._near.add(item.id, kind, item.longest.question, names)
        if alike is not None:
            self.questions.add(f"{item.id}: is the question of {alike} with other names")


def _disagree(kind: str, facts: Sequence[MetaFact], turns: Sequence[Turn], folder: Folder) -> Iterator[str]:
    """Say in what a session is not what the sidecar says of it; pictures that `ablate` dropped must be gone."""
    shown = [image.file for turn in turns for image in turn.images]
    if (kind == "filler") != (not facts) or (kind == "filler" and shown):
        yield f"is called {kind}, has {len(facts)} facts and shows {len(shown)} pictures"
    if sorted(shown) != sorted(p.file for fact in facts if folder.shows(fact.role) for p in fact.pictures):
        yield "shows other pictures than those of its facts"
        return
    needed = {p.file for fact in facts if fact.role == "evidence" for p in fact.pictures}
    for number, turn in enumerate(turns, 1):
        if folder.shows("evidence") and turn.has_answer != any(image.file in needed for image in turn.images):
            yield f"turn {number}: has_answer is {str(turn.has_answer).lower()}"
    if folder.procedural:
        for fact in facts:
            if not any(fact.text in turn.content for turn in turns if turn.role == "user"):
                yield f"no turn says the text of fact {fact.id}"


def _placed(
    item: Item, dates: Mapping[str, datetime], wanted: Callable[[MetaFact], bool], inside: set[str] | None = None
) -> list[Placed]:
    return [
        Placed(fact_of(fact), dates[session.session_id])
        for session in item.meta.sessions
        if session.session_id in dates and (inside is None or session.session_id in inside)
        for fact in session.facts
        if wanted(fact)
    ]


def _wrong(meta: Meta, facts: Sequence[Placed], want: str | None) -> str:
    """Return how the solver's answer differs from the wanted one, or an empty string."""
    mode = str(meta.gold.get("mode", "")) if meta.refusal else meta.mode
    try:
        found = oracle(meta.builder, mode, meta.ask, sorted(facts, key=lambda placed: placed.date))
    except _BROKEN as error:
        return f"its truth cannot be worked out ({type(error).__name__}: {error})"
    return "" if found == want else f"the solver answers {found!r}, the gold is {want!r}"


def _blueprint(item: Item) -> Blueprint:
    """Return the question as the builders' own checks take it."""
    meta: Meta = item.meta
    record: Record = item.longest
    facts: tuple[Fact, ...] = tuple(map(fact_of, item.own_facts))
    return Blueprint(
        id=item.id,
        builder="ar" if meta.refusal else meta.builder,
        mode=meta.mode,
        key=tuple(meta.key),
        question=record.question,
        answer=record.answer,
        facts=facts,
        answer_space=tuple(meta.answer_space),
        floor=Fraction(0),
        visual_need=meta.visual_need,
    )


def _beyond(context: Context, facts: Sequence[MetaFact], turn: Turn) -> Iterator[str]:
    """Yield what a turn says of the pictures' values beyond the texts of its facts."""
    files = {image.file for image in turn.images}
    carried = [
        fact_of(fact)
        for fact in facts
        # A turn whose pictures `ablate` took out still says its fact.
        if any(p.file in files for p in fact.pictures) or (not files and fact.text in turn.content)
    ]
    scanned = context.scan(turn.content)
    allowed = context.allowed(carried)
    for bans in (context.named, context.open):
        for form, count in bans.found(scanned.tokens, scanned.known).items():
            if count > allowed[form]:
                yield " ".join(form)


def _told_by(said: str, spec: ImageSpec, rich: bool) -> str:
    """Say what a caption gives away, or an empty string."""
    tokens = words(said)
    forms = list(truth_forms(spec.kind, spec.truth))
    if not rich:
        forms += kind_space(spec.kind) if spec.kind != "entity" else [f for name in NAMES for f in word_forms(name)]
    found = Bans(forms).found(tokens)
    if found:
        return f"its caption {said!r:.120} says {' '.join(next(iter(found)))!r}"
    if said != caption(spec, rich):
        return f"its caption {said!r:.120} is not that of its kind, {caption(spec, rich)!r}"
    return ""
