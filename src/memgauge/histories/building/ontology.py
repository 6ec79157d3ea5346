"""What sessions are about: tracks, sub-attributes, topics and subtopics (MEMLENS, topic ontology).

The built-in ontology has 100 topics with 8 subtopics each, 40 / 40 / 20 over the tracks identification, experience and
document, in 19 sub-attributes. A file of one's own has the same form; `ontology_growth` lets a model grow either.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from memgauge.errors import InputError, unknown_name

if TYPE_CHECKING:
    from memgauge.histories.building.text.types import Topic

ABILITIES = ("IE", "MSR", "TR", "KU")
LARGEST_FILE = 64 * 2**20
_ID = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class OntologyTopic:
    """A topic: `say` and `alt` are noun phrases that fit into a sentence, `subtopics` narrower ones without article."""

    id: str
    title: str
    say: str
    alt: str
    subtopics: tuple[str, ...]
    abilities: tuple[str, ...] = ABILITIES
    image_kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubAttribute:
    """A group of topics that share their advice."""

    id: str
    title: str
    topics: tuple[OntologyTopic, ...]


@dataclass(frozen=True, slots=True)
class Track:
    """A perceptual regime and its share of the sessions."""

    id: str
    weight: float
    sub_attributes: tuple[SubAttribute, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One subtopic with all that stands above it."""

    track: str
    sub_attribute: str
    topic: OntologyTopic
    subtopic: str

    def session_topic(self) -> Topic:
        """Return it in the form that the writers take."""
        from memgauge.histories.building.text.types import Topic

        return Topic(self.sub_attribute, self.topic.say, self.topic.alt, self.subtopic)


@dataclass(frozen=True, slots=True)
class Ontology:
    """All tracks, and where they come from."""

    tracks: tuple[Track, ...]
    version: int = 1

    def sample(self, generator: Random, sub_attribute: str | None = None) -> Leaf:
        """Draw a leaf: track by weight, then sub-attribute, topic and subtopic uniformly.

        With `sub_attribute` the draw begins there. Raises `InputError` for an unknown one.
        """
        if sub_attribute is None:
            track = generator.choices(self.tracks, [track.weight for track in self.tracks])[0]
            group = generator.choice(track.sub_attributes)
        else:
            known = {group.id: (track, group) for track in self.tracks for group in track.sub_attributes}
            if sub_attribute not in known:
                raise unknown_name("sub-attribute", sub_attribute, known)
            track, group = known[sub_attribute]
        topic = generator.choice(group.topics)
        return Leaf(track.id, group.id, topic, generator.choice(topic.subtopics))

    def leaves(self) -> Iterator[Leaf]:
        """Yield every leaf."""
        for track in self.tracks:
            for group in track.sub_attributes:
                for topic in group.topics:
                    for subtopic in topic.subtopics:
                        yield Leaf(track.id, group.id, topic, subtopic)

    def to_json(self) -> dict[str, Any]:
        """Return the form that a file has."""
        return {
            "version": self.version,
            "tracks": [
                {
                    "id": track.id,
                    "weight": track.weight,
                    "sub_attributes": [
                        {"id": group.id, "title": group.title, "topics": [_topic_json(topic) for topic in group.topics]}
                        for group in track.sub_attributes
                    ],
                }
                for track in self.tracks
            ],
        }

    def fingerprint(self) -> str:
        """Return the sha256 of the content, for manifests."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def _topic_json(topic: OntologyTopic) -> dict[str, Any]:
    return {
        "id": topic.id,
        "title": topic.title,
        "say": topic.say,
        "alt": topic.alt,
        "abilities": list(topic.abilities),
        "image_kinds": list(topic.image_kinds),
        "subtopics": list(topic.subtopics),
    }


@cache
def built_in() -> Ontology:
    """Return the ontology of the package: 100 topics, 800 leaves."""
    text = (files("memgauge.histories.building") / "data" / "ontology.json").read_text("utf-8")
    return parse_ontology(json.loads(text), "ontology.json")


def load_ontology(path: Path) -> Ontology:
    """Read an ontology of one's own.

    Raises `InputError` naming the file and the field that is missing or wrong, or the phrases that say what only
    pictures may say.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: an ontology of more than {LARGEST_FILE // 2**20} MiB is refused")
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no JSON text ({error})") from error
    ontology = parse_ontology(content, str(path))
    found = lint(ontology)
    if found:
        more = f" ... and {len(found) - 10} more" if len(found) > 10 else ""
        raise InputError(f"{path}: reword these phrases: {'; '.join(found[:10])}{more}")
    return ontology


def parse_ontology(content: object, where: str) -> Ontology:
    """Read the JSON form. Raises `InputError` whose text names the field."""
    record = _record(content, where, ("tracks",))
    if record.get("version", 1) != 1:
        raise InputError(f"{where}.version: this memgauge reads version 1, got {record['version']!r:.40}")
    ontology = Ontology(
        tuple(_track(item, at) for item, at in _items(record, "tracks", where)),
    )
    for what, ids in (
        ("track", [track.id for track in ontology.tracks]),
        ("sub-attribute", [group.id for track in ontology.tracks for group in track.sub_attributes]),
        ("topic", [topic.id for track in ontology.tracks for group in track.sub_attributes for topic in group.topics]),
    ):
        twice = [name for name, count in Counter(ids).items() if count > 1]
        if twice:
            raise InputError(f"{where}: the {what} id {twice[0]!r} occurs more than once")
    return ontology


def _track(content: object, where: str) -> Track:
    record = _record(content, where, ("id", "weight", "sub_attributes"))
    weight = record["weight"]
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        raise InputError(f"{where}.weight: expected a positive number, got {weight!r:.40}")
    return Track(
        _id(record, where),
        float(weight),
        tuple(_group(item, at) for item, at in _items(record, "sub_attributes", where)),
    )


def _group(content: object, where: str) -> SubAttribute:
    record = _record(content, where, ("id", "title", "topics"))
    return SubAttribute(
        _id(record, where),
        _text(record["title"], f"{where}.title"),
        tuple(_topic(item, at) for item, at in _items(record, "topics", where)),
    )


def _topic(content: object, where: str) -> OntologyTopic:
    record = _record(content, where, ("id", "title", "say", "alt", "subtopics"))
    abilities = tuple(_text(item, at) for item, at in _items({"abilities": ABILITIES, **record}, "abilities", where))
    for ability in abilities:
        if ability not in ABILITIES:
            raise InputError(f"{where}.abilities: {unknown_name('ability', ability, ABILITIES)}")
    kinds = record.get("image_kinds", [])
    return OntologyTopic(
        id=_id(record, where),
        title=_text(record["title"], f"{where}.title"),
        say=_text(record["say"], f"{where}.say"),
        alt=_text(record["alt"], f"{where}.alt"),
        subtopics=tuple(_text(item, at) for item, at in _items(record, "subtopics", where)),
        abilities=abilities,
        image_kinds=tuple(_text(item, at) for item, at in _items(record, "image_kinds", where)) if kinds else (),
    )


def _record(content: object, where: str, needed: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise InputError(f"{where}: expected an object with {', '.join(needed)}, got {content!r:.60}")
    missing = [field for field in needed if field not in content]
    if missing:
        raise InputError(f"{where}: the field {missing[0]!r} is missing")
    return content


def _items(record: Mapping[str, Any], field: str, where: str) -> list[tuple[object, str]]:
    items = record[field]
    if not isinstance(items, list | tuple) or not items:
        raise InputError(f"{where}.{field}: expected a list with at least one entry, got {items!r:.60}")
    return [(item, f"{where}.{field}[{index}]") for index, item in enumerate(items)]


def _id(record: Mapping[str, Any], where: str) -> str:
    value = record["id"]
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InputError(f"{where}.id: expected lower-case letters, digits and underscores, got {value!r:.60}")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 120 or value != value.strip():
        raise InputError(f"{where}: expected a phrase of 1 to 120 characters, got {value!r:.60}")
    return value


def lint(ontology: Ontology) -> list[str]:
    """Return what phrases say that only pictures, questions or answers may say: digits, names, colours, image words."""
    from memgauge.histories.building.text.lint import problems

    found = []
    for track in ontology.tracks:
        for group in track.sub_attributes:
            for topic in group.topics:
                for phrase in (topic.say, topic.alt, *topic.subtopics):
                    found += [f"{topic.id}: {phrase!r} ({problem})" for problem in problems(phrase)]
    return found
