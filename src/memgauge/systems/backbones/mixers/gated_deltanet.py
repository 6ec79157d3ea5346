"""Gated DeltaNet: the delta rule on a state that first decays (Yang et al., 2025)."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import normalize

from memgauge.systems.backbones.base import HEAD, Layer, Pointwise, Residual, SwiGLU, split_heads
from memgauge.systems.backbones.decays import StepDecay
from memgauge.systems.backbones.local import ShortConv
from memgauge.systems.backbones.recurrent import GatedOutput, Recurrent, Terms


class GatedDeltaNet(Recurrent):
    """A 16 x 32 state, one learned decay a head, convolutions with silu, output norm and gate."""

    rule: ClassVar[str] = "delta"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.shape = (self.heads, HEAD, 2 * HEAD)
        self.split = (width, width, 2 * width)
        self.qkv = nn.Linear(width, 4 * width, bias=False)
        self.beta = nn.Linear(width, self.heads)
        self.raw_decay = nn.Linear(width, self.heads, bias=False)
        self.decay = StepDecay(self.heads)
        self.local = ShortConv(4 * width, silu=True)
        self.output = GatedOutput(width, 2 * width, 2 * HEAD)

    def project(self, x: Tensor) -> Tensor:
        """Return q, k and v side by side."""
        return self.qkv(x)

    def terms(self, x: Tensor, rows: Tensor) -> Terms:
        """Return q, k, v, beta and the log-decays."""
        q, k, v = (split_heads(t, self.heads) for t in rows.split(self.split, -1))
        beta = split_heads(self.beta(x).sigmoid(), self.heads)
        decay = split_heads(self.decay(self.raw_decay(x)), self.heads)
        return normalize(q, dim=-1), normalize(k, dim=-1), v, beta, decay

    def finish(self, x: Tensor, rows: Tensor, terms: Terms, y: Tensor) -> Tensor:
        """Norm, gate and project."""
        return self.output(x, y)


def layer(width: int, index: int) -> Layer:
    """Build a layer."""
    return Residual(width, GatedDeltaNet(width), Pointwise(SwiGLU(width, 4 * width)))
