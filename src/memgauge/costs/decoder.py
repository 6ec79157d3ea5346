"""What a decoder costs: per-token products, query-key pairs, and the vocabulary (ECCBench, B.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from memgauge.costs.arithmetic import Rational, causal_pairs


def attention_projections(d: int, n_q: int, n_kv: int, h: int, *, output_gate: bool = False) -> int:
    """Return 2d(d_q + 2 d_kv) + 2 d_q d, a token's query, key, value and output products in one layer.

    `output_gate` doubles the query projection, as in layers that gate what attention returns.
    """
    d_q, d_kv = n_q * h, n_kv * h
    return 2 * d * (d_q * (2 if output_gate else 1) + 2 * d_kv) + 2 * d_q * d


def gated_ffn(d: int, f: int) -> int:
    """Return 6df, a three-matrix feed-forward."""
    return 6 * d * f


def plain_ffn(d: int, f: int) -> int:
    """Return 4df, a two-matrix feed-forward."""
    return 4 * d * f


def mixture_ffn(d: int, f: int, experts: int, active: int, shared_width: int = 0) -> int:
    """Return the router 2dE, `active` gated experts of width f, and an always-active one of width `shared_width`."""
    return 2 * d * experts + active * gated_ffn(d, f) + gated_ffn(d, shared_width)


def lora_products(rank: int, shapes: Iterable[tuple[int, int]]) -> int:
    """Return 2r(in + out) summed over the adapted projections: two thin products beside each main one."""
    return sum(2 * rank * (n_in + n_out) for n_in, n_out in shapes)


def delta_layer(d: int, key_heads: int, value_heads: int, d_k: int, d_v: int, kernel: int) -> int:
    """Return a token's cost in a gated-delta linear-attention layer: projections, convolution, state, output.

    Counted as the Gated DeltaNet of ECCBench, C.2: q, k, v and output gate, decay and beta heads, a depthwise
    convolution over q, k and v, three state-sized products a value head, and the output projection.
    """
    keys, values = key_heads * d_k, value_heads * d_v
    projections = 2 * d * (2 * keys + 2 * values) + 2 * d * 2 * value_heads + 2 * values * d
    return projections + 2 * kernel * (2 * keys + values) + 6 * value_heads * d_k * d_v


@dataclass(frozen=True, slots=True)
class AttentionSpan:
    """Layers that see equally far back."""

    layers: int
    per_pair: int
    """Cost of one query-key pair in all these layers together: 4 n_q h each."""
    window: int | None = None
    """How many positions a token sees, itself included; None: all before it."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """Prices of one decoder: B a token, A a query-key pair, F_voc an output distribution."""

    B: int
    spans: tuple[AttentionSpan, ...]
    F_voc: int
    width: int
    """d_t, which connectors project to."""

    @property
    def A(self) -> int:
        """Price of a pair that every attention layer scores: the sum over spans, 4 L n_q h for a uniform model."""
        return sum(span.per_pair for span in self.spans)

    def prefill(self, n: Rational) -> Fraction:
        """Return what reading n tokens costs: B n + A P(n), with windowed pairs where layers have a window."""
        return self.B * Fraction(n) + sum(s.per_pair * causal_pairs(n, s.window) for s in self.spans)

    def decode(self, n: Rational, t: Rational) -> Fraction:
        """Return what generating t tokens costs after n were read: t F_voc, and t-1 more passes through the layers.

        Reading yields the first token's distribution, so the layers run max(0, t-1) times; the s-th pass attends over
        n + s positions.
        """
        passes = max(Fraction(0), Fraction(t) - 1)
        pairs = sum(s.per_pair * (causal_pairs(n + passes, s.window) - causal_pairs(n, s.window)) for s in self.spans)
        return Fraction(t) * self.F_voc + passes * self.B + pairs


def language_model(d: int, vocabulary: int, layers: Iterable[tuple[int, int, int | None]]) -> LanguageModel:
    """Collect layers, each (per-token cost, per-pair cost, window), into a price list.

    Layers with equal windows form one span; a layer without attention pairs has per-pair cost 0.

    >>> language_model(8, 100, [(10, 4, None), (10, 4, None), (10, 4, 16)]).spans
    (AttentionSpan(layers=2, per_pair=8, window=None), AttentionSpan(layers=1, per_pair=4, window=16))
    """
    per_token = 0
    spans: dict[int | None, tuple[int, int]] = {}
    for token_cost, pair_cost, window in layers:
        per_token += token_cost
        if pair_cost:
            count, total = spans.get(window, (0, 0))
            spans[window] = (count + 1, total + pair_cost)
    found = tuple(AttentionSpan(count, total, window) for window, (count, total) in spans.items())
    return LanguageModel(per_token, found, 2 * d * vocabulary, d)
