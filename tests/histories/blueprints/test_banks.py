"""The banks of words: enough of them, two phrasings without a common content word, nothing that gives answers away."""

from __future__ import annotations

import itertools
import re

import pytest

from memgauge.grading.typed.cues import stem
from memgauge.histories.building.blueprints.update_items import attributes, descriptors
from memgauge.histories.building.blueprints.wording import bank, names, pairs, variants
from memgauge.histories.building.model import BUILDERS
from memgauge.histories.building.pictures import CLASSES, COLOURS, NAMES
from memgauge.histories.building.pictures.entities import plural

# Words that any two English sentences may share.
FUNCTION_WORDS = frozenset(
    (
        *("a", "an", "the", "of", "in", "on", "at", "by", "to", "for", "from", "with", "and", "or", "as", "if", "than"),
        *("is", "was", "are", "were", "be", "been", "has", "have", "had", "did", "do", "does", "will", "would", "can"),
        *("could", "may", "it", "its", "this", "that", "these", "those", "i", "me", "my", "we", "us", "our", "you"),
        *("they", "them", "their", "there", "here", "what", "which", "who", "how", "many", "much", "when", "where"),
        *("not", "no", "so", "one", "then", "all", "any", "more", "most", "some", "now", "today", "just", "only"),
        *("into", "out", "up", "down", "off", "over", "about", "after", "before", "during", "under", "below", "above"),
    )
)
POOLS = ("events", "projects", "series", "undertakings", "places", "goods")


def content(text: str) -> set[str]:
    text = re.sub(r"\{\w+\}|<image>|'s\b", " ", text.lower())
    return {stem(word) for word in re.findall(r"[a-zé]+", text) if word not in FUNCTION_WORDS}


def of(*wordings: str) -> set[str]:
    return set().union(*(content(text) for name in wordings for text in bank("wordings")[name]))


def kinds(prefix: str, end: str = "") -> list[str]:
    return [n for n in bank("wordings") if n.startswith(prefix) and not n.endswith(("?", "!")) and n.endswith(end)]


PROPS = bank("props")
ATTRIBUTES = [attribute for kind in CLASSES for attribute in attributes(kind)]
# For each builder: pool, fact templates, question templates, what else facts say, what else questions say.
SPEECH = {
    "ie_disambiguation": (
        pairs("events"), ["ie_disambiguation"], ["ie_disambiguation?", "number"],
        [" ".join(row[:3]) for row in PROPS["tables"]], [row[3] for row in PROPS["tables"]],
    ),
    "ie_alignment": (
        pairs("events"), ["ie_alignment"], ["ie_alignment?", "colour"],
        PROPS["badges"], list(itertools.chain(*PROPS["corners"].values())),
    ),
    "ie_counting": (pairs("events"), ["ie_counting"], ["ie_counting?", "number"], [], NAMES),
    "ie_spatial.tray": (pairs("events"), ["ie_spatial.tray"], ["ie_spatial.tray?", "name"], [], NAMES),
    "ie_spatial.map": (
        pairs("events"), ["ie_spatial.map"], ["ie_spatial.map?", "name"], [], PROPS["map_labels"],
    ),
    "ie_arithmetic.tag": (
        pairs("events"), ["ie_arithmetic.tag"], ["ie_arithmetic.tag?", "money"],
        [good.said for good in pairs("goods")], [good.more for good in pairs("goods")],
    ),
    "ie_arithmetic.menu": (
        pairs("events"), ["ie_arithmetic.menu"], ["ie_arithmetic.menu?", "money"], [], PROPS["menu_items"],
    ),
    "ie_chat.time": (pairs("events"), ["ie_chat"], ["ie_chat.time?", "time"], [], []),
    "ie_chat.code": (pairs("events"), ["ie_chat"], ["ie_chat.code?", "number"], [], []),
    "ie_chat.price": (pairs("events"), ["ie_chat"], ["ie_chat.price?", "money"], [], []),
    **{
        f"ie_app.{app['title']}": (
            pairs("events"), ["ie_app.rows"], ["ie_app.rows?", "number"], app["d"], [row[1] for row in app["rows"]],
        )
        for app in PROPS["apps"]
    },
    "ie_app.weather": (pairs("events"), ["ie_app.weather"], ["ie_app.weather?", "number"], [], []),
    "ie_app.chart": (
        pairs("events"), ["ie_app.chart"], ["ie_app.chart?", "number"], [], list(itertools.chain(*PROPS["bar_labels"])),
    ),
    "ie_photo.scene": (
        pairs("events"), ["ie_photo.scene"], ["ie_photo.scene?", "ie_photo.scene.car?", "colour"],
        [], list(PROPS["scene_parts"].values()),
    ),
    **{
        f"ie_photo.{mode}": (pairs("events"), [f"ie_photo.{mode}"], [f"ie_photo.{mode}?", hint], [], [])
        for mode, hint in (
            ("clock", "ie_photo.clock!"), ("plate", "ie_photo.plate!"),
            ("sign", "ie_photo.sign!"), ("notice", "number"),
        )
    },
    "msr_arithmetic": (
        pairs("projects"), [f"msr_arithmetic.{kind}" for kind in ("receipt", "tag", "cash")],
        ["msr_arithmetic?", "money"], [], [],
    ),
    "msr_counting": (pairs("series"), ["series.today"], ["msr_counting?", "number"], [], list(CLASSES)),
    "msr_entity": (
        pairs("series"), ["msr_entity"], ["msr_entity.yes_no?", "msr_entity.yes_no!", "msr_entity.kinds?", "number"],
        [place.said for place in pairs("places")], [place.asked for place in pairs("places")],
    ),
    "tr_duration": (
        pairs("undertakings"), kinds("tr_duration."), ["tr_duration.longer?", "tr_duration.shorter?"], [], [],
    ),
    "tr_order": (pairs("series"), ["series.today"], ["tr_order?"], [], NAMES),
    "tr_date_b": (
        pairs("events"), ["tr_date_b.calendar", "tr_date_b.ticket", "tr_date_b.notice"], ["tr_date_b?", "date"], [], [],
    ),
    "tr_date_b.flight": (pairs("events"), ["tr_date_b.boarding_pass"], ["tr_date_b.boarding_pass?", "date"], [], []),
    "tr_date_b.receipt": (pairs("events"), ["tr_date_b.receipt"], ["tr_date_b.receipt?", "date"], [], []),
    "tr_date_c": (pairs("series"), ["series.dated"], ["tr_date_when?", "date"], [], NAMES),
    "tr_date_d": (
        pairs("series"), ["series.dated"], ["tr_date_when?", "date"],
        ["yesterday last Monday Sunday two days ago", "a week ago", "earlier today"], NAMES,
    ),
    **{
        f"ku_update.{kind}": (
            attributes(kind), ["ku_update"], ["ku_update?", "name"], descriptors(kind), [kind],
        )
        for kind in CLASSES
    },
}  # fmt: skip


@pytest.mark.parametrize("speech", SPEECH)
def test_facts_and_questions_share_no_content_word(speech):
    pool, facts, questions, said_more, asked_more = SPEECH[speech]
    said, asked = of(*facts), of(*questions)
    more_said = set().union(*map(content, said_more))
    more_asked = set().union(*map(content, asked_more))
    found = {("templates", word) for word in said & asked}
    found |= {(thing.id, word) for thing in pool for word in content(thing.said) & content(thing.asked)}
    found |= {(thing.said, word) for thing in pool for word in content(thing.said) & (asked | more_asked)}
    found |= {(thing.asked, word) for thing in pool for word in content(thing.asked) & (said | more_said)}
    found |= {("said", word) for word in more_said & asked} | {("asked", word) for word in more_asked & said}
    if speech not in ("ie_disambiguation", "ie_arithmetic.tag", "msr_entity"):
        found |= {("more", word) for word in more_said & more_asked}
    assert not found


def test_two_phrasings_of_what_comes_in_pairs_share_no_content_word():
    rows = [(row[1] + " " + row[2], row[3]) for row in PROPS["tables"]]
    rows += [(good.said, good.asked + " " + good.more) for good in pairs("goods")]
    rows += [(place.said, place.asked) for place in pairs("places")]
    # Every place of one item may be asked for, so no place may lend its words to another one's question either.
    said = set().union(*(content(place.said) for place in pairs("places")))
    assert not {(p.asked, w) for p in pairs("places") for w in content(p.asked) & said}
    assert not [(a, b) for a, b in rows if content(a) & content(b)]


def test_undertakings_of_one_couple_share_no_content_word():
    said = set().union(*(content(thing.said) for thing in pairs("undertakings")))
    assert not {(thing.asked, word) for thing in pairs("undertakings") for word in content(thing.asked) & said}
    assert len(pairs("undertakings")) % 2 == 0
    assert {thing.more for thing in pairs("undertakings")} == {"calendar", "boarding_pass", "ticket"}


@pytest.mark.parametrize("pool", POOLS)
def test_things_are_many_distinct_and_give_nothing_away(pool):
    things = pairs(pool)
    assert len(things) >= 30
    assert len({thing.said for thing in things}) == len({thing.asked for thing in things}) == len(things)
    for thing in things:
        for text in (thing.said, thing.asked):
            assert not named(text), text
            assert not set(re.findall(r"[a-z]+", text.lower())) & set(COLOURS), text
            assert not re.search(r"\d|<image>|[{}|\[\]]", text)
            assert len(text) <= 36  # a ticket holds it


def test_no_thing_of_one_pool_is_one_of_another():
    every = [thing for pool in POOLS[:4] for thing in pairs(pool)] + ATTRIBUTES
    for texts in ([thing.said for thing in every], [thing.asked for thing in every]):
        twice = {text for text in texts if texts.count(text) > 1}
        assert not twice


def named(text: str) -> list[str]:
    """Names of things that pictures show, singular or plural, in a text."""
    low = " ".join(re.findall(r"[a-z]+", text.lower()))
    return [name for name in NAMES if re.search(rf"\b(?:{name}|{plural(name)})\b", low)]


def test_no_template_names_a_thing_a_colour_or_a_number():
    for name, templates in bank("wordings").items():
        for text in templates:
            assert not named(text), (name, text)
            assert not set(re.findall(r"[a-z]+", text.lower())) & set(COLOURS), (name, text)


@pytest.mark.parametrize("name", sorted(set(itertools.chain(*(speech[1] for speech in SPEECH.values())))))
def test_there_are_at_least_twenty_wordings_of_every_kind_of_fact(name):
    if not name.startswith("tr_duration"):
        assert variants(name) * variants("event") >= 20


def test_there_are_at_least_twenty_wordings_of_a_duration():
    starts = min(variants("tr_duration.told") * 3, variants("tr_duration.today") * 2)  # three ways to write a date
    ends = sum(variants(f"tr_duration.{kind}") for kind in ("calendar", "boarding_pass", "ticket"))
    assert starts * ends >= 20


def test_questions_of_a_builder_are_far_more_than_two_builds_need():
    # Two builds of 126 questions share one with probability of about 126 * 126 / n.
    first, last = names()
    people = len(first) * len(last)
    for pool, builder in ((111, "ie_alignment?"), (61, "msr_arithmetic?"), (62, "msr_counting?"), (64, "ku_update?")):
        assert people * pool * variants(builder) >= 10_000_000
    assert len(first) >= 200 and len(last) >= 200  # noqa: PT018
    assert len(set(first)) == len(first)
    assert len(set(last)) == len(last)


def test_people_are_not_called_like_things():
    for name in (*names()[0], *names()[1]):
        assert name.lower() not in {*NAMES, *COLOURS, *map(str.lower, CLASSES)}


def test_descriptors_are_short_and_tell_no_member():
    narrow = {*COLOURS, "round", "big", "small", "tiny", "large", "long", "short", "wooden", "metal", "tall", "same"}
    for kind in CLASSES:
        found = descriptors(kind)
        assert len(set(found)) == len(found) >= 12
        for text in found:
            words = text.split()
            assert len(words) <= 5
            assert words[0] in ("this", "these")
            assert not named(text)
            assert kind not in text
            assert not set(words) & narrow
        assert len(attributes(kind)) >= 4


def test_classes_that_could_be_taken_for_one_another_are_kept_apart_both_ways():
    apart = bank("classes")["apart"]
    assert set(apart) == set(CLASSES) == set(bank("classes")["classes"])
    for kind, others in apart.items():
        assert set(others) <= set(CLASSES)
        strangers = [name for other in CLASSES if other not in {kind, *others} for name in CLASSES[other]]
        assert len(strangers) >= 30


def test_every_builder_has_wordings():
    heads = {name.split(".")[0].rstrip("?") for name in bank("wordings")}
    shared = {"msr_counting", "tr_order", "tr_date_c", "tr_date_d"}
    assert set(BUILDERS) - shared <= heads


@pytest.mark.parametrize("pool", POOLS)
def test_no_phrase_of_a_pool_counts(pool: str) -> None:
    """A number in a question's words would answer some counting question, as 'three-discipline contest' did."""
    counts = r"\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+)\b"
    phrases = [text for pair in pairs(pool) for text in (pair.said, pair.asked)]
    assert not [text for text in phrases if re.search(counts, text.lower())]


def test_no_thing_with_a_date_belongs_to_a_season() -> None:
    """A session, a ticket or a ringed day may lie in any month: a "July village fair" in March confuses."""
    months = "january|february|march|april|june|july|august|september|october|november|december"
    seasons = rf"\b({months}|spring|summer|autumn|winter|midsummer|solstice|harvest|ski|snow|year|yearly|annual)\b"
    things = [thing for thing in (*pairs("events"), *pairs("undertakings")) if thing.id != "harvest job"]
    assert not [thing for thing in things if re.search(seasons, f"{thing.said} {thing.asked}".lower())]


def test_questions_fit_things_of_either_number() -> None:
    """Things such as "emblem proposals" and "row of glass domes" fill the same place of a question."""
    for name, templates in bank("wordings").items():
        if name.startswith(("msr_", "tr_order", "tr_date_when")) and name.endswith("?"):
            assert not [
                text
                for text in templates
                if re.search(r"\b(does|has|is|was) \{q[sp]\}|\{q[sp]\} (does|has|is|was|owes)\b", text)
            ]
