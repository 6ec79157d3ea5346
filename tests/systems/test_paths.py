"""Both paths of every known system: question by question in any blocks, and batched."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memgauge.episode import ARMS, Observation, Question
from memgauge.errors import InputError
from memgauge.system import BatchAnswers, SymbolBatch
from memgauge.systems.registry import BUILT_IN, make_system

SPECS = [
    "exact",
    "window:bits=4",
    "window:bits=102",
    "window:bits=100000",
    "blocks:bits=48",
    "blocks:bits=300,block=7",
    "blocks:bits=64,block=1",
    "blocks:bits=100000,block=40",
    "bloom:bits=8",
    "bloom:bits=999",
    "bloom:bits=4096,design_length=64",
    "trigram-bloom:bits=300",
    "trigram-bloom:bits=2000,design_length=50",
    "trigram-bloom:bits=5000",
    "ngram-set:n=1",
    "ngram-set:n=2",
    "ngram-set:n=3",
    "lz78:bits=4",
    "lz78:bits=200",
    "lz78:bits=100000",
    "codec:bits=8",
    "codec:bits=160",
    "codec:bits=400,codec=zstd",
    "codec:bits=240,codec=brotli",
    "codec:bits=480,codec=lzma",
    "always-yes",
    "always-no",
    "always-abstain",
    "coin",
    "coin:p=0.2",
    "oracle:accuracy=0.7",
]


def test_every_known_system_is_covered() -> None:
    symbols_only = {name for name, where in BUILT_IN.items() if ".known." in where and "lane_map" not in where}
    assert {spec.partition(":")[0] for spec in SPECS} == symbols_only


@st.composite
def batches(draw: st.DrawFn) -> SymbolBatch:
    """Small batches over alphabets of any size, candidates partly from the stream, under any payoff."""
    length = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alphabet = draw(st.sampled_from([1, 2, 4, 16]))
    episodes, questions, widest = 2, 6, 8
    symbols = rng.integers(0, alphabet, (episodes, length)).astype(np.uint8)
    if draw(st.booleans()):
        symbols = np.tile(symbols[:, : max(1, length // 7)], 9)[:, :length].copy()
        length = symbols.shape[1]
    lengths = rng.integers(1, widest + 1, (episodes, questions))
    candidates = rng.integers(0, alphabet, (episodes, questions, widest)).astype(np.uint8)
    for e in range(episodes):
        for q in range(0, questions, 2):
            k = min(int(lengths[e, q]), length)
            start = int(rng.integers(0, length - k + 1))
            candidates[e, q, :k] = symbols[e, start : start + k]
            lengths[e, q] = k
    candidates[np.arange(widest) >= lengths[:, :, None]] = 0
    words = rng.integers(0, 2**64, (episodes, questions + 1), dtype=np.uint64)
    payoff = ARMS[draw(st.sampled_from(sorted(ARMS)))]
    gold = rng.integers(0, 2, (episodes, questions)).astype(bool)
    return SymbolBatch(symbols, candidates, lengths, words[:, 0], words[:, 1:], payoff, gold)


def check_reads(system: Any, memory: Any, batch: SymbolBatch, answers: BatchAnswers, e: int) -> None:
    """Ask one memory every question of its episode, and compare with the batch."""
    cost = memory.cost()
    assert answers.flops_write is not None
    assert answers.flops_read is not None
    assert answers.state_bits is not None
    assert (cost.flops, cost.state_bits) == (answers.flops_write[e], answers.state_bits[e])
    assert type(cost.flops) is int
    assert type(cost.state_bits) is int
    before = pickle.dumps(memory)
    for q, k in enumerate(batch.candidate_lengths[e].tolist()):
        question = Question(batch.candidates[e, q, :k], batch.payoff, int(batch.question_seeds[e, q]))
        assert batch.gold is not None
        extra = {"gold": "yes" if batch.gold[e, q] else "no"} if getattr(system, "privileged", False) else {}
        answer = memory.read(question, **extra)
        assert answer.value is (None if answers.abstain[e, q] else bool(answers.value[e, q]))
        assert answer.flops_read == answers.flops_read[e, q]
        assert type(answer.flops_read) is int
        confidence = None if answers.confidence is None else float(answers.confidence[e, q])
        assert answer.confidence == confidence
        assert confidence is None or 0 <= confidence <= 1
    assert pickle.dumps(memory) == before, "a read changed the memory"
    assert memory.cost() == cost


@pytest.mark.parametrize("spec", SPECS)
@given(batch=batches(), data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
def test_both_paths_answer_alike(spec: str, batch: SymbolBatch, data: st.DataObject) -> None:
    system = make_system(spec)
    episodes, length = batch.symbols.shape
    answers = system.read_batch(batch)
    assert answers.value.dtype == answers.abstain.dtype == bool
    for e in range(episodes):
        cuts = sorted(data.draw(st.sets(st.integers(0, length), max_size=6)))
        memory = system.start(int(batch.episode_seeds[e]))
        for start, end in zip([0, *cuts], [*cuts, length], strict=True):
            memory.write(Observation("symbols", batch.symbols[e, start:end]))
            # A question in between answers as if the stream ended here, and leaves no trace.
            if cuts and end == cuts[len(cuts) // 2] < length:
                check_reads(system, memory, batch, answers_at(system, batch, end), e)
        check_reads(system, memory, batch, answers, e)


def answers_at(system: Any, batch: SymbolBatch, point: int) -> BatchAnswers:
    return system.read_batch(replace(batch, symbols=batch.symbols[:, :point]))


@pytest.mark.parametrize("spec", SPECS)
def test_symbol_by_symbol(spec: str) -> None:
    rng = np.random.default_rng(5)
    symbols = np.concatenate([rng.integers(0, 16, 250), np.tile(rng.integers(0, 5, 40), 6)]).astype(np.uint8)[None]
    candidates = np.stack([symbols[0, i : i + 4] for i in range(0, 480, 30)])[None]
    shape = candidates.shape[:2]
    seeds = rng.integers(0, 2**64, shape, dtype=np.uint64)
    gold = np.ones(shape, bool)
    batch = SymbolBatch(symbols, candidates, np.full(shape, 4), np.array([9], np.uint64), seeds, ARMS["B"], gold)
    system = make_system(spec)
    memory = system.start(9)
    for point in range(symbols.shape[1]):
        memory.write(Observation("symbols", symbols[0, point : point + 1]))
        if point in (0, 2, 63, 64, 200):
            check_reads(system, memory, batch, answers_at(system, batch, point + 1), 0)
    check_reads(system, memory, batch, system.read_batch(batch), 0)


@pytest.mark.parametrize("spec", SPECS)
def test_no_symbols_and_no_questions(spec: str) -> None:
    none = np.zeros((1, 0), np.uint64)
    batch = SymbolBatch(
        np.zeros((1, 5), np.uint8),
        np.zeros((1, 0, 6), np.uint8),
        np.zeros((1, 0), np.int64),
        np.zeros(1, np.uint64),
        none,
        gold=np.zeros((1, 0), bool),
    )
    system = make_system(spec)
    assert system.read_batch(batch).value.shape == (1, 0)
    memory = system.start(0)
    memory.write(Observation("symbols", np.empty(0, np.uint8)))
    asked = Question(np.array([1, 2, 3], np.uint8), ARMS["B"], 7)
    empty = SymbolBatch(
        np.zeros((1, 0), np.uint8), asked.candidate[None, None], np.array([[3]]), np.zeros(1, np.uint64),
        np.array([[7]], np.uint64), ARMS["B"], np.array([[False]]),
    )  # fmt: skip
    check_reads(system, memory, empty, system.read_batch(empty), 0)


def test_a_batch_in_chunks(monkeypatch: pytest.MonkeyPatch, simulate: Any) -> None:
    batch = simulate(64, 50, 3)
    for spec in ("bloom:bits=512", "ngram-set:n=2"):
        system = make_system(spec)
        whole = system.read_batch(batch)
        monkeypatch.setattr("memgauge.systems.known.filtering.CHUNK", 1500)
        assert np.array_equal(system.read_batch(batch).value, whole.value)
        monkeypatch.undo()


MEMORIES = [spec for spec in SPECS if not spec.startswith(("always", "coin", "oracle"))]


@pytest.mark.parametrize("spec", MEMORIES)
def test_bad_symbols_and_questions_without_candidate(spec: str) -> None:
    system = make_system(spec)
    memory = system.start(0)
    with pytest.raises(InputError, match="symbol 16 is out of range"):
        memory.write(Observation("symbols", np.array([1, 16], np.uint8)))
    with pytest.raises(InputError, match="no candidate"):
        memory.read(Question(np.empty(0, np.uint8)))
    word = np.zeros((1, 1), np.uint64)
    good = np.zeros((1, 1, 3), np.uint8)
    for symbols, candidates, k in ((16, good, 3), (0, good + np.uint8(20), 3), (0, good, 0), (0, good, 4)):
        batch = SymbolBatch(np.full((1, 9), symbols, np.uint8), candidates, np.array([[k]]), word[0], word)
        with pytest.raises(InputError):
            system.read_batch(batch)


def test_the_oracle_needs_the_gold() -> None:
    oracle = make_system("oracle")
    with pytest.raises(InputError, match="gold"):
        oracle.start(0).read(Question(np.array([1], np.uint8)))
    with pytest.raises(InputError, match="'Paris'"):
        oracle.start(0).read(Question(np.array([1], np.uint8)), gold="Paris")


def test_draws_depend_on_their_seeds_alone(simulate: Any) -> None:
    batch = simulate(64, 50, 3)
    for spec in ("coin", "oracle:accuracy=0.5"):
        system = make_system(spec)
        value = system.read_batch(batch).value
        assert np.array_equal(value, system.read_batch(replace(batch, episode_seeds=batch.episode_seeds + 1)).value)
        other = system.read_batch(replace(batch, question_seeds=batch.question_seeds + np.uint64(1))).value
        assert 0.3 < (value == other).mean() < 0.7
    blocks = make_system("blocks:bits=120")
    held = [blocks.hold(b).rows for b in (batch, replace(batch, episode_seeds=batch.episode_seeds + np.uint64(1)))]
    assert sum(a == b for a, b in zip(*held, strict=True)) < 5
