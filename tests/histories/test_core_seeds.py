from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.histories.building.seeds import dealt, digest, question_id, rng, session_id


def test_a_path_is_hashed_as_documented():
    assert digest(7, "a", 3) == hashlib.sha256(b"7|a|3").digest()
    seed = int.from_bytes(hashlib.sha256(b"7|a|3").digest()[:8], "big")
    assert rng(7, "a", 3).random() == random.Random(seed).random()


def test_paths_do_not_run_together():
    assert digest(1, "a", "b") != digest(1, "ab")
    with pytest.raises(ValueError, match=r"cannot hold '\|'"):
        digest(1, "a|b")


@given(size=st.integers(1, 60), count=st.integers(1, 200), seed=st.integers(0, 5))
def test_no_value_of_a_deck_comes_more_often_than_its_share(size, count, seed):
    values = [dealt(seed, "deck", index, size) for index in range(count)]
    assert set(values) <= set(range(size))
    assert max(Counter(values).values()) <= ceil(count / size)


def test_decks_of_other_names_and_blocks_are_shuffled_anew():
    rows = {tuple(dealt(1, name, block * 9 + i, 9) for i in range(9)) for name in "abc" for block in range(5)}
    assert len(rows) > 10


def test_ids_say_nothing_and_do_not_repeat():
    questions = {question_id(3, builder, n) for builder in ("ku_update", "ar") for n in range(2000)}
    assert len(questions) == 4000
    assert all(re.fullmatch(r"q_[0-9a-f]{10}", name) for name in questions)
    sessions = {session_id(3, name, slot) for name in list(questions)[:50] for slot in range(140)}
    assert len(sessions) == 7000
    assert all(re.fullmatch(r"s_[0-9a-f]{12}", name) for name in sessions)
