"""Structural gates on the public records: form, markers, evidence, dates, nesting, lengths."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator

from memgauge.errors import InputError
from memgauge.histories.building.accounting import MARKER, TokenCounter, text_tokens, token_counter
from memgauge.histories.building.checking.folder import Folder, Item, sessions_of
from memgauge.histories.building.checking.gates import Structural
from memgauge.histories.building.checking.schema import Record
from memgauge.histories.building.model import REFUSAL_GOLD, TYPES
from memgauge.histories.building.seeds import question_id, session_id
from memgauge.histories.building.timeline import read_stamp

LEAST_FILL = 0.99
_QUESTION, _SESSION = re.compile(r"q_[0-9a-f]{10}"), re.compile(r"s_[0-9a-f]{12}")
_LEAN = 0.02
"""Share by which the text per picture may differ from its target below 64K; half of it from there on."""


class PublicGates:
    """Takes one question after the other; every gate keeps its own problems."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.lists = Structural(
            "parallel_lists",
            "dates, ids and sessions of a history are equally many, and no session id comes twice",
            "records",
            "the export is broken: build the folder again",
        )
        self.markers = Structural(
            "markers",
            "each turn has one <image> for each of its pictures; questions and assistant turns have none",
            "turns",
            "the writer lost or added a marker: look at the turn and at validator 2",
        )
        self.turns = Structural(
            "turns",
            "each session is whole exchanges: a user's turn, then the assistant's, none of them empty",
            "sessions",
            "cut fillers after whole exchanges only",
        )
        self.evidence = Structural(
            "evidence",
            "has_answer stands in answer sessions only and in each of them; refusals have neither; evidence and "
            "contrast sessions are in every length",
            "records",
            "the gold marks are wrong: build the folder again; if that repeats it, the assembly is broken",
        )
        self.dates = Structural(
            "dates",
            "dates have the form 2024/05/31 (Fri) 07:58 with the right weekday, increase, and precede the question's",
            "records",
            "the timeline is broken: build the folder again",
        )
        self.nested = Structural(
            "nested",
            "each length holds all sessions of the shorter one, with equal dates and texts; only one filler is cut",
            "pairs of lengths",
            "lengths must be built from the smallest up",
        )
        self.fill = Structural(
            "fill",
            f"text and pictures together take {LEAST_FILL} to 1 of the budget, counted anew",
            "records",
            "the token counter or the price of a picture differs from the manifest's",
        )
        self.number = Structural(
            "pictures_per_length",
            "each history has exactly the pictures of its length",
            "records",
            "sessions were dropped or added after the assembly",
        )
        self.share = Structural(
            "text_per_picture",
            "text tokens per picture lie within 1 % of their target (2 % below 64K), on average over the questions",
            "lengths",
            "the text budget is not used up: look at the fillers",
        )
        self.ids = Structural(
            "ids",
            "ids are hashes of seed, place and slot, so that they say nothing of a role; no session id comes twice",
            "ids",
            "ids were changed by hand, or the build is not this version's",
        )
        self._counter: TokenCounter | None = None
        try:
            self._counter = token_counter(folder.accounting.counter)
        except InputError as error:
            self.fill.skipped = self.share.skipped = f"not counted: {error}"
        self._seen: set[str] = set()
        self._sums: dict[str, list[float]] = {length.name: [0.0, 0.0] for length in folder.lengths}

    @property
    def gates(self) -> tuple[Structural, ...]:
        """All gates, in the order in which they are printed; a single length has nothing to be nested in."""
        nested = (self.nested,) if len(self.folder.lengths) > 1 else ()
        return (
            *(self.lists, self.markers, self.turns, self.evidence, self.dates, *nested),
            *(self.fill, self.number, self.share, self.ids),
        )

    def add(self, item: Item) -> None:
        """Check one question."""
        counted: dict[tuple[str, ...], int] = {}
        for length in self.folder.lengths:
            record = item.records[length.name]
            where = f"{item.id} at {length.name}"
            self._lists(where, record)
            self._turns(where, record)
            self._evidence(where, item, record)
            self._dates(where, record)
            self._lengths(where, item, record, length.name, counted)
        for short, long in itertools.pairwise(self.folder.lengths):
            self.nested.look()
            for problem in _not_nested(item, item.records[short.name], item.records[long.name]):
                self.nested.add(f"{item.id}, {short.name} in {long.name}: {problem}")
        self._ids(item)

    def finish(self) -> None:
        """Decide what needs all questions."""
        price = self.folder.accounting.fixed
        if self.folder.dropped:
            self.share.skipped = f"{self.folder.dropped} pictures were dropped, so no text per picture is set"
            return
        for length in self.folder.lengths:
            text, pictures = self._sums[length.name]
            if self._counter is None or price is None or not pictures:
                continue
            self.share.look()
            want = length.budget / length.pictures - price
            lean = _LEAN if length.budget < 65536 else _LEAN / 2
            if not abs(text / pictures / want - 1) <= lean:
                self.share.add(f"{length.name}: {text / pictures:.1f} text tokens per picture, {want:.1f} wanted")
        if price is None and not self.share.n:
            self.share.skipped = "no text per picture is set when pictures have no fixed price"

    def _lists(self, where: str, record: Record) -> None:
        self.lists.look()
        ids, dates, sessions = record.haystack_session_ids, record.haystack_dates, record.haystack_sessions
        if not len(ids) == len(dates) == len(sessions):
            self.lists.add(f"{where}: {len(ids)} ids, {len(dates)} dates, {len(sessions)} sessions")
        for name, count in Counter(ids).items():
            if count > 1:
                self.lists.add(f"{where}: session {name} stands there {count} times")

    def _turns(self, where: str, record: Record) -> None:
        self.markers.look()
        if MARKER in record.question:
            self.markers.add(f"{where}: the question holds {MARKER}")
        for name, turns in sessions_of(record):
            self.turns.look()
            roles = [turn.role for turn in turns]
            if not turns or roles != ["user", "assistant"] * (len(turns) // 2):
                self.turns.add(f"{where}: session {name} is no row of whole exchanges ({', '.join(roles)})")
            for number, turn in enumerate(turns, 1):
                self.markers.look()
                if turn.content.count(MARKER) != len(turn.images) or (turn.images and turn.role != "user"):
                    self.markers.add(
                        f"{where}: session {name}, turn {number} ({turn.role}) has {turn.content.count(MARKER)} "
                        f"markers and {len(turn.images)} pictures"
                    )
                if not turn.content.strip():
                    self.turns.add(f"{where}: session {name}, turn {number} is empty")

    def _evidence(self, where: str, item: Item, record: Record) -> None:
        self.evidence.look()
        answer, meta = set(record.answer_session_ids), item.meta
        marked = {name for name, turns in sessions_of(record) if any(turn.has_answer for turn in turns)}
        for problem in (
            f"has_answer in {_some(marked - answer)}, which are no answer sessions" if marked - answer else "",
            f"the answer sessions {_some(answer - marked)} have no turn with has_answer" if answer - marked else "",
            "answer_session_ids differ from those of meta.jsonl" if answer != set(meta.answer_session_ids) else "",
            "it is no refusal and has no answer session" if not answer and not meta.refusal else "",
            "it is a refusal with answer sessions" if answer and meta.refusal else "",
            f"its answer is {record.answer!r}" if meta.refusal != (record.answer == REFUSAL_GOLD) else "",
            f"its type is {record.question_type!r}" if record.question_type != _type(item) else "",
        ):
            if problem:
                self.evidence.add(f"{where}: {problem}")
        missing = {*meta.answer_session_ids, *meta.contrast_session_ids} - set(record.haystack_session_ids)
        if missing:
            self.evidence.add(f"{where}: the evidence or contrast sessions {_some(missing)} are missing")

    def _dates(self, where: str, record: Record) -> None:
        self.dates.look()
        read = []
        for text in (*record.haystack_dates, record.question_date):
            try:
                read.append(read_stamp(text))
            except InputError as error:
                self.dates.add(f"{where}: {error}")
                return
        for place, (one, next_) in enumerate(itertools.pairwise(read)):
            if one >= next_:
                self.dates.add(f"{where}: date {place + 1} ({one}) is not before the next one ({next_})")
                return

    def _lengths(self, where: str, item: Item, record: Record, name: str, counted: dict[tuple[str, ...], int]) -> None:
        length = self.folder.accounting.length(name)
        figures = item.meta.lengths.get(name)
        pictures = sum(len(turn.images) for _, turns in sessions_of(record) for turn in turns)
        wanted = length.pictures - self._gone(item, record)
        self.number.look()
        if pictures != wanted:
            self.number.add(f"{where}: {pictures} pictures instead of {wanted}")
        if figures is None or figures.pictures != pictures or figures.sessions != len(record.haystack_sessions):
            self.number.add(f"{where}: meta.jsonl counts other sessions or pictures")
        if self._counter is None:
            return
        text = 0
        for _, turns in sessions_of(record):
            said = tuple(turn.content for turn in turns)
            if said not in counted:
                counted[said] = text_tokens(said, self.folder.accounting, self._counter)
            text += counted[said]
        price = self._price(item, record, (length.budget - text) * pictures // length.pictures)
        self.fill.look()
        self._sums[name][0] += text
        self._sums[name][1] += pictures
        if figures is not None and (figures.text_tokens, figures.picture_tokens) != (text, price):
            self.fill.add(
                f"{where}: {text} text and {price} picture tokens, meta.jsonl says {figures.text_tokens} and "
                f"{figures.picture_tokens}"
            )
        if price < 0 or not (0 if self.folder.dropped else LEAST_FILL) * length.budget <= text + price <= length.budget:
            self.fill.add(f"{where}: {text + price} of {length.budget} tokens")

    def _gone(self, item: Item, record: Record) -> int:
        """Return how many pictures `ablate` took out of a record."""
        facts = (
            f for name in record.haystack_session_ids if name in item.by_session for f in item.by_session[name].facts
        )
        return sum(len(fact.pictures) for fact in facts if not self.folder.shows(fact.role))

    def _price(self, item: Item, record: Record, rest: int) -> int:
        """Return the tokens of the pictures of a record."""
        accounting = self.folder.accounting
        if accounting.picture == "rest":
            return rest
        facts = (fact for s in item.meta.sessions for fact in s.facts)
        size = {p.file: (p.width, p.height) for fact in facts for p in fact.pictures}
        files = (image.file for _, turns in sessions_of(record) for turn in turns for image in turn.images)
        return sum(accounting.price(*size.get(file, (0, 0))) for file in files)

    def _ids(self, item: Item) -> None:
        seed, path = self.folder.config["seed"], item.meta.seed_path
        self.ids.look()
        if not _QUESTION.fullmatch(item.id) or item.id != question_id(seed, path.line, path.index):
            self.ids.add(f"{item.id}: not the hash of seed {seed}, {path.line} {path.index}")
        if item.id in self._seen:
            self.ids.add(f"{item.id}: stands there twice")
        self._seen.add(item.id)
        for session in item.meta.sessions:
            self.ids.look()
            name = session.session_id
            if not _SESSION.fullmatch(name) or name != session_id(seed, item.id, session.slot):
                self.ids.add(f"{item.id}: session {name!r:.60} is not the hash of its slot {session.slot}")
            if name in self._seen:
                self.ids.add(f"{item.id}: the session id {name} belongs to another session too")
            self._seen.add(name)


def _type(item: Item) -> str:
    return TYPES["ar" if item.meta.refusal else item.meta.builder.split("_")[0]]


def _some(names: set[str]) -> str:
    return ", ".join(sorted(names)[:3]) + (" ..." if len(names) > 3 else "")


def _not_nested(item: Item, short: Record, long: Record) -> Iterator[str]:
    """Say in what a shorter history is no part of a longer one."""
    for name in ("question_type", "question", "answer", "question_date"):
        if getattr(short, name) != getattr(long, name):
            yield f"another {name}"
    whole = dict(sessions_of(long))
    dates = dict(zip(long.haystack_session_ids, long.haystack_dates, strict=False))
    kinds = {session.session_id: session.kind for session in item.meta.sessions}
    order = [name for name in long.haystack_session_ids if name in set(short.haystack_session_ids)]
    if order != short.haystack_session_ids:
        yield "sessions that the longer one lacks, or has in another order"
        return
    cut = []
    for name, date, turns in zip(order, short.haystack_dates, short.haystack_sessions, strict=False):
        if dates[name] != date:
            yield f"session {name} has another date"
        if turns == whole[name]:
            continue
        if kinds.get(name) == "filler" and turns == whole[name][: len(turns)]:
            cut.append(name)
        else:
            yield f"session {name} has other turns"
    if len(cut) > 1:
        yield f"{len(cut)} fillers are cut"
