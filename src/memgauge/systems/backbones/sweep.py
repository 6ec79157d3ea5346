"""Four recipes for each backbone, the best by validation kept (ECCBench, C.1); one after the other, or on Ray."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from memgauge.errors import InputError, MemgaugeError
from memgauge.files import write_whole
from memgauge.systems.backbones.checkpoint import MODEL
from memgauge.systems.backbones.config import SUMMARY, TrainConfig
from memgauge.systems.backbones.training import train


@dataclass(frozen=True, slots=True)
class Tried:
    """One recipe of a sweep and what it came to."""

    backbone: str
    folder: str
    learning_rate: float
    batch: int
    validation: float | None
    """Mean accuracy over all lengths at the last validation; None when the training failed."""
    problem: str | None = None


def grid(config: TrainConfig, rates: Sequence[float] = (), batches: Sequence[int] = ()) -> list[TrainConfig]:
    """Return the recipes of a backbone: by default half and all of its learning rate, batches of its size and double.

    Raises `InputError` for recipes that occur twice.
    """
    rates = rates or (config.learning_rate / 2, config.learning_rate)
    batches = batches or (config.batch, 2 * config.batch)
    if len(set(rates)) < len(rates) or len(set(batches)) < len(batches):
        raise InputError("the sweep names a learning rate or a batch twice")
    return [replace(config, learning_rate=r, batch=b) for r, b in itertools.product(rates, batches)]


def try_one(config: TrainConfig, folder: Path, minutes: float | None, device: str) -> Tried:
    """Train one recipe; a training that diverges or does not fit is told, and the sweep goes on."""
    what = (config.model.backbone, str(folder), config.learning_rate, config.batch)
    try:
        found = train(config, folder, minutes=minutes, device=device).validation
    except MemgaugeError as error:
        return Tried(*what, None, str(error))
    return Tried(*what, sum(found.values()) / len(found) if found else None)


def sweep(
    configs: Sequence[TrainConfig],
    folder: Path,
    *,
    minutes: float | None = None,
    device: str = "auto",
    ray: bool = False,
    rates: Sequence[float] = (),
    batches: Sequence[int] = (),
) -> dict[str, list[Tried]]:
    """Train every recipe of every backbone under FOLDER/NAME/, keep the best as FOLDER/NAME/best, write sweep.json.

    `minutes` is for each training. Finished trainings are not repeated. With `ray`, trainings are tasks of the Ray
    cluster that RAY_ADDRESS names, or of a local one; the folder must then be shared by all its machines.
    """
    jobs = [
        (recipe, folder / config.model.backbone / f"lr{recipe.learning_rate:g}-batch{recipe.batch}")
        for config in configs
        for recipe in grid(config, rates, batches)
    ]
    if ray:
        tried = _on_ray(jobs, minutes, device)
    else:
        tried = [try_one(recipe, where, minutes, device) for recipe, where in jobs]
    found: dict[str, list[Tried]] = {}
    for one in tried:
        found.setdefault(one.backbone, []).append(one)
    for name, group in found.items():
        if good := [one for one in group if one.validation is not None]:
            _keep(Path(max(good, key=lambda one: one.validation or 0.0).folder), folder / name / "best")
    document = {name: [asdict(one) for one in group] for name, group in found.items()}
    write_whole(folder / "sweep.json", json.dumps(document, indent=2, allow_nan=False) + "\n")
    return found


def _keep(source: Path, target: Path) -> None:
    """Copy the weights and the summary of the best training."""
    target.mkdir(parents=True, exist_ok=True)
    for name in (MODEL, SUMMARY):
        partial = target / f".{name}.partial"
        shutil.copyfile(source / name, partial)
        partial.replace(target / name)


def _on_ray(jobs: Sequence[tuple[TrainConfig, Path]], minutes: float | None, device: str) -> list[Tried]:
    try:
        import ray
    except ImportError as error:
        raise InputError("--ray needs Ray: pip install 'memgauge[ray]'") from error
    ray.init(ignore_reinit_error=True, log_to_driver=False)
    try:
        gpus = 0 if device == "cpu" else 1 if ray.cluster_resources().get("GPU") else 0
        task: Any = ray.remote(num_cpus=1, num_gpus=gpus)(try_one)
        return list(ray.get([task.remote(recipe, where.absolute(), minutes, device) for recipe, where in jobs]))
    finally:
        ray.shutdown()
