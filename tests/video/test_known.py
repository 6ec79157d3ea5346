"""Systems whose numbers on video are known: closed forms, and the answers of a plain search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memgauge.episode import ARMS, Observation, Question
from memgauge.errors import InputError
from memgauge.streams.make import make_item
from memgauge.streams.video import make_video, video_episode
from memgauge.systems.known.exact import Exact
from memgauge.systems.known.lane_map import SYMBOL_SYSTEMS, ExactFrames, Laned, LaneMap, with_lanes
from memgauge.systems.known.window import Window
from memgauge.systems.registry import BUILT_IN, make_system

SYMBOL_PARAMETERS = {"ngram-set": "n=3"}


def episodes(band, length, count, *, lane_law="fixed", seed=0, negatives="uniform", queries=16):
    for index in range(count):
        item = make_item(band, length, index, seed=seed, queries=queries, negatives=negatives)
        yield video_episode(make_video(item, lane_law=lane_law))


def ask(system, many, arm="none"):
    """Write every episode once and ask all its questions; return one row a question."""
    rows = []
    for episode in many:
        memory = system.start(7)
        for observation in episode.observations:
            memory.write(observation)
        cost = memory.cost()
        for query in episode.queries:
            answer = memory.read(replace(query.question, payoff=ARMS[arm]))
            said = {True: "yes", False: "no", None: None}[answer.value]
            rows.append(
                {
                    "episode": episode.id,
                    "query": query.id,
                    "query_length": len(query.question.candidate),
                    "variant": query.variant,
                    "gold": query.gold,
                    "answer": said,
                    "correct": said == query.gold,
                    "confidence": answer.confidence,
                    "flops_write": cost.flops,
                    "flops_read": answer.flops_read,
                    "state_bits": cost.state_bits,
                }
            )
    return rows


def accuracy(rows, **wanted):
    chosen = [row["correct"] for row in rows if all(row[name] == value for name, value in wanted.items())]
    return float(np.mean(chosen))


@pytest.mark.parametrize(("band", "length"), [("low", 16), ("max", 8), ("max", 256), ("easyhuman", 64)])
def test_a_map_alone_answers_every_spatial_question(band, length):
    rows = ask(LaneMap(), episodes(band, length, 10))
    assert accuracy(rows, variant="spatial") == 1
    assert accuracy(rows, variant="sequential") == 0.5
    assert accuracy(rows) == 0.75 == LaneMap().expected_accuracy(length).value
    assert {row["state_bits"] for row in rows} == {32}
    assert {row["flops_write"] for row in rows} == {length}
    assert all(row["flops_read"] == row["query_length"] for row in rows)


@pytest.mark.parametrize("arm", ["A", "B"])
def test_a_map_declines_what_it_cannot_know(arm):
    rows = ask(LaneMap(), episodes("max", 64, 10), arm)
    coverage = np.mean([row["answer"] is not None for row in rows])
    expected = LaneMap().expected_selective(64, float(ARMS[arm].break_even))
    assert (coverage, accuracy(rows)) == expected
    agreeing = [row for row in rows if row["confidence"] != 1]
    assert {row["confidence"] for row in agreeing} == {2 / 3}
    # Of the candidates that agree with the map two in three are true.
    assert np.mean([row["gold"] == "yes" for row in agreeing]) == pytest.approx(2 / 3)


def test_under_free_lanes_a_map_is_near_chance():
    rows = ask(LaneMap(), episodes("max", 256, 40, lane_law="free"))
    # 640 answers, of one kind mostly: within 4 standard errors of one half, 0.08.
    assert abs(accuracy(rows) - 0.5) < 0.08


@pytest.mark.parametrize("lane_law", ["fixed", "free"])
@pytest.mark.parametrize(("band", "length"), [("low", 64), ("max", 256), ("easyhuman", 256)])
def test_exact_is_right_under_either_law(band, length, lane_law):
    system = with_lanes(make_system("exact"))
    assert system == ExactFrames()
    rows = ask(system, episodes(band, length, 6, lane_law=lane_law))
    assert accuracy(rows) == 1 == system.expected_accuracy(length).value
    assert {row["state_bits"] for row in rows} == {6 * length}
    assert {row["flops_write"] for row in rows} == {2 * length}
    assert all(row["flops_read"] == 2 * k * (length - k + 1) for row in rows for k in [row["query_length"]])


def test_exact_symbols_with_a_map_are_right_under_the_fixed_law_alone():
    system = Laned(Exact())
    assert accuracy(ask(system, episodes("max", 256, 6))) == 1
    assert accuracy(ask(system, episodes("max", 256, 6, lane_law="free"))) < 0.9
    # Without belts, the spatial negatives look true.
    rows = ask(Exact(), episodes("max", 256, 6))
    assert accuracy(rows, variant="sequential") == 1
    assert accuracy(rows, variant="spatial") == 0.5


@pytest.mark.parametrize("spec", ["window:bits=256", "blocks:bits=256"])
def test_a_memory_that_holds_symbols_keeps_its_accuracy(spec):
    system = with_lanes(make_system(spec))
    rows = ask(system, episodes("max", 128, 80, seed=5))
    expected = system.expected_accuracy(128).value
    # 1,280 answers of 80 streams; four standard errors of one stream's mean (at most 0.125) over 80 are 0.056.
    assert abs(accuracy(rows) - expected) < 0.056
    assert accuracy(rows, gold="no") == 1
    assert {row["state_bits"] for row in rows} == {256 + 32}
    assert system.name == f"{spec}+lanes"


def test_confidences_hold_on_video():
    # Among the answers with one confidence, the share that is right is that confidence: chi-square over groups with at
    # least 50 answers, 4 standard errors each.
    rows = ask(with_lanes(make_system("window:bits=128")), episodes("max", 64, 150, seed=6))
    groups: dict[float, list[bool]] = {}
    for row in rows:
        groups.setdefault(row["confidence"], []).append(row["correct"])
    large = {c: right for c, right in groups.items() if len(right) >= 50}
    assert len(large) >= 4
    for confidence, right in large.items():
        spread = np.sqrt(confidence * (1 - confidence) / len(right))
        assert abs(np.mean(right) - confidence) <= 4 * spread, confidence


@pytest.mark.parametrize("name", sorted(SYMBOL_SYSTEMS - {"exact"}))
def test_every_memory_of_symbols_takes_a_map(name):
    assert name in BUILT_IN
    base = make_system(f"{name}:{SYMBOL_PARAMETERS.get(name, 'bits=4096')}")
    system = with_lanes(base)
    assert system.name == f"{base.name}+lanes"
    many = list(episodes("max", 64, 4))
    rows = ask(system, many)
    plain = {(row["episode"], row["query"]): row for row in ask(base, many)}
    for row in rows:
        alone = plain[row["episode"], row["query"]]
        if row["variant"] == "spatial" and row["gold"] == "no":
            assert row["answer"] == "no"
            assert row["confidence"] in (1.0, None)
        else:
            assert row["answer"] == alone["answer"]
        assert row["state_bits"] == alone["state_bits"] + 32
        assert row["flops_write"] == alone["flops_write"] + 64
        assert row["flops_read"] == alone["flops_read"] + row["query_length"]


@pytest.mark.parametrize("arm", ["A", "B"])
def test_a_payoff_withholds_by_the_confidence_on_video(arm):
    many = list(episodes("max", 64, 20))
    system = with_lanes(make_system("window:bits=128"))
    free = {(row["episode"], row["query"]): row for row in ask(system, many)}
    for row in ask(system, many, arm):
        sure = free[row["episode"], row["query"]]
        answers = sure["confidence"] > float(ARMS[arm].break_even)
        assert row["answer"] == (sure["answer"] if answers else None)


def test_systems_that_guess_are_left_as_they_are():
    for name in ("always-yes", "always-no", "coin"):
        base = make_system(name)
        assert with_lanes(base) is base
    assert with_lanes(LaneMap()) == LaneMap()
    own = object()
    assert with_lanes(own) is own


def test_names_and_versions_tell_the_map():
    assert (Laned(Window(1024)).name, LaneMap().name, ExactFrames().name) == (
        "window:bits=1024+lanes",
        "lane-map",
        "exact+lanes",
    )
    assert Laned(Window(1024)).version != Window(1024).version
    assert Laned(Window(1024)).expected_accuracy(256) == Window(1024).expected_accuracy(256)
    assert Laned(make_system("bloom:bits=4096")).expected_accuracy(256) is None


@pytest.mark.parametrize("system", [LaneMap(), Laned(Exact()), ExactFrames()])
def test_symbols_without_belts_are_refused(system):
    symbols = np.array([1, 2, 3], np.uint8)
    with pytest.raises(InputError, match="has no belts"):
        system.start(0).write(Observation("symbols", symbols))
    with pytest.raises(InputError, match="has no belts"):
        system.start(0).read(Question(symbols))
