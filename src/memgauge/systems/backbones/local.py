"""Layers that look back a few rows: the causal depthwise convolution and the token shift."""

from __future__ import annotations

import torch
from torch import Tensor, nn

TAPS = 4
"""Width of every short convolution (ECCBench, Table 11)."""


class ShortConv(nn.Module):
    """Causal depthwise convolution of width 4: y_t = sum_j w_j x_{t-3+j}, 8 FLOPs a channel and token.

    Its memory is the last three rows [B, 3, C] before the convolution.
    """

    def __init__(self, channels: int, *, bias: bool = False, silu: bool = False) -> None:
        super().__init__()
        self.channels, self.silu = channels, silu
        self.taps = nn.Parameter(torch.randn(TAPS, channels) * 0.5 / TAPS**0.5)
        self.bias = nn.Parameter(torch.zeros(channels)) if bias else None

    def empty(self, batch: int) -> Tensor:
        """Return the memory before the first token."""
        return self.taps.new_zeros(batch, TAPS - 1, self.channels)

    def prefill(self, x: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
        """Convolve rows [B, L, C] after the rows `tail`; return them and the new tail."""
        rows = torch.cat([tail.to(x.dtype), x], 1)
        length = x.shape[1]
        y = rows[:, :length] * self.taps[0]
        for j in range(1, TAPS):
            y = y + rows[:, j : j + length] * self.taps[j]
        return self._finish(y), rows[:, length:]

    def read(self, xq: Tensor, tail: Tensor) -> Tensor:
        """Convolve each query [B, Q, C] as the row after `tail`."""
        past = (tail * self.taps[:-1]).sum(1, keepdim=True)
        return self._finish(xq * self.taps[-1] + past)

    def step(self, x: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
        """Convolve one row [B, C], by a product of matrices so that its arithmetic is counted."""
        rows = torch.cat([tail, x[:, None]], 1)
        y = (rows.permute(2, 0, 1) @ self.taps.t()[:, :, None]).squeeze(-1).t()
        return self._finish(y), rows[:, 1:]

    def _finish(self, y: Tensor) -> Tensor:
        if self.bias is not None:
            y = y + self.bias
        return nn.functional.silu(y) if self.silu else y


class TokenShift(nn.Module):
    """Gives each row its predecessor: [B, L, C] -> [B, L, 2C], the row and the one before (zeros at the start).

    Its memory is the last row [B, 1, C].
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels
        self.register_buffer("origin", torch.zeros(1), persistent=False)

    def empty(self, batch: int) -> Tensor:
        """Return the memory before the first token."""
        return self.origin.new_zeros(batch, 1, self.channels)

    def prefill(self, x: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
        """Join rows with their predecessors; return them and the last row."""
        before = torch.cat([tail.to(x.dtype), x[:, :-1]], 1)
        return torch.cat([x, before], -1), x[:, -1:]

    def read(self, xq: Tensor, tail: Tensor) -> Tensor:
        """Join each query with the last row of the stream."""
        return torch.cat([xq, tail.to(xq.dtype).expand_as(xq)], -1)

    def step(self, x: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
        """Join one row with its predecessor."""
        return torch.cat([x, tail[:, 0]], -1), x[:, None]
