"""Leak gates on single sessions: can a classifier tell evidence from haystack by text, shape, or kinds of pictures?

Evidence and as many haystack sessions with pictures are told apart in five folds, all sessions of a question in one
fold (MEMLENS, session indistinguishability validation). Pictures and speaker labels are not in the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgauge.histories.building.checking import inference
from memgauge.histories.building.checking.gates import Gate, shown, statistical
from memgauge.histories.building.checking.sample import Sample
from memgauge.histories.building.pictures.kinds import KINDS
from memgauge.histories.building.seeds import rng

FOLDS = 5
FEATURES = 10_000
MOST_EVIDENCE = 2000
"""Evidence sessions that are taken at most, and as many of the haystack."""
ABLATED = (20, 50, 100, 200, 500, 1000)
ACCURACY, AREA = 0.60, 0.62
SHAPE = 0.55
PICTURES, PICTURES_SHORT = 0.55, {"32k": 0.62, "64k": 0.58}
"""Where few pictures fit, what is left beside the target's own has room for short decoys only, so that kinds of long
blueprints are rarer there than among the evidence."""
_MIX = (
    "the haystack must come from the generator of the evidence, as complete decoy blueprints in the mix of the "
    "questions (see docs/history_checks.md)"
)

Rows = NDArray[np.int64]
Labels = NDArray[np.bool_]


def balanced(sample: Sample, length: str) -> Rows:
    """Return indices into `sample.sessions`: the evidence at a length and as many sessions of its haystack."""
    here = [place.session for place in sample.places.get(length, ())]
    evidence = [i for i in here if sample.sessions[i].evidence]
    haystack = [i for i in here if not sample.sessions[i].evidence]
    generator = rng(sample.seed, "check", "balanced", length)
    size = min(len(evidence), len(haystack), MOST_EVIDENCE)
    return np.array(sorted(generator.sample(evidence, size) + generator.sample(haystack, size)), np.int64)


def _folds(groups: NDArray[np.int64]) -> list[tuple[Rows, Rows]]:
    from sklearn.model_selection import GroupKFold

    return list(GroupKFold(FOLDS).split(groups, groups=groups))


def _out_of_fold(
    features: Any, labels: Labels, groups: NDArray[np.int64], make: Callable[[], Any]
) -> NDArray[np.float64]:
    """Return the probability of evidence of each row from a model that has not seen its question."""
    from threadpoolctl import threadpool_limits

    scores = np.full(labels.size, 0.5)
    with threadpool_limits(1):  # the models are small: threads would wait for each other
        for train, test in _folds(groups):
            if labels[train].all() or not labels[train].any():
                continue
            scores[test] = make().fit(features[train], labels[train]).predict_proba(features[test])[:, 1]
    return scores


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, solver="liblinear", random_state=0)


def _trees() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, max_depth=3, early_stopping=False, random_state=0)


def text_gates(
    sample: Sample, length: str, rows: Rows, texts: Sequence[str], *, enough: bool, ablate: bool
) -> list[Gate]:
    """Return the gates of the text classifier at one length; `texts` are those of `rows`.

    With `ablate` the sweep over removed n-grams too: in each fold the K n-grams with the largest weights are removed
    and the classifier is trained anew.
    """
    labels, groups = _labels(sample, rows), _groups(sample, rows)
    if np.unique(groups).size < FOLDS:
        return []
    features = _tfidf(texts)
    scores = _out_of_fold(features, labels, groups, _logistic)
    accuracy = inference.mean((scores >= 0.5) == labels, groups)
    area = inference.auc(scores, labels, groups)
    found = [
        statistical(
            f"session_{name}_{length}",
            f"{what} of TF-IDF (1-2-grams, {FEATURES:,} features) with logistic regression, evidence against haystack "
            f"sessions at {length}",
            measured=estimate.value,
            threshold=threshold,
            bound=estimate.lower,
            n=rows.size,
            unit="sessions",
            enough=enough,
            advice=_MIX,
        )
        for name, what, estimate, threshold in (
            ("accuracy", "accuracy", accuracy, ACCURACY),
            ("auc", "area under the ROC curve", area, AREA),
        )
    ]
    if ablate:
        sweep = _ablation(features, labels, groups)
        sweep = {"0": accuracy.value, **sweep}
        found.append(
            shown(
                f"vocabulary_ablation_{length}",
                "largest accuracy of that classifier without its K most telling n-grams",
                max(sweep.values()),
                rows.size,
                "sessions",
                {"accuracy_without": sweep},
            )
        )
    return found


def carrier_gate(sample: Sample, length: str, rows: Rows, texts: Sequence[str], *, enough: bool) -> list[Gate]:
    """Return the gate of the same classifier on the turns with pictures alone, which are a small part of a session.

    It is sharper than that on whole sessions, and not part of the paper's protocol (extension).
    """
    labels, groups = _labels(sample, rows), _groups(sample, rows)
    if np.unique(groups).size < FOLDS:
        return []
    area = inference.auc(_out_of_fold(_tfidf(texts), labels, groups, _logistic), labels, groups)
    return [
        statistical(
            f"carrier_auc_{length}",
            f"area under the ROC curve of that classifier where it reads only the turns with pictures, at {length}",
            measured=area.value,
            threshold=AREA,
            bound=area.lower,
            n=rows.size,
            unit="sessions",
            enough=enough,
            advice=_MIX,
        )
    ]


def _ablation(features: Any, labels: Labels, groups: NDArray[np.int64]) -> dict[str, float]:
    right: dict[int, int] = dict.fromkeys(ABLATED, 0)
    for train, test in _folds(groups):
        weights = np.abs(_logistic().fit(features[train], labels[train]).coef_[0])
        order = np.argsort(-weights, kind="stable")
        for k in ABLATED:
            kept = np.sort(order[k:])
            if not kept.size:
                right[k] += int((~labels[test]).sum())
                continue
            model = _logistic().fit(features[train][:, kept], labels[train])
            right[k] += int((model.predict(features[test][:, kept]) == labels[test]).sum())
    return {str(k): count / labels.size for k, count in right.items()}


def shape_gates(sample: Sample, length: str, rows: Rows, *, enough: bool) -> list[Gate]:
    """Return the gates on the shape of sessions and on the kinds of their pictures, at one length."""
    labels, groups = _labels(sample, rows), _groups(sample, rows)
    if np.unique(groups).size < FOLDS:
        return []
    shape = np.array([sample.sessions[i].shape for i in rows])
    names = sorted({*KINDS, *(kind for i in rows for kind in sample.sessions[i].kinds)})
    kinds = np.array(
        [[len(s.kinds), *(s.kinds.count(name) for name in names)] for s in (sample.sessions[i] for i in rows)], float
    )
    found = []
    for name, what, features, threshold, advice in (
        (
            "shape_auc",
            "area under the ROC curve of boosted trees on words, turns, signs and digits",
            shape,
            SHAPE,
            "numbers of exchanges and carriers must be drawn alike for evidence and haystack",
        ),
        (
            "picture_kinds_auc",
            "area under the ROC curve of boosted trees on number and kinds of pictures",
            kinds,
            PICTURES_SHORT.get(length, PICTURES),
            "solve for the mix of the decoys instead of setting it, siblings included",
        ),
    ):
        area = inference.auc(_out_of_fold(features, labels, groups, _trees), labels, groups)
        found.append(
            statistical(
                f"{name}_{length}",
                f"{what}, evidence against haystack sessions at {length}",
                measured=area.value,
                threshold=threshold,
                bound=area.lower,
                n=rows.size,
                unit="sessions",
                enough=enough,
                advice=advice,
            )
        )
    return found


def _labels(sample: Sample, rows: Rows) -> Labels:
    return np.array([sample.sessions[i].evidence for i in rows], bool)


def _groups(sample: Sample, rows: Rows) -> NDArray[np.int64]:
    return np.array([sample.sessions[i].question for i in rows], np.int64)


def _tfidf(texts: Sequence[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), max_features=FEATURES, sublinear_tf=True)
    return vectorizer.fit_transform(texts)
