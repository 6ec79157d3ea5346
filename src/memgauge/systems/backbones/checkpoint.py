"""Checkpoints: weights and recipe in safetensors, the loop's own state beside them, nothing that could run code.

`model.safetensors` is what a finished backbone is: weights, with the recipe in the header. `training.safetensors` holds
weights, moments and the state of the loop in one file, so that a resumed training goes on exactly. `checkpoint.json` is
the same for people: recipe, learning curve, hash of the weights.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from memgauge.errors import InputError
from memgauge.files import write_whole
from memgauge.systems.backbones.config import FORMAT, SUMMARY, TrainConfig, differences
from memgauge.systems.backbones.model import Backbone

MODEL, TRAINING = "model.safetensors", "training.safetensors"
KEY = "memgauge"
"""Name of the one entry of a file's header."""
MAX_BYTES = 1 << 32


@dataclass(slots=True)
class Loop:
    """Where a training is."""

    step: int = 0
    """Steps done."""
    top: int = 0
    """Index of the longest length so far."""
    passed: bool = False
    """Whether the longest length of all has passed the gate."""
    running: float = 0.5
    """Running accuracy at the longest length so far."""
    seen: dict[str, int] = field(default_factory=dict)
    """Sequences trained on, by length."""
    tokens: int = 0
    """Symbols and queries read."""
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    """Validations: step, seconds, tokens, and accuracy by length."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for a JSON text."""
        return {name: getattr(self, name) for name in self.__slots__}


def save_training(
    folder: Path, config: TrainConfig, model: Backbone, optimizer: torch.optim.Optimizer, loop: Loop
) -> None:
    """Write all three files, the one to resume from first; each appears whole or not at all."""
    tensors = {f"model.{name}": value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    weights = {name.removeprefix("model."): value for name, value in tensors.items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}.{name}"] = value.detach().cpu().contiguous()
    recipe = config.as_json()
    write_whole(folder / TRAINING, _encoded(tensors, {"config": recipe, "loop": loop.as_json()}))
    data = _encoded(weights, {"config": recipe, "step": loop.step})
    write_whole(folder / MODEL, data)
    summary = {
        "format": FORMAT,
        "config": recipe,
        "parameters": sum(p.numel() for p in model.parameters()),
        "sha256": hashlib.sha256(data).hexdigest(),
        **loop.as_json(),
    }
    write_whole(folder / SUMMARY, json.dumps(summary, indent=2, allow_nan=False) + "\n")


def _encoded(tensors: dict[str, torch.Tensor], header: dict[str, Any]) -> bytes:
    """Return a safetensors file. Its header is one entry: of several, the order would differ from file to file."""
    return save(tensors, {KEY: json.dumps({"format": FORMAT, **header})})


def resume(folder: Path, config: TrainConfig, model: Backbone, optimizer: torch.optim.Optimizer) -> Loop:
    """Load weights, moments and the state of the loop; a folder without a training gives a fresh loop.

    Raises `InputError` for a training by another recipe, naming the fields that differ.
    """
    path = folder / TRAINING
    if not path.exists():
        if (folder / MODEL).exists():
            raise InputError(f"{folder}: holds a finished checkpoint but nothing to resume from; give another --out")
        return Loop()
    tensors, header = _read(path)
    before = _recipe(path, header)
    if changed := differences(before.as_json(), config.as_json()):
        raise InputError(
            f"{folder}: holds a training by another recipe ({'; '.join(changed)}); give another --out, or that recipe"
        )
    weights = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    _check_fit(model, weights, path)
    model.load_state_dict(weights)
    for name, parameter in model.named_parameters():
        kept = {
            key: tensors[f"{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq") if f"{key}.{name}" in tensors
        }
        if kept:
            moved = {key: t if key == "step" else t.to(parameter.device) for key, t in kept.items()}
            optimizer.state[parameter] = moved
    try:
        return Loop(**header["loop"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: the state of the loop is missing or broken ({error})") from error


def load_backbone(folder: Path, device: str = "cpu") -> tuple[Backbone, TrainConfig]:
    """Load a trained backbone for reading. Raises `InputError` that names what is missing or wrong."""
    path = folder / MODEL
    if not path.is_file():
        raise InputError(f"{folder}: holds no {MODEL}; `memgauge backbones train NAME --out {folder}` makes one")
    tensors, header = _read(path)
    config = _recipe(path, header)
    with torch.device("meta"):  # shapes alone: a recipe that asks for more than the file holds takes no memory
        _check_fit(Backbone(config.model), tensors, path)
    with torch.random.fork_rng(devices=[]):
        model = Backbone(config.model)
    model.load_state_dict(tensors)
    return model.to(device).eval(), config


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 of the weights' file."""
    try:
        return hashlib.sha256((folder / MODEL).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{folder / MODEL}: cannot be read ({error.strerror})") from error


def _read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return tensors and header of a checkpoint."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: over {MAX_BYTES} bytes; this is no checkpoint of a backbone")
        with safe_open(path, "pt") as file:
            text = (file.metadata() or {}).get(KEY, "null")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be read as safetensors ({error})") from error
    try:
        header = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: its header is no JSON ({error})") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{path}: not written by this version of `memgauge backbones train`")
    return tensors, header


def _recipe(path: Path, header: dict[str, Any]) -> TrainConfig:
    return TrainConfig.from_json(header.get("config"), str(path))


def _check_fit(model: Backbone, tensors: dict[str, torch.Tensor], path: Path) -> None:
    wanted = model.state_dict()
    wrong = sorted(wanted.keys() ^ tensors.keys())
    wrong += sorted(n for n in wanted.keys() & tensors.keys() if wanted[n].shape != tensors[n].shape)
    if wrong:
        raise InputError(f"{path}: weights do not fit the recipe in its header: {', '.join(wrong[:5])}")
