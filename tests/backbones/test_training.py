"""Training: exact resume, schedule and curriculum, refusals, several processes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from memgauge.errors import InputError
from memgauge.systems.backbones import training
from memgauge.systems.backbones.checkpoint import MODEL, TRAINING, Loop, load_backbone, weights_hash
from memgauge.systems.backbones.config import SUMMARY, TrainConfig, make_config
from memgauge.systems.backbones.model import Backbone, ModelConfig
from memgauge.systems.backbones.sweep import grid, sweep
from memgauge.systems.backbones.training import LOG, DivergedError, advance, choose_length, train

SMALL = TrainConfig(
    ModelConfig("conv", width=16, layers=1),
    steps=24,
    batch=4,
    min_batch=2,
    lengths=(16, 32),
    gate=0.5,
    queries=4,
    validate_every=10,
    validation_streams=2,
    checkpoint_every=4,
    stop_at=1.0,
)


def losses(folder: Path) -> list[tuple[str, str, str]]:
    with (folder / LOG).open(newline="") as file:
        return [(row["step"], row["length"], row["loss"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", ["conv", "mom"])
def test_a_training_that_was_killed_goes_on_exactly(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(SMALL, model=ModelConfig(name, width=16, layers=1))
    train(config, tmp_path / "whole", device="cpu", quiet=True)

    class KilledError(Exception):
        pass

    def killed(run: training._Run) -> list[object]:
        if run.loop.step == 10:  # the last checkpoint is of step 8
            raise KilledError
        return step(run)

    step = training._Run.step
    monkeypatch.setattr(training._Run, "step", killed)
    with pytest.raises(KilledError):
        train(config, tmp_path / "cut", device="cpu", quiet=True)
    monkeypatch.undo()
    trained = train(config, tmp_path / "cut", device="cpu", quiet=True)
    assert trained.reason == "steps"
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert len(losses(tmp_path / "whole")) == 24
    assert weights_hash(tmp_path / "cut") == weights_hash(tmp_path / "whole")


def test_minutes_stop_without_changing_the_schedule(tmp_path: Path) -> None:
    first = train(SMALL, tmp_path, device="cpu", quiet=True, minutes=1e-9)
    assert (first.reason, first.loop.step) == ("minutes", 1)
    assert first.validation.keys() == {"16", "32"}
    second = train(SMALL, tmp_path, device="cpu", quiet=True)
    assert (second.reason, second.loop.step) == ("steps", 24)
    again = train(SMALL, tmp_path, device="cpu", quiet=True)  # nothing is left to do
    assert (again.reason, again.loop.step) == ("steps", 24)
    assert len(losses(tmp_path)) == 24


def test_another_recipe_is_refused_by_its_fields(tmp_path: Path) -> None:
    train(replace(SMALL, steps=2), tmp_path, device="cpu", quiet=True)
    with pytest.raises(InputError, match=r"steps: 2 there, 3 now"):
        train(replace(SMALL, steps=3), tmp_path, device="cpu", quiet=True)
    (tmp_path / TRAINING).unlink()
    with pytest.raises(InputError, match="nothing to resume from"):
        train(replace(SMALL, steps=2), tmp_path, device="cpu", quiet=True)


def test_divergence_keeps_the_last_good_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = training.cross_entropy

    def broken(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        loss = before(logits, labels)
        return loss * float("nan") if torch.is_grad_enabled() and next(calls) == 6 else loss

    calls = iter(range(1000))
    monkeypatch.setattr(training, "cross_entropy", broken)
    with pytest.raises(DivergedError, match=r"step 7: the loss is nan .* from step 4"):
        train(SMALL, tmp_path, device="cpu", quiet=True)
    model, _ = load_backbone(tmp_path)
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert json.loads((tmp_path / SUMMARY).read_text())["step"] == 4


def test_out_of_memory_names_batch_and_accumulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(training._Run, "backward", full)
    with pytest.raises(InputError, match=r"lower `batch` .* `accumulate` \(now 1\)"):
        train(SMALL, tmp_path, device="cpu", quiet=True)


def test_tensorboard_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match="pip install tensorboard"):
        train(SMALL, tmp_path, device="cpu", quiet=True, tensorboard=True)


def test_tensorboard_gets_losses_and_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, int]] = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            assert (Path(folder).name, purge_step) == ("tensorboard", 1)

        def add_scalar(self, name: str, value: float, step: int) -> None:
            written.append((name, step))

        def close(self) -> None:
            written.append(("closed", 0))

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.SimpleNamespace(SummaryWriter=Writer))
    train(replace(SMALL, steps=2), tmp_path, device="cpu", quiet=True, tensorboard=True)
    assert {("loss", 1), ("accuracy", 2), ("validation/16", 2), ("closed", 0)} <= set(written)


def test_accumulation_gives_the_same_gradients(tmp_path: Path) -> None:
    for parts in (1, 3):
        train(replace(SMALL, accumulate=parts, steps=3), tmp_path / str(parts), device="cpu", quiet=True)
    for (_, _, a), (_, _, b) in zip(losses(tmp_path / "1"), losses(tmp_path / "3"), strict=True):
        assert float(a) == pytest.approx(float(b), abs=1e-5)


def test_schedule() -> None:
    config = replace(SMALL, steps=1000, warmup=0.1, learning_rate=1.0, floor=0.1)
    assert config.rate_at(0) == pytest.approx(0.01, rel=1e-3)
    assert config.rate_at(99) == pytest.approx(1, abs=0.03)
    assert config.rate_at(550) == pytest.approx(0.1 + 0.9 * 0.5 * (1 + torch.cos(torch.tensor(0.55 * torch.pi)).item()))
    assert config.rate_at(1000) == pytest.approx(0.1)
    rates = [config.rate_at(step) for step in range(100, 1000)]
    assert rates == sorted(rates, reverse=True)


def test_lengths_grow_with_accuracy() -> None:
    config = replace(SMALL, lengths=(16, 32, 64), gate=0.9, shorter=0.25)
    loop = Loop()
    assert {choose_length(config, Loop(step=s)) for s in range(50)} == {16}
    for _ in range(40):
        advance(config, loop, 16, 1.0)
    assert loop.top == 0
    while loop.top == 0:
        advance(config, loop, 16, 1.0)
    assert loop.running == 0.5
    advance(config, loop, 16, 1.0)  # a shorter length says nothing about the longest
    assert loop.running == 0.5
    drawn = [choose_length(config, Loop(step=s, top=1)) for s in range(2000)]
    # A quarter one length shorter: s.d. of the count 19, so within 5 of them.
    assert abs(drawn.count(16) - 500) < 97
    assert drawn.count(16) + drawn.count(32) == 2000
    loop.top = 2
    while not loop.passed:
        advance(config, loop, 64, 1.0)
    drawn = [choose_length(config, Loop(step=s, passed=True)) for s in range(3000)]
    assert all(abs(drawn.count(length) - 1000) < 130 for length in config.lengths)


def test_recipes_are_checked() -> None:
    for field, value in (
        ("steps", 0),
        ("learning_rate", float("nan")),
        ("lengths", (32, 16)),
        ("lengths", (3,)),
        ("gate", 2.0),
        ("weight_decay", -1.0),
        ("validation_streams", 30_000),
    ):
        with pytest.raises(InputError, match=field):
            replace(SMALL, **{field: value})
    assert TrainConfig.from_json(SMALL.as_json()) == SMALL
    for document, text in (
        ([], "no JSON object"),
        ({"backbone": "gla", "step": 3}, "unknown fields step"),
        ({"backbone": "gla", "steps": "3"}, "steps is '3'"),
        ({"backbone": "gla", "steps": True}, "steps is True"),
        ({"backbone": 3}, "backbone is 3"),
        ({"backbone": "gla", "lengths": [32, "64"]}, "list of whole numbers"),
        ({}, "names no backbone"),
    ):
        with pytest.raises(InputError, match=text):
            TrainConfig.from_json(document)


def test_config_files(tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    path.write_text('{"learning_rate": 0.0007, "steps": 9, "options": {"minibatch": 64}}')
    found = make_config("ttt-mlp", 64, path, {"steps": 5, "seed": None})
    assert (found.learning_rate, found.steps, found.seed, found.model.options) == (0.0007, 5, 0, {"minibatch": 64})
    assert make_config("conv", 64, None, {}).learning_rate == 2e-3
    path.write_text("[1]")
    with pytest.raises(InputError, match=r"recipe\.json: no JSON object"):
        make_config("conv", 64, path, {})
    with pytest.raises(InputError, match="cannot be read"):
        make_config("conv", 64, tmp_path / "none.json", {})


def test_broken_checkpoints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no model\.safetensors"):
        load_backbone(tmp_path)
    (tmp_path / MODEL).write_bytes(b"\x00" * 64)
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        load_backbone(tmp_path)
    from safetensors.torch import save_file

    save_file({"x": torch.zeros(1)}, tmp_path / MODEL)
    with pytest.raises(InputError, match="not written by this version"):
        load_backbone(tmp_path)
    # The second recipe, of many gigabytes, is refused before anything of that size is made.
    for recipe in (SMALL.as_json(), {"backbone": "mom", "width": 4096, "layers": 64}):
        header = {"memgauge": json.dumps({"format": "memgauge-backbone-1", "config": recipe})}
        save_file({"x": torch.zeros(1)}, tmp_path / MODEL, header)
        with pytest.raises(InputError, match="weights do not fit the recipe"):
            load_backbone(tmp_path)
    save_file({"x": torch.zeros(1)}, tmp_path / MODEL, {"memgauge": "{"})
    with pytest.raises(InputError, match="header is no JSON"):
        load_backbone(tmp_path)


def test_loading_leaves_the_random_state_alone(tmp_path: Path) -> None:
    train(replace(SMALL, steps=1), tmp_path, device="cpu", quiet=True)
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    load_backbone(tmp_path)
    assert torch.equal(torch.rand(3), wanted)


def test_sweep_keeps_the_best(tmp_path: Path) -> None:
    assert [(c.learning_rate, c.batch) for c in grid(SMALL)] == [(0.001, 4), (0.001, 8), (0.002, 4), (0.002, 8)]
    found = sweep([replace(SMALL, steps=3)], tmp_path, device="cpu", rates=(1e-3, 1e30), batches=(4,))["conv"]
    assert [one.learning_rate for one in found] == [1e-3, 1e30]
    best = max((one for one in found if one.validation is not None), key=lambda one: one.validation or 0)
    assert weights_hash(tmp_path / "conv" / "best") == weights_hash(Path(best.folder))
    assert len(json.loads((tmp_path / "sweep.json").read_text())["conv"]) == 2
    with pytest.raises(InputError, match="twice"):
        grid(SMALL, rates=(1e-3, 1e-3))


@pytest.mark.slow
def test_sweep_on_a_local_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra ray")
    found = sweep([replace(SMALL, steps=2)], tmp_path, device="cpu", ray=True, rates=(1e-3,), batches=(4,))["conv"]
    assert found[0].problem is None
    assert (tmp_path / "conv" / "best" / MODEL).exists()


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from memgauge.systems.backbones.config import TrainConfig\n"
        "from memgauge.systems.backbones.training import train\n"
        f"import json; train(TrainConfig.from_json(json.loads({json.dumps(SMALL.as_json())!r})), "
        "Path(sys.argv[1]), device='cpu', quiet=True)\n"
    )
    script = tmp_path / "go.py"
    script.write_text(code)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*command, str(script), str(tmp_path / "two")], check=True, env=environment, capture_output=True)
    train(SMALL, tmp_path / "one", device="cpu", quiet=True)
    for (_, _, a), (_, _, b) in zip(losses(tmp_path / "one"), losses(tmp_path / "two"), strict=True):
        assert float(a) == pytest.approx(float(b), abs=1e-3)


def test_weights_depend_on_the_seed_alone() -> None:
    def first(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return Backbone(SMALL.model).head.weight

    assert torch.equal(first(3), first(3))
    assert not torch.equal(first(3), first(4))
