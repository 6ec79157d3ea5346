"""How varied the text of a build is: distinct-2 over all of it, of one history, of a fixed amount; words of a turn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from memgauge.histories.building.text.diversity import Distinct
from memgauge.histories.building.text.validators.normal import plain

SAMPLE = 100_000
"""Words of the fixed amount, whose figure can be compared between builds of any size."""
MEANING = (
    "distinct-2 is the share of word pairs that are different from each other (Li et al., 2016). It falls with the "
    "amount of text, since pairs come again: compare builds by the figure of one history of a length, or by that of "
    "the first 100,000 words, and not by the figure of all."
)


@dataclass(slots=True)
class Variety:
    """Counts the histories of one length, one after the other."""

    whole: Distinct = field(default_factory=lambda: Distinct(2))
    fixed: Distinct = field(default_factory=lambda: Distinct(2))
    """The first `SAMPLE` words."""
    shares: list[float] = field(default_factory=list)
    """distinct-2 of each history."""
    turns: dict[str, list[int]] = field(
        default_factory=lambda: {"user": [0, 0, 1 << 30, 0], "assistant": [0, 0, 1 << 30, 0]}
    )
    """Of each role: turns, words, least, most."""
    _words: int = 0

    def add(self, turns: Iterable[tuple[str, str]]) -> None:
        """Count one history, given as role and text of each turn."""
        own = Distinct(2)
        for role, text in turns:
            words = plain(text).split()
            for count in (own, self.whole):
                count.add_words(words)
            if self._words < SAMPLE:
                self.fixed.add_words(words[: SAMPLE - self._words])
            self._words += len(words)
            number = len(text.split())
            about = self.turns[role]
            about[:] = [about[0] + 1, about[1] + number, min(about[2], number), max(about[3], number)]
        self.shares.append(own.share)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values; the fixed amount is null where there is less text."""
        return {
            "histories": len(self.shares),
            "words": self._words,
            "distinct_2": _rounded(self.whole.share),
            "distinct_2_of_a_history": {
                "least": _rounded(min(self.shares, default=0.0)),
                "mean": _rounded(sum(self.shares) / max(len(self.shares), 1)),
                "most": _rounded(max(self.shares, default=0.0)),
            },
            "distinct_2_of_100000_words": _rounded(self.fixed.share) if self._words >= SAMPLE else None,
            "words_of_a_turn": {
                role: {
                    "turns": count,
                    "least": least if count else 0,
                    "mean": round(words / max(count, 1), 3),
                    "most": most,
                }
                for role, (count, words, least, most) in self.turns.items()
            },
        }


def _rounded(value: float) -> float:
    return round(value, 6)
