"""Memory Mosaic: associative memories over smoothed keys, written and learned ones (Zhang et al., 2025)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from memgauge.systems.backbones.base import HEAD, Layer, Residual, State, join_heads, split_heads
from memgauge.systems.backbones.kernels import full_precision, widen
from memgauge.systems.backbones.kernels.attending import causal_attention, leaky_average

MEMORIES = 6
"""Persistent memories a layer, each of 2D pairs a head (Table 11)."""


class LeakyKey(nn.Module):
    """Keys that average over the past: raw = W x, average <- raw + leak average, key = average / |average|."""

    def __init__(self, width: int, low: float, high: float) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.key = nn.Linear(width, width, bias=False)
        self.leak = nn.Parameter(torch.linspace(low, high, self.heads))
        self.sharpness = nn.Parameter(torch.full((self.heads, 1, 1), math.log(10.0)))

    def empty(self, batch: int) -> Tensor:
        """Return the average before the first token, [B, H, 1, f]."""
        return self.leak.new_zeros(batch, self.heads, 1, HEAD)

    def prefill(self, x: Tensor, average: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys [B, H, L, f] of tokens, and the last average."""
        with full_precision(x.device.type):
            averages = leaky_average(widen(split_heads(self.key(widen(x)), self.heads)), self.leak.sigmoid(), average)
        return normalize(averages, dim=-1), averages[:, :, -1:]

    def follow(self, x: Tensor, average: Tensor) -> tuple[Tensor, Tensor]:
        """Return key and average of rows that each come right after `average`."""
        with full_precision(x.device.type):
            raw = split_heads(self.key(widen(x)), self.heads)
            after = raw + self.leak.sigmoid().view(-1, 1, 1) * average
        return normalize(after, dim=-1), after


class ContextMemory(Layer):
    """Slots of (key, value): the value of a slot blends its token's row with the next one's, so it fills one late.

    A token reads the slots before it. State: the leaky average, all keys, the values that are filled (one fewer), and
    the value row of the last token.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.keys = LeakyKey(width, -1.0, 2.0)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mix = nn.Parameter(torch.zeros(width))

    def init_state(self, batch: int) -> State:
        """Return no slots."""
        rows = {name: self.zeros(batch, self.heads, 0, HEAD) for name in ("k", "v")}
        return {"average": self.keys.empty(batch), "last": self.zeros(batch, 0, self.out.in_features), **rows}

    def _blend(self, row: Tensor, following: Tensor) -> Tensor:
        own = self.mix.sigmoid()
        return split_heads(own * row + (1 - own) * following, self.heads)

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Write and read tokens."""
        state = self.init_state(x.shape[0]) if state is None else state
        key, average = self.keys.prefill(x, state["average"])
        rows = torch.cat([state["last"], widen(self.value(x))], 1)
        k = torch.cat([state["k"], key], 2)
        v = torch.cat([state["v"], self._blend(rows[:, :-1], rows[:, 1:])], 2)
        # Each token reads the slots before it: drop the newest key, and the first token of all, which has none.
        first = 1 if state["k"].shape[2] == 0 else 0
        q = (self.keys.sharpness.exp() * key)[:, :, first:]
        y = q.new_zeros(q.shape[0], self.heads, first, HEAD)
        if q.shape[2]:
            y = torch.cat([y, causal_attention(q, k[:, :, :-1], v, 1.0)], 2)
        return self.out(join_heads(y)), {"average": average, "last": rows[:, -1:], "k": k, "v": v}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Read the slots; the last one is filled with each query's own value row."""
        key, _ = self.keys.follow(xq, state["average"])
        if state["k"].shape[2] == 0:
            return torch.zeros_like(xq)
        value = self._blend(state["last"], widen(self.value(xq)))
        weight = (self.keys.sharpness.exp() * key @ state["k"].transpose(-1, -2)).softmax(-1)
        return self.out(join_heads(weight[..., :-1] @ state["v"] + weight[..., -1:] * value))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Fill the last slot, read, and open a slot."""
        x = x[:, None]
        key, average = self.keys.follow(x, state["average"])
        row = self.value(x)
        after = {"average": average, "last": row, "k": torch.cat([state["k"], key], 2), "v": state["v"]}
        y = torch.zeros_like(key)
        if state["k"].shape[2]:
            after["v"] = torch.cat([state["v"], self._blend(state["last"], row)], 2)
            weight = (self.keys.sharpness.exp() * key @ state["k"].transpose(-1, -2)).softmax(-1)
            y = weight @ after["v"]
        return self.out(join_heads(y))[:, 0], after


class PersistentMemory(Layer):
    """Six learned tables of 2D pairs a head, read with a leaky key of their own; their answers are summed."""

    def __init__(self, width: int) -> None:
        super().__init__()
        heads, size = width // HEAD, 2 * width
        self.keys = LeakyKey(width, -2.0, 1.0)
        self.out = nn.Linear(width, width, bias=False)
        self.table_k = nn.Parameter(torch.randn(heads, MEMORIES * size, HEAD) / HEAD**0.5)
        self.table_v = nn.Parameter(torch.randn(heads, MEMORIES * size, HEAD) * 0.1)

    def init_state(self, batch: int) -> State:
        """Return the leaky average of nothing."""
        return {"average": self.keys.empty(batch)}

    def _recall(self, key: Tensor) -> Tensor:
        table = normalize(self.table_k, dim=-1) * self.keys.sharpness.exp()
        weight = (key @ table.transpose(-1, -2)).unflatten(-1, (MEMORIES, -1)).softmax(-1).flatten(-2)
        return self.out(join_heads(weight @ self.table_v))

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Recall for every token."""
        average = (self.init_state(x.shape[0]) if state is None else state)["average"]
        key, average = self.keys.prefill(x, average)
        return self._recall(key), {"average": average}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Recall for each query."""
        return self._recall(self.keys.follow(xq, state["average"])[0])

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Recall for one token."""
        key, average = self.keys.follow(x[:, None], state["average"])
        return self._recall(key)[:, 0], {"average": average}


def layer(width: int, index: int) -> Layer:
    """Build a layer: no query projection and no feed-forward."""
    return Residual(width, ContextMemory(width), PersistentMemory(width))
