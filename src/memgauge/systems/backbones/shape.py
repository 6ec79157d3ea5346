"""The shape of a backbone: what its weights fit, readable without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from memgauge.errors import InputError

MAX_LAYERS = 64


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """All that determines a backbone's shape."""

    backbone: str
    width: int = 64
    layers: int = 3
    encoder: Literal["mlp", "linear"] = "mlp"
    """How a candidate becomes one row: tables of 32 a place and an MLP, or one linear map of its one-hot places."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the mixer, such as minibatch for ttt-mlp."""

    def __post_init__(self) -> None:
        if not 1 <= self.layers <= MAX_LAYERS:
            raise InputError(f"layers is {self.layers}: give 1 to {MAX_LAYERS}; the paper has 3")
        if self.encoder not in ("mlp", "linear"):
            raise InputError(f"encoder is {self.encoder!r}: choose mlp or linear")

    def as_json(self) -> dict[str, Any]:
        """Return the fields for a JSON file."""
        return {**asdict(self), "options": dict(self.options)}

    @classmethod
    def from_json(cls, document: Any) -> ModelConfig:
        """Build from a JSON object. Raises `InputError` for anything else, or an unknown or ill-typed field."""
        if not isinstance(document, dict):
            raise InputError("the model's configuration is no JSON object")
        known = {f.name for f in fields(cls)}
        if unknown := sorted(document.keys() - known):
            raise InputError(f"the model's configuration has unknown fields: {', '.join(unknown)}")
        kinds: dict[str, type] = {"backbone": str, "width": int, "layers": int, "encoder": str, "options": dict}
        for name, kind in kinds.items():
            if name in document and (not isinstance(document[name], kind) or isinstance(document[name], bool)):
                raise InputError(
                    f"the model's configuration: {name} is {document[name]!r}, not of type {kind.__name__}"
                )
        if "backbone" not in document:
            raise InputError("the model's configuration names no backbone")
        return cls(**document)
