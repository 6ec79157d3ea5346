"""Compressive Transformer: blocks of 128 tokens over short, compressed and long memories (Rae et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from memgauge.errors import InputError
from memgauge.systems.backbones.base import HEAD, GeluMLP, Layer, State, join_heads, rms_norm, split_heads

RATES = (8, 4)
"""Rows that the two compressions fold into one."""
MAX_SLOTS = 4096


class Gate(nn.Module):
    """A GRU-type gate in the place of a residual sum (Parisotto et al., 2020): six D x D products a token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_new = nn.Linear(width, 3 * width, bias=False)
        self.from_old = nn.Linear(width, 2 * width, bias=False)
        self.from_reset = nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(torch.full((width,), 2.0))  # begins near the old value

    def forward(self, old: Tensor, new: Tensor) -> Tensor:
        """Blend `new` into `old`, [..., D] each."""
        reset_n, update_n, candidate_n = self.from_new(new).chunk(3, -1)
        reset_o, update_o = self.from_old(old).chunk(2, -1)
        candidate = torch.tanh(candidate_n + self.from_reset((reset_n + reset_o).sigmoid() * old))
        return old + (update_n + update_o - self.bias).sigmoid() * (candidate - old)


class CompressiveAttention(Layer):
    """The mixer. Slots stand in the order long, second, first, short, open block; a score adds content and distance.

    State: the slots' rows (what compression folds), their keys and values, and how many of each kind there are. When a
    block is full: the old short slots are folded 8 to 1, what no longer fits in the first memory 4 to 1, what no longer
    fits in the second updates the long slot, and the block becomes the short memory.
    """

    def __init__(self, width: int, block: int, slots: int) -> None:
        super().__init__()
        if (
            not 1 <= block <= MAX_SLOTS
            or block % (RATES[0] * RATES[1])
            or not 1 <= slots <= MAX_SLOTS
            or slots % RATES[1]
        ):
            raise InputError(
                f"compressive: block is {block}, slots {slots}; take multiples of 32 and of 4 up to {MAX_SLOTS}"
            )
        self.heads, self.block, self.slots = width // HEAD, block, slots
        self.query = nn.Linear(width, width, bias=False)
        self.pair = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.fold = nn.ModuleList(nn.Linear(rate * width, width) for rate in RATES)
        self.long_query, self.long_key, self.long_value, self.long_out = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.long_gate, self.long_new = nn.Linear(2 * width, width), nn.Linear(2 * width, width)
        self.distance = nn.Parameter(torch.randn(self.heads, 2 * block + 2 * slots + 1, HEAD) * 0.1)
        self.content_bias = nn.Parameter(torch.zeros(self.heads, 1, HEAD))
        self.distance_bias = nn.Parameter(torch.zeros(self.heads, 1, HEAD))

    def init_state(self, batch: int) -> State:
        """Return no slots."""
        empty = self.zeros(batch, self.heads, 0, HEAD)
        return {"rows": self.zeros(batch, 0, self.query.in_features), "k": empty, "v": empty, "sizes": (0, 0, 0, 0, 0)}

    def _pairs(self, rows: Tensor) -> list[Tensor]:
        return [split_heads(t, self.heads) for t in self.pair(rows).chunk(2, -1)]

    def _append(self, state: State, rows: Tensor, k: Tensor, v: Tensor) -> State:
        """Add tokens to the open block."""
        *slots, open_ = state["sizes"]
        joined = {n: torch.cat([state[n].to(t), t], -2) for n, t in (("rows", rows), ("k", k), ("v", v))}
        return {**joined, "sizes": (*slots, open_ + rows.shape[1])}

    def _maintained(self, state: State) -> State:
        """Turn a full open block into memory."""
        sizes = state["sizes"]
        long, second, first, short, block = state["rows"].split(sizes, 1)
        # Keys and values move with their rows; only what is new is projected.
        pairs = torch.cat([state["k"], state["v"]], -1).split(sizes, 2)
        kv = dict(zip(("long", "second", "first", "short", "block"), pairs, strict=True))
        if short.shape[1]:
            new = self.fold[0](short.unflatten(1, (-1, RATES[0])).flatten(2))
            first, kv["first"] = torch.cat([first, new], 1), torch.cat([kv["first"], self._joined(new)], 2)
        if (extra := first.shape[1] - self.slots) > 0:
            new = self.fold[1](first[:, :extra].unflatten(1, (-1, RATES[1])).flatten(2))
            first, kv["first"] = first[:, extra:], kv["first"][:, :, extra:]
            second, kv["second"] = torch.cat([second, new], 1), torch.cat([kv["second"], self._joined(new)], 2)
        if (extra := second.shape[1] - self.slots) > 0:
            long = self._long(long, second[:, :extra])
            second, kv["second"], kv["long"] = second[:, extra:], kv["second"][:, :, extra:], self._joined(long)
        rows = torch.cat([long, second, first, block], 1)
        k, v = torch.cat([kv["long"], kv["second"], kv["first"], kv["block"]], 2).chunk(2, -1)
        return {"rows": rows, "k": k, "v": v, "sizes": (long.shape[1], second.shape[1], first.shape[1], self.block, 0)}

    def _joined(self, rows: Tensor) -> Tensor:
        return torch.cat(self._pairs(rows), -1)

    def _long(self, long: Tensor, evicted: Tensor) -> Tensor:
        """Return the long slot after it has looked at what falls out of the second memory."""
        old = long if long.shape[1] else torch.zeros_like(evicted[:, :1])
        scores = self.long_query(old) @ self.long_key(evicted).transpose(-1, -2) * old.shape[-1] ** -0.5
        seen = self.long_out(scores.softmax(-1) @ self.long_value(evicted))
        both = torch.cat([old, seen], -1)
        return old + self.long_gate(both).sigmoid() * (self.long_new(both).tanh() - old)

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read tokens block by block."""
        state = self.init_state(x.shape[0]) if state is None else state
        q = split_heads(self.query(x), self.heads)
        k, v = self._pairs(x)
        near = (q + self.distance_bias) @ self.distance.transpose(-1, -2)  # score of each token for each distance
        q, outputs, start = q + self.content_bias, [], 0
        while start < x.shape[1]:
            end = min(x.shape[1], start + self.block - state["sizes"][-1])
            state = self._append(state, x[:, start:end], k[:, :, start:end], v[:, :, start:end])
            total, count = state["k"].shape[2], end - start
            at = torch.arange(total - count, total, device=x.device)[:, None]
            apart = at - torch.arange(total, device=x.device)
            far = near[:, :, start:end].gather(-1, apart.clamp(min=0).expand(*q.shape[:2], -1, -1))
            scores = (q[:, :, start:end] @ state["k"].transpose(-1, -2) + far) * HEAD**-0.5
            outputs.append(scores.masked_fill(apart < 0, float("-inf")).softmax(-1) @ state["v"])
            start = end
            if state["sizes"][-1] == self.block:
                state = self._maintained(state)
        return self.out(join_heads(torch.cat(outputs, 2))), state

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer each query as one more token of the open block."""
        q = split_heads(self.query(xq), self.heads)
        k, v = self._pairs(xq)
        near, q = q + self.distance_bias, q + self.content_bias
        slots = self._distances(state["k"].shape[2])
        far = q @ state["k"].to(q).transpose(-1, -2) + near @ slots.transpose(-1, -2)
        own = (q * k + near * self.distance[:, :1]).sum(-1, keepdim=True)
        weight = (torch.cat([far, own], -1) * HEAD**-0.5).softmax(-1)
        return self.out(join_heads(weight[..., :-1] @ state["v"].to(q) + weight[..., -1:] * v))

    def _distances(self, count: int) -> Tensor:
        """Return the encodings of `count` slots seen from right behind the last one, [H, count, f]."""
        return self.distance[:, 1 : count + 1].flip(1)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token; when it fills the block, maintain the memories."""
        x = x[:, None]
        q = split_heads(self.query(x), self.heads)
        state = self._append(state, x, *self._pairs(x))
        slots = self.distance[:, : state["k"].shape[2]].flip(1)
        scores = (q + self.content_bias) @ state["k"].transpose(-1, -2)
        scores = scores + (q + self.distance_bias) @ slots.transpose(-1, -2)
        y = self.out(join_heads((scores * HEAD**-0.5).softmax(-1) @ state["v"]))[:, 0]
        return y, self._maintained(state) if state["sizes"][-1] == self.block else state


class Compressive(Layer):
    """Attention and feed-forward, each joined to the stream by a gate."""

    def __init__(self, width: int, block: int, slots: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(rms_norm(width) for _ in range(2))
        self.gates = nn.ModuleList(Gate(width) for _ in range(2))
        self.attention = CompressiveAttention(width, block, slots)
        self.mlp = GeluMLP(width, 4 * width)

    def _rest(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.gates[0](x, y)
        return self.gates[1](x, self.mlp(self.norms[1](x)))

    def init_state(self, batch: int) -> State:
        """Return the attention's state."""
        return self.attention.init_state(batch)

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read tokens."""
        y, after = self.attention.prefill(self.norms[0](x), state)
        return self._rest(x, y), after

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer queries."""
        return self._rest(xq, self.attention.read(self.norms[0](xq), state))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token."""
        y, after = self.attention.step(self.norms[0](x), state)
        return self._rest(x, y), after


def layer(width: int, index: int, *, block: int = 128, slots: int = 32) -> Layer:
    """Build a layer; `slots` is the length of each compressed memory."""
    return Compressive(width, block, slots)
