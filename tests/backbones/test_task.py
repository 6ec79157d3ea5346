"""Training data: labels by brute force, balance, and that an index is an item."""

from __future__ import annotations

import pytest
import torch

from memgauge.systems.backbones.model import PAD, Backbone, ModelConfig, right_align
from memgauge.systems.backbones.task import accuracy, sequences


@pytest.mark.parametrize("length", [32, 1024])
def test_labels_are_right_and_balanced(length: int) -> None:
    batch = sequences(3, length, 10, 4, 32, 1000)
    for stream, candidates, labels in zip(batch.symbols.tolist(), batch.candidates.tolist(), batch.labels, strict=True):
        assert labels.sum() == 16
        for candidate, label in zip(candidates, labels.tolist(), strict=True):
            wanted = [s for s in candidate if s != PAD]
            assert candidate[: 6 - len(wanted)] == [PAD] * (6 - len(wanted))
            there = any(stream[i : i + len(wanted)] == wanted for i in range(length - len(wanted) + 1))
            assert there == bool(label)


def test_an_index_is_an_item_and_indices_wrap() -> None:
    whole, part = sequences(3, 64, 0, 10, 8, 10), sequences(3, 64, 8, 4, 8, 10)
    for a, b in zip(whole, part, strict=True):
        assert torch.equal(torch.cat([a[8:], a[:2]]), b)


def test_lengths_say_nothing_about_labels() -> None:
    batch = sequences(0, 64, 0, 500, 32, 1000)
    sizes = (batch.candidates != PAD).sum(-1).double()
    # 8,000 answers of each kind, sizes of s.d. 1.12: the means differ by under 0.09 (5 s.e.).
    assert abs(sizes[batch.labels == 1].mean() - sizes[batch.labels == 0].mean()) < 0.09


def test_right_align_keeps_short_rows() -> None:
    found = right_align(torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1]))
    assert found.tolist() == [[16, 16, 16, 1, 2, 3], [16, 16, 16, 16, 16, 4]]


def test_untrained_accuracy_is_chance_and_leaves_the_model_in_its_mode() -> None:
    torch.manual_seed(0)
    model = Backbone(ModelConfig("gru", width=16, layers=1)).train()
    found = accuracy(model, 0, 32, 100, 64)
    assert 0.4 < found < 0.6  # 2,048 answers: chance, s.e. 0.011, within 9 of them
    assert model.training
