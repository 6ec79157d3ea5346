"""Known-answer systems on video: what a map of letters to belts can answer, and the other systems with such a map.

A video of the `fixed` lane law shows every letter on one belt (`memgauge.streams.video`). Sixteen entries of two bits
then tell every spatial false candidate, however long the video: `lane-map` keeps nothing else. `with_lanes` puts the
same map beside a memory of symbols, so that it answers about letters and belts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, cast

from memgauge.episode import Observation, Question
from memgauge.errors import InputError
from memgauge.streams.item import ALPHABET
from memgauge.streams.theory import Expected
from memgauge.streams.video import pairs_of
from memgauge.system import Answer, WriteCost
from memgauge.systems.known.common import Known, checked_candidate, checked_symbols, to_answer
from memgauge.systems.known.exact import Exact
from memgauge.systems.known.holding import HoldingSystem

LANE_BITS = 2
"""An entry of the map: one of three belts, or none yet."""
MAP_BITS = ALPHABET * LANE_BITS
_UNSEEN = 3
_AGREEING_POSITIVES = 2
"""True candidates for each false one among those that agree with the map: half of all are true, a quarter misplaced."""
SYMBOL_SYSTEMS = frozenset({"exact", "window", "blocks", "bloom", "trigram-bloom", "ngram-set", "lz78", "codec"})
"""Systems that look for the candidate's symbols; beside them a map makes the answer right. The others guess."""


class BeltMap:
    """The belt on which each letter was first seen: sixteen entries of two bits."""

    def __init__(self) -> None:
        self.entries = bytearray([_UNSEEN]) * ALPHABET

    def write(self, observation: Observation) -> int:
        """Note the belts of the frames; return the arithmetic, one access a frame."""
        symbols, lanes = _frames_of(observation)
        for symbol, lane in zip(symbols, lanes, strict=True):
            if self.entries[symbol] == _UNSEEN:
                self.entries[symbol] = lane
        return len(symbols)

    def agrees(self, question: Question) -> bool:
        """Say whether no letter of the candidate was first seen on another belt; an unseen letter contradicts none."""
        candidate, lanes = _clip_of(question)
        return all(self.entries[s] in (n, _UNSEEN) for s, n in zip(candidate, lanes, strict=True))


def _frames_of(observation: Observation) -> tuple[bytes, bytes]:
    symbols = checked_symbols(observation.symbols)
    if len(observation.lanes) != len(symbols):
        raise InputError("the observation has no belts: run a system with a belt map on the task ecc-video")
    return symbols.tobytes(), observation.lanes.tobytes()


def _clip_of(question: Question) -> tuple[bytes, bytes]:
    candidate = checked_candidate(question)
    if len(question.lanes) != len(candidate):
        raise InputError("the candidate has no belts: run a system with a belt map on the task ecc-video")
    return candidate.tobytes(), question.lanes.tobytes()


@dataclass(frozen=True)
class LaneMap(Known):
    """Keeps the belt of each letter and nothing else: yes unless the candidate contradicts it. State: 32 bits.

    On videos of the `fixed` law it answers every spatial question and half of the sequential ones: 3/4 of all, at any
    length and in any band. A write notes one belt a frame and a read compares k belts: 1 FLOP each.
    """

    kind: ClassVar[str] = "lane-map"
    description: ClassVar[str] = "keeps the belt of each letter (video): all of the spatial questions in 32 bits"

    def start(self, seed: int) -> LaneMapMemory:
        """Return an empty memory; the seed is not used."""
        return LaneMapMemory()

    def _accuracy(self, length: int) -> Expected:
        return Expected(0.75, exact=True, note="video, fixed lane law: spatial 1, sequential 1/2")

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        # Sure of what contradicts the map, a quarter of all; of the rest two in three are true.
        return (1.0, 0.75) if tau < 2 / 3 else (0.25, 0.25)


class LaneMapMemory:
    """The memory of `LaneMap`."""

    def __init__(self) -> None:
        self._map, self._flops = BeltMap(), 0

    def write(self, observation: Observation) -> None:
        """Note the belts."""
        self._flops += self._map.write(observation)

    def cost(self) -> WriteCost:
        """Return 1 FLOP a frame, and 32 bits."""
        return WriteCost(self._flops, MAP_BITS)

    def read(self, question: Question) -> Answer:
        """Say yes unless the candidate contradicts the map."""
        agrees = self._map.agrees(question)
        return to_answer(agrees, 2 / 3 if agrees else 1.0, len(question.candidate), question.payoff)


class SymbolMemory(Protocol):
    """What the memories of known-answer systems have in common."""

    def write(self, observation: Observation) -> None:
        """Fold symbols into the state."""
        ...

    def read(self, question: Question) -> Answer:
        """Say whether the candidate's symbols occurred."""
        ...

    def cost(self) -> WriteCost:
        """Return the arithmetic of the writes, and the state's size."""
        ...


class Laned:
    """A known-answer system with a belt map: yes where its memory finds the symbols and the map agrees.

    Right on videos of the `fixed` law alone: a map has no place for a letter on two belts. State: 32 bits more; a write
    notes one belt a frame and a read compares k belts, 1 FLOP each.
    """

    def __init__(self, base: Known) -> None:
        self.base = base
        self.description = f"{base.description}; and the belt of each letter"

    @property
    def name(self) -> str:
        """The name of the system, and that it has a map.

        >>> Laned(Exact()).name
        'exact+lanes'
        """
        return f"{self.base.name}+lanes"

    @property
    def version(self) -> str:
        """Changes whenever an answer may."""
        return f"{self.base.version}+1"

    def start(self, seed: int) -> LanedMemory:
        """Return an empty memory."""
        return LanedMemory(cast("SymbolMemory", cast("Any", self.base).start(seed)))

    def expected_accuracy(self, length: int) -> Expected | None:
        """Return the accuracy under the `fixed` law, on max-entropy streams with uniform negatives and no payoff.

        A memory that holds symbols errs on true candidates only, and about those it answers as it does elsewhere. Of a
        memory that errs otherwise none is given.
        """
        return self.base.expected_accuracy(length) if isinstance(self.base, HoldingSystem) else None


class LanedMemory:
    """The memory of a known-answer system, and a map."""

    def __init__(self, memory: SymbolMemory) -> None:
        self._memory, self._map, self._flops = memory, BeltMap(), 0

    def write(self, observation: Observation) -> None:
        """Write symbols and belts."""
        self._flops += self._map.write(observation)
        self._memory.write(observation)

    def cost(self) -> WriteCost:
        """Return the cost of the memory and of the map."""
        inner = self._memory.cost()
        return WriteCost(
            None if inner.flops is None else inner.flops + self._flops,
            None if inner.state_bits is None else inner.state_bits + MAP_BITS,
        )

    def read(self, question: Question) -> Answer:
        """Say whether the symbols are found on belts that the map does not contradict.

        The confidence of the memory holds for as many true as false candidates; of those that agree with the map twice
        as many are true, which Bayes' rule puts in.
        """
        inner = self._memory.read(replace(question, payoff=None))
        flops = None if inner.flops_read is None else inner.flops_read + len(question.candidate)
        if not isinstance(inner.value, bool):
            raise InputError("a memory of symbols says yes or no where nothing is at stake")
        if not self._map.agrees(question):
            value, confidence = False, None if inner.confidence is None else 1.0
        else:
            value, confidence = inner.value, _agreeing(inner.value, inner.confidence)
        return replace(to_answer(value, confidence, 0, question.payoff), flops_read=flops)


def _agreeing(value: bool, confidence: float | None) -> float | None:
    """Turn a confidence under equal priors into one among candidates that agree with the map.

    >>> _agreeing(False, 0.5), _agreeing(True, 0.5)
    (0.3333333333333333, 0.6666666666666666)
    """
    if confidence is None:
        return None
    right, wrong = (_AGREEING_POSITIVES, 1) if value else (1, _AGREEING_POSITIVES)
    return right * confidence / (right * confidence + wrong * (1.0 - confidence))


@dataclass(frozen=True)
class ExactFrames(Known):
    """Keeps every letter with its belt: always right, under either lane law. State: 6 bits a frame.

    A write stores letter and belt, 1 FLOP each; a read compares both at every place, without early exit.
    """

    kind: ClassVar[str] = "exact+lanes"
    description: ClassVar[str] = "keeps the whole video: always right, 6 bits a frame"

    def start(self, seed: int) -> ExactFramesMemory:
        """Return an empty memory; the seed is not used."""
        return ExactFramesMemory()

    def _accuracy(self, length: int) -> Expected:
        return Expected(1.0, exact=True)

    def _selective(self, length: int, tau: float) -> tuple[float, float]:
        return 1.0, 1.0


class ExactFramesMemory:
    """All frames so far."""

    def __init__(self) -> None:
        self._pairs = bytearray()

    def write(self, observation: Observation) -> None:
        """Keep the frames."""
        _frames_of(observation)
        self._pairs += pairs_of(observation.symbols, observation.lanes)

    def cost(self) -> WriteCost:
        """Return 2 FLOPs and 6 bits a frame."""
        frames = len(self._pairs)
        return WriteCost(2 * frames, 6 * frames)

    def read(self, question: Question) -> Answer:
        """Say whether the frames occurred."""
        _clip_of(question)
        k = len(question.candidate)
        found = pairs_of(question.candidate, question.lanes) in self._pairs
        places = max(len(self._pairs) - k + 1, 0)
        return to_answer(found, 1.0, 2 * k * places, question.payoff)


def with_lanes(system: Any) -> Any:
    """Return what answers about video in place of a known-answer system; any other system is returned as it is.

    `exact` keeps letters with their belts, the other memories of symbols get a map. A system that guesses, or keeps a
    map already, needs neither.

    >>> with_lanes(Exact()).name
    'exact+lanes'
    """
    if isinstance(system, Exact):
        return ExactFrames()
    if isinstance(system, Known) and system.kind in SYMBOL_SYSTEMS:
        return Laned(system)
    return system
