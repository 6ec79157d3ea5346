"""Each validator: drafts that pass and drafts that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgauge.histories.building.pictures.entities import CLASSES, NAMES, plural
from memgauge.histories.building.text.types import PROFILES, Draft
from memgauge.histories.building.text.validators import Context, chain
from memgauge.histories.building.text.validators.checks import EndingCheck, LengthCheck, NgramCheck, PhotoCheck
from memgauge.histories.building.text.validators.context import Bans
from memgauge.histories.building.text.validators.forms import amount, day, time_of_day
from memgauge.histories.building.text.validators.normal import words
from memgauge.histories.building.text.validators.spaces import word_forms

SHOWN = "Lea brought this one <image> to the fair."


def verdict(name, content, facts=(), *, role="user", profile="compact", space=()):
    context = Context(PROFILES[profile], tuple(facts), tuple(space))
    check = next(check for check in chain() if check.name == name)
    return check.check(Draft(role, content, tuple(facts) if role == "user" else ()), context)


def test_the_chain_has_six_in_order():
    assert [check.name for check in chain()] == ["length", "photo", "ngram", "semantic", "ambiguity", "ending"]


# 1: length


@pytest.mark.parametrize(
    ("role", "profile", "count", "ok"),
    [
        ("user", "compact", 8, True),
        ("user", "compact", 60, True),
        ("user", "paper", 30, True),
        ("assistant", "compact", 70, True),
        ("assistant", "compact", 140, True),
        ("assistant", "paper", 150, True),
        ("assistant", "paper", 250, True),
        ("user", "compact", 7, False),
        ("user", "compact", 61, False),
        ("user", "compact", 0, False),
        ("assistant", "compact", 69, False),
        ("assistant", "compact", 141, False),
        ("assistant", "paper", 149, False),
        ("assistant", "paper", 251, False),
    ],
)
def test_length(role, profile, count, ok):
    found = verdict("length", " ".join(["word"] * count), role=role, profile=profile)
    assert found.ok is ok
    if not ok:
        assert found.hint.startswith("Write longer" if count in (0, 7, 69, 149) else "Write shorter")


def test_a_picture_is_no_word():
    assert (
        LengthCheck().check(Draft("user", "a b c d e f g <image>"), Context(PROFILES["compact"])).reason == "too_short"
    )


# 2: photo directive


@pytest.mark.parametrize(
    "text",
    [
        SHOWN,
        "Here it is <image>.",
        "I liked the bridge shown in <image> a lot.",
        "My sister sent me her shelf <image>.",
        "That is the day, see these <image>.",
    ],
)
def test_photo_passes(text, fact):
    assert verdict("photo", text, [fact(SHOWN)]).ok


@pytest.mark.parametrize(
    ("text", "carries"),
    [
        ("Lea brought something to the fair.", True),
        ("This <image> and this <image>.", True),
        ("Nothing is carried here <image>.", False),
        ("What a day. <image>. How do people start?", True),
        ("This came " + "and went " * 15 + "at last at last without end on <image>.", True),
        ("We met at noon. Wonderful <image>!", True),
    ],
)
def test_photo_fails(text, carries, fact):
    found = verdict("photo", text, [fact(SHOWN, key=("xx",))] if carries else [])
    assert not found.ok
    assert found.hint


def test_an_assistant_turn_marks_no_picture():
    found = PhotoCheck().check(Draft("assistant", "Here it is <image>."), Context(PROFILES["compact"]))
    assert found.reason == "wrong_number_of_pictures"


# 3: n-gram leakage


@pytest.mark.parametrize(
    "text",
    [
        SHOWN,
        "We drank something hot and chatted.",
        "A pot of anything is fine.",
        "I have a tea party soon.",
        "The guitar is mine.",
        "That poteat is a name.",
    ],
)
def test_ngram_passes(text, fact):
    assert verdict("ngram", text, [fact(SHOWN, protected=("teapot",))]).ok


@pytest.mark.parametrize(
    "text",
    [
        "I bought a teapot.",
        "I bought teapots.",
        "The teapot's lid fell.",
        "All TEAPOTS' lids fell.",
        "A tea-pot fell.",
        "A te\u0430pot fell.",  # Cyrillic a
        "A ｔｅａｐｏｔ fell.",  # full width
        "A tea\u00adpot fell.",  # soft hyphen
        "A tea\u200bpot fell.",  # zero width space
        "A téapot fell.",
        "A candle stood there.",  # another member of its class: the space is banned whole
        "The vases stood there.",
        "A couch stood there.",
    ],
)
def test_ngram_fails(text, fact):
    assert verdict("ngram", text, [fact(SHOWN, protected=("teapot",))]).reason == "banned_words"


@pytest.mark.parametrize(
    "text", ["the Museum of Modern Art", "Museum of Modern", "of modern art", "museum of modern-art"]
)
def test_ngram_finds_three_words_of_a_long_name(text, fact):
    name = fact(SHOWN, protected=("Museum of Modern Art",))
    assert not verdict("ngram", f"I was in {text} today.", [name]).ok
    assert verdict("ngram", "I was in a museum today, for modern things.", [name]).ok


@pytest.mark.parametrize(("space", "leak"), [(("Yes", "No"), "no"), (("2", "3", "4"), "three"), (("2", "3"), "2")])
def test_small_answer_spaces_are_banned_whole(space, leak, fact):
    plate = fact(SHOWN, "plate", {"text": "HB 4711"})
    assert not verdict("ngram", f"I had {leak} doubt about it.", [plate], space=space).ok
    assert verdict("ngram", "I had little doubt about it.", [plate], space=space).ok


def test_choice_labels_are_not_banned(fact):
    assert verdict("ngram", "A plan helps.", [fact(SHOWN, "plate", {"text": "HB 4711"})], space=("A", "B")).ok


TABLE = (
    "Each card stood for a table: pie 33, doughnut 49, custard 54, waffle 67 and cookie 36. Lea drew this one <image>."
)


def test_a_table_may_name_its_things_equally_often(fact):
    table = fact(TABLE, truth={"entity": "waffle"}, protected=("waffle",))
    assert verdict("ngram", f"{TABLE} What next?", [table]).ok
    assert verdict("ngram", f"{TABLE} I like the waffle.", [table]).reason == "banned_words"
    assert verdict("ngram", "What about the waffle then?", [table], role="assistant").reason == "banned_words"


def test_a_short_list_gives_its_name_away(fact):
    text = "There were a pie 33 and a waffle 67, and it was this one <image>."
    found = verdict("ngram", text, [fact(text, truth={"entity": "waffle"}, protected=("waffle",))])
    assert found.reason == "name_outside_a_list"


@given(
    st.sampled_from(NAMES), st.sampled_from(["{}", "The {} here", "({})", "{}'s", "{}—", "«{}»"]), *[st.booleans()] * 2
)
def test_every_name_is_found_however_it_is_written(name, frame, many, upper):
    said = frame.format(plural(name) if many else name)
    assert Bans(word_forms(name)).found(words(said.upper() if upper else said))


# 4: semantic leakage


@pytest.mark.parametrize(
    "text",
    [
        "I paid for the workshop and here is the slip <image>.",
        "It was cheaper than I thought.",
        "I was there for the afternoon.",
        "It happened some days ago.",
        "The hardware shop is nice.",
        "That made 48 of us.",
    ],
)
def test_semantic_passes(text, receipt):
    assert verdict("semantic", text, [receipt]).ok


@pytest.mark.parametrize(
    "text",
    [
        "It cost $48.50 in all.",
        "It cost 48,50 in all.",
        "It cost forty-eight fifty in all.",
        "It cost forty-eight dollars and fifty cents.",
        "It was 4850 cents.",
        "It was at 14:05.",
        "It was at 2:05 pm.",
        "It was at five past two.",
        "It was at two oh five.",
        "It was on 2023-05-12.",
        "It was on May 12.",
        "It was on the 12th of May.",
        "It was on May the twelfth.",
        "It was on 5/12/2023.",
        "It was on 12.05.2023.",
        "It was on the twelfth of May, 2023.",
        "I went to Miller Hardware.",
        "I went to miller-hardware's shop.",
        "I bought wood screws.",
    ],
)
def test_semantic_fails(text, receipt):
    assert verdict("semantic", text, [receipt]).reason == "field_of_picture"


@pytest.mark.parametrize(
    ("hour", "minute", "said"),
    [
        (7, 30, "half past seven"), (7, 45, "quarter to eight"), (19, 15, "quarter past seven"), (12, 0, "noon"),
        (0, 0, "midnight"), (9, 0, "nine o'clock"), (21, 0, "9pm"),
        (6, 40, "twenty to seven"), (8, 10, "ten past eight"),
    ],
)  # fmt: skip
def test_times_in_words(hour, minute, said):
    assert Bans(time_of_day(hour, minute)).found(words(f"We met at {said} there."))


@given(st.integers(100, 999_999))
def test_amounts_in_digits_are_always_found(cents):
    assert Bans(amount(cents)).found(words(f"That was ${cents // 100:,}.{cents % 100:02d} then.".replace(",", "")))


@given(st.dates())
def test_dates_in_many_spellings_are_found(date):
    forms = Bans(day(date.year, date.month, date.day))
    month = date.strftime("%B")
    for said in (f"{month} {date.day}", f"{date.day} {month[:3]}", f"{date.day}th of {month}", date.isoformat()):
        assert forms.found(words(f"on {said} we met")), said


# 5: ambiguity preservation

GOOD = "For the club logo, Lea prefers this fun companion <image>."


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"I keep my short list in a big folder. {GOOD}",
        "Lea has a new favourite, this lovely one <image>.",
        "It took a long time to decide, and now it is settled for good: this dear thing <image>.",
        "Nothing is decided, but I like this <image>.",
        "I bought this during a walk with friends <image>.",
    ],
)
def test_ambiguity_passes(text, fact):
    assert verdict("ambiguity", text, [fact(GOOD)]).ok


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I met this tiny fellow <image>.", "adjective_of_looks"),
        ("I met this YELLOW fellow <image>.", "adjective_of_looks"),
        ("Look at that round thing <image>.", "adjective_of_looks"),
        ("This one is wooden <image>.", "adjective_of_looks"),
        ("It is another one like in spring <image>.", "comparison"),
        ("This is different from the one in spring <image>.", "comparison"),
        ("It is the same as before <image>.", "comparison"),
        ("This is my third companion <image>.", "count"),
        ("I switched for the second time to this <image>.", "count"),
    ],
)
def test_ambiguity_fails(text, reason, fact):
    assert verdict("ambiguity", text, [fact(GOOD)]).reason == reason


def test_what_the_fact_says_itself_is_its_own_affair(fact):
    sweet = fact("I love this little thing <image>.")
    assert verdict("ambiguity", "I love this little thing <image>. What now?", [sweet]).ok
    assert not verdict("ambiguity", "I love this little shiny thing <image>.", [sweet]).ok


# 6: end marker

ANSWER = "Good point. Sort things by need, and label them. Would you like tips on labels?"


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("user", "How do I begin?"),
        ("user", 'She said "start small."'),
        ("user", "That is great (really)!"),
        ("user", "It is this one <image>."),
        ("assistant", ANSWER),
        ("assistant", 'Fine. Say "stop" early. Would you like to know "why"?'),
        ("assistant", "A user's guide helps: read it. That is all. Shall I go on?"),
    ],
)
def test_ending_passes(role, text):
    assert EndingCheck().check(Draft(role, text), Context(PROFILES["compact"])).ok


LOOP = "we could walk to the old mill " * 2


@pytest.mark.parametrize(
    ("role", "text", "reason"),
    [
        ("user", "How do I begin", "no_end_mark"),
        ("user", "It is this one <image>", "no_end_mark"),
        ("user", "", "no_end_mark"),
        ("user", 'She said "start.', "unbalanced"),
        ("user", "That is great (really.", "unbalanced"),
        ("user", "Tell me about {t}.", "template_residue"),
        ("user", "Tell me about [topic].", "template_residue"),
        ("user", "User: How do I begin?", "template_residue"),
        ("assistant", "As an AI, I cannot. Sorry for that. Shall I go on?", "template_residue"),
        ("assistant", "Good. Sort things. That is all.", "no_question"),
        ("assistant", "Sort things by need. Shall I go on?", "too_few_sentences"),
        ("user", f"Then {LOOP}and {LOOP}.", "repetition"),
    ],
)
def test_ending_fails(role, text, reason):
    assert EndingCheck().check(Draft(role, text), Context(PROFILES["compact"])).reason == reason


def test_a_turn_that_comes_again_is_found():
    from memgauge.histories.building.model import Turn

    context = Context(PROFILES["compact"])
    context.accept(Turn("assistant", ANSWER))
    assert EndingCheck().check(Draft("assistant", ANSWER), context).reason == "repeats_earlier_turn"


def test_the_verdict_does_not_depend_on_which_member_is_right(fact):
    """Answer-blind: for every member of the class as the truth, the same texts pass and the same fail."""
    texts = [*(f"I saw a {name} there." for name in CLASSES["bird"]), "I saw something there."]
    seen = set()
    for member in CLASSES["bird"]:
        shown = fact(SHOWN, truth={"entity": member})
        seen.add(tuple(verdict("ngram", text, [shown]).ok for text in texts))
    assert len(seen) == 1
    assert NgramCheck.name == "ngram"
