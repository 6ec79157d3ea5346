"""TTT-MLP: window attention, a memory that is a small network trained while it reads, an MLP (Sun et al., 2025)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, pad

from memgauge.errors import InputError
from memgauge.systems.backbones.base import (
    HEAD,
    GeluMLP,
    Layer,
    Pointwise,
    Residual,
    State,
    join_heads,
    rms_norm,
    split_heads,
)
from memgauge.systems.backbones.kernels import fast_weights, full_precision, widen
from memgauge.systems.backbones.kernels.attending import attend_with_own, window_attention
from memgauge.systems.backbones.kernels.fast_weights import FastWeights

WINDOW = 16
SCALE = HEAD**-0.5


class WindowAttention(Layer):
    """Attention over the token itself and the 16 before it; the state is their keys and values, at most 16."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def init_state(self, batch: int) -> State:
        """Return no keys and no values."""
        return {name: self.zeros(batch, self.heads, 0, HEAD) for name in ("k", "v")}

    def _project(self, x: Tensor) -> list[Tensor]:
        return [split_heads(t, self.heads) for t in self.qkv(x).chunk(3, -1)]

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Attend inside the window from every token."""
        state = self.init_state(x.shape[0]) if state is None else state
        q, k, v = self._project(x)
        k, v = torch.cat([state["k"].to(k), k], 2), torch.cat([state["v"].to(v), v], 2)
        missing = WINDOW - state["k"].shape[2]
        there = torch.arange(WINDOW, device=x.device) >= missing
        front = (0, 0, missing, 0)
        y = window_attention(q, pad(k, front), pad(v, front), there, WINDOW, SCALE)
        return self.out(join_heads(y)), {"k": k[:, :, -WINDOW:], "v": v[:, :, -WINDOW:]}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Attend from each query to the last 16 tokens and to itself."""
        q, k, v = self._project(xq)
        return self.out(join_heads(attend_with_own(q, k, v, state["k"].to(q), state["v"].to(q), SCALE)))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend from one token."""
        q, k, v = self._project(x[:, None])
        k, v = torch.cat([state["k"], k], 2), torch.cat([state["v"], v], 2)
        y = (q @ k.transpose(-1, -2) * SCALE).softmax(-1) @ v
        return self.out(join_heads(y))[:, 0], {"k": k[:, :, -WINDOW:], "v": v[:, :, -WINDOW:]}


class TTTMemory(Layer):
    """The inner network of each head, its update rule, and an output gate.

    State: the weights that opened the mini-batch, the current weights, and how many tokens the mini-batch holds. The
    inner learning rate is sigmoid(w.x) * rate / 16, so it cannot pass rate / 16.
    """

    def __init__(self, width: int, minibatch: int, rate: float) -> None:
        super().__init__()
        if minibatch < 1 or not rate > 0:
            raise InputError(f"ttt-mlp: minibatch is {minibatch} and rate {rate}; give 1 or more, and a number over 0")
        self.heads, self.minibatch, self.rate = width // HEAD, minibatch, rate
        h, f = self.heads, HEAD
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.gate = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.learning = nn.Linear(width, h)
        self.w1, self.b1 = nn.Parameter(torch.randn(h, f, 4 * f) * 0.02), nn.Parameter(torch.zeros(h, 1, 4 * f))
        self.w2, self.b2 = nn.Parameter(torch.randn(h, 4 * f, f) * 0.02), nn.Parameter(torch.zeros(h, 1, f))
        self.gain, self.shift = nn.Parameter(torch.ones(h, 1, f)), nn.Parameter(torch.zeros(h, 1, f))
        self.norm = rms_norm(width)

    def init_state(self, batch: int) -> State:
        """Return the learned first weights, for each stream."""
        first = FastWeights(*(w.expand(batch, -1, -1, -1) for w in (self.w1, self.b1, self.w2, self.b2)))
        return {"base": first, "now": first, "open": 0}

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = (split_heads(t, self.heads) for t in self.qkv(x).chunk(3, -1))
        rate = self.learning(x).sigmoid() * (self.rate / HEAD)
        return widen(q), widen(k), widen(v), widen(split_heads(rate, self.heads))

    def _finish(self, x: Tensor, y: Tensor) -> Tensor:
        return self.out(self.norm(join_heads(y)) * gelu(self.gate(x)))

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read tokens one mini-batch after the other, in dual form."""
        state = self.init_state(x.shape[0]) if state is None else state
        base, now, open_ = state["base"], state["now"], state["open"]
        terms = self._project(x)
        outputs: list[Tensor] = []
        first = 0
        with full_precision(x.device.type):
            while first < x.shape[1]:
                end = min(x.shape[1], first + self.minibatch - open_)
                q, k, v, rate = (t[:, :, first:end] for t in terms)
                y, now = fast_weights.run(q, k, v, rate, base, now, self.gain, self.shift)
                outputs.append(y)
                open_, first = open_ + end - first, end
                if open_ == self.minibatch:
                    base, open_ = now, 0
        return self._finish(x, torch.cat(outputs, 2)), {"base": base, "now": now, "open": open_}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer queries: each one's own update counts for itself alone."""
        with full_precision(xq.device.type):
            terms = self._project(xq)
            y = fast_weights.query(*terms, state["base"], state["now"], self.gain, self.shift)
        return self._finish(xq, y)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token."""
        x = x[:, None]
        y, now = fast_weights.step(*self._project(x), state["base"], state["now"], self.gain, self.shift)
        closed = state["open"] + 1 == self.minibatch
        after = {"base": now if closed else state["base"], "now": now, "open": 0 if closed else state["open"] + 1}
        return self._finish(x, y)[:, 0], after


def layer(width: int, index: int, *, minibatch: int | None = None, rate: float = 1.0) -> Layer:
    """Build a layer; the mini-batch is 256 tokens at width 64 and 128 at 128 (Table 11)."""
    size = (128 if width >= 128 else 256) if minibatch is None else minibatch
    mlp = Pointwise(GeluMLP(width, width))
    return Residual(width, WindowAttention(width), TTTMemory(width, size, rate), mlp)
