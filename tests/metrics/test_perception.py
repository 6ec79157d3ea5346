"""The perception check at L = 8, and answers that look swapped."""

from __future__ import annotations

import known_rows as known
import numpy as np
import pytest
from scipy.stats import fisher_exact

from memgauge.metrics.cells import build_cells
from memgauge.metrics.inference import Resampler
from memgauge.metrics.perception import markers, perception

RESAMPLER = Resampler(400)


def answers(
    say, *, length=8, streams=12, questions=8, arm="none", split="max", system="m", task="ecc-text", prompt="h"
):
    """Rows of a model: `say(gold, rng)` is True for yes, False for no, None for an abstention."""
    rng = np.random.default_rng(7)
    rows = []
    for e in range(streams):
        for q in range(questions):
            gold = q % 2 == 0
            said = say(gold, rng)
            right = said is not None and said == gold
            rows.append(
                known.response(
                    right if said is not None else None, system=system, task=task, split=split, length=length, arm=arm,
                    gold="yes" if gold else "no", answer=None if said is None else ("yes" if said else "no"),
                    episode=f"{split}{length}e{e}", query=f"q{q}", prompt_hash=prompt,
                )
            )  # fmt: skip
    return rows


def cells_of(*tables):
    return build_cells(known.frame([row for rows in tables for row in rows]))[0]


def noisy(share):
    """Right with this probability."""
    return lambda gold, rng: gold == bool(rng.random() < share)


def test_longer_cells_stand_beside_eight_symbols():
    cells = cells_of(
        answers(noisy(0.95)), answers(noisy(0.7), length=64), answers(noisy(0.95), split="low", length=64),
        answers(noisy(0.7), length=64, arm="A"),
    )  # fmt: skip
    found = {(row["split"], row["arm"]): row for row in perception(cells, RESAMPLER)}
    assert set(found) == {("max", "none"), ("low", "none"), ("max", "A")}
    plain, armed, alone = found["max", "none"], found["max", "A"], found["low", "none"]
    assert plain["short_length"] == 8
    assert plain["short_n"] == 96
    assert plain["drop"]["value"] == pytest.approx(plain["short"]["value"] - plain["accuracy"]["value"])
    assert plain["drop"]["low"] > 0
    assert plain["note"] is None
    assert armed["short"] == plain["short"]
    assert armed["short_arm"] == "none"
    assert "without a payoff only" in armed["note"]
    assert alone["short"]["value"] is None
    assert alone["short_arm"] is None
    assert "L = 8 was not run" in alone["note"]


def test_memories_without_a_prompt_are_left_out():
    cells = cells_of(answers(noisy(0.9), prompt=None), answers(noisy(0.9), length=64, prompt=None))
    assert perception(cells, RESAMPLER) == markers(cells, RESAMPLER) == []


def test_variants_are_told_apart():
    def rows(length, share):
        made = answers(noisy(share), length=length, task="ecc-video", questions=16)
        return [{**row, "variant": "spatial" if n % 4 < 2 else "sequential"} for n, row in enumerate(made)]

    row = perception(cells_of(rows(8, 1.0), rows(16, 0.8)), RESAMPLER)[0]
    assert [part["variant"] for part in row["variants"]] == ["sequential", "spatial"]
    assert all(part["short"] == 1.0 and 0.6 < part["accuracy"] < 1 for part in row["variants"])
    assert np.mean([part["accuracy"] for part in row["variants"]]) == pytest.approx(row["accuracy"]["value"])


def marked(*tables):
    (row,) = markers(cells_of(*tables), RESAMPLER)
    return row


def test_swapped_markers_are_noticed_and_nothing_is_corrected():
    row = marked(answers(noisy(0.1)), answers(noisy(0.15), split="low"))
    assert row["swapped"]
    assert "swapped" in row["note"]
    assert row["n"] == 192
    assert row["accuracy_answered"] < 0.2
    assert row["balanced_answered"]["high"] < 0.5
    counts = cells_of(answers(noisy(0.1)), answers(noisy(0.15), split="low"))
    yes, no = (np.concatenate([c.correct[c.gold == g] for c in counts]).astype(int) for g in (1, 0))
    table = [[(1 - no).sum(), no.sum()], [yes.sum(), (1 - yes).sum()]]
    assert row["p"] == pytest.approx(fisher_exact(table, alternative="greater")[1], rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    "say",
    [
        noisy(0.9),
        noisy(0.5),
        lambda gold, rng: True,
        lambda gold, rng: False,
        # Always no, and mostly silent where no is right: most of its answers are wrong, yet nothing is swapped.
        lambda gold, rng: None if not gold and rng.random() < 0.8 else False,
        lambda gold, rng: None,
    ],
)
def test_bias_guessing_and_silence_are_not_swapped_markers(say):
    row = marked(answers(say))
    assert not row["swapped"]
    assert row["note"] is None


def test_few_streams_leave_it_open():
    row = marked(answers(noisy(0.0), streams=2, questions=16))
    assert not row["swapped"]
    assert "too few" in row["note"]


def test_guessing_is_rarely_called_swapped():
    """A fair coin is called swapped in less than 1 in 100; 150 coins give at most 5 with probability 0.998."""
    rng = np.random.default_rng(3)
    tables = [
        answers(lambda gold, _: bool(rng.random() < 0.5), system=f"coin-{n}", streams=10, questions=8)
        for n in range(150)
    ]
    assert sum(row["swapped"] for row in markers(cells_of(*tables), Resampler(200))) <= 5
