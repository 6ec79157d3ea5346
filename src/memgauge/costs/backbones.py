"""Closed forms of the backbones that are trained from scratch (ECCBench, C.2): three layers, heads of width 16.

Each form counts a causal pass over T tokens. A stream of L symbols and one query are T = L + 1 tokens, so Table 12 is
each form at L + 1; what the stream alone costs (the write) is the form at L, and the difference is the read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memgauge.costs.arithmetic import MAX_COUNT
from memgauge.errors import InputError, unknown_name

LAYERS = 3
HEAD = 16
MAX_WIDTH = 2**20
Form = Callable[[int, int], int]
"""(width D, tokens T) to FLOPs of all three layers."""


def _pairs(t: int) -> int:
    return t * (t + 1) // 2


def _transformer(d: int, t: int) -> int:
    return LAYERS * (12 * t * d * d + 4 * _pairs(t) * d)


def _conv_transformer(d: int, t: int) -> int:
    return _transformer(d, t) + LAYERS * 8 * d * t


def _gru(d: int, t: int) -> int:
    return LAYERS * 12 * t * d * d


def _mamba2(d: int, t: int) -> int:
    if d % 32:
        raise InputError(f"width is {d}: mamba2 has heads of width 64 over 2D channels, so take a multiple of 32")
    d_in = 8 * d + 2 * d // 64
    return LAYERS * t * (2 * d * d_in + 8 * 6 * d + 20 * d * d)


def _gla(d: int, t: int) -> int:
    return LAYERS * t * (8 * d * d + 1616 * d)


def _retnet(d: int, t: int) -> int:
    return LAYERS * t * (16 * d * d + 1696 * d)


def _deltanet(d: int, t: int) -> int:
    return LAYERS * t * (8 * d * d + d * d // 8 + 1656 * d)


def _gated_deltanet(d: int, t: int) -> int:
    return LAYERS * t * (40 * d * d + d * d // 4 + 224 * d)


def _rwkv7(d: int, t: int) -> int:
    return t * (72 * d * d + 3584 * d)


def _deltaformer(d: int, t: int) -> int:
    return LAYERS * (t * (8 * d * d + d * d // 8 + 1536 * d) + 4 * d * t * t)


def _ttt_mlp(d: int, t: int) -> int:
    window = 16
    seen = min(t, window + 1)
    window_pairs = _pairs(seen) + (t - seen) * (window + 1)
    return LAYERS * (t * (22 * d * d + d * d // 8 + 896 * d) + 4 * d * window_pairs)


def _mom(d: int, t: int) -> int:
    return LAYERS * t * (34 * d * d + d * d // 4 + 512 * d)


def _memory_mosaic(d: int, t: int) -> int:
    return LAYERS * (58 * t * d * d + 2 * d * t * (t - 1))


COMPRESSIVE_BLOCK = 128


def compressive_slots(block: int) -> int:
    """Return m_b, the memory slots that block `block` (from 1) of the Compressive Transformer sees.

    128 short-term slots; 16 compressed ones a block, of which 32 fit; then 4 long-term ones a block, up to 32; then 1.

    >>> [compressive_slots(b) for b in (1, 2, 3, 4, 5, 12, 13, 40)]
    [0, 128, 144, 160, 164, 192, 193, 193]
    """
    if block <= 4:
        return (0, 128, 144, 160)[block - 1]
    return 160 + 4 * (block - 4) if block <= 12 else 193


def _compressive(d: int, t: int) -> int:
    """Blocks of 128 tokens with maintenance after each, then the tokens of a block that is still open.

    The paper prints the case of one token in the open block (48 D^2 + 1164 D after 13 blocks and more); r tokens cost
    r times the same products and r m + r(r+1)/2 pairs.
    """
    full, rest = divmod(t, COMPRESSIVE_BLOCK)
    slots = sum(compressive_slots(b) for b in range(1, min(full, 12) + 1)) + max(0, full - 12) * 193
    pairs = COMPRESSIVE_BLOCK * slots + full * _pairs(COMPRESSIVE_BLOCK)
    pairs += rest * compressive_slots(full + 1) + _pairs(rest)
    maintenance = (
        max(0, full - 1) * 320 * d * d + max(0, full - 3) * 48 * d * d + max(0, full - 11) * (32 * d * d + 16 * d)
    )
    return LAYERS * (48 * d * d * t + 6 * d * pairs + maintenance)


@dataclass(frozen=True, slots=True)
class Backbone:
    """A backbone: its name here, its row in Table 12, and its closed form."""

    name: str
    table12_name: str | None
    """None for `nope`, which the paper trained, never saw learn, and does not print; it costs what `rope` costs."""
    form: Form


BACKBONES: dict[str, Backbone] = {
    entry.name: entry
    for entry in (
        Backbone("rope", "Transformer (RoPE)", _transformer),
        Backbone("conv", "Transformer (conv)", _conv_transformer),
        Backbone("gru", "GRU", _gru),
        Backbone("gla", "GLA", _gla),
        Backbone("retnet", "RetNet", _retnet),
        Backbone("deltanet", "DeltaNet", _deltanet),
        Backbone("gated-deltanet", "Gated DeltaNet", _gated_deltanet),
        Backbone("mamba2", "Mamba-2", _mamba2),
        Backbone("rwkv7", "RWKV-7", _rwkv7),
        Backbone("deltaformer", "DeltaFormer", _deltaformer),
        Backbone("ttt-mlp", "TTT-MLP", _ttt_mlp),
        Backbone("mom", "MoM", _mom),
        Backbone("memory-mosaic", "Memory Mosaic", _memory_mosaic),
        Backbone("compressive", "Compressive Transformer", _compressive),
        Backbone("nope", None, _transformer),
    )
}


def list_backbones() -> tuple[Backbone, ...]:
    """Return the fourteen backbones of Table 12, and `nope`."""
    return tuple(BACKBONES.values())


@dataclass(frozen=True, slots=True)
class BackboneCost:
    """FLOPs of a stream and of one query after it."""

    F_write: int
    F_read: int

    @property
    def F_total(self) -> int:
        """The whole pass over L + 1 tokens, as Table 12 prints it."""
        return self.F_write + self.F_read


def backbone_cost(name: str, width: int, length: int) -> BackboneCost:
    """Price a backbone of `width` on a stream of `length` symbols with one query.

    `width` is a multiple of 16 (of 32 for mamba2); the paper uses 64 and 128. The feed-forward widths that C.2 writes
    as 256 stay 256 at every width. Raises `InputError` for an unknown name (with the nearest ones), width or length.

    >>> backbone_cost("gru", 64, 2048).F_total
    302137344
    """
    entry = BACKBONES.get(name) or next((b for b in BACKBONES.values() if b.table12_name == name), None)
    if entry is None:
        raise unknown_name("backbone", name, BACKBONES)
    if not HEAD <= width <= MAX_WIDTH or width % HEAD:
        raise InputError(f"width is {width}: heads are {HEAD} wide, so take a multiple of {HEAD} up to {MAX_WIDTH}")
    if not 0 <= length <= MAX_COUNT:
        raise InputError(f"length is {length}: give 0 to {MAX_COUNT} symbols")
    write = entry.form(width, length)
    return BackboneCost(write, entry.form(width, length + 1) - write)


def backbone_flops(name: str, width: int, length: int) -> int:
    """Return the FLOPs of a stream of `length` symbols and one query, as in Table 12.

    >>> backbone_flops("rope", 64, 2048)
    1915110144
    """
    return backbone_cost(name, width, length).F_total
