"""Files of topics and of phrases that users bring along: what is in them, and every rule that they break."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memgauge.errors import InputError
from memgauge.histories.building import abstraction, ontology
from memgauge.histories.building.findings import Finding, Findings, path_text, read_json, with_lines
from memgauge.histories.building.ontology import Ontology
from memgauge.histories.building.text.banks import banks

FEW = 3
"""Subtopics of a topic below which conversations about it are noticeably alike."""


@dataclass(frozen=True, slots=True)
class Linted:
    """What a look at a file found."""

    path: Path
    kind: Literal["ontology", "phrases"]
    counts: Mapping[str, int]
    problems: tuple[Finding, ...]
    """Rules that the file breaks: `build` refuses it."""
    notes: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "file": self.path.name,
            "kind": self.kind,
            "holds": not self.problems,
            "counts": dict(self.counts),
            "problems": [_entry(finding) for finding in self.problems],
            "notes": [_entry(finding) for finding in self.notes],
        }


def _entry(finding: Finding) -> dict[str, Any]:
    return {"line": finding.line, "entry": path_text(finding.path), "said": finding.said}


def lint_file(path: Path) -> Linted:
    """Look at a file of topics (`tracks`) or of phrases (`categories`).

    Raises `InputError` where it cannot be read, is no JSON, or is neither.
    """
    path = path.expanduser()
    text, content = read_json(path, ontology.LARGEST_FILE)
    fields = content if isinstance(content, dict) else {}
    if "tracks" in fields:
        read, found = ontology.examine(content)
        _note_topics(read, found)
        counts, kind = _topics(read), "ontology"
    elif "categories" in fields:
        if len(text) > abstraction.LARGEST_FILE:
            raise InputError(f"{path}: a file of more than {abstraction.LARGEST_FILE // 2**20} MiB is refused")
        dictionary, found = abstraction.examine(content)
        lacking = [name for name in abstraction.built_in().categories if name not in dictionary.categories]
        if lacking:
            found.add(
                ("categories",),
                f"{len(lacking)} of the 55 built-in categories are not in the file ({', '.join(lacking[:5])}"
                f"{', ...' if len(lacking) > 5 else ''}); their names fall to {abstraction.FALLBACK!r}",
                note=True,
            )
        counts = {
            "categories": len(dictionary.categories),
            "phrases": sum(len(category.phrases) for category in dictionary.categories.values()),
            "names": len(dictionary.names),
            "words": len(dictionary.words),
        }
        kind = "phrases"
    else:
        raise InputError(f"{path}: neither an ontology (an object with tracks) nor phrases (an object with categories)")
    listed = with_lines(found.found, text)
    return Linted(
        path,
        "ontology" if kind == "ontology" else "phrases",
        counts,
        tuple(finding for finding in listed if not finding.note),
        tuple(finding for finding in listed if finding.note),
    )


def _note_topics(read: Ontology, found: Findings) -> None:
    advised = banks().advice
    for i, track in enumerate(read.tracks):
        for j, group in enumerate(track.sub_attributes):
            path = ("tracks", i, "sub_attributes", j)
            if group.id and group.id not in advised:
                said = f"the writers have no advice of its own for {group.id!r}; they give general advice"
                found.add((*path, "id"), said, note=True)
            for k, topic in enumerate(group.topics):
                if 0 < len(topic.subtopics) < FEW:
                    said = f"{topic.id!r} has {len(topic.subtopics)} subtopics; conversations about it will be alike"
                    found.add((*path, "topics", k, "subtopics"), said, note=True)


def _topics(read: Ontology) -> dict[str, int]:
    topics = [topic for track in read.tracks for group in track.sub_attributes for topic in group.topics]
    return {
        "tracks": len(read.tracks),
        "sub_attributes": sum(len(track.sub_attributes) for track in read.tracks),
        "topics": len(topics),
        "subtopics": sum(len(topic.subtopics) for topic in topics),
    }


def outline(read: Ontology) -> dict[str, Any]:
    """Return sizes and shares of an ontology, track by track and sub-attribute by sub-attribute, as JSON values.

    The share of a sub-attribute is that of the sessions that are about it.
    """
    whole = sum(track.weight for track in read.tracks)
    return {
        "counts": _topics(read),
        "sha256": read.fingerprint(),
        "tracks": [
            {
                "id": track.id,
                "share": round(track.weight / whole, 6),
                "sub_attributes": [
                    {
                        "id": group.id,
                        "title": group.title,
                        "share": round(track.weight / whole / len(track.sub_attributes), 6),
                        "subtopics": sum(len(topic.subtopics) for topic in group.topics),
                        "topics": [topic.title for topic in group.topics],
                    }
                    for group in track.sub_attributes
                ],
            }
            for track in read.tracks
        ],
    }


def to_text(read: Ontology) -> str:
    """Return an ontology as the text of a file, one field a line."""
    return json.dumps(read.to_json(), indent=1, ensure_ascii=False) + "\n"


def shortages(read: Ontology, topics: int, subtopics: int) -> dict[str, int]:
    """Return how many lists are shorter than wanted: of topics in a sub-attribute, of subtopics in a topic."""
    groups = [group for track in read.tracks for group in track.sub_attributes]
    return {
        "topics": sum(len(group.topics) < topics for group in groups),
        "subtopics": sum(len(topic.subtopics) < subtopics for group in groups for topic in group.topics),
    }
