"""The backbones by name: one line a mixer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from memgauge.errors import InputError, unknown_name
from memgauge.systems.backbones.base import HEAD, Layer

_HERE = "memgauge.systems.backbones.mixers"
MIXERS: dict[str, str] = {
    "rope": f"{_HERE}.attention:rope",
    "conv": f"{_HERE}.attention:conv",
    "gru": f"{_HERE}.gru:layer",
    "gla": f"{_HERE}.gla:layer",
    "retnet": f"{_HERE}.retnet:layer",
    "deltanet": f"{_HERE}.deltanet:layer",
    "gated-deltanet": f"{_HERE}.gated_deltanet:layer",
    "mamba2": f"{_HERE}.mamba2:layer",
    "rwkv7": f"{_HERE}.rwkv7:layer",
    "deltaformer": f"{_HERE}.deltaformer:layer",
    "ttt-mlp": f"{_HERE}.ttt_mlp:layer",
    "mom": f"{_HERE}.mom:layer",
    "memory-mosaic": f"{_HERE}.memory_mosaic:layer",
    "compressive": f"{_HERE}.compressive:layer",
    "nope": f"{_HERE}.attention:nope",
}
"""Name to `module:function`; the function takes (width, index, **options) and returns the layer at that position."""

MAX_WIDTH = 4096
_KINDS: dict[str, Any] = {"int": int, "float": int | float, "Literal": str}
"""What an option's value must be, by the annotation of the function that takes it."""


def make_layer(name: str, width: int, index: int, options: Mapping[str, Any]) -> Layer:
    """Build one layer. Raises `InputError` for an unknown name, a bad width, or an option that the mixer lacks."""
    build = builder(name)
    if not HEAD <= width <= MAX_WIDTH or width % HEAD:
        raise InputError(f"width is {width}: heads are {HEAD} wide, so take a multiple of {HEAD} up to {MAX_WIDTH}")
    known = dict(list(inspect.signature(build).parameters.items())[2:])
    for option, value in options.items():
        if option not in known:
            takes = ", ".join(known) if known else "none"
            raise InputError(f"{name} has no option {option!r}; its options: {takes}")
        kind = str(known[option].annotation)
        fits = isinstance(value, _KINDS.get(kind.partition(" ")[0].partition("[")[0], object))
        if not fits or isinstance(value, bool):
            raise InputError(f"{name}: {option} is {value!r}; give {kind}")
    return build(width, index, **options)


def builder(name: str) -> Callable[..., Layer]:
    """Return the function behind a name."""
    if name not in MIXERS:
        raise unknown_name("backbone", name, MIXERS)
    module, _, attribute = MIXERS[name].partition(":")
    found: Callable[..., Layer] = getattr(import_module(module), attribute)
    return found
