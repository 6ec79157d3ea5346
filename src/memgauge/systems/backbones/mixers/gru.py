"""GRU: one gated recurrent layer of width D, no residual, no feed-forward (ECCBench, C.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from memgauge.systems.backbones.base import Layer, State


class GRU(Layer):
    """PyTorch's gate form: reset, update, candidate; the reset gate scales the candidate's recurrent product."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.gru = nn.GRU(width, width, batch_first=True)

    def init_state(self, batch: int) -> State:
        """Return h = 0, [B, D]."""
        return {"h": self.zeros(batch, self.width)}

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Run the recurrence over all tokens."""
        h = (self.init_state(x.shape[0]) if state is None else state)["h"]
        y, last = self.gru(x, h[None].to(x.dtype))
        return y, {"h": last[0]}

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Run one step from h for each query."""
        h = state["h"][:, None].expand_as(xq).flatten(0, 1)
        return self._cell(xq.flatten(0, 1), h.to(xq.dtype)).view_as(xq)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Run one step."""
        h = self._cell(x, state["h"])
        return h, {"h": h}

    def _cell(self, x: Tensor, h: Tensor) -> Tensor:
        g = self.gru
        from_x = nn.functional.linear(x, g.weight_ih_l0, g.bias_ih_l0).chunk(3, -1)
        from_h = nn.functional.linear(h, g.weight_hh_l0, g.bias_hh_l0).chunk(3, -1)
        reset, update = ((a + b).sigmoid() for a, b in zip(from_x[:2], from_h[:2], strict=True))
        candidate = torch.tanh(from_x[2] + reset * from_h[2])
        return candidate + update * (h - candidate)


def layer(width: int, index: int) -> Layer:
    """Build a layer."""
    return GRU(width)
