"""TTT-MLP: the memory is a small network that is trained on each token while it reads (Sun et al., 2025).

Per head f(z) = z + norm(gelu(z W1 + b1) W2 + b2) of widths 16 -> 64 -> 16, loss |f(k) - v|^2 / 2. A token's gradient is
taken at the weights that opened its mini-batch and applied to the current weights at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import gelu

EPS = 1e-6
_C = math.sqrt(2 / math.pi)


class FastWeights(NamedTuple):
    """Weights of the inner network, for every stream and head."""

    w1: Tensor
    """[B, H, f, 4f]."""
    b1: Tensor
    """[B, H, 1, 4f]."""
    w2: Tensor
    """[B, H, 4f, f]."""
    b2: Tensor
    """[B, H, 1, f]."""


class Errors(NamedTuple):
    """What a token sends back: the hidden row and the two error rows, already times its learning rate."""

    hidden: Tensor
    d1: Tensor
    d2: Tensor


def _gelu_slope(z: Tensor) -> Tensor:
    """Return the derivative of the tanh form of GELU."""
    t = torch.tanh(_C * z * (1 + 0.044715 * z * z))
    return 0.5 * z * (1 - t * t) * _C * (1 + 3 * 0.044715 * z * z) + 0.5 * (1 + t)


def errors(k: Tensor, v: Tensor, rate: Tensor, at: FastWeights, gain: Tensor, shift: Tensor) -> Errors:
    """Return the errors of tokens at the weights `at`: k, v [B, H, L, f]; rate [B, H, L, 1]; gain, shift [H, 1, f].

    The gradient of the loss in z W2 + b2 goes back through the norm, the product and GELU, written out by hand.
    """
    z1 = k @ at.w1 + at.b1
    hidden = gelu(z1, approximate="tanh")
    z2 = hidden @ at.w2 + at.b2
    deviation = (z2.var(-1, unbiased=False, keepdim=True) + EPS).sqrt()
    unit = (z2 - z2.mean(-1, keepdim=True)) / deviation
    into_unit = (gain * unit + shift + k - v) * gain
    d2 = into_unit - into_unit.mean(-1, keepdim=True) - unit * (into_unit * unit).mean(-1, keepdim=True)
    d2 = d2 / deviation
    d1 = (d2 @ at.w2.transpose(-1, -2)) * _gelu_slope(z1)
    return Errors(hidden, rate * d1, rate * d2)


def finish(q: Tensor, z2: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """Return q + norm(z2)."""
    centred = z2 - z2.mean(-1, keepdim=True)
    return q + gain * centred / (z2.var(-1, unbiased=False, keepdim=True) + EPS).sqrt() + shift


def run(
    q: Tensor, k: Tensor, v: Tensor, rate: Tensor, base: FastWeights, now: FastWeights, gain: Tensor, shift: Tensor
) -> tuple[Tensor, FastWeights]:
    """Run tokens of one mini-batch in dual form: gradients at `base`, applied to `now` token by token.

    Returns outputs [B, H, L, f] and the weights after the last token.
    """
    sent = errors(k, v, rate, base, gain, shift)
    z1 = q @ now.w1 + now.b1 - (q @ k.transpose(-1, -2)).tril() @ sent.d1 - sent.d1.cumsum(-2)
    hidden = gelu(z1, approximate="tanh")
    z2 = hidden @ now.w2 + now.b2 - (hidden @ sent.hidden.transpose(-1, -2)).tril() @ sent.d2 - sent.d2.cumsum(-2)
    after = FastWeights(
        now.w1 - k.transpose(-1, -2) @ sent.d1,
        now.b1 - sent.d1.sum(-2, keepdim=True),
        now.w2 - sent.hidden.transpose(-1, -2) @ sent.d2,
        now.b2 - sent.d2.sum(-2, keepdim=True),
    )
    return finish(q, z2, gain, shift), after


def step(
    q: Tensor, k: Tensor, v: Tensor, rate: Tensor, base: FastWeights, now: FastWeights, gain: Tensor, shift: Tensor
) -> tuple[Tensor, FastWeights]:
    """Run one token (L = 1): its gradient at `base`, a descent step on `now`, then the network on q."""
    sent = errors(k, v, rate, base, gain, shift)
    now = FastWeights(
        now.w1 - k.transpose(-1, -2) @ sent.d1,
        now.b1 - sent.d1,
        now.w2 - sent.hidden.transpose(-1, -2) @ sent.d2,
        now.b2 - sent.d2,
    )
    z2 = gelu(q @ now.w1 + now.b1, approximate="tanh") @ now.w2 + now.b2
    return finish(q, z2, gain, shift), now


def query(
    q: Tensor, k: Tensor, v: Tensor, rate: Tensor, base: FastWeights, now: FastWeights, gain: Tensor, shift: Tensor
) -> Tensor:
    """Answer each query as the next token would be, without keeping its update."""
    sent = errors(k, v, rate, base, gain, shift)
    z1 = q @ now.w1 + now.b1 - ((q * k).sum(-1, keepdim=True) + 1) * sent.d1
    hidden = gelu(z1, approximate="tanh")
    z2 = hidden @ now.w2 + now.b2 - ((hidden * sent.hidden).sum(-1, keepdim=True) + 1) * sent.d2
    return finish(q, z2, gain, shift)
