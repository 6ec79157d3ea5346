"""The eight named colours of badges and scenes, far apart from one another in CIELAB."""

from __future__ import annotations

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 39, 40),
    "orange": (255, 140, 0),
    "yellow": (250, 218, 40),
    "green": (30, 140, 60),
    "blue": (30, 90, 200),
    "purple": (128, 50, 160),
    "pink": (250, 150, 190),
    "brown": (120, 72, 36),
}
"""Name: sRGB, 8 bits a channel. Any two are at least 30 apart in CIELAB (a test computes it)."""
