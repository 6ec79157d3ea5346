"""The recipe of a training: everything that determines its result, checked, and kept in its checkpoints."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.streams.item import MIN_LENGTH
from memgauge.systems.backbones.shape import ModelConfig

FORMAT = "memgauge-backbone-1"
"""What the files of a checkpoint say that they are."""
SUMMARY = "checkpoint.json"
MAX_CONFIG_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """A training. The defaults suit a CPU; the paper's are in the documentation (ECCBench, C.1)."""

    model: ModelConfig
    steps: int = 4000
    """Length of the cosine; a training that is stopped earlier has not decayed to the end."""
    learning_rate: float = 2e-3
    floor: float = 0.05
    """Share of the learning rate that is left at the end of the cosine."""
    warmup: float = 0.025
    """Share of the steps in which the learning rate rises."""
    weight_decay: float = 0.01
    """On matrices; vectors are left alone."""
    clip: float = 1.0
    batch: int = 16
    """Sequences a step up to length 64; longer ones are fewer, so that a step has about as many symbols."""
    min_batch: int = 8
    accumulate: int = 1
    """Parts in which a batch is computed, to fit the memory."""
    lengths: tuple[int, ...] = (32, 64, 128, 256, 512, 1024)
    gate: float = 0.9
    """Running accuracy at the longest length so far that opens the next."""
    shorter: float = 0.25
    """Share of the batches that are one length shorter than the longest so far."""
    queries: int = 32
    sequences: int = 500_000
    """Of each length; the last 5 % are for validation."""
    epochs: int = 125
    validate_every: int = 250
    validation_streams: int = 16
    """Of each length, at every validation."""
    stop_at: float = 0.97
    """Mean validation accuracy over all lengths that ends the training."""
    checkpoint_every: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        whole = ("steps", "batch", "min_batch", "accumulate", "queries", "epochs", "validate_every")
        for name in (*whole, "validation_streams", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise InputError(f"training: {name} is {getattr(self, name)}; give 1 or more")
        for name in ("floor", "warmup", "shorter", "gate", "stop_at"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"training: {name} is {getattr(self, name)}; give a share from 0 to 1")
        for name in ("learning_rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"training: {name} is {getattr(self, name)}; give a number over 0")
        if not 0 <= self.weight_decay < math.inf:
            raise InputError(f"training: weight_decay is {self.weight_decay}; give a number from 0 on")
        if not self.lengths or list(self.lengths) != sorted(set(self.lengths)) or self.lengths[0] < MIN_LENGTH:
            raise InputError(f"training: lengths are {list(self.lengths)}; give rising lengths from {MIN_LENGTH} on")
        if self.seed < 0 or self.sequences < 20:
            raise InputError(f"training: seed {self.seed} and sequences {self.sequences}; give 0 or more, 20 or more")
        if self.validation_streams > self.sequences - self.for_training:
            raise InputError(
                f"training: validation_streams is {self.validation_streams}, but 5 % of {self.sequences} sequences are "
                f"{self.sequences - self.for_training}"
            )

    @property
    def for_training(self) -> int:
        """How many sequences of each length are trained on; the others are for validation."""
        return self.sequences - self.sequences // 20

    def batch_at(self, length: int) -> int:
        """Return the sequences a step at `length`."""
        return max(self.min_batch, self.batch * 64 // max(64, length))

    def rate_at(self, step: int) -> float:
        """Return the learning rate of step `step`, from 0 on."""
        rise = max(1, round(self.warmup * self.steps))
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.steps)))
        return self.learning_rate * min(1.0, (step + 1) / rise) * (self.floor + (1 - self.floor) * cosine)

    def as_json(self) -> dict[str, Any]:
        """Return the fields for a JSON file; the model's stand among the others."""
        own = {name: value for name, value in asdict(self).items() if name != "model"}
        return {**self.model.as_json(), **own, "lengths": list(self.lengths)}

    @classmethod
    def from_json(cls, document: Any, where: str = "training") -> TrainConfig:
        """Build from a JSON object. Raises `InputError` that names an unknown or ill-typed field."""
        if not isinstance(document, dict):
            raise InputError(f"{where}: no JSON object")
        shape = {f.name for f in fields(ModelConfig)}
        own = {f.name: f.type for f in fields(cls) if f.name != "model"}
        if unknown := sorted(document.keys() - shape - own.keys()):
            raise InputError(
                f"{where}: unknown fields {', '.join(unknown)}; known: {', '.join(sorted(shape | own.keys()))}"
            )
        values: dict[str, Any] = {}
        for name in own.keys() & document.keys():
            values[name] = _checked(name, document[name], str(own[name]), where)
        return cls(ModelConfig.from_json({k: v for k, v in document.items() if k in shape}), **values)


def _checked(name: str, value: Any, kind: str, where: str) -> Any:
    """Return a JSON value in its field's type."""
    if kind == "int" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if kind.startswith("tuple") and isinstance(value, list) and all(type(v) is int for v in value):
        return tuple(value)
    raise InputError(f"{where}: {name} is {value!r}; give {'a list of whole numbers' if kind[0] == 't' else kind}")


def make_config(backbone: str, width: int, path: Path | None, changes: Mapping[str, Any]) -> TrainConfig:
    """Return the recipe for a backbone: defaults, then the JSON file at `path`, then `changes` that are not None."""
    document: dict[str, Any] = {"learning_rate": DEFAULT_RATES.get(backbone, 2e-3)}
    if path is not None:
        document |= read_json(path)
    document |= {name: value for name, value in changes.items() if value is not None}
    return TrainConfig.from_json({**document, "backbone": backbone, "width": width}, str(path or "training"))


DEFAULT_RATES: dict[str, float] = {"memory-mosaic": 1e-3, "compressive": 1e-3, "ttt-mlp": 1e-3}
"""Learning rates of backbones for which the common one is too high."""


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises `InputError` that names the file."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise InputError(f"{path}: over {MAX_CONFIG_BYTES} bytes; this is no configuration")
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(document, dict):
        raise InputError(f"{path}: no JSON object")
    return document


def read_summary(folder: Path) -> dict[str, Any]:
    """Read the summary of a checkpoint. Raises `InputError` for a folder without one, or with a broken one."""
    path = folder / SUMMARY
    if not path.is_file():
        raise InputError(f"{folder}: holds no {SUMMARY}; `memgauge backbones train NAME --out {folder}` makes one")
    document = read_json(path)
    if document.get("format") != FORMAT:
        raise InputError(f"{path}: not written by this version of `memgauge backbones train`")
    TrainConfig.from_json(document.get("config"), str(path))
    numbers = ("step", "seconds", "parameters")
    history = document.get("history")
    if (
        any(not isinstance(document.get(name), int | float) for name in numbers)
        or not isinstance(document.get("sha256"), str)
        or not isinstance(history, list)
        or not all(isinstance(one, dict) and isinstance(one.get("accuracy"), dict) for one in history)
    ):
        raise InputError(f"{path}: step, seconds, parameters, sha256 or history is missing or broken")
    return document


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name the fields that differ, with both values."""
    names = sorted(before.keys() | now.keys())
    return [f"{n}: {before.get(n)!r} there, {now.get(n)!r} now" for n in names if before.get(n) != now.get(n)]
