"""Human review: three rounds of decisions on candidates, kept beside the build (MEMLENS, 3.3, human verification).

Round 1 sees the question and the facts, round 2 whole evidence sessions, round 3 the assembled item. An accepted item
goes to the next round, a revised one back to the writer (or it takes the reviewer's wording of the question) and to
round 1, a rejected one out; the next build takes another candidate of its line.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from memgauge.errors import InputError
from memgauge.files import write_whole

ROUNDS = (1, 2, 3)
DECISIONS = ("accept", "revise", "reject")
REASONS = ("leak", "not_needed", "wrong_answer", "ambiguous", "unnatural", "bad_image", "duplicate", "date")
MOST_REVISIONS = 3
_FILE = "reviews.json"


class Reviewed(Protocol):
    """What the review needs to know of an item: a candidate's header."""

    @property
    def question_id(self) -> str:
        """Its id."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """What one reviewer says about one item in one round."""

    item_id: str
    round: int
    reviewer: str
    checksum: str
    decision: str
    reason: str = ""
    note: str = ""
    edit_question: str = ""


@dataclass(slots=True)
class ItemState:
    """Where an item stands."""

    round: int = 1
    """The round that it waits for; 4 when it has passed all three."""
    revision: int = 0
    """How often it was sent back to the writer."""
    question: str = ""
    """The reviewers' wording of the question, if any."""
    rejected: str = ""
    """Why it is out; empty while it is in."""
    open: list[Decision] = field(default_factory=list)
    """Decisions of the present round that do not settle it yet."""

    @property
    def passed(self) -> bool:
        """Whether it went through all rounds."""
        return self.round > ROUNDS[-1] and not self.rejected


class Reviews:
    """All decisions of a build, in the order in which they came, and what follows from them."""

    def __init__(self, decisions: Iterable[Decision] = (), assigned: Mapping[str, list[str]] | None = None) -> None:
        self.assigned: dict[str, list[str]] = dict(assigned or {})
        """`<item>/<round>`: who was asked. An item is settled when as many have answered, and most of them agree."""
        self.decisions: list[Decision] = []
        self.states: dict[str, ItemState] = defaultdict(ItemState)
        for decision in decisions:
            self.add(decision)

    @classmethod
    def read(cls, work: Path) -> Reviews:
        """Read the decisions of a build; none when there was no review. Raises `InputError` for a broken file."""
        path = work / _FILE
        if not path.exists():
            return cls()
        try:
            document = json.loads(path.read_text("utf-8"))
            return cls((Decision(**row) for row in document["decisions"]), document["assigned"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not the decisions of a review ({error})") from error

    def write(self, work: Path) -> None:
        """Write the decisions, whole."""
        document = {"assigned": self.assigned, "decisions": [asdict(d) for d in self.decisions]}
        write_whole(work / _FILE, json.dumps(document, ensure_ascii=False, indent=1) + "\n")

    def add(self, decision: Decision) -> None:
        """Take in one decision, which must be of the item's present round, and settle the item if that is enough."""
        state = self.states[decision.item_id]
        self.decisions.append(decision)
        state.open.append(decision)
        outcome = self._majority(decision.item_id, state)
        if not outcome:
            return
        agreeing = [d for d in state.open if d.decision == outcome]
        state.open = []
        if outcome == "accept":
            state.round += 1
        elif outcome == "reject":
            state.rejected = agreeing[-1].reason
        else:
            edits = [d.edit_question for d in agreeing if d.edit_question]
            if edits:
                state.question = edits[-1]
            else:
                state.revision += 1
            state.round = 1
            if state.revision > MOST_REVISIONS:
                state.rejected = "revised too often"

    def _majority(self, item: str, state: ItemState) -> str:
        if len(state.open) < max(1, len(self.assigned.get(f"{item}/{state.round}", ()))):
            return ""
        (first, most), *rest = Counter(d.decision for d in state.open).most_common()
        return "" if rest and rest[0][1] == most else first

    @property
    def rejected(self) -> dict[str, str]:
        """Item: why it is out."""
        return {item: state.rejected for item, state in self.states.items() if state.rejected}

    @property
    def revisions(self) -> dict[str, int]:
        """Item: how often it was sent back to the writer."""
        return {item: min(s.revision, MOST_REVISIONS) for item, s in self.states.items() if s.revision}

    def waiting(self, items: Iterable[Reviewed]) -> list[tuple[str, int]]:
        """Return the items that have not passed all rounds, with the round that each waits for."""
        return [
            (i.question_id, s.round) for i in items if not (s := self.states[i.question_id]).passed and not s.rejected
        ]

    def history(self, item: str) -> list[dict[str, Any]]:
        """Return the decisions about an item for the sidecar, without the names of the reviewers."""
        who: dict[str, int] = {}
        rows = []
        for d in self.decisions:
            if d.item_id == item:
                number = who.setdefault(d.reviewer, len(who) + 1)
                rows.append({"round": d.round, "reviewer": number, "decision": d.decision, "reason": d.reason})
        return rows

    def assign(
        self, items: Sequence[str], round_: int, reviewers: Sequence[str], overlap: float
    ) -> dict[str, list[str]]:
        """Share items out: reviewer: items. Each item goes to one reviewer in turn, and the first share of them to two.

        An item on which two reviewers disagree goes to one who has not seen it.
        """
        if not reviewers or len(set(reviewers)) < len(reviewers):
            raise InputError("--assignees takes different names")
        if not 0 <= overlap <= 1:
            raise InputError(f"--overlap takes a share from 0 to 1, not {overlap}")
        doubled = round(overlap * len(items)) if len(reviewers) > 1 else 0
        share: dict[str, list[str]] = {name: [] for name in reviewers}
        for place, item in enumerate(items):
            asked = self.assigned.setdefault(f"{item}/{round_}", [])
            decided = {d.reviewer for d in self.states[item].open}
            if asked and set(asked) <= decided:
                fresh = [name for name in reviewers if name not in asked]
                if not fresh:
                    raise InputError(f"{item}: {', '.join(asked)} disagree; name a third reviewer in --assignees")
                asked.append(fresh[place % len(fresh)])
            elif not asked:
                asked += [reviewers[(place + i) % len(reviewers)] for i in range(2 if place < doubled else 1)]
            for name in asked:
                if name not in decided:
                    share.setdefault(name, []).append(item)
        return share

    def kappa(self) -> tuple[float | None, int]:
        """Return Cohen's kappa of the first two decisions on what two reviewers saw, and the number of pairs.

        None without any pair, or where both always say the same one thing.
        """
        groups: dict[tuple[str, int, str], list[str]] = defaultdict(list)
        for d in self.decisions:
            groups[d.item_id, d.round, d.checksum].append(d.decision)
        return cohens_kappa([(g[0], g[1]) for g in groups.values() if len(g) > 1])


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> tuple[float | None, int]:
    """Return Cohen's kappa of pairs of labels, None where it is undefined, and the number of pairs.

    >>> cohens_kappa([("accept", "accept"), ("accept", "reject"), ("reject", "reject"), ("reject", "reject")])
    (0.5, 4)
    """
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(first[name] * second[name] for name in first)  # times n squared
    if not n or expected == n * n:
        return None, n
    agreed = sum(a == b for a, b in pairs)
    return (agreed * n - expected) / (n * n - expected), n
