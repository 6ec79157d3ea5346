"""The procedural writer: plans, ranges, determinism, the regeneration loop, variety."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from scipy.stats import chisquare

from memgauge.errors import InputError
from memgauge.histories.building.text import PROFILES, AttemptLog, ProceduralWriter, SessionRejectedError
from memgauge.histories.building.text.banks import banks
from memgauge.histories.building.text.diversity import Distinct
from memgauge.histories.building.text.types import Topic, Verdict
from memgauge.histories.building.text.writer import draw_plan, write_session

FACT = "Lea Koch sent me what she found at the fair, it was this one <image>."


@pytest.mark.parametrize("profile", PROFILES)
def test_sessions_keep_their_ranges_and_their_form(profile, topics, fact, when):
    ranges = PROFILES[profile]
    writer = ProceduralWriter()
    for seed in range(60):
        carriers = [fact(FACT, protected=("teapot",), id=f"b/{i}") for i in range(seed % 3)]
        turns = writer.session(topics, carriers, when, Random(seed), profile)
        assert [turn.role for turn in turns] == ["user", "assistant"] * (len(turns) // 2)
        assert len(turns) // 2 in ranges.exchanges
        for turn in turns:
            low, high = getattr(ranges, turn.role)
            assert low <= len(turn.content.replace("<image>", " ").split()) <= high
            assert turn.content.count("<image>") == len(turn.images)
            assert turn.role == "user" or (not turn.images and turn.content.endswith("?"))
        assert sorted(id for turn in turns for id in turn.facts) == [carrier.id for carrier in carriers]
    assert writer.log.sessions["written"] == 60


def test_the_fact_stands_word_for_word_and_never_opens_the_session(topics, fact, when):
    writer = ProceduralWriter()
    for seed in range(80):
        turns = writer.session(topics, [fact(FACT)], when, Random(seed))
        assert sum(FACT in turn.content for turn in turns) == 1
        assert not turns[0].facts or not turns[0].content.startswith(FACT[:12])
        openers = {variant.split("{")[0].removesuffix("the ") for line in banks().openers for variant in line}
        assert turns[0].content.startswith(tuple(openers - {""})) or "" in openers


def test_the_same_seed_gives_the_same_session_and_another_one_differs(topics, fact, when):
    def written(seed):
        return ProceduralWriter().session(topics, [fact(FACT)], when, Random(seed))

    assert written(1) == written(1)
    assert written(1) != written(2)


def test_text_does_not_depend_on_what_the_picture_shows(topics, fact, when):
    """The same generator with another picture: byte-identical turns."""
    texts = {
        tuple(
            turn.content
            for turn in ProceduralWriter().session(topics, [fact(FACT, truth={"entity": name})], when, Random(5))
        )
        for name in ("teapot", "candle", "owl")
    }
    assert len(texts) == 1


def test_places_are_uniform_and_facts_come_first_as_often_as_said(topics, fact, when):
    """Chi-square over 4,000 plans; a correct writer fails each test with probability 0.001."""
    random = Random(3)
    plans = [draw_plan(topics[0], [fact(FACT)], when, random, PROFILES["compact"]) for _ in range(4000)]
    for exchanges in (5, 6, 7):
        places = Counter(next(iter(plan.carriers)) for plan in plans if plan.exchanges == exchanges)
        assert chisquare([places[place] for place in range(exchanges)]).pvalue > 0.001
    later = [plan.carrier_first[next(iter(plan.carriers))] for plan in plans if 0 not in plan.carriers]
    assert chisquare([sum(later), len(later) - sum(later)], [0.6 * len(later), 0.4 * len(later)]).pvalue > 0.001
    assert not any(plan.carrier_first.get(0) for plan in plans)


def test_no_advice_comes_twice_in_a_session(topics, when):
    for seed in range(20):
        turns = ProceduralWriter().session(topics[0], [], when, Random(seed), "paper")
        sentences = [s for turn in turns[1::2] for s in turn.content.split(". ") if len(s.split()) > 9]
        assert len(set(sentences)) == len(sentences)


def test_too_many_facts_are_refused(topics, fact, when):
    with pytest.raises(ValueError, match="at most 5 facts"):
        ProceduralWriter().session(topics, [fact(FACT)] * 6, when, Random(1))


def test_unknown_profile_and_unknown_sub_attribute(topics, when):
    with pytest.raises(InputError, match="text profile"):
        ProceduralWriter().session(topics, [], when, Random(1), "papr")
    unknown = Topic("underwater", "tide pools", "rock pools", "north shore", "life at the sea")
    assert ProceduralWriter().session(unknown, [], when, Random(1))


def test_attempts_hints_redrawn_sessions_and_rejection(topics, when):
    """Four attempts at a turn, three sessions with a topic each, then the reason."""
    seen, hints_seen = [], []

    class Stubborn:
        def __init__(self, plan, rng):
            seen.append(plan.topic.say)

        def turn(self, turns, hints):
            hints_seen.append(len(hints))
            return "Fine."

    class Never:
        name = "length"

        def check(self, draft, context):
            return Verdict(False, "length", "too_short", "Write longer.")

    log = AttemptLog()
    with pytest.raises(SessionRejectedError, match="length: too_short") as error:
        write_session(Stubborn, topics, [], when, Random(1), "compact", validators=[Never()], log=log)
    assert error.value.reason == "length: too_short"
    assert seen == [topic.say for topic in topics]
    assert hints_seen == [0, 1, 2, 3] * 3
    assert log.as_dict() == {
        "turns": {"user": 12},
        "rejected": {"length": 12},
        "reasons": {"length: too_short": 12},
        "sessions": {"redrawn": 2, "rejected": 1},
    }
    other = AttemptLog.from_dict(log.as_dict())
    other.merge(log)
    assert other.rejected["length"] == 24


def test_a_fact_that_is_too_long_is_rejected_with_its_reason(topics, fact, when):
    long = fact("This one <image> " + "was nice and " * 30 + "good.")
    with pytest.raises(SessionRejectedError, match="length: too_long"):
        ProceduralWriter().session(topics, [long], when, Random(1))


def test_a_topic_that_leaks_is_left_for_the_next(topics, fact, when):
    leaky = replace(topics[0], say="the teapot corner", alt="teapots in shops")
    writer = ProceduralWriter()
    turns = writer.session([leaky, leaky, topics[1]], [fact(FACT, protected=("teapot",))], when, Random(2))
    assert all("teapot" not in turn.content for turn in turns)
    assert writer.log.rejected["ngram"] >= 4
    assert writer.log.sessions["redrawn"] >= 1


def test_sessions_are_about_as_long_as_the_lengths_need(topics, when):
    """About 800 tokens a session: the mean of 300 sessions has a standard error of about 6."""
    import re

    token = re.compile(r"\w+|[^\w\s]")
    writer = ProceduralWriter()
    sizes = [
        sum(len(token.findall(turn.content)) for turn in writer.session(topics[i % 3], [], when, Random(i)))
        for i in range(300)
    ]
    assert 720 < sum(sizes) / len(sizes) < 880


def test_distinct_counts_by_hand():
    count = Distinct(2)
    count.add(["a b c", "a b"])
    assert (count.share, count.total) == (2 / 3, 3)
    assert Distinct(2).share == 0
