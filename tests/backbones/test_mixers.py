"""What holds for every backbone: a read is an append, a prefill is a loop of steps, nothing sees what comes later."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch

from memgauge.errors import InputError
from memgauge.systems.backbones.base import state_bits, tensors, token_loop
from memgauge.systems.backbones.catalog import MIXERS, make_layer
from memgauge.systems.backbones.model import Backbone, ModelConfig, right_align

NAMES = list(MIXERS)
LENGTHS = (1, 2, 3, 31, 32, 33, 127, 128, 129, 300)


def make(name: str, layers: int = 2, **options: object) -> Backbone:
    torch.manual_seed(7)
    return Backbone(ModelConfig(name, width=32, layers=layers, options=options)).eval()


def asked(batch: int, length: int, queries: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(1000 + length)
    symbols = torch.randint(16, (batch, length), generator=g)
    sizes = torch.randint(3, 7, (batch, queries), generator=g)
    return symbols, right_align(torch.randint(16, (batch, queries, 6), generator=g), sizes)


def appended(model: Backbone, symbols: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    """Answer by appending each query to the stream in a forward of its own."""
    x, xq = model.symbols(symbols), model.queries(candidates)
    answers = []
    for j in range(xq.shape[1]):
        z = torch.cat([x, xq[:, j : j + 1]], 1)
        for layer in model.layers:
            z, _ = layer.prefill(z)
        answers.append(model.head(model.norm(z[:, -1, : model.config.width])))
    return torch.stack(answers, 1)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_read_is_append(name: str, double: None) -> None:
    model = make(name)
    for length in LENGTHS:
        symbols, candidates = asked(2, length, 3)
        torch.testing.assert_close(
            model(symbols, candidates), appended(model, symbols, candidates), rtol=0, atol=1e-10, msg=f"L={length}"
        )


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_read_is_append_in_single_precision(name: str) -> None:
    model = make(name)
    for length in (1, 33, 128, 300):
        symbols, candidates = asked(2, length, 3)
        torch.testing.assert_close(
            model(symbols, candidates), appended(model, symbols, candidates), rtol=0, atol=1e-4, msg=f"L={length}"
        )


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_prefill_is_a_loop_of_steps_and_can_be_split(name: str, double: None) -> None:
    options = {"ttt-mlp": {"minibatch": 32}, "compressive": {"block": 32, "slots": 8}}.get(name, {})
    model = make(name, **options)
    for length, cut in ((1, None), (2, 1), (33, 1), (70, 32), (161, 100)):
        x = model.symbols(asked(2, length, 1)[0])
        for layer in model.layers:
            y, state = layer.prefill(x)
            stepped, after = token_loop(layer, x)
            torch.testing.assert_close(y, stepped, rtol=0, atol=1e-10)
            torch.testing.assert_close(list(tensors(state)), list(tensors(after)), rtol=0, atol=1e-10)
            if cut is not None:
                first, middle = layer.prefill(x[:, :cut])
                second, last = layer.prefill(x[:, cut:], middle)
                torch.testing.assert_close(torch.cat([first, second], 1), y, rtol=0, atol=1e-10)
                torch.testing.assert_close(list(tensors(last)), list(tensors(state)), rtol=0, atol=1e-10)
            x = y


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_reads_change_nothing_and_do_not_see_each_other(name: str, double: None) -> None:
    model = make(name)
    symbols, candidates = asked(2, 130, 8)
    states = model.prefill(symbols)
    before = copy.deepcopy(states)
    answers = model.read(candidates, states)
    torch.testing.assert_close(list(tensors(states)), list(tensors(before)), rtol=0, atol=0)
    order = torch.randperm(8, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model.read(candidates[:, order], states), answers[:, order], rtol=0, atol=1e-12)
    torch.testing.assert_close(model.read(candidates[:, :1], states), answers[:, :1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_no_output_sees_a_later_token(name: str, double: None) -> None:
    model = make(name)
    x = model.symbols(asked(1, 140, 1)[0])
    for at in (1, 40, 128):
        changed = x.clone()
        changed[:, at] += 1
        y, z = x, changed
        for layer in model.layers:
            y, z = layer.prefill(y)[0], layer.prefill(z)[0]
        torch.testing.assert_close(y[:, :at], z[:, :at], rtol=0, atol=1e-12)
        assert (y[:, at:] - z[:, at:]).abs().max() > 1e-6  # and the change is seen at all


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_gets_a_gradient(name: str, double: None) -> None:
    # Few slots, so that the Compressive Transformer's long slot is updated twice: the first time it asks with zeros.
    model = make(name, **{"compressive": {"slots": 4}}.get(name, {}))
    symbols, candidates = asked(2, 530, 4)
    model(symbols, candidates).square().sum().backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert silent == []
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_state_sizes() -> None:
    # One layer of width 32 has two heads of 16 x 16 numbers, and three rows of 96 before the convolution.
    model = make("deltanet", layers=1)
    states = model.prefill(asked(5, 40, 1)[0])
    assert state_bits(states) == 32 * (2 * 16 * 16 + 3 * 96)
    states = make("rope", layers=1).prefill(asked(5, 40, 1)[0])
    assert state_bits(states) == 32 * 2 * 32 * 40


def test_long_prefills_never_hold_all_pairs() -> None:
    # All pairs of 16,384 tokens and two heads would take 2 GiB in single precision.
    code = (
        "import resource, torch; torch.set_num_threads(1)\n"
        "from memgauge.systems.backbones.catalog import make_layer\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "with torch.no_grad():\n"
        "    for name in ('rope', 'memory-mosaic', 'deltaformer', 'compressive', 'gla', 'ttt-mlp', 'mom'):\n"
        "        layer = make_layer(name, 32, 0, {})\n"
        "        x = torch.randn(1, 16384, 32)\n"
        "        y, state = layer.prefill(x)\n"
        "        assert y.shape == x.shape and layer.read(x[:, :3], state).isfinite().all()\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 512  # MiB


@pytest.mark.parametrize("name", NAMES)
def test_under_autocast_states_stay_wide_and_answers_close(name: str) -> None:
    # What a GPU does in training, on the CPU: 16-bit products around single-precision cores.
    model = make(name)
    symbols, candidates = asked(2, 150, 4)
    with torch.autocast("cpu", torch.bfloat16):
        found = model(symbols, candidates)
    found.float().square().sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())
    with torch.no_grad():
        wanted = model(symbols, candidates)
        with torch.autocast("cpu", torch.bfloat16):
            states = model.prefill(symbols)
    torch.testing.assert_close(found.float(), wanted, rtol=0, atol=0.1)
    matrices = [state["S"] for state in states if "S" in state] + [
        branch["S"] for state in states for branch in state.values() if isinstance(branch, dict) and "S" in branch
    ]
    assert all(matrix.dtype == torch.float32 for matrix in matrices)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(InputError, match=r"did you mean 'gla'"):
        make_layer("glaa", 64, 0, {})
    with pytest.raises(InputError, match="multiple of 16"):
        make_layer("gla", 40, 0, {})
    with pytest.raises(InputError, match="multiple of 32"):
        make_layer("mamba2", 48, 0, {})
    with pytest.raises(InputError, match=r"no option 'minibatch'; its options: none"):
        make_layer("gla", 64, 0, {"minibatch": 3})
    with pytest.raises(InputError, match="correct_by"):
        make_layer("deltaformer", 64, 0, {"correct_by": "value"})
    with pytest.raises(InputError, match="multiples of 32"):
        make_layer("compressive", 64, 0, {"block": 40})
    with pytest.raises(InputError, match="minibatch"):
        make_layer("ttt-mlp", 64, 0, {"minibatch": 0})
    with pytest.raises(InputError, match=r"minibatch is '9'; give int"):
        make_layer("ttt-mlp", 64, 0, {"minibatch": "9"})
    with pytest.raises(InputError, match=r"balance is \[\]; give float"):
        make_layer("mom", 64, 0, {"balance": []})
