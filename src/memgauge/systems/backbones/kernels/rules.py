"""Four recurrences of a matrix state, each as one step, as a query, and in chunks.

Shapes: q, k [B, H, L, dk]; v [B, H, L, dv]; the state S [B, H, dk, dv]; a log-decay g is [B, H, L, 1] (one for the
whole state) or [B, H, L, dk] (one a row); beta [B, H, L, 1]. Everything else follows from the three lines of a rule:

    scalar, vector   S <- e^g S + k' v                               y = q S
    delta            S <- e^g S;  u = beta (v - k S);  S <- S + k' u     y = q S
    dplr             u = a S;  S <- e^g S + b' u + k' v                  y = q S

`*_step` is the rule for one token (L = 1), `*_query` answers many queries from one state without changing it, and
`*_chunk` is the parallel form: products of matrices inside chunks of C tokens, a loop over chunks that carries S.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

CHUNK = 32
"""Tokens a chunk: the fastest on one core, and safe in single precision (see `vector_chunk`)."""


def _chunks(size: int, *terms: Tensor) -> list[Tensor]:
    """Cut [B, H, L, d] into [B, H, N, C, d], padded with zeros; a padded token neither writes nor decays."""
    missing = -terms[0].shape[2] % size
    return [(pad(t, (0, 0, 0, missing)) if missing else t).unflatten(2, (-1, size)) for t in terms]


def _lower(size: int, like: Tensor) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool, device=like.device).tril()


def _inverse(strict: Tensor) -> Tensor:
    """Return (I + A)^-1 for A strictly lower triangular.

    By substitution: the product (I - A)(I + A^2)(I + A^4)... loses everything when keys repeat.
    """
    eye = torch.eye(strict.shape[-1], dtype=strict.dtype, device=strict.device)
    return torch.linalg.solve_triangular(strict + eye, eye.expand_as(strict), upper=False, unitriangular=True)


def _carry(S: Tensor, decay: Tensor, writes: Tensor) -> tuple[Tensor, Tensor]:
    """Run S <- decay_n S + writes_n over chunks; return the states before each [B, H, N, dk, dv] and the last."""
    before = []
    for n in range(writes.shape[2]):
        before.append(S)
        S = S * decay[:, :, n] + writes[:, :, n]
    return torch.stack(before, 2), S


# Decay, one number for the whole state or one for each row.


def decay_step(S: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """Return (y, S) after one token."""
    S = S * g.exp().transpose(-1, -2) + k.transpose(-1, -2) @ v
    return q @ S, S


def decay_query(S: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor) -> Tensor:
    """Answer each query from S as the next token."""
    return (q * g.exp()) @ S + (q * k).sum(-1, keepdim=True) * v


def scalar_chunk(S: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, size: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Run L tokens; safe at any decay, since every factor is exp of a masked difference and so at most 1."""
    length = q.shape[2]
    q, k, v, g = _chunks(size, q, k, v, g)
    g = g.cumsum(-2)
    last = g[..., -1:, :]
    factor = (g - g.transpose(-1, -2)).masked_fill(~_lower(size, g), float("-inf")).exp()
    inside = ((q @ k.transpose(-1, -2)) * factor) @ v
    writes = (k * (last - g).exp()).transpose(-1, -2) @ v
    before, S = _carry(S, last.exp(), writes)
    return (inside + (q * g.exp()) @ before).flatten(2, 3)[:, :, :length], S


def vector_chunk(S: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, size: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Run L tokens with a decay for each row.

    Decays are measured from the middle of the chunk. In single precision the decay of half a chunk must stay above
    exp(-85): -5 a token for chunks of 32, -10 for 16.
    """
    length = q.shape[2]
    q, k, v, g = _chunks(size, q, k, v, g)
    g = g.cumsum(-2)
    last, middle = g[..., -1:, :], g[..., size // 2 - 1 : size // 2, :]
    inside = ((q * (g - middle).exp()) @ (k * (middle - g).exp()).transpose(-1, -2)).tril() @ v
    writes = (k * (last - g).exp()).transpose(-1, -2) @ v
    before, S = _carry(S, last.exp().transpose(-1, -2), writes)
    return (inside + (q * g.exp()) @ before).flatten(2, 3)[:, :, :length], S


# The delta rule, with or without a decay.


def delta_step(
    S: Tensor, q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return (y, S) after one token."""
    S = S if g is None else S * g.exp()
    S = S + k.transpose(-1, -2) @ (beta * (v - k @ S))
    return q @ S, S


def delta_query(S: Tensor, q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None = None) -> Tensor:
    """Answer each query from S as the next token."""
    kept, seen = k @ S, q @ S
    if g is not None:
        kept, seen = g.exp() * kept, g.exp() * seen
    return seen + (q * k).sum(-1, keepdim=True) * (beta * (v - kept))


def delta_chunk(
    S: Tensor, q: Tensor, k: Tensor, v: Tensor, beta: Tensor, g: Tensor | None = None, size: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """Run L tokens: the corrections of a chunk solve a unit lower triangular system (Yang et al., 2024)."""
    length = q.shape[2]
    q, k, v, beta = _chunks(size, q, k, v, beta)
    lower = _lower(size, q)
    keys = k * beta
    if g is None:
        factor, last = lower.to(q.dtype), None
        seen, remembered, written = q, keys, k
    else:
        (g,) = _chunks(size, g)
        g = g.cumsum(-2)
        factor = (g - g.transpose(-1, -2)).masked_fill(~lower, float("-inf")).exp()
        last = g[..., -1:, :].exp()
        seen, remembered, written = q * g.exp(), keys * g.exp(), k * (g[..., -1:, :] - g).exp()
    inverse = _inverse(((keys @ k.transpose(-1, -2)) * factor).tril(-1))
    fresh, stale = inverse @ (v * beta), inverse @ remembered
    inside, written = (q @ k.transpose(-1, -2)) * factor, written.transpose(-1, -2)
    outputs = []
    for n in range(q.shape[2]):
        u = fresh[:, :, n] - stale[:, :, n] @ S
        outputs.append(seen[:, :, n] @ S + inside[:, :, n] @ u)
        S = (S if last is None else S * last[:, :, n]) + written[:, :, n] @ u
    return torch.cat(outputs, 2)[:, :, :length], S


# Diagonal plus low rank: a decay for each row, and a rank-one correction that reads the state before it decays.


def dplr_step(S: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return (y, S) after one token."""
    u = a @ S
    S = S * g.exp().transpose(-1, -2) + b.transpose(-1, -2) @ u + k.transpose(-1, -2) @ v
    return q @ S, S


def dplr_query(S: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Answer each query from S as the next token."""
    corrected = (q * b).sum(-1, keepdim=True) * (a @ S)
    return (q * g.exp()) @ S + corrected + (q * k).sum(-1, keepdim=True) * v


def dplr_chunk(
    S: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Tensor, a: Tensor, b: Tensor, size: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """Run L tokens; the same bound on decays as `vector_chunk` (RWKV-7 never passes -0.607 a token)."""
    length = q.shape[2]
    q, k, v, g, a, b = _chunks(size, q, k, v, g, a, b)
    upto = g.cumsum(-2)
    before = upto - g
    last, middle = upto[..., -1:, :], upto[..., size // 2 - 1 : size // 2, :]
    shrink = (middle - upto).exp()
    q_mid, a_mid = q * (upto - middle).exp(), a * (before - middle).exp()
    k_mid, b_mid = (k * shrink).transpose(-1, -2), (b * shrink).transpose(-1, -2)
    inverse = _inverse(-(a_mid @ b_mid).tril(-1))
    fresh = inverse @ ((a_mid @ k_mid).tril(-1) @ v)
    stale = inverse @ (a * before.exp())
    from_u, own = (q_mid @ b_mid).tril(), (q_mid @ k_mid).tril() @ v
    seen, kept = q * upto.exp(), (last - upto).exp()
    writes, written = (k * kept).transpose(-1, -2) @ v, (b * kept).transpose(-1, -2)
    decay = last.exp().transpose(-1, -2)
    outputs = []
    for n in range(q.shape[2]):
        u = fresh[:, :, n] + stale[:, :, n] @ S
        outputs.append(seen[:, :, n] @ S + own[:, :, n] + from_u[:, :, n] @ u)
        S = S * decay[:, :, n] + writes[:, :, n] + written[:, :, n] @ u
    return torch.cat(outputs, 2)[:, :, :length], S
