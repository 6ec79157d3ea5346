"""What only one backbone has: slots of the Compressive Transformer, routes of MoM, mini-batches of TTT."""

from __future__ import annotations

import torch
from torch.testing import assert_close

from memgauge.costs.backbones import compressive_slots
from memgauge.systems.backbones.base import token_loop
from memgauge.systems.backbones.mixers.compressive import CompressiveAttention
from memgauge.systems.backbones.mixers.deltaformer import DeltaFormer
from memgauge.systems.backbones.mixers.mom import MEMORIES, MoM
from memgauge.systems.backbones.mixers.ttt_mlp import TTTMemory


@torch.no_grad()
def test_compressive_slots_before_each_block() -> None:
    layer = CompressiveAttention(16, 128, 32)
    state = layer.init_state(1)
    for block in range(1, 16):
        assert sum(state["sizes"]) == compressive_slots(block) == state["k"].shape[2], block
        _, state = layer.prefill(torch.randn(1, 128, 16), state)


@torch.no_grad()
def test_compressive_keys_are_those_of_its_rows(double: None) -> None:
    layer = CompressiveAttention(32, 32, 4)
    _, state = layer.prefill(torch.randn(2, 32 * 12 + 5, 32))
    k, v = layer._pairs(state["rows"])
    assert_close(state["k"], k)
    assert_close(state["v"], v)
    assert state["sizes"][0] == 1


@torch.no_grad()
def test_mom_sends_every_token_to_three_memories(double: None) -> None:
    torch.manual_seed(3)
    layer = MoM(32)
    x = torch.randn(2, 50, 32)
    _, state = layer.prefill(x)
    assert layer.routed is not None
    assert layer.routed.sum(-1).tolist() == [150, 150]
    _, _, index = layer.route(x)
    for b in range(2):
        for memory in range(MEMORIES):
            used = bool((index[b] == memory).any())
            assert used == bool(state["S"][b, memory].abs().sum() > 0)  # an unused memory stays zero
    assert 0 <= layer.overflow(1.5) < 1
    assert layer.overflow(MEMORIES) == 0


@torch.no_grad()
def test_mom_that_sends_all_to_three_memories(double: None) -> None:
    torch.manual_seed(3)
    layer = MoM(32)
    layer.router.weight.zero_()
    layer.router.weight[[2, 5, 11]] = torch.randn(3, 32) * 1e-3
    x = torch.randn(2, 70, 32).abs() * torch.randn(1, 1, 32).sign()
    layer.router.weight[[2, 5, 11]] += 100 * x.mean((0, 1)).sign()
    y, state = layer.prefill(x)
    stepped, after = token_loop(layer, x)
    assert_close(y, stepped)
    assert_close(state["S"], after["S"])
    assert_close(state["tail"], after["tail"])
    assert layer.routed is not None
    assert layer.routed[:, [2, 5, 11]].tolist() == [[70, 70, 70]] * 2
    assert 0.6 < layer.overflow(1.5) < 0.8  # 3 x (70 - 1.5 x 210 / 16) / 210


def test_mom_balance_is_least_when_even() -> None:
    layer = MoM(32)
    layer.prefill(torch.randn(4, 60, 32))
    first = layer.extra_loss()
    assert first is not None
    # An even load has 0.01 x 16 x 16 x (1/16)^2 = 0.01; any correlated load and probability has more.
    assert first.item() > 0.0099
    first.backward()
    assert layer.router.weight.grad is not None


@torch.no_grad()
def test_ttt_states_around_a_mini_batch(double: None) -> None:
    layer = TTTMemory(32, 16, 1.0)
    x = torch.randn(2, 33, 32)
    for length, open_ in ((15, 15), (16, 0), (17, 1), (32, 0), (33, 1)):
        _, state = layer.prefill(x[:, :length])
        assert state["open"] == open_
        same = all(torch.equal(a, b) for a, b in zip(state["base"], state["now"], strict=True))
        assert same == (open_ == 0)


@torch.no_grad()
def test_ttt_mini_batch_of_one_is_plain_descent(double: None) -> None:
    one, many = TTTMemory(32, 1, 1.0), TTTMemory(32, 64, 1.0)
    many.load_state_dict(one.state_dict())
    x = torch.randn(2, 20, 32)
    assert_close(one.prefill(x[:, :1])[0], many.prefill(x[:, :1])[0])
    assert not torch.allclose(one.prefill(x)[0], many.prefill(x)[0])


@torch.no_grad()
def test_deltaformer_can_correct_by_its_keys(double: None) -> None:
    layer = DeltaFormer(32, "key")
    x = torch.randn(2, 70, 32)
    y, _ = layer.prefill(x)
    assert_close(y, token_loop(layer, x)[0])
    other = DeltaFormer(32, "query")
    other.load_state_dict(layer.state_dict())
    assert not torch.allclose(y, other.prefill(x)[0])
