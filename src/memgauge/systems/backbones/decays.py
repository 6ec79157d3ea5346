"""Learned decays of the family that Mamba began: log-decay -exp(A) softplus(raw + bias) for each head."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class StepDecay(nn.Module):
    """Holds A and the bias of a head's step size; steps start between 0.001 and 0.1, exp(A) between 1 and 16."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.log_rate = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        size = torch.exp(torch.rand(heads) * math.log(100) + math.log(0.001))
        self.bias = nn.Parameter(size + torch.log(-torch.expm1(-size)))  # softplus(bias) == size

    def step_size(self, raw: Tensor) -> Tensor:
        """Return softplus(raw + bias), [..., H]."""
        return nn.functional.softplus(raw + self.bias)

    def forward(self, raw: Tensor) -> Tensor:
        """Return the log-decay, [..., H], below 0."""
        return -self.log_rate.exp() * self.step_size(raw)
