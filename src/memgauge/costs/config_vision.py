"""Front ends from config.json, for the vision families of ECCBench's table that name their towers there."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from memgauge.costs.config_fields import Fields
from memgauge.costs.vision import (
    FixedViews,
    FrameGroups,
    FrontEnd,
    Tower,
    gated_merger_per_token,
    merger_per_token,
    projector_per_token,
)
from memgauge.errors import InputError


def front_end_from_config(root: Fields, inner: Fields, d_t: int) -> tuple[FrontEnd | None, str]:
    """Return the front end, or None and the reason why video cannot be priced.

    A problem of the vision section is kept as the reason, so that text can be priced all the same.
    """
    if not inner.has("vision_config"):
        return None, f"{root.where} names no vision tower (vision_config)"
    model_type = root.text("model_type", default="")
    if not model_type:
        return None, str(root.missing("model_type"))
    builder = _FAMILIES.get(model_type)
    if builder is None:
        return None, (
            f"the vision tower of model_type {model_type!r} is none of the families whose frames are priced "
            f"({', '.join(_FAMILIES)})"
        )
    try:
        return builder(inner, inner.section("vision_config"), d_t), ""
    except InputError as error:
        return None, str(error)


def _tower(v: Fields, *, gated: bool, ffn_field: str = "intermediate_size") -> Tower:
    return Tower(
        blocks=v.integer("depth"),
        width=v.integer("hidden_size"),
        ffn_width=v.integer(ffn_field),
        gated=gated,
        patch=v.side("patch_size"),
        frames_per_pass=v.integer("temporal_patch_size"),
    )


def _text_width(v: Fields, d_t: int) -> None:
    """Refuse a tower whose features do not fit the language model."""
    if v.integer("out_hidden_size") != d_t:
        raise InputError(f"{v.where}: out_hidden_size is {v.integer('out_hidden_size')}, the decoder is {d_t} wide")


def _qwen25_vl(config: Fields, v: Fields, d_t: int) -> FrontEnd:
    """Blocks attend in square windows, apart from those in fullatt_block_indexes; gated feed-forward, one merger."""
    _text_width(v, d_t)
    plain = _tower(v, gated=True)
    merge = v.integer("spatial_merge_size")
    full = len(set(v.integers("fullatt_block_indexes")))
    if full > plain.blocks:
        raise InputError(f"{v.where}: fullatt_block_indexes names {full} of {plain.blocks} blocks")
    window = (v.integer("window_size") // plain.patch) ** 2
    tower = Tower(plain.blocks, plain.width, plain.ffn_width, True, plain.patch, plain.frames_per_pass, 0, full, window)
    return FrameGroups(tower, merge, merger_per_token(tower.width, d_t, merge=merge))


def _qwen3_vl(config: Fields, v: Fields, d_t: int) -> FrontEnd:
    """Full attention in a group, two-matrix feed-forward, a merger and one more for each DeepStack adapter."""
    _text_width(v, d_t)
    tower = _tower(v, gated=False)
    merge = v.integer("spatial_merge_size")
    passes = 1 + len(v.integers("deepstack_visual_indexes"))
    return FrameGroups(tower, merge, merger_per_token(tower.width, d_t, merge=merge, passes=passes))


def _glm4v(config: Fields, v: Fields, d_t: int) -> FrontEnd:
    """Full attention in a group; blocks are gated with width out_hidden_size, the merger with intermediate_size."""
    _text_width(v, d_t)
    tower = _tower(v, gated=True, ffn_field="out_hidden_size")
    merge = v.integer("spatial_merge_size")
    per_token = gated_merger_per_token(tower.width, d_t, v.integer("intermediate_size"), merge=merge)
    return FrameGroups(tower, merge, per_token)


def _internvl(config: Fields, v: Fields, d_t: int) -> FrontEnd:
    """One square tile a frame with a class token, pixel-unshuffle, a two-layer projection."""
    image = config.side("force_image_size") if config.has("force_image_size") else v.side("image_size")
    patch = v.side("patch_size")
    ratio = config.values.get("downsample_ratio")
    if ratio is None:
        raise config.missing("downsample_ratio")
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio <= 1:
        raise InputError(f"{config.where}: downsample_ratio is {ratio!r}; it must lie in (0, 1]")
    fold = 1 / Fraction(str(ratio))
    side = image // patch
    if fold.denominator != 1 or side % fold.numerator:
        raise InputError(f"{config.where}: downsample_ratio {ratio} does not fold the {side}x{side} patch grid evenly")
    tower = Tower(
        blocks=v.integer("num_hidden_layers"),
        width=v.integer("hidden_size"),
        ffn_width=v.integer("intermediate_size"),
        gated=False,
        patch=patch,
        class_tokens=1,
    )
    per_token = projector_per_token(tower.width * fold.numerator**2, d_t)
    return FixedViews(tower, side * side, 1, (side // fold.numerator) ** 2, per_token)


_FAMILIES: dict[str, Callable[[Fields, Fields, int], FrontEnd]] = {
    "qwen2_5_vl": _qwen25_vl,
    "qwen3_vl": _qwen3_vl,
    "qwen3_vl_moe": _qwen3_vl,
    "qwen3_omni_moe": _qwen3_vl,
    "qwen3_omni_moe_thinker": _qwen3_vl,
    "glm4v": _glm4v,
    "glm4v_moe": _glm4v,
    "internvl": _internvl,
    "internvl_chat": _internvl,
}
"""Families whose towers a config names in full, by the model_type of the whole model."""
