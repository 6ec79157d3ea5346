"""RWKV-7: a state with a decay a row and a rank-one correction, token shifts, a channel mix (Peng et al., 2025)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from memgauge.systems.backbones.base import HEAD, Layer, State, rms_norm, split_heads
from memgauge.systems.backbones.local import TokenShift
from memgauge.systems.backbones.recurrent import Recurrent, Terms

SLOWEST = -0.6065306597126334
"""-exp(-1/2): no log-decay is below it."""
MIXES = 6
"""Inputs of the time mix, each its own blend of a row and its predecessor: r, w, k, v, a, g."""


def _low_rank(width: int, rank: int, activation: nn.Module | None = None) -> nn.Module:
    return nn.Sequential(
        nn.Linear(width, rank, bias=False), *([] if activation is None else [activation]), nn.Linear(rank, width)
    )


class TimeMix(Recurrent):
    """The mixer. Inputs are rows of the normed stream beside the first layer's values, [..., 2D].

    Ranks are those of C.2: decay 64, in-context rate 64, gate 128, value residual 16 (from the second layer on).
    """

    rule: ClassVar[str] = "dplr"

    def __init__(self, width: int, first: bool) -> None:
        super().__init__()
        self.width, self.heads = width, width // HEAD
        self.shape = (self.heads, HEAD, HEAD)
        self.local = TokenShift(width)
        self.blend = nn.Parameter(torch.rand(MIXES, width))
        self.r, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.decay = _low_rank(width, 64, nn.Tanh())
        self.rate = _low_rank(width, 64)
        self.gate = _low_rank(width, 128, nn.Sigmoid())
        self.residual = None if first else _low_rank(width, 16)
        self.removal = nn.Parameter(torch.full((width,), 0.7))
        self.replacement = nn.Parameter(torch.ones(width))
        self.bonus = nn.Parameter(torch.full((self.heads, 1, HEAD), -0.04))
        self.norm = nn.GroupNorm(self.heads, width, eps=HEAD * 1e-5)
        with torch.no_grad():
            self.decay[-1].bias.copy_(torch.linspace(-5.5, 0.5, width))

    def project(self, x: Tensor) -> Tensor:
        """Return the normed rows; the first layer's values do not shift."""
        return x[..., : self.width]

    def _blended(self, rows: Tensor, which: int) -> Tensor:
        now, before = rows.chunk(2, -1)
        return now + (before - now) * self.blend[which]

    def terms(self, x: Tensor, rows: Tensor) -> Terms:
        """Return r, k, v, the log-decays, the removal key and what is written in its place."""
        r, k = self.r(self._blended(rows, 0)), self.k(self._blended(rows, 2))
        v = self.value(x, rows)
        decay = SLOWEST * self.decay(self._blended(rows, 1)).sigmoid()
        rate = self.rate(self._blended(rows, 4)).sigmoid()
        remove = normalize((k * self.removal).unflatten(-1, (self.heads, -1)), dim=-1).flatten(-2)
        k = k * (1 + (rate - 1) * self.replacement)
        r, k, v, decay, remove, rate = (split_heads(t, self.heads) for t in (r, k, v, decay, remove, rate))
        return r, k, v, decay, -remove, remove * rate

    def value(self, x: Tensor, rows: Tensor) -> Tensor:
        """Return the values, blended with the first layer's."""
        blended = self._blended(rows, 3)
        v = self.v(blended)
        if self.residual is None:
            return v
        return v + (x[..., self.width :] - v) * self.residual(blended).sigmoid()

    def finish(self, x: Tensor, rows: Tensor, terms: Terms, y: Tensor) -> Tensor:
        """Norm the heads, add the own token's bonus, gate and project; in the first layer, the values beside it."""
        r, k, v = terms[:3]
        y = self.norm(y.flatten(0, 1)).view_as(y)
        own = ((r * k * self.bonus).sum(-1, keepdim=True) * v).transpose(1, 2).flatten(2)
        y = self.out((y + own) * self.gate(self._blended(rows, 5)))
        return torch.cat([y, v.transpose(1, 2).flatten(2)], -1) if self.residual is None else y


class ChannelMix(nn.Module):
    """Feed-forward on a blend of a row and its predecessor: W2 relu(W1 x)^2, inner width 4D."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shift = TokenShift(width)
        self.blend = nn.Parameter(torch.rand(width))
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        """Map rows beside their predecessors [..., 2D] to [..., D]."""
        now, before = rows.chunk(2, -1)
        return self.down(self.up(now + (before - now) * self.blend).relu().square())


class RWKV7(Layer):
    """Time mix and channel mix.

    The values of the first layer ride along as D more channels: it returns [..., 2D], the middle layers take and return
    [..., 2D], and the head of the backbone leaves them aside.
    """

    def __init__(self, width: int, first: bool) -> None:
        super().__init__()
        self.width, self.first = width, first
        self.before_time, self.before_channel = rms_norm(width), rms_norm(width)
        self.time = TimeMix(width, first)
        self.channel = ChannelMix(width)

    def init_state(self, batch: int) -> State:
        """Return the matrix state and two last rows."""
        return {"time": self.time.init_state(batch), "last": self.channel.shift.empty(batch)}

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the residual stream, and the inputs of the time mix: normed, with the first layer's values."""
        stream, values = x[..., : self.width], x[..., self.width :]
        return stream, torch.cat([self.before_time(stream), values], -1)

    def _add(self, stream: Tensor, y: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the stream after the time mix, and the values to hand on."""
        values = y[..., self.width :] if self.first else inputs[..., self.width :]
        return stream + y[..., : self.width], values

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read tokens."""
        state = self.init_state(x.shape[0]) if state is None else state
        stream, inputs = self._split(x)
        y, time = self.time.prefill(inputs, state["time"])
        stream, values = self._add(stream, y, inputs)
        rows, last = self.channel.shift.prefill(self.before_channel(stream), state["last"])
        return torch.cat([stream + self.channel(rows), values], -1), {"time": time, "last": last}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer queries."""
        stream, inputs = self._split(xq)
        stream, values = self._add(stream, self.time.read(inputs, state["time"]), inputs)
        rows = self.channel.shift.read(self.before_channel(stream), state["last"])
        return torch.cat([stream + self.channel(rows), values], -1)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token."""
        stream, inputs = self._split(x)
        y, time = self.time.step(inputs, state["time"])
        stream, values = self._add(stream, y, inputs)
        rows, last = self.channel.shift.step(self.before_channel(stream), state["last"])
        return torch.cat([stream + self.channel(rows), values], -1), {"time": time, "last": last}


def layer(width: int, index: int) -> Layer:
    """Build a layer; the first one makes the values that the others blend in."""
    return RWKV7(width, first=index == 0)
