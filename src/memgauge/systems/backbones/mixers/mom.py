"""MoM: a router sends each token to three of sixteen memories, and a shared one sees all (Du et al., 2025)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, silu

from memgauge.systems.backbones.base import HEAD, Layer, Pointwise, Residual, State, SwiGLU
from memgauge.systems.backbones.decays import StepDecay
from memgauge.systems.backbones.kernels import query_rule, run_rule, step_rule
from memgauge.systems.backbones.local import TAPS, ShortConv

MEMORIES = 16
ROUTED = 3
GROUPS = 8
"""Memories are run in so many groups of like load."""
BALANCE = 0.01
"""Weight of the load-balance loss."""


class MoM(Layer):
    """Memories are 16 x 16 Gated DeltaNet states, each with the last rows of the tokens that it was sent.

    Projections, decays and rates are shared by all memories. No token is dropped: a capacity would make a token's way
    depend on later ones; `overflow` says how many tokens a capacity would have dropped. Index 16 is the shared memory.
    """

    def __init__(self, width: int, balance: float = BALANCE) -> None:
        super().__init__()
        self.width, self.heads, self.balance = width, width // HEAD, balance
        self.router = nn.Linear(width, MEMORIES, bias=False)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.beta = nn.Linear(width, self.heads)
        self.raw_decay = nn.Linear(width, self.heads, bias=False)
        self.decay = StepDecay(self.heads)
        self.conv = ShortConv(3 * width, silu=True)
        self.norm = nn.RMSNorm(HEAD, eps=1e-5)
        self.gate = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.routed: Tensor | None = None
        self._balance: Tensor | None = None

    def init_state(self, batch: int) -> State:
        """Return empty memories: S [B, 17, H, f, f], and their last three rows [B, 17, 3, 3D]."""
        every = MEMORIES + 1
        return {
            "S": self.zeros(batch, every, self.heads, HEAD, HEAD),
            "tail": self.zeros(batch, every, TAPS - 1, 3 * self.width),
        }

    def extra_loss(self) -> Tensor | None:
        """Return the load-balance loss of the last `prefill`."""
        return self._balance

    def overflow(self, capacity: float = 1.5) -> float:
        """Return the share of routed tokens beyond `capacity` times an even share, in the last `prefill`."""
        if self.routed is None:
            return 0.0
        counts = self.routed.double()
        even = counts.sum(-1, keepdim=True) / MEMORIES
        return float((counts - capacity * even).clamp(min=0).sum() / counts.sum())

    def route(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return probabilities [..., 16], and weights (summing to 1) and indices [..., 3] of the chosen memories."""
        share = self.router(x).float().softmax(-1) if x.dtype != torch.float64 else self.router(x).softmax(-1)
        weight, index = share.topk(ROUTED, -1)
        return share, weight / weight.sum(-1, keepdim=True), index

    def _terms(self, rows: Tensor) -> list[Tensor]:
        """Return q, k, v [..., H, f] from rows [..., 3D] behind the convolution."""
        q, k, v = (t.unflatten(-1, (self.heads, -1)) for t in rows.chunk(3, -1))
        return [normalize(q, dim=-1), normalize(k, dim=-1), v]

    def _rates(self, x: Tensor) -> Tensor:
        """Return beta and log-decay side by side, [..., H, 2]."""
        return torch.stack([self.beta(x).sigmoid(), self.decay(self.raw_decay(x))], -1)

    def _finish(self, x: Tensor, y: Tensor) -> Tensor:
        y = self.norm(y.unflatten(-1, (self.heads, -1))).flatten(-2)
        return self.out(y * silu(self.gate(x)))

    def _run(self, S: Tensor, tail: Tensor, rows: Tensor, rates: Tensor, count: Tensor) -> tuple[Tensor, ...]:
        """Run compacted sequences [N, T, *], the first `count` [N] tokens of each; return y [N, T, D], S and tail."""
        joined = torch.cat([tail.to(rows), rows], 1)
        at = count[:, None] + torch.arange(TAPS - 1, device=rows.device)
        tail = joined.gather(1, at[..., None].expand(-1, -1, rows.shape[-1]))
        there = (torch.arange(rows.shape[1], device=rows.device) < count[:, None])[..., None, None]
        q, k, v = (t.transpose(1, 2) for t in self._terms(self.conv.prefill(rows, joined[:, : TAPS - 1])[0]))
        beta, decay = (rates * there).transpose(1, 2).split(1, -1)  # a padded place neither writes nor decays
        y, S = run_rule("delta", S, (q, k, v, beta, decay))
        return y.transpose(1, 2).flatten(2), S, tail

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Gather the tokens of each memory, run all memories at once, and scatter their answers back."""
        batch, length, _ = x.shape
        state = self.init_state(batch) if state is None else state
        share, weight, index = self.route(x)
        chosen = torch.zeros_like(share).scatter(-1, index, weight).transpose(1, 2).flatten(0, 1)  # [16 B, L]
        on = torch.zeros_like(share, dtype=torch.bool).scatter(-1, index, value=True).transpose(1, 2).flatten(0, 1)
        count = on.sum(-1)
        order = torch.argsort((~on).to(torch.uint8), dim=-1, stable=True)  # the tokens of each memory first
        rows, rates = self.qkv(x), self._rates(x)
        every = torch.full((batch,), length, device=x.device)
        total, S_shared, tail_shared = self._run(state["S"][:, -1], state["tail"][:, -1], rows, rates, every)
        S, tail = state["S"][:, :-1].flatten(0, 1), state["tail"][:, :-1].flatten(0, 1).to(rows)
        total = total.flatten(0, 1)
        # Memories of like load run together, so that little is padded.
        for part in torch.argsort(count, descending=True, stable=True).split(-(-len(count) // GROUPS)):
            longest = int(count[part[0]])
            if not longest:
                break
            stream, place = (part // MEMORIES)[:, None], order[part, :longest]
            y, S_part, tail_part = self._run(
                S[part], tail[part], rows[stream, place], rates[stream, place], count[part]
            )
            there = torch.arange(longest, device=x.device) < count[part][:, None]
            y = y * (chosen[part].gather(-1, place) * there)[..., None]
            total = total.index_add(0, (stream * length + place).flatten(), y.flatten(0, 1).to(total.dtype))
            S, tail = S.index_copy(0, part, S_part.to(S.dtype)), tail.index_copy(0, part, tail_part)
        total, count = total.unflatten(0, (batch, length)), count.unflatten(0, (batch, MEMORIES))
        after = {
            "S": torch.cat([S.unflatten(0, (batch, MEMORIES)), S_shared[:, None]], 1),
            "tail": torch.cat([tail.unflatten(0, (batch, MEMORIES)), tail_shared[:, None]], 1),
        }
        self.routed = count.detach()
        load = count.sum(0) / (ROUTED * batch * length)
        self._balance = self.balance * MEMORIES * (load * share.mean((0, 1))).sum()
        return self._finish(x, total), after

    def _active(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return indices and weights [..., 4] of the memories that rows use: three routed ones and the shared one."""
        _, weight, index = self.route(x)
        shared = torch.full_like(index[..., :1], MEMORIES)
        return torch.cat([index, shared], -1), torch.cat([weight, torch.ones_like(weight[..., :1])], -1)

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer each query from the four memories that it is routed to; nothing is written."""
        index, weight = self._active(xq)  # [B, Q, 4]
        stream = torch.arange(xq.shape[0], device=xq.device)[:, None, None]
        S, tail = state["S"][stream, index], state["tail"][stream, index]
        shape = tail.shape[:3]
        own = self.qkv(xq)[:, :, None].expand(*shape, -1)
        rows = self.conv.read(own.reshape(-1, 1, own.shape[-1]), tail.flatten(0, 2)).view(*shape, -1)
        q, k, v = (t[..., None, :] for t in self._terms(rows))  # [B, Q, 4, H, 1, f]
        beta, decay = self._rates(xq)[:, :, None, :, None].split(1, -1)
        y = query_rule("delta", S, (q, k, v, beta, decay)).flatten(-3)
        return self._finish(xq, (y * weight[..., None]).sum(2))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token: only its four memories change."""
        index, weight = self._active(x)  # [B, 4]
        batch, active = index.shape
        stream = torch.arange(batch, device=x.device)[:, None]
        rows, tail = self.conv.step(
            self.qkv(x)[:, None].expand(-1, active, -1).flatten(0, 1), state["tail"][stream, index].flatten(0, 1)
        )
        q, k, v = (t.view(batch, active, self.heads, 1, HEAD) for t in self._terms(rows))
        beta, decay = self._rates(x)[:, None, :, None].split(1, -1)
        y, S = step_rule("delta", state["S"][stream, index], (q, k, v, beta, decay))
        after = {
            "S": state["S"].index_put((stream, index), S),
            "tail": state["tail"].index_put((stream, index), tail.unflatten(0, (batch, active))),
        }
        return self._finish(x, (y.flatten(2) * weight[..., None]).sum(1)), after


def layer(width: int, index: int, *, balance: float = BALANCE) -> Layer:
    """Build a layer."""
    return Residual(width, MoM(width, balance), Pointwise(SwiGLU(width, 4 * width)))
