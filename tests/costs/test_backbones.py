"""Closed forms against counts by loop, at lengths where edges lie."""

from __future__ import annotations

import pytest
from counting import Counter, ffn, zeros
from hypothesis import given
from hypothesis import strategies as st

from memgauge.costs import backbone_cost, backbone_flops, list_backbones
from memgauge.errors import InputError

NAMES = [b.name for b in list_backbones()]


def pairs_by_loop(tokens, see):
    """Sum over tokens t = 1.. of how many positions each sees."""
    return sum(see(t) for t in range(1, tokens + 1))


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 40, 200])
@pytest.mark.parametrize("d", [64, 128])
def test_attention_types_count_valid_pairs_only(d, length):
    t = length + 1
    causal = pairs_by_loop(t, lambda i: i)
    strict = pairs_by_loop(t, lambda i: i - 1)
    window = pairs_by_loop(t, lambda i: min(i, 17))
    score_and_value = 4 * d
    assert backbone_flops("rope", d, length) == 3 * (12 * t * d * d + causal * score_and_value)
    assert backbone_flops("conv", d, length) == 3 * (12 * t * d * d + causal * score_and_value + t * d * 2 * 4)
    assert backbone_flops("memory-mosaic", d, length) == 3 * (58 * t * d * d + strict * score_and_value)
    deltaformer = 8 * d * d + 2 * d * (d // 16) + 6 * d * 256
    assert backbone_flops("deltaformer", d, length) == 3 * (t * deltaformer + (strict + causal) * score_and_value)
    fast_weights = 56 * 16 * 16 * (d // 16)
    ttt = (8 + 10 + 4) * d * d + 2 * d * (d // 16) + fast_weights
    assert backbone_flops("ttt-mlp", d, length) == 3 * (t * ttt + window * score_and_value)


@pytest.mark.parametrize("d", [64, 128])
def test_recurrent_types_equal_the_products_of_one_token(d):
    heads = d // 16
    one = zeros(1, d)

    def token(build):
        mm = Counter()
        build(mm)
        return mm.flops

    def conv(mm, channels):
        for _ in range(channels):
            mm(zeros(1, 4), zeros(4, 1))

    def state(mm, passes, d_k, d_v, count=heads):
        for _ in range(passes * count):
            mm(zeros(1, d_k), zeros(d_k, d_v))

    def gru(mm):
        for _ in range(2):
            mm(one, zeros(d, 3 * d))

    def gla(mm):
        for width in (d // 2, d // 2, d, d, d):
            mm(one, zeros(d, width))
        mm(mm(one, zeros(d, 16)), zeros(16, d // 2))
        state(mm, 2, 8, 16)
        ffn(mm, one, 256, gated=True)

    def retnet(mm):
        for width in (d, d, 2 * d, 2 * d):
            mm(one, zeros(d, width))
        mm(zeros(1, 2 * d), zeros(2 * d, d))
        conv(mm, 4 * d)
        state(mm, 2, 16, 32)
        ffn(mm, one, 256, gated=True)

    def deltanet(mm):
        for width in (d, d, d, d, heads):
            mm(one, zeros(d, width))
        conv(mm, 3 * d)
        state(mm, 3, 16, 16)
        ffn(mm, one, 256, gated=True)

    def gated_deltanet(mm):
        for width in (d, d, 2 * d, 2 * d, heads, heads):
            mm(one, zeros(d, width))
        mm(zeros(1, 2 * d), zeros(2 * d, d))
        conv(mm, 4 * d)
        state(mm, 3, 16, 32)
        ffn(mm, one, 4 * d, gated=True)

    def mamba2(mm):
        mm(one, zeros(d, 8 * d + d // 32))
        conv(mm, 6 * d)
        state(mm, 2, 2 * d, 64, count=d // 32)
        mm(zeros(1, 2 * d), zeros(2 * d, d))

    def mom(mm):
        mm(one, zeros(d, 16))
        for width in (d, d, d, heads, heads, d, d):
            mm(one, zeros(d, width))
        for _ in range(4):
            conv(mm, 3 * d)
            state(mm, 3, 16, 16)
        ffn(mm, one, 4 * d, gated=True)

    def rwkv7(mm, layer):
        for _ in range(4):
            mm(one, zeros(d, d))
        for rank in (64, 64, 128, *([16] if layer else [])):
            mm(mm(one, zeros(d, rank)), zeros(rank, d))
        state(mm, 4, 16, 16)
        ffn(mm, one, 4 * d, gated=False)

    uniform = {
        "gru": gru,
        "gla": gla,
        "retnet": retnet,
        "deltanet": deltanet,
        "gated-deltanet": gated_deltanet,
        "mamba2": mamba2,
        "mom": mom,
    }
    for name, build in uniform.items():
        assert backbone_flops(name, d, 10) == 11 * 3 * token(build), name
    assert backbone_flops("rwkv7", d, 10) == 11 * sum(token(lambda mm, i=i: rwkv7(mm, i)) for i in range(3))


def compressive_by_simulation(d, tokens):
    """Write tokens into blocks of 128; keep the memories as lists of slots; count as things happen."""
    flops, open_block, blocks = 0, 0, 0
    short, compressed, long_term, final = 0, 0, 0, 0
    for _ in range(tokens):
        open_block += 1
        slots = short + compressed + long_term + final
        flops += 8 * d * d + 16 * d * d + 24 * d * d  # attention projections, feed-forward, two gates
        flops += 6 * d * (slots + open_block)  # content, position, value
        if open_block < 128:
            continue
        blocks, open_block = blocks + 1, 0
        evicted, short = short, 128
        if evicted:
            flops += 320 * d * d
            compressed += evicted // 8
        if compressed > 32:
            compressed -= 16
            flops += 48 * d * d
            long_term += 4
        if long_term > 32:
            long_term -= 4
            flops += 32 * d * d + 16 * d
            final = 1
    return 3 * flops


@pytest.mark.parametrize(
    "length", [0, 1, 127, 128, 129, 255, 256, 384, 385, 512, 1024, 1407, 1408, 1536, 1537, 1664, 1665, 2048, 2500]
)
def test_compressive_transformer_equals_its_simulation(length):
    assert backbone_flops("compressive", 64, length) == compressive_by_simulation(64, length + 1)
    assert backbone_cost("compressive", 128, length).F_write == compressive_by_simulation(128, length)


def test_compressive_transformer_as_printed():
    d, n = 64, 16  # the printed expression for n >= 12 full blocks and one token
    slots = [0, 128, 144, *(160 + 4 * (b - 4) for b in range(4, 13)), *[193] * (n - 12)]
    blocks = sum(6144 * d * d + 6 * d * (128 * m + 8256) for m in slots)
    maintenance = (n - 1) * 320 * d * d + (n - 3) * 48 * d * d + (n - 11) * (32 * d * d + 16 * d)
    assert backbone_flops("compressive", d, 128 * n) == 3 * (blocks + maintenance + 48 * d * d + 1164 * d)


@given(st.sampled_from(NAMES), st.sampled_from([32, 64, 96, 128, 256]), st.integers(0, 5000))
def test_writes_and_reads_add_up_and_grow(name, width, length):
    cost, longer = backbone_cost(name, width, length), backbone_cost(name, width, length + 1)
    assert cost.F_total == cost.F_write + cost.F_read == backbone_flops(name, width, length)
    assert longer.F_write >= cost.F_total  # the query took the next symbol's place
    assert cost.F_read > 0


def test_names():
    assert [b.table12_name for b in list_backbones() if b.name == "nope"] == [None]
    assert backbone_flops("nope", 64, 100) == backbone_flops("rope", 64, 100)
    assert backbone_flops("Gated DeltaNet", 64, 5) == backbone_flops("gated-deltanet", 64, 5)
    assert len(NAMES) == 15
    with pytest.raises(InputError, match="deltanet"):
        backbone_flops("delta-net", 64, 5)


@pytest.mark.parametrize(("width", "length"), [(0, 5), (-16, 5), (65, 5), (64, -1), (2**30, 5), (64, 10**15)])
def test_bad_sizes_are_refused(width, length):
    with pytest.raises(InputError):
        backbone_flops("gla", width, length)


def test_mamba_needs_whole_heads():
    with pytest.raises(InputError, match="multiple of 32"):
        backbone_flops("mamba2", 48, 5)
