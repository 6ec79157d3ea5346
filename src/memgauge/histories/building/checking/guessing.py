"""Gates on what a reader of the text alone can know: heuristics and a learned guesser against the floors, answers.

The reader has found the evidence, and knows the possible answers where they are few. What it may get right by chance
is the floor of each question; for open answers `OPEN`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

import numpy as np

from memgauge.histories.building.checking.gates import Gate, statistical
from memgauge.histories.building.checking.inference import tail, uniform_p
from memgauge.histories.building.checking.sample import Riddle

OPEN = 0.01
"""Chance of a lucky hit where the answers are open: amounts, times, codes."""
LEVEL = 0.001
"""Adjusted p-values below it fail."""
LEAST = 10
"""Questions of a builder from which on the learned guesser is trained."""
_NUMBER = re.compile(r"\$?\d[\d,]*(?:\.\d\d)?|\d{1,2}:\d{2}")
_AMOUNT = re.compile(r"\$(\d[\d,]*)\.(\d\d)")

Guess = Callable[[Riddle], str]


def _text(riddle: Riddle) -> str:
    return " ".join(riddle.facts).replace("<image>", " ").lower()


def _said(riddle: Riddle) -> list[tuple[int, int, str]]:
    """Return (first place, occurrences, value) of the possible answers that the facts say."""
    text = _text(riddle)
    found = []
    for value in riddle.space:
        places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(value.lower())}(?!\w)", text)]
        if places:
            found.append((places[0], len(places), value))
    return found


def _least_said(riddle: Riddle) -> str:
    counts = {value: count for _, count, value in _said(riddle)}
    return min(riddle.space, key=lambda value: counts.get(value, 0), default="")


def _option(riddle: Riddle, keys: Sequence[str], last: bool) -> str:
    """Return A or B for the option whose fact comes first, or last, by `keys`."""
    at = dict(zip(riddle.things, keys, strict=True))
    if len(riddle.options) != 2 or any(option not in at for option in riddle.options):
        return ""
    chosen = (max if last else min)(riddle.options, key=lambda option: at[option])
    return "AB"[riddle.options.index(chosen)]


def _amounts(riddle: Riddle) -> list[int]:
    return [int(whole.replace(",", "")) * 100 + int(cents) for whole, cents in _AMOUNT.findall(_text(riddle))]


def _dollars(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02d}"


def _day_after(riddle: Riddle, days: int) -> str:
    try:
        return (date.fromisoformat(riddle.dates[-1]) + timedelta(days=days)).strftime("%Y/%m/%d")
    except (ValueError, IndexError):
        return ""


def _number_said(riddle: Riddle, place: int) -> str:
    found = _NUMBER.findall(_text(riddle))
    return str(found[place]) if found else ""


def _numeric(riddle: Riddle, last: bool) -> str:
    numbers = [value for value in riddle.space if value.isdigit()]
    return (max if last else min)(numbers, key=int) if numbers else ""


HEURISTICS: Mapping[str, Guess] = {
    "first of the space": lambda r: r.space[0] if r.space else "",
    "middle of the space": lambda r: r.space[len(r.space) // 2] if r.space else "",
    "last of the space": lambda r: r.space[-1] if r.space else "",
    "smallest number of the space": lambda r: _numeric(r, False),
    "largest number of the space": lambda r: _numeric(r, True),
    "said first": lambda r: min(_said(r), default=(0, 0, ""))[2],
    "said last": lambda r: max(_said(r), default=(0, 0, ""))[2],
    "said most": lambda r: max(_said(r), key=lambda found: found[1], default=(0, 0, ""))[2],
    "said least": _least_said,
    "number of sessions": lambda r: str(len(r.facts)),
    "half the sessions": lambda r: str((len(r.facts) + 1) // 2),
    "option told first": lambda r: _option(r, [f"{i:04d}" for i in range(len(r.things))], False),
    "option told last": lambda r: _option(r, [f"{i:04d}" for i in range(len(r.things))], True),
    "option that begins first": lambda r: _option(r, r.begins, False),
    "option that begins last": lambda r: _option(r, r.begins, True),
    "first number said": lambda r: _number_said(r, 0),
    "last number said": lambda r: _number_said(r, -1),
    "sum of the amounts said": lambda r: _dollars(sum(_amounts(r))) if _amounts(r) else "",
    "largest amount said": lambda r: _dollars(max(_amounts(r))) if _amounts(r) else "",
    "twice the amounts said": lambda r: _dollars(2 * sum(_amounts(r))) if _amounts(r) else "",
    "day of the first session": lambda r: r.dates[0].replace("-", "/") if r.dates else "",
    "day of the last session": lambda r: _day_after(r, 0),
    "week after the last session": lambda r: _day_after(r, 7),
    "date that is told first": lambda r: min(filter(None, r.begins), default="").replace("-", "/"),
    "date that is told last": lambda r: max(filter(None, r.begins), default="").replace("-", "/"),
}
"""What a reader may try, by name; empty where it does not apply. Two more look at the answers of other questions."""


def guess_gates(riddles: Sequence[Riddle], *, enough: bool) -> list[Gate]:
    """Return the gates of the heuristics, of the learned guesser and of the answers' histogram."""
    by_builder: dict[str, list[Riddle]] = defaultdict(list)
    for riddle in riddles:
        by_builder[riddle.builder].append(riddle)
    if not riddles:
        return []
    return [
        _heuristics(by_builder, len(riddles), enough=enough),
        _learned(by_builder, enough=enough),
        _histogram(by_builder, enough=enough),
    ]


def floors(riddles: Sequence[Riddle]) -> list[float]:
    """Return the chance of a right guess of each question."""
    return [max(riddle.floor, OPEN) for riddle in riddles]


def _usual(riddles: Sequence[Riddle], of: Callable[[Riddle], str]) -> list[str]:
    """Return, for each question, the most frequent value of `of` among the others."""
    counts = Counter(map(of, riddles))
    found = []
    for riddle in riddles:
        mine = of(riddle)
        others = [(count - (value == mine), value) for value, count in counts.items()]
        found.append(max((pair for pair in others if pair[0]), default=(0, ""))[1])
    return found


def guesses(riddles: Sequence[Riddle]) -> dict[str, list[str]]:
    """Return what each heuristic says about the questions of one builder."""
    found = {name: [guess(riddle) for riddle in riddles] for name, guess in HEURISTICS.items()}
    found["usual answer"] = _usual(riddles, lambda r: r.answer)
    places = _usual(riddles, lambda r: str(r.space.index(r.answer)) if r.answer in r.space else "")
    found["usual place in the space"] = [
        r.space[int(place)] if place and int(place) < len(r.space) else ""
        for r, place in zip(riddles, places, strict=True)
    ]
    return found


def _heuristics(by_builder: Mapping[str, Sequence[Riddle]], total: int, *, enough: bool) -> Gate:
    best: dict[str, dict[str, object]] = {}
    tests: list[tuple[float, str, str, int, int]] = []
    right = 0
    for builder, riddles in sorted(by_builder.items()):
        chances = floors(riddles)
        hits = {
            name: sum(said == riddle.answer for said, riddle in zip(answers, riddles, strict=True))
            for name, answers in guesses(riddles).items()
            if any(answers)
        }
        for name, count in hits.items():
            tests.append((tail(count, chances), builder, name, count, len(riddles)))
        if not hits:
            continue
        name = max(hits, key=lambda n: hits[n])
        right += hits[name]
        best[builder] = {"heuristic": name, "accuracy": hits[name] / len(riddles), "floor": float(np.mean(chances))}
    adjusted = [(min(1.0, p * len(tests)), builder, name, count, n) for p, builder, name, count, n in tests]
    problems = tuple(
        f"{builder}: {name!r} is right {count} times of {n} (adjusted p = {p:.2g})"
        for p, builder, name, count, n in sorted(adjusted)
        if p < LEVEL
    )
    return statistical(
        "text_only_heuristics",
        f"accuracy of the best of {len(HEURISTICS) + 2} heuristics for each builder, evidence located; the bound is "
        f"the smallest p-value against the floors, times {len(tests)} tests",
        measured=right / total,
        threshold=LEVEL,
        bound=min((p for p, *_ in adjusted), default=float("nan")),
        n=total,
        unit="questions",
        enough=enough,
        below=True,
        advice="draw the answer after the text and from another generator; deal answers from balanced decks",
        problems=problems[:10],
        details={"best": best, "floor": float(np.mean([c for r in by_builder.values() for c in floors(r)]))},
    )


def _learned(by_builder: Mapping[str, Sequence[Riddle]], *, enough: bool) -> Gate:
    """Predict the place of the answer in its space from question and facts, over five folds."""
    tests: dict[str, tuple[float, int, int, float]] = {}
    for builder, riddles in sorted(by_builder.items()):
        closed = [r for r in riddles if r.answer in r.space and 1 < len(r.space) <= 30]
        if len(closed) >= LEAST:
            hits = _predicted(closed)
            tests[builder] = (tail(hits, floors(closed)), hits, len(closed), float(np.mean(floors(closed))))
    adjusted = {name: min(1.0, p * len(tests)) for name, (p, *_) in tests.items()}
    n = sum(count for _, _, count, _ in tests.values())
    return statistical(
        "text_only_learned",
        "accuracy of TF-IDF with logistic regression on question and facts, answers of few values, five folds; the "
        f"bound is the smallest p-value against the floors, times {len(tests)} builders",
        measured=sum(hits for _, hits, _, _ in tests.values()) / n if n else float("nan"),
        threshold=LEVEL,
        bound=min(adjusted.values(), default=float("nan")),
        n=n,
        unit="questions",
        enough=enough,
        below=True,
        advice="some wording goes with some answers: draw the text before the answer, from another generator",
        problems=tuple(
            f"{name}: right {tests[name][1]} times of {tests[name][2]} (adjusted p = {p:.2g})"
            for name, p in adjusted.items()
            if p < LEVEL
        ),
        details={
            "builders": {
                name: {"accuracy": hits / count, "floor": floor} for name, (_, hits, count, floor) in tests.items()
            }
        },
    )


def _predicted(riddles: Sequence[Riddle]) -> int:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    texts = ["\n".join((r.text, *r.facts)) for r in riddles]
    places = np.array([r.space.index(r.answer) for r in riddles])
    features = TfidfVectorizer(ngram_range=(1, 2), max_features=5000, sublinear_tf=True).fit_transform(texts)
    fold = np.arange(len(riddles)) % 5
    hits = 0
    for number in range(5):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(set(places[train].tolist())) < 2:
            hits += int((places[test] == places[train][0]).sum())
            continue
        with threadpool_limits(1):
            model = LogisticRegression(C=10.0, max_iter=200).fit(features[train], places[train])
            scores = model.predict_proba(features[test])
        for row, index in zip(scores, test.tolist(), strict=True):
            able = model.classes_ < len(riddles[index].space)
            hits += int(bool(able.any()) and model.classes_[able][np.argmax(row[able])] == places[index])
    return hits


def _histogram(by_builder: Mapping[str, Sequence[Riddle]], *, enough: bool) -> Gate:
    """Test that every place in an answer space is the answer equally often."""
    found: dict[str, float] = {}
    for builder, riddles in sorted(by_builder.items()):
        closed = [r for r in riddles if r.answer in r.space and len(r.space) > 1]
        size = max((len(r.space) for r in closed), default=0)
        counts, expected = np.zeros(size), np.zeros(size)
        for riddle in closed:
            counts[riddle.space.index(riddle.answer)] += 1
            expected[: len(riddle.space)] += 1 / len(riddle.space)
        p = uniform_p(counts, expected) if size else float("nan")
        if p == p:
            found[builder] = p
    adjusted = {name: min(1.0, p * len(found)) for name, p in found.items()}
    return statistical(
        "answer_histogram",
        "smallest chi-square p-value of the answers' places in their spaces against equal shares; the bound is it, "
        f"times {len(found)} builders",
        measured=min(found.values(), default=float("nan")),
        threshold=LEVEL,
        bound=min(adjusted.values(), default=float("nan")),
        n=sum(len(r) for name, r in by_builder.items() if name in found),
        unit="questions",
        enough=enough,
        below=True,
        advice="deal the answers of a builder from balanced decks",
        problems=tuple(f"{name}: adjusted p = {p:.2g}" for name, p in adjusted.items() if p < LEVEL),
        details={"p": found},
    )
