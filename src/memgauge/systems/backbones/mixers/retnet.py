"""RetNet: linear attention with a fixed decay for each head (Sun et al., 2023)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from memgauge.systems.backbones.base import HEAD, Layer, Pointwise, Residual, SwiGLU, split_heads
from memgauge.systems.backbones.local import ShortConv
from memgauge.systems.backbones.recurrent import GatedOutput, Recurrent, Terms


class RetNet(Recurrent):
    """Decay 1 - 2^(-5-h) of head h; a 16 x 32 state; convolutions with silu on q, k and v; output norm and gate.

    The rotation of queries and keys is left out: it is free under the cost convention, and the paper does not say.
    """

    rule: ClassVar[str] = "scalar"
    decay: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.shape = (self.heads, HEAD, 2 * HEAD)
        self.split = (width, width, 2 * width)
        self.qkv = nn.Linear(width, 4 * width, bias=False)
        self.local = ShortConv(4 * width, silu=True)
        self.output = GatedOutput(width, 2 * width, 2 * HEAD)
        decay = torch.log1p(-(2.0 ** (-5 - torch.arange(self.heads, dtype=torch.float64))))
        self.register_buffer("decay", decay.to(torch.get_default_dtype()), persistent=False)

    def project(self, x: Tensor) -> Tensor:
        """Return q, k and v side by side."""
        return self.qkv(x)

    def terms(self, x: Tensor, rows: Tensor) -> Terms:
        """Return q, k, v and the decays of the heads."""
        q, k, v = (split_heads(t, self.heads) for t in rows.split(self.split, -1))
        decay = self.decay.view(1, -1, 1, 1).expand(*q.shape[:3], 1)
        return q * HEAD**-0.5, k, v, decay

    def finish(self, x: Tensor, rows: Tensor, terms: Terms, y: Tensor) -> Tensor:
        """Norm, gate and project."""
        return self.output(x, y)


def layer(width: int, index: int) -> Layer:
    """Build a layer."""
    return Residual(width, RetNet(width), Pointwise(SwiGLU(width, 256)))
