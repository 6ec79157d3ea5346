"""DeltaFormer: attention over values that were first corrected by what attention already says (Xu et al., 2025)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from memgauge.errors import InputError
from memgauge.systems.backbones.base import (
    HEAD,
    Layer,
    Pointwise,
    Residual,
    State,
    SwiGLU,
    join_heads,
    rms_norm,
    split_heads,
)
from memgauge.systems.backbones.kernels import full_precision, widen
from memgauge.systems.backbones.kernels.attending import (
    attend_with_own,
    causal_attention,
    corrected_values,
    rotate,
    rotate_at,
)

SCALE = HEAD**-0.5


class DeltaFormer(Layer):
    """u_t = v_t - beta_t sum_{i<t} softmax(w_t.k_i / 4) u_i, then causal attention of q over (k, u).

    q and k are normed a head and rotated. `correct_by` says what w is: the query (as in flash-linear-attention) or the
    key; the paper's counts fit both. beta is a sigmoid.
    """

    def __init__(self, width: int, correct_by: Literal["query", "key"] = "query") -> None:
        super().__init__()
        if correct_by not in ("query", "key"):
            raise InputError(f"deltaformer: correct_by is {correct_by!r}; choose query or key")
        self.heads, self.by_key = width // HEAD, correct_by == "key"
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.beta = nn.Linear(width, self.heads)
        self.q_norm, self.k_norm = rms_norm(HEAD), rms_norm(HEAD)

    def init_state(self, batch: int) -> State:
        """Return no keys and no corrected values."""
        return {name: self.zeros(batch, self.heads, 0, HEAD) for name in ("k", "u")}

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = (split_heads(t, self.heads) for t in self.qkv(x).chunk(3, -1))
        return self.q_norm(q), self.k_norm(k), v, split_heads(self.beta(x).sigmoid(), self.heads)

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Correct the values of all tokens, then attend."""
        state = self.init_state(x.shape[0]) if state is None else state
        past = state["k"].shape[2]
        with full_precision(x.device.type):
            q, k, v, beta = (widen(t) for t in self._project(widen(x)))
            q, k = rotate(q, past), rotate(k, past)
            keys = torch.cat([state["k"], k], 2)
            u = corrected_values(k if self.by_key else q, keys, v, beta, state["u"], SCALE)
            values = torch.cat([state["u"], u], 2)
        return self.out(join_heads(causal_attention(q, keys, values, SCALE))), {"k": keys, "u": values}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Correct each query's own value, then attend."""
        keys, values = state["k"], state["u"]
        with full_precision(xq.device.type):
            q, k, v, beta = (widen(t) for t in self._project(widen(xq)))
            q, k = rotate_at(q, keys.shape[2]), rotate_at(k, keys.shape[2])
            u = self._corrected(q, k, v, beta, state)
        return self.out(join_heads(attend_with_own(q, k, u, keys, values, SCALE)))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Correct one value and attend."""
        q, k, v, beta = self._project(x[:, None])
        q, k = rotate_at(q, state["k"].shape[2]), rotate_at(k, state["k"].shape[2])
        u = self._corrected(q, k, v, beta, state)
        after = {"k": torch.cat([state["k"], k], 2), "u": torch.cat([state["u"], u], 2)}
        y = (q @ after["k"].transpose(-1, -2) * SCALE).softmax(-1) @ after["u"]
        return self.out(join_heads(y))[:, 0], after

    def _corrected(self, q: Tensor, k: Tensor, v: Tensor, beta: Tensor, state: State) -> Tensor:
        scores = (k if self.by_key else q) @ state["k"].transpose(-1, -2) * SCALE
        return v - beta * (scores.softmax(-1) @ state["u"])


def layer(width: int, index: int, *, correct_by: Literal["query", "key"] = "query") -> Layer:
    """Build a layer."""
    return Residual(width, DeltaFormer(width, correct_by), Pointwise(SwiGLU(width, 256)))
