"""A backbone: embedding, layers, query encoder and head."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from memgauge.streams.words import ALPHABET
from memgauge.systems.backbones.base import State, rms_norm
from memgauge.systems.backbones.catalog import make_layer
from memgauge.systems.backbones.shape import ModelConfig

SLOTS = 6
"""Places of a candidate, which is right-aligned in them."""
PAD = ALPHABET


class QueryEncoder(nn.Module):
    """Turns a right-aligned candidate into one row [D], with a learned vector that says `query`.

    It stands outside the backbone: its arithmetic is not in the closed forms, and it is the same for all of them.
    """

    def __init__(self, width: int, kind: Literal["mlp", "linear"]) -> None:
        super().__init__()
        self.mark = nn.Parameter(torch.randn(width) * 0.1)
        if kind == "mlp":
            self.table = nn.Embedding(PAD + 1, 32)
            self.map: nn.Module = nn.Sequential(
                nn.Linear(SLOTS * 32, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )
        else:
            self.table = nn.Embedding.from_pretrained(torch.eye(PAD + 1), freeze=True)
            self.map = nn.Linear(SLOTS * (PAD + 1), width)

    def forward(self, candidates: Tensor) -> Tensor:
        """Map [B, Q, 6] integers (16 is the pad) to [B, Q, D]."""
        return self.map(self.table(candidates).flatten(-2)) + self.mark


class Backbone(nn.Module):
    """Reads streams of symbols and answers whether candidates occurred: no (0) or yes (1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.symbols = nn.Embedding(ALPHABET, config.width)
        self.queries = QueryEncoder(config.width, config.encoder)
        self.layers = nn.ModuleList(
            make_layer(config.backbone, config.width, index, config.options) for index in range(config.layers)
        )
        self.norm = rms_norm(config.width)
        self.head = nn.Linear(config.width, 2)

    def prefill(self, symbols: Tensor, states: list[State] | None = None) -> list[State]:
        """Read symbols [B, L], after those that `states` have seen; return the state of each layer."""
        x, after = self.symbols(symbols), []
        for i, layer in enumerate(self.layers):
            x, state = layer.prefill(x, None if states is None else states[i])
            after.append(state)
        return after

    def read(self, candidates: Tensor, states: list[State]) -> Tensor:
        """Answer candidates [B, Q, 6]; return logits [B, Q, 2]. The states stay as they are."""
        x = self.queries(candidates)
        for layer, state in zip(self.layers, states, strict=True):
            x = layer.read(x, state)
        return self.head(self.norm(x[..., : self.config.width]))

    def forward(self, symbols: Tensor, candidates: Tensor) -> Tensor:
        """Read streams and answer their candidates: logits [B, Q, 2]."""
        return self.read(candidates, self.prefill(symbols))

    def extra_loss(self) -> Tensor | None:
        """Return what the layers add to the training loss, or None."""
        found = [loss for loss in (layer.extra_loss() for layer in self.layers) if loss is not None]
        return sum(found[1:], found[0]) if found else None


def right_align(candidates: Tensor, lengths: Tensor) -> Tensor:
    """Move left-aligned candidates [..., K] of `lengths` [...] to the right end of six places, padded with 16.

    >>> right_align(torch.tensor([[1, 2, 3, 0]]), torch.tensor([3])).tolist()
    [[16, 16, 16, 1, 2, 3]]
    """
    source = torch.arange(SLOTS, device=candidates.device) - (SLOTS - lengths[..., None])
    padded = nn.functional.pad(candidates, (0, max(0, SLOTS - candidates.shape[-1])))
    return padded.gather(-1, source.clamp(min=0)).masked_fill(source < 0, PAD)
