"""The cores of the backbones: chunked parallel forms, each beside the one-token rule that it must equal.

`run_rule` computes in single precision at least, whatever the surrounding autocast says: states, decays, solves and
norms do not survive 16 bits. `use_backend("fla")` hands the four matrix recurrences to the kernels of
flash-linear-attention on CUDA; it is off by default, and what has no such kernel stays with ours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from memgauge.errors import InputError
from memgauge.systems.backbones.kernels import rules

Backend = Literal["torch", "fla"]
_backend: Backend = "torch"


class Rule(NamedTuple):
    """A recurrence of a matrix state: `chunk` and `step` return (y, S), `query` returns y (see `kernels.rules`)."""

    chunk: Callable[..., tuple[Tensor, Tensor]]
    step: Callable[..., tuple[Tensor, Tensor]]
    query: Callable[..., Tensor]


RULES = {
    "scalar": Rule(rules.scalar_chunk, rules.decay_step, rules.decay_query),
    "vector": Rule(rules.vector_chunk, rules.decay_step, rules.decay_query),
    "delta": Rule(rules.delta_chunk, rules.delta_step, rules.delta_query),
    "dplr": Rule(rules.dplr_chunk, rules.dplr_step, rules.dplr_query),
}


def use_backend(name: Backend) -> None:
    """Choose who computes the chunked recurrences on CUDA: `torch` (default) or `fla`.

    Raises `InputError` when fla is wanted and cannot be imported, or no CUDA device is there.
    """
    global _backend
    if name == "fla":
        if not torch.cuda.is_available():
            raise InputError("the fla kernels need a CUDA device, and torch finds none; keep the backend 'torch'")
        from memgauge.systems.backbones.kernels import fla

        fla.load()
    elif name != "torch":
        raise InputError(f"backend is {name!r}: choose torch or fla")
    _backend = name


@contextlib.contextmanager
def full_precision(device: str) -> Iterator[None]:
    """Switch autocast off."""
    with torch.autocast(device, enabled=False):
        yield


def widen(term: Tensor) -> Tensor:
    """Return a 16-bit tensor in single precision, and any other as it is."""
    return term.float() if term.dtype in (torch.bfloat16, torch.float16) else term


def run_rule(name: str, state: Tensor, terms: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Run the rule `name` over L tokens from a state [B, H, dk, dv]; return outputs [B, H, L, dv] and the state."""
    with full_precision(state.device.type):
        if _backend == "fla" and state.is_cuda:
            from memgauge.systems.backbones.kernels import fla

            return fla.run(name, state, terms)
        return RULES[name].chunk(state, *(widen(t) for t in terms))


def query_rule(name: str, state: Tensor, terms: tuple[Tensor, ...]) -> Tensor:
    """Answer queries by the rule `name` from `state`, which stays as it is."""
    with full_precision(state.device.type):
        return RULES[name].query(state, *(widen(t) for t in terms))


def step_rule(name: str, state: Tensor, terms: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Run one token (L = 1) by the rule itself."""
    with full_precision(state.device.type):
        return RULES[name].step(state, *(widen(t) for t in terms))


def rule_loop(name: str, state: Tensor, terms: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """Do what `run_rule` does, one token at a time: the reference of the chunked forms."""
    outputs = []
    for t in range(terms[0].shape[2]):
        y, state = step_rule(name, state, tuple(None if x is None else x[:, :, t : t + 1] for x in terms))
        outputs.append(y)
    return torch.cat(outputs, 2), state
