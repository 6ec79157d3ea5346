"""Which photograph shows what was asked for: three channels, quality, licence, no repeats (MEMLENS, C.5).

A candidate passes if CLIP reaches its threshold and at least one of SigLIP and the cosine of caption and query reaches
its own. The paper gives 0.30 for CLIP and none for the other two; `calibrate` sets them from known good pictures.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np

from memgauge.errors import InputError
from memgauge.histories.building.pictures.dedup import Seen
from memgauge.histories.building.pictures.drawing import Picture
from memgauge.histories.building.pictures.photos import Photo, RefusedPicture
from memgauge.histories.building.pictures.sources import Candidate

Verdict = Literal["pass", "fail", "undecided"]
CHANNELS = ("clip", "siglip", "text")
WATERMARKS = (
    "shutterstock", "gettyimages", "getty images", "istock", "alamy", "dreamstime", "depositphotos", "123rf",
    "adobe stock", "bigstock", "stock photo", "watermark", "all rights reserved", "copyright", "©",
)  # fmt: skip
LICENCES = (
    "cc0-1.0", "pdm-1.0", "public domain", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-2.0",
    "cc-by-sa-2.5", "cc-by-sa-3.0", "cc-by-sa-4.0", "mit", "apache-2.0",
)  # fmt: skip
"""Licences that let a picture be passed on, in the spelling of `licence_id`."""


class Scorer(Protocol):
    """One channel: how well a picture fits a query."""

    channel: str
    """`clip`, `siglip` or `text`."""

    def score(self, photo: Photo, query: str) -> float:
        """Return the score; higher fits better."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The channels of one candidate; None where no scorer was there."""

    clip: float | None = None
    """Cosine of the CLIP embeddings, -1 to 1."""
    siglip: float | None = None
    """SigLIP's probability, 0 to 1."""
    text: float | None = None
    """Cosine of the embeddings of caption and query, -1 to 1."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Least scores. That of CLIP is the paper's; the other two are ours until `calibrate` sets them."""

    clip: float = 0.30
    siglip: float = 0.10
    text: float = 0.45

    def verdict(self, scores: Scores) -> Verdict:
        """Judge one candidate: it passes only with all three channels, and fails if no missing one could save it.

        >>> Thresholds().verdict(Scores(0.31, 0.2, 0.1)), Thresholds().verdict(Scores(0.31, 0.2))
        ('pass', 'undecided')
        """
        marks = []
        for channel in CHANNELS:
            value, least = getattr(scores, channel), getattr(self, channel)
            if value is not None and not math.isfinite(value):
                raise InputError(f"the {channel} channel scored {value}, which is no number")
            marks.append(None if value is None else value >= least)
        clip, siglip, text = marks
        if clip is False or (siglip is False and text is False):
            return "fail"
        return "undecided" if None in marks else "pass"


def calibrate(positives: Sequence[Scores], *, share: float = 0.05, clip: float = 0.30) -> Thresholds:
    """Set the thresholds of SigLIP and text so that `share` of known good pictures falls below each.

    Raises `InputError` for fewer than 20 pictures with both channels: a percentile of 5 needs them.
    """
    known = [(s.siglip, s.text) for s in positives if s.siglip is not None and s.text is not None]
    if len(known) < 20:
        raise InputError(f"calibration needs at least 20 pictures scored by SigLIP and text, got {len(known)}")
    siglip, text = np.quantile(np.array(known, dtype=np.float64), share, axis=0, method="lower")
    return Thresholds(clip=clip, siglip=float(siglip), text=float(text))


@dataclass(frozen=True, slots=True)
class Quality:
    """What a usable photograph needs. The bounds are ours; the paper names the kinds of content only."""

    least_side: int = 256
    most_aspect: float = 4.0
    least_sharpness: float = 20.0
    """Variance of the Laplacian at 512 pixels; a photograph blurred over 4 pixels lies below."""
    read_text: Callable[[Photo], Sequence[str]] | None = None
    """Reads the lines of text in a picture; without it watermarks are not looked for, and that is counted."""
    judge: Callable[[Photo], bool] | None = None
    """Says whether a picture of a document is free of watermarks; without it such pictures stay undecided."""

    def fault(self, photo: Photo) -> str:
        """Name what is wrong with a picture: `small`, `aspect`, `blurred`, `watermark`, or nothing."""
        short, long = sorted(photo.image.size)
        if short < self.least_side:
            return "small"
        if long > self.most_aspect * short:
            return "aspect"
        if photo.sharpness() < self.least_sharpness:
            return "blurred"
        if self.read_text is not None:
            page = " ".join(self.read_text(photo)).casefold()
            if any(re.search(rf"(?<!\w){re.escape(words)}(?!\w)", page) for words in WATERMARKS):
                return "watermark"
        return ""


def licence_id(text: str) -> str:
    """Return a licence's name in one spelling.

    >>> licence_id("CC BY-SA 4.0"), licence_id("https://creativecommons.org/licenses/by/4.0/"), licence_id("")
    ('cc-by-sa-4.0', 'cc-by-4.0', '')
    """
    name = text.strip().casefold()
    link = re.search(r"creativecommons\.org/(licenses|publicdomain)/([a-z-]+)/([0-9.]+)", name)
    if link:
        prefix = {"zero": "cc0", "mark": "pdm"}.get(link[2], f"cc-{link[2]}")
        return f"{prefix}-{link[3].rstrip('.')}"
    name = re.sub(r"^creative commons\b", "cc", name)
    return name if name == "public domain" else re.sub(r"[\s_-]+", "-", name)


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of one candidate."""

    candidate: Candidate
    outcome: str
    """`chosen`, `passed`, `fail`, `undecided`, or the reason of a refusal such as `blurred` or `repeats pixels`."""
    scores: Scores = Scores()
    photo: Photo | None = None
    redistributable: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A photograph that passed: its file as it is exported, without the decoded pixels."""

    candidate: Candidate
    picture: Picture
    pixels_sha256: str
    phash: int
    scores: Scores
    redistributable: bool


@dataclass(slots=True)
class Selector:
    """Chooses photographs for a query, and counts what became of all candidates."""

    scorers: Sequence[Scorer] = ()
    thresholds: Thresholds = Thresholds()
    quality: Quality = Quality()
    licences: Sequence[str] = LICENCES
    keep_unlicensed: bool = False
    """Use pictures without an allowed licence if they have an address; only it and the hash may be exported."""
    trust: bool = False
    """Take undecided candidates: for a folder whose pictures were looked at by a person."""
    seen: Seen = field(default_factory=Seen)
    counts: Counter[str] = field(default_factory=Counter)

    def choose(self, candidates: Iterable[Candidate], query: str, *, document: bool = False) -> list[Decision]:
        """Judge all candidates of a query; at most one decision has the outcome `chosen`: the best mean rank.

        `document` marks pictures of papers and screens, which the judge must free of watermarks.
        """
        decisions = [self._judged(candidate, query, document) for candidate in candidates]
        fitting = [i for i, d in enumerate(decisions) if d.outcome == "passed"]
        if fitting:
            scores = {i: decisions[i].scores for i in fitting}
            best = min(fitting, key=lambda i: (_mean_rank(scores, i), i))
            chosen = decisions[best] = replace(decisions[best], outcome="chosen")
            if chosen.photo is not None:
                self.seen.claim(chosen.candidate.url, chosen.photo.pixels_sha256, chosen.photo.phash())
        self.counts.update(decision.outcome for decision in decisions)
        return decisions

    def gather(self, candidates: Iterable[Candidate], query: str, most: int) -> list[Kept]:
        """Return up to `most` different photographs that pass, the best mean rank first.

        One candidate is decoded at a time. Every one is counted once: `kept`, `more than needed`, `fail`, `undecided`
        or the reason of its refusal.
        """
        passed: list[Kept] = []
        for candidate in candidates:
            decision = self._judged(candidate, query, False)
            photo = decision.photo
            if decision.outcome != "passed" or photo is None:
                self.counts[decision.outcome] += 1
                continue
            looks = photo.pixels_sha256, photo.phash()
            passed.append(Kept(candidate, photo.clean(), *looks, decision.scores, decision.redistributable))
        scores = {i: kept.scores for i, kept in enumerate(passed)}
        chosen: list[Kept] = []
        for i in sorted(scores, key=lambda i: (_mean_rank(scores, i), i)):
            kept = passed[i]
            repeat = self.seen.repeats(kept.candidate.url, kept.pixels_sha256, kept.phash)
            if repeat or len(chosen) == most:
                self.counts[f"repeats {repeat}" if repeat else "more than needed"] += 1
                continue
            self.seen.claim(kept.candidate.url, kept.pixels_sha256, kept.phash)
            self.counts["kept"] += 1
            chosen.append(kept)
        return chosen

    def _judged(self, candidate: Candidate, query: str, document: bool) -> Decision:
        try:
            photo = candidate.open()
        except RefusedPicture as refusal:
            return Decision(candidate, refusal.reason)
        self.counts.update(f"note: {note}" for note in photo.notes)
        allowed = licence_id(candidate.licence) in self.licences
        if not allowed and not (self.keep_unlicensed and candidate.url):
            return Decision(candidate, "licence")
        fault = self.quality.fault(photo)
        if fault:
            return Decision(candidate, fault)
        if self.quality.read_text is None:
            self.counts["note: watermarks not looked for"] += 1
        if document and self.quality.judge is not None and not self.quality.judge(photo):
            return Decision(candidate, "watermark")
        repeat = self.seen.repeats(candidate.url, photo.pixels_sha256, photo.phash())
        if repeat:
            return Decision(candidate, f"repeats {repeat}")
        scores = Scores(**{scorer.channel: scorer.score(photo, query) for scorer in self.scorers})
        verdict = self.thresholds.verdict(scores)
        if document and self.quality.judge is None and verdict == "pass":
            verdict = "undecided"
        if verdict == "undecided" and self.trust:
            verdict = "pass"
        outcome = "passed" if verdict == "pass" else verdict
        return Decision(candidate, outcome, scores, photo, redistributable=allowed)


def _mean_rank(fitting: Mapping[int, Scores], index: int) -> float:
    """Mean over the channels of how many of the fitting candidates score higher; 0 without a channel."""
    ranks = []
    for channel in CHANNELS:
        values: Mapping[int, float | None] = {i: getattr(scores, channel) for i, scores in fitting.items()}
        mine = values[index]
        if mine is not None:
            ranks.append(sum(other is not None and other > mine for other in values.values()))
    return sum(ranks) / len(ranks) if ranks else 0.0
