"""Backbones: chunked kernels against the token loop, tokens a second of each backbone, and its evaluation.

    python benchmarks/bench_backbones.py             kernels, forward and backward (some two minutes)
    python benchmarks/bench_backbones.py --backbones tokens a second of each backbone at D = 64, training and reading
    python benchmarks/bench_backbones.py --evaluate  20 streams x 16 questions at L = 4,096
    python benchmarks/bench_backbones.py --memory    peak memory of a prefill at L = 16,384

The kernels run at B = 8, H = 4, L = 1,024, chunks of 32, on one thread, alternating with the loop; times are CPU
seconds, so a busy machine changes them little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid, normalize

from memgauge.systems.backbones.catalog import MIXERS
from memgauge.systems.backbones.kernels import RULES, fast_weights, rule_loop
from memgauge.systems.backbones.kernels.fast_weights import FastWeights
from memgauge.systems.backbones.model import Backbone
from memgauge.systems.backbones.shape import ModelConfig

B, H, L, F = 8, 4, 1024, 16
TARGETS = {"delta": 6, "gated delta": 6, "vector decay": 6, "scalar decay": 6, "DPLR": 4, "TTT": 4}


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def backward(run: Callable[[], Tensor]) -> float:
    """Return the CPU seconds of a run and its gradients."""
    return seconds(lambda: run().sum().backward())


def kernel_cases() -> dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor]]]:
    """Return chunked form and token loop of each kernel, with the same inputs."""

    def leaf(*shape: int) -> Tensor:
        return torch.randn(B, H, L, *shape, requires_grad=True)

    q, k, v = leaf(F), normalize(leaf(F).detach(), dim=-1).requires_grad_(), leaf(F)
    beta, scalar = torch.rand(B, H, L, 1), logsigmoid(torch.randn(B, H, L, 1))
    vector = logsigmoid(torch.randn(B, H, L, F)) / 4
    state = torch.zeros(B, H, F, F)
    rules = {
        "delta": ("delta", (q, k, v, beta)),
        "gated delta": ("delta", (q, k, v, beta, scalar)),
        "vector decay": ("vector", (q, k, v, vector)),
        "scalar decay": ("scalar", (q, k, v, scalar)),
        "DPLR": ("dplr", (q, k, v, vector, -k.detach(), 0.5 * k.detach())),
    }
    cases: dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor]]] = {}
    for label, (name, terms) in rules.items():
        cases[label] = (
            lambda n=name, t=terms: RULES[n].chunk(state, *t)[0],  # type: ignore[misc]
            lambda n=name, t=terms: rule_loop(n, state, t)[0],  # type: ignore[misc]
        )
    first = FastWeights(*(0.02 * torch.randn(B, H, *shape) for shape in ((F, 4 * F), (1, 4 * F), (4 * F, F), (1, F))))
    gain, shift, rate = torch.ones(H, 1, F), torch.zeros(H, 1, F), torch.rand(B, H, L, 1) / 16

    def ttt(size: int, run: Callable[..., tuple[Tensor, FastWeights]], part: int) -> Tensor:
        base = now = first
        outputs = []
        for start in range(0, L, part):
            pieces = (t[:, :, start : start + part] for t in (q, k, v, rate))
            y, now = run(*pieces, base, now, gain, shift)
            outputs.append(y)
            if (start + part) % size == 0:
                base = now
        return torch.cat(outputs, 2)

    cases["TTT"] = (lambda: ttt(256, fast_weights.run, 256), lambda: ttt(256, fast_weights.step, 1))
    return cases


def bench_kernels(rounds: int) -> int:
    """Print the ratio of each kernel; 1 when one is below its target."""
    torch.set_num_threads(1)
    print(f"kernels, forward and backward, B={B} H={H} L={L}, one thread, median of {rounds} rounds")
    print(f"{'kernel':14}{'chunked ktok/s':>16}{'loop ktok/s':>13}{'ratio':>8}{'target':>8}")
    missed = False
    for label, (chunked, loop) in kernel_cases().items():
        pairs = [(backward(chunked), backward(loop)) for _ in range(rounds + 1)][1:]
        fast, slow = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in pairs)
        missed |= ratio < TARGETS[label]
        speeds = f"{B * L / fast / 1e3:16.1f}{B * L / slow / 1e3:13.1f}"
        print(f"{label:14}{speeds}{ratio:8.1f}{TARGETS[label]:8}", flush=True)
    return int(missed)


def bench_backbones(names: list[str]) -> int:
    """Print tokens a second of every backbone: a training step and a prefill."""
    torch.set_num_threads(1)
    print("backbones, D=64, B=8, L=512, 32 queries, one thread, thousand symbols a CPU second")
    print(f"{'backbone':16}{'training':>10}{'prefill':>10}")
    symbols, candidates = torch.randint(16, (8, 512)), torch.randint(16, (8, 32, 6))
    labels = torch.randint(2, (8, 32))
    for name in names:
        model = Backbone(ModelConfig(name))

        def step(model: Backbone = model) -> None:
            cross_entropy(model(symbols, candidates).flatten(0, 1), labels.flatten()).backward()

        def prefill(model: Backbone = model) -> None:
            with torch.no_grad():
                model.prefill(symbols)

        speeds = []
        for work in (step, prefill):
            work()
            speeds.append(8 * 512 / statistics.median(seconds(work) for _ in range(3)) / 1e3)
        print(f"{name:16}{speeds[0]:10.1f}{speeds[1]:10.1f}", flush=True)
    return 0


def bench_evaluation(names: list[str]) -> int:
    """Print the time of 20 streams x 16 questions at L = 4,096; 1 when a backbone takes over 20 s of one core."""
    torch.set_num_threads(1)
    print("evaluation, D=64, 20 streams x 16 questions, L=4096, one thread")
    print(f"{'backbone':16}{'wall s':>8}{'CPU s':>8}")
    symbols, candidates = torch.randint(16, (20, 4096)), torch.randint(16, (20, 16, 6))
    slow = False
    for name in names:
        model = Backbone(ModelConfig(name)).eval()
        wall = time.perf_counter()

        def evaluate(model: Backbone = model) -> None:
            with torch.no_grad():
                for first in range(0, 20, 10):
                    model.read(candidates[first : first + 10], model.prefill(symbols[first : first + 10]))

        used = seconds(evaluate)
        wall = time.perf_counter() - wall
        slow |= used > 20
        print(f"{name:16}{wall:8.1f}{used:8.1f}", flush=True)
    return int(slow)


def bench_memory(names: list[str]) -> int:
    """Print what a prefill of 16,384 symbols adds to the memory of a process, and of 8,192."""
    print("prefill of one stream, D=64: memory that it adds at its peak, MiB")
    print(f"{'backbone':16}{'L=8192':>9}{'L=16384':>9}")
    for name in names:
        added = []
        for length in (8192, 16384):
            code = (
                "import resource, torch; torch.set_num_threads(1)\n"
                "from memgauge.systems.backbones.model import *\n"
                f"model = Backbone(ModelConfig({name!r}))\n"
                "with torch.no_grad():\n"
                "    model.prefill(torch.zeros(1, 64, dtype=torch.long))\n"
                "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                f"    model.prefill(torch.randint(16, (1, {length})))\n"
                "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)\n"
            )
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
            added.append(float(done.stdout))
        print(f"{name:16}{added[0]:9.0f}{added[1]:9.0f}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="backbones, for the last three [all]")
    parser.add_argument("--backbones", action="store_true")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(0)
    names = options.names or list(MIXERS)
    if options.backbones:
        return bench_backbones(names)
    if options.evaluate:
        return bench_evaluation(names)
    if options.memory:
        return bench_memory(names)
    return bench_kernels(options.rounds)


if __name__ == "__main__":
    sys.exit(main())
