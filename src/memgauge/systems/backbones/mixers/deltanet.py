"""DeltaNet: a write replaces what the state held under its key (Schlag et al., 2021; Yang et al., 2024b)."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import normalize

from memgauge.systems.backbones.base import HEAD, Layer, Pointwise, Residual, SwiGLU, split_heads
from memgauge.systems.backbones.local import ShortConv
from memgauge.systems.backbones.recurrent import GatedOutput, Recurrent, Terms


class DeltaNet(Recurrent):
    """S <- S + beta k (v - S'k)', keys and queries of length 1, convolutions with silu; no output gate (C.2)."""

    rule: ClassVar[str] = "delta"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.shape = (self.heads, HEAD, HEAD)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.beta = nn.Linear(width, self.heads)
        self.local = ShortConv(3 * width, silu=True)
        self.output = GatedOutput(width, width, HEAD, gate=False)

    def project(self, x: Tensor) -> Tensor:
        """Return q, k and v side by side."""
        return self.qkv(x)

    def terms(self, x: Tensor, rows: Tensor) -> Terms:
        """Return q, k, v and beta."""
        q, k, v = (split_heads(t, self.heads) for t in rows.chunk(3, -1))
        beta = split_heads(self.beta(x).sigmoid(), self.heads)
        return normalize(q, dim=-1), normalize(k, dim=-1), v, beta

    def finish(self, x: Tensor, rows: Tensor, terms: Terms, y: Tensor) -> Tensor:
        """Norm and project."""
        return self.output(x, y)


def layer(width: int, index: int) -> Layer:
    """Build a layer."""
    return Residual(width, DeltaNet(width), Pointwise(SwiGLU(width, 256)))
