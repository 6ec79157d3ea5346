"""What every backbone layer is, and the small parts that they share.

A layer maps rows to rows and keeps a state. Three ways to use it, one meaning:

- `prefill(x, state)`: many tokens at once, in parallel form; returns their outputs and the final state;
- `step(x, state)`: one token, by the plain recurrence; the reference of `prefill`, and what costs are counted on;
- `read(xq, state)`: queries, each answered as if it alone were the next token; the state stays as it is.

So the queries of a stream cannot see each other, and each sees exactly the tokens before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

State = dict[str, Any]
"""Tensors (and counts) by name; a layer made of layers keeps their states under their positions."""

HEAD = 16
"""Width of a head (ECCBench, Table 11)."""


class Layer(nn.Module):
    """A layer of a backbone. Shapes: B streams, L tokens, Q queries, D channels."""

    def init_state(self, batch: int) -> State:
        """Return the state before the first token, for `batch` streams."""
        raise NotImplementedError

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read tokens [B, L, D], L >= 1, after those that `state` has seen; return outputs [B, L, D] and the state."""
        raise NotImplementedError

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer queries [B, Q, D] from the state; each is the newest token of a stream of its own."""
        raise NotImplementedError

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token [B, D]; return its output [B, D] and the next state."""
        raise NotImplementedError

    def forward(self, x: Tensor, xq: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs of a stream and of the queries after it."""
        y, state = self.prefill(x)
        return y, self.read(xq, state)

    def extra_loss(self) -> Tensor | None:
        """Return what the last `prefill` adds to the training loss (load balance), or None."""
        return None

    def zeros(self, *shape: int) -> Tensor:
        """Return zeros of the parameters' type, on their device."""
        like = next(self.parameters())
        return torch.zeros(shape, dtype=like.dtype, device=like.device)


def token_loop(layer: Layer, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
    """Do what `prefill` does one token at a time."""
    state = layer.init_state(x.shape[0]) if state is None else state
    outputs = []
    for t in range(x.shape[1]):
        y, state = layer.step(x[:, t], state)
        outputs.append(y)
    return torch.stack(outputs, 1), state


def tensors(state: Any) -> Iterator[Tensor]:
    """Return the tensors of a state, in order of their names."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, dict):
        for name in sorted(state):
            yield from tensors(state[name])
    elif isinstance(state, (list, tuple)):
        for item in state:
            yield from tensors(item)


def state_bits(state: Any) -> int:
    """Return how many bits the state of one stream takes, of the B that it holds."""
    return sum(8 * t.element_size() * t.numel() // max(t.shape[0], 1) for t in tensors(state))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Turn [B, L, heads * f] into [B, heads, L, f]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """Turn [B, heads, L, f] into [B, L, heads * f]."""
    return x.transpose(1, 2).flatten(2)


def rms_norm(width: int) -> nn.Module:
    """Return an RMS norm over the last `width` channels."""
    return nn.RMSNorm(width, eps=1e-5)


class SwiGLU(nn.Module):
    """Feed-forward W2 (silu(W1 x) * W3 x) of inner width I: 6 D I FLOPs a token."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., D] to [..., D]."""
        value, gate = self.up(x).chunk(2, -1)
        return self.down(value * nn.functional.silu(gate))


class GeluMLP(nn.Module):
    """Feed-forward D -> I -> D with GELU: 4 D I FLOPs a token."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., D] to [..., D]."""
        return self.down(nn.functional.gelu(self.up(x)))


class Pointwise(Layer):
    """A layer without memory: the same function of each row."""

    def __init__(self, function: nn.Module) -> None:
        super().__init__()
        self.function = function

    def init_state(self, batch: int) -> State:
        """Return no state."""
        return {}

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Apply the function to every row."""
        return self.function(x), {}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Apply the function to every row."""
        return self.function(xq)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Apply the function to the row."""
        return self.function(x), {}


class Residual(Layer):
    """Branches in turn, each behind a norm and added to its input: x <- x + branch(norm(x))."""

    def __init__(self, width: int, *branches: Layer) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        self.norms = nn.ModuleList(rms_norm(width) for _ in branches)

    def init_state(self, batch: int) -> State:
        """Return the branches' states by position."""
        return {str(i): branch.init_state(batch) for i, branch in enumerate(self.branches)}

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read tokens through all branches."""
        after: State = {}
        for i, (norm, branch) in enumerate(zip(self.norms, self.branches, strict=True)):
            y, after[str(i)] = branch.prefill(norm(x), None if state is None else state[str(i)])
            x = x + y
        return x, after

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer queries through all branches."""
        for i, (norm, branch) in enumerate(zip(self.norms, self.branches, strict=True)):
            xq = xq + branch.read(norm(xq), state[str(i)])
        return xq

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token through all branches."""
        after: State = {}
        for i, (norm, branch) in enumerate(zip(self.norms, self.branches, strict=True)):
            y, after[str(i)] = branch.step(norm(x), state[str(i)])
            x = x + y
        return x, after

    def extra_loss(self) -> Tensor | None:
        """Return the sum of what the branches add."""
        found = [loss for loss in (branch.extra_loss() for branch in self.branches) if loss is not None]
        return sum(found[1:], found[0]) if found else None
