"""A trained backbone as a memory system, and in the run loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from memgauge.costs import backbone_cost
from memgauge.errors import InputError
from memgauge.run import Plan, Subject, execute
from memgauge.streams.batch import max_entropy_batch
from memgauge.system import SymbolBatch
from memgauge.systems.backbones import system as module
from memgauge.systems.backbones.config import TrainConfig
from memgauge.systems.backbones.model import ModelConfig, right_align
from memgauge.systems.backbones.system import BackboneSystem
from memgauge.systems.backbones.training import train
from memgauge.systems.registry import fingerprint, make_system, system_name
from memgauge.tasks import MadeStreams

RECIPE = TrainConfig(
    ModelConfig("deltanet", width=16),
    steps=2,
    batch=2,
    min_batch=2,
    lengths=(16,),
    queries=4,
    validation_streams=2,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("backbone") / "small"
    train(RECIPE, where, device="cpu", quiet=True)
    return where


def batch_of(length: int, episodes: int, queries: int) -> SymbolBatch:
    made = max_entropy_batch(3, length, 0, episodes, queries)
    shape = made.lengths.shape
    return SymbolBatch(
        symbols=made.symbols,
        candidates=made.candidates,
        candidate_lengths=made.lengths.astype(np.int64),
        episode_seeds=np.zeros(episodes, np.uint64),
        question_seeds=np.zeros(shape, np.uint64),
    )


def test_answers_are_the_models_softmax(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = BackboneSystem(str(folder))
    batch = batch_of(40, 7, 4)
    monkeypatch.setattr(module, "AT_ONCE", 80)  # two episodes at a time
    found = system.read_batch(batch)
    model = system._loaded[0]
    with torch.no_grad():
        candidates = right_align(
            torch.from_numpy(batch.candidates).long(), torch.from_numpy(batch.candidate_lengths).long()
        )
        share = model(torch.from_numpy(batch.symbols).long(), candidates).double().softmax(-1).numpy()
    assert found.confidence is not None
    np.testing.assert_allclose(found.confidence, share.max(-1), atol=1e-6)
    assert (found.value == (share[..., 1] > 0.5)).all()
    assert not found.abstain.any()
    assert (found.confidence >= 0.5).all()


def test_costs_and_state(folder: Path) -> None:
    found = BackboneSystem(str(folder)).read_batch(batch_of(40, 3, 4))
    cost = backbone_cost("deltanet", 16, 40)
    assert found.flops_write is not None
    assert found.flops_read is not None
    assert found.state_bits is not None
    assert found.flops_write.tolist() == [cost.F_write] * 3
    assert (found.flops_read == cost.F_read).all()
    # Three layers, one head of 16 x 16, three rows of 48 before the convolution, 32 bits each.
    assert found.state_bits.tolist() == [3 * 32 * (256 + 3 * 48)] * 3


def test_other_shapes_have_no_price(tmp_path: Path) -> None:
    train(replace(RECIPE, model=ModelConfig("deltanet", width=16, layers=1)), tmp_path, device="cpu", quiet=True)
    found = BackboneSystem(str(tmp_path)).read_batch(batch_of(20, 2, 4))
    assert found.flops_write is None
    assert found.flops_read is None


def test_registry_name_and_fingerprint(folder: Path, tmp_path: Path) -> None:
    spec = f"backbone:path={folder}"
    system = make_system(spec)
    assert system_name(system, spec) == "backbone:deltanet-16 (small)"
    train(replace(RECIPE, seed=1), tmp_path / "small", device="cpu", quiet=True)
    other = f"backbone:path={tmp_path / 'small'}"
    assert fingerprint(system, spec) != fingerprint(make_system(other), other)
    with pytest.raises(InputError, match=r"holds no model\.safetensors"):
        make_system(f"backbone:path={tmp_path}")
    with pytest.raises(InputError, match="choose cpu, cuda or auto"):
        make_system(f"{spec},device=tpu")


def test_refuses_what_it_cannot_read(folder: Path) -> None:
    system, batch = BackboneSystem(str(folder)), batch_of(20, 2, 4)
    with pytest.raises(InputError, match="up to 6 symbols"):
        system.read_batch(replace(batch, candidate_lengths=batch.candidate_lengths * 3))
    with pytest.raises(InputError, match="below 16"):
        system.read_batch(replace(batch, symbols=batch.symbols + 16))


def test_in_the_run_loop(folder: Path, tmp_path: Path) -> None:
    from memgauge.responses import load_responses

    spec = f"backbone:path={folder}"
    system = make_system(spec)
    subject = Subject(system, system_name(system, spec), fingerprint(system, spec), spec)
    source = MadeStreams(lengths=(64,), count=3, queries=4)
    summary = execute(Plan("ecc-tokens", source, (subject,)), tmp_path / "run", show_progress=False)
    assert (summary.asked, summary.errors) == (24, 0)
    rows = load_responses(tmp_path / "run")
    assert set(rows["answer"]) <= {"yes", "no"}
    assert rows["flops_write"].to_list() == [backbone_cost("deltanet", 16, 64).F_write] * 24
    assert rows["confidence"].is_between(0.5, 1).all()
