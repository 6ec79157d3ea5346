"""The price list: the twelve models of ECCBench's Table 4, found by name, slug or alias."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from memgauge.costs.decoder import (
    LanguageModel,
    attention_projections,
    gated_ffn,
    language_model,
    lora_products,
    mixture_ffn,
)
from memgauge.costs.vision import (
    FixedViews,
    FrameGroups,
    FrontEnd,
    PooledFrames,
    Resampler,
    Tower,
    gated_merger_per_token,
    merger_per_token,
    projector_per_token,
)
from memgauge.errors import InputError, unknown_name


@dataclass(frozen=True, slots=True)
class VlmPrice:
    """What a model costs: its decoder, and how it sees."""

    name: str
    text: LanguageModel
    """Prices when no image is present."""
    video: LanguageModel
    """Prices when one is: the same, but for adapters that run with images only (Phi-4-MM's LoRA)."""
    front_end: FrontEnd | None
    """None when the model's way of seeing is not priced; `no_video` then says why."""
    context: int | None = None
    """The longest position it was trained on, where known."""
    thinking: bool = False
    """Whether a Thinking checkpoint of the same shape, and so of the same prices, exists."""
    notes: tuple[str, ...] = ()
    """What was taken for granted in pricing it."""
    no_video: str = "the model has no vision tower"

    @property
    def slug(self) -> str:
        """The name as one types it: `qwen3-vl-8b`."""
        return "-".join(_words(self.name))

    @property
    def aliases(self) -> tuple[str, ...]:
        """Further names with the same prices."""
        if not self.thinking:
            return ()
        words = _words(self.name)
        size = next(i for i, word in enumerate(words) if re.fullmatch(r"\d+b", word))
        return ("-".join([*words[:size], "thinking", *words[size:]]),)


def list_models() -> tuple[VlmPrice, ...]:
    """Return the price list in the order of Table 2.

    >>> [price.slug for price in list_models()][:2]
    ['qwen2.5-vl-7b', 'qwen3-vl-8b']
    """
    return _price_list()


def vlm_price(name: str) -> VlmPrice:
    """Find a model by its printed name, its slug, a Thinking alias, or an unambiguous beginning of one.

    Raises `InputError` with the nearest names.

    >>> vlm_price("Qwen3-VL Thinking (8B)").name
    'Qwen3-VL (8B)'
    >>> vlm_price("glm-4.5v").slug
    'glm-4.5v-104b-a12b'
    """
    asked = _words(name)
    wants_thinking = any(word in ("thinking", "think") for word in asked)
    asked = [word for word in asked if word not in ("thinking", "think")]
    entries = [price for price in list_models() if price.thinking or not wants_thinking]
    exact = [price for price in entries if _words(price.name) == asked]
    begun = [price for price in entries if asked and _words(price.name)[: len(asked)] == asked]
    found = exact or begun
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"model {name!r} is ambiguous: {', '.join(price.slug for price in found)}")
    raise unknown_name("model", name, [n for price in list_models() for n in (price.slug, *price.aliases)])


def _words(name: str) -> list[str]:
    """Split a name into lower-case words: `Qwen3-Omni (30B, A3B)` gives qwen3, omni, 30b, a3b."""
    return [word for word in (part.strip(".") for part in re.split(r"[^a-z0-9.]+", name.lower())) if word]


@cache
def _price_list() -> tuple[VlmPrice, ...]:
    return tuple(_entry(entry) for entry in read_data("vlm.json")["models"])


def read_data(name: str) -> dict[str, Any]:
    """Read one of this package's own data files."""
    data: dict[str, Any] = json.loads((resources.files("memgauge.costs") / "data" / name).read_text("utf-8"))
    return data


def _entry(entry: dict[str, Any]) -> VlmPrice:
    text = _decoder(entry["decoder"], lora=False)
    return VlmPrice(
        name=entry["name"],
        text=text,
        video=_decoder(entry["decoder"], lora=True),
        front_end=_front_end(entry["vision"], entry["connector"], text.width),
        context=entry["context"],
        thinking=entry.get("thinking", False),
    )


def _decoder(c: dict[str, Any], *, lora: bool) -> LanguageModel:
    d, n_q, n_kv, h, f = c["width"], c["query_heads"], c["kv_heads"], c["head_width"], c["ffn_width"]
    token_cost = attention_projections(d, n_q, n_kv, h)
    if lora and "lora_rank" in c:
        d_q, d_kv = n_q * h, n_kv * h
        shapes = ((d, d_q + 2 * d_kv), (d_q, d), (d, 2 * f), (f, d))
        token_cost += lora_products(c["lora_rank"], shapes)
    dense = gated_ffn(d, c.get("dense_width", f))
    sparse = mixture_ffn(d, f, c["experts"], c["active"], c.get("shared_width", 0)) if "experts" in c else dense
    layers = (
        (token_cost + (dense if i < c.get("dense_layers", 0) else sparse), 4 * n_q * h, None)
        for i in range(c["layers"])
    )
    return language_model(d, c["vocabulary"], layers)


def _front_end(vision: dict[str, Any], connector: dict[str, Any], d_t: int) -> FrontEnd:
    tower = Tower(**vision["tower"])
    d_v = tower.width
    rest = {key: value for key, value in vision.items() if key not in ("kind", "tower")}
    if vision["kind"] == "resampler":
        return Resampler(tower, text_width=d_t, **rest)
    if connector["kind"] == "merger":
        per_token = merger_per_token(d_v, d_t, passes=connector["passes"])
    elif connector["kind"] == "gated-merger":
        per_token = gated_merger_per_token(d_v, d_t, connector["gate_width"])
    else:
        per_token = projector_per_token(4 * d_v if connector["merged"] else d_v, d_t)
    kinds: dict[str, type[FrameGroups] | type[FixedViews] | type[PooledFrames]] = {
        "frame-groups": FrameGroups,
        "fixed-views": FixedViews,
        "pooled-frames": PooledFrames,
    }
    return kinds[vision["kind"]](tower, connector_per_token=per_token, **rest)
