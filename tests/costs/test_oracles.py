"""Formulas against models that are really run, product by product."""

from __future__ import annotations

from functools import partial

import pytest
from counting import Counter, Decoder, ffn, mixture, vision_pass, zeros

from memgauge.costs import price_from_config, vlm_price
from memgauge.costs.vision import (
    FixedViews,
    FrameGroups,
    PooledFrames,
    Resampler,
    Tower,
    gated_merger_per_token,
    merger_per_token,
    projector_per_token,
)

BASE = {
    "hidden_size": 12,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 20,
    "vocab_size": 50,
}
GATED = partial(ffn, width=20, gated=True)
MIXED = partial(mixture, width=7, experts=9, active=3, shared=0)
SHARED = partial(mixture, width=7, experts=9, active=3, shared=14)
CASES = {
    "dense": ({"model_type": "qwen3", "num_hidden_layers": 3}, [(None, GATED)] * 3),
    "two matrices": (
        {"model_type": "starcoder2", "num_hidden_layers": 2, "sliding_window": None},
        [(None, partial(ffn, width=20, gated=False))] * 2,
    ),
    "window in every layer": (
        {"model_type": "mistral", "num_hidden_layers": 2, "sliding_window": 5},
        [(5, GATED)] * 2,
    ),
    "windows by layer_types": (
        {
            "model_type": "gemma3_text",
            "num_hidden_layers": 3,
            "sliding_window": 4,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        },
        [(4, GATED), (None, GATED), (4, GATED)],
    ),
    "windows by pattern": (
        {"model_type": "cohere2", "num_hidden_layers": 5, "sliding_window": 3, "sliding_window_pattern": 4},
        [(3, GATED)] * 3 + [(None, GATED), (3, GATED)],
    ),
    "late windows": (
        {
            "model_type": "qwen2",
            "num_hidden_layers": 3,
            "sliding_window": 3,
            "max_window_layers": 2,
            "use_sliding_window": True,
        },
        [(None, GATED), (None, GATED), (3, GATED)],
    ),
    "mixture": (
        {
            "model_type": "qwen3_moe",
            "num_hidden_layers": 4,
            "num_experts": 9,
            "num_experts_per_tok": 3,
            "moe_intermediate_size": 7,
            "decoder_sparse_step": 2,
            "mlp_only_layers": [3],
        },
        [(None, GATED), (None, MIXED), (None, GATED), (None, GATED)],
    ),
    "mixture with shared experts": (
        {
            "model_type": "glm4_moe",
            "num_hidden_layers": 3,
            "n_routed_experts": 9,
            "n_shared_experts": 2,
            "num_experts_per_tok": 3,
            "moe_intermediate_size": 7,
            "first_k_dense_replace": 1,
        },
        [(None, GATED), (None, SHARED), (None, SHARED)],
    ),
    "experts of the common width": (
        {"model_type": "mixtral", "num_hidden_layers": 2, "num_local_experts": 9, "num_experts_per_tok": 3},
        [(None, partial(mixture, width=20, experts=9, active=3, shared=0))] * 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("prompt", "answer"), [(1, 0), (1, 1), (3, 4), (9, 6), (17, 1)])
def test_prefill_and_decode_equal_the_products_of_a_model_that_runs(name, prompt, answer):
    config, layers = CASES[name]
    price = price_from_config({**BASE, **config}, name).text
    model = Decoder(layers, d=12, n_q=6, n_kv=2, h=4, vocabulary=50)
    assert price.prefill(prompt) == model.read(prompt)
    assert price.decode(prompt, answer) == model.answer(answer)


def test_the_table_models_equal_products_counted_by_hand():
    # Qwen2.5-VL (7B), one token in one layer: shapes from Table 4.
    mm = Counter()
    one = zeros(1, 3584)
    for width in (3584, 512, 512):
        mm(one, zeros(3584, width))
    mm(zeros(1, 3584), zeros(3584, 3584))
    ffn(mm, one, 18944, gated=True)
    assert 28 * mm.flops == vlm_price("qwen2.5-vl-7b").text.B
    # Phi-4-MM's adapters: two thin products beside each fused projection.
    mm = Counter()
    for n_in, n_out in ((3072, 5120), (3072, 3072), (3072, 16384), (8192, 3072)):
        mm(mm(zeros(1, n_in), zeros(n_in, 256)), zeros(256, n_out))
    phi = vlm_price("phi-4-mm")
    assert 32 * mm.flops == phi.video.B - phi.text.B


def test_linear_attention_layers():
    config = {
        **BASE,
        "model_type": "qwen3_5_text",
        "num_hidden_layers": 4,
        "full_attention_interval": 4,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 3,
        "linear_value_head_dim": 5,
        "linear_conv_kernel_dim": 4,
    }
    price = price_from_config(config, "linear").text
    mm = Counter()
    one = zeros(1, 12)
    for width in (6, 6, 20, 20, 4, 4):  # q, k, v, output gate, decay, beta
        mm(one, zeros(12, width))
    for _ in range(6 + 6 + 20):  # a depthwise convolution is one product of width 4 a channel
        mm(zeros(1, 4), zeros(4, 1))
    for _ in range(4):  # each head: old value, correction, output
        mm(zeros(1, 3), zeros(3, 5))
        mm(zeros(3, 1), zeros(1, 5))
        mm(zeros(1, 3), zeros(3, 5))
    mm(zeros(1, 20), zeros(20, 12))
    linear = mm.flops
    mm = Counter()
    for width in (2 * 24, 8, 8):  # queries with their output gate, keys, values
        mm(one, zeros(12, width))
    mm(zeros(1, 24), zeros(24, 12))
    full = mm.flops
    mm = Counter()
    ffn(mm, one, 20, gated=True)
    assert 3 * linear + full + 4 * mm.flops == price.B
    assert [(s.layers, s.per_pair, s.window) for s in price.spans] == [(1, 4 * 6 * 4, None)]


def test_shared_expert_of_its_own_width():
    config = {
        **BASE,
        "model_type": "qwen2_moe",
        "num_hidden_layers": 2,
        "num_experts": 9,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 7,
        "shared_expert_intermediate_size": 14,
        "decoder_sparse_step": 1,
    }
    model = Decoder([(None, SHARED)] * 2, d=12, n_q=6, n_kv=2, h=4, vocabulary=50)
    assert price_from_config(config, "shared").text.prefill(6) == model.read(6)


SHAPE = {"blocks": 3, "width": 6, "ffn_width": 10, "patch": 2}


def test_frame_groups():
    tower = Tower(**SHAPE, gated=True, frames_per_pass=2, full_blocks=1, window=4)
    front = FrameGroups(tower, merge=2, connector_per_token=merger_per_token(6, 9, passes=3))
    # 33x21 pixels: sides to the nearest multiple of 4, 32x20, so 8x5 merged tokens of 4 patches; 5 frames, 3 groups.
    mm = Counter()
    for _ in range(3):
        vision_pass(mm, 160, **SHAPE, gated=True, frames=2, full=1, window=4)
    assert front.vision_flops(5, (33, 21)) == mm.flops
    mm = Counter()
    for _ in range(3):
        mm(mm(zeros(120, 24), zeros(24, 24)), zeros(24, 9))
    assert front.connector_flops(5, (33, 21)) == mm.flops
    assert front.tokens(5, (33, 21)) == 120


def test_gated_merger_and_projectors():
    mm = Counter()
    mm(mm(zeros(1, 24), zeros(24, 9)), zeros(9, 9))
    ffn(mm, zeros(1, 9), 13, gated=True)
    assert gated_merger_per_token(6, 9, 13) == mm.flops
    mm = Counter()
    mm(mm(zeros(1, 24), zeros(24, 9)), zeros(9, 9))
    assert projector_per_token(24, 9) == mm.flops


def test_fixed_views_with_a_class_token():
    front = FixedViews(
        Tower(**SHAPE, gated=False, class_tokens=1), patches=16, views=2, tokens_per_frame=5, connector_per_token=11
    )
    mm = Counter()
    for _ in range(2 * 7):
        vision_pass(mm, 16, **SHAPE, gated=False, frames=1, class_tokens=1)
    assert front.vision_flops(7, (1, 1)) == mm.flops
    assert front.connector_flops(7, (9, 9)) == 7 * 5 * 11


@pytest.mark.parametrize("frames", [1, 64, 180, 181, 360, 1024, 5000])
def test_resampler_packs(frames):
    tower = Tower(**SHAPE, gated=False)
    front = Resampler(tower, patches=16, queries=4, text_width=10, packed=True)
    size = min(6, max(1, -(-frames // 180)))
    packs, left = [], frames
    while left:
        packs.append(min(size, left))
        left -= packs[-1]
    mm = Counter()
    for pack in packs:
        k = 16 * pack
        mm(zeros(k, 6), zeros(6, 10))  # patch features to the language model's width
        for _ in range(2):  # keys, values
            mm(zeros(k, 10), zeros(10, 10))
        mm(mm(zeros(4, 10), zeros(10, k)), zeros(k, 10))
        for _ in range(3):  # query, output and final projections of the queries
            mm(zeros(4, 10), zeros(10, 10))
    assert front.connector_flops(frames, (1, 1)) == mm.flops
    assert front.tokens(frames, (1, 1)) == 4 * len(packs)


@pytest.mark.parametrize(
    ("frames", "pool"), [(1, 4), (64, 4), (256, 4), (257, 8), (512, 8), (1024, 16), (1025, 32), (9000, 32)]
)
def test_longvila_pools_by_clip_length(frames, pool):
    front = PooledFrames(Tower(**SHAPE, gated=False), patches=16, projected_per_frame=256, connector_per_token=3)
    assert front.tokens(frames, (1, 1)) == 257 * (frames // pool)
    assert front.connector_flops(frames, (1, 1)) == 256 * frames * 3
