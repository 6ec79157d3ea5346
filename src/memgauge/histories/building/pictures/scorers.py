"""The three channels of the relevance filter from models on disk: CLIP, SigLIP, BLIP-2 captions with a text encoder.

Every model is a folder in the layout of `save_pretrained`; nothing is ever downloaded, and weights are read from
safetensors files only. Needs torch and transformers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memgauge.errors import InputError
from memgauge.histories.building.pictures.photos import Photo

CLIP_PROMPT = "a photo of {query}"
SIGLIP_TOKENS = 64
"""SigLIP was trained on texts padded to this length."""


def _loaded(folder: str | os.PathLike[str], *names: str) -> list[Any]:
    """Load parts of a model by the names of their transformers classes."""
    path = Path(folder)
    if not (path / "config.json").is_file():
        raise InputError(f"{path}: no model (a folder with config.json is expected)")
    try:
        import transformers
    except ImportError as error:
        raise InputError(
            "scoring pictures needs torch and transformers: pip install 'memgauge[rollouts]' torch"
        ) from error
    parts = []
    for name in names:
        options: dict[str, Any] = {"local_files_only": True}
        if "Tokenizer" not in name and "Processor" not in name:
            options["use_safetensors"] = True
        try:
            part = getattr(transformers, name).from_pretrained(path, **options)
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{path}: cannot be loaded as {name} ({error})") from error
        parts.append(part.eval() if hasattr(part, "eval") else part)
    return parts


class ClipScorer:
    """Cosine of CLIP's embeddings of picture and query (the paper: ViT-L/14)."""

    channel = "clip"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.model, self.tokenizer, self.processor = _loaded(folder, "CLIPModel", "AutoTokenizer", "AutoImageProcessor")

    def score(self, photo: Photo, query: str) -> float:
        """Return the cosine, -1 to 1."""
        import torch

        text = self.tokenizer([CLIP_PROMPT.format(query=query)], return_tensors="pt", padding=True, truncation=True)
        picture = self.processor(images=photo.image, return_tensors="pt")
        with torch.inference_mode():
            out = self.model(
                input_ids=text["input_ids"], attention_mask=text["attention_mask"], pixel_values=picture["pixel_values"]
            )
            return float(torch.nn.functional.cosine_similarity(out.image_embeds, out.text_embeds)[0])


class SiglipScorer:
    """SigLIP's probability that picture and query belong together (the paper: ViT-SO400M)."""

    channel = "siglip"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.model, self.tokenizer, self.processor = _loaded(
            folder, "SiglipModel", "AutoTokenizer", "AutoImageProcessor"
        )

    def score(self, photo: Photo, query: str) -> float:
        """Return the probability, 0 to 1."""
        import torch

        length = min(SIGLIP_TOKENS, self.model.config.text_config.max_position_embeddings)
        text = self.tokenizer(
            [CLIP_PROMPT.format(query=query)],
            return_tensors="pt",
            padding="max_length",
            max_length=length,
            truncation=True,
        )
        picture = self.processor(images=photo.image, return_tensors="pt")
        with torch.inference_mode():
            out = self.model(input_ids=text["input_ids"], pixel_values=picture["pixel_values"])
            return float(torch.sigmoid(out.logits_per_image)[0, 0])


class Captioner:
    """Captions from BLIP-2."""

    def __init__(self, folder: str | os.PathLike[str], *, tokens: int = 30) -> None:
        self.model, self.tokenizer, self.processor = _loaded(
            folder, "Blip2ForConditionalGeneration", "AutoTokenizer", "AutoImageProcessor"
        )
        self.tokens = tokens

    def caption(self, photo: Photo) -> str:
        """Return a caption in one line, by greedy search."""
        import torch

        picture = self.processor(images=photo.image, return_tensors="pt")
        with torch.inference_mode():
            ids = self.model.generate(pixel_values=picture["pixel_values"], max_new_tokens=self.tokens, do_sample=False)
        # The answer begins with the placeholders of the picture.
        placeholder = self.model.config.image_token_index
        words = [token for token in ids[0].tolist() if token != placeholder]
        return " ".join(self.tokenizer.decode(words, skip_special_tokens=True).split())


class CaptionScorer:
    """Cosine of the embeddings of a caption and the query; the encoder's states are averaged over the tokens."""

    channel = "text"

    def __init__(self, captioner: Captioner, encoder: str | os.PathLike[str]) -> None:
        self.captioner = captioner
        self.model, self.tokenizer = _loaded(encoder, "AutoModel", "AutoTokenizer")

    def score(self, photo: Photo, query: str) -> float:
        """Return the cosine, -1 to 1; 0 for an empty caption."""
        import torch

        caption = self.captioner.caption(photo)
        if not caption:
            return 0.0
        batch = self.tokenizer([caption, query], return_tensors="pt", padding=True, truncation=True)
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            states = self.model(**inputs).last_hidden_state
            kept = inputs["attention_mask"].unsqueeze(-1)
            means = (states * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)
            return float(torch.nn.functional.cosine_similarity(means[:1], means[1:])[0])
