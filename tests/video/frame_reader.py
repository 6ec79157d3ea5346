"""Read a frame as a person would: a real OCR finds the letter and the names of the belts."""

from __future__ import annotations

import hashlib
import io

import numpy as np
from PIL import Image


class FrameReader:
    """Reads frames with rapidocr; each distinct picture is read once."""

    def __init__(self) -> None:
        from rapidocr_onnxruntime import RapidOCR

        self._ocr = RapidOCR(intra_op_num_threads=1)  # more threads wait for each other on a busy machine
        self._read: dict[str, tuple[str, int]] = {}

    def read(self, image: bytes) -> tuple[str, int]:
        """Return the letter and the number of its belt, 1 to 3; `ValueError` for a picture that shows anything else."""
        key = hashlib.sha256(image).hexdigest()
        if key not in self._read:
            self._read[key] = self._look(image)
        return self._read[key]

    def _look(self, image: bytes) -> tuple[str, int]:
        pixels = np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))
        found, _ = self._ocr(pixels[:, :, ::-1], use_cls=False)  # nothing is upside down
        letters: list[tuple[str, float]] = []
        belts: dict[int, float] = {}
        for box, text, _ in found or []:
            middle = float(np.mean([corner[0] for corner in box]))
            name = text.replace(" ", "").casefold()
            if name in ("belt1", "belt2", "belt3"):
                belts[int(name[-1])] = middle
            else:
                letters.append((text.strip().upper(), middle))
        if len(belts) != 3 or len(letters) != 1 or len(letters[0][0]) != 1:
            raise ValueError(f"read {letters} and belts {belts}; a frame shows one letter and three belts")
        letter, middle = letters[0]
        return letter, min(belts, key=lambda belt: abs(belts[belt] - middle))
