"""Attention that sees the past alone, without a matrix of all pairs at once."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

BLOCK = 256
"""Queries handled at once where a mask is needed."""


def rotate(x: Tensor, first: int, theta: float = 1e4) -> Tensor:
    """Rotary encoding of rows [B, H, L, f] at positions first, first + 1, ... (Su et al., 2021)."""
    width = x.shape[-1]
    position = torch.arange(first, first + x.shape[2], device=x.device, dtype=torch.float64)
    return _turn(x, position, width, theta)


def rotate_at(x: Tensor, position: int, theta: float = 1e4) -> Tensor:
    """Rotary encoding of rows that all stand at one position."""
    at = torch.full((1,), position, device=x.device, dtype=torch.float64)
    return _turn(x, at, x.shape[-1], theta)


def _turn(x: Tensor, position: Tensor, width: int, theta: float) -> Tensor:
    frequency = theta ** (-torch.arange(0, width, 2, device=x.device, dtype=torch.float64) / width)
    angle = position[:, None] * frequency
    cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Softmax attention of the last L tokens over all T >= L up to each: q [B, H, L, f]; k, v [B, H, T, f]."""
    length, total = q.shape[2], k.shape[2]
    if length == total:
        return scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
    past = total - length
    outputs = []
    for first in range(0, length, BLOCK):
        block = q[:, :, first : first + BLOCK]
        end = past + first + block.shape[2]
        at = torch.arange(past + first, end, device=q.device)
        mask = torch.arange(end, device=q.device) <= at[:, None]
        outputs.append(scaled_dot_product_attention(block, k[:, :, :end], v[:, :, :end], attn_mask=mask, scale=scale))
    return torch.cat(outputs, 2)


def attend_with_own(q: Tensor, k_own: Tensor, v_own: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Attention of each query over the stored pairs and over its own: q, k_own, v_own [B, H, Q, f]; k, v [B, H, L, f].

    No query sees another's pair.
    """
    own = (q * k_own).sum(-1, keepdim=True)
    weight = (torch.cat([q @ k.transpose(-1, -2), own], -1) * scale).softmax(-1)
    return weight[..., :-1] @ v + weight[..., -1:] * v_own


def window_attention(q: Tensor, k: Tensor, v: Tensor, past: Tensor, window: int, scale: float) -> Tensor:
    """Attention over the token itself and the `window` before it, linear in L.

    q [B, H, L, f]; k, v [B, H, window + L, f] begin with the `window` pairs before the first token, of which `past`
    [window] (true or false) says which exist.
    """
    length, size = q.shape[2], max(window, 16)
    missing = -length % size
    q = pad(q, (0, 0, 0, missing)).unflatten(2, (-1, size))
    k, v = (pad(t, (0, 0, 0, missing)).unfold(2, size + window, size).transpose(-1, -2) for t in (k, v))
    there = pad(past, (0, length + missing), value=True).unfold(0, size + window, size)
    row = torch.arange(size, device=q.device)[:, None]
    column = torch.arange(size + window, device=q.device)
    band = (column >= row) & (column <= row + window)
    mask = band & there[:, None, :]
    scores = (q @ k.transpose(-1, -2) * scale).masked_fill(~mask, float("-inf"))
    return (scores.softmax(-1) @ v).flatten(2, 3)[:, :, :length]


def corrected_values(w: Tensor, k: Tensor, v: Tensor, beta: Tensor, u_past: Tensor, scale: float) -> Tensor:
    """Return u_t = v_t - beta_t sum_{i<t} softmax_{i<t}(scale w_t . k_i) u_i for the last L of T tokens.

    w, v [B, H, L, f]; beta [B, H, L, 1]; k [B, H, T, f]; u_past [B, H, T - L, f]. By forward substitution over blocks
    of 64: past blocks enter through a product, the block itself through a unit lower triangular solve.
    """
    length, past = w.shape[2], u_past.shape[2]
    u, w, keys = u_past, w * scale, k.transpose(-1, -2)
    for first in range(0, length, 64):
        end = min(length, first + 64)
        own = past + first
        later = torch.ones(end - first, end - first, dtype=torch.bool, device=w.device).triu()
        scores = w[:, :, first:end] @ keys[..., : past + end]
        scores[..., own:] += later * -1e30
        weight = scores.softmax(-1)
        # The very first token has nothing before it: its weights are zero, not a softmax of nothing.
        block = beta[:, :, first:end] * weight[..., own:].masked_fill(later, 0)
        right = v[:, :, first:end] - beta[:, :, first:end] * (weight[..., :own] @ u)
        eye = torch.eye(end - first, dtype=w.dtype, device=w.device)
        u = torch.cat([u, torch.linalg.solve_triangular(block + eye, right, upper=False, unitriangular=True)], 2)
    return u[:, :, past:]


def leaky_average(x: Tensor, leak: Tensor, last: Tensor, size: int = 64) -> Tensor:
    """Return y_t = x_t + leak y_{t-1}: x [B, H, L, f], leak [H] in (0, 1), last [B, H, 1, f] is y before the first.

    By chunks, with powers of the leak in log space.
    """
    length = x.shape[2]
    missing = -length % size
    chunks = pad(x, (0, 0, 0, missing)).unflatten(2, (-1, size))
    at = torch.arange(size, device=x.device)
    log = leak.log().view(-1, 1, 1)
    lower = torch.ones(size, size, dtype=torch.bool, device=x.device).tril()
    powers = ((at[:, None] - at) * log).masked_fill(~lower, float("-inf")).exp()
    inside = powers[:, None] @ chunks
    carried = ((at + 1)[:, None] * log).exp()
    outputs = []
    for n in range(chunks.shape[2]):
        y = inside[:, :, n] + carried * last
        outputs.append(y)
        last = y[:, :, -1:]
    return torch.cat(outputs, 2)[:, :, :length]
