"""What sessions are about: tracks, sub-attributes, topics and subtopics (MEMLENS, topic ontology).

The built-in ontology has 100 topics with 8 subtopics each, 40 / 40 / 20 over the tracks identification, experience and
document, in 19 sub-attributes. A file of one's own has the same form; `ontology_growth` lets a model grow either.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from memgauge.errors import unknown_name
from memgauge.histories.building.findings import Findings, JsonPath, read_json
from memgauge.histories.building.pictures.kinds import KINDS

if TYPE_CHECKING:
    from memgauge.histories.building.text.types import Topic

ABILITIES = ("IE", "MSR", "TR", "KU")
LARGEST_FILE = 64 * 2**20
_ID = re.compile(r"[a-z0-9_]+")
_DIGITS = re.compile(r"\d")
_SIGN = re.compile(r"[^\w '’-]|_")


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

    Raises `InputError` naming the file, and line, entry and field of what is missing, wrong, or says what only pictures
    may say.
    """
    text, content = read_json(path, LARGEST_FILE)
    ontology, findings = examine(content)
    findings.refuse(str(path), text)
    return ontology


def parse_ontology(content: object, where: str) -> Ontology:
    """Read the JSON form. Raises `InputError` whose text names the entries and fields that are wrong."""
    ontology, findings = examine(content)
    findings.refuse(where)
    return ontology


def examine(content: object) -> tuple[Ontology, Findings]:
    """Read the JSON form, and return it with everything that is wrong with it; use it only if there are no problems."""
    found = Findings()
    record = found.record(content, (), ("tracks",))
    if record.get("version", 1) != 1:
        found.add(("version",), f"this memgauge reads version 1, got {record['version']!r:.40}")
    ontology = Ontology(tuple(_track(item, at, found) for item, at in found.items(record, "tracks", ())))
    groups = [(group, ("tracks", i, "sub_attributes", j)) for i, track in enumerate(ontology.tracks)
              for j, group in enumerate(track.sub_attributes)]  # fmt: skip
    topics = [(topic, (*at, "topics", k)) for group, at in groups for k, topic in enumerate(group.topics)]
    found.unique("track id", ((track.id, ("tracks", i, "id")) for i, track in enumerate(ontology.tracks)))
    found.unique("sub-attribute id", ((group.id, (*at, "id")) for group, at in groups))
    found.unique("topic id", ((topic.id, (*at, "id")) for topic, at in topics))
    return ontology, found


def _track(content: object, path: JsonPath, found: Findings) -> Track:
    record = found.record(content, path, ("id", "weight", "sub_attributes"))
    weight = record.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        found.add((*path, "weight"), f"expected a positive number, got {weight!r:.40}")
        weight = 1
    groups = found.items(record, "sub_attributes", path)
    return Track(_id(record, path, found), float(weight), tuple(_group(item, at, found) for item, at in groups))


def _group(content: object, path: JsonPath, found: Findings) -> SubAttribute:
    record = found.record(content, path, ("id", "title", "topics"))
    name, title = _id(record, path, found), found.text(record, "title", path)
    return SubAttribute(name, title, tuple(_topic(item, at, found) for item, at in found.items(record, "topics", path)))


def _topic(content: object, path: JsonPath, found: Findings) -> OntologyTopic:
    record = found.record(content, path, ("id", "title", "say", "alt", "subtopics"))
    name = _id(record, path, found)

    def phrase(value: str, at: JsonPath, *, subtopic: bool = False) -> str:
        for problem in phrase_problems(value, subtopic=subtopic) if value else ():
            found.add(at, f"{value!r} of the topic {name!r}: {problem}")
        return value

    say, alt = (phrase(found.text(record, field, path), (*path, field)) for field in ("say", "alt"))
    if say and say.casefold() == alt.casefold():
        found.add((*path, "alt"), f"the topic {name!r} has {say!r} twice; `say` and `alt` name it in different words")
    entries = [(found.phrase(item, at), at) for item, at in found.items(record, "subtopics", path)]
    found.unique(f"subtopic of {name!r}", ((text.casefold(), at) for text, at in entries))
    abilities = [
        (found.phrase(item, at), at) for item, at in found.items({"abilities": ABILITIES, **record}, "abilities", path)
    ]
    for ability, at in abilities:
        if ability and ability not in ABILITIES:
            found.add(at, str(unknown_name("ability", ability, ABILITIES)))
    kinds = [
        (found.phrase(item, at), at)
        for item, at in found.items({"image_kinds": (), **record}, "image_kinds", path, empty=True)
    ]
    for kind, at in kinds:
        if kind and kind not in KINDS:
            found.add(at, str(unknown_name("kind of picture", kind, KINDS)))
    return OntologyTopic(
        name,
        found.text(record, "title", path),
        say,
        alt,
        tuple(phrase(text, at, subtopic=True) for text, at in entries),
        tuple(ability for ability, _ in abilities),
        tuple(kind for kind, _ in kinds),
    )


def _id(record: Mapping[str, Any], path: JsonPath, found: Findings) -> str:
    value = record.get("id", "")
    if "id" in record and not (isinstance(value, str) and _ID.fullmatch(value)):
        found.add((*path, "id"), f"expected lower-case letters, digits and underscores, got {value!r:.60}")
        return ""
    return str(value)


def phrase_problems(phrase: str, *, subtopic: bool = False) -> list[str]:
    """Return why a phrase cannot stand in a sentence: what it says that only pictures, questions or answers may say
    (digits, names, colours, image words), and how it is written.

    >>> phrase_problems("the shelf of 9 jars")
    ["digit: '9'; reword it"]
    >>> phrase_problems("a shelf", subtopic=True)
    ["begins with an article, which the writers add; leave 'a' out"]
    """
    from memgauge.histories.building.text.lint import problems

    said = []
    signs = "".join(dict.fromkeys(_SIGN.findall(_DIGITS.sub("", phrase))))
    if signs:
        said.append(f"holds {signs!r}; use letters, blanks, hyphens and apostrophes")
    first = phrase.split(" ", 1)[0]
    if subtopic and first.lower() in ("a", "an", "the"):
        said.append(f"begins with an article, which the writers add; leave {first!r} out")
    return said + [f"{problem}; reword it" for problem in problems(phrase)]


def lint(ontology: Ontology) -> list[str]:
    """Return what is wrong with the phrases of an ontology, each with its topic."""
    return [str(finding) for finding in examine(ontology.to_json())[1].problems]
