"""Episodes: what each ablation shows, how old the evidence is, and what makes two rows the same row."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from history_files import META, records, write_dataset

from memgauge.errors import InputError
from memgauge.histories.ablations import Ablation
from memgauge.histories.episodes import record_episode
from memgauge.histories.reading import open_histories
from memgauge.histories.records import RecordError, parse_record
from memgauge.rows import Asker, wanted_of

RED = "I bought a bicycle <image>, here it is."


@pytest.fixture(scope="module")
def histories(tmp_path_factory):
    return open_histories(write_dataset(tmp_path_factory.mktemp("data") / "H"))


def record_of(name):
    raw = next(r for r in records() if r["question_id"] == name)
    return parse_record(raw, "here", META.get(name))


def shown(histories, name="q_ie1", **options):
    return record_episode(record_of(name), histories.pictures, 32768, ablation=Ablation(**options))


def said(episode):
    return [turn.content for observation in episode.observations for turn in observation.turns]


def pictures(episode):
    return [p for observation in episode.observations for turn in observation.turns for p in turn.pictures]


def test_the_main_setting(histories):
    episode = shown(histories)
    query = episode.queries[0]
    assert (episode.task, episode.split, episode.length, episode.subtype) == ("memlens", "IE", 32768, "IE")
    assert [o.date for o in episode.observations] == [f"2024/05/{d} (Mon) 10:00" for d in range(10, 16)]
    assert {o.kind for o in episode.observations} == {"session"}
    assert RED in said(episode)
    assert len(pictures(episode)) == 1
    assert (query.gold, query.kind, query.visual_need) == ("red", "ie_disambiguation", "essential")
    assert (query.age, query.age_unit) == (3, "sessions")  # sessions 4, 5 and 6 came after the third
    assert query.age_days == pytest.approx(18 + (21 * 60 + 58) / 1440)
    assert query.question.date == "2024/05/31 (Fri) 07:58"


@pytest.mark.parametrize(
    ("options", "text", "count"),
    [
        ({"text_only": True}, "I bought a bicycle , here it is.", 0),
        ({"captions": True}, "I bought a bicycle a red picture, here it is.", 0),
        ({"label_images": True}, "I bought a bicycle [Image 1] <image>, here it is.", 1),
        ({"oracle": "sessions"}, RED, 1),
        ({"oracle": "facts", "text_only": True}, "I bought a bicycle , here it is.", 0),
    ],
)
def test_what_an_ablation_makes_of_a_turn(histories, options, text, count):
    episode = shown(histories, **options)
    assert text in said(episode)
    assert len(pictures(episode)) == count
    if not count:
        assert not any("<image>" in part for part in said(episode))


def test_text_only_shows_nothing_of_a_picture(histories):
    """Neither markers nor captions nor bytes: the ablation is real."""
    for name in ("q_ie1", "q_msr"):
        told = said(shown(histories, name, text_only=True))
        assert not any(word in part for part in told for word in ("<image>", "picture", "red", "green", "blue"))


def test_labels_count_through_the_conversation(histories):
    told = "\n".join(said(shown(histories, "q_msr", label_images=True)))
    assert "A lamp [Image 1] <image>" in told
    assert "Another lamp\n[Image 2] <image>" in told


def test_oracles(histories):
    sessions = shown(histories, "q_msr", oracle="sessions")
    assert [o.date[:10] for o in sessions.observations] == ["2024/05/11", "2024/05/15"]
    assert [len(o.turns) for o in sessions.observations] == [2, 2]
    assert sessions.queries[0].age == 1
    facts = shown(histories, "q_msr", oracle="facts")
    assert {o.kind for o in facts.observations} == {"fact"}
    assert said(facts) == ["A lamp <image>", "Another lamp\n<image>"]
    assert facts.queries[0].age is None
    assert facts.queries[0].age_days == pytest.approx(19.915, abs=1e-3)
    with pytest.raises(RecordError, match="no session is marked") as caught:
        shown(histories, "q_ar", oracle="sessions")
    assert caught.value.kind == "no_evidence"


def test_no_context(histories):
    episode = shown(histories, no_context=True)
    assert len(episode.observations) == 0
    assert (episode.queries[0].age, episode.queries[0].age_days) == (None, None)


def test_ages_that_are_not_known(histories):
    assert shown(histories, "q_ar").queries[0].age is None
    undated = replace(record_of("q_ie1"), question_date="some day")
    query = record_episode(undated, histories.pictures, 1).queries[0]
    assert (query.age, query.age_days) == (3, None)
    early = replace(record_of("q_ie1"), question_date="2020/01/01")
    assert record_episode(early, histories.pictures, 1).queries[0].age_days is None


def test_arms_are_named_by_their_options():
    names = set()
    for oracle, *values in itertools.product((None, "facts", "sessions"), *[(False, True)] * 5):
        try:
            names.add(Ablation(oracle, *values).arm)
        except InputError as error:
            assert "exclude each other" in str(error)  # noqa: PT017
            assert sum(values[:4]) + (oracle is not None) > 1
    assert "oracle-facts+text-only+cot" in names
    assert len(names) == 2 * (3 * 4 + 1)  # cot or not; whole or an oracle, each with four ways of pictures; no context


def keys(episode, system="s"):
    return [w.key for w in wanted_of(episode, Asker("r", system, "f"), ("none",))]


def test_keys_follow_all_that_determines_a_row(histories):
    first = shown(histories)
    assert keys(first) == keys(shown(histories))
    others = [
        shown(histories, cot=True),
        shown(histories, text_only=True),
        shown(histories, label_images=True),
        record_episode(record_of("q_ie1"), histories.pictures, 32768, mode="official"),
        record_episode(replace(record_of("q_ie1"), answer="blue"), histories.pictures, 32768),
        record_episode(replace(record_of("q_ie1"), old_answer="blue"), histories.pictures, 32768),
        record_episode(replace(record_of("q_ie1"), question_date="2025/01/01"), histories.pictures, 32768),
    ]
    found = [tuple(keys(e)) for e in [first, *others]]
    assert len(set(found)) == len(found)


def test_pictures_that_cannot_be_shown_are_refused_only_where_they_are_shown(tmp_path):
    folder = write_dataset(tmp_path / "H")
    (folder / "images" / "a" / "red.png").unlink()
    histories = open_histories(folder)
    with pytest.raises(RecordError, match="q_ie1") as caught:
        shown(histories)
    assert caught.value.kind == "image_absent"
    assert shown(histories, text_only=True)
