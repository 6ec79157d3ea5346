"""Rendering recovery: do light and colour come back with the view?

Mean CIELAB values of each frame; a pair scores exp(-dL / 6) for light and exp(-dC / 8) for colour (distance in a, b).
Public code has a third part, exp(-g / 0.002) of a Gram distance of VGG features, whose network and layers no text
names: it is not computed here. The score is the mean of the two and says so, since scores with other parts cannot be
compared.
"""

from __future__ import annotations

import math

import numpy as np

from memgauge.rollouts.track import Floats
from memgauge.rollouts.video import Image

LIGHT_SCALE = 6.0
COLOUR_SCALE = 8.0
PARTS = ("light", "colour")
NOT_COMPUTED = "texture (VGG Gram distance) is not computed: the mean of light and colour"


class MeanColours:
    """Mean L, a, b of the frames of a video, taken while it is decoded."""

    def __init__(self) -> None:
        self.found: dict[int, Floats] = {}

    def see(self, frame: int, image: Image) -> None:
        """Average one frame."""
        import cv2

        lab = cv2.cvtColor(image.astype(np.float32) / 255.0, cv2.COLOR_RGB2LAB)
        self.found[frame] = lab.reshape(-1, 3).mean(axis=0, dtype=np.float64)

    def score(self, first: int, second: int) -> dict[str, float]:
        """Return the parts of a pair and their mean."""
        a, b = self.found[first], self.found[second]
        light = math.exp(-abs(float(a[0] - b[0])) / LIGHT_SCALE)
        colour = math.exp(-float(np.linalg.norm(a[1:] - b[1:])) / COLOUR_SCALE)
        return {"score": 0.5 * (light + colour), "light": light, "colour": colour}
