"""Mamba-2: a state space layer with one decay a head (Dao and Gu, 2024); the whole layer is one block."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from memgauge.errors import InputError
from memgauge.systems.backbones.base import Layer, Residual, rms_norm, split_heads
from memgauge.systems.backbones.decays import StepDecay
from memgauge.systems.backbones.local import ShortConv
from memgauge.systems.backbones.recurrent import Recurrent, Terms

SSM_HEAD = 64
"""Width of a head of the state space (C.2); not the 16 of the other backbones."""


class Mamba2(Recurrent):
    """Inner width 2D, state 2D, heads of 64, one B and C for all heads: S <- e^{A dt} S + B (dt x)', y = S'C + skip x.

    One projection D -> 8D + H gives z, x, B, C and dt; x, B and C pass the convolution.
    """

    rule: ClassVar[str] = "scalar"

    def __init__(self, width: int) -> None:
        super().__init__()
        if width % 32:
            raise InputError(
                f"width is {width}: mamba2 has heads of width 64 over 2D channels, so take a multiple of 32"
            )
        self.inner = 2 * width
        self.heads = self.inner // SSM_HEAD
        self.shape = (self.heads, self.inner, SSM_HEAD)
        self.into = nn.Linear(width, 8 * width + self.heads, bias=False)
        self.local = ShortConv(3 * self.inner, bias=True, silu=True)
        self.decay = StepDecay(self.heads)
        self.skip = nn.Parameter(torch.ones(self.heads, 1, 1))
        self.norm = rms_norm(self.inner)
        self.out = nn.Linear(self.inner, width, bias=False)

    def project(self, x: Tensor) -> Tensor:
        """Return x, B and C side by side."""
        return nn.functional.linear(x, self.into.weight[self.inner + self.heads :])

    def terms(self, x: Tensor, rows: Tensor) -> Terms:
        """Return C, B and dt x in the places of q, k and v, and the log-decays."""
        u, b, c = rows.split(self.inner, -1)
        raw = nn.functional.linear(x, self.into.weight[self.inner : self.inner + self.heads])
        step = split_heads(self.decay.step_size(raw), self.heads)
        b, c = (t[:, None].expand(-1, self.heads, -1, -1) for t in (b, c))
        return c, b, split_heads(u, self.heads) * step, split_heads(self.decay(raw), self.heads)

    def finish(self, x: Tensor, rows: Tensor, terms: Terms, y: Tensor) -> Tensor:
        """Add the skip, gate by silu(z), norm and project."""
        u = rows[..., : self.inner]
        y = y + (u.unflatten(-1, (self.heads, -1)) * self.skip.squeeze(-1)).flatten(-2)
        z = nn.functional.linear(x, self.into.weight[: self.inner])
        return self.out(self.norm(y * nn.functional.silu(z)))


def layer(width: int, index: int) -> Layer:
    """Build a layer; it has no feed-forward."""
    return Residual(width, Mamba2(width))
