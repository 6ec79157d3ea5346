"""Which photograph stands for which picture of a question, and what the exported files say about photographs.

Candidates are made in any order and by several processes, so that they only say what each of their pictures shall show.
The photographs are given out while the candidates are selected, in the order of the quota. Of the photographs of a name
one half, drawn by the seed, is for the facts of questions, evidence and contrast alike, and each of these is shown once
in the whole build. The other half is for decoys, and shown in turn, each in at most so many histories.
"""

# ruff: noqa: E501 - rows and paragraphs of Markdown cannot be broken
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memgauge.histories.building.pictures.album import Album, Photograph
from memgauge.histories.building.seeds import rng

if TYPE_CHECKING:
    from memgauge.histories.building.units import Body

SOURCES = {
    "folder": "a folder of the user's",
    "urls": "a list of addresses of the user's",
    "crawl": "a web image search",
}
LIST = "photographs.jsonl"
SHOWN_BY = ("entity",)
"""Kinds of pictures that a photograph replaces: those that show one thing and nothing else."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One picture of a candidate that a photograph shall be."""

    mark: str
    """What stands in the candidate instead of a file, until one is given out."""
    name: str
    """The entity."""
    own: bool
    """It belongs to the question (evidence or contrast), not to a decoy."""


def mark(fact: str, number: int) -> str:
    """Return what stands for the file of a picture that is a photograph."""
    return f"photograph of {fact}, {number}"


@dataclass(slots=True)
class Ledger:
    """Gives photographs out. The same candidates in the same order get the same ones."""

    own: Mapping[str, tuple[Photograph, ...]]
    """Name: photographs for evidence and contrast."""
    decoys: Mapping[str, tuple[Photograph, ...]]
    """Name: photographs for decoys."""
    reuse: int
    """Histories that may show one photograph of a decoy."""
    _own_given: Counter[str] = field(default_factory=Counter)
    _decoys_given: Counter[str] = field(default_factory=Counter)
    given: dict[str, dict[str, Photograph]] = field(default_factory=dict)
    """Question id: mark: photograph."""

    def lacks(self, wanted: Iterable[Wanted]) -> str:
        """Return the first name of which too few photographs are left for a candidate, or an empty string."""
        need = Counter((w.name, w.own) for w in wanted)
        for (name, own), count in need.items():
            if own:
                left = len(self.own.get(name, ())) - self._own_given[name]
            else:
                there = len(self.decoys.get(name, ()))
                # In turn, so that one history shows none twice while it wants no more than there are.
                left = min(there, there * self.reuse - self._decoys_given[name])
            if count > left:
                return name
        return ""

    def take(self, question_id: str, wanted: Iterable[Wanted]) -> None:
        """Give a candidate its photographs; `lacks` has found nothing missing."""
        mine = self.given.setdefault(question_id, {})
        for w in wanted:
            given, pool = (self._own_given, self.own) if w.own else (self._decoys_given, self.decoys)
            mine[w.mark] = pool[w.name][given[w.name] % len(pool[w.name])]
            given[w.name] += 1


def ledger(album: Album, seed: int, reuse: int) -> Ledger:
    """Divide the photographs of every name; an odd one goes to the questions."""
    own, decoys = {}, {}
    for name, photographs in album.photographs.items():
        # By file, not by rank: photographs of questions must fit no better than those of decoys.
        shuffled = sorted(photographs, key=lambda photograph: photograph.file)
        rng(seed, "photographs", name).shuffle(shuffled)
        half = (len(shuffled) + 1) // 2
        own[name], decoys[name] = tuple(shuffled[:half]), tuple(shuffled[half:])
    return Ledger(own, decoys, reuse)


def placed(body: Body, given: Mapping[str, Photograph]) -> dict[str, Any]:
    """Return a candidate with the files of its photographs instead of the marks."""
    if not given:
        return dict(body)

    def file(name: str) -> str:
        return given[name].file if name in given else name

    sessions = [
        {**s, "turns": [{**t, "images": [[file(name), said] for name, said in t["images"]]} for t in s["turns"]]}
        for s in body["sessions"]
    ]
    meta = dict(body["meta"])
    for field_ in ("critical_files", "critical_by_order_files"):
        meta[field_] = [file(name) for name in meta[field_]]
    meta["sessions"] = [
        {**s, "facts": [{**f, "pictures": [_pictured(p, given) for p in f["pictures"]]} for f in s["facts"]]}
        for s in meta["sessions"]
    ]
    return {**body, "sessions": sessions, "meta": meta}


def _pictured(picture: Mapping[str, Any], given: Mapping[str, Photograph]) -> dict[str, Any]:
    photograph = given.get(picture["file"])
    if photograph is None:
        return dict(picture)
    return {**picture, "file": photograph.file, "width": photograph.width, "height": photograph.height}


def used(given: Iterable[Mapping[str, Photograph]]) -> list[Photograph]:
    """Return the photographs that some questions show, by file."""
    found = {photograph.file: photograph for mine in given for photograph in mine.values()}
    return [found[file] for file in sorted(found)]


def listing(photographs: Sequence[Photograph]) -> str:
    """Return the lines of `photographs.jsonl`: origin, licence and scores of each, and not what it shows."""
    rows = (
        {
            "file": p.file,
            "sha256": Path(p.file).stem,
            "pixels_sha256": p.pixels_sha256,
            "width": p.width,
            "height": p.height,
            "source": p.source,
            "url": p.url,
            "license": p.licence,
            "author": p.author,
            "by_reference": p.by_reference,
            "scores": dict(p.scores),
        }
        for p in photographs
    )
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def summary(
    album: Album, options: Mapping[str, Any], shown: Sequence[Photograph], given: Iterable[Mapping[str, Photograph]]
) -> dict[str, Any]:
    """Return what the manifest says of the photographs; `options` are those of the configuration."""
    repeats = Counter(photograph.file for mine in given for photograph in mine.values())
    channels = options["channels"]
    named = ("cc0", "pdm", "public domain")  # the others ask for the author's name
    refused = {k: n for k, n in album.counts.items() if not k.startswith("note: ") and k != "kept"}
    return {
        "source": options["source"],
        "trusted": options["trusted"],
        "kinds": list(SHOWN_BY),
        "exported": sum(not p.by_reference for p in shown),
        "by_reference": sum(p.by_reference for p in shown),
        "without_author": sum(not p.author and not p.licence.startswith(named) for p in shown if not p.by_reference),
        "licenses": dict(sorted(Counter(p.licence or "unknown" for p in shown).items())),
        "channels": {name: "run" if name in channels["running"] else "not run" for name in channels["thresholds"]},
        "thresholds": channels["thresholds"],
        "watermarks": "looked for" if options["watermarks"] else "not looked for",
        "reuse": options["reuse"],
        "most_shown": max(repeats.values(), default=0),
        "funnel": {
            "candidates": album.candidates,
            "kept": album.kept,
            "refused": refused,
            "notes": {k.removeprefix("note: "): n for k, n in album.counts.items() if k.startswith("note: ")},
        },
    }


def licence_rows(about: Mapping[str, Any]) -> str:
    """Return the rows of LICENSES.md for the photographs of a manifest."""
    source = SOURCES[about["source"]]
    return "".join(
        f"| {count} photographs of single things (`images/`) | {source} | {licence}{_UNKNOWN * (licence == 'unknown')} |\n"
        for licence, count in about["licenses"].items()
    )


_UNKNOWN = ": kept by reference, address and hash only"


def section(about: Mapping[str, Any]) -> str:
    """Return the section of the card about photographs."""
    funnel = about["funnel"]
    refused = "\n".join(f"| {reason} | {count} |" for reason, count in funnel["refused"].items())
    licences = ", ".join(f"{name} {count}" for name, count in about["licenses"].items())
    channels = ", ".join(
        f"{name} {'run, at least ' + str(about['thresholds'][name]) if state == 'run' else 'not run'}"
        for name, state in about["channels"].items()
    )
    trusted = (
        "\nThe user vouched for the pictures of the source: those that a channel which did not run leaves undecided were taken."
        if about["trusted"]
        else ""
    )
    reference = (
        f"\n{about['by_reference']} photographs have no licence that lets them be passed on. They are kept by reference: "
        f"`{LIST}` has their address and hash,\n`images/` does not hold them, and `memgauge histories fetch` gets those that "
        "are still there."
        if about["by_reference"]
        else ""
    )
    return f"""## Photographs

Pictures of single things (kind `entity`) are photographs from {SOURCES[about["source"]]}; all other kinds are drawn. Origin, author and
licence of each stand in `{LIST}`, which is gold like `meta.jsonl`: an address may say what a picture shows.
Licences: {licences}.{reference}

Filter channels: {channels}. Watermarks: {about["watermarks"]}.{trusted}

| candidates | {funnel["candidates"]} |
|---|---|
| kept | {funnel["kept"]} |
{refused}

A photograph of evidence or contrast is shown once in the whole build. A photograph of a decoy may stand in up to {about["reuse"]} histories
(the most shown one stands in {about["most_shown"]}). Repetition is a cue: whoever sees several histories can tell such a picture is no evidence.

"""
