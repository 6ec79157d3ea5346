"""Prices of models outside the table, from their Hugging Face `config.json`, by the rules of ECCBench, B.3.

A field that the rules need and the config lacks is an error that names it. What a config does not say because it is
the family's own rule (gating, which layers slide) stands in `data/decoders.json` by `model_type`; a model type that is
not listed there is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memgauge.costs.config_fields import Fields
from memgauge.costs.config_vision import front_end_from_config
from memgauge.costs.decoder import (
    LanguageModel,
    attention_projections,
    delta_layer,
    gated_ffn,
    language_model,
    mixture_ffn,
    plain_ffn,
)
from memgauge.costs.prices import VlmPrice, read_data, vlm_price
from memgauge.errors import InputError, MemgaugeError, unknown_name

MAX_CONFIG_BYTES = 10_000_000
MAX_LAYERS = 10_000
TEXT_SECTIONS = ("text_config", "llm_config", "language_config")


@dataclass(frozen=True, slots=True)
class Family:
    """What a decoder family does that its configs do not say (see `data/decoders.json`)."""

    ffn: str = "gated"
    head_width: str = "derived"
    window: str = "never"
    mixture: str | None = None
    shared: str | None = None
    linear: bool = False
    output_gate: bool = False


@cache
def decoder_families() -> dict[str, Family]:
    """Return the known decoder families by `model_type`."""
    families: dict[str, Family] = {}
    for entry in read_data("decoders.json")["families"]:
        family = Family(**{key: value for key, value in entry.items() if key != "names"})
        families.update(dict.fromkeys(entry["names"], family))
    return families


def load_price(source: str | Path) -> VlmPrice:
    """Find a price: a name of the table, a `config.json`, or a folder that holds one.

    What ends in `.json` or has a path separator is a file or folder; anything else is a name first. Raises
    `InputError` that names the file and the field, or the nearest names.
    """
    text = str(source)
    looks_like_path = isinstance(source, Path) or text.endswith(".json") or "/" in text or "\\" in text
    if not looks_like_path:
        try:
            return vlm_price(text)
        except MemgaugeError:
            if not Path(text).exists():
                raise
    path = Path(text).expanduser()
    if path.is_dir():
        file = path / "config.json"
        if not file.is_file():
            raise InputError(f"{path} holds no config.json; give the folder or the file of a Hugging Face model")
        name = path.resolve().name
    elif path.is_file():
        file, name = path, path.stem if path.name != "config.json" else path.resolve().parent.name
    else:
        raise InputError(f"{path}: no such file or folder")
    return price_from_config(_read_config(file), name, str(file))


def _read_config(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as handle:
            data = handle.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise InputError(f"{file}: larger than {MAX_CONFIG_BYTES} bytes; is it a model's config.json?")
    try:
        config = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON: {error}") from error
    if not isinstance(config, dict):
        raise InputError(f"{file}: not a JSON object; is it a model's config.json?")
    return config


def price_from_config(config: dict[str, Any], name: str, where: str = "config.json") -> VlmPrice:
    """Price a model from the content of its `config.json`.

    `name` is what the price is called, `where` is what errors call the file. Raises `InputError` that names the field.
    """
    root = Fields(config, where)
    # Qwen-Omni keeps what reads and answers in `thinker_config`; the talker's speech is no part of an answer.
    inner = root.section("thinker_config") if root.has("thinker_config") else root
    nested = next((key for key in TEXT_SECTIONS if inner.has(key)), None)
    text = inner.section(nested) if nested is not None else inner
    model_type = text.text("model_type", default=inner.text("model_type", default=root.text("model_type", default="")))
    if not model_type:
        raise text.missing("model_type")
    family = decoder_families().get(model_type)
    if family is None:
        raise InputError(
            f"{text.where}: {unknown_name('model_type', model_type, decoder_families())}. If its layers are those of "
            "one of these families, set model_type to that family in a copy of the file"
        )
    notes: list[str] = []
    language = _language_model(text, family, notes)
    front_end, no_video = front_end_from_config(root, inner, language.width)
    context = text.integer("max_position_embeddings") if text.has("max_position_embeddings") else None
    return VlmPrice(name, language, language, front_end, context, notes=tuple(notes), no_video=no_video)


def _language_model(f: Fields, family: Family, notes: list[str]) -> LanguageModel:
    d = f.integer("hidden_size")
    count = f.integer("num_hidden_layers", high=MAX_LAYERS)
    vocabulary = f.integer("vocab_size")
    kinds = _layer_kinds(f, family, count)
    window = f.integer("sliding_window") if "sliding" in kinds else None
    ffn = _ffn_costs(f, family, d, count, notes)
    full_token = pair = linear_token = 0
    if set(kinds) != {"linear"}:
        n_q = f.integer("num_attention_heads")
        n_kv = f.integer("num_key_value_heads")
        h = _head_width(f, family, d, n_q)
        full_token = attention_projections(d, n_q, n_kv, h, output_gate=family.output_gate)
        pair = 4 * n_q * h
    if "linear" in kinds:
        linear_token = delta_layer(
            d,
            f.integer("linear_num_key_heads"),
            f.integer("linear_num_value_heads"),
            f.integer("linear_key_head_dim"),
            f.integer("linear_value_head_dim"),
            f.integer("linear_conv_kernel_dim"),
        )
    by_kind: dict[str, tuple[int, int, int | None]] = {
        "full": (full_token, pair, None),
        "sliding": (full_token, pair, window),
        "linear": (linear_token, 0, None),
    }
    layers = []
    for kind, ffn_cost in zip(kinds, ffn, strict=True):
        token_cost, pair_cost, span = by_kind[kind]
        layers.append((token_cost + ffn_cost, pair_cost, span))
    return language_model(d, vocabulary, layers)


def _head_width(f: Fields, family: Family, d: int, n_q: int) -> int:
    if f.has("head_dim"):
        return f.integer("head_dim")
    if family.head_width == "named":
        raise f.missing("head_dim")
    if d % n_q:
        raise InputError(
            f"{f.where}: hidden_size {d} is no multiple of num_attention_heads {n_q}, and head_dim is missing; add it"
        )
    return d // n_q


LAYER_KINDS = {
    "full_attention": "full",
    "attention": "full",
    "sliding_attention": "sliding",
    "linear_attention": "linear",
}


def _layer_kinds(f: Fields, family: Family, count: int) -> list[str]:
    """Return `full`, `sliding` or `linear` for each layer: as `layer_types` says, else by the family's rule."""
    if f.flag("use_bidirectional_attention"):
        raise InputError(f"{f.where}: use_bidirectional_attention is set; only causal decoders are priced")
    if f.has("layer_types"):
        named = f.strings("layer_types")
        if len(named) != count:
            raise InputError(f"{f.where}: layer_types names {len(named)} layers, num_hidden_layers is {count}")
        known = {k: v for k, v in LAYER_KINDS.items() if v != "linear" or family.linear}
        unknown = next((kind for kind in named if kind not in known), None)
        if unknown is not None:
            raise InputError(
                f"{f.where}: layer_types names {unknown!r} layers, which are not priced for this model type; "
                f"known: {', '.join(known)}"
            )
        kinds = [known[kind] for kind in named]
        if "sliding" in kinds and f.has("use_sliding_window") and not f.flag("use_sliding_window"):
            raise InputError(f"{f.where}: layer_types names sliding layers, but use_sliding_window is false")
        return kinds
    rule = family.window
    if rule in ("all", "all-required"):
        if rule == "all-required":
            f.require("sliding_window")
        return ["sliding" if f.has("sliding_window") else "full"] * count
    if rule in ("flag", "late-layers", "layer-types"):
        if not f.flag("use_sliding_window"):
            return ["full"] * count
        if rule == "layer-types":
            raise f.missing("layer_types")
        first = 0 if rule == "flag" else f.integer("max_window_layers", low=0)
        return ["sliding" if i >= first else "full" for i in range(count)]
    if rule in ("alternate", "pattern", "interval"):
        field = "full_attention_interval" if rule == "interval" else "sliding_window_pattern"
        if rule != "alternate" and not f.has(field):
            raise f.missing("layer_types", f"or {field}")
        every = 2 if rule == "alternate" else f.integer(field)
        other = "linear" if rule == "interval" else "sliding"
        return [other if (i + 1) % every else "full" for i in range(count)]
    return ["full"] * count


def _ffn_costs(f: Fields, family: Family, d: int, count: int, notes: list[str]) -> list[int]:
    """Return a token's feed-forward cost in each layer."""

    def dense() -> int:
        width = f.integer("intermediate_size")
        return plain_ffn(d, width) if family.ffn == "plain" else gated_ffn(d, width)

    rule = family.mixture
    if rule is None:
        return [dense()] * count
    active = f.integer("num_experts_per_tok")
    if rule == "local":
        experts, width, shared = f.integer("num_local_experts"), f.integer("intermediate_size"), 0
        is_dense = [False] * count
    elif rule == "routed":
        experts, width = f.integer("n_routed_experts"), f.integer("moe_intermediate_size")
        shared = f.integer("n_shared_experts", low=0) * width
        first = f.integer("first_k_dense_replace", low=0)
        is_dense = [i < first for i in range(count)]
    else:
        experts, width = f.integer("num_experts"), f.integer("moe_intermediate_size")
        shared = f.integer(family.shared, low=0) if family.shared else 0
        is_dense = [False] * count
        if rule == "sparse-step":
            is_dense = _dense_layers(f, count, notes)
    if active > experts:
        raise InputError(f"{f.where}: num_experts_per_tok {active} exceeds the {experts} experts")
    sparse = mixture_ffn(d, width, experts, active, shared)
    dense_cost = dense() if any(is_dense) else 0
    return [dense_cost if flag else sparse for flag in is_dense]


def _dense_layers(f: Fields, count: int, notes: list[str]) -> list[bool]:
    """Say which layers have an ordinary feed-forward: those in mlp_only_layers and between the sparse steps."""
    if f.has("decoder_sparse_step"):
        step = f.integer("decoder_sparse_step")
    else:
        step = 1
        notes.append("decoder_sparse_step is not given: every layer is taken as a mixture of experts")
    only = set(f.integers("mlp_only_layers")) if f.has("mlp_only_layers") else set()
    return [i in only or (i + 1) % step != 0 for i in range(count)]
