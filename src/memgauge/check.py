"""The instrument's own test: known answers, intervals, tables.

It stands above the rooms, since it joins them: systems are asked as a run asks them, and what comes out is compared
with what theory, simulation and the printed tables say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SYSTEMS = (
    "exact",
    "window:bits=512",
    "window:bits=2048",
    "blocks:bits=2048",
    "bloom:bits=4096",
    "trigram-bloom:bits=1024",
    "trigram-bloom:bits=4096",
    "ngram-set:n=1",
    "ngram-set:n=2",
    "ngram-set:n=3",
    "lz78:bits=2048",
    "coin",
    "always-yes",
    "always-abstain",
    "oracle:accuracy=0.8",
)
LENGTHS = (256, 1024, 4096)
QUERIES = 16
SLACK = 0.005
"""How far a form may be off beside chance (the approximate ones leave out terms of this order)."""
ERRORS = 3.0
"""Standard errors: with exact forms, one line in 370 would fail by chance; the seed is fixed, so that none does."""


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was checked."""

    test: str
    """known answer | interval | table."""
    what: str
    expected: str
    measured: str
    holds: bool | None
    """None for what is shown without being required."""


def known_answers(*, streams: int, seed: int) -> Iterator[Line]:
    """Ask known-answer systems about maximum-entropy streams with uniform negatives, and compare with the closed form.

    A line holds when |measured - form| <= 0.005 + 3 standard errors, the error being that of the mean over streams.
    """
    from memgauge.drive import episode_seed, stack
    from memgauge.streams import make_cell
    from memgauge.systems.registry import make_system
    from memgauge.tasks import get_task, stream_episode

    task = get_task("ecc-tokens")
    for length in LENGTHS:
        items = make_cell("max", length, streams, seed=seed, queries=QUERIES, negatives="uniform")
        episodes = [stream_episode(item, task) for item in items]
        assert len({episode_seed(e) for e in episodes}) == len(episodes)
        for spec in SYSTEMS:
            system = make_system(spec)
            form = system.expected_accuracy(length)
            if form is None:
                continue
            batch = stack(episodes, "none", privileged=bool(getattr(system, "privileged", False)))
            answers = system.read_batch(batch)
            gold = np.array([[query.gold == "yes" for query in e.queries] for e in episodes])
            right = ((answers.value == gold) & ~answers.abstain).mean(axis=1)
            measured = float(right.mean())
            error = float(right.std(ddof=1) / np.sqrt(len(right)))
            yield Line(
                "known answer",
                f"{spec}, L={length}",
                f"{'' if form.exact else '~'}{form.value:.4f}",
                f"{measured:.4f} +- {error:.4f}",
                abs(measured - form.value) <= SLACK + ERRORS * error,
            )


def intervals(*, simulations: int, seed: int) -> Iterator[Line]:
    """Count how often 95 % intervals hold the truth on simulated responses whose streams differ.

    Required is 93 to 97 % for 40 and more episodes at accuracy 0.6 to 0.9; 20 episodes and accuracy 0.97 are shown.
    """
    from memgauge.metrics.inference import simulate_coverage

    for episodes in (20, 40, 80, 160):
        for accuracy in (0.6, 0.75, 0.9, 0.97):
            share = simulate_coverage(episodes, accuracy, questions=QUERIES, simulations=simulations, seed=seed)
            required = episodes >= 40 and accuracy <= 0.9
            yield Line(
                "interval",
                f"{episodes} episodes of {QUERIES} questions, accuracy {accuracy}",
                "93 to 97 %" if required else "95 % (shown, not required)",
                f"{100 * share:.1f} %",
                0.93 <= share <= 0.97 if required else None,
            )


def tables() -> Iterator[Line]:
    """Compare every cell of Tables 2, 3 and 12 of ECCBench with its printed digits."""
    from memgauge.costs.tables import rounds_to, table_cells

    for number in (2, 3, 12):
        cells = table_cells(number)
        wrong = [where for where, computed, printed in cells if computed is None or not rounds_to(computed, printed)]
        yield Line(
            "table",
            f"Table {number}, {len(cells)} cells",
            "every cell rounds to its printed digits",
            "all do" if not wrong else f"{len(wrong)} do not: {'; '.join(wrong[:3])}",
            not wrong,
        )


def run_checks(*, quick: bool = False, seed: int = 0) -> Iterator[Line]:
    """Yield every line of the check, as soon as it is known."""
    yield from tables()
    yield from known_answers(streams=60 if quick else 300, seed=seed)
    yield from intervals(simulations=2000 if quick else 4000, seed=seed)
