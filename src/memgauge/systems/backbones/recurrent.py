"""The frame of every layer whose memory is a matrix a head: project, look back a few rows, run a rule, finish."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from memgauge.systems.backbones.base import Layer, State, join_heads
from memgauge.systems.backbones.kernels import query_rule, run_rule, step_rule
from memgauge.systems.backbones.local import ShortConv, TokenShift

Terms = tuple[Tensor, ...]
"""What a rule takes (see `kernels.rules`): q, k, v and its decays and rates, each [B, H, L, *]."""


class Recurrent(Layer):
    """A mixer over a matrix state S [B, H, dk, dv]. A mixer gives `rule`, `shape`, `project`, `terms` and `finish`."""

    rule: ClassVar[str]
    """Name of its recurrence in `kernels.RULES`."""
    shape: tuple[int, int, int]
    """Heads, dk, dv."""
    local: ShortConv | TokenShift | None
    """What looks back a few rows behind the projection."""

    def __init__(self) -> None:
        super().__init__()
        self.local = None

    def project(self, x: Tensor) -> Tensor:
        """Return what goes through `local`, from the input [..., D]."""
        raise NotImplementedError

    def terms(self, x: Tensor, rows: Tensor) -> Terms:
        """Return the rule's terms from the inputs [B, L, D] and what came out of `local`."""
        raise NotImplementedError

    def finish(self, x: Tensor, rows: Tensor, terms: Terms, y: Tensor) -> Tensor:
        """Return the outputs [B, L, D] from the rule's, [B, L, H dv]."""
        raise NotImplementedError

    def init_state(self, batch: int) -> State:
        """Return zeros: the matrix, and the rows that the local part keeps."""
        state: State = {"S": self.zeros(batch, *self.shape)}
        if self.local is not None:
            state["tail"] = self.local.empty(batch)
        return state

    def prefill(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Read tokens by the chunked form of the rule."""
        state = self.init_state(x.shape[0]) if state is None else state
        rows, after = self.project(x), dict(state)
        if self.local is not None:
            rows, after["tail"] = self.local.prefill(rows, state["tail"])
        terms = self.terms(x, rows)
        y, after["S"] = run_rule(self.rule, state["S"], terms)
        return self.finish(x, rows, terms, join_heads(y)), after

    def read(self, xq: Tensor, state: State) -> Tensor:
        """Answer queries from the matrix; nothing is written."""
        rows = self.project(xq)
        if self.local is not None:
            rows = self.local.read(rows, state["tail"])
        terms = self.terms(xq, rows)
        return self.finish(xq, rows, terms, join_heads(query_rule(self.rule, state["S"], terms)))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one token by the rule itself."""
        rows, after = self.project(x), dict(state)
        if self.local is not None:
            rows, after["tail"] = self.local.step(rows, state["tail"])
        x, rows = x[:, None], rows[:, None]
        terms = self.terms(x, rows)
        y, after["S"] = step_rule(self.rule, state["S"], terms)
        return self.finish(x, rows, terms, join_heads(y))[:, 0], after


class GatedOutput(nn.Module):
    """Head-wise RMS norm, a silu gate of the input where there is one, and the output projection."""

    def __init__(self, width: int, inner: int, head: int, *, gate: bool = True) -> None:
        super().__init__()
        self.head = head
        self.norm = nn.RMSNorm(head, eps=1e-5)
        self.gate = nn.Linear(width, inner, bias=False) if gate else None
        self.out = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Map the inputs [..., D] and the memory's outputs [..., inner] to [..., D]."""
        y = self.norm(y.unflatten(-1, (-1, self.head))).flatten(-2)
        if self.gate is not None:
            y = y * nn.functional.silu(self.gate(x))
        return self.out(y)
