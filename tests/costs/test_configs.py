"""Prices from Hugging Face config.json files: the table's models come out equal, unseen ones by the same rules."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.costs import load_price, price_from_config, price_response, vlm_price
from memgauge.costs.config_fields import Fields
from memgauge.costs.configs import Family, _layer_kinds, decoder_families
from memgauge.errors import InputError


def decoder(d, layers, n_q, n_kv, f, vocabulary, **rest):
    return {
        "hidden_size": d,
        "num_hidden_layers": layers,
        "num_attention_heads": n_q,
        "num_key_value_heads": n_kv,
        "intermediate_size": f,
        "vocab_size": vocabulary,
        **rest,
    }


QWEN3_TOWER = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "deepstack_visual_indexes": [8, 16, 24],
}


def qwen25_tower(f, d_t):
    return {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": f,
        "num_heads": 16,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31],
        "out_hidden_size": d_t,
    }


def intern(width, blocks, f):
    return {
        "hidden_size": width,
        "num_hidden_layers": blocks,
        "intermediate_size": f,
        "image_size": 448,
        "patch_size": 14,
    }


EXPERTS = {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "decoder_sparse_step": 1}
# Configs as released, cut down to the fields that enter a price.
RELEASED = {
    "Qwen2.5-VL (7B)": {
        "model_type": "qwen2_5_vl",
        **decoder(3584, 28, 28, 4, 18944, 152064, use_sliding_window=False, sliding_window=32768),
        "vision_config": qwen25_tower(3420, 3584),
    },
    "MIMO-VL (7B)": {
        "model_type": "qwen2_5_vl",
        **decoder(4096, 36, 32, 8, 11008, 151680, head_dim=128),
        "vision_config": qwen25_tower(3456, 4096),
    },
    "Qwen3-VL (8B)": {
        "model_type": "qwen3_vl",
        "text_config": decoder(4096, 36, 32, 8, 12288, 151936, head_dim=128, model_type="qwen3_vl_text"),
        "vision_config": {**QWEN3_TOWER, "out_hidden_size": 4096},
    },
    "Qwen3-Omni (30B, A3B)": {
        "model_type": "qwen3_omni_moe",
        "thinker_config": {
            "text_config": decoder(
                2048,
                48,
                32,
                4,
                768,
                152064,
                head_dim=128,
                model_type="qwen3_omni_moe_text",
                mlp_only_layers=[],
                **EXPERTS,
            ),
            "vision_config": {**QWEN3_TOWER, "out_hidden_size": 2048},
        },
        "talker_config": {"text_config": {}},
    },
    "GLM-4.5V (104B, A12B)": {
        "model_type": "glm4v_moe",
        "text_config": decoder(
            4096,
            46,
            96,
            8,
            10944,
            151552,
            head_dim=128,
            model_type="glm4v_moe_text",
            n_routed_experts=128,
            num_experts_per_tok=8,
            n_shared_experts=1,
            moe_intermediate_size=1408,
            first_k_dense_replace=1,
        ),
        "vision_config": {
            "depth": 24,
            "hidden_size": 1536,
            "intermediate_size": 10944,
            "out_hidden_size": 4096,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
    },
    "InternVL3.5 (8B)": {
        "model_type": "internvl_chat",
        "downsample_ratio": 0.5,
        "force_image_size": 448,
        "llm_config": decoder(4096, 36, 32, 8, 12288, 151936, head_dim=128, model_type="qwen3"),
        "vision_config": intern(1024, 24, 4096),
    },
    "InternVL3.5 (30B, A3B)": {
        "model_type": "internvl",
        "downsample_ratio": 0.5,
        "text_config": decoder(2048, 48, 32, 4, 6144, 151936, head_dim=128, model_type="qwen3_moe", **EXPERTS),
        "vision_config": {**intern(1024, 24, 4096), "image_size": [448, 448], "patch_size": [14, 14]},
    },
    "InternVL3.5 (38B)": {
        "model_type": "internvl_chat",
        "downsample_ratio": 0.5,
        "llm_config": decoder(5120, 64, 64, 8, 25600, 151936, head_dim=128, model_type="qwen3"),
        "vision_config": intern(3200, 45, 12800),
    },
    "Phi-4-MM (6B)": {"model_type": "phi4mm", **decoder(3072, 32, 24, 8, 8192, 200064, sliding_window=262144)},
}


@pytest.mark.parametrize("name", RELEASED)
@pytest.mark.parametrize("task", ["ecc-text", "ecc-video", "natural-video"])
def test_released_configs_give_the_table_prices(name, task):
    price = price_from_config(RELEASED[name], name)
    if name.startswith("Phi") and task != "ecc-text":
        with pytest.raises(InputError, match="vision"):
            price_response(price, task, 64, 3)
        return
    got = price_response(price, task, 63, 3, option_frames=0 if task == "ecc-text" else 5).as_json()
    expected = price_response(vlm_price(name), task, 63, 3, option_frames=got["option_frames"]).as_json()
    for key in expected.keys() - {"notes", "attention"}:
        assert got[key] == expected[key], key


def test_unseen_dense_sizes():
    # Qwen3-VL (4B): 36 layers of width 2560.
    config = copy.deepcopy(RELEASED["Qwen3-VL (8B)"])
    config["text_config"].update(hidden_size=2560, intermediate_size=9728)
    config["vision_config"].update(depth=24, hidden_size=1024, intermediate_size=4096, out_hidden_size=2560)
    cost = price_response(price_from_config(config, "4b"), "ecc-video", 64, 3)
    assert cost.B == 36 * (2 * 2560 * (4096 + 2 * 1024) + 2 * 4096 * 2560 + 6 * 2560 * 9728)
    assert cost.N == 6400
    assert cost.F_connector == 6272 * 4 * (2 * 4096**2 + 2 * 4096 * 2560)


def drop(config, path):
    config = copy.deepcopy(config)
    inner = config
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return config


# Fields that only add layers that slide or stay dense: without them there are none.
OPTIONAL = {"use_sliding_window", "sliding_window", "mlp_only_layers", "num_heads", "decoder_sparse_step"}


def paths(config, prefix=()):
    for key, value in config.items():
        if isinstance(value, dict):
            yield from paths(value, (*prefix, key))
        else:
            yield (*prefix, key)


def needed(name):
    for path in paths(RELEASED[name]):
        leaf, section = path[-1], parent(RELEASED[name], path)
        replaced = {
            "head_dim": name.startswith("MIMO"),  # 4096 / 32
            "intermediate_size": "num_experts" in section,
            "model_type": len(path) > 1,  # the outer one stands in
            "image_size": "force_image_size" in RELEASED[name],
            "force_image_size": True,
        }
        if leaf not in OPTIONAL and not replaced.get(leaf):
            yield path


def parent(config, path):
    for key in path[:-1]:
        config = config[key]
    return config


MISSING = [(name, path) for name in RELEASED for path in needed(name)]


@pytest.mark.parametrize(("name", "path"), MISSING, ids=lambda v: ".".join(v) if isinstance(v, tuple) else v[:9])
def test_a_missing_field_is_named(name, path):
    config = drop(RELEASED[name], path)
    leaf = path[-1]
    # 4096 / 96 heads is no width, so GLM's error says that head_dim must be added.
    match = "no multiple .* head_dim" if leaf == "head_dim" and name.startswith("GLM") else f"'{leaf}'"
    task = "ecc-text" if name.startswith("Phi") else "ecc-video"
    with pytest.raises(InputError, match=match):
        price_response(price_from_config(config, name), task, 64, 3)


def test_a_broken_tower_leaves_text_priceable():
    config = drop(RELEASED["Qwen3-VL (8B)"], ("vision_config", "depth"))
    price = price_from_config(config, "x")
    assert price_response(price, "ecc-text", 64, 3).F_total > 0
    with pytest.raises(InputError, match="vision_config: the field 'depth'"):
        price_response(price, "ecc-video", 64, 3)


def test_text_models_cannot_be_priced_on_video():
    price = price_from_config({"model_type": "llama", **decoder(64, 2, 4, 4, 128, 100)}, "tiny")
    with pytest.raises(InputError, match="vision tower"):
        price_response(price, "natural-video", 64, 3)


def test_families_outside_the_table_say_so():
    config = {
        "model_type": "gemma3",
        "text_config": decoder(64, 2, 4, 4, 128, 100, head_dim=16, model_type="gemma3_text", sliding_window_pattern=2)
        | {"sliding_window": 9},
        "vision_config": {"hidden_size": 8},
    }
    price = price_from_config(config, "gemma")
    assert price_response(price, "ecc-text", 64, 3).as_json()["attention"] == [
        {"layers": 1, "A": 256, "window": 9},
        {"layers": 1, "A": 256, "window": None},
    ]
    with pytest.raises(InputError, match="'gemma3' is none of the families"):
        price_response(price, "ecc-video", 64, 3)


def test_what_is_taken_for_granted_is_noted():
    config = drop(RELEASED["InternVL3.5 (30B, A3B)"], ("text_config", "decoder_sparse_step"))
    assert "decoder_sparse_step" in price_from_config(config, "x").notes[0]
    assert price_from_config(RELEASED["InternVL3.5 (30B, A3B)"], "x").notes == ()


LLAMA = {"model_type": "llama", **decoder(64, 4, 4, 2, 128, 100)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "deepseek_v3"}, "deepseek_v3"),
        ({"model_type": "lama"}, "did you mean 'llama'"),
        ({"model_type": None}, "model_type"),
        ({"model_type": 7}, "model_type"),
        ({"hidden_size": "64"}, "hidden_size"),
        ({"hidden_size": 64.0}, "hidden_size"),
        ({"hidden_size": True}, "hidden_size"),
        ({"hidden_size": -64}, "hidden_size"),
        ({"hidden_size": 10**30}, "hidden_size"),
        ({"num_hidden_layers": 10**8}, "num_hidden_layers"),
        ({"num_attention_heads": 5}, "no multiple"),
        ({"layer_types": ["full_attention"] * 3}, "names 3 layers"),
        ({"layer_types": ["full_attention", "sliding_attention"] * 2}, "sliding_window"),
        ({"layer_types": ["linear_attention"] * 4}, "linear_attention"),
        ({"layer_types": ["chunked_attention"] * 4}, "chunked_attention"),
        ({"layer_types": "full_attention"}, "layer_types"),
        ({"layer_types": [1, 2, 3, 4]}, "layer_types"),
        ({"model_type": "mistral"}, "sliding_window"),
        ({"model_type": "gemma3_text", "head_dim": 16}, "layer_types.*sliding_window_pattern"),
        ({"model_type": "gpt_oss", "head_dim": 16}, "layer_types"),
        ({"model_type": "qwen3"}, "head_dim"),
        ({"model_type": "qwen2", "use_sliding_window": True}, "max_window_layers"),
        ({"model_type": "qwen2", "use_sliding_window": "yes"}, "true or false"),
        (
            {
                "model_type": "qwen2",
                "use_sliding_window": False,
                "layer_types": ["sliding_attention"] * 4,
                "sliding_window": 5,
            },
            "use_sliding_window is false",
        ),
        (
            {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 5},
            "exceeds the 4 experts",
        ),
        ({"model_type": "gemma", "head_dim": 16, "use_bidirectional_attention": True}, "bidirectional"),
    ],
)
def test_unusable_configs_name_the_field(change, message):
    with pytest.raises(InputError, match=message):
        price_from_config({**LLAMA, **change}, "x", "x.json")


def test_windows_only_where_the_config_says_so():
    for family in ("llama", "qwen2", "mixtral"):
        config = {**LLAMA, "model_type": family, "num_local_experts": 4, "num_experts_per_tok": 2}
        assert price_from_config(config, "x").text.spans[0].window is None
    config = {**LLAMA, "model_type": "qwen3_moe", "head_dim": 16, **EXPERTS, "use_sliding_window": True}
    assert price_from_config({**config, "sliding_window": 7}, "x").text.spans[0].window == 7


def test_layer_kinds_agree_with_the_families_own_code():
    """transformers builds `layer_types` itself where a config leaves it out: the same layers must slide."""
    transformers = pytest.importorskip("transformers")
    cases = {
        "gemma2": {"sliding_window": 8},
        "gemma3_text": {"sliding_window": 8, "sliding_window_pattern": 3},
        "cohere2": {"sliding_window": 8, "sliding_window_pattern": 4},
        "qwen2": {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 5},
        "qwen3": {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 2},
        "qwen3_next": {"full_attention_interval": 3},
        "qwen3_5_text": {"full_attention_interval": 4},
    }
    kinds = {"full_attention": "full", "sliding_attention": "sliding", "linear_attention": "linear"}
    for model_type, fields in cases.items():
        theirs = transformers.AutoConfig.for_model(model_type, num_hidden_layers=7, **fields).layer_types
        ours = _layer_kinds(Fields(fields, "x.json"), decoder_families()[model_type], 7)
        assert ours == [kinds[kind] for kind in theirs], model_type


def test_every_family_is_well_formed():
    for name, family in decoder_families().items():
        assert isinstance(family, Family)
        assert family.ffn in ("gated", "plain"), name
        assert family.head_width in ("derived", "named"), name
        assert family.mixture in (None, "sparse-step", "every-layer", "local", "routed"), name


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(sorted({*LLAMA, "text_config", "vision_config", "layer_types", "thinker_config", "head_dim"})),
)
def test_any_value_in_any_field_is_priced_or_refused(value, field):
    try:
        price = price_from_config({**LLAMA, field: value}, "x")
    except InputError:
        return
    assert price.text.B > 0


def test_files_and_folders(tmp_path):
    folder = tmp_path / "My-Model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "other.json").write_text("\ufeff" + json.dumps(LLAMA))
    assert load_price(folder).name == "My-Model"
    assert load_price(str(folder / "config.json")).name == "My-Model"
    assert load_price(str(tmp_path / "other.json")).name == "other"
    assert load_price("qwen3-vl-8b").name == "Qwen3-VL (8B)"


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "not JSON"), (b"[1]", "not a JSON object"), (b"\xff\xfe", "not JSON"), (b"[" * 100_000, "not JSON")],
)
def test_files_that_are_no_config(tmp_path, content, message):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_price(file)


def test_missing_and_huge_files(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="no such file"):
        load_price(str(tmp_path / "none.json"))
    with pytest.raises(InputError, match=r"no config\.json"):
        load_price(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="unknown model"):
        load_price("qwen9")
    (tmp_path / "qwen9").mkdir()
    with pytest.raises(InputError, match=r"no config\.json"):
        load_price("qwen9")
    file = tmp_path / "big.json"
    file.write_bytes(b" " * 10_000_001)
    with pytest.raises(InputError, match="larger than"):
        load_price(file)
