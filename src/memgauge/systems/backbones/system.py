"""A trained backbone as a memory system: streams are prefilled, questions read against the final state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from memgauge.costs import backbone_cost
from memgauge.costs.backbones import BACKBONES, LAYERS
from memgauge.errors import InputError
from memgauge.streams.queries import LARGEST
from memgauge.streams.words import ALPHABET
from memgauge.system import BatchAnswers, SymbolBatch
from memgauge.systems.backbones import need_torch
from memgauge.systems.backbones.shipped import shipped_folder

AT_ONCE = 1 << 16
"""At most so many symbols are prefilled at once, whatever the lengths."""


@dataclass(frozen=True)
class BackboneSystem:
    """A backbone from a checkpoint. Confidence: the larger softmax share. State: all that the layers keep, in bits.

    FLOPs are the closed forms of ECCBench, C.2: the stream without the query is the write, the query the read. They are
    left open for a backbone that is not the paper's shape (another number of layers, or options of the mixer).
    """

    description: ClassVar[str] = "a backbone trained by `memgauge backbones train`"
    version: ClassVar[str] = "1"

    path: str = field(default="", metadata={"help": "folder of a checkpoint"})
    shipped: str = field(default="", metadata={"help": "instead of path: a checkpoint that ships, such as conv-64"})
    device: str = field(default="cpu", metadata={"help": "cpu, cuda or auto"})

    def __post_init__(self) -> None:
        if self.device not in ("cpu", "cuda", "auto"):
            raise InputError(f"backbone: device is {self.device!r}; choose cpu, cuda or auto")
        if bool(self.path) == bool(self.shipped):
            raise InputError("backbone: give path=FOLDER of a checkpoint, or shipped=NAME of one that ships")
        need_torch()
        import torch

        if self.device == "cuda" and not torch.cuda.is_available():
            raise InputError("backbone: device is cuda, and torch finds no CUDA device")
        _ = self._loaded  # what is wrong with the folder is said at once

    @cached_property
    def folder(self) -> Path:
        """Where the checkpoint is."""
        return shipped_folder(self.shipped) if self.shipped else Path(self.path)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The model and its recipe."""
        import torch

        from memgauge.systems.backbones.checkpoint import load_backbone

        device = self.device if self.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        return load_backbone(self.folder, device)

    @property
    def name(self) -> str:
        """Backbone, width, and the folder's name."""
        if self.shipped:
            return f"backbone:{self.shipped}"
        config = self._loaded[1].model
        return f"backbone:{config.backbone}-{config.width} ({Path(self.path).resolve().name})"

    @cached_property
    def identity(self) -> str:
        """What the answers depend on: the weights."""
        from memgauge.systems.backbones.checkpoint import weights_hash

        return f"backbone:sha256={weights_hash(self.folder)}"

    def read_batch(self, batch: SymbolBatch) -> BatchAnswers:
        """Prefill the streams and answer their questions. Raises `InputError` for candidates of over 6 symbols."""
        if int(batch.candidate_lengths.max(initial=1)) > LARGEST:
            raise InputError(f"backbones read candidates of up to {LARGEST} symbols")
        if int(batch.symbols.max(initial=0)) >= ALPHABET or int(batch.candidates.max(initial=0)) >= ALPHABET:
            raise InputError(f"backbones read symbols below {ALPHABET}")
        episodes, length = batch.symbols.shape
        size = max(1, AT_ONCE // length)
        shares, bits = [], 0
        for first in range(0, episodes, size):
            part, bits = self._answer(batch, slice(first, first + size))
            shares.append(part)
        share = np.concatenate(shares)
        value = share[..., 1] > share[..., 0]
        write, read = self._costs(length)
        return BatchAnswers(
            value=value,
            abstain=np.zeros_like(value),
            confidence=share.max(-1),
            flops_write=None if write is None else np.full(episodes, write, np.int64),
            flops_read=None if read is None else np.full(value.shape, read, np.int64),
            state_bits=np.full(episodes, bits, np.int64),
        )

    def _answer(self, batch: SymbolBatch, rows: slice) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
        """Return softmax shares [e, Q, 2] of some episodes, and the state bits of one."""
        import torch

        from memgauge.systems.backbones.base import state_bits
        from memgauge.systems.backbones.model import right_align

        model, _ = self._loaded
        device = next(model.parameters()).device
        symbols = torch.from_numpy(batch.symbols[rows].astype(np.int64)).to(device)
        candidates = torch.from_numpy(batch.candidates[rows].astype(np.int64))
        lengths = torch.from_numpy(batch.candidate_lengths[rows].astype(np.int64))
        with torch.no_grad():
            states = model.prefill(symbols)
            logits = model.read(right_align(candidates, lengths).to(device), states)
        return logits.double().softmax(-1).cpu().numpy(), state_bits(states)

    def _costs(self, length: int) -> tuple[int | None, int | None]:
        model = self._loaded[1].model
        if model.backbone not in BACKBONES or model.layers != LAYERS or model.options:
            return None, None
        cost = backbone_cost(model.backbone, model.width, length)
        return cost.F_write, cost.F_read
