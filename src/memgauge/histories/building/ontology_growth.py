"""Growing an ontology with a model: more topics for each sub-attribute, more subtopics for each topic.

The paper's size is about 20 topics for each sub-attribute with about 30 subtopics each (MEMLENS, topic ontology).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memgauge.histories.building.ontology import Ontology, OntologyTopic, SubAttribute, phrase_problems
from memgauge.histories.building.text.chat import Chat, ChatFailedError
from memgauge.histories.building.text.json_replies import BadReplyError, ask_json


@dataclass(frozen=True, slots=True)
class Expansion:
    """A grown ontology and what was turned down on the way, counted by reason."""

    ontology: Ontology
    rejected: Mapping[str, int]


def expand(
    ontology: Ontology,
    chat: Chat,
    *,
    topics: int = 20,
    subtopics: int = 30,
    rounds: int = 6,
) -> Expansion:
    """Grow every sub-attribute to `topics` topics of `subtopics` subtopics with a model.

    `chat` takes messages and returns the reply's text. A reply must be one JSON object; one repair is asked for, then
    the reply is turned down. Phrases that fail the lint and titles that are already there (by normalised words) are
    turned down. What is still short after `rounds` requests for each list stays short: compare the sizes.
    """
    rejected: Counter[str] = Counter()
    tracks = []
    for track in ontology.tracks:
        groups = []
        for group in track.sub_attributes:
            grown = list(group.topics)
            for again in range(rounds):
                if len(grown) >= topics:
                    break
                grown += _new_topics(group, grown, topics - len(grown), chat, rejected, again)
            full = tuple(_fill(topic, group, subtopics, rounds, chat, rejected) for topic in grown)
            groups.append(replace(group, topics=full))
        tracks.append(replace(track, sub_attributes=tuple(groups)))
    return Expansion(Ontology(tuple(tracks)), dict(rejected))


_TOPICS = (
    "List {count} new everyday topics for conversations under the heading {title!r}. Each has a title (a short noun "
    "phrase), say (a noun phrase with its article that fits into a sentence) and alt (another noun phrase for the same "
    "thing). No digits, no colours, no names, no words about pictures. Already there: {known}. Reply with one JSON "
    'object: {{"topics": [{{"title": "...", "say": "...", "alt": "..."}}]}}'
)
_SUBTOPICS = (
    "List {count} new subtopics of {title!r} under the heading {group!r}: short noun phrases without an article. No "
    "digits, no colours, no names, no words about pictures. Already there: {known}. Reply with one JSON object: "
    '{{"subtopics": ["...", "..."]}}'
)


def _new_topics(
    group: SubAttribute,
    known: list[OntologyTopic],
    count: int,
    chat: Chat,
    rejected: Counter[str],
    again: int,
) -> list[OntologyTopic]:
    prompt = _TOPICS.format(count=count, title=group.title, known=", ".join(topic.title for topic in known))
    seen = {normalised(topic.title) for topic in known}
    taken = {topic.id for topic in known}
    found: list[OntologyTopic] = []
    for item in _asked(chat, prompt, again, "topics", rejected):
        fields = [item.get(name) for name in ("title", "say", "alt")] if isinstance(item, dict) else []
        if len(fields) < 3 or not all(_usable(field, rejected) for field in fields) or len(found) >= count:
            continue
        title, say, alt = map(str, fields)
        if say.casefold() == alt.casefold():
            rejected["lint"] += 1
            continue
        if normalised(title) in seen:
            rejected["duplicate"] += 1
            continue
        seen.add(normalised(title))
        name = f"{group.id}_{re.sub(r'[^a-z0-9]+', '_', title.lower()).strip('_')}".strip("_")
        while name in taken:  # "apple-pie" and "apple pie", or a script without these letters
            name += "_x"
        taken.add(name)
        found.append(OntologyTopic(name, title, say, alt, (), image_kinds=known[0].image_kinds if known else ()))
    return found


def _fill(
    topic: OntologyTopic,
    group: SubAttribute,
    size: int,
    rounds: int,
    chat: Chat,
    rejected: Counter[str],
) -> OntologyTopic:
    known = list(topic.subtopics)
    for again in range(rounds):
        if len(known) >= size:
            break
        prompt = _SUBTOPICS.format(
            count=size - len(known), title=topic.title, group=group.title, known=", ".join(known) or "none"
        )
        seen = {normalised(phrase) for phrase in known}
        for item in _asked(chat, prompt, again, "subtopics", rejected):
            if not _usable(item, rejected, subtopic=True) or len(known) >= size:
                continue
            if normalised(str(item)) in seen:
                rejected["duplicate"] += 1
                continue
            seen.add(normalised(str(item)))
            known.append(str(item))
    # A topic for which no subtopic was found is its own subtopic, so that it can be drawn.
    return replace(topic, subtopics=tuple(known) or (re.sub(r"^(?:an?|the) ", "", topic.title, flags=re.IGNORECASE),))


def _asked(chat: Chat, prompt: str, again: int, field: str, rejected: Counter[str]) -> list[Any]:
    if again:
        # Another text, since a cache or a seed would give the same reply to the same one.
        prompt += f" This is request {again + 1} for this list: give others than before."
    try:
        return list(ask_json(chat, [{"role": "user", "content": prompt}], {field: list})[field])
    except BadReplyError:
        rejected["bad reply"] += 1
    except ChatFailedError:
        rejected["no reply"] += 1
    return []


def _usable(phrase: object, rejected: Counter[str], *, subtopic: bool = False) -> bool:
    if not isinstance(phrase, str) or not 2 <= len(phrase.strip()) <= 80 or phrase != phrase.strip():
        rejected["no phrase"] += 1
        return False
    if phrase_problems(phrase, subtopic=subtopic):
        rejected["lint"] += 1
        return False
    return True


def normalised(title: str) -> str:
    """Return the words of a title in one spelling, for comparison.

    >>> normalised("The Supermarket Shelves") == normalised("supermarket shelf")
    True
    """
    words = [
        word for word in re.findall(r"[^\W\d_]+", title.lower().replace("'s", "")) if word not in ("the", "a", "an")
    ]
    return " ".join(re.sub(r"(?:ves|fe?s?)$", "v", word) if len(word) > 4 else word for word in map(_singular, words))


def _singular(word: str) -> str:
    return word if word.endswith(("ves", "ss")) else word.removesuffix("s")
