"""Chunked forms against the rule itself, also where chunked forms are known to break; gradients by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize, softmax

from memgauge.errors import InputError
from memgauge.systems.backbones.kernels import RULES, fast_weights, rule_loop, use_backend
from memgauge.systems.backbones.kernels.attending import (
    attend_with_own,
    causal_attention,
    corrected_values,
    leaky_average,
    rotate,
    rotate_at,
    window_attention,
)
from memgauge.systems.backbones.kernels.fast_weights import FastWeights

CASES = ("scalar", "vector", "delta", "gated", "dplr")
B, H, DK, DV = 2, 3, 8, 12


def terms_of(case: str, length: int, dtype: torch.dtype, seed: int = 0) -> tuple[str, Tensor, tuple[Tensor, ...]]:
    """Return a rule's name, a first state, and random terms."""
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    q, k, v = normal(B, H, length, DK), normalize(normal(B, H, length, DK), dim=-1), normal(B, H, length, DV)
    state = normal(B, H, DK, DV)
    beta, scalar = normal(B, H, length, 1).sigmoid(), logsigmoid(normal(B, H, length, 1))
    vector = logsigmoid(normal(B, H, length, DK) * 2) / 2
    slow = -0.6065 * normal(B, H, length, DK).sigmoid()
    more = {
        "scalar": (scalar,),
        "vector": (vector,),
        "delta": (beta,),
        "gated": (beta, scalar),
        "dplr": (slow, -k, k * normal(B, H, length, DK).sigmoid()),
    }[case]
    name = "delta" if case == "gated" else case
    return name, state.to(dtype), tuple(t.to(dtype) for t in (q, k, v, *more))


def error(found: tuple[Tensor, Tensor], wanted: tuple[Tensor, Tensor]) -> float:
    """Return the largest error relative to the largest value."""
    return max(float((a.double() - b.double()).abs().max() / b.abs().max()) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("case", CASES)
def test_chunks_equal_the_loop(case: str, size: int) -> None:
    for length in (1, size - 1, size, size + 1, 150):
        name, state, terms = terms_of(case, length, torch.float64)
        wanted = rule_loop(name, state, terms)
        assert error(RULES[name].chunk(state, *terms, size=size), wanted) < 1e-12
        single = RULES[name].chunk(state.float(), *(t.float() for t in terms), size=size)
        assert error(single, wanted) < 2e-5


@pytest.mark.parametrize("case", CASES)
def test_a_query_is_a_step(case: str) -> None:
    name, state, terms = terms_of(case, 5, torch.float64)
    answers = RULES[name].query(state, *terms)
    for t in range(5):
        y, _ = RULES[name].step(state, *(x[:, :, t : t + 1] for x in terms))
        torch.testing.assert_close(answers[:, :, t : t + 1], y, rtol=0, atol=1e-13)


@pytest.mark.parametrize("period", [1, 2, 4])
@pytest.mark.parametrize("case", ["delta", "gated", "dplr"])
def test_repeated_keys_are_safe_in_single_precision(case: str, period: int) -> None:
    # With these an inverse by the nilpotent product is wrong by factors up to 1e21.
    length = 200
    name, state, (q, k, v, *more) = terms_of(case, length, torch.float64)
    k = k[:, :, :period].repeat(1, 1, length // period, 1)
    if case == "dplr":
        more = [more[0] * 0, -k, k]
    else:
        more[0] = torch.ones_like(more[0])
    wanted = rule_loop(name, state, (q, k, v, *more))
    for size in (16, 32, 64):
        found = RULES[name].chunk(state.float(), *(t.float() for t in (q, k, v, *more)), size=size)
        assert error(found, wanted) < 2e-4, size


@pytest.mark.parametrize("case", ["scalar", "vector", "gated"])
def test_strong_decay_is_finite_and_right(case: str) -> None:
    # -3 a token on average: exp(-96) over a chunk of 32, below the smallest single-precision number.
    name, state, terms = terms_of(case, 130, torch.float64)
    g = torch.Generator().manual_seed(5)
    strong = -3 * (0.5 + torch.rand(terms[-1].shape, generator=g, dtype=torch.float64))
    terms = (*terms[:-1], strong)
    wanted = rule_loop(name, state, terms)
    assert error(RULES[name].chunk(state.float(), *(t.float() for t in terms)), wanted) < 2e-5


@pytest.mark.parametrize("case", CASES)
def test_zero_keys_and_gradients_are_finite(case: str) -> None:
    name, state, terms = terms_of(case, 40, torch.float32)
    terms = (terms[0], torch.zeros_like(terms[1]), *terms[2:])
    leaves = [t.clone().requires_grad_() for t in (state, *terms)]
    y, last = RULES[name].chunk(*leaves)
    (y.sum() + last.sum()).backward()
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves if leaf.grad is not None)


@pytest.mark.parametrize("case", CASES)
def test_gradients_equal_the_loop(case: str) -> None:
    name, state, terms = terms_of(case, 20, torch.float64)
    grads = []
    for run in (lambda s, t: RULES[name].chunk(s, *t, size=16), lambda s, t: rule_loop(name, s, t)):
        leaves = [t.clone().requires_grad_() for t in (state, *terms)]
        y, last = run(leaves[0], tuple(leaves[1:]))
        (y.sin().sum() + last.cos().sum()).backward()
        grads.append([leaf.grad for leaf in leaves])
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_gradients_equal_differences(case: str) -> None:
    name, state, terms = terms_of(case, 20, torch.float64)
    small = tuple(t[:1, :1].clone().requires_grad_() for t in (state, *terms))
    assert torch.autograd.gradcheck(lambda *t: RULES[name].chunk(*t, size=16), small, fast_mode=True)


# Attention


def plain_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    return softmax((q @ k.transpose(-1, -2) * scale).masked_fill(~mask, float("-inf")), -1) @ v


@pytest.mark.parametrize(("past", "length"), [(0, 300), (5, 300), (300, 1)])
def test_causal_attention(past: int, length: int, double: None) -> None:
    q, k, v = torch.randn(2, 3, length, 8), torch.randn(2, 3, past + length, 8), torch.randn(2, 3, past + length, 8)
    mask = torch.arange(past + length) <= torch.arange(past, past + length)[:, None]
    torch.testing.assert_close(causal_attention(q, k, v, 0.3), plain_attention(q, k, v, mask, 0.3))


@pytest.mark.parametrize("length", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("there", [0, 5, 16])
def test_window_attention(length: int, there: int, double: None) -> None:
    q, k, v = torch.randn(2, 3, length, 8), torch.randn(2, 3, 16 + length, 8), torch.randn(2, 3, 16 + length, 8)
    past = torch.arange(16) >= 16 - there
    at, key = torch.arange(16, 16 + length)[:, None], torch.arange(16 + length)
    mask = (key <= at) & (key >= at - 16) & (key >= 16 - there)
    torch.testing.assert_close(window_attention(q, k, v, past, 16, 0.3), plain_attention(q, k, v, mask, 0.3))


def test_attend_with_own(double: None) -> None:
    q, k_own, v_own, k, v = (torch.randn(2, 3, n, 8) for n in (4, 4, 4, 9, 9))
    found = attend_with_own(q, k_own, v_own, k, v, 0.3)
    for j in range(4):
        keys, values = torch.cat([k, k_own[:, :, j : j + 1]], 2), torch.cat([v, v_own[:, :, j : j + 1]], 2)
        wanted = plain_attention(q[:, :, j : j + 1], keys, values, torch.ones(1, 10, dtype=torch.bool), 0.3)
        torch.testing.assert_close(found[:, :, j : j + 1], wanted)


def test_corrected_values_follow_their_definition(double: None) -> None:
    w, k, v, beta = (
        torch.randn(1, 2, 150, 8),
        torch.randn(1, 2, 150, 8),
        torch.randn(1, 2, 150, 8),
        torch.rand(1, 2, 150, 1),
    )
    u = v[:, :, :1]
    for t in range(1, 150):
        weight = softmax(w[:, :, t : t + 1] @ k[:, :, :t].transpose(-1, -2) * 0.3, -1)
        u = torch.cat([u, v[:, :, t : t + 1] - beta[:, :, t : t + 1] * (weight @ u)], 2)
    torch.testing.assert_close(corrected_values(w, k, v, beta, u[:, :, :0], 0.3), u)
    later = corrected_values(w[:, :, 70:], k, v[:, :, 70:], beta[:, :, 70:], u[:, :, :70], 0.3)
    torch.testing.assert_close(later, u[:, :, 70:])


def test_leaky_average(double: None) -> None:
    x, leak, last = torch.randn(2, 3, 150, 4), torch.tensor([1e-6, 0.5, 0.999]), torch.randn(2, 3, 1, 4)
    wanted, y = [], last[:, :, 0]
    for t in range(150):
        y = x[:, :, t] + leak[:, None] * y
        wanted.append(y)
    torch.testing.assert_close(leaky_average(x, leak, last), torch.stack(wanted, 2))


def test_rotation_depends_on_differences_alone(double: None) -> None:
    q, k = torch.randn(1, 1, 1, 16), torch.randn(1, 1, 1, 16)
    products = [(rotate_at(q, 7 + s) * rotate_at(k, 3 + s)).sum() for s in (0, 5, 4000)]
    torch.testing.assert_close(products[0], products[1])
    torch.testing.assert_close(products[0], products[2])
    torch.testing.assert_close(rotate(torch.cat([q, k], 2), 11)[:, :, 1:], rotate_at(k, 12))


# The network that is trained while it reads


def network(seed: int) -> tuple[FastWeights, Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    weights = FastWeights(
        normal(B, H, 4, 16) * 0.3, normal(B, H, 1, 16) * 0.1, normal(B, H, 16, 4) * 0.3, normal(B, H, 1, 4) * 0.1
    )
    return weights, 1 + 0.1 * normal(H, 1, 4), 0.1 * normal(H, 1, 4)


def test_hand_written_gradient_is_autograd() -> None:
    weights, gain, shift = network(0)
    k, v, rate = torch.randn(B, H, 1, 4).double(), torch.randn(B, H, 1, 4).double(), torch.rand(B, H, 1, 1).double()
    leaves = FastWeights(*(w.clone().requires_grad_() for w in weights))
    z2 = torch.nn.functional.gelu(k @ leaves.w1 + leaves.b1, approximate="tanh") @ leaves.w2 + leaves.b2
    unit = torch.nn.functional.layer_norm(z2, (4,), eps=fast_weights.EPS)
    (0.5 * (k + gain * unit + shift - v).square()).sum().backward()
    sent = fast_weights.errors(k, v, rate, weights, gain, shift)
    found = (k.transpose(-1, -2) @ sent.d1, sent.d1, sent.hidden.transpose(-1, -2) @ sent.d2, sent.d2)
    for mine, leaf in zip(found, leaves, strict=True):
        torch.testing.assert_close(mine, rate * leaf.grad)


@pytest.mark.parametrize("length", [1, 2, 31, 40])
def test_dual_form_is_the_loop(length: int) -> None:
    base, gain, shift = network(1)
    q, k, v = (torch.randn(B, H, length, 4, dtype=torch.float64) for _ in range(3))
    rate = torch.rand(B, H, length, 1, dtype=torch.float64) / 16
    y, after = fast_weights.run(q, k, v, rate, base, base, gain, shift)
    now, outputs = base, []
    for t in range(length):
        asked = fast_weights.query(*(x[:, :, t : t + 1] for x in (q, k, v, rate)), base, now, gain, shift)
        one, now = fast_weights.step(*(x[:, :, t : t + 1] for x in (q, k, v, rate)), base, now, gain, shift)
        torch.testing.assert_close(asked, one)
        outputs.append(one)
    torch.testing.assert_close(y, torch.cat(outputs, 2))
    for a, b in zip(after, now, strict=True):
        torch.testing.assert_close(a, b)


def test_backends() -> None:
    use_backend("torch")
    with pytest.raises(InputError, match="choose torch or fla"):
        use_backend("triton")  # type: ignore[arg-type]
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="need a CUDA device"):
            use_backend("fla")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("case", CASES)
def test_fla_kernels_agree(case: str) -> None:
    pytest.importorskip("fla.ops.gla", reason="needs fla-core and triton")
    from memgauge.systems.backbones.kernels import fla

    fla.load()
    name, state, terms = terms_of(case, 150, torch.float32)
    wanted = rule_loop(name, state, terms)
    found = fla.run(name, state.cuda(), tuple(t.cuda() for t in terms))
    assert error((found[0].cpu(), found[1].cpu()), wanted) < 2e-2
