"""What the statistical gates need of every question, kept small; texts are read again, a question at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from memgauge.histories.building.accounting import MARKER
from memgauge.histories.building.checking.folder import Item, sessions_of
from memgauge.histories.building.checking.schema import Turn
from memgauge.histories.building.seeds import digest

SIGNS = ",.;:?!-'\"()$%"
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Pictured:
    """A session with pictures of one history."""

    question: int
    id: str
    evidence: bool
    kinds: tuple[str, ...]
    """Kinds of its pictures, sorted."""
    shape: tuple[float, ...]
    """Numbers of turns, words and signs (`shape_of`)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session with pictures stands at one length."""

    session: int
    """Index into `Sample.sessions`."""
    position: int
    of: int
    density: float
    """Pictures per neighbouring session, itself left out."""


@dataclass(frozen=True, slots=True)
class Riddle:
    """What a reader of the text alone may know of a question once it has found the evidence."""

    question: int
    builder: str
    text: str
    facts: tuple[str, ...]
    """Texts of its facts in time."""
    dates: tuple[str, ...]
    """Dates of their sessions."""
    things: tuple[str, ...]
    """What each fact says it is about, where it says so."""
    begins: tuple[str, ...]
    """The dates that the facts state, as YYYY-MM-DD."""
    options: tuple[str, ...]
    space: tuple[str, ...]
    answer: str
    floor: float


@dataclass(slots=True)
class Sample:
    """Collected while the structural gates read the folder."""

    seed: int
    windows: dict[str, int]
    """Length name: neighbours to each side that count for the density of pictures."""
    ids: list[str] = field(default_factory=list)
    evidence: list[int] = field(default_factory=list)
    """Evidence sessions of each question."""
    sessions: list[Pictured] = field(default_factory=list)
    places: dict[str, list[Place]] = field(default_factory=dict)
    riddles: list[Riddle] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Keep what is needed of one question."""
        number = len(self.ids)
        self.ids.append(item.id)
        self.evidence.append(len(item.meta.answer_session_ids))
        kinds = {p.file: p.kind for s in item.meta.sessions for f in s.facts for p in f.pictures}
        answer = set(item.meta.answer_session_ids)
        index: dict[str, int] = {}
        for name, turns in sessions_of(item.longest):
            shown = [image.file for turn in turns for image in turn.images]
            if shown:
                index[name] = len(self.sessions)
                seen = tuple(sorted(kinds.get(file, "") for file in shown))
                self.sessions.append(Pictured(number, name, name in answer, seen, shape_of(turns)))
        for length, window in self.windows.items():
            record = item.records[length]
            counts = [sum(len(turn.images) for turn in turns) for turns in record.haystack_sessions]
            row = self.places.setdefault(length, [])
            for position, name in enumerate(record.haystack_session_ids):
                if name in index and position < len(counts):
                    near = counts[max(0, position - window) : position] + counts[position + 1 : position + 1 + window]
                    density = sum(near) / len(near) if near else 0.0
                    row.append(Place(index[name], position, len(record.haystack_session_ids), density))
        if not item.meta.refusal and item.meta.visual_need == "essential":
            self.riddles.append(_riddle(number, item))

    def chosen(self, length: str, count: int) -> list[int]:
        """Return the questions of a sample, in order: those with evidence whose ids have the lowest hashes."""
        able = [number for number, sessions in enumerate(self.evidence) if sessions]
        ranked = sorted(able, key=lambda number: digest(self.seed, "check", length, self.ids[number]))
        return sorted(ranked[:count])


def shape_of(turns: Sequence[Turn]) -> tuple[float, ...]:
    """Return the shape of a session: turns, words of each role, the longest turn, the turn with the first picture,
    signs and digits."""
    words = [len(turn.content.replace(MARKER, " ").split()) for turn in turns]
    text = " ".join(turn.content for turn in turns).replace(MARKER, " ")
    letters = Counter(text)
    first = next((place for place, turn in enumerate(turns) if turn.images), -1)
    return (
        float(len(turns)),
        float(sum(count for count, turn in zip(words, turns, strict=True) if turn.role == "user")),
        float(sum(count for count, turn in zip(words, turns, strict=True) if turn.role == "assistant")),
        float(max(words, default=0)),
        float(max((count for count, turn in zip(words, turns, strict=True) if turn.role == "user"), default=0)),
        float(first),
        float(words[first]) if first >= 0 else 0.0,
        float(len(_DIGIT.findall(text))),
        *(float(letters[sign]) for sign in SIGNS),
    )


def plain_text(turns: Sequence[Turn], role: str = "") -> str:
    """Return the text of a session without pictures and speaker labels; of one role where it is given."""
    return "\n".join(turn.content.replace(MARKER, " ") for turn in turns if role in ("", turn.role))


def _riddle(number: int, item: Item) -> Riddle:
    dates = dict(zip(item.longest.haystack_session_ids, item.longest.haystack_dates, strict=False))
    facts = [(s.session_id, fact) for s in item.meta.sessions for fact in s.facts if fact.role != "decoy"]
    day = {name: text[:10].replace("/", "-") for name, text in dates.items()}
    begins = []
    for name, fact in facts:
        said = fact.mentions.get("begins", fact.mentions.get("date"))
        begins.append(day.get(name, "") if said in (None, "today") else str(said))
    options = item.meta.ask.get("options", ())
    floor, _, below = item.meta.floor.partition("/")
    return Riddle(
        number,
        item.meta.builder,
        item.longest.question,
        tuple(fact.text for _, fact in facts),
        tuple(day.get(name, "") for name, _ in facts),
        tuple(str(fact.mentions.get("thing", "")) for _, fact in facts),
        tuple(begins),
        tuple(map(str, options)) if isinstance(options, list) else (),
        tuple(item.meta.answer_space),
        item.longest.answer,
        float(floor or 0) / float(below or 1),
    )
