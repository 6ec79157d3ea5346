"""The products of `step`, counted by torch, are the closed forms of the cost tables."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from memgauge.costs import backbone_cost
from memgauge.systems.backbones.catalog import MIXERS
from memgauge.systems.backbones.model import Backbone, ModelConfig

# Compressive Transformer: the steps that fill blocks 2, 4 and 12 fold rows, fold folded rows, update the long slot.
MOMENTS = {"compressive": (127, 128, 255, 256, 511, 512, 1535, 1536)}


@torch.no_grad()
def counted(model: Backbone, before: int) -> int:
    """Return the products of the step after `before` tokens."""
    x = torch.randn(1, before, model.config.width)
    states = []
    for layer in model.layers:
        if before:
            x, state = layer.prefill(x)
        else:
            state = layer.init_state(1)
        states.append(state)
    x = torch.randn(1, model.config.width)
    with FlopCounterMode(display=False) as counter:
        for layer, state in zip(model.layers, states, strict=True):
            x, _ = layer.step(x, state)
    return int(counter.get_total_flops())


@pytest.mark.parametrize("name", MIXERS)
def test_a_step_costs_the_closed_form(name: str) -> None:
    for width in (32, 64):
        model = Backbone(ModelConfig(name, width=width))
        moments = (0, 1, 2, 15, 16, 17, 40, *MOMENTS.get(name, (300,))) if width == 64 else (0, 1, 33)
        for before in moments:
            assert counted(model, before) == backbone_cost(name, width, before).F_read, (width, before)


def test_many_steps_cost_the_sum() -> None:
    model = Backbone(ModelConfig("ttt-mlp", width=32))
    assert sum(counted(model, before) for before in range(40)) == backbone_cost("ttt-mlp", 32, 39).F_total
