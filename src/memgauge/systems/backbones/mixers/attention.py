"""Transformers: rotary positions, none, or none with a short convolution before the projections."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from memgauge.systems.backbones.base import (
    HEAD,
    GeluMLP,
    Layer,
    Pointwise,
    Residual,
    State,
    join_heads,
    split_heads,
)
from memgauge.systems.backbones.kernels.attending import attend_with_own, causal_attention, rotate, rotate_at
from memgauge.systems.backbones.local import ShortConv

SCALE = HEAD**-0.5


class Attention(Layer):
    """Causal softmax attention over all keys and values so far, which are its state.

    The convolution works on the D-wide normed input, h = x + conv(x), before q, k and v: 8 D FLOPs a token, as C.2
    counts. The paper does not say where it stands.
    """

    def __init__(self, width: int, *, rotary: bool = False, conv: bool = False) -> None:
        super().__init__()
        self.heads, self.rotary = width // HEAD, rotary
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.conv = ShortConv(width) if conv else None

    def init_state(self, batch: int) -> State:
        """Return no keys and no values."""
        state = {name: self.zeros(batch, self.heads, 0, HEAD) for name in ("k", "v")}
        if self.conv is not None:
            state["tail"] = self.conv.empty(batch)
        return state

    def _project(self, x: Tensor) -> list[Tensor]:
        return [split_heads(t, self.heads) for t in self.qkv(x).chunk(3, -1)]

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Attend from every token to itself and to all before it."""
        state = self.init_state(x.shape[0]) if state is None else state
        after: State = {}
        if self.conv is not None:
            local, after["tail"] = self.conv.prefill(x, state["tail"])
            x = x + local
        q, k, v = self._project(x)
        if self.rotary:
            past = state["k"].shape[2]
            q, k = rotate(q, past), rotate(k, past)
        after["k"], after["v"] = torch.cat([state["k"].to(k), k], 2), torch.cat([state["v"].to(v), v], 2)
        y = causal_attention(q, after["k"], after["v"], SCALE)
        return self.out(join_heads(y)), after

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Attend from each query to the stored pairs and to itself."""
        if self.conv is not None:
            xq = xq + self.conv.read(xq, state["tail"])
        q, k, v = self._project(xq)
        if self.rotary:
            past = state["k"].shape[2]
            q, k = rotate_at(q, past), rotate_at(k, past)
        return self.out(join_heads(attend_with_own(q, k, v, state["k"].to(q), state["v"].to(q), SCALE)))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend from one token."""
        after: State = {}
        if self.conv is not None:
            local, after["tail"] = self.conv.step(x, state["tail"])
            x = x + local
        q, k, v = self._project(x[:, None])
        if self.rotary:
            past = state["k"].shape[2]
            q, k = rotate_at(q, past), rotate_at(k, past)
        after["k"], after["v"] = torch.cat([state["k"], k], 2), torch.cat([state["v"], v], 2)
        weight = (q @ after["k"].transpose(-1, -2) * SCALE).softmax(-1)
        return self.out(join_heads(weight @ after["v"]))[:, 0], after


def _layer(width: int, *, rotary: bool = False, conv: bool = False) -> Layer:
    return Residual(width, Attention(width, rotary=rotary, conv=conv), Pointwise(GeluMLP(width, width)))


def rope(width: int, index: int) -> Layer:
    """Transformer with rotary positions."""
    return _layer(width, rotary=True)


def conv(width: int, index: int) -> Layer:
    """Transformer without positions, with a width-4 convolution."""
    return _layer(width, conv=True)


def nope(width: int, index: int) -> Layer:
    """Transformer without positions: the negative control, which cannot tell the order of symbols (C.1)."""
    return _layer(width)
