"""What sessions are about, against the shares of the ontology's tracks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from memgauge.histories.building.checking.gates import Gate, Structural, statistical
from memgauge.histories.building.checking.inference import uniform_p
from memgauge.histories.building.ontology import built_in

LEVEL = 0.001
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Shares:
    """Tells the topic of sessions by the phrases of the built-in ontology that they say, and counts tracks."""

    own_ontology: bool
    """The build used a file of topics that is not at hand."""
    tracks: Counter[str] = field(default_factory=Counter)
    untold: int = 0
    _phrases: dict[tuple[str, ...], frozenset[str]] = field(default_factory=dict)
    _longest: int = 0

    def __post_init__(self) -> None:
        found: dict[tuple[str, ...], set[str]] = {}
        for track in built_in().tracks:
            for topic in (topic for sub in track.sub_attributes for topic in sub.topics):
                for phrase in (topic.say, topic.alt, *topic.subtopics):
                    found.setdefault(tuple(_WORD.findall(phrase.lower())), set()).add(f"{track.id}/{topic.id}")
        self._phrases = {words: frozenset(topics) for words, topics in found.items()}
        self._longest = max(map(len, self._phrases))

    def add(self, texts: Iterable[str]) -> None:
        """Count one session, given as the texts of its turns."""
        if self.own_ontology:
            return
        votes: Counter[str] = Counter()
        for text in texts:
            words = _WORD.findall(text.lower())
            for start in range(len(words)):
                for size in range(1, self._longest + 1):
                    for topic in self._phrases.get(tuple(words[start : start + size]), ()):
                        votes[topic] += size
        if votes:
            self.tracks[max(votes, key=lambda topic: (votes[topic], topic)).partition("/")[0]] += 1
        else:
            self.untold += 1

    def gates(self, *, enough: bool) -> list[Gate]:
        """Return the gate of the tracks' shares."""
        if self.own_ontology:
            skipped = Structural("ontology_shares", "", "sessions", "", skipped="the build has topics of its own")
            return [skipped.gate()]
        weights = {track.id: track.weight for track in built_in().tracks}
        return [self._tracks(weights, enough=enough)]

    def _tracks(self, weights: Mapping[str, float], *, enough: bool) -> Gate:
        total = sum(self.tracks.values())
        counts = np.array([self.tracks[name] for name in weights], float)
        expected = np.array(list(weights.values())) / sum(weights.values()) * total
        p = uniform_p(counts, expected) if total else float("nan")
        shares = {name: self.tracks[name] / total if total else float("nan") for name in weights}
        return statistical(
            "ontology_shares",
            "largest distance of a track's share of the sessions from its weight; the bound is the chi-square p-value",
            measured=max(abs(shares[name] - weight) for name, weight in weights.items()),
            threshold=LEVEL,
            bound=p,
            n=total,
            unit="sessions",
            enough=enough,
            below=True,
            advice="draw track, sub-attribute, topic and subtopic by weight, for every session alike",
            details={"shares": shares, "without_topic": self.untold},
        )
