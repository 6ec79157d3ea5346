"""Which candidates make up the build: the quota is filled in order, and what is rejected is replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memgauge.histories.building.config import Line
from memgauge.histories.building.photographs import Ledger
from memgauge.histories.building.question import Place
from memgauge.histories.building.text.questions import NearDuplicates
from memgauge.histories.building.units import ENDPOINT, Header


@dataclass(slots=True)
class Selection:
    """The outcome: what is exported, and what became of everything else."""

    accepted: list[tuple[Place, Header]] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    """Reason: number of candidates."""
    candidates: int = 0
    attempts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Attempts of the writer over all candidates, by (what, name)."""
    short: dict[str, int] = field(default_factory=dict)
    """Line of the quota: questions that are missing."""
    ledger: Ledger | None = None
    """What photographs were given out, where the build uses any."""
    outages: list[str] = field(default_factory=list)
    """What the endpoint of a writer said, once for each candidate that failed there."""
    lacking: dict[str, list[str]] = field(default_factory=dict)
    """Line of the quota: names of which there were too few photographs."""

    def funnel(self) -> list[tuple[str, int]]:
        """Return how many candidates passed each stage, in order."""
        rows, left = [("candidates", self.candidates)], self.candidates
        stages: Counter[str] = Counter()
        for reason, count in self.rejected.items():
            stages[reason.split(":")[0]] += count
        photographs = ("images",) if self.ledger is not None else ()
        endpoint = (ENDPOINT,) if stages[ENDPOINT] else ()
        for stage in ("question", "assembly", *photographs, "text", *endpoint, "duplicate", "review"):
            left -= stages[stage]
            rows.append((f"after {stage}", left))
        return rows


LACKING = "images: too few photographs of "
"""Begin of the reason; the name follows."""


class Screen:
    """What candidates are held against each other for: questions asked once, evidence pictures shown once."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._near = NearDuplicates()
        self._ledger = ledger
        self._evidence: set[str] = set()
        self._shown: set[str] = set()

    def problem(self, header: Header) -> str:
        """Return why a candidate cannot stand beside those before it, or an empty string; then it counts as one."""
        evidence, shown = set(header.evidence_files), set(header.other_files)
        if evidence & (self._evidence | self._shown) or shown & self._evidence:
            return "duplicate: picture"
        lacking = self._ledger.lacks(header.photographs) if self._ledger is not None else ""
        if lacking:
            return f"{LACKING}{lacking}"
        kind = header.line.removesuffix(".told")
        if self._near.add(header.question_id, kind, header.question, header.names) is not None:
            return "duplicate: question"
        self._evidence |= evidence
        self._shown |= shown
        if self._ledger is not None:
            self._ledger.take(header.question_id, header.photographs)
        return ""


def select(
    lines: Sequence[Line],
    make: Callable[[Sequence[Place]], Sequence[Header]],
    *,
    reviewed: Mapping[str, str],
    revisions: Mapping[str, int],
    question_id: Callable[[Place], str],
    reserve: float = 2.0,
    ledger: Ledger | None = None,
) -> Selection:
    """Fill the quota, in rounds: each makes the candidates that the rounds before have left wanting.

    Parameters
    ----------
    make : makes candidates and returns their headers in the same order.
    reviewed : question id: why the review has rejected it.
    revisions : question id: how often the review has sent it back to the writer.
    reserve : at most so many candidates a question, and 20 more, before a line counts as short.
    ledger : gives photographs out, where the build uses any.

    The outcome depends on the candidates only, not on which process made which first. A candidate that failed at an
    endpoint is not replaced: another one would fare no better, and the next run of the command makes it again.
    """
    selection, screen = Selection(ledger=ledger), Screen(ledger)
    done = {line.name: 0 for line in lines}
    tried = {line.name: 0 for line in lines}
    while True:
        places = []
        for line in lines:
            want = line.quota - done[line.name]
            limit = int(line.quota * reserve) + 20
            new = min(want, limit - tried[line.name])
            places += [Place(line, tried[line.name] + i) for i in range(new)]
            tried[line.name] += new
        if not places:
            break
        places = [Place(p.line, p.index, revisions.get(question_id(p), 0)) for p in places]
        for place, header in zip(places, make(places), strict=True):
            selection.candidates += 1
            for what, counts in header.attempts.items():
                selection.attempts.update({(what, name): count for name, count in counts.items()})
            # One that the review rejects still counts as asked, so that its rejection changes no other candidate.
            reason = header.rejected or screen.problem(header)
            if not reason and header.question_id in reviewed:
                reason = f"review: {reviewed[header.question_id]}"
            if reason:
                selection.rejected[reason] += 1
                if header.said:
                    selection.outages.append(header.said)
                if reason.startswith(LACKING):
                    selection.lacking.setdefault(place.line.name, []).append(reason.removeprefix(LACKING))
            else:
                selection.accepted.append((place, header))
                done[place.line.name] += 1
        if selection.outages:
            break
    selection.accepted.sort(key=lambda pair: pair[1].question_id)
    selection.short = {line.name: line.quota - done[line.name] for line in lines if done[line.name] < line.quota}
    return selection
