from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from memgauge.errors import InputError
from memgauge.streams.easyhuman import easyhuman_stream
from memgauge.streams.item import StreamItem
from memgauge.streams.make import make_item
from memgauge.streams.queries import draw_queries, to_queries
from memgauge.streams.video import VARIANTS, make_video, task_name, verify_video, video_episode
from memgauge.streams.video_frames import Frames

LAWS = ("fixed", "free")
PINNED = "1221001110121201"


def item_of(symbols, *, seed=0, queries=8, negatives="uniform", name="own-0000"):
    symbols = np.array(symbols, np.uint8)
    arrays = draw_queries(symbols, queries, seed=seed, negatives=negatives)
    return StreamItem(name, "own", len(symbols), symbols, to_queries(symbols, arrays, negatives), 0.0, 0.0, None)


def shown(symbols, lanes):
    return list(zip(symbols.tolist(), lanes.tolist(), strict=True))


def places(stream, clip):
    return [i for i in range(len(stream) - len(clip) + 1) if stream[i : i + len(clip)] == clip]


def check_by_hand(video):
    """Check the invariants of A.3 with nothing but lists and slices."""
    stream = shown(video.symbols, video.lanes)
    assert len(stream) == video.length
    belt = {}
    for query in video.queries:
        clip = shown(query.candidate, query.lanes)
        letters = query.candidate.tolist()
        found = places(stream, clip)
        assert bool(found) == query.gold
        assert query.age == (len(stream) - found[-1] - len(clip) if found else None)
        if not query.gold and query.variant == "sequential":
            assert not places(video.symbols.tolist(), letters)
        if not query.gold and query.variant == "spatial":
            off = []
            for at in places(video.symbols.tolist(), letters):
                wrong = [i for i in range(len(clip)) if stream[at + i] != clip[i]]
                off.append({clip[i][0] for i in wrong} if video.lane_law == "fixed" else wrong)
            assert min(len(one) for one in off) == 1
        if video.lane_law == "fixed":
            assert len({s for s, _ in clip}) == len(set(clip))  # no letter on two belts
            if query.gold or query.variant == "sequential":
                assert all(belt.setdefault(s, n) == n for s, n in clip)
    if video.lane_law == "fixed":
        assert all(belt.setdefault(s, n) == n for s, n in stream)
    for gold in (True, False):
        counts = Counter(q.variant for q in video.queries if q.gold == gold)
        assert counts["sequential"] == counts["spatial"]


@pytest.mark.parametrize("lane_law", LAWS)
@pytest.mark.parametrize(
    ("band", "length", "negatives"),
    [
        ("low", 8, "uniform"),
        ("max", 16, "uniform"),
        ("low", 64, "matched"),
        ("max", 1024, "uniform"),
        ("low", 1024, "matched"),
        ("easyhuman", 256, "uniform"),
    ],
)
def test_invariants(band, length, negatives, lane_law):
    for index in range(6):
        video = make_video(make_item(band, length, index, seed=4, negatives=negatives), lane_law=lane_law)
        check_by_hand(video)
        counts = Counter((q.variant, q.gold) for q in video.queries)
        assert counts == {(variant, gold): 4 for variant in VARIANTS for gold in (True, False)}


@settings(max_examples=150, deadline=None)
@given(
    letters=st.integers(1, 16),
    length=st.integers(6, 60),
    seed=st.integers(0, 2**32),
    negatives=st.sampled_from(["uniform", "matched"]),
    lane_law=st.sampled_from(LAWS),
)
def test_absence_and_presence_on_any_stream(letters, length, seed, negatives, lane_law):
    symbols = np.random.default_rng(seed).integers(letters, size=length)
    check_by_hand(make_video(item_of(symbols, seed=seed, negatives=negatives), seed=seed, lane_law=lane_law))


@settings(max_examples=25, deadline=None)
@given(period=st.integers(1, 3), length=st.integers(300, 1024), seed=st.integers(0, 1000))
def test_free_lanes_where_every_short_change_occurs(period, length, seed):
    # In a stream of one or two letters all 3^k belts of a short string occur: spatial candidates get longer then, the
    # true ones as well as the false ones.
    item = item_of(np.arange(length) % period, seed=seed, queries=16)
    video = make_video(item, seed=seed, lane_law="free")
    check_by_hand(video)
    stream = shown(video.symbols, video.lanes)

    def some_change_is_absent(size):
        occurring = {tuple(stream[at : at + size]) for at in range(length - size + 1)}
        for clip in occurring:
            for i, shift in itertools.product(range(size), (1, 2)):
                letter, lane = clip[i]
                if (*clip[:i], (letter, (lane + shift) % 3), *clip[i + 1 :]) not in occurring:
                    return True
        return False

    smallest = next(size for size in (3, 4, 5, 6) if some_change_is_absent(size))
    for asked, drawn in zip(video.queries, item.queries, strict=True):
        least = smallest if asked.variant == "spatial" else 3
        assert len(asked.candidate) == max(len(drawn.candidate), least)


def test_the_longest_candidates_have_no_false_one():
    # 6 frames of one letter on belts of which all 3^6 strings occur: no spatial negative exists.
    video = item_of(np.zeros(200_000, np.uint8))
    with pytest.raises(InputError, match="every candidate of 6 letters"):
        make_video(video, lane_law="free")


def test_a_function_of_stream_seed_and_law():
    item = make_item("low", 64, 3, seed=0)
    one, again = make_video(item), make_video(item)
    assert one.lanes.tobytes() == again.lanes.tobytes()
    assert [q.lanes.tobytes() for q in one.queries] == [q.lanes.tobytes() for q in again.queries]
    assert [q.variant for q in one.queries] == [q.variant for q in again.queries]
    assert one.lanes.tobytes() != make_video(item, seed=1).lanes.tobytes()
    assert one.lanes.tobytes() != make_video(item, lane_law="free").lanes.tobytes()
    # Pinned: another platform or version must give the same video.
    assert "".join(map(str, make_video(make_item("max", 16, 0, seed=0)).lanes.tolist())) == PINNED


def test_both_kinds_of_negatives_show_the_same_video():
    uniform, matched = (make_item("low", 64, 3, seed=0, negatives=kind) for kind in ("uniform", "matched"))
    for lane_law in LAWS:
        one, other = (make_video(item, lane_law=lane_law) for item in (uniform, matched))
        assert one.lanes.tobytes() == other.lanes.tobytes()
        assert video_episode(one).fingerprint == video_episode(other).fingerprint
        assert {q.negatives for q in one.queries} == {"uniform"}
        assert {q.negatives for q in other.queries} == {"matched"}


def test_positives_and_sequential_negatives_are_those_of_the_stream():
    item = make_item("max", 256, 0, seed=0)
    video = make_video(item)
    for ours, theirs in zip(video.queries, item.queries, strict=True):
        assert (ours.query_id, ours.gold, ours.age) == (theirs.query_id, theirs.gold, theirs.age)
        assert len(ours.candidate) == len(theirs.candidate)
        if ours.gold or ours.variant == "sequential":
            assert ours.candidate.tobytes() == theirs.candidate.tobytes()
    misplaced = [q for q in video.queries if q.variant == "spatial" and not q.gold]
    assert all(q.candidate.tobytes() in video.symbols.tobytes() for q in misplaced)


def test_easyhuman_asks_for_deviations_in_both_variants():
    for index in range(20):
        item = make_item("easyhuman", 256, index, seed=0)
        asked = {q.candidate.tobytes() for q in item.queries if q.gold}
        video = make_video(item)
        misplaced = [q.candidate.tobytes() for q in video.queries if q.variant == "spatial" and not q.gold]
        deviations = {bytes(d) for d in easyhuman_stream(0, 256, index).deviations}
        assert asked <= deviations
        assert set(misplaced) <= deviations
        assert video.subtype == item.subtype
        assert {q.negatives for q in video.queries} == {"corruption"}


@pytest.mark.parametrize("lane_law", LAWS)
def test_a_candidate_alone_does_not_tell(lane_law):
    # 200 videos, 3,200 candidates of max-entropy streams (whose letters are alike in both classes): its length, its
    # first belt, the number of belts on it, and whether neighbours share a belt are independent of the answer. Four
    # tests at 1e-4 each: this fails by chance once in 2,500 seeds; the seed is fixed.
    features: dict[str, list[tuple[bool, int]]] = {"length": [], "first": [], "belts": [], "same": []}
    for index in range(200):
        for query in make_video(make_item("max", 64, index, seed=11), lane_law=lane_law).queries:
            lanes = query.lanes
            features["length"].append((query.gold, len(lanes)))
            features["first"].append((query.gold, int(lanes[0])))
            features["belts"].append((query.gold, len(set(lanes.tolist()))))
            features["same"].append((query.gold, int((lanes[1:] == lanes[:-1]).sum())))
    for name, pairs in features.items():
        counts = Counter(pairs)
        values = sorted({value for _, value in pairs})
        table = np.array([[counts[gold, value] for value in values] for gold in (True, False)])
        p = stats.chi2_contingency(table[:, table.sum(axis=0) >= 20]).pvalue
        assert p > 1e-4, name


def test_letters_that_only_candidates_show_have_belts_like_all_others():
    # Under the fixed law every letter's belt is uniform, whether the video shows it or not: chi-square at 1e-4 each.
    seen, unseen = np.zeros(3), np.zeros(3)
    for index in range(150):
        video = make_video(make_item("low", 64, index, seed=2))
        here = dict(shown(video.symbols, video.lanes))
        for lane in here.values():
            seen[lane] += 1
        only = {}
        for query in video.queries:
            only.update((s, n) for s, n in shown(query.candidate, query.lanes) if s not in here)
        for lane in only.values():
            unseen[lane] += 1
    assert unseen.sum() > 500
    assert stats.chisquare(seen).pvalue > 1e-4
    assert stats.chisquare(unseen).pvalue > 1e-4


def test_wrong_belts_are_uniform():
    # Which letter is wrong and by how much: uniform, chi-square at 1e-4 each.
    shifts, which = Counter(), Counter()
    for index in range(150):
        video = make_video(make_item("max", 64, index, seed=8))
        here = dict(shown(video.symbols, video.lanes))
        for query in video.queries:
            if query.gold or query.variant == "sequential" or len(set(query.candidate.tolist())) != 4:
                continue
            letters = sorted(set(query.candidate.tolist()))
            for s, n in set(shown(query.candidate, query.lanes)):
                if here[s] != n:
                    shifts[(n - here[s]) % 3] += 1
                    which[letters.index(s)] += 1
    assert sum(which.values()) > 100
    assert stats.chisquare([shifts[1], shifts[2]]).pvalue > 1e-4
    assert stats.chisquare([which[i] for i in range(4)]).pvalue > 1e-4


def tampered(video, change):
    """Return the video with one thing wrong, and what the error says."""
    queries = list(video.queries)

    def first(**wanted):
        return next(i for i, q in enumerate(queries) if all(getattr(q, k) == v for k, v in wanted.items()))

    if change == "gold":
        i = first(gold=True)
        queries[i] = replace(queries[i], gold=False, age=None)
        return replace(video, queries=tuple(queries)), "occurs in the video"
    if change == "absent":
        i = first(gold=False, variant="spatial")
        queries[i] = replace(queries[i], gold=True)
        return replace(video, queries=tuple(queries)), "does not occur in the video"
    if change == "age":
        i = first(gold=True)
        queries[i] = replace(queries[i], age=queries[i].age + 1)
        return replace(video, queries=tuple(queries)), "its age is not"
    if change == "variant":
        i = first(gold=False, variant="spatial")
        queries[i] = replace(queries[i], variant="sequential")
        return replace(video, queries=tuple(queries)), "no false candidate of the sequential variant"
    if change == "unbalanced":
        i = first(gold=True, variant="spatial")
        queries[i] = replace(queries[i], variant="sequential")
        return replace(video, queries=tuple(queries)), "variants have 5 and 3"
    if change == "length":
        return replace(video, length=video.length + 1), "and a length of"
    if change == "missing belt":
        return replace(video, lanes=video.lanes[:-1]), "one of each is needed a frame"
    if change == "fourth belt":
        return replace(video, lanes=np.full_like(video.lanes, 3)), "beyond"
    if change == "two belts":
        lanes = video.lanes.copy()
        lanes[np.flatnonzero(video.symbols == video.symbols[0])[-1]] = (lanes[0] + 1) % 3
        return replace(video, lanes=lanes), "stands on two belts"
    i = first(gold=False, variant="spatial")
    here = dict(shown(video.symbols, video.lanes))
    lanes = np.array([(here[s] + 1) % 3 for s in queries[i].candidate.tolist()], np.uint8)
    queries[i] = replace(queries[i], lanes=lanes)
    return replace(video, queries=tuple(queries)), "exactly one letter on a wrong belt"


@pytest.mark.parametrize(
    "change",
    [
        "gold",
        "absent",
        "age",
        "variant",
        "unbalanced",
        "length",
        "missing belt",
        "fourth belt",
        "two belts",
        "all wrong",
    ],
)
def test_a_video_that_breaks_an_invariant_is_refused(change):
    video = make_video(make_item("max", 64, 0, seed=0))
    verify_video(video)
    broken, message = tampered(video, change)
    with pytest.raises(InputError, match=message):
        verify_video(broken)


def test_free_lanes_two_frames_wrong_are_refused():
    video = make_video(make_item("max", 64, 0, seed=0), lane_law="free")
    at = next(i for i, q in enumerate(video.queries) if not q.gold and q.variant == "spatial")
    query = video.queries[at]
    start = video.symbols.tobytes().find(query.candidate.tobytes())
    lanes = video.lanes[start : start + len(query.candidate)].copy()
    lanes[:2] = (lanes[:2] + 1) % 3
    queries = (*video.queries[:at], replace(query, lanes=lanes), *video.queries[at + 1 :])
    with pytest.raises(InputError, match="exactly one frame on a wrong belt"):
        verify_video(replace(video, queries=queries))


def test_questions_that_the_variants_cannot_share():
    with pytest.raises(InputError, match="5 true and 5 false candidates"):
        make_video(make_item("max", 64, 0, seed=0, queries=10))
    with pytest.raises(InputError, match="did you mean 'fixed'"):
        make_video(make_item("max", 64, 0, seed=0), lane_law="fixd")


def test_arrays_are_read_only():
    video = make_video(make_item("max", 64, 0, seed=0))
    for array in (video.symbols, video.lanes, video.queries[0].candidate, video.queries[0].lanes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_an_episode_serves_both_variants_with_one_write():
    video = make_video(make_item("low", 64, 0, seed=0))
    episode = video_episode(video)
    assert (episode.id, episode.task, episode.split, episode.length) == (video.video_id, "ecc-video", "low", 64)
    assert len(episode.observations) == 64
    assert {q.variant for q in episode.queries} == set(VARIANTS)
    for query, made in zip(episode.queries, video.queries, strict=True):
        question = query.question
        assert (query.gold == "yes", query.age, query.variant) == (made.gold, made.age, made.variant)
        assert query.age_unit == (None if query.age is None else "frames")
        assert isinstance(question.clip, Frames)
        clip = [(int(each.symbols[0]), int(each.lanes[0])) for each in question.clip]
        assert clip == shown(question.candidate, question.lanes) == shown(made.candidate, made.lanes)
        assert question.text == ", ".join(each.text for each in question.clip)
        assert not hasattr(question, "gold")
    assert len({q.question.seed for q in episode.queries}) == 16


def test_the_fingerprint_tells_everything_that_is_observed():
    item = make_item("low", 64, 0, seed=0)
    episodes = [
        video_episode(make_video(item)),
        video_episode(make_video(item, seed=1)),
        video_episode(make_video(item, lane_law="free")),
        video_episode(make_video(item), image_format="jpeg"),
        video_episode(make_video(item), size=224),
    ]
    assert len({e.fingerprint for e in episodes}) == len(episodes)
    assert episodes[0].fingerprint == video_episode(make_video(item)).fingerprint
    assert episodes[2].task == task_name("free") == "ecc-video-free"
    with pytest.raises(InputError, match="unknown image format"):
        video_episode(make_video(item), image_format="webp")
