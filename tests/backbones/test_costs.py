"""The products of `step`, counted by torch, are the closed forms of the cost tables."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from memgauge.costs import backbone_cost
from memgauge.systems.backbones.catalog import MIXERS
from memgauge.systems.backbones.model import Backbone, ModelConfig


def counted(model: Backbone, tokens: int) -> list[int]:
    """Return the products of each step."""
    states = [layer.init_state(1) for layer in model.layers]
    found = []
    with torch.no_grad():
        for token in torch.randn(tokens, 1, model.config.width):
            with FlopCounterMode(display=False) as counter:
                x = token
                for i, layer in enumerate(model.layers):
                    x, states[i] = layer.step(x, states[i])
            found.append(counter.get_total_flops())
    return found


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("name", MIXERS)
def test_steps_cost_the_closed_form(name: str, width: int) -> None:
    tokens = 40 if width == 32 else 5
    found = counted(Backbone(ModelConfig(name, width=width)), tokens)
    cost = backbone_cost(name, width, tokens - 1)
    assert sum(found) == cost.F_total
    assert found[-1] == cost.F_read


@pytest.mark.slow
def test_compressive_costs_its_closed_form_through_all_memories() -> None:
    tokens = 13 * 128 + 3  # the long-term slot is updated from block 12 on
    found = counted(Backbone(ModelConfig("compressive", width=32)), tokens)
    assert sum(found) == backbone_cost("compressive", 32, tokens - 1).F_total


def test_compressive_costs_its_closed_form_through_first_compressions() -> None:
    tokens = 4 * 128 + 2
    found = counted(Backbone(ModelConfig("compressive", width=16)), tokens)
    assert sum(found) == backbone_cost("compressive", 16, tokens - 1).F_total
