"""Drawn pictures of the construction pipeline, and pictures from outside with their filters.

`draw` is in `drawing` and needs Pillow; what is named here does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memgauge.histories.building.pictures.colours import COLOURS
from memgauge.histories.building.pictures.entities import CLASSES, NAMES
from memgauge.histories.building.pictures.kinds import KINDS, caption, check

if TYPE_CHECKING:
    from memgauge.histories.building.pictures.drawing import Picture, draw

__all__ = ["CLASSES", "COLOURS", "KINDS", "NAMES", "Picture", "caption", "check", "draw"]


def __getattr__(name: str) -> Any:
    if name in ("Picture", "draw"):
        from memgauge.histories.building.pictures import drawing

        return getattr(drawing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
