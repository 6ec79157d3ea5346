"""Reads the text in photographs with rapidocr, for the words of watermarks; its models come with its package."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from memgauge.errors import InputError
from memgauge.histories.building.pictures.photos import Photo

PACKAGE = "rapidocr_onnxruntime"


def need_reader() -> None:
    """Raise `InputError` unless the reader's package is installed."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise InputError("--find-watermarks needs the package rapidocr-onnxruntime: pip install rapidocr-onnxruntime")


def text_reader() -> Callable[[Photo], list[str]]:
    """Return a function that gives the lines of text in a photograph."""
    need_reader()
    reader: Any = importlib.import_module(PACKAGE).RapidOCR()

    def read(photo: Photo) -> list[str]:
        found, _ = reader(np.asarray(photo.image)[:, :, ::-1])
        return [str(text) for _, text, _ in found or ()]

    return read
