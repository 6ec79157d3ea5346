"""GLA: linear attention whose state decays by a learned factor for each row (Yang et al., 2024a)."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from memgauge.systems.backbones.base import HEAD, Layer, Pointwise, Residual, SwiGLU, split_heads
from memgauge.systems.backbones.recurrent import GatedOutput, Recurrent, Terms

KEY = 8
"""Width of a key: half a head (Table 11)."""
RANK = 16


class GLA(Recurrent):
    """Log-decay logsigmoid(W2 W1 x + b) / 16 for each row of the 8 x 16 state; output norm and silu gate."""

    rule: ClassVar[str] = "vector"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.shape = (self.heads, KEY, HEAD)
        self.split = (width // 2, width // 2, width)
        self.qkv = nn.Linear(width, 2 * width, bias=False)
        self.decay = nn.Sequential(nn.Linear(width, RANK, bias=False), nn.Linear(RANK, width // 2))
        self.output = GatedOutput(width, width, HEAD)

    def project(self, x: Tensor) -> Tensor:
        """Return q, k and v side by side."""
        return self.qkv(x)

    def terms(self, x: Tensor, rows: Tensor) -> Terms:
        """Return q, k, v and the log-decays."""
        q, k, v = (split_heads(t, self.heads) for t in rows.split(self.split, -1))
        return q * KEY**-0.5, k, v, split_heads(logsigmoid(self.decay(x)) / 16, self.heads)

    def finish(self, x: Tensor, rows: Tensor, terms: Terms, y: Tensor) -> Tensor:
        """Norm, gate and project."""
        return self.output(x, y)


def layer(width: int, index: int) -> Layer:
    """Build a layer."""
    return Residual(width, GLA(width), Pointwise(SwiGLU(width, 256)))
