"""The scorers load models of their classes from disk; here they are tiny and random, made in the test."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from memgauge.errors import InputError
from memgauge.histories.building.pictures.filter import Scores, Selector
from memgauge.histories.building.pictures.photos import Photo
from memgauge.histories.building.pictures.sources import Candidate

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from scorer_models import IMAGE, save_models  # noqa: E402

from memgauge.histories.building.pictures.scorers import (  # noqa: E402
    Captioner,
    CaptionScorer,
    ClipScorer,
    SiglipScorer,
)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return save_models(tmp_path_factory.mktemp("models"))


def photo(colour):
    return Photo(Image.new("RGB", (300, 260), colour), "x")


def test_channels(models):
    picture = photo("red")
    clip = ClipScorer(models / "clip")
    cosine = clip.score(picture, "owl")
    assert -1 <= cosine <= 1
    assert cosine == clip.score(picture, "owl")
    assert cosine != clip.score(picture, "red cat")
    assert cosine != clip.score(photo("blue"), "owl")
    # The oracle: normalised features of the two towers by themselves.
    with torch.inference_mode():
        ids = clip.tokenizer(["a photo of owl"], return_tensors="pt")
        pixels = clip.processor(images=picture.image, return_tensors="pt")["pixel_values"]
        words = clip.model.text_projection(clip.model.text_model(ids["input_ids"], ids["attention_mask"]).pooler_output)
        looks = clip.model.visual_projection(clip.model.vision_model(pixels).pooler_output)
    a, b = words[0].numpy(), looks[0].numpy()
    assert cosine == pytest.approx(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), abs=1e-5)

    siglip = SiglipScorer(models / "siglip")
    chance = siglip.score(picture, "owl")
    assert 0 < chance < 1
    assert chance != siglip.score(photo("blue"), "owl")

    captioner = Captioner(models / "blip2", tokens=5)
    caption = captioner.caption(picture)
    assert caption == captioner.caption(picture)
    assert IMAGE not in caption
    assert len(caption.split()) <= 5
    scorer = CaptionScorer(captioner, models / "encoder")
    assert -1 <= scorer.score(picture, "tea pot") <= 1
    captioner.caption = lambda photo: "tea pot"
    assert scorer.score(picture, "tea pot") == pytest.approx(1.0, abs=1e-5)
    assert scorer.score(picture, "red owl of a cat") < 0.999
    captioner.caption = lambda photo: ""
    assert scorer.score(picture, "tea pot") == 0.0


def test_selector_with_models(models):
    captioner = Captioner(models / "blip2", tokens=3)
    selector = Selector(
        scorers=[
            ClipScorer(models / "clip"), SiglipScorer(models / "siglip"), CaptionScorer(captioner, models / "encoder"),
        ]
    )  # fmt: skip
    rng = np.random.default_rng(0)
    made = Photo(Image.fromarray(rng.integers(0, 255, (300, 300, 3), dtype=np.uint8)), "x")
    (decision,) = selector.choose([Candidate("folder", "x", lambda: made, licence="MIT")], "owl")
    assert decision.outcome in ("chosen", "fail")
    assert None not in (decision.scores.clip, decision.scores.siglip, decision.scores.text)
    assert decision.scores != Scores()


def test_models_come_from_disk_only(tmp_path, models):
    with pytest.raises(InputError, match=r"no model"):
        ClipScorer("openai/clip-vit-large-patch14")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be loaded"):
        ClipScorer(tmp_path)
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    for file in (models / "clip").iterdir():
        if file.suffix != ".safetensors":
            (pickled / file.name).write_bytes(file.read_bytes())
    (pickled / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(InputError, match="cannot be loaded as CLIPModel"):
        ClipScorer(pickled)
