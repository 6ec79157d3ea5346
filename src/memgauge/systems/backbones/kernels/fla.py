"""The same recurrences by the Triton kernels of flash-linear-attention (package `fla-core`), on CUDA only.

They take [B, L, H, d] and scale queries themselves; `scale=1` hands them ours. Their tolerance is that of bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from memgauge.errors import InputError

_kernels: dict[str, Callable[..., Any]] = {}


def load() -> None:
    """Import the kernels. Raises `InputError` when the package or Triton is missing."""
    if _kernels:
        return
    try:
        from fla.ops.delta_rule import chunk_delta_rule
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule
        from fla.ops.generalized_delta_rule import chunk_dplr_delta_rule
        from fla.ops.gla import chunk_gla
        from fla.ops.simple_gla import chunk_simple_gla
    except ImportError as error:
        raise InputError(f"the fla kernels cannot be imported ({error}): pip install fla-core triton") from error
    _kernels.update(
        scalar=chunk_simple_gla,
        vector=chunk_gla,
        delta=chunk_delta_rule,
        gated_delta=chunk_gated_delta_rule,
        dplr=chunk_dplr_delta_rule,
    )


def run(name: str, state: Tensor, terms: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Do what `kernels.run_rule` does; 16-bit inputs, single-precision state."""
    q, k, v, *rest = (t.transpose(1, 2).contiguous() for t in terms)
    q, k, v = (t.to(torch.bfloat16) for t in (q, k, v))
    common = {"initial_state": state.float(), "output_final_state": True, "scale": 1.0}
    if name == "scalar":
        y, last = _kernels["scalar"](q, k, v, g=rest[0].squeeze(-1).float(), **common)
    elif name == "vector":
        y, last = _kernels["vector"](q, k, v, g=rest[0].float(), **common)
    elif name == "delta" and len(rest) == 1:
        y, last = _kernels["delta"](q, k, v, beta=rest[0].squeeze(-1).to(torch.bfloat16), **common)
    elif name == "delta":
        g, beta = rest[1].squeeze(-1).float(), rest[0].squeeze(-1).to(torch.bfloat16)
        y, last = _kernels["gated_delta"](q, k, v, g=g, beta=beta, **common)
    else:
        g, a, b = rest
        y, last = _kernels["dplr"](q, k, v, a=a.to(torch.bfloat16), b=b.to(torch.bfloat16), gk=g.float(), **common)
    return y.transpose(1, 2).to(terms[2].dtype), last
