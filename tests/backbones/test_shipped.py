"""The checkpoints that ship are whole, small, and as good as their summaries say."""

from __future__ import annotations

import numpy as np
import pytest

from memgauge.cli.app import run
from memgauge.errors import InputError
from memgauge.streams.batch import max_entropy_batch
from memgauge.system import SymbolBatch
from memgauge.systems.backbones.config import read_summary
from memgauge.systems.backbones.shipped import shipped_checkpoints, shipped_folder
from memgauge.systems.registry import fingerprint, make_system, system_name

NAMES = ("conv-64", "deltanet-64", "gated-deltanet-64", "gla-64", "mamba2-64", "rope-64")


def test_what_ships_is_small_and_complete() -> None:
    found = shipped_checkpoints()
    assert set(NAMES) <= set(found)
    files = [file for folder in found.values() for file in folder.iterdir()]
    assert {file.name for file in files} == {"model.safetensors", "checkpoint.json"}
    assert sum(file.stat().st_size for file in files) < 8_000_000


@pytest.mark.parametrize("name", NAMES)
def test_weights_answer_as_the_summary_says(name: str) -> None:
    """1,280 fresh questions at L = 32 against a validation of 512: 4.5 standard errors of their difference (1e-5)."""
    summary = read_summary(shipped_folder(name))
    spec = f"backbone:shipped={name}"
    system = make_system(spec)
    assert system_name(system, spec) == f"backbone:{name}"
    assert summary["sha256"] in fingerprint(system, spec)
    made = max_entropy_batch(12345, 32, 0, 40, 32)
    seeds = np.zeros(made.lengths.shape, np.uint64)
    batch = SymbolBatch(made.symbols, made.candidates, made.lengths.astype(np.int64), seeds[:, 0], seeds)
    found = float((system.read_batch(batch).value == made.gold).mean())
    said = summary["history"][-1]["accuracy"]["32"]
    spread = max(said * (1 - said), 0.01) * (1 / 1280 + 1 / 512)
    assert abs(found - said) < 4.5 * spread**0.5
    assert found > 0.6


def test_one_of_path_and_shipped_is_given() -> None:
    for spec in ("backbone", "backbone:path=x,shipped=conv-64"):
        with pytest.raises(InputError, match="give path=FOLDER"):
            make_system(spec)
    with pytest.raises(InputError, match="conv-64"):
        make_system("backbone:shipped=conv64")


def test_curves_show_what_ships(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["backbones", "curves"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)
