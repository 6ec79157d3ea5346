"""Leak gates on whole histories: do sessions that belong together, retrieval, or places give the evidence away?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memgauge.histories.building.checking import inference
from memgauge.histories.building.checking.gates import Gate, shown, statistical
from memgauge.histories.building.checking.sample import Sample
from memgauge.histories.building.seeds import digest

ALL, MULTI = 0.60, {"32k": 0.70, "64k": 0.66}
MULTI_LONG = 0.62
RECALL = (0.2, 0.6)
"""Recall at 5 of BM25 at 128K; outside, the gate warns."""
POSITIONS = 0.01
DENSITY = 3.0
K1, B = 1.2, 0.75
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Detector:
    """Finds evidence without the question: the sessions of a history that are most like two others.

    TF-IDF of 1-3-grams of the users' turns, cosine similarity, the sum of the two highest, standardised per history.
    The weights come from all histories of the sample together: within one history, what its sessions have in common
    would count for little just because they have it in common.
    """

    texts: list[str] = field(default_factory=list)
    labels: list[bool] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    multi: list[bool] = field(default_factory=list)

    def add(self, question: int, texts: Sequence[str], evidence: Sequence[bool]) -> None:
        """Take the sessions with pictures of one history."""
        if len(texts) < 4:
            return
        self.texts += texts
        self.labels += evidence
        self.groups += [question] * len(texts)
        self.multi += [sum(evidence) > 1] * len(texts)

    def areas(self) -> dict[str, tuple[inference.Estimate, int]]:
        """Return the areas under the ROC curve, and the numbers of questions, over all items (`all`) and over those
        with several evidence sessions (`multi`)."""
        labels, multi = np.array(self.labels, bool), np.array(self.multi, bool)
        groups = np.array(self.groups, np.int64)
        if not labels.any() or labels.all():
            return {}
        scores = likeness(self.texts, groups)
        found = {}
        for name, rows in (("all", np.ones(labels.size, bool)), ("multi", multi)):
            if labels[rows].any() and not labels[rows].all():
                area = inference.auc(scores[rows], labels[rows], groups[rows])
                found[name] = area, int(np.unique(groups[rows]).size)
        return found

    def gates(self, length: str, *, enough: bool) -> list[Gate]:
        """Return the gates over all items and over those with several evidence sessions."""
        found = []
        for name, (area, questions) in self.areas().items():
            several = name == "multi"
            found.append(
                statistical(
                    f"detector_multi_{length}" if several else f"detector_{length}",
                    "area under the ROC curve of the detector that knows no question, "
                    f"{'items with several evidence sessions' if several else 'all items'} at {length}",
                    measured=area.value,
                    threshold=MULTI.get(length, MULTI_LONG) if several else ALL,
                    bound=area.lower,
                    n=questions,
                    unit="questions",
                    enough=enough,
                    advice="decoys must come as complete blueprints, all of whose facts share a person or thing",
                )
            )
        return found

    def figure(self, length: str) -> list[Gate]:
        """Return the areas as a figure that decides nothing: of a detector that reads picture turns only."""
        areas = self.areas()
        if "all" not in areas:
            return []
        area, questions = areas["all"]
        return [
            shown(
                f"detector_turns_{length}",
                f"area of the same detector where it reads only the turns with pictures, at {length}",
                area.value,
                questions,
                "questions",
                {f"{name}_area": found.value for name, (found, _) in areas.items()}
                | {f"{name}_lower": found.lower for name, (found, _) in areas.items()},
            )
        ]


def likeness(texts: Sequence[str], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for each text, the sum of its two highest similarities to others of its group, standardised there.

    N-grams are hashed, so that memory does not grow with the vocabulary.
    """
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    counter = HashingVectorizer(ngram_range=(1, 3), n_features=2**20, alternate_sign=False, norm=None)
    features = TfidfTransformer(sublinear_tf=True).fit_transform(counter.transform(texts))
    scores = np.zeros(len(texts))
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        alike = np.asarray((features[rows] @ features[rows].T).todense(), float)
        np.fill_diagonal(alike, -1.0)
        two = np.sort(alike, axis=1)[:, -2:].sum(axis=1)
        spread = two.std()
        scores[rows] = (two - two.mean()) / spread if spread > 0 else 0.0
    return scores


@dataclass(slots=True)
class Retrieval:
    """BM25 from the question to the sessions of its history, text only (Robertson and Zaragoza, 2009)."""

    five: list[float] = field(default_factory=list)
    ten: list[float] = field(default_factory=list)
    reciprocal: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def add(self, question: int, text: str, sessions: Sequence[str], evidence: Sequence[bool]) -> None:
        """Rank the sessions of one history."""
        scores = bm25(text, sessions)
        # Ties go to the earlier session; a stable sort keeps that.
        order = np.argsort([-score for score in scores], kind="stable")
        ranks = [place for place, index in enumerate(order, 1) if evidence[index]]
        if not ranks:
            return
        self.five.append(sum(rank <= 5 for rank in ranks) / len(ranks))
        self.ten.append(sum(rank <= 10 for rank in ranks) / len(ranks))
        self.reciprocal.append(1 / ranks[0])
        self.groups.append(question)

    def gates(self, length: str, *, enough: bool) -> list[Gate]:
        """Return recall at 5: a warning outside the range at 128K, at other lengths only shown."""
        if not self.five:
            return []
        five = inference.mean(self.five, self.groups)
        details = {
            "recall_at_10": float(np.mean(self.ten)),
            "mrr": float(np.mean(self.reciprocal)),
            "range": list(RECALL),
            "upper_bound": five.upper,
        }
        what = f"recall at 5 of BM25 (k1 {K1}, b {B}) over sessions at {length}"
        if length != "128k":
            return [shown(f"bm25_recall_{length}", what, five.value, len(self.five), "questions", details)]
        low = five.upper < RECALL[0]
        return [
            statistical(
                f"bm25_recall_{length}",
                f"{what}, between {RECALL[0]} and {RECALL[1]}",
                measured=five.value,
                threshold=RECALL[0] if low else RECALL[1],
                bound=five.upper if low else five.lower,
                n=len(self.five),
                unit="questions",
                enough=enough,
                below=low,
                warn=True,
                advice="use other words for things in questions than in dialogue, and hard negatives (p = 0.3)",
                details=details,
            )
        ]


def bm25(query: str, documents: Sequence[str]) -> list[float]:
    """Return the BM25 score of each document; idf = ln(1 + (N - n + 0.5) / (n + 0.5)).

    >>> scores = bm25("red kite", ["a red kite", "a blue boat", "the kite"])
    >>> max(range(3), key=scores.__getitem__), scores[1] == 0
    (0, True)
    """
    asked = Counter(_WORD.findall(query.lower()))
    counted, sizes = [], []
    for document in documents:
        words = _WORD.findall(document.lower())
        sizes.append(len(words))
        counted.append(Counter(word for word in words if word in asked))
    average = sum(sizes) / max(len(sizes), 1) or 1.0
    holding = Counter(word for counts in counted for word in counts)
    total = len(documents)
    idf = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in holding.items()}
    return [
        sum(
            asked[word] * idf[word] * count * (K1 + 1) / (count + K1 * (1 - B + B * size / average))
            for word, count in counts.items()
        )
        for counts, size in zip(counted, sizes, strict=True)
    ]


def place_gates(sample: Sample, *, enough: bool) -> list[Gate]:
    """Return the gates on where evidence stands: uniformly, and among as many pictures as haystack sessions do."""
    from scipy.stats import kstest

    found = []
    lengths = [name for name, rows in sample.places.items() if rows]
    for length in lengths:
        rows = sample.places[length]
        # Spread over its own share of the history, so that a rank among n becomes uniform on (0, 1).
        spots = [
            (place.position + _share(sample, length, place.session)) / place.of
            for place in rows
            if sample.sessions[place.session].evidence
        ]
        if not spots:
            continue
        test = kstest(spots, "uniform")
        found.append(
            statistical(
                f"positions_{length}",
                f"Kolmogorov-Smirnov distance of the places of evidence from uniform at {length}; the bound is its "
                f"p-value, times {len(lengths)} lengths",
                measured=float(test.statistic),
                threshold=POSITIONS,
                bound=min(1.0, float(test.pvalue) * len(lengths)),
                n=len(spots),
                unit="sessions",
                enough=enough,
                below=True,
                advice="draw the slots of evidence uniformly, before any text",
            )
        )
        found.append(_density(sample, length, enough=enough))
    return found


def _density(sample: Sample, length: str, *, enough: bool) -> Gate:
    rows = sample.places[length]
    value = np.array([place.density for place in rows])
    label = np.array([sample.sessions[place.session].evidence for place in rows], bool)
    group = np.array([sample.sessions[place.session].question for place in rows], np.int64)
    # Refusals have no evidence; questions with both are compared within themselves.
    gaps, owners = [], []
    for question in np.unique(group[label]):
        mine = group == question
        if (mine & ~label).any():
            gaps.append(value[mine & label].mean() - value[mine & ~label].mean())
            owners.append(int(question))
    gap = inference.mean(gaps, owners)
    distance = abs(gap.value) / gap.error if gap.error > 0 else 0.0 if not gap.value else float("inf")
    return statistical(
        f"picture_density_{length}",
        f"pictures per session around evidence less those around haystack sessions at {length}; the bound is the "
        "difference in standard errors",
        measured=gap.value,
        threshold=DENSITY,
        bound=distance if gaps else float("nan"),
        n=len(gaps),
        unit="questions",
        enough=enough,
        advice="decoys and fillers must take random slots",
        details={
            "around_evidence": float(value[label].mean()) if label.any() else float("nan"),
            "around_haystack": float(value[~label].mean()) if (~label).any() else float("nan"),
        },
    )


def _share(sample: Sample, length: str, session: int) -> float:
    """Return a number in [0, 1) that follows from the session's id."""
    return int.from_bytes(digest(sample.seed, "check", length, sample.sessions[session].id)[:6], "big") / 2**48
